"""The search for the nearest vectors in blocks of float16 vectors, against a comparison with every vector."""

from __future__ import annotations

import numpy as np
import pytest
from numpy.typing import NDArray

from recollect.store.sqlite.nearest import FEW, FIRST, VectorBlock, half_products, nearest, pack_signs
from recollect.store.sqlite.segment_files import MemoryArrays

Vectors = NDArray[np.float32]


def clustered(count: int, dim: int, seed: int) -> Vectors:
    """Unit vectors around some centres, as those of texts are."""
    chance = np.random.default_rng(seed)
    centres = chance.standard_normal((64, dim)) * 0.7
    return unit(centres[chance.integers(0, 64, count)] + chance.standard_normal((count, dim)))


def unit(vectors: NDArray[np.float64] | Vectors) -> Vectors:
    return np.asarray(vectors / np.linalg.norm(vectors, axis=1, keepdims=True), dtype=np.float32)


def blocks_of(vectors: Vectors, allowed: NDArray[np.bool_], *cuts: int) -> list[VectorBlock]:
    halves = vectors.astype(np.float16)
    parts = zip(np.split(halves, cuts), np.split(allowed, cuts), strict=True)
    return [VectorBlock(arrays_of(part), mask) for part, mask in parts]


def arrays_of(vectors: NDArray[np.float16]) -> MemoryArrays:
    signs, large = pack_signs(vectors)
    return MemoryArrays({"vectors": vectors, "signs": signs, "large": large})


def places(found: list[NDArray[np.int64]], blocks: list[VectorBlock]) -> NDArray[np.int64]:
    firsts = np.cumsum([0, *(len(block.allowed) for block in blocks[:-1])])
    return np.concatenate([slots + first for slots, first in zip(found, firsts, strict=True)])


def exact_products(vectors: Vectors, query: Vectors) -> NDArray[np.float64]:
    return np.asarray(vectors.astype(np.float16).astype(np.float64) @ query.astype(np.float64))


def best(vectors: Vectors, allowed: NDArray[np.bool_], query: Vectors, n: int) -> list[int]:
    """The best n and all that equal the last of them."""
    products = np.where(allowed, exact_products(vectors, query), -np.inf)
    floor = np.sort(products)[-n] if n <= np.count_nonzero(allowed) else -2.0
    return np.flatnonzero(products >= floor).tolist()


@pytest.mark.parametrize("dim", [1, 7, 384, 1536])
@pytest.mark.parametrize("share", [1.0, 0.5, 0.02])
def test_an_exact_search_returns_the_best_of_all_blocks_and_little_more(dim: int, share: float) -> None:
    vectors, chance = clustered(400, dim, seed=dim), np.random.default_rng(dim)
    allowed = chance.random(400) < share
    blocks = blocks_of(vectors, allowed, 300, 320)
    for query in clustered(4, dim, seed=dim + 1):
        for n in (1, 10, 300, 5000):
            found = places(nearest(blocks, query, n), blocks)
            expected = best(vectors, allowed, query, n)
            assert set(expected) <= set(found.tolist())
            assert allowed[found].all()
            assert len(np.unique(found)) == len(found)
            if dim > 1:  # in one dimension all are equal
                assert len(found) <= len(expected) + 9


def test_all_vectors_that_equal_the_last_one_are_returned() -> None:
    vectors = np.repeat(clustered(3, 16, seed=1), 40, axis=0)
    blocks = blocks_of(vectors, np.ones(120, np.bool_), 50)
    assert len(places(nearest(blocks, vectors[0], 10), blocks)) == 40


def test_a_query_of_zeros_is_equally_near_to_all() -> None:
    blocks = blocks_of(clustered(FEW + 10, 16, seed=1), np.ones(FEW + 10, np.bool_))
    for approximate in (False, True):
        (found,) = nearest(blocks, np.zeros(16, np.float32), 3, approximate)
        assert len(found) == FEW + 10


def test_vectors_that_are_not_allowed_may_be_zero_or_nan_or_infinite() -> None:
    vectors = clustered(2 * FEW, 32, seed=2)
    allowed = np.ones(len(vectors), np.bool_)
    for at, value in ((5, np.nan), (6, np.inf), (7, 0.0)):
        vectors[at] = value
        allowed[at] = False
    blocks = blocks_of(vectors, allowed, FEW)
    query = clustered(1, 32, seed=3)[0]
    expected = best(np.nan_to_num(vectors, posinf=0.0), allowed, query, 20)
    for approximate in (False, True):
        assert set(expected) <= set(places(nearest(blocks, query, 20, approximate), blocks).tolist())


def test_nothing_allowed_or_nothing_wanted_is_nothing_found() -> None:
    blocks = blocks_of(clustered(20, 16, seed=1), np.zeros(20, np.bool_), 5)
    query = clustered(1, 16, seed=2)[0]
    assert [len(each) for each in nearest(blocks, query, 5)] == [0, 0]
    blocks = blocks_of(clustered(20, 16, seed=1), np.ones(20, np.bool_), 0)  # the first block is empty
    assert [len(each) for each in nearest(blocks, query, 0)] == [0, 0]
    assert [len(each) for each in nearest(blocks, query, 5)] == [0, 5]
    assert nearest([], query, 5) == []


@pytest.mark.parametrize("dim", [7, 8, 384])
def test_products_of_half_precision_vectors_are_as_precise_as_single_precision(dim: int) -> None:
    chance = np.random.default_rng(4)
    sizes = 10.0 ** chance.uniform(-9, 0, (1200, dim))  # down to numbers that float16 has without full precision
    vectors = (chance.choice([-1.0, 1.0], (1200, dim)) * sizes).astype(np.float16)
    query = clustered(1, dim, seed=5)[0]
    expected = vectors.astype(np.float64) @ query.astype(np.float64)
    scale = np.abs(vectors.astype(np.float64)) @ np.abs(query.astype(np.float64))
    assert (np.abs(half_products(vectors, query) - expected) <= scale * dim * 2.0**-23).all()
    some = np.array([7, 3, 1100])
    assert np.array_equal(half_products(vectors, query, some), half_products(vectors, query)[some])


@pytest.mark.parametrize(("dim", "share"), [(384, 1.0), (384, 0.3), (100, 0.1)])
def test_an_approximate_search_finds_nearly_everything(dim: int, share: float) -> None:
    count = round(2 * FEW / share)
    vectors, allowed = clustered(count, dim, seed=6), np.random.default_rng(6).random(count) < share
    blocks = blocks_of(vectors, allowed, count // 2, count - 900)
    complete = []
    for near in vectors[:: count // 12]:
        query = unit(near[None] + 0.5 * clustered(1, dim, seed=7))[0]
        found = places(nearest(blocks, query, 50, approximate=True), blocks)
        assert allowed[found].all()
        assert len(found) < 60
        complete.append(np.isin(best(vectors, allowed, query, 50), found).mean())
    assert np.mean(complete) >= 0.99  # of texts more: they differ in more than their cluster


def test_an_approximate_search_is_exact_where_few_are_allowed() -> None:
    vectors, allowed = clustered(3 * FEW, 100, seed=8), np.zeros(3 * FEW, np.bool_)
    allowed[::4] = True
    blocks = blocks_of(vectors, allowed, FEW)
    for query in clustered(10, 100, seed=9):
        exact, approximate = (places(nearest(blocks, query, 50, mode), blocks) for mode in (False, True))
        assert exact.tolist() == approximate.tolist()


def test_asking_an_approximate_search_for_more_never_changes_the_first_results() -> None:
    vectors = clustered(4 * FEW, 48, seed=10)  # so few dimensions that some are missed
    blocks = blocks_of(vectors, np.ones(len(vectors), np.bool_), FEW)
    everything, sizes, missed = np.ones(len(vectors), np.bool_), (10, FIRST, FIRST + 1, 4 * FIRST + 100), 0
    for query in clustered(10, 48, seed=11):
        products = exact_products(vectors, query)
        first: list[int] = []
        for n in sizes:
            found = places(nearest(blocks, query, n, approximate=True), blocks)
            ranked = found[np.argsort(-products[found], kind="stable")].tolist()
            assert ranked[: len(first)] == first
            assert len(ranked) >= n
            first = ranked[:n]
        missed += len(set(best(vectors, everything, query, FIRST)) - set(first))
    assert missed  # or this test would prove nothing


@pytest.mark.parametrize("dim", [4, 8, 16])
def test_vectors_of_few_dimensions_are_compared_exactly(dim: int) -> None:
    chance = np.random.default_rng(dim)
    vectors = unit(chance.standard_normal((2 * FEW, dim)))
    everything = np.ones(len(vectors), np.bool_)
    blocks = blocks_of(vectors, everything, FEW)
    for query in unit(chance.standard_normal((5, dim))):
        found = places(nearest(blocks, query, 10, approximate=True), blocks)
        assert set(best(vectors, everything, query, 10)) <= set(found.tolist())
