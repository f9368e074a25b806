"""Sync: the index follows the files, reads only what changed, embeds only what is new, and leaves nothing behind."""

from __future__ import annotations

import json
import os
import subprocess
import sys
import tempfile
import threading
from collections.abc import Callable, Iterator, Sequence
from dataclasses import replace
from datetime import UTC, datetime, timedelta
from pathlib import Path
from typing import Any

import pytest

from recollect import InvalidInput, Mind, StoreError
from recollect.ingest.folder import FolderSettings
from recollect.ingest.sync import SyncEvent
from recollect.systems.openclaw.workspace import Workspace, followed_folders
from tests.ingest.kit import VAULT, Counting, assert_exact, chunks, paths, write
from tests.store.looking import sql

LONG = "\n\n".join(f"## Part {number}\n\n" + f"Sentence {number} is about otters. " * 12 for number in range(6))


@pytest.fixture
def root(tmp_path: Path) -> Path:
    root = tmp_path / "vault"
    write(root, **{"a.md": "# Otters\n\nThey swim.", "deep/er/b.md": "Badgers dig.", "long.md": LONG})
    return root


@pytest.fixture
def model() -> Counting:
    return Counting()


@pytest.fixture
def space(root: Path, path: Path, model: Counting) -> Iterator[Workspace]:
    with Workspace(root, db=path, embedder=model, settings=VAULT) as space:
        yield space


def age(*files: Path) -> None:
    """As if written a while ago, so that times and sizes tell."""
    for file in files:
        about = file.stat()
        os.utime(file, ns=(about.st_atime_ns, about.st_mtime_ns - 10_000_000_000))


def test_the_first_sync_reads_everything(space: Workspace) -> None:
    report = space.sync()
    assert report.added == ["a.md", "deep/er/b.md", "long.md"]
    assert (report.unchanged, report.skipped, report.removed) == (0, {}, [])
    assert report.chunks_added == report.embedded == sum(map(len, chunks(space).values()))
    assert_exact(space)


def test_a_second_sync_reads_nothing_and_writes_nothing(root: Path, space: Workspace, model: Counting) -> None:
    age(*root.rglob("*.md"))
    space.sync()
    about = (root / "a.md").stat()
    with (root / "a.md").open("r+") as file:
        file.write("# WHOEVER")  # reads this, has read too much: it looks as before
    os.utime(root / "a.md", ns=(about.st_atime_ns, about.st_mtime_ns))
    before, asked = space.mind.status().store.version, len(model.texts)
    report = space.sync()
    assert (report.unchanged, report.has_changes) == (3, False)
    assert (space.mind.status().store.version, len(model.texts)) == (before, asked)
    assert chunks(space)["a.md"][0][1].startswith("# Otters")


def test_only_what_is_new_is_embedded_and_the_rest_keeps_its_memory(
    root: Path, space: Workspace, model: Counting
) -> None:
    space.sync()
    before = {memory.text: memory.id for memory in space.mind.list(space.scope)}
    model.texts.clear()
    write(root, **{"long.md": "A new line before all.\n\n" + LONG.replace("Sentence 3 is", "Sentence three is")})
    report = space.sync()
    after = {memory.text: memory.id for memory in space.mind.list(space.scope)}
    new = set(after) - set(before)
    assert report.changed == ["long.md"]
    assert {text.split("\n", 1)[-1] for text in model.texts} == new
    assert all(after[text] == before[text] for text in set(after) & set(before))
    assert report.chunks_kept == len(set(after) & set(before)) - 2  # a.md and b.md were not looked at
    assert_exact(space)


def test_lines_that_move_are_followed_without_a_new_vector(root: Path, space: Workspace, model: Counting) -> None:
    write(root, **{"long.md": "# Top\n\n" + "word " * 150 + "\n\n# Otters\n\n" + "They swim. " * 50})
    space.sync()
    model.texts.clear()
    write(root, **{"long.md": "# Top\n\n\n\n" + "word " * 150 + "\n\n\n# Otters\n\n" + "They swim. " * 50})
    report = space.sync()
    assert (report.chunks_added, report.chunks_kept) == (1, 1)
    assert [lines for lines, _ in chunks(space)["long.md"]] == [(1, 5), (8, 10)]
    assert len(model.texts) == 1
    assert_exact(space)


def test_a_file_that_goes_leaves_nothing_behind(root: Path, path: Path, space: Workspace) -> None:
    space.sync()
    (root / "deep/er/b.md").unlink()
    report = space.sync()
    assert (report.removed, report.chunks_removed) == (["deep/er/b.md"], 1)
    assert "deep/er/b.md" not in chunks(space)
    assert all("adger" not in result["text"] for result in space.search("badgers")["results"])
    rows = sql(path, "SELECT count(*) FROM memories")[0][0]
    for table in ("words", "vectors", "chunks"):
        assert sql(path, f"SELECT count(*) FROM {table}") == [(rows,)]
    assert sql(path, "SELECT count(*) FROM memories WHERE text LIKE '%adger%'") == [(0,)]
    assert sql(path, "SELECT count(*) FROM former") == [(0,)]


def test_edits_leave_no_history(root: Path, path: Path, space: Workspace) -> None:
    for number in range(5):
        write(root, **{"a.md": f"# Otters\n\nThey swim {number} miles."})
        space.sync()
    (memory,) = space.mind.list({"path": "a.md"})
    assert memory.text.endswith("4 miles.")
    assert space.mind.history(memory.id) == []
    assert sql(path, "SELECT count(*) FROM memories WHERE path = 'a.md'") == [(1,)]
    assert sql(path, "SELECT count(*) FROM former") == [(0,)]


def test_other_processes_see_what_went(root: Path, path: Path, space: Workspace) -> None:
    space.sync()
    with Mind(path, embedder=None) as other:
        assert [result.memory.path for result in other.recall("badgers")] == ["deep/er/b.md"]
        (root / "deep/er/b.md").unlink()
        write(root, **{"a.md": "# Otters\n\nThey dive."})
        space.sync()
        assert [result.memory.path for result in other.recall("badgers dive")] == ["a.md"]


def test_a_renamed_file_keeps_its_memories(root: Path, space: Workspace, model: Counting) -> None:
    space.sync()
    before = {memory.id for memory in space.mind.list({"path": "long.md"})}
    model.texts.clear()
    (root / "long.md").rename(root / "deep" / "longer.md")
    report = space.sync()
    assert (report.renamed, report.removed, report.added) == ({"long.md": "deep/longer.md"}, [], [])
    assert {memory.id for memory in space.mind.list({"path": "deep/longer.md"})} == before
    assert (model.texts, "long.md" in chunks(space)) == ([], False)
    assert paths(space, "longer otters")[0] == "deep/longer.md"
    assert_exact(space)


def test_a_text_that_moves_to_another_file_takes_its_vector_along(
    root: Path, path: Path, space: Workspace, model: Counting
) -> None:
    space.sync()
    model.texts.clear()
    write(root, **{"copy.md": LONG})
    (root / "a.md").write_text("Empty now.")
    write(root, **{"other.md": "# Otters\n\nThey swim."})
    space.sync()
    assert model.texts == ["Empty now."]
    assert sql(path, "SELECT count(*) FROM vectors") == sql(path, "SELECT count(*) FROM memories")


def test_two_files_that_swap_their_contents(root: Path, space: Workspace) -> None:
    space.sync()
    (root / "a.md").rename(root / "x")
    (root / "deep/er/b.md").rename(root / "a.md")
    (root / "x").rename(root / "deep/er/b.md")
    space.sync()
    assert_exact(space)


def test_a_touched_file_is_read_but_not_written(root: Path, space: Workspace) -> None:
    space.sync()
    os.utime(root / "a.md")
    before = space.mind.status().store.version
    assert space.sync().has_changes is False
    assert space.mind.status().store.version == before


def test_a_change_that_keeps_size_and_time_is_seen_when_the_file_was_young(root: Path, space: Workspace) -> None:
    space.sync()
    about = (root / "a.md").stat()
    write(root, **{"a.md": "# Otters\n\nThey SWIM."})
    os.utime(root / "a.md", ns=(about.st_atime_ns, about.st_mtime_ns))
    assert space.sync().changed == ["a.md"]


def test_the_same_text_twice_in_a_file(root: Path, space: Workspace) -> None:
    same = "# Same\n\n" + "They swim. " * 60
    write(root, **{"a.md": f"{same}\n\n{same}\n\n{same}"})
    space.sync()
    assert len(chunks(space)["a.md"]) == 3
    write(root, **{"a.md": f"{same}\n\n{same}"})
    assert space.sync().chunks_removed == 1
    assert_exact(space)
    write(root, **{"a.md": f"new\n\n{same}\n\n{same}\n\n{same}\n\n{same}"})
    space.sync()
    assert_exact(space)


def test_front_matter_headings_links_and_dates_become_fields(root: Path, space: Workspace) -> None:
    write(
        root,
        **{
            "daily/2025-03-14.md": "---\ntitle: Friday\ntags: [work]\naliases: [Pi Day]\n---\n"
            "# Standup\n\n## Notes\n\nAsk [[Ada]] about #release.\n",
            "dated.md": "---\ndate: 2024-12-24T18:00:00+01:00\n---\ntext",
        },
    )
    space.sync()
    (memory,) = space.mind.list({"path": "daily/2025-03-14.md"})
    assert (memory.title, memory.tags, memory.keywords, memory.entities) == (
        "Friday > Standup > Notes",
        ("work", "release"),
        ("Pi Day",),
        ("Ada",),
    )
    assert (memory.source, memory.lines, str(memory.created)) == ("file", (6, 10), "2025-03-14 00:00:00+00:00")
    assert str(space.mind.list({"path": "dated.md"})[0].created) == "2024-12-24 17:00:00+00:00"
    assert [each.memory.path for each in space.mind.recall("Pi Day", filter={"tags": ["work"]})] == [memory.path]


def test_new_tags_in_front_matter_reach_chunks_that_stay(root: Path, space: Workspace, model: Counting) -> None:
    write(root, **{"a.md": "---\ntags: [old]\n---\ntext"})
    space.sync()
    model.texts.clear()
    write(root, **{"a.md": "---\ntags: [new]\n---\ntext"})
    space.sync()
    (memory,) = space.mind.list({"path": "a.md"})
    assert (memory.tags, model.texts) == (("new",), [])
    assert [each.memory.id for each in space.mind.recall("text", filter={"tags": ["new"]})] == [memory.id]


def test_front_matter_is_found_by_filters_and_by_words(root: Path, space: Workspace, model: Counting) -> None:
    body = "\n\n".join(f"# Part {number}\n\n" + "They swim. " * 30 for number in range(3))
    write(root, **{"a.md": f"---\nauthor: Ann\nrating: 4\n---\n{body}"})
    space.sync()
    assert len(space.mind.list({"context": {"author": "Ann", "rating": {"$gte": 4}}})) == 3
    assert space.mind.recall("notes by Ann")[0].memory.lines == (5, 7), "once a file: its first chunk"
    model.texts.clear()
    write(root, **{"a.md": f"---\nauthor: Bob\n---\n{body}"})
    space.sync()
    assert len(space.mind.list({"context": {"author": "Bob"}})) == 3
    assert (space.mind.list({"context": {"rating": 4}}), model.texts) == ([], [])


def test_broken_front_matter_is_told_with_every_sync(root: Path, space: Workspace) -> None:
    write(root, **{"a.md": "---\ntags: [a\nauthor: Ann\n---\nThey swim.\n"})
    for _ in range(2):
        assert list(space.sync().problems) == ["a.md"]
    (memory,) = space.mind.list({"path": "a.md"})
    assert (memory.tags, memory.context, memory.lines) == ((), {"author": "Ann"}, (2, 5))


def test_what_was_done_to_a_chunk_by_hand_stays_while_its_text_does(root: Path, space: Workspace) -> None:
    space.sync()
    (memory,) = space.mind.list({"path": "a.md"})
    space.mind.forget(memory.id)
    write(root, **{"a.md": "\n\n# Otters\n\nThey swim."})
    space.sync()
    assert space.mind.show(memory.id).status == "forgotten"
    assert space.mind.show(memory.id).lines == (3, 5)


# Undo: sync is passed over, what files took back stays back.


def test_undo_takes_back_what_was_done_by_hand_and_leaves_the_files_chunks(root: Path, space: Workspace) -> None:
    kept = space.mind.remember("by hand")
    space.sync()
    before = chunks(space)
    undone = space.mind.undo()
    assert undone is not None
    assert undone.verb == "remember"
    assert chunks(space) == before
    assert space.mind.undo() is None
    with pytest.raises(LookupError):
        space.mind.show(kept.id)


def test_undo_of_a_change_to_a_chunk_that_is_gone_brings_nothing_back(root: Path, space: Workspace) -> None:
    space.sync()
    (badgers,) = space.mind.list({"path": "deep/er/b.md"})
    (otters,) = space.mind.list({"path": "a.md"})
    space.mind.link(otters.id, badgers.id)
    space.mind.unlink(otters.id, badgers.id)
    space.mind.forget(badgers.id)
    (root / "deep/er/b.md").unlink()
    space.sync()
    assert [space.mind.undo() for _ in range(3)].count(None) == 0
    assert space.mind.list({"path": "deep/er/b.md"}) == []
    assert space.mind.edges() == []


def test_undo_of_an_edit_does_not_bring_back_lines_that_have_moved(root: Path, space: Workspace) -> None:
    space.sync()
    (memory,) = space.mind.list({"path": "a.md"})
    space.mind.edit(memory.id, topic="animals")
    write(root, **{"a.md": "\n\n# Otters\n\nThey swim."})
    space.sync()
    space.mind.undo()
    assert space.mind.show(memory.id).lines == (3, 5)


# What files can be.


def test_a_file_replaced_by_a_folder_of_its_name(root: Path, space: Workspace) -> None:
    space.sync()
    (root / "a.md").unlink()
    write(root, **{"a.md/inner.md": "Stoats run."})
    report = space.sync()
    assert (report.added, report.removed) == (["a.md/inner.md"], ["a.md"])
    (root / "a.md/inner.md").unlink()
    (root / "a.md").rmdir()
    write(root, **{"a.md": "back"})
    assert space.sync().added == ["a.md"]
    assert_exact(space)


def test_broken_encodings_are_read_with_what_is_wrong_replaced(root: Path, space: Workspace) -> None:
    (root / "latin.md").write_bytes("first\ncaf\xe9 au lait\n".encode("latin-1"))
    (root / "wide.md").write_text("Wide otters", "utf-16")
    (root / "marked.md").write_text("# Marked\n\ntext", "utf-8-sig")
    report = space.sync()
    assert report.problems == {"latin.md": "it is not valid UTF-8: wrong bytes were replaced, the first on line 2"}
    found = chunks(space)
    assert found["latin.md"] == [((1, 2), "first\ncaf\ufffd au lait")]
    assert found["wide.md"] == [((1, 1), "Wide otters")]
    assert found["marked.md"] == [((1, 3), "# Marked\n\ntext")]
    assert space.sync().problems == report.problems


def test_a_binary_file_is_left_out(root: Path, space: Workspace) -> None:
    (root / "image.md").write_bytes(b"\x89PNG\0\0\0")
    report = space.sync()
    assert report.skipped == {"image.md": "it is not text (it contains NUL bytes)"}
    assert "image.md" not in chunks(space)
    assert space.sync().skipped == report.skipped


def test_a_text_file_that_becomes_binary_leaves_no_chunks(root: Path, space: Workspace) -> None:
    space.sync()
    (root / "a.md").write_bytes(b"\0\0")
    space.sync()
    assert "a.md" not in chunks(space)


def test_a_file_that_is_too_large_is_left_out_and_said_so(root: Path, path: Path) -> None:
    with (root / "huge.md").open("wb") as file:
        file.truncate(200_000_000)  # as large as it says, without the bytes
    with Workspace(root, db=path, embedder=None, settings=VAULT) as space:
        report = space.sync()
        assert report.skipped == {"huge.md": "it has 200,000,000 bytes, more than max_file_bytes (16,777,216)"}
        assert space.sync().changed == []
    (root / "huge.md").write_text("word " * 10)
    tight = replace(VAULT, max_file_bytes=20)
    with Workspace(root, db=path, embedder=None, settings=tight) as space:
        assert set(space.sync().skipped) == {"huge.md", "long.md"}
        assert "long.md" not in chunks(space)
    with Workspace(root, db=path, embedder=None, settings=VAULT) as space:
        assert space.sync().changed == ["huge.md", "long.md"]  # the limit is higher again


def test_hidden_and_ignored_names_are_left_out(root: Path, space: Workspace) -> None:
    write(
        root,
        **{
            ".obsidian/x.md": "no",
            ".trash/y.md": "no",
            "deep/.git/z.md": "no",
            ".hidden.md": "no",
            "node_modules/m.md": "no",
            "a.txt": "no",
            "b.markdown": "yes",
        },
    )
    assert set(space.sync().added) == {"a.md", "b.markdown", "deep/er/b.md", "long.md"}


def test_a_file_of_no_content_is_there_without_chunks(root: Path, space: Workspace) -> None:
    write(root, **{"empty.md": "", "blank.md": "\n \n"})
    report = space.sync()
    assert {"empty.md", "blank.md"} <= set(report.added)
    assert report.skipped == report.problems == {}
    assert {"empty.md", "blank.md"} <= set(space.files())


# Links, rights, and what goes while we look.


def test_links_are_followed_as_far_as_the_folder_reaches(root: Path, tmp_path: Path, space: Workspace) -> None:
    write(tmp_path / "outside", **{"secret.md": "Secret otters"})
    (root / "loop").symlink_to(root)
    (root / "deep" / "up").symlink_to("..")
    (root / "out").symlink_to(tmp_path / "outside")
    (root / "out.md").symlink_to(tmp_path / "outside" / "secret.md")
    (root / "again.md").symlink_to("a.md")
    (root / "nowhere.md").symlink_to("missing.md")
    (root / "round.md").symlink_to("round.md")
    write(root, **{".obsidian/private.md": "Private otters"})
    (root / "private.md").symlink_to(".obsidian/private.md")
    report = space.sync()
    assert report.added == ["a.md", "deep/er/b.md", "long.md"]
    assert {name: why.split(",")[0] for name, why in report.skipped.items()} == {
        "loop": "it is a link to a folder that contains it",
        "deep/up": "it is a link to a folder that contains it",
        "out": "it is a link out of the folder",
        "out.md": "it is a link out of the folder",
        "nowhere.md": "it is a broken or circular link",
        "round.md": "it is a broken or circular link",
        "private.md": "it is a link to a hidden file or folder",
    }
    assert set(chunks(space)) == {"a.md", "deep/er/b.md", "long.md"}


def test_a_link_to_what_is_not_indexed_otherwise_is_followed(tmp_path: Path, path: Path) -> None:
    root = tmp_path / "workspace"
    write(root, **{"docs/guide.md": "Guides", "memory/a.md": "Notes"})
    (root / "memory" / "docs").symlink_to("../docs")
    (root / "memory" / "all").symlink_to("..")
    with Workspace(root, db=path, embedder=None) as space:
        assert space.sync().added == ["memory/a.md", "memory/docs/guide.md"]


@pytest.mark.skipif(os.geteuid() != 0, reason="NOT RUN: only root can become a user without rights")
def test_what_may_not_be_read_is_said_and_kept_as_it_was() -> None:
    with tempfile.TemporaryDirectory(prefix="recollect-test-") as name:
        folder = Path(name)
        folder.chmod(0o777)
        root = folder / "vault"
        write(root, **{"a.md": "Otters.", "deep/b.md": "Badgers."})
        first = sync_as_nobody(root, folder / "memory.db")
        write(root, **{"a.md": "changed, and closed"})
        (root / "a.md").chmod(0)
        (root / "deep").chmod(0o700)
        second = sync_as_nobody(root, folder / "memory.db")
    assert second["skipped"] == {
        "a.md": "it cannot be read: Permission denied",
        "deep": "it cannot be read: Permission denied",
    }
    assert second["texts"] == first["texts"] == ["Badgers.", "Otters."]


NOBODY = """
import json, os, sys
from recollect.ingest.folder import FolderSettings
from recollect.systems.openclaw.workspace import Workspace
def look(root, db):
    with Workspace(root, db=db, embedder=None, settings=FolderSettings(layout="vault")) as space:
        report = space.sync()
        return {"skipped": report.skipped, "texts": sorted(each.text for each in space.mind.list())}
look(sys.argv[1], sys.argv[2] + ".warm")  # nobody may not read the library: load all of it before
os.setgroups([])
os.setgid(65534)
os.setuid(65534)
print(json.dumps(look(*sys.argv[1:])))
"""


def sync_as_nobody(root: Path, db: Path) -> Any:
    command = [sys.executable, "-c", NOBODY, str(root), str(db)]
    return json.loads(subprocess.run(command, capture_output=True, text=True, check=True).stdout)


def test_files_that_go_during_the_sync(root: Path, space: Workspace) -> None:
    for number in range(60):
        write(root, **{f"many/{number:02}.md": f"number {number} " * 4000})

    def destroy(event: SyncEvent) -> None:
        for file in (root / "many").glob("*.md"):
            file.unlink()

    report = space.sync(destroy)
    assert "it was deleted during the sync" in report.skipped.values()
    space.sync()
    assert_exact(space)
    assert not any(path.startswith("many/") for path in chunks(space))


def test_a_root_that_is_not_there_takes_nothing_away(root: Path, space: Workspace) -> None:
    space.sync()
    before = chunks(space)
    root.rename(root.parent / "elsewhere")
    report = space.sync()
    assert report.skipped == {str(root): "the folder does not exist; what was read from it before is kept"}
    assert chunks(space) == before
    (root.parent / "elsewhere").rename(root)
    assert space.sync().has_changes is False


def test_extra_paths_are_files_and_folders_anywhere(root: Path, tmp_path: Path, path: Path) -> None:
    write(tmp_path / "wiki", **{"w.md": "Wiki weasels", "sub/x.md": "More", "no.txt": "no"})
    write(tmp_path, **{"single.md": "Single stoat"})
    extra = [tmp_path / "wiki", tmp_path / "single.md", tmp_path / "missing"]
    with Workspace(root, db=path, embedder=None, settings=VAULT, extra_paths=extra) as space:
        report = space.sync()
        assert {str(tmp_path / "wiki/w.md"), str(tmp_path / "wiki/sub/x.md"), str(tmp_path / "single.md")} < set(
            report.added
        )
        assert list(report.skipped) == [str(tmp_path / "missing")]
        assert paths(space, "weasels") == [str(tmp_path / "wiki/w.md")]
        (tmp_path / "wiki").rename(tmp_path / "gone")  # a disk that is not mounted: what was read stays
        assert space.sync().removed == []
        (tmp_path / "gone").rename(tmp_path / "wiki")
        (tmp_path / "wiki/w.md").unlink()
        assert space.sync().removed == [str(tmp_path / "wiki/w.md")]


# The embedder, events, collections, two at once.


def test_when_the_model_is_down_files_are_found_by_words_and_the_next_sync_makes_up_for_it(
    root: Path, path: Path, space: Workspace, model: Counting
) -> None:
    model.down = True
    report = space.sync()
    assert "the model is down" in report.without_vectors
    assert len(chunks(space)) == 3
    assert sql(path, "SELECT count(*) FROM vectors") == [(0,)]
    model.down = False
    report = space.sync()
    assert (report.without_vectors, report.embedded) == ("", sum(map(len, chunks(space).values())))
    assert space.sync().embedded == 0


def test_vectors_come_later_to_what_was_indexed_without_a_model(root: Path, path: Path, model: Counting) -> None:
    with Workspace(root, db=path, embedder=None, settings=VAULT) as space:
        space.mind.remember("of another collection")
        space.sync()
    with Workspace(root, db=path, embedder=model, settings=VAULT) as space:
        assert space.sync().embedded == sum(map(len, chunks(space).values()))
        assert "of another collection" not in model.texts


def test_a_sync_tells_what_it_does(root: Path, space: Workspace) -> None:
    told: list[SyncEvent] = []
    space.sync(told.append)
    assert [(event.what, event.path, event.done, event.total) for event in told] == [
        ("added", "a.md", 1, 3),
        ("added", "deep/er/b.md", 2, 3),
        ("added", "long.md", 3, 3),
    ]
    (root / "a.md").unlink()
    told.clear()
    space.sync(told.append)
    assert [(event.what, event.path) for event in told] == [("removed", "a.md")]


def test_small_files_do_not_wait_until_a_large_one_is_embedded(root: Path, space: Workspace) -> None:
    write(root, **{"0.md": "\n\n".join(f"Paragraph {number} about cranes. " * 8 for number in range(1_200))})
    told: list[SyncEvent] = []
    space.sync(told.append)
    assert [event.path for event in told] == ["a.md", "deep/er/b.md", "long.md", "0.md"]
    assert told[2].texts < 20 < told[3].texts


def test_a_collection_follows_one_folder(root: Path, path: Path, tmp_path: Path, space: Workspace) -> None:
    space.sync()
    write(tmp_path / "other" / "vault", **{"c.md": "Cranes fly."})
    with Workspace(tmp_path / "other" / "vault", mind=space.mind, settings=VAULT) as other:
        other.sync()
        assert (space.collection, other.collection) == ("vault", "vault-2")
        assert paths(other, "otters cranes") == ["c.md"]
        assert "c.md" not in chunks(space)
    with (
        Workspace(tmp_path / "other", mind=space.mind, collection="vault", settings=VAULT) as wrong,
        pytest.raises(InvalidInput, match="already indexes the folder"),
    ):
        wrong.sync()


def test_a_folder_is_taken_out_with_all_that_was_read_from_it(root: Path, path: Path, space: Workspace) -> None:
    kept = space.mind.remember("by hand", collection=space.collection)
    space.sync()
    assert space.unfollow() == 8
    assert (space.files(), space.mind.store.folders()) == ({}, {})
    assert [memory.id for memory in space.mind.list()] == [kept.id]
    assert sql(path, "SELECT count(*) FROM words") == [(1,)]
    assert space.sync().added == ["a.md", "deep/er/b.md", "long.md"]


def test_memories_of_the_same_collection_that_are_no_files_are_left_alone(root: Path, space: Workspace) -> None:
    kept = space.mind.remember("by hand", collection=space.collection)
    space.sync()
    (root / "a.md").unlink()
    space.sync()
    assert space.mind.show(kept.id).text == "by hand"
    assert "" not in paths(space, "by hand")


def test_two_that_sync_the_same_folder_agree(root: Path, path: Path, space: Workspace) -> None:
    with Workspace(root, db=path, embedder=Counting(), settings=VAULT) as other:
        other.sync()
        write(root, **{"a.md": "both saw this"})

        def meanwhile(event: SyncEvent) -> None:
            if event.path == "a.md":
                other.sync()

        space.sync(meanwhile)
        assert_exact(space)
        assert_exact(other)


def test_a_search_never_sees_half_a_file(root: Path, path: Path, space: Workspace) -> None:
    def version(word: str) -> str:
        return "\n\n".join(f"## Part {number}\n\n" + f"{word} here and there. " * 40 for number in range(8))

    seen: list[set[str]] = []
    stop = threading.Event()

    def search() -> None:
        with Mind(path, embedder=None) as other:
            while not stop.is_set():
                found = other.recall("here and there", 50, filter={"path": "halves.md"}, track=False)
                seen.append({word for each in found for word in ("alpha", "beta") if word in each.text})

    write(root, **{"halves.md": version("alpha")})
    space.sync()
    reader = threading.Thread(target=search)
    reader.start()
    for word in ["beta", "alpha"] * 15:
        write(root, **{"halves.md": version(word)})
        space.sync()
    stop.set()
    reader.join()
    assert {frozenset(each) for each in seen} <= {frozenset({"alpha"}), frozenset({"beta"})}
    assert seen


def test_a_readonly_memory_is_searched_as_it_is(root: Path, path: Path, space: Workspace) -> None:
    space.sync()
    write(root, **{"new.md": "Newts."})
    with Mind(path, embedder=None, readonly=True) as mind, Workspace(root, mind=mind, settings=VAULT) as reader:
        assert paths(reader, "badgers") == ["deep/er/b.md"]
        assert paths(reader, "newts") == []


@pytest.mark.parametrize(
    "settings",
    [
        {"tokens": 10, "overlap": 20},
        {"layout": "heap"},
        {"sources": ("memory", "dreams")},
        {"max_file_bytes": 0},
        {"debounce": -1},
        {"interval": 0},
        {"retention_days": "all"},
    ],
)
def test_settings_that_make_no_sense_are_refused(settings: dict[str, Any]) -> None:
    with pytest.raises(InvalidInput):
        FolderSettings(**settings)


@pytest.mark.parametrize("moment", [-(10**10), 10**13])
def test_a_file_from_another_age(root: Path, space: Workspace, moment: int) -> None:
    os.utime(root / "a.md", (moment, moment))
    assert space.sync().added[0] == "a.md"
    assert space.sync().has_changes is False


def test_a_name_that_is_no_text_is_left_out(root: Path, space: Workspace) -> None:
    Path(os.fsdecode(bytes(root) + b"/caf\xe9.md")).write_text("text")
    assert space.sync().skipped == {"caf?.md": "its name is not valid UTF-8"}


@pytest.mark.skipif(not hasattr(os, "mkfifo"), reason="NOT RUN: there are no pipes here")
def test_a_pipe_is_no_file(root: Path, space: Workspace) -> None:
    os.mkfifo(root / "pipe.md")
    assert space.sync().skipped == {"pipe.md": "it is not a regular file"}


def test_who_searches_while_a_sync_is_under_way_finds_what_is_there(root: Path, path: Path) -> None:
    with Workspace(root, db=path, embedder=None, settings=replace(VAULT, debounce=0.0)) as space:
        space.sync()
        write(root, **{"a.md": "Otters dive.", "new.md": "Newts."})
        seen = []
        space.sync(lambda event: seen.append((event.path, paths(space, "badgers"), paths(space, "newts"))))
        assert seen == [(name, ["deep/er/b.md"], ["new.md"]) for name in ("a.md", "new.md")]


def test_who_searches_beside_the_sync_of_another_process_finds_what_is_there(root: Path, path: Path) -> None:
    """Another memory on the same file stands for the other process: they share nothing but the file."""
    begun, go_on = threading.Event(), threading.Event()

    class Slow(Counting):
        def embed(self, texts: Sequence[str], query: bool = False) -> list[list[float]]:
            begun.set()
            assert go_on.wait(20)
            return super().embed(texts, query)

    mine, theirs = Counting(), Slow()
    with (
        Workspace(root, db=path, embedder=mine, settings=VAULT) as here,
        Workspace(root, db=path, embedder=theirs, settings=VAULT) as there,
    ):
        sync = threading.Thread(target=there.sync)
        sync.start()
        try:
            assert begun.wait(20)
            assert here.search("badgers")["results"] == []
            assert mine.texts == []  # nothing is done twice
        finally:
            go_on.set()
            sync.join(20)
        assert "deep/er/b.md" in paths(here, "badgers")
        assert mine.texts == []


def test_a_sync_that_was_stopped_keeps_nobody_from_the_next(root: Path, path: Path) -> None:
    def stop(event: SyncEvent) -> None:
        raise KeyboardInterrupt

    with Workspace(root, db=path, embedder=None, settings=VAULT) as space:
        with pytest.raises(KeyboardInterrupt):
            space.sync(stop)
        assert paths(space, "badgers") == ["deep/er/b.md"]


def test_what_a_file_says_is_changed_in_the_file(root: Path, space: Workspace) -> None:
    space.sync()
    chunk = space.recall("badgers")[0].memory
    with pytest.raises(InvalidInput, match=r"part of the file deep/er/b\.md: change the file"):
        space.mind.edit(chunk.id, text="Badgers fly.")
    assert space.mind.edit(chunk.id, importance=0.9).text == "Badgers dig."


def test_who_is_told_of_an_event_may_sync(root: Path, path: Path) -> None:
    with Workspace(root, db=path, embedder=None, settings=VAULT) as space:
        again = []
        space.sync(lambda event: again.append(space.sync()))
        assert again
        assert_exact(space)


def test_a_name_that_begins_with_a_tilde_is_a_name(root: Path, path: Path) -> None:
    write(root, **{"~draft.md": "Wombats dig."})
    with Workspace(
        root, db=path, embedder=None, settings=replace(VAULT, extra_paths=("~nobody-of-that-name/x",))
    ) as space:
        space.sync()
        assert space.get("~draft.md")["text"] == "Wombats dig."


def test_a_file_in_the_place_of_the_folder_is_told_as_a_folder_that_is_not_there(root: Path, path: Path) -> None:
    with Workspace(root, db=path, embedder=None, settings=VAULT) as space:
        space.sync()
        root.rename(root.parent / "elsewhere")
        root.write_text("no folder any more", encoding="utf-8")
        assert [why.partition(";")[0] for why in space.sync().skipped.values()] == ["the folder does not exist"]


class Meddling(Counting):
    """While it embeds for the first time, something happens elsewhere."""

    def __init__(self, meddle: Callable[[], object]) -> None:
        super().__init__()
        self.meddle: Callable[[], object] | None = meddle

    def embed(self, texts: Sequence[str], query: bool = False) -> list[list[float]]:
        meddle, self.meddle = self.meddle, None
        if meddle is not None:
            meddle()
        return super().embed(texts, query)


def test_a_folder_that_others_take_out_while_it_is_read_leaves_nothing_behind(root: Path, path: Path) -> None:
    with Workspace(root, db=path, embedder=Counting(), settings=VAULT) as other:
        model = Meddling(other.unfollow)
        with Workspace(root, db=path, embedder=model, settings=VAULT) as space:
            with pytest.raises(StoreError, match="Sync again"):
                space.sync()
            assert (space.files(), space.mind.store.folders(), chunks(space)) == ({}, {}, {})
            space.sync()
            assert_exact(space)


def test_what_others_cut_anew_while_it_is_read_is_not_mixed_with_chunks_of_another_size(root: Path, path: Path) -> None:
    with Workspace(root, db=path, embedder=Counting(), settings=replace(VAULT, tokens=40, overlap=0)) as other:
        write(root, **{"a.md": "# Otters\n\nThey swim."})
        with Workspace(root, db=path, embedder=Meddling(other.sync), settings=VAULT) as space:
            assert space.sync().rebuilt
            assert_exact(space)


@pytest.mark.parametrize("name", ["extra_paths", "transcripts", "ignore"])
def test_names_of_files_are_texts_that_a_file_can_have(name: str) -> None:
    for wrong in ("notes", ("a\0b",), (5,)):
        with pytest.raises(InvalidInput, match=name):
            FolderSettings(**{name: wrong})  # type: ignore[arg-type]


def test_a_sync_is_dated_when_it_ends(root: Path, path: Path) -> None:
    now = [datetime(2026, 1, 1, 12, tzinfo=UTC)]

    def work(event: SyncEvent) -> None:
        now[0] += timedelta(seconds=54)

    with Mind(path, embedder=None, clock=lambda: now[0]) as mind:
        space = Workspace(root, mind=mind, settings=VAULT)
        space.sync(work)
        assert now[0] > datetime(2026, 1, 1, 12, tzinfo=UTC)
        assert followed_folders(mind)[space.collection]["synced"] == now[0].isoformat()
