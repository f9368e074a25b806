"""A cross-encoder from a folder: a real, tiny ONNX model that counts the words two texts have in common."""

from __future__ import annotations

from pathlib import Path
from typing import Any

import numpy as np
import onnx
import pytest
from numpy.typing import NDArray
from onnx import TensorProto, helper, numpy_helper
from tokenizers import Tokenizer
from tokenizers.models import WordLevel
from tokenizers.pre_tokenizers import Whitespace
from tokenizers.processors import TemplateProcessing

from recollect import InvalidInput
from recollect.rerank import CrossEncoder, RerankError, rerank_texts

WORDS = "[UNK] [PAD] [CLS] [SEP] red blue cup door the a".split()
SPECIAL = 4  # ids below this are no words


def tokenizer(padding: int | None = None) -> Tokenizer:
    made = Tokenizer(WordLevel({word: at for at, word in enumerate(WORDS)}, unk_token="[UNK]"))
    made.pre_tokenizer = Whitespace()
    made.post_processor = TemplateProcessing(
        single="[CLS] $A [SEP]", pair="[CLS] $A [SEP] $B:1 [SEP]:1", special_tokens=[("[CLS]", 2), ("[SEP]", 3)]
    )
    if padding:
        made.enable_padding(pad_id=1, pad_token="[PAD]", length=padding)
    return made


def model(outputs: int = 1, output: str = "logits", extra: str = "", positions: int = 512) -> onnx.ModelProto:
    """logit = the number of equal pairs (word of the first text, word of the second) − 1, seen through the mask.

    With two outputs the first is 0 and the second that logit, as a classifier of no and yes has them. Like a real
    model it looks up every position in a table, and fails beyond its end.
    """

    def ints(name: str) -> onnx.ValueInfoProto:
        return helper.make_tensor_value_info(name, TensorProto.INT64, ["batch", "tokens"])

    node = helper.make_node
    spread = {1: [[1.0]], 2: [[0.0, 1.0]], 3: [[0.0, 1.0, 2.0]]}[outputs]
    constants: dict[str, NDArray[Any]] = {
        "special": np.array(SPECIAL, np.int64),
        "second": np.array([2], np.int64),
        "first": np.array([1], np.int64),
        "both": np.array([1, 2], np.int64),
        "flat": np.array([-1, 1], np.int64),
        "one": np.array(1.0, np.float32),
        "zero_at": np.array(0, np.int64),
        "one_at": np.array(1, np.int64),
        "positions": np.ones(positions, np.float32),
        "spread": np.array(spread, np.float32),
    }
    nodes = [
        node("GreaterOrEqual", ["input_ids", "special"], ["is_word"]),
        node("Cast", ["is_word"], ["word"], to=TensorProto.FLOAT),
        node("Cast", ["attention_mask"], ["seen"], to=TensorProto.FLOAT),
        node("Cast", ["token_type_ids"], ["type"], to=TensorProto.FLOAT),
        node("Shape", ["input_ids"], ["shape"]),
        node("Gather", ["shape", "one_at"], ["width"]),
        node("Range", ["zero_at", "width", "one_at"], ["at"]),
        node("Gather", ["positions", "at"], ["position"]),
        node("Mul", ["word", "seen"], ["seen_word"]),
        node("Mul", ["seen_word", "position"], ["counted"]),
        node("Mul", ["counted", "type"], ["in_text"]),
        node("Sub", ["counted", "in_text"], ["in_question"]),
        node("Unsqueeze", ["input_ids", "second"], ["ids_down"]),
        node("Unsqueeze", ["input_ids", "first"], ["ids_across"]),
        node("Equal", ["ids_down", "ids_across"], ["equal"]),
        node("Cast", ["equal"], ["same"], to=TensorProto.FLOAT),
        node("Unsqueeze", ["in_question", "second"], ["down"]),
        node("Unsqueeze", ["in_text", "first"], ["across"]),
        node("Mul", ["same", "down"], ["half"]),
        node("Mul", ["half", "across"], ["pairs"]),
        node("ReduceSum", ["pairs", "both"], ["sum"], keepdims=0),
        node("Sub", ["sum", "one"], ["logit"]),
        node("Reshape", ["logit", "flat"], ["column"]),
        node("MatMul", ["column", "spread"], [output]),
    ]
    names = ["input_ids", "attention_mask", "token_type_ids", *([extra] if extra else [])]
    graph = helper.make_graph(
        nodes,
        "words in common",
        [ints(name) for name in names],
        [helper.make_tensor_value_info(output, TensorProto.FLOAT, ["batch", outputs])],
        [numpy_helper.from_array(value, name) for name, value in constants.items()],
    )
    made = helper.make_model(graph, opset_imports=[helper.make_opsetid("", 17)], ir_version=8)
    onnx.checker.check_model(made)
    return made


def folder(path: Path, made: onnx.ModelProto | None = None, inside: str = "", padding: int | None = None) -> Path:
    (path / inside).mkdir(parents=True, exist_ok=True)
    onnx.save(made or model(), path / inside / "model.onnx")
    tokenizer(padding).save(str(path / "tokenizer.json"))
    return path


def sigmoid(logit: float) -> float:
    return float(1 / (1 + np.exp(-logit)))


@pytest.mark.parametrize("inside", ["", "onnx"])
def test_question_and_text_are_read_together(tmp_path: Path, inside: str) -> None:
    encoder = CrossEncoder(folder(tmp_path / "words-in-common", inside=inside))
    scores = rerank_texts(encoder, "red cup", ["a red cup", "the blue cup", "the door"])
    assert scores.tolist() == pytest.approx([sigmoid(1), sigmoid(0), sigmoid(-1)])
    assert rerank_texts(encoder, "door", ["a red cup", "the door"]).tolist() == pytest.approx([sigmoid(-1), sigmoid(0)])
    assert encoder.name == "words-in-common"


def test_two_logits_are_no_and_yes(tmp_path: Path) -> None:
    encoder = CrossEncoder(folder(tmp_path, model(outputs=2, output="scores")))
    assert rerank_texts(encoder, "red cup", ["red cup", "door"]).tolist() == pytest.approx([sigmoid(1), sigmoid(-1)])


def test_batches_give_what_single_texts_give(tmp_path: Path) -> None:
    texts = ["the " * (n % 7) + ("red cup" if n % 3 else "door") for n in range(23)]
    encoder = CrossEncoder(folder(tmp_path), batch=4)
    together = rerank_texts(encoder, "red cup", texts)
    alone = [rerank_texts(encoder, "red cup", [text])[0] for text in texts]
    assert together.tolist() == pytest.approx(alone)


def test_a_long_text_is_cut_and_the_question_is_not(tmp_path: Path) -> None:
    encoder = CrossEncoder(folder(tmp_path), tokens=12)  # 3 marks, 2 for the question, 7 for the text
    cut, whole = rerank_texts(encoder, "red cup", ["the " * 7 + "red cup", "the " * 5 + "red cup"])
    assert (cut, whole) == (pytest.approx(sigmoid(-1)), pytest.approx(sigmoid(1)))


@pytest.mark.parametrize("text", ["", "\n", "🎉" * 300, "red " * 100_000])
def test_no_text_is_too_empty_too_long_or_too_strange(tmp_path: Path, text: str) -> None:
    encoder = CrossEncoder(folder(tmp_path))
    assert np.isfinite(rerank_texts(encoder, "red cup", [text])).all()
    assert np.isfinite(rerank_texts(encoder, text or "?", ["red cup"])).all()


def test_a_tokenizer_that_pads_to_a_fixed_length_pads_to_the_batch_instead(tmp_path: Path) -> None:
    encoder = CrossEncoder(folder(tmp_path, model(positions=32), padding=64), tokens=32)
    assert rerank_texts(encoder, "cup", ["cup", "the door"]).tolist() == pytest.approx([sigmoid(0), sigmoid(-1)])


def test_an_incomplete_folder_is_refused_at_once(tmp_path: Path) -> None:
    for missing in ("model.onnx", "tokenizer.json"):
        (folder(tmp_path / missing) / missing).unlink()
        with pytest.raises(InvalidInput, match=r"tokenizer\.json and model\.onnx"):
            CrossEncoder(tmp_path / missing)
    with pytest.raises(InvalidInput, match="must contain"):
        CrossEncoder(tmp_path / "nowhere")


@pytest.mark.parametrize(("tokens", "batch"), [(0, 16), (512, 0)])
def test_sizes_must_make_sense(tmp_path: Path, tokens: int, batch: int) -> None:
    with pytest.raises(InvalidInput, match="at least"):
        CrossEncoder(folder(tmp_path), tokens=tokens, batch=batch)


def test_a_model_that_is_no_reranker_is_a_clear_error(tmp_path: Path) -> None:
    three = CrossEncoder(folder(tmp_path / "three", model(outputs=3)))
    with pytest.raises(RerankError, match="3 numbers per pair"):
        rerank_texts(three, "q", ["red"])
    strange = CrossEncoder(folder(tmp_path / "strange", model(extra="position_ids")))
    with pytest.raises(RerankError, match="has the inputs position_ids"):
        rerank_texts(strange, "q", ["red"])


def test_broken_weights_are_a_clear_error(tmp_path: Path) -> None:
    encoder = CrossEncoder(folder(tmp_path), name="mine")
    (tmp_path / "model.onnx").write_bytes(b"no model")
    with pytest.raises(RerankError, match="'mine' failed"):
        rerank_texts(encoder, "q", ["red"])
