"""BM25 written down a second time, in plain Python, must agree with the words cue."""

from __future__ import annotations

import math
import random
from collections import Counter
from dataclasses import replace
from datetime import timedelta
from pathlib import Path
from typing import Any

import pytest

from recollect import Filter, Mind
from recollect.recall.query_parsing import ContentWords
from recollect.recall.registry import get_recipe

from .kit import BAG, NOON, ids, nodes, open_mind

# Letters of which no English ending can be made, so that stemming leaves these words alone.
RANDOM = random.Random(3)
WORDS = ["".join(RANDOM.choices("bkmpvz", k=4)) for _ in range(60)]
FIELDS = ("text", "title", "summary", "keywords", "tags", "entities", "path", "files", "speaker", "original")
LISTS = ("keywords", "tags", "entities", "files")


def some(count: int) -> list[str]:
    """Frequent and rare words, as in a language."""
    return [WORDS[min(int(RANDOM.paretovariate(0.6)) - 1, len(WORDS) - 1)] for _ in range(count)]


def record(n: int) -> dict[str, Any]:
    made: dict[str, Any] = {"id": f"m{n}", "text": " ".join(some(RANDOM.randint(1, 30)))}
    for name in RANDOM.sample(FIELDS[1:], RANDOM.randint(0, 3)):
        words = some(RANDOM.randint(1, 4))
        made[name] = words if name in LISTS else "/".join(words)
    made["collection"] = RANDOM.choice(["mine", "other"])
    made["status"] = RANDOM.choice(["active"] * 5 + ["superseded", "forgotten"])
    if n % 17 == 0:
        made["expires"] = NOON - timedelta(days=1)
    return made


RECORDS = [record(n) for n in range(200)]
QUERIES = [list(dict.fromkeys(some(RANDOM.randint(1, 6)))) for _ in range(12)]


def words_of(record: dict[str, Any]) -> Counter[str]:
    counts: Counter[str] = Counter()
    for name in FIELDS:
        said = record.get(name, "")
        counts.update(" ".join(said).split() if isinstance(said, list) else said.replace("/", " ").split())
    return counts


def bm25(query: list[str], records: list[dict[str, Any]], k1: float = 1.2, b: float = 0.75) -> dict[str, float]:
    """Σ ln(1 + (N − n + ½)/(n + ½)) × tf (k1 + 1) / (tf + k1 (1 − b + b × length / average length))."""
    bags = {each["id"]: words_of(each) for each in records}
    average = sum(bag.total() for bag in bags.values()) / len(bags)
    scores: dict[str, float] = {}
    for word in query:
        n = sum(word in bag for bag in bags.values())
        idf = math.log(1 + (len(bags) - n + 0.5) / (n + 0.5))
        for id, bag in bags.items():
            if tf := bag[word]:
                share = tf * (k1 + 1) / (tf + k1 * (1 - b + b * bag.total() / average))
                scores[id] = scores.get(id, 0.0) + idf * share
    return scores


PLAIN = replace(get_recipe("default"), read=[ContentWords()])  # a single word is no beginning of others


def word_scores(mind: Mind, query: list[str], **options: Any) -> dict[str, float]:
    recall = mind.recall(" ".join(query), 1000, track=False, recipe=PLAIN, **options)
    found = {}
    for result in recall:
        for node in nodes(result.why):
            if node.label == "words: BM25":
                found[result.memory.id] = node.value
    return found


@pytest.fixture(scope="module")
def path(tmp_path_factory: pytest.TempPathFactory) -> Path:
    path = tmp_path_factory.mktemp("bm25") / "memory.db"
    with open_mind(path, None) as mind:
        for start in range(0, len(RECORDS), 41):  # several writes, so that the index has several segments
            mind.remember_many(RECORDS[start : start + 41])
            mind.recall(WORDS[0])
    return path


@pytest.mark.parametrize("query", QUERIES, ids=" ".join)
def test_word_scores_are_those_of_an_independent_bm25(path: Path, query: list[str]) -> None:
    """Statistics are those of all memories that are not forgotten; expired ones count, and stay out."""
    current = [each for each in RECORDS if each["status"] != "forgotten"]
    expected = bm25(query, current)
    for each in current:
        if "expires" in each:
            expected.pop(each["id"], None)
    with open_mind(path, None) as mind:
        assert word_scores(mind, query) == pytest.approx(expected, abs=1e-9)


@pytest.mark.parametrize("query", QUERIES[:6], ids=" ".join)
def test_word_scores_of_a_collection_use_the_statistics_of_that_collection(path: Path, query: list[str]) -> None:
    mine = [each for each in RECORDS if each["collection"] == "mine" and each["status"] != "forgotten"]
    expected = bm25(query, mine)
    for each in mine:
        if "expires" in each:
            expected.pop(each["id"], None)
    with open_mind(path, None) as mind:
        assert word_scores(mind, query, filter=Filter(collection="mine")) == pytest.approx(expected, abs=1e-9)
    with open_mind(path, None, collection="mine") as bound:
        assert word_scores(bound, query) == pytest.approx(expected, abs=1e-9)


def test_a_filter_inside_a_collection_does_not_change_the_weight_of_words(path: Path) -> None:
    """Filters decide who may come back, not how telling a word is."""
    query = QUERIES[0]
    with open_mind(path, None) as mind:
        every = word_scores(mind, query)
        few = word_scores(mind, query, filter=Filter(status="superseded"))
    assert few
    assert few == {id: score for id, score in every.items() if id in few}


def everything(mind: Mind, query: str) -> list[tuple[str, float]]:
    return [(result.memory.id, result.score) for result in mind.recall(query, 100, track=False)]


def test_writes_to_another_collection_do_not_change_scores_in_mine(tmp_path: Path) -> None:
    path = tmp_path / "memory.db"
    with open_mind(path, BAG, collection="mine") as mine, open_mind(path) as mind:
        mine.remember_many(each for each in RECORDS if each["collection"] == "mine")
        before = [everything(mine, " ".join(query)) for query in QUERIES]
        by_filter = [ids(mind.recall(" ".join(q), 100, filter=Filter(collection="mine"))) for q in QUERIES]
        mind.remember_many({**each, "id": f"o-{each['id']}", "collection": "other"} for each in RECORDS)
        assert [everything(mine, " ".join(query)) for query in QUERIES] == before
        assert [ids(mind.recall(" ".join(q), 100, filter=Filter(collection="mine"))) for q in QUERIES] == by_filter


def test_writes_to_another_collection_do_not_change_what_a_typo_finds_in_mine(tmp_path: Path) -> None:
    path = tmp_path / "memory.db"
    with open_mind(path, None, collection="mine") as mine, open_mind(path, None) as mind:
        mine.remember("the gripper is worn")
        before = everything(mine, "griper")
        mind.remember_many({"text": f"griper{letter}", "collection": "other"} for letter in "abcdefgh")
        assert len(before) == 1
        assert everything(mine, "griper") == before
