"""Queries that name an identifier: it is found as a whole, wherever it is written."""

from __future__ import annotations

from pathlib import Path

import pytest

from recollect import FolderSettings, Mind, Workspace
from recollect.text.classify import find_identifiers
from tests.ingest.kit import write

NOTES = {
    "a.md": "# Import\n\nIt had 4711 rows, and ops had nothing to do.",
    "b.md": "# Payments\n\nPAY-4711 was closed; ops-4712 is next.",
    "c.md": "# Retro\n\nAfterwards we spoke about OPS-4711 for a minute, and about OPS-4711 again.",
}
TICKET = "The export loses rows when the disk is full."


@pytest.mark.parametrize(
    ("path", "text"),
    [
        ("tickets/OPS-4711 export.md", f"# Export\n\n{TICKET}"),
        ("export.md", f"# OPS-4711: export\n\n{TICKET}"),
        ("export.md", f"---\nticket: OPS-4711\n---\n# Export\n\n{TICKET}"),
        ("export.md", f"---\ntags: [ops_4711]\n---\n# Export\n\n{TICKET}"),
    ],
    ids=["file name", "heading", "front matter", "tag"],
)
@pytest.mark.parametrize("query", ["OPS-4711", "ops-4711", "what about OPS-4711?"])
def test_a_note_that_is_named_by_an_identifier_comes_before_those_that_mention_it(
    tmp_path: Path, path: str, text: str, query: str
) -> None:
    write(tmp_path / "vault", **NOTES, **{path: text})
    settings = FolderSettings(layout="vault")
    with Workspace(tmp_path / "vault", db=tmp_path / "notes.db", embedder=None, settings=settings) as space:
        assert [each["path"] for each in space.search(query)["results"]][:2] == [path, "c.md"]


def test_a_memory_with_the_identifier_comes_before_those_with_its_parts(tmp_path: Path) -> None:
    with Mind(tmp_path / "m.db") as mind:
        mind.remember_many(
            ["OPS had 4711 calls, and OPS answered 4711 of them.", "PAY-4711 is closed.", "We fixed OPS-4711."]
        )
        recall = mind.recall("did we fix OPS-4711?")
        assert recall[0].text == "We fixed OPS-4711."
        assert recall[0].why.evaluate() == recall[0].score
        assert "OPS-4711: not in it" in recall[1].why.summary()
        step = next(step for step in recall.trace.steps if step.name == "IdentifierReader")
        assert step.detail == {"identifiers": "OPS-4711"}


def test_an_identifier_that_no_memory_has_changes_no_score(tmp_path: Path) -> None:
    with Mind(tmp_path / "m.db", embedder=None) as mind:
        mind.remember_many(["OPS-4711 is closed.", "The cup is red."])
        step = next(step for step in mind.recall("OPS-1").trace.steps if step.name == "identifier")
        assert (step.outcome, step.reason) == ("skipped", "no candidate has the identifier")


@pytest.mark.parametrize(
    "text",
    ["on 2025-03-04 at 10am", "well-known", "the 2nd, e.g. 3.5 or 1/2", "B12 and Q3", "x" * 200_000, "a-" * 100_000],
)
def test_dates_numbers_and_plain_words_are_no_identifiers(text: str) -> None:
    assert find_identifiers(text) == []
