"""Array tools: arrays that grow at their end, and a linear-time sort."""

from __future__ import annotations

from typing import Any

import numpy as np
from numpy.typing import NDArray


class GrowingArray:
    """An array that grows at its end. Views handed out before stay valid and unchanged."""

    def __init__(self, dtype: Any, width: int | None = None) -> None:
        self._width = () if width is None else (width,)
        self._buffer: NDArray[Any] = np.empty((0, *self._width), dtype=dtype)
        self._used = 0

    def extend(self, block: NDArray[Any]) -> NDArray[Any]:
        """Append the block; the whole array so far comes back."""
        needed = self._used + len(block)
        if not len(block):
            return self._buffer[:needed]
        if not self._used:
            self._buffer = np.ascontiguousarray(block, dtype=self._buffer.dtype)  # the first block is taken as it is
            self._used = needed
            return self._buffer
        if needed > len(self._buffer):
            larger = np.empty((max(needed, needed * 5 // 4), *self._width), dtype=self._buffer.dtype)
            larger[: self._used] = self._buffer[: self._used]
            self._buffer = larger
        self._buffer[self._used : needed] = block
        self._used = needed
        return self._buffer[:needed]


def stable_order(values: NDArray[np.uint32]) -> NDArray[np.int64]:
    """Stable sort order of 32-bit numbers in two passes of 16 bits, which numpy sorts by radix, in linear time."""
    low = np.argsort((values & 0xFFFF).astype(np.uint16), kind="stable")
    if not len(values) or values.max() < 1 << 16:
        return low
    high = np.argsort((values[low] >> 16).astype(np.uint16), kind="stable")
    return low[high]
