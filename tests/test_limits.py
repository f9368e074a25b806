"""Limits: one table; an input above a limit is refused with its name, and the limit can be changed."""

from __future__ import annotations

import json
import re
from collections.abc import Callable, Iterator, Sequence
from pathlib import Path
from typing import Any

import numpy as np
import pytest

from recollect import EmbeddingError, InvalidInput, Memory, Mind
from recollect.config import load
from recollect.ingest.markdown import parse_markdown
from recollect.model import limits
from recollect.model.limits import LIMITS, changed_limits, limit, set_limits
from tests.cli.conftest import Command, recollect

__all__ = ["recollect"]  # the fixture
DOCS = Path(__file__).parent.parent / "docs" / "limits.md"


def nested(depth: int) -> dict[str, Any]:
    value: Any = 1
    for _ in range(depth):
        value = {"a": value}
    return {"a": value}


class Wide:
    """An embedder whose vectors have many dimensions."""

    name, dim = "wide", 40

    def embed(self, texts: Sequence[str], query: bool = False) -> Any:
        return np.ones((len(texts), self.dim), dtype=np.float32)


# By limit: a small one for the test, and calls that are as large as it allows (0) or larger by as much as they can (1).
CALLS: dict[str, tuple[int, Callable[[Mind, int], Any]]] = {
    "memory_bytes": (100, lambda mind, more: mind.remember("ä" * (50 + more))),
    "name_bytes": (10, lambda mind, more: mind.remember("A cup.", user="u" * (10 + more))),
    "list_items": (3, lambda mind, more: mind.remember("A cup.", tags=["t"] * (3 + more))),
    "json_depth": (5, lambda mind, more: mind.remember("A cup.", context=nested(4 + more))),
    "query_bytes": (10, lambda mind, more: mind.recall("ä" * (5 + more))),
    "history_turns": (3, lambda mind, more: mind.recall("cup", history=["Hi."] * (3 + more))),
    "results": (5, lambda mind, more: mind.recall("cup", 5 + more)),
    "filter_items": (3, lambda mind, more: mind.list({"tags": ["t"] * (3 + more)})),
}


@pytest.fixture
def mind(tmp_path: Path) -> Iterator[Mind]:
    with Mind(tmp_path / "memory.db", embedder=None) as mind:
        mind.remember("cup")
        yield mind


@pytest.mark.parametrize("name", CALLS)
def test_an_input_at_the_limit_works_and_above_it_is_refused_by_name(mind: Mind, name: str) -> None:
    size, call = CALLS[name]
    with changed_limits(**{name: size}):
        call(mind, 0)
        with pytest.raises(InvalidInput, match=f"limit {name} is {size}.*change the limit.*set_limits"):
            call(mind, 1)
    call(mind, 1)


@pytest.mark.parametrize(
    "call",
    [
        lambda mind: mind.remember(Memory("A cup.", summary="s" * 200_000)),
        lambda mind: mind.edit(mind.list()[0].id, text="long " * 40_000),
        lambda mind: mind.remember_many(["A cup.", "x" * 200_000]),
        lambda mind: mind.remember("A cup.", original="x" * 200_000),
        lambda mind: mind.remember("A cup.", context={"a": "x" * 200_000}),
        lambda mind: mind.supersede(mind.list()[0].id, "x" * 200_000),
        lambda mind: mind.import_([{"text": "x" * 200_000}]),
        lambda mind: mind.relate("a" * 20_000, "is", "b"),
        lambda mind: mind.remember("A cup.", path="a" * 20_000),
        lambda mind: mind.context("x " * 40_000),
        lambda mind: mind.recall("cup", filter=nested(200) | {"not": nested(200)}),
        lambda mind: mind.list({"not": {"not": json.loads('{"not":' * 200 + "{}" + "}" * 200)}}),
        lambda mind: mind.link(mind.list()[0].id, mind.remember("Two.").id, "k" * 20_000),
    ],
)
def test_every_way_in_is_limited(mind: Mind, call: Callable[[Mind], Any]) -> None:
    with pytest.raises(InvalidInput, match=r"the limit|no condition"):
        call(mind)


def test_an_embedder_with_too_many_dimensions_is_refused(mind: Mind) -> None:
    with Mind(":memory:", embedder=Wide()) as wide, changed_limits(vector_dimensions=39):
        wide.remember("A cup.")  # stored, without a vector
        with pytest.raises(EmbeddingError, match="limit vector_dimensions is 39"):
            wide.embed_missing()


def test_a_service_that_answers_with_too_much_is_cut_off(tmp_path: Path) -> None:
    from recollect.embed import OllamaEmbedder
    from tests.embed.kit import Ollama, serving

    with serving(Ollama()) as service, changed_limits(vector_answer_bytes=20):
        embedder = OllamaEmbedder("m", url=service)
        with pytest.raises(EmbeddingError, match="more than 40 bytes"):
            embedder.embed(["A cup."])


def test_lines_and_records_of_an_import_are_limited(mind: Mind, tmp_path: Path) -> None:
    lines = tmp_path / "records.jsonl"
    lines.write_text(f'{{"text": "{"x" * 500}"}}\n{{"text": "A plate."}}\n', "utf-8")
    table = tmp_path / "records.csv"
    table.write_text(f'text,topic\n"{"x" * 500}",a\n', "utf-8")
    listed = tmp_path / "records.json"
    listed.write_text(json.dumps([{"text": "x" * 900_000}]), "utf-8")
    with changed_limits(import_record_bytes=200):
        done = mind.import_from(lines, strict=False)
        assert (done.added, len(done.problems)) == (1, 1)
        assert "line 1 has more bytes; the limit import_record_bytes is 200" in done.problems[0]
        for source in (table, listed):
            assert "import_record_bytes" in mind.import_from(source, strict=False).problems[0]


def test_the_files_of_an_import_are_limited(mind: Mind, tmp_path: Path) -> None:
    for name in ("one", "two"):
        (tmp_path / "chats" / name).mkdir(parents=True)
        (tmp_path / "chats" / name / "conversations.json").write_text("[]", "utf-8")
    with changed_limits(import_files=1), pytest.raises(InvalidInput, match="limit import_files is 1"):
        mind.import_from(tmp_path / "chats", "claude")


def test_front_matter_is_limited() -> None:
    keys = "\n".join(f"key{n}: 1" for n in range(20))
    with changed_limits(front_matter_keys=10):
        assert "front_matter_keys (10)" in parse_markdown(f"---\n{keys}\n---\nA cup.\n").problem
    with changed_limits(front_matter_bytes=50):
        document = parse_markdown(f"---\n{keys}\n---\nA cup.\n")
        assert "limit front_matter_bytes is 50" in document.problem
        assert "key7" in document.chunks[0].text


# How limits are changed.


def test_limits_come_from_the_environment_and_from_the_configuration(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch, recollect: Command
) -> None:
    recollect("remember", "A cup.")
    with changed_limits():
        monkeypatch.setattr(limits, "_current", {})
        monkeypatch.setenv("RECOLLECT_LIMITS", "results=3, query_bytes=100")
        assert (limit("results"), limit("query_bytes"), limit("list_items")) == (3, 100, LIMITS["list_items"].default)
        (tmp_path / "home" / "recollect").mkdir(parents=True)
        (tmp_path / "home" / "recollect" / "config.yaml").write_text("recollect: {limits: {results: 7}}\n", "utf-8")
        load(tmp_path)
        assert limit("results") == 7
        refused = recollect("recall", "cup", "-k", "8")
        assert (refused.code, "limit results is 7" in refused.err) == (2, True)
        monkeypatch.setattr(limits, "_current", {})
        monkeypatch.setenv("RECOLLECT_LIMITS", "results:3")
        with pytest.raises(InvalidInput, match="must be like"):
            limit("results")


@pytest.mark.parametrize("wrong", [{"soup": 3}, {"results": 0}, {"results": True}, {"results": "9"}])
def test_wrong_limits_are_refused(wrong: dict[str, Any]) -> None:
    with pytest.raises(InvalidInput, match="limit"):
        set_limits(**wrong)


def test_the_docs_list_all_limits_with_their_defaults() -> None:
    rows = re.findall(r"^\| `(\w+)` \| ([\d,]+) \| (.*) \|$", DOCS.read_text("utf-8"), re.MULTILINE)
    assert rows == [(name, f"{each.default:,}", each.about) for name, each in LIMITS.items()]
