"""An embedder that fails, or is another one than before: memories are kept, words answer, and we are told."""

from __future__ import annotations

import logging
import math
from collections.abc import Sequence
from pathlib import Path
from typing import Any

import pytest

from recollect import EmbeddingError, InvalidInput, Mind, Recall
from tests.store.looking import held, texts


class Letters:
    """Counts letters, so that texts of like letters lie near each other. Can be told to fail."""

    def __init__(self, name: str = "letters", dim: int = 26, trouble: str = "") -> None:
        self.name, self.dim, self.trouble = name, dim, trouble

    def embed(self, texts: Sequence[str], query: bool = False) -> Any:
        vectors = [[float(text.lower().count(chr(97 + at % 26))) for at in range(self.dim)] for text in texts]
        match self.trouble:
            case "wrong dimension":
                return [[*vector, 1.0] for vector in vectors]
            case "too few":
                return vectors[1:]
            case "ragged":
                return [vector[: 1 + at] for at, vector in enumerate([*vectors, *vectors])]
            case "NaN":
                return [[math.nan, *vector[1:]] for vector in vectors]
            case "infinity":
                return [[math.inf, *vector[1:]] for vector in vectors]
            case "None":
                return None
            case "strings":
                return [["a"] * self.dim for _ in texts]
            case "raises":
                raise ConnectionError("the embedding server is down")
        return vectors


TROUBLES = ["wrong dimension", "too few", "ragged", "NaN", "infinity", "None", "strings", "raises"]


def vectors_step(answer: Recall) -> tuple[str, str]:
    (step,) = [step for step in answer.trace.steps if step.name == "vectors"]
    return step.outcome, step.reason


def without_vector(mind: Mind) -> int:
    return mind.status().store.without_vector


@pytest.mark.parametrize("trouble", TROUBLES)
def test_a_failing_embedder_costs_a_vector_never_a_memory(
    path: Path, caplog: pytest.LogCaptureFixture, trouble: str
) -> None:
    embedder = Letters(trouble=trouble)
    with Mind(path, embedder=embedder) as mind, caplog.at_level(logging.WARNING, "recollect"):
        kept = mind.remember("The cup is on the shelf.")
        mind.remember_many(["The plate is in the sink.", "The fork is lost."])
        assert "'letters'" in caplog.text
        assert "embed_missing()" in caplog.text
        answer = mind.recall("cup")
        assert [result.memory.id for result in answer] == [kept.id]
        outcome, reason = vectors_step(answer)
        assert outcome == "failed"
        assert "'letters'" in reason
        assert without_vector(mind) == 3
        with pytest.raises(EmbeddingError, match="'letters'"):
            mind.embed_missing()
        embedder.trouble = ""
        assert mind.embed_missing() == 3
        assert without_vector(mind) == 0
        assert vectors_step(mind.recall("cup")) == ("ran", "")


@pytest.mark.parametrize("verb", ["edit", "import", "undo"])
def test_every_write_is_kept_when_the_embedder_fails(path: Path, verb: str) -> None:
    embedder = Letters()
    with Mind(path, embedder=embedder) as mind:
        cup = mind.remember("The cup is on the shelf.")
        mind.edit(cup.id, text="The cup is in the sink.")
        embedder.trouble = "raises"
        match verb:
            case "edit":
                assert mind.edit(cup.id, text="The cup is broken.").text == "The cup is broken."
                assert texts(mind, "broken") == ["The cup is broken."]
            case "import":
                mind.import_([{"text": "A cup was bought."}])
                assert texts(mind, "bought") == ["A cup was bought."]
            case "undo":
                undone = mind.undo()
                assert undone is not None
                assert undone.verb == "edit"
                assert texts(mind, "shelf") == ["The cup is on the shelf."]


def test_a_memory_whose_vector_is_missing_is_found_by_its_words_beside_those_that_have_one(path: Path) -> None:
    embedder = Letters()
    with Mind(path, embedder=embedder) as mind:
        mind.remember("The plate is in the sink.")
        embedder.trouble = "raises"
        mind.remember("The cup is on the shelf.")
        embedder.trouble = ""
        answer = mind.recall("cup")
        assert answer[0].text == "The cup is on the shelf."
        assert answer.trace.failures == []
        assert vectors_step(answer)[0] == "ran"


def test_an_edit_leaves_no_vector_of_the_old_text_behind(path: Path) -> None:
    with Mind(path, embedder=Letters()) as mind:
        pure, mixed = mind.remember("zzzz"), mind.remember("zzz aaa")
        assert [result.memory.id for result in mind.recall("z z", track=False)] == [pure.id, mixed.id]
        mind.edit(pure.id, text="aaaa")
        assert [result.memory.id for result in mind.recall("z z", track=False)] == [mixed.id, pure.id]
        mind.undo()
        assert [result.memory.id for result in mind.recall("z z", track=False)] == [pure.id, mixed.id]


OTHERS = [Letters("another-model"), Letters("letters", dim=27)]


@pytest.mark.parametrize("other", OTHERS, ids=["another name", "another dimension"])
def test_another_embedder_is_refused_with_the_way_out(path: Path, other: Letters) -> None:
    with Mind(path, embedder=Letters()) as mind:
        mind.remember("The cup is on the shelf.")
        before = held(mind)
    with pytest.raises(EmbeddingError) as refusal:
        Mind(path, embedder=other)
    for word in ("'letters'", "26", f"'{other.name}'", str(other.dim), "embedder=None", "Mind.reembed(", str(path)):
        assert word in str(refusal.value)
    with Mind(path, embedder=None) as mind:
        assert held(mind) == before
        assert texts(mind, "cup") == ["The cup is on the shelf."]


@pytest.mark.parametrize("other", OTHERS, ids=["another name", "another dimension"])
def test_reembedding_makes_another_embedder_the_one_of_the_file(path: Path, other: Letters) -> None:
    seen: list[tuple[int, int]] = []
    with Mind(path, embedder=Letters()) as mind:
        mind.remember_many(f"memory number {number}" for number in range(300))
        mind.forget(mind.list()[0].id)
        before = held(mind)
    assert Mind.reembed(path, embedder=other, progress=lambda done, of: seen.append((done, of))) == 299
    assert seen[-1] == (299, 299)
    with Mind(path, embedder=other) as mind:
        assert held(mind) == before
        assert without_vector(mind) == 0
        assert [space["name"] for space in mind.status().store.spaces] == [other.name]
        assert vectors_step(mind.recall("number")) == ("ran", "")
    with pytest.raises(EmbeddingError):
        Mind(path, embedder=Letters())


def test_reembedding_that_fails_leaves_the_old_vectors_in_use(path: Path) -> None:
    with Mind(path, embedder=Letters()) as mind:
        mind.remember("The cup is on the shelf.")
    with pytest.raises(EmbeddingError, match="server is down"):
        Mind.reembed(path, embedder=Letters("another-model", trouble="raises"))
    with Mind(path, embedder=Letters()) as mind:
        assert without_vector(mind) == 0
        assert vectors_step(mind.recall("cup")) == ("ran", "")


def test_reembedding_is_nothing_that_undo_would_take_back(path: Path) -> None:
    with Mind(path, embedder=Letters()) as mind:
        mind.remember("The cup is on the shelf.")
    Mind.reembed(path, embedder=Letters("another-model"))
    with Mind(path, embedder=Letters("another-model")) as mind:
        undone = mind.undo()
        assert undone is not None
        assert (undone.verb, undone.removed) == ("remember", 1)


def test_reembedding_needs_an_embedder(path: Path) -> None:
    Mind(path, embedder=None).close()
    nothing: Any = None
    with pytest.raises(InvalidInput, match="reembed needs an embedder"):
        Mind.reembed(path, embedder=nothing)
    with Mind(path, embedder=None) as mind, pytest.raises(EmbeddingError, match="no embedder"):
        mind.embed_missing()


@pytest.mark.parametrize("other", OTHERS, ids=["another name", "another dimension"])
def test_a_mind_that_was_open_meanwhile_does_not_compare_vectors_of_two_models(path: Path, other: Letters) -> None:
    with Mind(path, embedder=Letters()) as mind:
        mind.remember("The cup is on the shelf.")
        assert vectors_step(mind.recall("cup")) == ("ran", "")
        Mind.reembed(path, embedder=other)
        answer = mind.recall("cup")
        assert [result.text for result in answer] == ["The cup is on the shelf."]
        outcome, reason = vectors_step(answer)
        assert outcome != "ran"
        assert other.name in reason
        with pytest.raises(EmbeddingError, match="reembed"):
            mind.remember("The plate is in the sink.")
        assert len(mind.list()) == 1


def test_without_an_embedder_memories_wait_for_one(path: Path) -> None:
    with Mind(path, embedder=Letters()) as mind:
        mind.remember("The cup is on the shelf.")
    with Mind(path, embedder=None) as mind:
        mind.remember("The plate is in the sink.")
        answer = mind.recall("plate")
        assert [result.text for result in answer] == ["The plate is in the sink."]
        assert vectors_step(answer) == ("skipped", "there is no embedder")
    with Mind(path, embedder=Letters()) as mind:
        assert without_vector(mind) == 1
        assert mind.embed_missing() == 1
        assert mind.embed_missing() == 0


@pytest.mark.parametrize(
    "given",
    [5, object(), "nonesuch", ["local"], Letters],
    ids=["a number", "an object", "an unknown name", "a list", "a class"],
)
def test_what_is_no_embedder_is_refused(path: Path, given: Any) -> None:
    told = "embedder must be 'local', None, an object with name, dim and embed"
    with pytest.raises(InvalidInput, match="There is no embedder 'nonesuch'" if isinstance(given, str) else told):
        Mind(path, embedder=given)
    assert not path.exists()
