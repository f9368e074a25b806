"""Files that a recall reads beside the store are inside the bound, too (B18)."""

from __future__ import annotations

from pathlib import Path

import pytest

from recollect import Mind

pytestmark = pytest.mark.contract("B18", "A8")


def write_note(folder: Path, text: str, header: str = "", name: str = "2026-04-01") -> Path:
    path = folder / "consolidation" / "daily" / f"{name}.md"
    path.parent.mkdir(parents=True, exist_ok=True)
    path.write_text(f"---\n{header}\n---\n\n{text}\n" if header else f"{text}\n", "utf-8")
    return path


def notes_found(mind: Mind, folder: Path, query: str = "emerald") -> list[str]:
    found = mind.recall(query, recipe="abmind", notes=str(folder), track=False)
    return [result.text for result in found if result.memory.kind == "note"]


def test_notes_of_others_and_of_nobody_are_not_read_inside_a_bound(tmp_path: Path) -> None:
    write_note(tmp_path, "Ben bought the emerald.", "user: ben")
    write_note(tmp_path, "Somebody sold an emerald.", name="2026-04-02")
    write_note(tmp_path, "Anna lost her emerald.", "user: anna", name="2026-04-03")
    with Mind(tmp_path / "memory.db", embedder=None) as mind:
        assert len(notes_found(mind, tmp_path)) == 3
        assert notes_found(Mind(store=mind.store, embedder=None, user="anna"), tmp_path) == ["Anna lost her emerald."]


def test_notes_that_a_bound_mind_consolidates_belong_to_its_bound(tmp_path: Path) -> None:
    with Mind(tmp_path / "memory.db", embedder=None) as mind:
        ben = Mind(store=mind.store, embedder=None, user="ben")
        ben.remember("The emerald is in the safe.", created="2026-04-01")
        assert ben.consolidate(tmp_path)
        assert notes_found(ben, tmp_path)
        assert notes_found(Mind(store=mind.store, embedder=None, user="anna"), tmp_path) == []


def test_a_link_out_of_the_folder_of_notes_is_not_followed(tmp_path: Path) -> None:
    outside = tmp_path / "outside.md"
    outside.write_text("A secret emerald.\n")
    folder = tmp_path / "notes"
    write_note(folder, "An emerald of ours.")
    (folder / "consolidation" / "daily" / "2026-05-01.md").symlink_to(outside)
    with Mind(tmp_path / "memory.db", embedder=None) as mind:
        assert notes_found(mind, folder) == ["An emerald of ours."]
