"""The local model's graph: made from the packaged weights, the same everywhere, and near the packaged model."""

from __future__ import annotations

import hashlib
from concurrent.futures import ThreadPoolExecutor
from pathlib import Path

import numpy as np
import onnx
import pytest

from recollect import EmbeddingError, Mind
from recollect.embed import embed_texts
from recollect.embed import local as local_module
from recollect.embed.local import LocalEmbedder, LocalEmbedderV1, LocalEmbedderV2
from recollect.embed.minilm.build import SHA256, build_model, limit_pairs, packaged_model
from recollect.embed.minilm.onnx_file import read_tensors
from recollect.embed.onnx import open_session
from recollect.upkeep.doctor import Doctor

TEXTS = [
    "The blue cup is on the top shelf.",
    "a",
    "Did you find them?",
    "Melanie: Hey Caroline! Good to see you! I'm swamped with the kids & work. " * 3,
    "def open_session(model: bytes | Path) -> Any:",
    "Wo ist die Tasse?",
    "苹果在桌子上",
    "The gripper of the left arm needs oil, and its camera has to be calibrated again. " * 20,
]


@pytest.fixture(scope="module")
def model() -> bytes:
    return build_model(packaged_model())


def test_the_model_is_the_same_bytes_on_every_machine(model: bytes) -> None:
    assert hashlib.sha256(model).hexdigest() == SHA256


def test_the_model_is_valid_onnx(model: bytes) -> None:
    onnx.checker.check_model(onnx.load_from_string(model))


def test_the_tensors_are_read_as_onnx_reads_them() -> None:
    packaged = packaged_model()
    expected = {
        each.name: onnx.numpy_helper.to_array(each) for each in onnx.load_from_string(packaged[:]).graph.initializer
    }
    tensors = read_tensors(packaged)
    assert tensors.keys() == expected.keys()
    assert all(np.array_equal(tensors[name], expected[name]) for name in tensors)


def test_no_pair_of_weights_can_overflow_16_bits(model: bytes) -> None:
    products = {name: each for name, each in read_tensors(model).items() if name.endswith(".weights")}
    assert len(products) == 4 * 6
    for weights in products.values():
        assert weights.dtype == np.int8
        for part in (np.maximum(weights, 0), np.maximum(-weights.astype(np.int16), 0)):
            assert (part[0::2].astype(int) + part[1::2]).max() <= 128


def test_such_products_are_exact_on_this_processor() -> None:
    """The limit is right: the largest activations and the largest allowed weights, in products of several heights."""
    chance = np.random.default_rng(2)
    first = chance.integers(1, 128, (192, 64))
    weights = np.stack([first, 128 - first], axis=1).reshape(384, 64)
    weights *= np.repeat(chance.choice([-1, 1], (192, 64)), 2, axis=0)
    node = onnx.helper.make_node("MatMulInteger", ["a", "b"], ["y"])
    inputs = [onnx.helper.make_tensor_value_info("a", onnx.TensorProto.UINT8, [None, 384])]
    outputs = [onnx.helper.make_tensor_value_info("y", onnx.TensorProto.INT32, [None, 64])]
    constant = onnx.numpy_helper.from_array(weights.astype(np.int8), "b")
    graph = onnx.helper.make_graph([node], "product", inputs, outputs, [constant])
    product = onnx.helper.make_model(graph, opset_imports=[onnx.helper.make_opsetid("", 17)], ir_version=8)
    session = open_session(product.SerializeToString(), threads=1)
    for height in (1, 2, 5, 12, 40):
        activations = np.full((height, 384), 255, dtype=np.uint8)
        assert np.array_equal(session.run(None, {"a": activations})[0], activations.astype(int) @ weights)


def test_limited_weights_stand_for_the_same_numbers() -> None:
    weights = np.random.default_rng(1).integers(-127, 128, (64, 16)).astype(np.int8)
    scales = np.linspace(0.01, 0.02, 16, dtype=np.float32).reshape(1, -1)
    limited, new_scales = limit_pairs(weights, scales)
    assert np.abs(limited * new_scales - weights * scales).max() <= new_scales.max() / 2 + 1e-6


def test_rows_that_are_multiplied_still_fit_into_int8() -> None:
    weights = np.full((4, 2), 127, dtype=np.int16)
    weights[0] *= 4
    limited, scales = limit_pairs(weights, np.ones((1, 2), dtype=np.float32))
    assert limited[:, 0].tolist() == [102, 25, 25, 25]
    assert np.abs(limited * scales - weights).max() <= scales.max() / 2


def test_vectors_are_near_those_of_the_packaged_model() -> None:
    cosines = (embed_texts(LocalEmbedderV2(), TEXTS) * embed_texts(LocalEmbedderV1(), TEXTS)).sum(axis=1)
    assert cosines.min() > 0.98
    assert cosines.mean() > 0.99


def test_a_text_has_the_same_bits_in_any_batch_on_any_number_of_threads(monkeypatch: pytest.MonkeyPatch) -> None:
    embedder = LocalEmbedder()
    alone = np.concatenate([embedder.embed([text]) for text in TEXTS])
    for cores in (1, 2, 5):
        monkeypatch.setattr(local_module, "_available_cores", lambda cores=cores: cores)
        assert np.array_equal(embedder.embed(TEXTS), alone)
        assert np.array_equal(embedder.embed(TEXTS[::-1])[::-1], alone)
        assert np.array_equal([each.text_vector for each in embedder.token_vectors(TEXTS)], alone)


def test_callers_on_many_threads_get_the_same_bits() -> None:
    embedder = LocalEmbedder()
    alone = embedder.embed(TEXTS[:4])
    with ThreadPoolExecutor(8) as pool:
        assert all(np.array_equal(each, alone) for each in pool.map(lambda _: embedder.embed(TEXTS[:4]), range(16)))


# Files with the vectors of the earlier version.


@pytest.fixture
def older(tmp_path: Path) -> Path:
    path = tmp_path / "older.db"
    with Mind(path, embedder=LocalEmbedderV1()) as mind:
        mind.remember_many(["Anna is allergic to peanuts.", "The gripper needs oil."])
    return path


def spaces(path: Path) -> list[tuple[str, int]]:
    with Mind(path, embedder=None) as mind:
        return [(space["name"], space["vectors"]) for space in mind.status().store.spaces if space["active"]]


def test_a_new_file_has_the_vectors_of_the_current_version(tmp_path: Path) -> None:
    with Mind(tmp_path / "new.db") as mind:
        mind.remember("Anna is allergic to peanuts.")
    assert spaces(tmp_path / "new.db") == [(LocalEmbedder.name, 1)]


@pytest.mark.parametrize("embedder", ["local", "auto", LocalEmbedder()])
def test_an_older_file_is_used_with_the_version_that_made_its_vectors(
    older: Path, embedder: LocalEmbedder | str
) -> None:
    with Mind(older, embedder=embedder) as mind:
        mind.remember("My sister's birthday is on the ninth of May.")
        assert mind.recall("Which food must we avoid for her?")[0].text == "Anna is allergic to peanuts."
        status = mind.status()
    assert status.embedder == LocalEmbedderV1.name
    assert "recollect reembed" in status.chosen
    assert spaces(older) == [(LocalEmbedderV1.name, 3)]


def test_reembed_changes_an_older_file_to_the_current_version(older: Path) -> None:
    assert Mind.reembed(older) == 2
    assert spaces(older) == [(LocalEmbedder.name, 2)]
    with Mind(older) as mind:
        assert mind.recall("lubricate robot hand")[0].text == "The gripper needs oil."
        assert mind.status().embedder == LocalEmbedder.name


def test_a_file_that_was_changed_meanwhile_is_not_mixed(older: Path) -> None:
    with Mind(older) as mind:
        Mind.reembed(older)
        with pytest.raises(EmbeddingError, match="reembed"):
            mind.remember("The cup is blue.")
    with Mind(older) as mind:
        assert mind.remember("The cup is blue.").text == "The cup is blue."


def test_the_doctor_compares_an_older_file_with_the_version_that_made_its_vectors(older: Path) -> None:
    assert Doctor(older, LocalEmbedder()).diagnose().healthy


def test_an_embedder_without_that_version_is_still_refused(older: Path, tmp_path: Path) -> None:
    with Mind(tmp_path / "new.db") as mind:
        mind.remember("The cup is blue.")
    with pytest.raises(EmbeddingError, match=LocalEmbedder.name):
        Mind(tmp_path / "new.db", embedder=LocalEmbedderV1())
