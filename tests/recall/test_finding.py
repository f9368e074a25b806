"""What words find: typos, parts of words, identifiers, endings, accents, and texts in many scripts."""

from __future__ import annotations

from collections.abc import Iterator
from itertools import product
from pathlib import Path

import pytest

from recollect import InvalidInput, Mind
from recollect.model.limits import changed_limits

from .kit import ids, open_mind, step, texts

BESIDE = [
    "The charging dock stands in the hall.",
    "Nobody is allowed near the saw.",
    "明天下午三点开会。",
    "Погода завтра будет хорошая.",
    "오늘은 비가 옵니다.",
    "明日は雨が降るでしょう。",
]


@pytest.fixture(scope="module")
def path(tmp_path_factory: pytest.TempPathFactory) -> Path:
    return tmp_path_factory.mktemp("finding") / "memory.db"


@pytest.fixture
def mind(path: Path) -> Iterator[Mind]:
    """Words alone, in a collection of its own for each test."""
    with open_mind(path, None) as counting:
        name = f"test {counting.status().store.version}"
    with open_mind(path, None, collection=name) as mind:
        mind.remember_many(BESIDE)
        yield mind


FOUND = [
    # Typos, found by the letters that are right.
    ("The gripper slips when it is wet.", "griper"),
    ("The gripper slips when it is wet.", "gripperr"),
    ("The gripper slips when it is wet.", "what about the grippre?"),
    ("Calibrate the accelerometer first.", "acelerometer"),
    ("Встреча с директором в пятницу.", "директорм"),
    # A part of a word.
    ("Use the screwdriver from the second drawer.", "screw"),
    ("Use the screwdriver from the second drawer.", "driver"),
    ("The Donaudampfschifffahrt opens in May.", "dampfschiff"),
    # Identifiers, however they are written.
    ("Set maxRetries to 5.", "max retries"),
    ("Set maxRetries to 5.", "max_retries"),
    ("Set maxRetries to 5.", "maxretries"),
    ("Set max_retries to 5.", "maxRetries"),
    ("Set max_retries to 5.", "MAX_RETRIES"),
    ("HTTPServer listens on 8080.", "http server"),
    ("See robot/arm_controller.py for that.", "arm controller"),
    ("Error E1234 means overheating.", "e1234"),
    # Endings.
    ("Two robots are charging.", "robot"),
    ("The robot is busy.", "robots"),
    ("We calibrated both cameras.", "calibrating a camera"),
    # Accents, ligatures, widths.
    ("Das Café öffnet um neun.", "cafe"),
    ("Das Cafe ist zu.", "café"),
    ("Grüße aus Köln", "grusse koln"),
    ("We met Søren and Zoë.", "zoe"),
    ("The ﬁnal oﬃce", "final office"),
    ("ＲＯＢＯＴ is wide", "robot"),
    ("cafe\u0301 decomposed", "caf\u00e9"),
    ("Straße", "STRASSE"),
    ("İstanbul is large.", "istanbul"),
    # Scripts, by a word of theirs.
    ("我昨天在超市买了苹果和牛奶。", "苹果"),
    ("我昨天在超市买了苹果和牛奶。", "牛奶在哪里"),
    ("機器人在廚房裡。", "廚房"),
    ("猫が好きです。", "猫"),
    ("図書館で本を借りました。", "図書館"),
    ("図書館で本を借りました。", "本"),
    ("東京タワーに行きました。", "東京"),
    ("コーヒーは台所にあります。", "コーヒー"),
    ("ｺｰﾋｰは台所にあります。", "コーヒー"),
    ("서울에서 커피를 마셨어요.", "서울"),
    ("서울에서 커피를 마셨어요.", "커피"),
    ("집에서 물을 마셨어요.", "물"),
    ("Робот стоит на кухне.", "робот"),
    ("Ёлка стоит во дворе.", "елка"),
    ("القهوة في المطبخ", "المطبخ"),
    ("القَهْوَة في المطبخ", "القهوة"),
    ("रोबोट रसोई में है।", "रसोई"),
    ("गाड़ी की चाबी मेज़ पर है।", "चाबी"),
    ("หุ่นยนต์อยู่ในห้องครัว", "ห้องครัว"),
    ("Η γάτα κοιμάται.", "γατα"),
    ("החתול ישן על הספה.", "החתול"),
    ("ரோபோ சமையலறையில் உள்ளது", "சமையலறையில்"),
    # Emoji.
    ("Finished the marathon 🎉", "🎉"),
    ("Love ❤️ from Paris", "❤"),
    ("Love ❤ from Paris", "❤️"),
    ("The family 👨‍👩‍👧 came by", "👨‍👩‍👧"),
    ("Trip to 🇯🇵 in May", "🇯🇵"),
]


@pytest.mark.parametrize(("text", "query"), FOUND)
def test_a_text_is_found_by(mind: Mind, text: str, query: str) -> None:
    id = mind.remember(text).id
    recall = mind.recall(query)
    assert ids(recall)[:1] == [id], str(recall.trace)


@pytest.mark.parametrize(
    "details",
    [
        {"title": "zebra crossing"},
        {"summary": "about a zebra"},
        {"keywords": ["zebra"]},
        {"tags": ["zebra"]},
        {"entities": ["Zebra"]},
        {"path": "animals/zebra.md"},
        {"files": ["zebra.png"]},
        {"speaker": "Zebra"},
        {"original": "das Zebra"},
    ],
    ids=lambda details: next(iter(details)),
)
def test_every_field_of_words_is_looked_through(mind: Mind, details: dict[str, str]) -> None:
    mind.remember_many([{"text": "something striped", "id": f"{mind.collection} it", **details}])
    assert ids(mind.recall("zebra")) == [f"{mind.collection} it"]


def test_a_better_match_comes_first(mind: Mind) -> None:
    best = mind.remember("the red cup on the kitchen table").id
    good = mind.remember("a cup somewhere").id
    assert ids(mind.recall("red cup kitchen")) == [best, good]


def test_stop_words_are_dropped_when_there_are_others(mind: Mind) -> None:
    id = mind.remember("the cup").id
    mind.remember("where is the is the where")
    assert ids(mind.recall("where is the cup")) == [id]


@pytest.mark.parametrize(("word", "query"), [("willing", "will she be willing to help"), ("doe", "does a doe jump")])
def test_a_stop_word_does_not_take_a_word_of_the_same_stem_with_it(mind: Mind, word: str, query: str) -> None:
    mind.remember(f"here it says {word}")
    assert word in step(mind.recall(query), "ContentWords")["detail"]["words"].split(", ")


def test_a_question_of_stop_words_alone_is_looked_up_as_it_is(mind: Mind) -> None:
    id = mind.remember("To be or not to be").id
    assert ids(mind.recall("to be or not to be"))[0] == id


def test_a_word_that_is_known_is_not_taken_for_a_typo(mind: Mind) -> None:
    id = mind.remember("the grip").id
    mind.remember("the gripper")
    recall = mind.recall("where is the grip?")
    assert ids(recall) == [id]
    assert step(recall, "trigrams")["outcome"] == "skipped"


def test_a_name_that_is_looked_up_may_be_unfinished(mind: Mind) -> None:
    longer = mind.remember("the gripper").id
    edge = mind.remember("def has_edge(self, a, b): ...").id
    mind.remember("def has_key(self, key): ...")
    assert ids(mind.recall("grip")) == [longer]
    recall = mind.recall("_has_ed")
    assert ids(recall)[0] == edge
    assert next(iter(step(recall, "trigrams")["detail"]["instead"])) == "has_edge"


def test_nothing_in_common_finds_nothing(mind: Mind) -> None:
    assert ids(mind.recall("xylophone")) == []


@pytest.mark.parametrize("query", ["à", "в", "ő", "γ", "da", "në"])
def test_a_letter_or_two_of_an_alphabet_do_not_find_the_words_that_contain_them(mind: Mind, query: str) -> None:
    """In scripts without spaces one sign is a word; elsewhere it is a preposition, and is in every other word."""
    mind.remember_many(["bananas and dates", "погода завтра", "γάμμα", "ordinary connection"])
    assert texts(mind.recall(query)) == []


@pytest.mark.parametrize("query", ["", "  \n\t ", "\u3000"])
def test_a_blank_question_is_a_clear_error(mind: Mind, query: str) -> None:
    with pytest.raises(InvalidInput, match="blank"):
        mind.recall(query)


@pytest.mark.parametrize(
    "query",
    [
        "'\"", '"', "*", "AND OR NOT", "a NEAR b", "col:umn", "%_", "\0", "a\0b", "(((", "\ud800", "-- ; DROP TABLE x",
        "\u202e\u200b", "Z͑ͫ̓ͪ̂ͫ̽a̴̙l̷̗g̶̳o̵͙", "e" * 10_000, "💥" * 500, "_" * 50, "𝕳𝖊𝖑𝖑𝖔",
    ],
)  # fmt: skip
def test_no_question_is_a_syntax_error(mind: Mind, query: str) -> None:
    recall = mind.recall(query)
    assert recall.trace.failures == [], str(recall.trace)


def test_a_whole_document_may_be_the_question(mind: Mind) -> None:
    """More words than SQLite takes values in one statement; pasted documents are like that."""
    id = mind.remember("the zebra").id
    with changed_limits(query_bytes=1_000_000):
        recall = mind.recall(" ".join(map("".join, product("bdfghkmp", repeat=5))) + " zebra", k=3)
    assert [each.reason for each in recall.trace.failures] == []
    assert id in ids(recall)


@pytest.mark.parametrize("k", [0, -1, 1.5, True, "3"])
def test_k_is_a_whole_number_from_1_on(mind: Mind, k: int) -> None:
    with pytest.raises(InvalidInput, match="k must be"):
        mind.recall("cup", k)


def test_k_may_be_larger_than_the_memory_up_to_its_limit(mind: Mind) -> None:
    mind.remember("zebra")
    assert len(mind.recall("zebra", 10_000)) == 1
    with pytest.raises(InvalidInput, match="the limit results is 10,000"):
        mind.recall("zebra", 2**62)


def test_an_unknown_recipe_is_a_clear_error(mind: Mind) -> None:
    with pytest.raises(InvalidInput, match="default"):
        mind.recall("cup", recipe="waffles")


def test_words_that_are_gone_do_not_stand_in_the_way_of_a_typo(mind: Mind) -> None:
    """What a typo may stand for is looked for among words that a memory still has."""
    kept = mind.remember("the gripper is worn").id
    for letter in "abcdefgh":
        mind.edit(mind.remember(f"griper{letter}").id, text="something else")
    assert ids(mind.recall("griper"))[:1] == [kept]


def test_a_result_knows_its_id_and_a_recall_its_size(mind: Mind) -> None:
    kept = mind.remember("zebra")
    found = mind.recall("zebra")
    assert [result.id for result in found] == [kept.id]
    assert "1 result in" in repr(found)


def test_the_beginning_of_a_name_finds_every_name_that_begins_with_it(mind: Mind) -> None:
    names = [f"gauss{part}" for part in "box fit blur peak kernel width noise filter".split()]
    mind.remember_many([f"Call {name} first." for name in names])
    found = texts(mind.recall("gauss", k=20))
    assert set(found[: len(names)]) == {f"Call {name} first." for name in names}
