"""Questions in other languages than English: stop words, stems, compounds, and what the trace says of the embedder."""

from __future__ import annotations

from pathlib import Path

import pytest

from recollect.embed.local import LocalEmbedder
from recollect.store.base import Store
from recollect.store.reference import ReferenceStore

from .kit import BAG, Clock, nodes, open_mind, step, texts

GERMAN = [
    "Die Torte für Mara steht im Keller.",
    "Mein Fahrrad hat jetzt ein neues Bügelschloss.",
    "Wir haben das Auto hinter der Schule geparkt.",
    "Der Zahnarzttermin ist in der Lindenstraße.",
    "Ich habe Hunger und war lange wach.",
]
FRENCH = ["Les chevaux sont dans le pré.", "J'ai réparé la lampe du salon.", "Il fait très froid ici."]
SPANISH = ["Las canciones nuevas están en la cinta azul.", "Mi hermana vive en Toledo.", "Hace mucho frío aquí."]


def first(path: Path, memories: list[str], question: str) -> str:
    with open_mind(path / "memory.db", embedder=None) as mind:
        mind.remember_many(memories)
        recall = mind.recall(question, track=False)
    assert recall.trace.failures == []
    assert all(result.why.evaluate() == result.score for result in recall)
    return recall[0].text if recall else ""


@pytest.mark.parametrize(
    ("memories", "question", "expected"),
    [
        (GERMAN, "Wo ist die Geburtstagstorte?", 0),
        (GERMAN, "Was für ein Schloss hat das Rad?", 1),
        (GERMAN, "Wer weiß, wo wir parken?", 2),
        (GERMAN, "In welcher Strasse ist der Termin?", 3),
        (FRENCH, "Où est le cheval ?", 0),
        (FRENCH, "Qui a reparé les lampes ?", 1),
        (SPANISH, "¿En qué cinta está la canción?", 0),
        (SPANISH, "¿Dónde viven las hermanas?", 1),
    ],
)
def test_inflections_and_compounds_of_the_questions_language_are_found(
    tmp_path: Path, memories: list[str], question: str, expected: int
) -> None:
    assert first(tmp_path, memories, question) == memories[expected]


def test_function_words_of_the_questions_language_find_nothing(tmp_path: Path) -> None:
    with open_mind(tmp_path / "memory.db", embedder=None) as mind:
        mind.remember_many(GERMAN)
        recall = mind.recall("Wie war das mit der Hochzeit und dem Klavier für uns?", track=False)
    assert step(recall, "words")["detail"]["terms"] == {"hochzeit": 0, "klavier": 0}
    assert step(recall, "DetectLanguage")["detail"]["language"] == "German"


def test_parts_of_compounds_are_named_in_the_trace_and_count_less(tmp_path: Path) -> None:
    with open_mind(tmp_path / "memory.db", embedder=None) as mind:
        mind.remember_many(GERMAN)
        recall = mind.recall("Wo ist die Geburtstagstorte?", track=False)
        compound = mind.recall("Was ist das für ein Termin?", track=False)
    assert step(recall, "CompoundParts")["detail"] == {"parts of geburtstagstorte": "torte"}
    labels = [node.label for node in nodes(recall[0].why)]
    assert "“torte in geburtstagstorte”" in labels
    assert any(label.startswith("0.5 × idf") for label in labels)
    assert "“compounds of termin”" in [node.label for node in nodes(compound[0].why)]


def test_a_question_without_function_words_has_the_language_of_the_memories(tmp_path: Path) -> None:
    with open_mind(tmp_path / "memory.db", embedder=None) as mind:
        mind.remember_many(GERMAN)
        assert texts(mind.recall("Geburtstagstorte", track=False))[0] == GERMAN[0]
        assert step(mind.recall("Mara", track=False), "DetectLanguage")["detail"] == {"language": "German"}
        assert step(mind.recall("Where is Mara?", track=False), "DetectLanguage").get("detail", {}) == {}


def test_names_and_identifiers_are_found_as_they_are_written(tmp_path: Path) -> None:
    memories = [*GERMAN, "Die Einstellung heißt maxRetries und steht auf 5.", "Das Paket hat die Nummer KX-4417."]
    assert first(tmp_path, memories, "Was ist denn mit max_retries?") == memories[-2]
    assert first(tmp_path, memories, "Wo ist das Paket KX-4417?") == memories[-1]


def test_both_stores_answer_alike_in_german(tmp_path: Path) -> None:
    answers = []
    for number, store in enumerate((None, ReferenceStore(Clock()))):
        options: dict[str, Store] = {} if store is None else {"store": store}
        with open_mind(tmp_path / f"{number}.db", BAG, **options) as mind:
            for at, text in enumerate(GERMAN):
                mind.remember(text, id=f"m{at}")
            recalls = [
                mind.recall(each, track=False) for each in ("Wo ist die Geburtstagstorte?", "Wo parken wir denn?")
            ]
            answers.append([(result.id, result.score) for recall in recalls for result in recall])
    assert answers[0] == answers[1]


def test_the_trace_and_the_status_say_that_the_model_does_not_know_the_language(tmp_path: Path) -> None:
    with open_mind(tmp_path / "memory.db", LocalEmbedder()) as mind:
        assert mind.status().note == ""
        mind.remember_many(GERMAN)
        note = str(step(mind.recall("Wo ist die Torte?", track=False), "DetectLanguage")["detail"]["embedder"])
        assert "was not trained on German" in note
        assert mind.status().note == note
        assert step(mind.recall("Where is the cake?", track=False), "DetectLanguage").get("detail", {}) == {}
    with open_mind(tmp_path / "other.db", BAG) as mind:  # it does not say what it knows
        mind.remember_many(GERMAN)
        assert mind.status().note == ""


def test_english_memories_need_no_note(tmp_path: Path) -> None:
    with open_mind(tmp_path / "memory.db", LocalEmbedder()) as mind:
        mind.remember_many(
            [
                "The cake is in the cellar.",
                "We parked the car.",
                "杯子在厨房里。",
                *[f"I am in room {number}." for number in range(9)],
            ]
        )
        assert mind.status().note == ""


def test_words_of_another_language_are_not_taken_for_typos(tmp_path: Path) -> None:
    with open_mind(tmp_path / "memory.db", LocalEmbedder()) as mind:
        mind.remember_many([*GERMAN, "Die Torfe im Moor sind nass."])
        recall = mind.recall("Wer hat denn die Sorten gekauft?", track=False)
    assert "corrected" not in step(recall, "Spelling").get("detail", {})


def test_a_question_of_many_long_compounds_is_answered(tmp_path: Path) -> None:
    with open_mind(tmp_path / "memory.db", embedder=None) as mind:
        mind.remember_many(GERMAN)
        long = "Wo ist die " + " ".join(f"Donaudampfschiff{'fahrt' * at}torte" for at in range(40)) + " für Mara?"
        assert texts(mind.recall(long, track=False))[0] == GERMAN[0]
