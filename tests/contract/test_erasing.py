"""Erasing (B6): after it no file has a byte of the memory, and a receipt proves it."""

from __future__ import annotations

import json
import multiprocessing
import os
import shutil
import signal
from collections.abc import Callable, Iterator, Sequence
from contextlib import closing, contextmanager
from datetime import UTC, datetime, timedelta
from hashlib import sha256
from pathlib import Path
from typing import Any
from zlib import crc32

import numpy as np
import pytest

from recollect import InvalidInput, Mind, NotFound
from recollect.recall.query_cache import QueryCache
from recollect.store.sqlite import SqliteStore
from recollect.store.sqlite import erasing as sqlite_erasing
from recollect.store.sqlite.index import IndexLimits
from recollect.store.sqlite.index_folder import IndexFolder
from recollect.upkeep.doctor import Doctor
from recollect.upkeep.erasing import apply_receipts
from tests.cli.conftest import Command, recollect
from tests.serve.http_server import start

__all__ = ["recollect"]  # the fixture
pytestmark = pytest.mark.contract("B6")
of_files = pytest.mark.file("it looks for bytes in files; tests/postgres/test_erased_bytes.py has those of a server")

NOW = datetime(2026, 3, 10, 12, tzinfo=UTC)
# Every word of the memories that are erased, of their earlier versions, and of what else tells of them.
SECRETS = (
    "zanzibar quokka xylograph umbrellabird yttrium wombat jacaranda kumquat okapi nautilus maraca lychee "
    "gamelan fandango ebullient dugong capybara bandicoot axolotl tamarind"
).split()
OWNER = "zephyrine"


class Embedding:
    """Sums a pseudorandom vector for each word, so that each text has bytes of its own."""

    dim = 48

    def __init__(self, name: str = "words-v1") -> None:
        self.name = name

    def embed(self, texts: Sequence[str], query: bool = False) -> list[list[float]]:
        return [np.sum([self._vector(word) for word in text.lower().split()], axis=0).tolist() for text in texts]

    def _vector(self, word: str) -> Any:
        return np.random.default_rng(crc32((self.name + word).encode())).normal(size=self.dim)


def open_mind(folder: Path, **options: Any) -> Mind:
    given = {"embedder": Embedding(), "clock": lambda: NOW, "durability": "fast"}
    given["embedding_cache"] = folder / "memory.db-vectors"
    return Mind(folder / "memory.db", **{**given, **options})


def fill(mind: Mind) -> None:
    """Ordinary memories, among which the secret ones are written, edited, superseded, linked, recalled and undone."""
    mind.remember_many([f"The cup number {n} is on the shelf of room {n % 7}." for n in range(60)])
    mind.remember(
        "The zanzibar quokka was seen yesterday.",
        id="secret-1",
        title="Xylograph",
        tags=["umbrellabird"],
        entities=["Yttrium"],
        context={"place": "wombat"},
        original="jacaranda",
        external_id="kumquat",
        user=OWNER,
        session="okapi",
    )
    mind.remember("A shelf for cups.", id="shelf", user="anna")
    mind.edit("secret-1", text="The nautilus maraca was moved.")
    mind.edit("secret-1", text="The lychee gamelan was edited.")
    mind.undo()
    mind.link("secret-1", "shelf", "fandango")
    mind.relate("Ebullient", "knows", "Dugong", user=OWNER)
    mind.relate("Ebullient", "knows", "Dugong", 0.5, user=OWNER)
    mind.supersede("secret-1", "The capybara replaces it.", id="secret-2", user=OWNER)
    mind.decay(0.1)
    Mind(store=mind.store, user=OWNER, embedder=None, clock=lambda: NOW + timedelta(days=2)).decay(0.1)
    mind.recall("where is the nautilus of the capybara?", 5)
    mind.import_([{"text": "An imported bandicoot.", "id": "secret-3", "user": OWNER}])
    mind.forget("secret-3", reason="the axolotl was wrong")
    mind.remember("The tamarind.", id="secret-4", user=OWNER)
    mind.undo()


def leftovers(folder: Path, *more: bytes) -> list[str]:
    """Which secrets are in the bytes of which file."""
    words, found = [word.encode() for word in (*SECRETS, OWNER)], []
    for path in sorted(each for each in folder.rglob("*") if each.is_file()):
        data = path.read_bytes()
        present = [word for word in words if word in data.lower()] + [each for each in more if each in data]
        found += [f"{path.name}: {each[:24]!r}" for each in present]
    return found


def vectors_of(mind: Mind, *texts: str) -> list[bytes]:
    """The bytes of the vectors of texts, as the file and the cache store them."""
    vectors = np.asarray(Embedding(mind.embedder.name if mind.embedder else "").embed(texts), dtype=np.float32)
    vectors /= np.linalg.norm(vectors, axis=1, keepdims=True)
    return [part for each in vectors for part in (each.astype(np.float16).tobytes()[:32], each.tobytes()[:32])]


TEXTS = (
    "Xylograph\nThe zanzibar quokka was seen yesterday.",
    "Xylograph\nThe nautilus maraca was moved.",
    "Xylograph\nThe lychee gamelan was edited.",
    "The capybara replaces it.",
    "An imported bandicoot.",
)


@of_files
def test_no_file_has_a_byte_of_an_erased_user(tmp_path: Path) -> None:
    with open_mind(tmp_path, query_cache=QueryCache()) as mind:
        fill(mind)
        vectors = vectors_of(mind, *TEXTS)
        assert len(leftovers(tmp_path, *vectors)) > len(SECRETS)  # the search finds what is there
        erased = mind.erase(user=OWNER)
        assert (erased.removed["memories"], erased.removed["relations"], erased.pending) == (3, 1, ())
        assert erased.removed["words"] > 10
        assert erased.removed["cached_vectors"] >= 5
        assert leftovers(tmp_path, *vectors) == []
        assert mind.recall("nautilus", 3)[0].id not in ("secret-1", "secret-2")
    assert leftovers(tmp_path, *vectors) == []


@of_files
def test_no_file_has_a_byte_of_memories_that_are_erased_by_id(tmp_path: Path) -> None:
    with open_mind(tmp_path) as mind:
        fill(mind)
        erased = mind.erase("secret-1", "secret-2", "secret-3")
        assert erased.removed["edges"] == 2
        assert [each.what for each in erased.remaining] == []
        found = leftovers(tmp_path, *vectors_of(mind, *TEXTS))
        assert {each.split()[-1] for each in found} <= {
            "b'ebullient'",
            "b'dugong'",
            f"b'{OWNER}'",
        }  # its relation stays
        mind.erase(user=OWNER)
        assert leftovers(tmp_path, *vectors_of(mind, *TEXTS)) == []


@of_files
@pytest.mark.parametrize("name", ["collection", "user", "agent", "session"])
@pytest.mark.parametrize("by_id", [False, True])
def test_no_file_has_the_name_or_the_words_of_a_former_owner(tmp_path: Path, name: str, by_id: bool) -> None:
    """A memory belongs to somebody else now, and its earlier version is erased with the one whom it belonged to."""
    with open_mind(tmp_path) as mind:
        owner: dict[str, Any] = {name: OWNER}
        mind.remember("The zanzibar quokka is mine.", id="moved", **owner)
        mind.remember("The capybara.", id="last", **owner)
        other: dict[str, Any] = {name: "anna"}
        mind.edit("moved", text="The cup is here.", **other)
        vectors = vectors_of(mind, "The zanzibar quokka is mine.", "The capybara.")
        assert len(leftovers(tmp_path, *vectors)) > 4
        erased = mind.erase("last") if by_id else mind.erase(**owner)
        assert (erased.removed["memories"], erased.removed["versions"]) == (1, 1)
        assert leftovers(tmp_path, *vectors) == []
        undone = mind.undo(past_erasure=True)
        assert undone is not None
        assert (undone.erased, mind.show("moved").text) == (1, "The cup is here.")
    assert leftovers(tmp_path, *vectors) == []


def test_what_is_left_is_sound_and_answers_as_before(tmp_path: Path) -> None:
    with open_mind(tmp_path) as mind:
        fill(mind)
        before = [(each.id, each.text) for each in mind.recall("cup number 12", 5, recipe="default")]
        mind.erase(user=OWNER)
        assert [(each.id, each.text) for each in mind.recall("cup number 12", 5, recipe="default")] == before
        mind.remember("The zanzibar quokka is another one.", id="new")
        assert mind.recall("zanzibar")[0].id == "new"  # its words have numbers again
        path = mind.path
    assert [str(each) for each in Doctor(path, Embedding()).diagnose().findings] == []


def test_another_process_that_knows_erased_words_writes_them_anew(tmp_path: Path) -> None:
    with open_mind(tmp_path) as mind, open_mind(tmp_path) as other:
        other.remember("The zanzibar quokka.", id="a")
        assert other.recall("zanzibar")[0].id == "a"
        mind.erase("a")
        assert [each.id for each in other.recall("zanzibar")] == []
        other.remember("The zanzibar quokka.", id="b")
        assert mind.recall("zanzibar")[0].id == other.recall("zanzibar")[0].id == "b"


@of_files
def test_no_file_has_a_byte_after_the_vectors_were_made_again(tmp_path: Path) -> None:
    with open_mind(tmp_path) as mind:
        fill(mind)
    Mind.reembed(tmp_path / "memory.db", embedder=Embedding("words-v2"))
    with open_mind(tmp_path, embedder=Embedding("words-v2")) as mind:
        new = vectors_of(mind, TEXTS[1], TEXTS[3])
        assert len(leftovers(tmp_path, *new)) > len(SECRETS)
        mind.erase(user=OWNER)
        old = [part for text in TEXTS for part in vectors_of(mind, text)]
        assert leftovers(tmp_path, *new, *old) == []


@of_files
def test_a_cache_beside_the_file_is_purged_also_without_an_embedder(tmp_path: Path) -> None:
    with open_mind(tmp_path) as mind:
        fill(mind)
        vectors = vectors_of(mind, *TEXTS)
    with open_mind(tmp_path, embedder=None, embedding_cache=None) as mind:
        mind.erase(user=OWNER)
    assert leftovers(tmp_path, *vectors) == []


@of_files
def test_the_vectors_of_memories_that_remain_stay_in_the_cache(tmp_path: Path) -> None:
    class Counting(Embedding):
        texts = 0

        def embed(self, texts: Sequence[str], query: bool = False) -> list[list[float]]:
            self.texts += len(texts)
            return super().embed(texts, query)

    with open_mind(tmp_path, embedder=Counting()) as mind:
        mind.remember_many({"text": f"Cup number {n}.", "title": "Cups" * (n % 2), "id": f"c{n}"} for n in range(20))
        mind.edit("c1", text="A chipped cup.")
        mind.remember("A plate.", id="plate")
        mind.recall("where is the plate?", track=False)
        erased = mind.erase("plate")
        assert erased.removed["cached_vectors"] == 2  # the plate and the query
        mind.recall("a question of somebody else", track=False)
        with open_mind(tmp_path, embedder=Counting(), user="anna") as anna:
            anna.remember("A bowl.", id="bowl")
            assert anna.erase("bowl").removed["cached_vectors"] == 0  # whose they were is not for her to know
        for path in tmp_path.glob("memory.db*"):
            if "vectors" not in path.name:
                path.unlink()
    with open_mind(tmp_path, embedder=(counting := Counting())) as mind:
        mind.remember_many({"text": f"Cup number {n}.", "title": "Cups" * (n % 2)} for n in range(20))
        mind.remember("A chipped cup.", title="Cups")
        assert counting.texts == 0
        mind.remember("A plate.")
        assert counting.texts == 1


SMALL = IndexLimits(min_saved=2, max_tail=4, max_segment=24)  # nearly every memory is in a file of the index


@contextmanager
def with_index_files(folder: Path) -> Iterator[Mind]:
    with closing(SqliteStore(str(folder / "memory.db"), lambda: NOW, durability="fast", index_limits=SMALL)) as store:
        yield Mind(store=store, embedder=Embedding(), clock=lambda: NOW, embedding_cache=folder / "memory.db-vectors")


@of_files
def test_no_file_of_the_index_has_a_byte_of_what_was_erased(tmp_path: Path) -> None:
    index = tmp_path / "memory.db-index"
    with with_index_files(tmp_path) as mind:
        fill(mind)
        mind.remember_many({"text": f"Umbrellabird {n}.", "id": f"more-{n}", "user": OWNER} for n in range(20))
        mind.recall("cup", track=False)
        vectors = vectors_of(mind, *TEXTS)
        segments = list(index.glob("*.segment"))
        assert [each for each in leftovers(index, *vectors) if "zephyrine" in each], "words and owners are there"
        shutil.copy(segments[0], index / "00112233445566aa.segment")  # of a process that was killed before it published
        shutil.copy(segments[0], index / ".partial-abc123")  # of one that was killed while it wrote
        with with_index_files(tmp_path) as reader:  # has the old files mapped
            assert reader.recall("nautilus", track=False)
            erased = mind.erase(user=OWNER)
            assert erased.pending == ()
            assert leftovers(tmp_path, *vectors) == []
            assert not [each.id for each in reader.recall("umbrellabird", 30, track=False) if "more" in each.id]
            reader.remember_many(f"A plate with the number {n}." for n in range(20))
            assert reader.recall("plate", track=False)
        mind.recall("cup", track=False)
    assert list(index.glob("*.segment")), "the index was built again"
    assert leftovers(tmp_path, *vectors) == []


@of_files
def test_an_erasure_is_pending_while_another_process_writes_the_index(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(sqlite_erasing.finish, "__defaults__", (50,))  # milliseconds
    with with_index_files(tmp_path) as mind:
        fill(mind)
        mind.recall("cup", track=False)
        with IndexFolder(str(tmp_path / "memory.db")).writing() as mine:
            assert mine
            (reason,) = mind.erase(user=OWNER).pending
            assert "is writing" in reason
            assert not mind.verify_erasure(mind.receipts()[0]).holds
        assert mind.finish_erasures() == ()
        assert mind.verify_erasure(mind.receipts()[0]).holds
    assert leftovers(tmp_path) == []


@of_files
def test_a_server_keeps_neither_ids_nor_hashes_of_what_was_erased(tmp_path: Path) -> None:
    text = "The zanzibar quokka."
    with start(tmp_path) as server:
        client = server.client("admin")
        calls = {
            "k1": ("/v1/memories", {"text": text, "id": "quokka-1", "user": OWNER}),
            "k2": ("/v1/memories/batch", {"items": [{"text": text, "id": "quokka-2", "user": OWNER}]}),
            "k3": ("/v1/memories", {"text": "A cup.", "id": "cup"}),
        }
        for key, (path, body) in calls.items():
            assert client.post(path, json=body, headers={"idempotency-key": key}).status_code in (200, 201)
        requests = tmp_path / "memory.db-requests.jsonl"
        assert requests.read_text("utf-8").count("quokka-") >= 2
        hashes = [
            sha256(json.dumps([name, body], sort_keys=True).encode()).hexdigest()
            for name, body in (("remember", calls["k1"][1]), ("remember_many", calls["k2"][1]))
        ]
        assert not [each for each in hashes if each in requests.read_text("utf-8")], "they could be guessed"
        code = client.post("/v1/erase", json={"user": OWNER}).json()["code"]
        assert client.post("/v1/erase", json={"user": OWNER, "code": code}).status_code == 200
        assert leftovers(tmp_path) == []
        again = client.post(calls["k3"][0], json=calls["k3"][1], headers={"idempotency-key": "k3"})
        assert again.headers["idempotency-replayed"] == "true"
    assert leftovers(tmp_path) == []


# Selecting.


def test_a_filter_selects_forgotten_and_expired_memories_too(tmp_path: Path) -> None:
    with open_mind(tmp_path) as mind:
        mind.remember("One.", id="a", tags=["old"])
        mind.remember("Two.", id="b", tags=["old"], expires="2026-01-01")
        mind.remember("Three.", id="c", tags=["new"])
        mind.forget("a")
        assert mind.erase(filter={"tags": ["old"]}).removed["memories"] == 2
        assert [each.id for each in mind.list()] == ["c"]


def test_only_memories_past_their_expiry_are_swept(tmp_path: Path) -> None:
    with open_mind(tmp_path) as mind:
        mind.remember("One.", id="a", expires=NOW - timedelta(seconds=1))
        mind.remember("Two.", id="b", expires=NOW + timedelta(seconds=1))
        mind.remember("Three.", id="c")
        assert mind.erase_expired(dry_run=True).removed["memories"] == 1
        assert mind.erase_expired().removed["memories"] == 1
        assert sorted(each.id for each in mind.list()) == ["b", "c"]


def test_erase_needs_to_be_told_what(tmp_path: Path) -> None:
    with open_mind(tmp_path) as mind:
        with pytest.raises(InvalidInput, match="needs ids, a filter"):
            mind.erase()
        with pytest.raises(InvalidInput, match="not both"):
            mind.erase("a", filter={"user": "x"})
        with pytest.raises(NotFound, match="'nobody'"):
            mind.erase("nobody")


def test_a_dry_run_changes_nothing_and_its_code_confirms_exactly_that_set(tmp_path: Path) -> None:
    with open_mind(tmp_path) as mind:
        fill(mind)
        before, exported = mind.status().store.version, list(mind.export())
        plan = mind.erase(user=OWNER, dry_run=True)
        assert plan.dry_run
        assert plan.receipt is None
        assert (mind.status().store.version, list(mind.export())) == (before, exported)
        assert mind.erase(user=OWNER, dry_run=True).code == plan.code
        mind.remember("One more.", id="secret-5", user=OWNER)
        with pytest.raises(InvalidInput, match="does not belong to what would be erased now"):
            mind.erase(user=OWNER, code=plan.code)
        assert mind.show("secret-5").text == "One more."
        mind.undo()
        assert mind.erase(user=OWNER, code=plan.code).removed["memories"] == plan.removed["memories"] == 3


# What remains, and undo.


def test_summaries_files_and_relations_that_remain_are_named(tmp_path: Path) -> None:
    from recollect.systems.openclaw.workspace import Workspace

    (tmp_path / "notes").mkdir()
    (tmp_path / "notes" / "MEMORY.md").write_text("# Cups\n\nThe quokka has a cup.\n", "utf-8")
    with Workspace(tmp_path / "notes", db=tmp_path / "memory.db", embedder=None) as workspace:
        workspace.sync()
    with open_mind(tmp_path, embedder=None) as mind:
        mind.remember("Anna has a cup.", id="a", session="s", entities=["Anna"])
        mind.remember("Anna has a plate.", id="b", session="s")
        mind.relate("Anna", "has", "Cup")
        summary = mind.consolidate_session("s")
        chunk = mind.list({"path": "MEMORY.md"})[0]
        remaining = {each.what: each for each in mind.erase("a", chunk.id).remaining}
        assert remaining["summaries and facts"].names == (summary.id,)
        assert remaining["files"].names == ("MEMORY.md",)
        assert remaining["relations"].names == ("Anna has Cup",)


def test_undo_says_that_what_it_would_restore_was_erased(tmp_path: Path) -> None:
    with open_mind(tmp_path) as mind:
        mind.remember("A cup.", id="a")
        mind.remember("A plate.", id="b")
        mind.edit("b", text="A bowl.")
        mind.erase("b")
        undone = mind.undo(past_erasure=True)
        assert undone is not None
        assert (undone.verb, undone.removed, undone.restored, undone.erased) == ("edit", 0, 0, 1)
        assert [each.id for each in mind.list()] == ["a"]


def test_undo_after_an_erasure_names_it_and_does_not_undo_the_change_before_it(tmp_path: Path) -> None:
    with open_mind(tmp_path, user="anna") as anna, open_mind(tmp_path, user="ben") as ben:
        anna.remember("A cup.", id="a")
        anna.remember("A plate.", id="b")
        ben.remember("A bowl.", id="c")
        anna.erase("b")
        for _ in range(2):  # again, it is still the last change
            with pytest.raises(InvalidInput, match=r"the erasure of 20.*change before it \(remember\).*past_erasure"):
                anna.undo()
        assert [each.id for each in anna.list()] == ["a"]
        undone = ben.undo()  # nothing of his was erased
        assert undone is not None
        assert (undone.verb, undone.erasure) == ("remember", None)
        anna.remember("A spoon.", id="d")
        undone = anna.undo()
        assert undone is not None
        assert (undone.removed, undone.erasure) == (1, None)
        undone = anna.undo(past_erasure=True)  # the plate of the erasure
        assert undone is not None
        assert (undone.verb, undone.removed, undone.erasure is not None) == ("remember", 0, True)
        assert anna.undo(past_erasure=True) is not None
        with pytest.raises(InvalidInput, match="There is no earlier change"):
            anna.undo()
        assert anna.undo(past_erasure=True) is None


# Receipts.


def test_a_receipt_tells_kinds_counts_and_hashes_and_never_content(tmp_path: Path) -> None:
    with open_mind(tmp_path) as mind:
        fill(mind)
        receipt = mind.erase(user=OWNER).receipt
        assert receipt is not None
        record = json.dumps(receipt.as_dict())
        assert not [word for word in (*SECRETS, OWNER, "secret-") if word in record.lower()]
        assert receipt.at == NOW
        assert len(receipt.ids) == 3
        assert [each.as_dict() for each in mind.receipts()] == [receipt.as_dict()]
        assert mind.verify_erasure(json.loads(record)).holds
        mind.remember("It is back.", id="secret-1", updated=NOW)
        assert mind.verify_erasure(receipt).present == ("secret-1",)
        assert not mind.verify_erasure(receipt).holds
        with pytest.raises(InvalidInput, match="not the receipt"):
            mind.verify_erasure({"ids": ["x"]})


@of_files
def test_an_erasure_is_applied_again_to_a_restored_copy(tmp_path: Path) -> None:
    with open_mind(tmp_path) as mind:
        fill(mind)
    (tmp_path / "restored").mkdir()
    shutil.copy(tmp_path / "memory.db", tmp_path / "restored" / "memory.db")
    with open_mind(tmp_path) as mind:
        mind.erase(user=OWNER)
        receipts = mind.receipts()
    with open_mind(tmp_path / "restored") as mind:
        mind.remember("Another memory with an old id.", id="secret-4", updated=NOW + timedelta(days=1))
        again = apply_receipts(mind.store, receipts, NOW)
        assert again["memories"] == 3
        assert mind.show("secret-4").text == "Another memory with an old id."
        assert apply_receipts(mind.store, receipts, NOW) == {}
        assert leftovers(tmp_path / "restored") == []


# Other processes, and ends in the middle.


@of_files
def test_an_erasure_is_pending_while_another_process_reads_an_older_version(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(sqlite_erasing.finish, "__defaults__", (50,))  # milliseconds
    with open_mind(tmp_path) as mind, open_mind(tmp_path) as reader:
        fill(mind)
        with reader.store.snapshot() as snapshot:
            assert snapshot.row("secret-1")
            erased = mind.erase(user=OWNER)
            assert len(erased.pending) == 1
            assert "is using" in erased.pending[0]
            assert leftovers(tmp_path) != []
            assert mind.finish_erasures() == erased.pending
        assert mind.finish_erasures() == ()
        assert leftovers(tmp_path) == []


STEPS: dict[str, tuple[Any, str]] = {
    "before the cache is emptied": (sqlite_erasing, "_owners"),
    "before rows are deleted": (sqlite_erasing, "_mark_changes"),
    "before words are deleted": (sqlite_erasing, "_delete_unused_words"),
    "before names are removed": (sqlite_erasing, "_remove_names"),
    "before the file is written anew": (sqlite_erasing, "write_anew"),
    "before the log is emptied": (sqlite_erasing, "_empty_log"),
}


def _erase_and_die(folder: Path, step: str, after: bool) -> None:
    module, name = STEPS[step]
    original: Callable[..., Any] = getattr(module, name)

    def die(*arguments: Any, **options: Any) -> Any:
        if after:
            original(*arguments, **options)
        os.kill(os.getpid(), signal.SIGKILL)

    setattr(module, name, die)
    with open_mind(folder) as mind:
        mind.erase(user=OWNER)


@of_files
@pytest.mark.parametrize("step", STEPS)
@pytest.mark.parametrize("after", [False, True], ids=["before", "after"])
def test_a_kill_in_the_middle_erases_nothing_or_everything(tmp_path: Path, step: str, after: bool) -> None:
    with open_mind(tmp_path) as mind:
        fill(mind)
        exported = list(mind.export())
    process = multiprocessing.get_context("fork").Process(target=_erase_and_die, args=(tmp_path, step, after))
    process.start()
    process.join(60)
    assert process.exitcode == -signal.SIGKILL
    with open_mind(tmp_path) as mind:
        left = list(mind.list({"user": OWNER, "status": ["active", "superseded", "forgotten"]}))
        committed = step in ("before the file is written anew", "before the log is emptied")
        assert len(left) == (0 if committed else 3)
        if committed:
            assert leftovers(tmp_path, *vectors_of(mind, *TEXTS)) == []  # opening it finished the erasure
        else:
            assert list(mind.export()) == exported
            mind.erase(user=OWNER)
            assert leftovers(tmp_path, *vectors_of(mind, *TEXTS)) == []


# The command line.


def test_the_command_asks_and_prints_a_receipt_that_it_can_verify(tmp_path: Path, recollect: Command) -> None:
    db = str(tmp_path / "c.db")
    with Mind(db, embedder=None) as mind:
        mind.remember("The zanzibar quokka.", id="a", user="eve", expires="2020-01-01")
        mind.remember("A cup.", id="b", user="anna")
    plan = recollect("--db", db, "erase", "--user", "eve", "--dry-run", "--json")
    code = json.loads(plan.out)["code"]
    refused = recollect("--db", db, "erase", "--user", "eve")
    assert refused.code == 2
    assert "1 memory" in refused.err
    assert code in refused.err
    done = recollect("--db", db, "erase", "--user", "eve", "--code", code, "--json")
    assert done.code == 0
    (tmp_path / "receipt.json").write_text(done.out, "utf-8")
    verified = recollect("--db", db, "erase", "--verify", str(tmp_path / "receipt.json"))
    assert verified.code == 0
    assert "is stored" in verified.out
    assert recollect("--db", db, "erase", "--expired", "--yes").code == 1  # nothing left to do
    assert recollect("--db", db, "erase", "--finish").code == 0
    assert recollect("--db", db, "erase").code == 2
    assert recollect("--db", db, "erase", "b", "--yes").code == 0
    assert b"zanzibar" not in (tmp_path / "c.db").read_bytes()
