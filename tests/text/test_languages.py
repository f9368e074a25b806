"""The language of questions, stop words, stems and compounds beyond English."""

from __future__ import annotations

import pytest

from recollect.text.languages import detect_language

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
