"""Reads the tensors of an ONNX file and writes a model, without the package onnx.

ONNX files are protocol buffers: fields of a number and a value, where a value can contain fields again. The field
numbers are those of onnx.proto, https://github.com/onnx/onnx/blob/main/onnx/onnx.proto.
"""

from __future__ import annotations

import struct
from collections.abc import Iterator, Sequence
from mmap import mmap
from typing import Any

import numpy as np
from numpy.typing import NDArray

Array = NDArray[Any]
Attribute = int | float
Pieces = list[bytes | memoryview]  # joined once: the constants are large

TENSOR_TYPES = {1: "<f4", 2: "u1", 3: "i1", 6: "<i4", 7: "<i8", 9: "?"}  # by TensorProto.DataType
FLOAT = 1
IR_VERSION = 8
MICROSOFT = "com.microsoft"  # the domain of onnxruntime's own operators


def read_tensors(model: bytes | mmap) -> dict[str, Array]:
    """The constants of a model by name, as views of its bytes. Only tensors in ``raw_data`` are read."""
    tensors = {}
    for number, graph in _fields(memoryview(model)):
        if number == 7:  # ModelProto.graph
            for inner, tensor in _fields(graph):
                if inner == 5:  # GraphProto.initializer
                    name, array = _read_tensor(tensor)
                    tensors[name] = array
    return tensors


class GraphWriter:
    """Collects the nodes and constants of a graph with one input and one output."""

    def __init__(self) -> None:
        self._nodes: list[bytes] = []
        self._tensors: list[Pieces] = []

    def constant(self, name: str, array: Array) -> str:
        """Add a constant and return its name."""
        kind = next(kind for kind, dtype in TENSOR_TYPES.items() if np.dtype(dtype) == array.dtype)
        dims = b"".join(_integer(1, size) for size in array.shape)
        data = np.ascontiguousarray(array).reshape(-1).view(np.uint8).data
        self._tensors.append([dims + _integer(2, kind) + _bytes(8, name), *_nested(9, [data])])
        return name

    def node(
        self, operator: str, inputs: Sequence[str], *outputs: str, domain: str = "", **attributes: Attribute
    ) -> str:
        """Add a node and return its first output. An empty input is an optional one that is left out."""
        fields = [*(_bytes(1, each) for each in inputs), *(_bytes(2, each) for each in outputs)]
        fields += [_bytes(3, outputs[0]), _bytes(4, operator)]
        fields += [_bytes(5, _attribute(name, value)) for name, value in attributes.items()]
        self._nodes.append(b"".join([*fields, _bytes(7, domain)]))
        return outputs[0]

    def model(self, name: str, opset: int, input: bytes, output: bytes) -> bytes:
        """The file. ``input`` and ``output`` are made by ``describe_value``."""
        graph: Pieces = [*(_bytes(1, each) for each in self._nodes), _bytes(2, name)]
        graph += [piece for tensor in self._tensors for piece in _nested(5, tensor)]
        graph += [_bytes(11, input), _bytes(12, output)]
        versions = (("", opset), (MICROSOFT, 1))
        opsets = [_bytes(8, _bytes(1, domain) + _integer(2, version)) for domain, version in versions]
        return b"".join([_integer(1, IR_VERSION), _bytes(2, "recollect"), *_nested(7, graph), *opsets])


def describe_value(name: str, kind: int, dims: Sequence[int | str]) -> bytes:
    """An input or output of a graph: a ValueInfoProto. A dimension that varies has a name."""
    sizes = (_bytes(2, each) if isinstance(each, str) else _integer(1, each) for each in dims)
    shape = b"".join(_bytes(1, each) for each in sizes)
    return _bytes(1, name) + _bytes(2, _bytes(1, _integer(1, kind) + _bytes(2, shape)))


def _read_tensor(tensor: memoryview) -> tuple[str, Array]:
    dims: list[int] = []
    name, kind, data = "", 0, memoryview(b"")
    for number, value in _fields(tensor):
        if number == 1:  # TensorProto.dims, one by one or packed
            dims += [value] if isinstance(value, int) else _packed(value)
        elif number == 2:
            kind = value
        elif number == 8:
            name = bytes(value).decode()
        elif number == 9:
            data = value
    return name, np.frombuffer(data, TENSOR_TYPES[kind]).reshape(dims) if data else np.empty(0)


def _fields(message: memoryview) -> Iterator[tuple[int, Any]]:
    """Numbers and values of the fields: an int, or the bytes of a string, message or float."""
    at = 0
    while at < len(message):
        key, at = _read_varint(message, at)
        if key & 7 == 0:
            value, at = _read_varint(message, at)
            yield key >> 3, value
            continue
        size, at = _read_varint(message, at) if key & 7 == 2 else ({1: 8, 5: 4}[key & 7], at)
        yield key >> 3, message[at : at + size]
        at += size


def _packed(values: memoryview) -> list[int]:
    numbers, at = [], 0
    while at < len(values):
        number, at = _read_varint(values, at)
        numbers.append(number)
    return numbers


def _read_varint(message: memoryview, at: int) -> tuple[int, int]:
    """An integer in 7-bit groups, least significant first, and the position behind it."""
    value = shift = 0
    while True:
        byte = message[at]
        at += 1
        value |= (byte & 127) << shift
        if byte < 128:
            return value, at
        shift += 7


def _varint(value: int) -> bytes:
    value &= (1 << 64) - 1  # negative numbers in two's complement
    groups = bytearray()
    while value > 127:
        groups.append(value & 127 | 128)
        value >>= 7
    groups.append(value)
    return bytes(groups)


def _integer(number: int, value: int) -> bytes:
    return _varint(number << 3) + _varint(value)


def _bytes(number: int, value: bytes | str) -> bytes:
    encoded = value.encode() if isinstance(value, str) else value
    return b"".join((_varint(number << 3 | 2), _varint(len(encoded)), encoded))


def _nested(number: int, pieces: Pieces) -> Pieces:
    """A field with the bytes of these pieces."""
    return [_varint(number << 3 | 2) + _varint(sum(map(len, pieces))), *pieces]


def _attribute(name: str, value: Attribute) -> bytes:
    if isinstance(value, float):  # AttributeProto.f and type FLOAT
        return _bytes(1, name) + _varint(2 << 3 | 5) + struct.pack("<f", value) + _integer(20, 1)
    return _bytes(1, name) + _integer(3, value) + _integer(20, 2)
