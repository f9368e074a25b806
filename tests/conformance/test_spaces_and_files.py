"""Vectors of one model and of the next, and folders whose files are memories."""

from __future__ import annotations

import numpy as np
import pytest

from recollect.errors import EmbeddingError, InvalidInput, NotFound
from recollect.model import Memory
from recollect.store.base import Bound, FileState, Space, Store, StoredChunk, check_space
from tests.conformance.kit import NOON, SPACE, embed, encoded, everything, ids_in, remember, revise, rows, undo

OTHER = Space("other", 4)


def other_vector(*numbers: float) -> tuple[np.ndarray, bytes]:
    vector = np.zeros(OTHER.dim, dtype=np.float32)
    vector[: len(numbers)] = numbers
    return vector, b""


def test_the_first_model_is_the_one_that_is_searched(store: Store) -> None:
    remember(store, "a cup", "cup")
    with store.snapshot() as snapshot:
        assert snapshot.space is None
        assert snapshot.vectors(rows(snapshot, "cup")).shape == (1, 0)
        assert snapshot.nearest(encoded(1.0)[0], everything(snapshot), 3).total == 0
    assert store.space is None
    embed(store, "cup", 1.0)
    with store.snapshot() as snapshot:
        assert snapshot.space == SPACE
    assert store.space == SPACE
    check_space(store.space, SPACE, store.path)
    check_space(store.space, Space(SPACE.name, 0), store.path)
    for wrong in (OTHER, Space(SPACE.name, 4)):
        with pytest.raises(EmbeddingError, match="model"):
            check_space(store.space, wrong, store.path)


def test_vectors_are_stored_with_16_bits(store: Store) -> None:
    remember(store, "a cup", "cup")
    remember(store, "a plate", "plate")
    embed(store, "cup", 1.0, 2.0, 3.0)
    with store.snapshot() as snapshot:
        vectors = snapshot.vectors(rows(snapshot, "cup", "plate"))
    assert vectors.dtype == np.float32
    expected = encoded(1.0, 2.0, 3.0)[0].astype(np.float16).astype(np.float32)
    assert vectors[0].tolist() == expected.tolist()
    assert np.isnan(vectors[1]).all()


def test_vectors_of_another_model_are_refused(store: Store) -> None:
    remember(store, "a cup", "cup")
    embed(store, "cup", 1.0)
    with pytest.raises(EmbeddingError), store.transaction("embed") as transaction:
        transaction.embed([transaction.row("cup")], [other_vector(1.0)], OTHER)


def test_embedding_an_unknown_row_raises_not_found(store: Store) -> None:
    with pytest.raises(NotFound), store.transaction("embed") as transaction:
        transaction.embed([99], [encoded(1.0)], SPACE)


def test_a_new_text_or_title_loses_its_vector_and_other_changes_do_not(store: Store) -> None:
    for id in ("text", "title", "tags"):
        remember(store, "a cup", id)
        embed(store, id, 1.0)
    revise(store, "text", text="a red cup")
    revise(store, "title", title="Cup")
    revise(store, "tags", tags=("red",), status="superseded", collection="x")
    assert sorted(store.unembedded(SPACE)) == ["text", "title"]


def test_unembedded_lists_what_lacks_a_vector_or_a_sketch(store: Store) -> None:
    for id in ("none", "vector", "sketch", "forgotten"):
        remember(store, id, id)
    embed(store, "vector", 1.0)
    embed(store, "sketch", 1.0, sketch=b"\x01\x02")
    revise(store, "forgotten", status="forgotten")
    assert store.unembedded(SPACE) == ["none"]
    assert sorted(store.unembedded(SPACE, tokens=True)) == ["none", "vector"]
    assert store.unembedded(SPACE, among=["vector", "sketch"]) == []
    assert sorted(store.unembedded(OTHER)) == ["none", "sketch", "vector"]
    assert len(store.unembedded(OTHER, limit=2)) == 2
    embed(store, "sketch", 1.0)
    assert "sketch" in store.unembedded(SPACE, tokens=True)


def test_a_second_model_is_prepared_beside_the_first_and_then_searched(store: Store) -> None:
    for id in ("a", "b"):
        remember(store, id, id)
        embed(store, id, 1.0, sketch=b"\x01")
    with store.transaction("reembed") as transaction:
        transaction.embed([transaction.row("a")], [other_vector(1.0)], OTHER)
    with store.snapshot() as snapshot:
        assert snapshot.space == SPACE
    assert store.switch_space(OTHER) == 1
    with store.snapshot() as snapshot:
        assert snapshot.space == SPACE
        assert not np.isnan(snapshot.vectors(rows(snapshot, "a", "b"))).any()
    assert store.switch_space(OTHER, without=["b"]) == 0
    assert store.status().spaces == [{"name": "other", "dim": 4, "active": True, "vectors": 1}]
    with store.snapshot() as snapshot:
        assert snapshot.space == OTHER
        assert snapshot.vectors(rows(snapshot, "a")).tolist() == [[1.0, 0.0, 0.0, 0.0]]
        assert snapshot.token_sketches(rows(snapshot, "a")).counts.tolist() == [0]
    assert store.unembedded(OTHER) == ["b"]
    assert store.space == OTHER


def test_forgotten_memories_need_no_vector_for_a_switch(store: Store) -> None:
    remember(store, "a", "a", status="forgotten")
    assert store.switch_space(OTHER) == 0


def test_token_sketches_come_row_by_row(store: Store) -> None:
    for id, sketch in (("a", b"\x01\x02"), ("b", b""), ("c", b"\xff")):
        remember(store, id, id)
        embed(store, id, 1.0, sketch=sketch)
    with store.snapshot() as snapshot:
        found = snapshot.token_sketches(rows(snapshot, "c", "b", "a"))
    assert found.bits.tolist() == [[255], [1], [2]]
    assert found.counts.tolist() == [1, 0, 2]
    assert found.dim == SPACE.dim


# Files.


def file_state(path: str, hash: bytes = b"1") -> FileState:
    return FileState(path, 10, 20, 30, hash)


def add_file(store: Store, path: str, *texts: str, collection: str = "notes") -> list[str]:
    """A file with a chunk for each text; the digest of a chunk is its text."""
    with store.transaction("sync") as transaction:
        written = [transaction.remember(Memory(text, collection=collection, path=path)) for text in texts]
        number = transaction.files.save(collection, file_state(path))
        rows = [each.row for each in written]
        transaction.files.add_chunks(number, rows, [text.encode() for text in texts])
    return [each.id for each in written]


def test_a_folder_has_a_record_and_files(store: Store) -> None:
    with store.transaction("sync") as transaction:
        files = transaction.files
        assert files.folder("notes") is None
        files.set_folder("notes", {"root": "/notes", "rules": ["*.md"]})
        files.save("notes", file_state("a.md"))
        assert files.folder("notes") == {"root": "/notes", "rules": ["*.md"]}
        assert files.state("notes", "a.md") == file_state("a.md")
        assert files.state("notes", "b.md") is None
        assert files.state("other", "a.md") is None
    assert store.folders() == {"notes": {"root": "/notes", "rules": ["*.md"]}}
    assert store.files("notes") == {"a.md": file_state("a.md")}
    assert store.files("other") == {}


def test_a_file_keeps_its_number_when_it_changes_or_is_renamed(store: Store) -> None:
    ids = add_file(store, "a.md", "one", "two")
    with store.transaction("sync") as transaction:
        files = transaction.files
        number = files.save("notes", file_state("a.md", b"2"))
        assert files.save("notes", file_state("b.md", b"3"), previous_path="a.md") == number
        assert files.chunks("notes", "a.md") == []
        assert [(chunk.id, chunk.digest) for chunk in files.chunks("notes", "b.md")] == [
            (ids[0], b"one"),
            (ids[1], b"two"),
        ]
    assert store.files("notes") == {"b.md": file_state("b.md", b"3")}
    assert store.chunk_ids("notes") == ids


def test_chunks_know_their_row(store: Store) -> None:
    (id,) = add_file(store, "a.md", "one")
    with store.transaction("sync") as transaction:
        row = transaction.row(id)
        assert transaction.files.chunks("notes", "a.md") == [StoredChunk(row, id, b"one")]


def test_equal_chunks_share_their_vectors(store: Store) -> None:
    (first,) = add_file(store, "a.md", "one")
    assert store.embedded([b"one", b"two"]) == set()
    embed(store, first, 1.0, 2.0, sketch=b"\x07")
    assert store.embedded([b"one", b"two"]) == {b"one"}
    (second,) = add_file(store, "b.md", "one")
    with store.transaction("sync") as transaction:
        assert transaction.files.copy_vectors(transaction.row(second), b"one")
        assert not transaction.files.copy_vectors(transaction.row(second), b"two")
    with store.snapshot() as snapshot:
        a, b = snapshot.vectors(rows(snapshot, first, second)).tolist()
        assert a == b
        assert snapshot.token_sketches(rows(snapshot, second)).bits.tolist() == [[7]]


def test_a_deleted_file_takes_its_chunks_with_it(store: Store) -> None:
    add_file(store, "a.md", "one", "two")
    (kept,) = add_file(store, "b.md", "three")
    with store.transaction("sync") as transaction:
        assert transaction.files.delete("notes", ["a.md", "unknown.md"]) == 2
    assert store.chunk_ids("notes") == [kept]
    assert list(store.files("notes")) == ["b.md"]
    assert undo(store) is None
    assert store.status().memories == {"active": 1}


def test_a_deleted_folder_takes_its_files_with_it(store: Store) -> None:
    with store.transaction("sync") as transaction:
        transaction.files.set_folder("notes", {})
        transaction.files.set_folder("other", {})
    add_file(store, "a.md", "one", "two")
    add_file(store, "a.md", "three", collection="other")
    with store.transaction("sync") as transaction:
        assert transaction.files.delete_folder("notes") == 2
    assert list(store.folders()) == ["other"]
    assert store.files("notes") == {}
    assert store.status().collections == {"other": 1}


def test_a_folder_that_was_built_aside_takes_the_place_of_the_first(store: Store) -> None:
    for collection, text in (("notes", "old"), ("notes (new)", "new")):
        with store.transaction("sync") as transaction:
            transaction.files.set_folder(collection, {"text": text})
        add_file(store, "a.md", text, collection=collection)
    (staged,) = store.chunk_ids("notes (new)")
    revise(store, staged, verb="sync", status="superseded")
    with store.transaction("sync") as transaction:
        transaction.files.replace_folder("notes (new)", "notes")
    assert store.folders() == {"notes": {"text": "new"}}
    assert store.chunk_ids("notes") == [staged]
    (memory,) = store.get([staged])
    assert (memory.text, memory.collection, memory.status) == ("new", "notes", "active")
    with store.snapshot() as snapshot:
        assert ids_in(snapshot, snapshot.scope(None, ("active",), NOON)) == [staged]


def test_a_deleted_chunk_is_no_longer_one_of_its_file(store: Store) -> None:
    one, two = add_file(store, "a.md", "one", "two")
    with store.transaction("sync") as transaction:
        transaction.delete([transaction.row(one)])
        assert [chunk.id for chunk in transaction.files.chunks("notes", "a.md")] == [two]


def test_folders_belong_to_their_collection_as_a_whole(store: Store) -> None:
    with store.transaction("sync") as transaction:
        transaction.files.set_folder("notes", {})
    (id,) = add_file(store, "a.md", "one")
    inside = store.within(Bound(collection="notes"))
    assert (list(inside.folders()), list(inside.files("notes")), inside.chunk_ids("notes")) == (
        ["notes"],
        ["a.md"],
        [id],
    )
    for bound in (Bound(collection="other"), Bound(user=""), Bound(collection="notes", user="ann")):
        outside = store.within(bound)
        assert (outside.folders(), outside.files("notes"), outside.chunk_ids("notes")) == ({}, {}, [])
    with store.within(Bound(collection="other")).transaction("sync") as transaction:
        assert transaction.files.folder("notes") is None
        assert transaction.files.state("notes", "a.md") is None
        assert transaction.files.chunks("notes", "a.md") == []
    with pytest.raises(InvalidInput), store.within(Bound(collection="other")).transaction("sync") as transaction:
        transaction.files.delete_folder("notes")
