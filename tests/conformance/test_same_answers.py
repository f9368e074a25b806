"""The same random operations on two stores: all answers afterwards are equal, bit for bit."""

from __future__ import annotations

import math
import random
from collections.abc import Callable
from dataclasses import asdict, replace
from datetime import timedelta
from typing import Any

import numpy as np
import pytest

from recollect.errors import RecollectError
from recollect.model import STATUSES, Edge, EntityEdge, Filter, Memory, Near, Use
from recollect.model.filter import FilterExpression
from recollect.store.base import Bound, EncodedText, Scope, Snapshot, Store, Term, Transaction, UseRecord, WriteResult
from recollect.store.erasing import Erasure
from recollect.store.reference import ReferenceStore
from recollect.text.query_language import parse_query
from recollect.text.signatures import text_signature
from tests.conformance.conftest import StoreFactory
from tests.conformance.kit import (
    NOON,
    SPACE,
    best,
    bm25_query,
    bm25_scores,
    cosines,
    everything,
    ids_in,
    rows,
)
from tests.conftest import Clock

SEEDS = range(12)
STEPS = 60
LOOK_EVERY = 20  # steps

IDS = [f"m{number}" for number in range(12)]
WORDS = "cup cups cupboard blue blues café cafe robot maxRetries 架子上 dock docks a the q7".split()
NAMES = ["", "a", "b"]
BOUNDS = [Bound(), Bound(collection="a"), Bound(user="b"), Bound(collection="a", user=""), Bound(session="a")]
FIELDS = [{"text": 1.0}, {"text": 1.0, "title": 2.0, "tags": 0.5}, {"title": 3.0, "path": 1.0, "keywords": 0.25}]
QUERIES = ['"blue cup" OR dock*', "cup AND blue", "cups NOT robot", "(café OR q7) NOT cup", "retries OR 架子"]
MOMENTS = [None, None, None, *(NOON + timedelta(days=days) for days in (-5, 0, 1, 5))]

Step = Callable[[Transaction], Any]


class Choices:
    """Everything that is random about a sequence. It is made before it is applied, so that both stores get the same."""

    def __init__(self, seed: int) -> None:
        self.random = random.Random(seed)

    def pick(self, values: Any) -> Any:
        return self.random.choice(values)

    def text(self, most: int = 6) -> str:
        return " ".join(self.pick(WORDS) for _ in range(self.random.randint(1, most)))

    def chance(self, share: float) -> bool:
        return self.random.random() < share

    def fields(self) -> dict[str, Any]:
        """Some fields of a memory."""
        every: dict[str, Callable[[], Any]] = {
            "title": lambda: self.text(2),
            "summary": lambda: self.text(3),
            "tags": lambda: tuple(self.pick(WORDS) for _ in range(self.random.randint(0, 2))),
            "keywords": lambda: (self.text(2),),
            "files": lambda: ("a/blue cup.md",),
            "path": lambda: self.pick(["", "a", "a/b.md", "b"]),
            "context": lambda: self.pick([{}, {"x": 1}, {"x": "1"}, {"x": [1.0, 2.0]}, {"y": {"z": True}}]),
            "session": lambda: self.pick(NAMES),
            "agent": lambda: self.pick(NAMES),
            "topic": lambda: self.pick(NAMES),
            "position": lambda: self.pick([None, 0, 1, 2]),
            "classification": lambda: self.pick([0, 1, 2]),
            "confidence": lambda: self.pick([None, 0.0, 0.5, 1.0]),
            "strength": lambda: self.pick([0.25, 0.5, 1.0]),
            "status": lambda: self.pick(["active", "active", *STATUSES]),
            "created": lambda: NOON - timedelta(days=self.random.randint(0, 3)),
            "valid_from": lambda: self.pick(MOMENTS),
            "valid_to": lambda: self.pick(MOMENTS),
            "expires": lambda: self.pick(MOMENTS),
        }
        return {name: make() for name, make in every.items() if self.chance(0.25)}

    def memory(self, id: str, external_id: str) -> Memory:
        """A memory in the collection of its id, mostly of the same user."""
        number = IDS.index(id)
        collection = "main" if number % 2 else "a"
        user = self.pick(NAMES) if self.chance(0.2) else NAMES[number % 3]
        return Memory(self.text(), id=id, external_id=external_id, collection=collection, user=user, **self.fields())

    def step(self) -> Step:
        """One thing to do inside a transaction."""
        a, b = self.pick(IDS), self.pick(IDS)
        kind, weight, name = self.pick(["supports", "mentions"]), self.random.random(), self.pick(NAMES)
        match self.random.randrange(11):
            case 0 | 1 | 2:
                memory = self.memory(a, self.pick(["", "", "", "x", "y"]))
                return lambda t: t.remember(memory)
            case 3 | 4:
                changes = self.fields() | ({"text": self.text()} if self.chance(0.5) else {})
                return lambda t: t.revise(a, lambda stored: replace(stored, **changes))
            case 5:
                return lambda t: t.revise(a, lambda stored: replace(stored, status="forgotten"))
            case 6:  # as a memory that supersedes another
                end = NOON + timedelta(days=self.random.randint(-1, 1))
                new = self.memory(b, "")

                def supersede(transaction: Transaction) -> WriteResult:
                    transaction.revise(a, lambda stored: replace(stored, status="superseded", valid_to=end))
                    written = transaction.remember(new)
                    transaction.link(Edge(b, a, "supersedes"))
                    return written

                return supersede
            case 7:
                return lambda t: t.link(Edge(a, b, kind, weight)) if a != b else None
            case 8:
                return lambda t: t.unlink(a, b, kind)
            case 9:
                edge = EntityEdge(a, kind, b, weight, user=name, classification=1)
                return lambda t: t.relate(edge)
            case _:
                use = Use(NOON, self.random.randint(0, 9))
                return lambda t: t.set_use(t.row(a), use)

    def vector(self) -> EncodedText:
        vector = np.array([self.random.gauss(0, 1) for _ in range(SPACE.dim)], dtype=np.float32)
        return (vector / np.linalg.norm(vector)).astype(np.float32), self.random.randbytes(self.random.randint(0, 3))

    def filter(self, depth: int = 2) -> FilterExpression:
        if depth and self.chance(0.5):
            one, other = self.filter(depth - 1), self.filter(depth - 1)
            joined: list[FilterExpression] = [~one, one & other, one | other]
            return self.random.choice(joined)
        every: dict[str, Callable[[], Any]] = {
            "collection": lambda: self.pick(["main", "a", ["main", "a"]]),
            "user": lambda: self.pick(NAMES),
            "session": lambda: self.pick(NAMES),
            "topic": lambda: self.pick([*NAMES, ["", "a"]]),
            "status": lambda: self.pick(["active", "superseded", ["active", "contradicted"], "forgotten"]),
            "tags": lambda: self.pick([*WORDS[:4], []]),
            "path": lambda: self.pick(["a", "a/", "b"]),
            "classification": lambda: self.pick([0, 1]),
            "min_confidence": lambda: self.pick([0.0, 0.25, 0.5]),
            "confidence_decay": lambda: self.pick([0.5, 0.9]),
            "since": lambda: NOON - timedelta(days=self.random.randint(0, 3)),
            "until": lambda: NOON - timedelta(days=self.random.randint(0, 3)),
            "context": lambda: self.pick([{"x": 1}, {"x": {"$lt": 2}}, {"x": {"$ne": 1}}, {"y.z": True}]),
            "near": lambda: Near("x", [1.0, 2.5], self.pick([0.25, 1.0])),
        }
        chosen = self.random.sample(list(every), self.pick([1, 1, 2]))
        return Filter(**{name: every[name]() for name in chosen})

    def terms(self) -> list[Term]:
        matches = ["stem", "stem", "exact", "prefix", "phrase"]
        found = []
        for _ in range(self.random.randint(1, 3)):
            match = self.pick(matches)
            found.append(Term(self.text(2) if match == "phrase" else self.pick(WORDS).lower(), match=match))
        return found


def outcome(call: Callable[[], Any]) -> Any:
    """What a call returns, without rows, or the kind of its error."""
    try:
        return plain(call())
    except RecollectError as problem:
        return type(problem).__name__


def plain(value: Any) -> Any:
    """A value that can be compared: NaN is equal to itself, and rows are left out."""
    match value:
        case np.ndarray():
            return plain(value.tolist())
        case float():
            return "NaN" if math.isnan(value) else value
        case list() | tuple():
            return [plain(each) for each in value]
        case dict():
            return {key: plain(each) for key, each in value.items()}
        case _ if hasattr(value, "action"):
            return [value.id, value.action, value.at]
        case _ if hasattr(value, "removed"):
            return {**asdict(value), "ids": sorted(value.ids)}
        case _:
            return value


class Sequence:
    """A random sequence of operations, applied to a store step by step."""

    def __init__(self, seed: int, store: Store, clock: Clock) -> None:
        self.choices = Choices(seed)
        self.store = store
        self.clock = clock
        self.now = clock.now
        self.operation: int | None = None
        with store.transaction("import") as transaction:
            for id in IDS:
                transaction.remember(self.choices.memory(id, ""))

    def next(self) -> Any:
        choices = self.choices
        store = self.store.within(Bound() if choices.chance(0.7) else choices.pick(BOUNDS))
        rate, ids = choices.random.random(), choices.random.sample(IDS, 3)
        counters = choices.pick([("access",), ("return", "recall"), ("access", "recall")])
        hours = choices.random.randint(0, 30)
        steps = [choices.step() for _ in range(choices.pick([1, 1, 2, 3]))]
        kind = choices.pick(
            ["write"] * 6
            + ["continue"] * 2
            + ["embed"] * 5
            + ["sync", "decay", "undo", "delete", "erase", "use", "use"]
        )
        encoded = choices.vector()
        self.now = self.clock.now = self.now + timedelta(hours=hours)

        def write(verb: str, *steps: Step, operation: int | None = None) -> list[Any]:
            with store.transaction(verb, operation=operation) as transaction:
                number = transaction.operation if verb == "import" else None
                answers = [step(transaction) for step in steps]
            self.operation = number or self.operation
            return answers

        match kind:
            case "write":
                return outcome(lambda: write("edit", *steps))
            case "continue":
                return outcome(lambda: write("import", *steps, operation=self.operation))
            case "sync":
                return outcome(lambda: write("sync", *steps))
            case "decay":
                return outcome(lambda: write("decay", lambda t: t.decay(rate)))
            case "undo":
                self.operation = None
                texts = outcome(store.undo_texts)
                undone = outcome(lambda: write("undo", lambda t: t.undo()))
                return [undone, None if undone == "StoreError" else texts]  # what is refused needs no texts
            case "embed":
                return outcome(lambda: write("embed", lambda t: t.embed([t.row(ids[0])], [encoded], SPACE)))
            case "delete":
                return outcome(lambda: write("delete", lambda t: t.delete([t.row(ids[0])])))
            case "erase":
                self.operation = None
                chosen = ids[:1] if rate < 0.5 or not store.bound.values else None  # None: everything of a bound
                return outcome(lambda: [{**each.removed, "words": 0} for each in erase(store, chosen)])
            case _:
                with store.snapshot() as snapshot:
                    used = [row for id in ids if (row := snapshot.row(id)) is not None]
                return outcome(lambda: store.record_use(UseRecord(used, self.clock.now, counters)))


def erase(store: Store, ids: list[str] | None) -> list[Erasure]:
    """The dry run and what was erased."""
    plan = store.erase(ids, dry_run=True)
    return [plan, store.erase(ids, code=plan.code)]


def look(store: Store, seed: int) -> dict[str, Any]:
    """Everything that can be read, with ids for rows."""
    found: dict[str, Any] = {}
    choices = Choices(seed)
    for bound in BOUNDS:
        within = store.within(bound)
        status = within.status()
        found[f"{bound} status"] = plain(
            [
                dict(sorted(status.memories.items())),
                dict(sorted(status.collections.items())),
                *(status.edges, status.entity_edges, status.spaces, status.without_vector),
            ]
        )
        memories = sorted(within.get(IDS, missing_ok=True), key=lambda memory: memory.id)
        found[f"{bound} memories"] = [(memory, memory.use) for memory in memories]
        found[f"{bound} edges"] = sorted(within.edges(), key=lambda edge: (edge.source, edge.kind, edge.target))
        found[f"{bound} relations"] = within.entity_edges()
        found[f"{bound} history"] = {id: within.history(id) for id in IDS}
        found[f"{bound} unembedded"] = [sorted(within.unembedded(SPACE, tokens=tokens)) for tokens in (False, True)]
        with within.snapshot() as snapshot:
            found[f"{bound} values"] = plain(values(snapshot))
            for _ in range(6):
                filter, now = choices.filter(), NOON + timedelta(days=choices.random.randint(-2, 9))
                as_of, hidden = choices.chance(0.3), choices.chance(0.2)
                statuses = choices.pick([("active",), STATUSES, ("active", "superseded")])
                scope = snapshot.scope(filter, statuses, now, as_of, hidden)
                found[f"{bound} {filter} {statuses} {now} {as_of} {hidden}"] = plain(read(snapshot, scope, choices))
    return found


def values(snapshot: Snapshot) -> list[Any]:
    """What is known of each memory."""
    ids = sorted(ids_in(snapshot, everything(snapshot)))
    chosen = rows(snapshot, *ids)
    before = snapshot.neighbours(chosen, 2)
    edges = snapshot.edges(chosen)
    ends = zip(snapshot.ids(edges.sources), edges.kinds, snapshot.ids(edges.targets), edges.weights, strict=True)
    sketches = snapshot.token_sketches(chosen)
    numbers = ("created", "updated", "valid_to", "confidence", "strength", "position", "classification", "expires")
    return [
        ids,
        *(snapshot.numbers(name, chosen) for name in numbers),
        *(snapshot.strings(name, chosen) for name in ("collection", "user", "session", "status", "topic")),
        *(np.nan_to_num(snapshot.use_numbers(name, chosen)) for name in ("access_count", "last_recalled")),
        snapshot.uses_by_day(chosen),
        *(snapshot.contexts(chosen), snapshot.uses(chosen), snapshot.paths(chosen), snapshot.texts(chosen)),
        *(snapshot.vectors(chosen), sketches.bits, sketches.counts, sketches.dim, snapshot.signatures(64, chosen)),
        [snapshot.ids(each) for each in before],
        sorted(ends),
        snapshot.relations(["M1", "m2", "m3"]),
        snapshot.next_validity_change(NOON),
    ]


def read(snapshot: Snapshot, scope: Scope, choices: Choices) -> list[Any]:
    """What a recall may ask about a scope."""
    every = rows(snapshot, *sorted(ids_in(snapshot, everything(snapshot))))
    fields, terms, n = choices.pick(FIELDS), choices.terms(), choices.pick([1, 2, 3, 20])
    tree = parse_query(choices.pick(QUERIES))
    assert tree is not None
    vector, _ = choices.vector()
    word = choices.pick(["cup", "cub", "bleu", "dok", "q", "robots"])
    options = {"require_all": choices.chance(0.3), "where": tree if choices.chance(0.4) else None}
    query = bm25_query(snapshot, terms, scope, fields, **options)
    proposed = snapshot.lexical_candidates(query, scope, n)
    near = snapshot.nearest(vector, scope, n)
    statistics = snapshot.term_statistics(terms, fields, scope)
    mine = text_signature(["blue", "cup"], 64)
    return [
        scope.count,
        scope.contains(every),
        [exclusion and asdict(exclusion) for exclusion in (scope.exclusion(row) for row in every.tolist())],
        [snapshot.ids(snapshot.page(scope, order, 5, 1)) for order in ("newest", "oldest")],
        asdict(statistics),
        snapshot.term_frequencies(terms, fields, every),
        snapshot.field_lengths(fields, every),
        snapshot.matches(tree, fields, every),
        snapshot.excluding(tree, fields, scope).contains(every),
        proposed.total,
        best(snapshot, proposed.rows, bm25_scores(snapshot, query, proposed.rows), n),
        near.total,
        best(snapshot, near.rows, cosines(snapshot, vector, near.rows), n) if near.total else [],
        snapshot.similar_words(word, scope, 0.3, 5),
        sorted(snapshot.ids(snapshot.signature_candidates(mine, scope, 0.5))),
        sorted(snapshot.ids(snapshot.slug_candidates(["blue", "m1"], scope, 0.3))),
    ]


@pytest.mark.parametrize("seed", SEEDS)
def test_a_store_answers_like_the_reference(store_factory: StoreFactory, clock: Clock, seed: int) -> None:
    stores = [ReferenceStore(clock), store_factory()]
    sequences = [Sequence(seed, store, clock) for store in stores]
    for step in range(STEPS):
        expected, found = [sequence.next() for sequence in sequences]
        assert found == expected, f"step {step}"
        if step % LOOK_EVERY == LOOK_EVERY - 1:
            answers, others = [look(store, seed * STEPS + step) for store in stores]
            for question, answer in answers.items():
                assert others[question] == answer, f"step {step}: {question}"
