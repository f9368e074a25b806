"""The language of questions, stop words, stems and compounds beyond English."""

from __future__ import annotations

import pytest

from recollect.text.classify import asks_about_assistant, asks_about_past, asks_when, mentions_time
from recollect.text.compounds import splits
from recollect.text.languages import detect_language
from recollect.text.stopwords import stop_words
from recollect.text.words import stem, stems, stems_of_words

QUESTIONS = {
    "en": """
        Where did I park the car?
        What is the name of my dentist?
        Who put the garbage in the bin?
        When does the van come?
        How much was the old war film?
        Which hat did the man in Berlin buy?
        Is the café in the Rue de la Paix open?
        Did Jürgen die in the plane?
    """,
    "de": """
        Wo habe ich das Auto geparkt?
        Wie heißt mein Zahnarzt?
        Wer kommt am Freitag zum Essen?
        Was war im Keller?
        Wieviel hat der neue Kühlschrank gekostet?
        Welche Pflanzen stehen auf dem Balkon?
        Mag Petra keine Oliven mehr?
        Seit wann lerne ich Klavier?
    """,
    "fr": """
        Où ai-je garé la voiture ?
        Comment s'appelle mon dentiste ?
        Qui vient dîner vendredi avec nous ?
        Combien a coûté le nouveau frigo ?
        Quelles plantes sont sur le balcon ?
        Est-ce que Pauline n'aime pas les olives ?
        Depuis quand est-ce que j'apprends le piano ?
        Pourquoi le train était en retard ?
    """,
    "es": """
        ¿Dónde he aparcado el coche?
        ¿Cómo se llama mi dentista?
        ¿Quién viene a cenar el viernes?
        ¿Cuánto costó la nevera nueva?
        Que plantas hay en el balcon
        ¿A Lucía no le gustan las aceitunas?
        ¿Desde cuándo aprendo a tocar el piano?
        Por que se retraso el tren de ayer
    """,
    "it": """
        Dove ho parcheggiato la macchina?
        Come si chiama il mio dentista?
        Chi viene a cena con noi venerdì?
        Quanto è costato il frigorifero nuovo?
        Quali piante ci sono sul balcone?
        Perché il treno era in ritardo?
    """,
    "nl": """
        Waar heb ik de auto geparkeerd?
        Hoe heet mijn tandarts?
        Wie komt er vrijdag bij ons eten?
        Hoeveel heeft de nieuwe koelkast gekost?
        Welke planten staan er op het balkon?
        Waarom had de trein vertraging?
    """,
    "pt": """
        Onde é que eu estacionei o carro?
        Como se chama o meu dentista?
        Quem vem jantar com a gente na sexta?
        Quanto custou a nova geladeira que eu comprei?
        Quais plantas estão na varanda?
        Por que o trem não chegou?
    """,
    "sv": """
        Var har jag parkerat bilen?
        Vad heter min tandläkare?
        Vem kommer på middag till oss i fredag?
        Hur mycket kostade det nya kylskåpet?
        Vilka växter finns på balkongen?
        Varför var tåget försenat?
    """,
    "da": """
        Hvor har jeg parkeret bilen?
        Hvad hedder min tandlæge?
        Hvornår kommer toget fra Odense?
        Hvor meget kostede det nye køleskab?
        Hvorfor var der ikke nogen hjemme?
    """,
    "fi": """
        Missä minä pysäköin auton?
        Mikä minun hammaslääkärini nimi on?
        Kuka tulee meille perjantaina syömään?
        Kuinka paljon se uusi jääkaappi maksoi?
        Miksi juna oli myöhässä?
    """,
    "ru": """
        Где я припарковал машину?
        Как зовут моего зубного врача?
        Кто придёт в пятницу на ужин?
        Сколько стоил новый холодильник?
    """,
    "zh": """
        我把车停在哪里了？
        我的牙医叫什么名字？
        新买的 MacBook 多少钱？
    """,
    "ja": "歯医者の名前は何ですか？",
    "ko": "내 치과 의사 이름이 뭐야?",
}
LABELLED = [(language, text.strip()) for language, texts in QUESTIONS.items() for text in texts.strip().splitlines()]


@pytest.mark.parametrize(("language", "question"), LABELLED)
def test_the_language_of_a_question_is_known(language: str, question: str) -> None:
    assert detect_language(question) == language


@pytest.mark.parametrize(
    "text", ["", "?", "maxRetries", "Mara Lind", "E-42", "put the apple in the bin", "die hard", "🙂"]
)
def test_what_has_no_clear_language_counts_as_english(text: str) -> None:
    assert detect_language(text) == "en"


def test_the_texts_around_decide_where_a_question_does_not() -> None:
    assert detect_language("Geburtstag Petra", lambda: "de") == "de"
    assert detect_language("Where does Petra live?", lambda: "de") == "en"


# Stems, stop words and compounds.


@pytest.mark.parametrize(
    ("language", "words"),
    [
        ("de", "Schlüssel Schluessel Schlüsseln"),
        ("de", "Straße Strasse Straßen"),
        ("de", "parken parkt parkte geparkt"),
        ("fr", "cheval chevaux"),
        ("fr", "réparée reparee"),
        ("es", "canción canciones cancion"),
        ("it", "ragazza ragazze"),
        ("ru", "машина машину машины"),
    ],
)
def test_forms_of_a_word_share_a_stem_with_the_first(language: str, words: str) -> None:
    first, *others = words.lower().split()
    for other in others:
        assert set(stems(first, language)) & set(stems(other, language)), (first, other)


def test_other_words_identifiers_and_numbers_are_not_mixed_up() -> None:
    assert not set(stems("nacht", "de")) & set(stems("nach", "de"))
    assert stems("max_retries", "de") == ("max_retries",)
    assert stems("4417b", "fr") == ("4417b",)
    assert stems("retries", "zh") == (stem("retries"),)


def test_stems_of_many_words_are_those_of_each() -> None:
    some = ["Häuser".lower(), "gekauft", "x9", "naïve", "", "été"]
    for language in ("de", "fr", "en", "zh"):
        assert stems_of_words(some, language) == [stems(word, language) for word in some]


def test_content_words_are_in_no_list_of_stop_words() -> None:
    assert stop_words("de").isdisjoint("haus wohnen rot montag mara".split())
    assert stop_words("fr").isdisjoint("maison habiter rouge lundi".split())
    assert {"wo", "habe", "für", "fuer"} <= stop_words("de")
    assert stop_words("ja") == stop_words("en")


def test_a_compound_is_split_at_its_linking_letters() -> None:
    assert ("geburtstag", "kuchen") in list(splits("geburtstagskuchen"))
    assert ("blume", "vase") in list(splits("blumenvase"))
    assert list(splits("kuh")) == []
    assert list(splits("a" * 100_000)) == []


# What a question asks for.


@pytest.mark.parametrize(
    "question",
    [
        "Wann fährt der Bus?",
        "Seit wann habe ich die Katze?",
        "In welchem Jahr war der Umzug?",
        "快递什么时候到？",
        "你们周几开会？",
        "Quand part le train ?",
        "¿Cuándo sale el tren?",
    ],
)
def test_questions_for_a_time_are_known(question: str) -> None:
    assert asks_when(question)


@pytest.mark.parametrize("question", ["Was machst du, wenn es regnet?", "Wo ist der Wandschrank?", "书在哪里？"])
def test_other_questions_are_not_for_a_time(question: str) -> None:
    assert not asks_when(question)


@pytest.mark.parametrize(
    "text", ["Am Dienstag war Markt.", "Wir waren gestern dort", "上周去爬山了", "三月五号搬家", "el lunes"]
)
def test_texts_that_say_when(text: str) -> None:
    assert mentions_time(text)


@pytest.mark.parametrize("text", ["Der Schrank ist rot.", "Das Mairenli", "我喜欢喝茶"])
def test_texts_that_do_not(text: str) -> None:
    assert not mentions_time(text)


@pytest.mark.parametrize(
    "question",
    ["Was hast du mir zum Kochen empfohlen?", "Was war dein Tipp?", "你上次推荐了什么书？", "¿Qué me recomendaste?"],
)
def test_questions_about_what_the_assistant_said(question: str) -> None:
    assert asks_about_assistant(question)


@pytest.mark.parametrize(
    "question", ["Kannst du mir sagen, wo er ist?", "请你告诉我他在哪里", "Was hat Mara empfohlen?"]
)
def test_requests_to_the_assistant_are_not_about_it(question: str) -> None:
    assert not asks_about_assistant(question)


def test_a_message_that_asks_about_the_past() -> None:
    assert asks_about_past("Ich bin wieder da. Was hatte ich bezahlt?", "de")
    assert asks_about_past("我回来了。我上次付了多少？", "zh")
    assert not asks_about_past("Ich koche gleich. Was essen wir?", "de")


@pytest.mark.parametrize("unit", ["hast du ", "habe ", "了", "你说 ", "war? "])
def test_long_texts_are_judged_in_bounded_time(unit: str) -> None:
    text = unit * (200_000 // len(unit))
    asks_about_assistant(text), asks_when(text), mentions_time(text), detect_language(text)
    for language in ("en", "de", "zh"):
        asks_about_past(text, language)
