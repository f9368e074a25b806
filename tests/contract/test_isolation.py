"""Boundaries (B18): no verb of a bound mind reads, changes, counts, names or undoes anything beyond its bound."""

from __future__ import annotations

import asyncio
import inspect
import json
import os
import shutil
from collections.abc import Callable, Iterator, Sequence
from dataclasses import asdict, dataclass, replace
from datetime import UTC, datetime
from pathlib import Path
from typing import Any
from zlib import crc32

import numpy as np
import pytest
import typer

from recollect import InvalidInput, Memory, Mind, NotFound, RecollectError, StoreError
from recollect.aio import AsyncMind
from recollect.cli.app import app
from recollect.ingest.folder import FolderSettings
from recollect.model.json_records import to_json
from recollect.recall.comparison import Comparison
from recollect.recall.context import Context
from recollect.recall.query_cache import QueryCache
from recollect.recall.registry import RECIPES
from recollect.recall.results import Recall
from recollect.store.base import Bound
from recollect.systems.openclaw.workspace import Workspace
from recollect.systems.robotmem.robot import Robot
from tests.cli.conftest import Command, recollect
from tests.postgres.stores import TEST_STORE

__all__ = ["recollect"]  # the fixture
pytestmark = pytest.mark.contract("B18")

BOUNDS = ("collection", "user", "agent", "session")
QUERY = "where is the teapot in the pantry?"
NOW = datetime(2026, 3, 10, 12, tzinfo=UTC)
# What only foreign memories contain: words, names, ids and the value of the bound.
SECRETS = ("zanzibar", "quokka", "foreign", "xylograph", "umbrellabird")
OWN_IDS = ("shelf-own", "teapot-own", "cups-own", "note-own")


class Words:
    """A toy model: how many words of a text fall into each of some classes."""

    name, dim = "words-v1", 24

    def embed(self, texts: Sequence[str], query: bool = False) -> list[list[float]]:
        return [
            [float(sum(crc32(word.encode()) % 24 == n for word in text.lower().split())) for n in range(24)]
            for text in texts
        ]


def open_mind(path: Path, **options: Any) -> Mind:
    return Mind(path, **{"embedder": Words(), "clock": lambda: NOW, "durability": "fast", **options})


def write_own(mind: Mind, owner: dict[str, Any], later: bool = False) -> None:
    """The memories of the bound; with ``later`` those that follow when foreign ones have been written."""
    if not later:
        mind.remember(
            "The teapot is on the shelf of the pantry.",
            id="shelf-own",
            external_id="teapot",
            entities=["Tea"],
            created="2026-03-01",
            context={"x": 1},
            **owner,
        )
        mind.remember("Green tea, in the old teapot.", id="teapot-own", tags=["tea"], created="2026-03-02", **owner)
        mind.edit("teapot-own", text="Green tea is made in the old teapot.")
        return
    mind.remember(
        "The cups hang below the shelf.", id="cups-own", created="2026-03-03", valid_from="2026-03-01", **owner
    )
    mind.remember("The pantry is cold in March.", id="note-own", title="Pantry", created="2026-03-04", **owner)
    mind.link("shelf-own", "teapot-own", "supports", 0.9)
    mind.link("teapot-own", "cups-own", "mentions", 0.5)
    mind.relate("Tea", "made_in", "Teapot", collection=owner["collection"], user=owner["user"])


def write_foreign(mind: Mind, owner: dict[str, Any]) -> None:
    """Memories that answer the query at least as well, with ids and words that no one else may see."""
    texts = (
        "The zanzibar teapot is in the pantry, the teapot of the quokka, in the pantry.",
        "Where is the teapot in the pantry? Behind the xylograph of the shelf.",
        "The teapot, the teapott, the teapotty zanzibar of the pantry shelf.",
    )
    for number, text in enumerate(texts):
        mind.remember(
            text,
            id=f"shelf-foreign-{number}",
            external_id=f"quokka-{number}",
            title="Umbrellabird teapot",
            topic="umbrellabird",
            tags=["quokka"],
            entities=["Quokka"],
            created=f"2026-03-0{number + 1}T06:00",
            context={"x": 1, "secret": "xylograph"},
            expires="2027-01-01",
            **owner,
        )
    mind.edit("shelf-foreign-0", text=texts[0] + " It was a xylograph.")
    mind.link("shelf-foreign-0", "shelf-foreign-1", "supports", 0.7)
    mind.supersede(
        "shelf-foreign-2", Memory("The quokka has a new teapot in the pantry.", id="shelf-foreign-3", **owner)
    )
    mind.relate("Quokka", "lives_in", "Zanzibar", **{name: owner[name] for name in ("collection", "user")})
    mind.recall(QUERY)  # all have been used, also those of the bound
    mind.forget("shelf-foreign-1")


@dataclass(frozen=True)
class World:
    """A file in which memories differ in one field: those inside the bound, and foreign ones."""

    bound: str
    path: Path
    alone: Path  # the same without foreign memories
    folder: Path

    @property
    def own(self) -> dict[str, Any]:
        return {self.bound: "own"}

    def open(self, **options: Any) -> Mind:
        return open_mind(self.path, **self.own, **options)

    def foreign(self) -> str:
        """All that a mind without a bound can tell of the foreign memories, their edges, history, use and relations."""
        with open_mind(self.path) as mind:
            records = [json.dumps(record, sort_keys=True) for record in mind.export()]
        return "\n".join(each for each in records if reveals(each))


def owner_of(bound: str, whose: str) -> dict[str, Any]:
    shared = {"collection": "shared", "user": "shared", "agent": "", "session": "monday"}
    return {**shared, bound: "own" if whose == "own" else "zanzibar"}


def write_world(bound: str, both: Path, alone: Path) -> None:
    with open_mind(both) as mind:
        write_own(mind, owner_of(bound, "own"))
        write_foreign(mind, owner_of(bound, "foreign"))
        write_own(mind, owner_of(bound, "own"), later=True)
        if bound != "collection":  # edges stay inside a collection
            mind.link("shelf-own", "shelf-foreign-0", "supports", 1.0)
            mind.link("shelf-foreign-1", "teapot-own", "mentions", 1.0)
    with open_mind(alone) as mind:
        write_own(mind, owner_of(bound, "own"))
        mind.recall(QUERY)
        write_own(mind, owner_of(bound, "own"), later=True)


@pytest.fixture(scope="module")
def templates(tmp_path_factory: pytest.TempPathFactory) -> dict[str, tuple[Path, Path]]:
    """For each bound a file with foreign memories and one without; empty on a server, which has no files to copy."""
    made: dict[str, tuple[Path, Path]] = {}
    if os.environ.get(TEST_STORE) == "postgres":
        return made
    for bound in BOUNDS:
        folder = tmp_path_factory.mktemp(bound)
        made[bound] = folder / "both.db", folder / "alone.db"
        write_world(bound, *made[bound])
    return made


@pytest.fixture(params=BOUNDS)
def world(request: pytest.FixtureRequest, templates: dict[str, tuple[Path, Path]], tmp_path: Path) -> World:
    return copy_of(templates, request.param, tmp_path)


def copy_of(templates: dict[str, tuple[Path, Path]], bound: str, folder: Path) -> World:
    world = World(bound, folder / "both.db", folder / "alone.db", folder)
    if bound in templates:
        for template, copy in zip(templates[bound], (world.path, world.alone), strict=True):
            shutil.copy(template, copy)
    else:
        write_world(bound, world.path, world.alone)
    return world


# What a value reveals: everything that it prints, and everything that it is made of.


def reveals(text: str) -> list[str]:
    return [secret for secret in SECRETS if secret in text.casefold()]


def told(value: Any) -> str:
    """All that a caller can read in a result."""
    match value:
        case Recall():
            results = [(told(each.memory), each.score, each.notes, str(each.why)) for each in value]
            absent = [str(value.why_not(id)) for id in OWN_IDS]
            trace = value.trace
            details = [trace.stages(), json.dumps(trace.as_dict(), default=str), str(trace)]
            return f"{value!r} {results} {absent} {value.confidence} {details}"
        case Comparison():
            return f"{value!r} {value.as_dict()} {[told(each) for each in value.recalls.values()]}"
        case Context():
            return f"{value} {value!r} {told(value.recall)}"
        case Memory():
            return f"{value!r} {to_json(value)}"
        case Path():
            return value.read_text("utf-8")
        case dict():
            return str({told(key): told(each) for key, each in value.items()})
        case list() | tuple():
            return str([told(each) for each in value])
        case _ if inspect.isgenerator(value):
            return told(list(value))
    return f"{value!r} {value}"


# The attempts: every verb is tried with what is foreign.

FOREIGN, OTHER, UNKNOWN = "shelf-foreign-0", "shelf-foreign-1", "shelf-unheard-0"
Call = Callable[[Mind, World], Any]


@dataclass(frozen=True)
class Reads:
    """Works, and reveals nothing."""

    call: Call


@dataclass(frozen=True)
class ById:
    """A foreign id, its beginning, or its external id is an unknown one: not found, in the same words."""

    call: Callable[[Mind, str], Any]


@dataclass(frozen=True)
class Refused:
    """Is refused without naming anything but what was given."""

    call: Call
    given: tuple[str, ...] = ()
    error: type[RecollectError] = InvalidInput


Attempt = Reads | ById | Refused


def exported(world: World) -> list[dict[str, Any]]:
    with open_mind(world.path) as mind:
        return [record for record in mind.export() if reveals(json.dumps(record))]


def edge_record(source: str, target: str) -> dict[str, Any]:
    return {"type": "edge", "source": source, "target": target, "kind": "supports", "weight": 1.0}


def foreign_file(world: World) -> Path:
    path = world.folder / "records.jsonl"
    path.write_text(json.dumps({"text": "A jug.", "id": FOREIGN}) + "\n", "utf-8")
    return path


def moved(mind: Mind, world: World) -> Memory:
    """An own memory, edited to belong to the foreign side."""
    change: dict[str, Any] = {world.bound: "zanzibar"}
    return mind.edit("note-own", **change)


def read_store(mind: Mind, world: World) -> list[Any]:
    """What the protocol of the store tells about foreign rows and ids."""
    store = mind.store
    with open_mind(world.path) as everything, everything.store.snapshot() as snapshot:
        known = [snapshot.row(id) or 0 for id in (*OWN_IDS, *(f"shelf-foreign-{n}" for n in range(4)))]
    rows = np.arange(min(known), min(known) + 39, dtype=np.int64)
    rows = np.union1d(rows, np.array(known, dtype=np.int64))
    found: list[Any] = [
        store.bound,
        store.get([FOREIGN], missing_ok=True),
        store.edges([FOREIGN]),
        store.history(FOREIGN),
    ]
    with store.snapshot() as snapshot:
        found += [snapshot.memories(rows), snapshot.ids(rows), snapshot.texts(rows), snapshot.paths(rows)]
        found += [snapshot.contexts(rows), snapshot.uses(rows), snapshot.relations(["quokka", "Zanzibar"])]
        found += [snapshot.strings(name, rows) for name in ("topic", "collection", "user", "agent", "session")]
        found.append(snapshot.row(FOREIGN))
        ids = set(snapshot.ids(rows)) - {""}
        edges = snapshot.edges(rows)
        inside = {snapshot.row(id) for id in OWN_IDS}
        assert ids == set(OWN_IDS)
        assert {*edges.sources.tolist(), *edges.targets.tolist()} <= inside
        assert set(snapshot.neighbours(rows, 3).ravel().tolist()) <= {*inside, -1}
        assert np.isnan(snapshot.vectors(rows)).all(axis=1).sum() == len(rows) - len(OWN_IDS)
        assert np.isnan(snapshot.numbers("strength", rows)).sum() == len(rows) - len(OWN_IDS)
        assert np.count_nonzero(snapshot.field_lengths({"text": 1.0}, rows)) == len(OWN_IDS)
    with store.transaction("look") as transaction:
        found.append(transaction.find(Memory("A jug.", id=FOREIGN)))
        found.append(transaction.row_with(FOREIGN, exported(world)[0].get("text", "")))
    return found


VERBS: dict[str, tuple[Attempt, ...]] = {
    "store": (
        Reads(read_store),
        Refused(
            lambda mind, world: mind.store.within(Bound(**{**mind.bound.values, world.bound: "zanzibar"})),
            ("zanzibar",),
        ),
    ),
    "bound": (Reads(lambda mind, world: mind.bound),),
    "collection": (Reads(lambda mind, world: mind.collection),),
    "secrets_policy": (Reads(lambda mind, world: mind.secrets_policy),),
    "remember": (
        Refused(lambda mind, world: mind.remember("A jug.", id=FOREIGN), (FOREIGN,)),
        Refused(lambda mind, world: mind.remember(Memory("A jug.", id=FOREIGN)), (FOREIGN,)),
        Refused(lambda mind, world: mind.remember("A jug.", **{world.bound: "other"})),  # type: ignore[arg-type]
    ),
    "remember_many": (
        Refused(lambda mind, world: mind.remember_many(["A jug.", {"text": "A jar.", "id": FOREIGN}]), (FOREIGN,)),
    ),
    "remember_turns": (
        Refused(
            lambda mind, world: mind.remember_turns(
                [{"role": "user", "content": "A jug."}],
                **{world.bound: "other"},  # type: ignore[arg-type]
            )
        ),
    ),
    "edit": (
        ById(lambda mind, id: mind.edit(id, text="A jug.")),
        Refused(moved, ("zanzibar",)),
    ),
    "forget": (ById(lambda mind, id: mind.forget("note-own", id)),),
    "erase": (
        ById(lambda mind, id: mind.erase("note-own", id)),
        Refused(lambda mind, world: mind.erase(**{world.bound: "zanzibar"}), ("zanzibar",)),  # type: ignore[arg-type]
        Refused(lambda mind, world: mind.erase()),
        Reads(lambda mind, world: mind.erase(filter={world.bound: "zanzibar"})),
        Reads(lambda mind, world: mind.erase(filter={"topic": "umbrellabird"}, dry_run=True)),
        Reads(lambda mind, world: mind.erase(**{world.bound: "own"}, dry_run=True)),  # type: ignore[arg-type]
    ),
    "erase_expired": (Reads(lambda mind, world: mind.erase_expired()),),
    "finish_erasures": (Reads(lambda mind, world: mind.finish_erasures()),),
    "receipts": (Reads(lambda mind, world: [mind.erase("note-own").receipt, mind.receipts()]),),
    "verify_erasure": (Reads(lambda mind, world: mind.verify_erasure(mind.erase("cups-own").receipt or {})),),
    "link": (ById(lambda mind, id: mind.link("note-own", id)), ById(lambda mind, id: mind.link(id, "note-own"))),
    "unlink": (
        ById(lambda mind, id: mind.unlink("shelf-own", id)),
        ById(lambda mind, id: mind.unlink(id, OTHER)),
    ),
    "relate": (Reads(lambda mind, world: relate_if_possible(mind, world)),),
    "supersede": (
        ById(lambda mind, id: mind.supersede(id, "A jug.")),
        Refused(lambda mind, world: mind.supersede("note-own", Memory("A jug.", id=FOREIGN)), (FOREIGN,)),
    ),
    "audit": (
        Reads(lambda mind, world: mind.audit()),
        Reads(lambda mind, world: mind.audit({world.bound: "zanzibar"})),
    ),
    "conflicts": (
        Reads(lambda mind, world: mind.conflicts()),
        Reads(lambda mind, world: mind.conflicts({world.bound: "zanzibar"})),
    ),
    "contradict": (
        ById(lambda mind, id: mind.contradict("note-own", id)),
        ById(lambda mind, id: mind.contradict(id, OTHER, loser=OTHER)),
        ById(lambda mind, id: mind.contradict("note-own", "cups-own", loser=id)),
    ),
    "reinforce": (ById(lambda mind, id: mind.reinforce(id)),),
    "decay": (Reads(lambda mind, world: mind.decay(0.5)), Reads(lambda mind, world: mind.undo())),
    "extract": (Reads(lambda mind, world: mind.extract()), Reads(lambda mind, world: mind.undo())),
    "undo": (Reads(lambda mind, world: undo_everything(mind)),),
    "recall": (
        *(Reads(lambda mind, world, name=name: mind.recall(QUERY, 20, recipe=name)) for name in RECIPES),  # type: ignore[misc]
        Reads(lambda mind, world: mind.recall("teapott zanzi* quoka OR xylogr*", 20)),
        Reads(lambda mind, world: mind.recall(QUERY, filter={world.bound: "zanzibar"}).trace.steps and None),
        Reads(lambda mind, world: mind.recall(QUERY, as_of="2026-03-02")),
        ById(lambda mind, id: mind.recall(QUERY).why(id)),
        ById(lambda mind, id: mind.recall(QUERY).why_not(id)),
    ),
    "context": (
        Reads(lambda mind, world: mind.context(QUERY, 5000)),
        Reads(lambda mind, world: mind.context("cups", 5000)),
    ),
    "compare": (Reads(lambda mind, world: mind.compare(QUERY, [*RECIPES])),),
    "why": (
        Reads(lambda mind, world: mind.why(QUERY, "shelf-own")),
        ById(lambda mind, id: mind.why(QUERY, id)),
    ),
    "why_not": (
        Reads(lambda mind, world: [mind.why_not(QUERY, id, 1) for id in OWN_IDS]),
        ById(lambda mind, id: mind.why_not(QUERY, id)),
    ),
    "show": (ById(lambda mind, id: mind.show(id)),),
    "list": (
        Reads(lambda mind, world: mind.list()),
        Reads(lambda mind, world: mind.list({"status": ["forgotten", "superseded", "active"]})),
        Reads(lambda mind, world: mind.list({"topic": "umbrellabird"})),
        Reads(lambda mind, world: mind.list({"not": {world.bound: "own"}})),
        Reads(lambda mind, world: mind.list(limit=2, offset=3)),
        Reads(lambda mind, world: [mind.list(sort=name) for name in ("oldest", "uses", "last_accessed")]),
        Reads(lambda mind, world: mind.list({"status": ["forgotten", "active"]}, use={"uses": {"$gte": 0}})),
    ),
    "usage": (
        Reads(lambda mind, world: [mind.usage(), mind.usage().as_dict()]),
        Reads(lambda mind, world: mind.usage({"status": ["forgotten", "superseded", "active"]}, period="day")),
    ),
    "edges": (Reads(lambda mind, world: [mind.edges(), mind.edges(*OWN_IDS)]), ById(lambda mind, id: mind.edges(id))),
    "entity_edges": (Reads(lambda mind, world: mind.entity_edges()),),
    "history": (
        Reads(lambda mind, world: [mind.history(id) for id in OWN_IDS]),
        ById(lambda mind, id: mind.history(id)),
    ),
    "status": (Reads(lambda mind, world: mind.status()),),
    "tools": (Reads(lambda mind, world: {tool.name: tool for tool in mind.tools()}["recall"].call(query=QUERY, k=20)),),
    "probe": (Reads(lambda mind, world: mind.probe()),),
    "consolidate": (
        Reads(lambda mind, world: list(mind.consolidate(world.folder / "notes", "weekly"))),
        Reads(lambda mind, world: list(mind.consolidate(world.folder / "all", filter={"status": "forgotten"}))),
    ),
    "consolidate_session": (
        Reads(lambda mind, world: mind.consolidate_session(owner_of(world.bound, "own")["session"])),
        Refused(lambda mind, world: mind.consolidate_session("zanzibar"), ("zanzibar",), NotFound),
    ),
    "names_in": (Reads(lambda mind, world: mind.names_in("the tea of the quokk in zanziba")),),
    "export": (Reads(lambda mind, world: mind.export()),),
    "export_markdown": (
        Reads(lambda mind, world: mind.export_markdown(world.folder / "pages")),
        Reads(lambda mind, world: list((world.folder / "pages").rglob("*.md"))),
    ),
    "import_": (
        Refused(lambda mind, world: mind.import_([{"text": "A jug.", "id": FOREIGN}]), (FOREIGN,)),
        Refused(lambda mind, world: mind.import_([edge_record("note-own", FOREIGN)]), (FOREIGN,), RecollectError),
        Refused(lambda mind, world: mind.import_([edge_record(FOREIGN, OTHER)]), (FOREIGN, OTHER), RecollectError),
        Refused(
            lambda mind, world: mind.import_(each for each in exported(world) if each.get("id") == FOREIGN), (FOREIGN,)
        ),
    ),
    "import_from": (
        Refused(lambda mind, world: mind.import_from(foreign_file(world)), (FOREIGN,)),
        Reads(lambda mind, world: replace(mind.import_from(foreign_file(world), strict=False), problems=[])),
    ),
    "backup": (Refused(lambda mind, world: mind.backup(world.folder / "backups"), error=RecollectError),),
    "embed_missing": (Reads(lambda mind, world: mind.embed_missing()),),
    "reembed": (
        Refused(lambda mind, world: mind.store.switch_space(mind.store.status().spaces[0]["name"]), error=StoreError),
    ),
    "close": (Reads(lambda mind, world: mind.close()),),
}


def relate_if_possible(mind: Mind, world: World) -> Any:
    """Relate names inside the bound and outside it; a bound by agent or session has no relations at all."""
    if world.bound in ("agent", "session"):
        with pytest.raises(InvalidInput, match="no agent or session"):
            mind.relate("Tea", "grows_in", "Assam")
        return mind.entity_edges()
    with pytest.raises(InvalidInput):
        mind.relate("Quokka", "lives_in", "Zanzibar", 0.1, **{world.bound: "zanzibar"})
    return [mind.relate("Tea", "grows_in", "Assam"), mind.entity_edges()]


def undo_everything(mind: Mind) -> list[Any]:
    """Undo until nothing is left, or something refuses to be undone."""
    undone: list[Any] = []
    for _ in range(30):
        try:
            result = mind.undo()
        except StoreError as error:
            return [*undone, str(error)]
        undone.append(result)
        if result is None:
            break
    return undone


def test_every_verb_is_tried() -> None:
    public = {name for name in dir(Mind) if not name.startswith("_")}
    assert public == set(VERBS)


@pytest.mark.parametrize("verb", VERBS)
def test_a_verb_of_a_bound_mind_stays_inside_the_bound(world: World, verb: str) -> None:
    before = world.foreign()
    assert before.count("\n") > 6
    for attempt in VERBS[verb]:
        with world.open() as mind:
            match attempt:
                case Reads(call):
                    assert reveals(told(call(mind, world))) == []
                case ById(by_id):
                    assert_unknown(mind, by_id)
                case Refused(call, given, error):
                    with pytest.raises(error) as refused:
                        call(mind, world)
                    message = str(refused.value)
                    for each in given:
                        message = message.replace(each, "")
                    assert reveals(message) == []
        assert world.foreign() == before


def assert_unknown(mind: Mind, call: Callable[[Mind, str], Any]) -> None:
    """Foreign ids, their beginnings and external ids are answered like ids that exist nowhere."""
    for foreign in (FOREIGN, "shelf-fo", "quokka-0"):
        messages = []
        for id in (foreign, UNKNOWN):
            with pytest.raises((NotFound, InvalidInput)) as refused:
                call(mind, id)
            assert refused.type is NotFound or "quokka" not in id
            messages.append(str(refused.value).replace(id, "ID"))
        assert messages[0] == messages[1]
        assert reveals(messages[0]) == []


# A bound mind answers as if there were no foreign memories: ranks, scores, statistics and counts are the same.


def answers(mind: Mind) -> Iterator[tuple[str, Any]]:
    for name in RECIPES:
        for query in (QUERY, "old green tea", "cups", "teapott", "Tea"):
            recall = mind.recall(query, 20, recipe=name, track=False)
            steps = [{**step, "milliseconds": 0} for step in recall.trace.as_dict()["steps"]]
            absent = [mind.why_not(query, id, 1, recipe=name).as_dict() for id in OWN_IDS]
            yield f"{name}: {query}", ([(each.id, each.score, str(each.why)) for each in recall], steps, absent)
    for budget in (10, 40, 400):
        yield f"context of {budget}", str(mind.context(QUERY, budget, track=False))
    with mind.store.snapshot() as snapshot:
        near = snapshot.neighbours(np.array([snapshot.row(id) for id in OWN_IDS]), 2)
        yield "neighbours", [snapshot.ids(row) for row in near]
    yield "list", [to_json(memory) for memory in mind.list()]
    yield "list by use", [memory.id for memory in mind.list(sort="uses", use={"access_count": {"$gte": 1}})]
    yield "usage", mind.usage().as_dict()
    yield "export", list(mind.export())
    yield "status", {**asdict(mind.status().store), "path": "", "bytes": 0, "version": ""}
    yield "probe", mind.probe()
    yield "names", mind.names_in("Tea is made in the Teapot of the Quokk")
    yield "decay", (mind.decay(0.1), [memory.strength for memory in mind.list()])
    yield "summary", mind.consolidate_session(mind.list()[0].session).text


def test_a_bound_mind_answers_as_if_there_were_no_foreign_memories(world: World) -> None:
    with world.open() as mind, open_mind(world.alone, **world.own) as alone:
        for (name, answer), (_, expected) in zip(answers(mind), answers(alone), strict=True):
            assert answer == expected, name


def test_why_counts_only_the_memories_of_the_bound(world: World) -> None:
    with world.open() as mind, open_mind(world.path) as everything:
        assert "of 4 memories" in str(mind.recall("teapot")[0].why)
        assert "of 4 memories" not in str(everything.recall("teapot")[0].why)


def test_an_id_is_completed_inside_the_bound_only(world: World) -> None:
    with world.open() as mind, open_mind(world.path) as everything:
        assert mind.show("shelf-").id == "shelf-own"
        with pytest.raises(InvalidInput, match="Several ids"):
            everything.show("shelf-")
        mind.remember("A jug.", id="shelf-two")
        with pytest.raises(InvalidInput, match="shelf-own, shelf-two") as several:
            mind.show("shelf-")
        assert reveals(str(several.value)) == []


def test_status_of_a_bound_mind_names_only_its_collection(world: World) -> None:
    with world.open() as mind:
        store = mind.status().store
        assert store.collections == {owner_of(world.bound, "own")["collection"]: 4}
        assert (store.memories, store.edges) == ({"active": 4}, 2)
        assert [space["vectors"] for space in store.spaces] == [4]
        assert store.without_vector == 0


# Erasing.


def test_a_bound_mind_sees_no_receipt_of_what_was_erased_outside_it(world: World) -> None:
    with world.open() as mind, open_mind(world.path) as everything:
        receipt = everything.erase("shelf-foreign-2", "note-own").receipt
        mind.erase("cups-own")
        assert len(everything.receipts()) == 2
        assert [len(each.ids) for each in mind.receipts()] == [1]
        assert receipt is not None
        assert mind.verify_erasure(receipt).present == ()


def test_erasing_everything_inside_a_bound_leaves_the_rest_as_it_was(world: World) -> None:
    before = world.foreign()
    with open_mind(world.path) as everything:
        edges = [each for each in everything.edges() if "own" not in each.source + each.target]
        with world.open() as mind:
            assert (
                mind.erase(**world.own).removed["edges"] == 2
            )  # of those inside; what is linked outside is not counted
        assert [id for id in OWN_IDS if everything.store.get([id], missing_ok=True)] == []
        assert list(everything.edges()) == edges
        everything.recall(QUERY, track=False)
    assert [each for each in world.foreign().split("\n") if '"edge"' not in each] == [
        each for each in before.split("\n") if '"edge"' not in each
    ]


# Undo.


def undone_by(mind: Mind) -> tuple[str, int] | None:
    """The verb that an undo took back, and how many memories it removed."""
    undone = mind.undo()
    return None if undone is None else (undone.verb, undone.removed)


def test_undo_of_a_bound_mind_takes_back_the_last_operation_inside_it(world: World) -> None:
    with world.open() as mind, open_mind(world.path) as everything:
        jug = mind.remember("A jug.")
        everything.remember("The quokka has a jug.", **owner_of(world.bound, "foreign"))
        everything.forget("shelf-foreign-0")
        before = world.foreign()
        assert undone_by(mind) == ("remember", 1)
        with pytest.raises(NotFound):
            mind.show(jug.id)
        assert world.foreign() == before


def test_undo_refuses_an_operation_that_reached_beyond_the_bound(world: World) -> None:
    with world.open() as mind, open_mind(world.path) as everything:
        everything.decay(0.5)
        before = world.foreign()
        with pytest.raises(StoreError, match="outside the bound") as refused:
            mind.undo()
        assert reveals(str(refused.value)) == []
        assert world.foreign() == before


def test_a_decay_elsewhere_does_not_hinder_undo(world: World) -> None:
    with world.open() as mind, open_mind(world.path, **{world.bound: "zanzibar"}) as foreign:
        mind.remember("A jug.")
        assert foreign.decay(0.5) > 0
        assert undone_by(mind) == ("remember", 1)


def test_an_operation_over_many_owners_is_undone_inside_its_bound(world: World) -> None:
    others = [name for name in BOUNDS if name != world.bound]
    items = [{"text": f"Jug {number}.", **{name: f"{name} {number}" for name in others}} for number in range(70)]
    with world.open() as mind, open_mind(world.path, **{world.bound: "third"}) as third:
        third.remember("A jar.")
        mind.remember_many(items)
        assert undone_by(third) == ("remember", 1)
        assert undone_by(mind) == ("remember", 70)


def test_foreign_operations_can_be_undone_after_everything_a_bound_mind_did(world: World) -> None:
    with open_mind(world.path, **{world.bound: "zanzibar"}) as foreign:
        foreign.remember("The quokka has a jug.", id="jug-foreign")
        with world.open() as mind:
            undo_everything(mind)
            mind.decay(0.3)
            mind.remember("A jar.")
        assert undone_by(foreign) == ("remember", 1)


# Moving, importing, consolidating.


def test_a_move_to_another_collection_keeps_edges_to_foreign_memories(world: World) -> None:
    before = world.foreign()
    with world.open() as mind:
        if world.bound == "collection":  # it cannot move a memory at all
            with pytest.raises(InvalidInput):
                mind.edit("note-own", collection="elsewhere")
            assert world.foreign() == before
            return
        with pytest.raises(InvalidInput, match="outside the bound") as refused:
            mind.edit("shelf-own", collection="elsewhere")  # linked with a foreign memory, which would lose its edge
        assert reveals(str(refused.value)) == []
        assert mind.edit("note-own", collection="elsewhere").collection == "elsewhere"
    assert world.foreign() == before


def test_a_memory_that_moved_out_of_the_bound_is_gone_with_its_history(world: World) -> None:
    with world.open() as mind, open_mind(world.path) as everything:
        change: dict[str, Any] = {world.bound: "zanzibar"}
        everything.edit("note-own", text="The quokka is cold.", **change)
        with pytest.raises(NotFound):
            mind.history("note-own")
        with pytest.raises(StoreError):
            mind.undo()
        back: dict[str, Any] = {world.bound: "own"}
        everything.edit("note-own", text="The pantry is warm.", **back)
        assert [memory.text for _, memory in mind.history("note-own")] == ["The pantry is cold in March."]


def test_an_import_belongs_to_the_bound_with_its_history(world: World, tmp_path: Path) -> None:
    before = world.foreign()
    with open_mind(tmp_path / "source.db", collection="elsewhere", user="carol") as source:
        source.remember("A jug.", id="jug")
        source.edit("jug", text="A blue jug.")
        source.relate("Jug", "is", "Blue")
        records = [
            each for each in source.export() if world.bound in ("collection", "user") or each["type"] != "entity_edge"
        ]
    with world.open() as mind:
        mind.import_(records)
        assert getattr(mind.show("jug"), world.bound) == "own"
        assert [getattr(memory, world.bound) for _, memory in mind.history("jug")] == ["own"]
        assert mind.undo() is not None
    assert world.foreign() == before


def test_the_same_external_id_names_another_memory_in_another_bound(world: World) -> None:
    before = world.foreign()
    with world.open() as mind:
        if world.bound == "session":  # an external id is unique for a collection, user and agent
            with pytest.raises(InvalidInput) as refused:
                mind.remember("A jug.", external_id="quokka-0", collection="shared", user="shared")
            assert reveals(str(refused.value).replace("quokka-0", "")) == []
        else:
            fields = {name: value for name, value in owner_of(world.bound, "own").items() if name != world.bound}
            assert mind.remember("A jug.", external_id="quokka-0", **fields).text == "A jug."
            mind.undo()
    assert world.foreign() == before


def test_cached_answers_stay_inside_the_bound(world: World) -> None:
    cache = QueryCache()
    with open_mind(world.path, query_cache=cache) as everything, world.open(query_cache=cache) as mind:
        for _ in range(2):
            assert reveals(told(everything.recall(QUERY, 20, track=False)))
            assert reveals(told(mind.recall(QUERY, 20, track=False))) == []


def test_an_equal_text_beyond_the_bound_is_another_memory(world: World) -> None:
    plain = {} if world.bound == "session" else {"session": ""}  # what is said in a session is never merged
    own, foreign = ({**owner_of(world.bound, whose), **plain} for whose in ("own", "foreign"))
    with world.open() as mind, open_mind(world.path) as everything:
        theirs = everything.remember("A jug stands there.", **foreign)
        mine = mind.remember("A jug stands there.", **own)
        assert (mine.id != theirs.id, mine.mentions) == (True, 1)
        assert everything.show(theirs.id) == theirs


def test_a_summary_of_memories_of_several_users_belongs_to_none(tmp_path: Path) -> None:
    with open_mind(tmp_path / "memory.db") as mind, open_mind(tmp_path / "memory.db", user="ann") as ann:
        ann.remember("Ann has a jug.", session="monday", agent="butler")
        assert mind.consolidate_session("monday").user == "ann"
        mind.undo()
        mind.remember("Bob has a secret.", user="bob", session="monday", agent="butler")
        summary = mind.consolidate_session("monday")
        assert (summary.user, summary.agent) == ("", "butler")
        assert "secret" not in told(ann.list())


# The interfaces over a mind.


def test_a_robot_over_a_bound_mind_stays_inside_the_bound(world: World) -> None:
    before = world.foreign()
    own = owner_of(world.bound, "own")
    with world.open() as mind:
        robot = Robot(mind, own["collection"])
        learned = robot.learn("The zanzibar teapot is in the pantry, the teapot of the quokka, in the pantry.")
        assert not learned.duplicate
        mind.undo()
        results: list[Any] = [robot.recall(QUERY, 20, min_confidence=0.0), robot.recall("*", 20, min_confidence=0.0)]
        episode = robot.start_session({"task": "tea"})
        robot.learn("The jug is blue.", session_id=episode)
        results.append(robot.save_perception("A jug stands there.", session_id=episode))
        results.append(robot.end_session(episode, 0.5))
        assert reveals(told(results)) == []
        for call in (lambda mind, id: robot.update(id, "A jug."), lambda mind, id: robot.forget(id, "gone")):
            assert_unknown(mind, call)
        if world.bound != "session":  # every session is the one that the mind is bound to
            with pytest.raises(NotFound):
                robot.end_session("zanzibar", 0.5)
    assert world.foreign() == before
    if world.bound == "collection":
        with world.open() as mind, pytest.raises(InvalidInput, match="bound to the collection"):
            Robot(mind, "zanzibar")


def test_an_async_mind_has_the_same_bound(world: World) -> None:
    async def run() -> None:
        async with AsyncMind(world.path, embedder=Words(), clock=lambda: NOW, **world.own) as mind:
            assert reveals(told([await mind.recall(QUERY, 20), await mind.list(), await mind.status()])) == []
            assert reveals(told([record async for record in mind.export()])) == []
            for call in (mind.show, mind.history, mind.reinforce, mind.forget, mind.edges):
                with pytest.raises(NotFound):
                    await call(FOREIGN)
            await mind.decay(0.5)
            await mind.undo()

    before = world.foreign()
    asyncio.run(run())
    assert world.foreign() == before


def test_a_workspace_over_a_bound_mind_stays_inside_the_bound(world: World, tmp_path: Path) -> None:
    for name, text in (("own", "The jug is in the garden."), ("foreign", "The quokka is in the garden.")):
        (tmp_path / name).mkdir()
        (tmp_path / name / "MEMORY.md").write_text(text, "utf-8")
    with open_mind(world.path) as everything:
        Workspace(tmp_path / "foreign", mind=everything, collection="zanzibar").sync()
        files = everything.store.files("zanzibar")
    before = world.foreign()
    with world.open() as mind:
        assert reveals(told(mind.store.folders())) == []
        assert mind.store.files("zanzibar") == {}
        assert mind.store.chunk_ids("zanzibar") == []
        with pytest.raises(InvalidInput), mind.store.transaction("sync") as transaction:
            transaction.files.delete_folder("zanzibar")
        workspace = Workspace(tmp_path / "own", mind=mind)
        if world.bound == "collection":
            with pytest.raises(InvalidInput, match="bound to the collection"):
                Workspace(tmp_path / "foreign", mind=mind, collection="zanzibar")
            assert workspace.sync().added == ["MEMORY.md"]
            found = workspace.search("where in the garden?", min_score=0.0)
            assert [each["text"] for each in found["results"]] == ["The jug is in the garden."]
            Workspace(tmp_path / "own", mind=mind, settings=FolderSettings(tokens=50, overlap=10)).sync()
            assert workspace.unfollow() == 1
        else:
            with pytest.raises(InvalidInput, match="outside the bound"):
                workspace.sync()
    with open_mind(world.path) as everything:
        assert everything.store.files("zanzibar") == files
    assert world.foreign() == before


# The command line.


@pytest.fixture
def shared(recollect: Command, templates: dict[str, tuple[Path, Path]], tmp_path: Path) -> World:
    world = copy_of(templates, "collection", tmp_path)
    os.rename(world.path, tmp_path / "memory.db")
    return replace(world, path=tmp_path / "memory.db")


def test_undo_in_a_collection_does_not_remove_a_memory_of_another(recollect: Command) -> None:
    recollect("--collection", "alice", "remember", "Alice has a cat.")
    assert recollect("--collection", "bob", "undo").code == 1
    assert recollect("--collection", "alice", "list").out.count("Alice has a cat.") == 1
    recollect("--collection", "bob", "remember", "Bob has a dog.")
    recollect("--collection", "alice", "remember", "Alice has a hat.")
    assert recollect("--collection", "bob", "undo").code == 0
    assert recollect("--collection", "bob", "list").code == 1
    assert "hat" in recollect("--collection", "alice", "list").out


COMMANDS: tuple[tuple[str, ...], ...] = (
    ("recall", QUERY, "-k", "20"),
    ("context", QUERY),
    ("compare", QUERY),
    ("why", QUERY, "shelf-own", "--full"),
    ("why-not", QUERY, "note-own", "-k", "1"),
    ("list", "--status", "forgotten", "--status", "active", "--status", "superseded"),
    ("list", "--sort", "uses"),
    ("usage",),
    ("show", "shelf-"),
    ("show", "shelf-own"),
    ("status", "--probe"),
    ("export", "-"),
    ("decay",),
    ("undo",),
    ("undo",),
    ("search", "garden"),
    ("get", "MEMORY.md"),
    ("sync",),
    ("audit",),
    ("conflicts",),
    ("extract",),
    ("consolidate", "summaries"),
    ("erase", "--expired", "--yes"),
    ("erase", "--topic", "umbrellabird", "--dry-run"),
    ("remember", "A jar is in the pantry."),
    ("relate", "Jar", "is_in", "Pantry"),
    ("recipes",),
)
# A foreign id, after the command or in place of ID, is not found.
BY_ID: tuple[tuple[str, ...], ...] = (
    ("forget",),
    ("show",),
    ("reinforce",),
    ("edit", "ID", "--text", "A jug."),
    ("erase", "ID", "--yes"),
    ("supersede", "ID", "A jug."),
    ("contradict", "note-own", "ID"),
    ("link", "note-own", "ID"),
    ("unlink", "note-own", "ID"),
    ("why", QUERY, "ID"),
    ("why-not", QUERY, "ID"),
)
WHOLE_FILE = ("doctor", "reembed", "index")  # refuse a collection
# What no bound of the command line concerns, and what else tests it.
ELSEWHERE = {
    "backup": "copies the whole file: tests/upkeep/test_backup.py",
    "restore": "replaces the whole file: tests/upkeep/test_backup.py",
    "migrate": "copies the whole memory: tests/upkeep/test_copying.py",
    "import": "Mind.import_from, above",
    "watch": "a sync that goes on: tests/ingest/test_watching.py",
    "eval": "recalls: tests/test_evaluation.py",
    "tune": "recalls: tests/test_tuning.py",
    "hook": "context and remember_turns: tests/serve/test_mcp.py",
    "mcp": "tools: tests/serve/test_mcp.py",
    "serve": "operations: tests/serve/test_http_access.py",
    "ui": "operations: tests/serve/test_http_access.py",
    "token": "reads no memory",
    "config": "reads no memory",
    "trust": "reads no memory",
}


@pytest.mark.parametrize("form", [(), ("--json",)], ids=["text", "json"])
def test_commands_in_a_collection_show_nothing_of_others(
    recollect: Command, shared: World, form: tuple[str, ...], tmp_path: Path
) -> None:
    (tmp_path / "notes").mkdir()
    (tmp_path / "notes" / "MEMORY.md").write_text("The quokka is in the garden.", "utf-8")
    assert recollect("--collection", "zanzibar", "sync", "notes").code == 0
    before = shared.foreign()
    for words in COMMANDS:
        outcome = recollect("--collection", "own", *words, *form)
        assert outcome.code in (0, 1, 3, 4), (words, outcome)
        assert reveals(outcome.out + outcome.err) == [], words
    for verb in BY_ID:
        words = (*verb, FOREIGN) if len(verb) == 1 else tuple(FOREIGN if each == "ID" else each for each in verb)
        outcome = recollect("--collection", "own", *words, *form)
        assert outcome.code == 3, outcome
        assert reveals((outcome.out + outcome.err).replace(FOREIGN, "")) == []
    assert shared.foreign() == before


def test_every_command_is_tried() -> None:
    group: Any = typer.main.get_command(app)
    tried = {words[0] for words in (*COMMANDS, *BY_ID)}
    assert {*group.commands} == tried | {*WHOLE_FILE} | {*ELSEWHERE}, "a new command has an entry in one of the tables"


@pytest.mark.parametrize("command", WHOLE_FILE)
def test_commands_on_the_whole_file_refuse_a_collection(recollect: Command, shared: World, command: str) -> None:
    outcome = recollect("--collection", "own", command, "--embedder", "local")
    assert (outcome.code, reveals(outcome.out + outcome.err)) == (2, [])
    assert "leave out --collection" in outcome.err
