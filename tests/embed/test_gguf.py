"""GGUF embedders: a tiny BERT written by the tests, run by llama.cpp where the extra is installed (make test-gguf)."""

from __future__ import annotations

import importlib.util
import shutil
import struct
from collections.abc import Sequence
from pathlib import Path
from typing import Any

import gguf
import numpy as np
import pytest
from numpy.typing import NDArray

from recollect import EmbeddingError, InvalidInput, Mind
from recollect.embed import GgufEmbedder, IdentifiedEmbedder, embed_texts, resolve_embedder
from recollect.embed.gguf import read_metadata

HAS_LLAMA = importlib.util.find_spec("llama_cpp") is not None
needs_llama = pytest.mark.skipif(not HAS_LLAMA, reason="llama-cpp-python is not installed: run 'make test-gguf'")

WORDS = ["[PAD]", "[UNK]", "[CLS]", "[SEP]", "▁red", "▁blue", "▁cup", "▁door", "▁search", "▁:", "▁the"]
DIM, CONTEXT = 32, 64
TABLE = np.random.default_rng(7).normal(size=(len(WORDS), DIM)).astype(np.float32)


def write(path: Path, pooling: int | None = 1, architecture: str = "bert", table: NDArray[Any] = TABLE) -> Path:
    """A BERT of one layer that adds nothing: a token's vector is its normalised row of the table."""
    writer = gguf.GGUFWriter(str(path), architecture)
    writer.add_name("tiny")
    writer.add_context_length(CONTEXT)
    writer.add_embedding_length(DIM)
    writer.add_feed_forward_length(DIM)
    writer.add_block_count(1)
    writer.add_head_count(2)
    writer.add_layer_norm_eps(1e-12)
    writer.add_causal_attention(False)
    if pooling is not None:
        writer.add_pooling_type(gguf.PoolingType(pooling))
    writer.add_tokenizer_model("bert")
    writer.add_tokenizer_pre("default")
    writer.add_token_list(WORDS)
    writer.add_token_types([gguf.TokenType.CONTROL] * 4 + [gguf.TokenType.NORMAL] * (len(WORDS) - 4))
    writer.add_token_type_count(2)
    for name, at in (("pad", 0), ("unk", 1), ("bos", 2), ("sep", 3), ("eos", 3)):
        getattr(writer, f"add_{name}_token_id")(at)
    zeros, ones = np.zeros(DIM, np.float32), np.ones(DIM, np.float32)
    square = np.zeros((DIM, DIM), np.float32)
    tensors = {"token_embd": table, "token_types": np.zeros((2, DIM), np.float32)}
    tensors["position_embd"] = np.zeros((CONTEXT, DIM), np.float32)
    for name in ("attn_q", "attn_k", "attn_v", "attn_output", "ffn_up", "ffn_down"):
        tensors[f"blk.0.{name}"] = square
    for name, values in tensors.items():
        writer.add_tensor(f"{name}.weight", values)
        if name.startswith("blk"):
            writer.add_tensor(f"{name}.bias", zeros)
    for name in ("token_embd_norm", "blk.0.attn_output_norm", "blk.0.layer_output_norm"):
        writer.add_tensor(f"{name}.weight", ones)
        writer.add_tensor(f"{name}.bias", zeros)
    writer.write_header_to_file()
    writer.write_kv_data_to_file()
    writer.write_tensors_to_file()
    writer.close()
    return path


def expected(*words: str, pooling: str = "mean") -> NDArray[np.float64]:
    numbers = [2, *(WORDS.index(f"▁{word}") for word in words), 3]
    rows = TABLE[numbers].astype(np.float64)
    rows = (rows - rows.mean(axis=1, keepdims=True)) / rows.std(axis=1, keepdims=True)
    vector = {"mean": rows.mean(axis=0), "cls": rows[0], "last": rows[-1]}[pooling]
    return np.asarray(vector / np.linalg.norm(vector))


@pytest.fixture
def model(tmp_path: Path) -> Path:
    return write(tmp_path / "tiny.gguf")


def vectors(embedder: GgufEmbedder, texts: Sequence[str], query: bool = False) -> NDArray[np.float32]:
    return embed_texts(embedder, texts, query)


# The file, without llama.cpp.


def test_the_metadata_are_read_without_loading_the_model(model: Path) -> None:
    found = read_metadata(model)
    assert (found["general.architecture"], found["general.name"]) == ("bert", "tiny")
    assert (found["bert.embedding_length"], found["bert.context_length"], found["bert.pooling_type"]) == (32, 64, 1)
    assert found["bert.attention.causal"] is False
    assert "tokenizer.ggml.tokens" not in found


def gguf_bytes(entries: int = 1, key: bytes = b"k", value: bytes = b"") -> bytes:
    return b"GGUF" + struct.pack("<IQQ", 3, 0, entries) + struct.pack("<Q", len(key)) + key + value


@pytest.mark.parametrize(
    ("content", "problem"),
    [
        (b"", "does not begin with 'GGUF'"),
        (b"PK\x03\x04 a zip file", "does not begin with 'GGUF'"),
        (b"GGUF", "ends too early"),
        (b"GGUF" + struct.pack("<IQQ", 1, 0, 0), "its version is 1, and 2 and 3 are supported"),
        (b"GGUF" + struct.pack("<IQQ", 3, 0, 2**60), "entries of metadata"),
        (b"GGUF" + struct.pack("<IQQQ", 3, 0, 1, 2**60), "ends too early"),
        (gguf_bytes(value=struct.pack("<I", 99)), "unknown type 99"),
        (gguf_bytes(value=struct.pack("<IQ", 8, 2**62)), "ends too early"),
        (gguf_bytes(value=struct.pack("<IIQ", 9, 8, 2**62)), "an array of"),
        (gguf_bytes(value=struct.pack("<IIQ", 9, 6, 2**62)), "ends too early"),
        (gguf_bytes(value=struct.pack("<IIQ", 9, 9, 1)), "an array of the unknown type 9"),
    ],
)
def test_a_file_that_is_no_gguf_is_refused_by_name(tmp_path: Path, content: bytes, problem: str) -> None:
    path = tmp_path / "broken.gguf"
    path.write_bytes(content)
    with pytest.raises(InvalidInput, match=problem) as error:
        GgufEmbedder(path)
    assert "broken.gguf is not a GGUF model" in str(error.value)


def test_a_missing_file_or_a_folder_is_refused_with_an_example(tmp_path: Path) -> None:
    with pytest.raises(InvalidInput, match=r"There is no file .*none.gguf"):
        resolve_embedder(f"gguf:{tmp_path / 'none.gguf'}")
    with pytest.raises(InvalidInput, match="is a folder"):
        GgufEmbedder(tmp_path)
    with pytest.raises(InvalidInput, match="Name the file of the model"):
        resolve_embedder("gguf:")


def test_a_model_without_pooling_and_a_reranker_are_refused(tmp_path: Path) -> None:
    for pooling in (None, 0):
        with pytest.raises(InvalidInput, match="as models that generate text do not"):
            GgufEmbedder(write(tmp_path / "chat.gguf", pooling))
    with pytest.raises(InvalidInput, match="is a reranker"):
        GgufEmbedder(write(tmp_path / "rank.gguf", 4))
    with pytest.raises(InvalidInput, match="pooling must be one of mean, cls, last, not 'sum'"):
        GgufEmbedder(write(tmp_path / "sum.gguf", None), pooling="sum")


def test_a_missing_extra_is_named_with_its_command(model: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr("recollect.embed.gguf.find_spec", lambda name: None)
    with pytest.raises(InvalidInput, match=r"pip install '\.\[gguf\]'"):
        resolve_embedder(f"gguf:{model}")


# The model, by llama.cpp.


@needs_llama
def test_a_vector_is_the_mean_of_the_tokens(model: Path) -> None:
    embedder = GgufEmbedder(model)
    assert embedder.dim == DIM
    texts = ["red cup", "the door", "blue blue cup"]
    found = vectors(embedder, texts)
    np.testing.assert_allclose(found, [expected(*text.split()) for text in texts], atol=1e-5)
    np.testing.assert_allclose(np.linalg.norm(found, axis=1), 1, atol=1e-6)


@needs_llama
@pytest.mark.parametrize(("number", "pooling"), [(2, "cls"), (3, "last")])
def test_the_pooling_is_that_of_the_file_or_of_the_caller(tmp_path: Path, number: int, pooling: str) -> None:
    of_file = GgufEmbedder(write(tmp_path / "one.gguf", number))
    of_caller = GgufEmbedder(write(tmp_path / "two.gguf", None), pooling=pooling)
    for embedder in (of_file, of_caller):
        np.testing.assert_allclose(
            vectors(embedder, ["red cup"])[0], expected("red", "cup", pooling=pooling), atol=1e-5
        )


@needs_llama
def test_a_text_has_the_same_bits_alone_and_in_any_company(model: Path) -> None:
    embedder = GgufEmbedder(model)
    texts = ["red cup", "door", "blue door the cup", "red"]
    together = embedder.embed(texts)
    assert [embedder.embed([text])[0].tobytes() for text in texts] == [each.tobytes() for each in together]
    assert GgufEmbedder(model).embed(texts[::-1])[::-1].tobytes() == together.tobytes()


@needs_llama
def test_a_long_text_is_cut_and_an_empty_one_has_a_vector(model: Path) -> None:
    embedder = GgufEmbedder(model)
    found = vectors(embedder, ["red " * 5000, "", " "])
    assert np.isfinite(found).all()
    assert found.shape == (3, DIM)


@needs_llama
def test_prefixes_are_put_before_texts_and_queries(model: Path) -> None:
    embedder = GgufEmbedder(model, query_prefix="search ", text_prefix="the ")
    assert embedder.distinguishes_queries
    np.testing.assert_allclose(vectors(embedder, ["cup"], query=True)[0], expected("search", "cup"), atol=1e-5)
    np.testing.assert_allclose(vectors(embedder, ["cup"])[0], expected("the", "cup"), atol=1e-5)


@needs_llama
def test_the_name_identifies_the_weights_and_the_settings(model: Path, tmp_path: Path) -> None:
    same = Path(shutil.copy(model, tmp_path / "copy")).rename(tmp_path / "moved.gguf")
    other = write(tmp_path / "other.gguf", table=TABLE * 2 + 1)
    names = {GgufEmbedder(path).fingerprint for path in (model, same)}
    assert len(names) == 1
    assert GgufEmbedder(other).fingerprint not in names
    assert GgufEmbedder(model, tokens=32).fingerprint not in names
    assert GgufEmbedder(model).name.startswith("gguf:tiny-")
    assert isinstance(GgufEmbedder(model), IdentifiedEmbedder)


@needs_llama
def test_a_damaged_model_is_an_error_when_it_is_used(model: Path) -> None:
    model.write_bytes(model.read_bytes()[:-2000])
    with pytest.raises(EmbeddingError, match=r"tiny.gguf cannot be loaded"):
        vectors(GgufEmbedder(model), ["cup"])


@needs_llama
def test_a_memory_is_found_by_a_gguf_model_and_no_text_is_embedded_twice(
    model: Path, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    texts: list[str] = []
    embed = GgufEmbedder.embed

    def counted(self: GgufEmbedder, batch: Sequence[str], query: bool = False) -> Any:
        texts.extend(batch)
        return embed(self, batch, query)

    monkeypatch.setattr(GgufEmbedder, "embed", counted)
    for name in ("one.db", "two.db"):
        with Mind(tmp_path / name, embedder=f"gguf:{model}", embedding_cache=tmp_path / "cache.db") as mind:
            mind.remember("red cup")
            mind.remember("the door")
            found = mind.recall("blue cup", recipe="robotmem")
            assert found[0].text == "red cup"
    assert sorted(texts) == ["blue cup", "red cup", "the door"]
