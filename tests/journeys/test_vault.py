"""A week with an Obsidian vault: found by meaning, followed through saves, moves and deletions, read by an agent."""

from __future__ import annotations

import os
from pathlib import Path

from recollect import Mind
from recollect.ingest.folder import FolderSettings
from recollect.systems.openclaw.workspace import Workspace
from tests.ingest.kit import write

NOTES = {
    ".obsidian/workspace.json": "{}",
    "Projects/Login.md": "---\ntags: [project, security]\naliases: [Sign-in]\n---\n# Login\n\n## Decision\n\n"
    "Users stay signed in for one day; after that the token expires. Decided with [[Ada Lovelace]].\n",
    "Daily/2025-03-14.md": "# Friday\n\n- Lunch with Bob at the Italian place #friends\n- Fixed the leaking tap\n",
    "People/Ada Lovelace.md": "# Ada Lovelace\n\nPrefers tea. Works on the analytical engine.\n",
    "Recipes/Soup.md": "# Leek soup\n\nPotatoes, leeks, cream. Simmer for half an hour.\n",
}


def save(file: Path, text: str) -> None:
    """As editors do: a new file in the place of the old one."""
    draft = file.with_suffix(".tmp")
    draft.write_text(text)
    os.replace(draft, file)


def test_a_week_with_a_vault(tmp_path: Path) -> None:
    vault, db = tmp_path / "vault", tmp_path / "memory.db"
    write(vault, **NOTES)
    settings = FolderSettings(layout="vault", debounce=0.0)
    with Workspace(vault, db=db, settings=settings) as space:
        # The first search reads all there is; by meaning, not by words.
        told = space.search("When do people have to log in again?")
        assert (told["provider"], told["model"]) == ("local", "all-MiniLM-L6-v2-int8-glossed")
        first = told["results"][0]
        assert first["path"] == "Projects/Login.md"
        assert first["snippet"].startswith("Users stay signed in for one day")
        lines = space.get(first["path"], from_=first["startLine"], lines=first["endLine"] - first["startLine"] + 1)
        assert lines["text"] == first["text"]

        # Tags, dates, aliases and links are there to filter and to find by.
        (friday,) = space.mind.list({"since": "2025-03-14", "until": "2025-03-15"})
        assert (friday.path, friday.tags) == ("Daily/2025-03-14.md", ("friends",))
        found = space.mind.recall("Ada Lovelace", filter={"tags": ["security"]})
        assert [each.memory.entities for each in found] == [("Ada Lovelace",)]

        # A note is corrected; the old words are found no more, the new ones at once.
        save(vault / "Recipes/Soup.md", "# Leek soup\n\nNo cream: use coconut milk.\n")
        assert "coconut" in space.search("soup without dairy", 1)["results"][0]["text"]
        assert "Simmer" not in str(space.search("simmer potatoes")["results"])

        # A folder is renamed: the memory stays the same one, links by hand and all.
        (ada,) = space.mind.list({"path": "People/Ada Lovelace.md"})
        (login,) = space.mind.list({"path": "Projects/Login.md"})
        space.mind.link(ada.id, login.id, "works_on")
        (vault / "People").rename(vault / "Contacts")
        assert space.sync().renamed == {"People/Ada Lovelace.md": "Contacts/Ada Lovelace.md"}
        assert space.mind.show(ada.id).path == "Contacts/Ada Lovelace.md"
        assert [edge.kind for edge in space.mind.edges(ada.id)] == ["works_on"]

        # Another program on the same file sees what this one syncs, and a deletion is one.
        with Mind(db) as other:
            (vault / "Daily/2025-03-14.md").unlink()
            space.sync()
            assert all("tap" not in each.text for each in other.recall("leaking tap"))
            assert other.recall("what does Ada drink?", 1)[0].memory.path == "Contacts/Ada Lovelace.md"
    assert {file.name for file in tmp_path.iterdir()} == {"vault", "memory.db"}
