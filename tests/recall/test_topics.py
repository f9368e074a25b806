"""Words of an everyday topic stand in for one another in languages that the local model was not trained on."""

from __future__ import annotations

from pathlib import Path

import pytest

from recollect import Mind
from recollect.embed.local import LocalEmbedderV2
from recollect.recall.recipe import Recipe
from recollect.recall.registry import get_recipe

# Written before any recipe answered them; statement and question share few words.
GERMAN = (
    ("Seit März arbeite ich bei Seiler als Tischlerin.", "Was ist mein Beruf?"),
    ("Tilda hat mir zum Abschied einen Kaktus mitgegeben.", "Welche Pflanze steht bei mir auf dem Balkon?"),
    ("Beim Bäcker habe ich meinen Schirm stehen lassen.", "Was habe ich neulich verloren?"),
    ("Am Montag hat mir Dr. Lang Penicillin verschrieben.", "Welches Medikament nehme ich gerade?"),
    ("Paul hat 39 Grad Fieber und bleibt im Bett.", "Wer ist krank?"),
    ("Die Waschmaschine macht keinen Mucks mehr, der Handwerker kommt Dienstag.", "Was muss repariert werden?"),
    ("Opa wird am Samstag achtzig, wir laden alle ins Gemeindehaus ein.", "Wann feiern wir Großvaters Geburtstag?"),
    ("Bei Sarino gab es gestern Abend die beste Lasagne der Stadt.", "In welchem Restaurant war ich?"),
    ("Ich schulde Malte noch 50 Euro vom Konzert.", "Bei wem habe ich mir Geld geliehen?"),
    ("Unser Kater Momo musste am Freitag geimpft werden.", "Wie heißt mein Haustier?"),
    ("Jemand hat in der Nacht mein Rad aus dem Hof mitgenommen.", "Was wurde mir gestohlen?"),
    ("Im August fahren wir zwei Wochen an den Gardasee.", "Wohin geht es im Urlaub?"),
    ("Lena spielt seit zwei Jahren Geige.", "Welches Instrument lernt Lena?"),
    ("Für die Führung im Museum habe ich 14 Euro ausgegeben.", "Wie teuer war die Führung?"),
    ("Der Englischkurs an der Volkshochschule beginnt am 3. Februar.", "Welche Sprache lerne ich?"),
    ("Frau Krüger aus dem zweiten Stock gießt solange die Blumen.", "Welche Nachbarin hilft uns?"),
)
CHINESE = (
    ("我三月开始在一家设计公司上班。", "我的职业是什么？"),
    ("昨天晚上在老码头吃了火锅，特别辣。", "我去过哪家餐厅？"),
    ("医生给我开了阿莫西林，一天三次。", "我现在吃什么药？"),
    ("雨伞忘在图书馆了。", "我把什么东西弄丢了？"),
    ("洗衣机又不转了，师傅周二来。", "家里什么东西要修？"),
    ("外公周六八十大寿，全家都回去。", "爷爷辈谁要过生日？"),
    ("我还欠小林五十块。", "我向谁借了钱？"),
    ("我家的猫叫团团，上周打了疫苗。", "我的宠物叫什么？"),
    ("有人把我停在楼下的电动车骑走了。", "我什么被偷了？"),
    ("八月我们打算去青岛看海。", "暑假去哪里旅游？"),
    ("妹妹学小提琴两年了。", "妹妹学什么乐器？"),
    ("博物馆的门票花了六十。", "博物馆多少钱？"),
    ("房东说下个月起每月加两百。", "我的房租有什么变化？"),
    ("楼上的王阿姨帮我们浇花。", "哪个邻居帮忙？"),
    ("小周下个月要去民政局领证。", "谁要结婚了？"),
    ("我在学法语，每周四晚上有课。", "我在学哪门语言？"),
)


def among_five(mind: Mind, pairs: tuple[tuple[str, str], ...], recipe: Recipe) -> int:
    """How many of the questions have the memory that answers them among five results."""
    answers = (mind.recall(question, 5, recipe=recipe, now="2026-04-20") for _, question in pairs)
    return sum(text in [result.text for result in found] for (text, _), found in zip(pairs, answers, strict=True))


@pytest.mark.parametrize("pairs", [GERMAN, CHINESE], ids=["German", "Chinese"])
def test_questions_in_other_words_find_more_with_the_words_of_their_topic(
    path: Path, pairs: tuple[tuple[str, str], ...]
) -> None:
    recipe = get_recipe("default")
    without = recipe.but(read=[reader for reader in recipe.read if type(reader).__name__ != "RelatedWords"])
    with Mind(path, embedder=LocalEmbedderV2()) as mind:  # which has no glossary
        for day, (text, _) in enumerate(pairs, 1):
            mind.remember(text, created=f"2026-03-{day:02}")
        assert among_five(mind, pairs, recipe) >= among_five(mind, pairs, without) + 2


def test_the_trace_and_the_explanation_name_the_related_word(path: Path) -> None:
    with Mind(path) as mind:
        mind.remember("Paul hat 39 Grad Fieber und bleibt im Bett.", id="fever")
        mind.remember("Lena spielt seit zwei Jahren Geige.")
        recall = mind.recall("Wer ist krank?")
        assert recall[0].id == "fever"
        assert "fieber (krank)" in str(recall.trace)
        assert "“fieber for krank”" in str(recall[0].why)


def test_nothing_is_added_in_a_language_that_the_model_knows(path: Path) -> None:
    with Mind(path) as mind:
        mind.remember("Paul has a fever and stays in bed.")
        assert "related:" not in str(mind.recall("Who is ill?").trace)
