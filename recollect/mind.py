"""Mind: the verbs of a memory, in Python."""

from __future__ import annotations

import logging
from collections.abc import Callable, Iterable, Iterator, Mapping, Sequence
from dataclasses import dataclass, replace
from datetime import UTC, datetime, tzinfo
from os import PathLike, fspath
from pathlib import Path
from typing import TYPE_CHECKING, Any, Unpack

from recollect.errors import EmbeddingError, InvalidInput, NotFound, RecollectError, StoreError
from recollect.model import (
    STATUSES,
    Changes,
    Clock,
    Details,
    Edge,
    EntityEdge,
    FilterExpression,
    JsonObject,
    Memory,
    When,
    as_filter,
    check,
    check_limit,
    entity_edge_from_json,
    make_edge,
    make_memory,
)
from recollect.model.memory import check_fields, with_id_and_times
from recollect.model.zones import local_moment, machine_zone, to_zone
from recollect.protocols import ClosedOnExit
from recollect.store.retrying import retried, retry

# Stores, models and recipes load numpy, SQLite and the like. They are imported by the methods that use them, so that
# a program that imports Mind starts quickly (tests/test_imports.py).
if TYPE_CHECKING:
    from recollect.chat import ChatModel
    from recollect.embed import Embedder
    from recollect.ingest.imports.importer import ImportProgress, ImportSummary
    from recollect.ingest.secrets import SecretsPolicy
    from recollect.ingest.turns import ExtractFacts, Messages, RememberedTurns
    from recollect.ingest.writer import Progress, WriteSummary
    from recollect.recall.comparison import Comparison
    from recollect.recall.context import Context
    from recollect.recall.expressions import Explanation
    from recollect.recall.history import History
    from recollect.recall.pipeline import Request
    from recollect.recall.query_cache import QueryCache, RecallCache
    from recollect.recall.recipe import Recipe
    from recollect.recall.results import Recall, Verdict
    from recollect.store.base import Bound, Store, StoreStatus, Transaction, UndoResult, WriteResult
    from recollect.store.erasing import Erasure, Receipt
    from recollect.store.sqlite.embedding_cache import SqliteEmbeddingCache
    from recollect.store.sqlite.store import VectorSearch
    from recollect.tools import Tools
    from recollect.upkeep.audit import AuditFinding
    from recollect.upkeep.backup import BackupResult
    from recollect.upkeep.conflicts import Conflict
    from recollect.upkeep.consolidate import Period, Summarise
    from recollect.upkeep.erasing import Verification
    from recollect.upkeep.export import ExportResult
    from recollect.upkeep.extraction import ExtractFields, ExtractSummary
    from recollect.upkeep.probes import Probes
    from recollect.upkeep.usage import SortOrder, Usage, UsagePeriodName

log = logging.getLogger("recollect")
AnyFilterOrMapping = FilterExpression | Mapping[str, Any]
RELATION_FIELDS = ("collection", "user", "classification", "source", "created")  # of relate, beside its arguments
MIN_PREFIX = 6  # characters of an id
CANDIDATES = 100  # results that a budget of tokens is spent on


@dataclass(frozen=True, slots=True)
class Status:
    """The status of the store, and the model that this mind embeds with."""

    store: StoreStatus
    embedder: str | None
    dim: int | None  # also None while a remote embedder has not reported it yet
    chosen: str = ""  # why this embedder was chosen
    note: str = ""  # about the languages of the memories, where the embedder was not trained on them


class Mind(ClosedOnExit):
    """A memory in one file. Use it from many threads; close it, or use it as a context manager.

    >>> with Mind("memory.db") as mind:
    ...     mind.remember("The blue cup is on the top shelf.", tags=["kitchen"])
    ...     for result in mind.recall("where is the cup?"):
    ...         print(result.score, result.text, result.why)

    ``collection``, ``user``, ``agent`` and ``session`` are bounds: the mind writes with these values, and nothing
    beyond them can be read, changed, counted or undone through it.
    """

    def __init__(
        self,
        path: str | PathLike[str] = "memory.db",
        *,
        store: Store | None = None,
        embedder: Embedder | str | None = "local",
        collection: str | None = None,
        user: str | None = None,
        agent: str | None = None,
        session: str | None = None,
        clock: Clock | None = None,
        tz: str | tzinfo | None = None,
        durability: str = "full",
        readonly: bool = False,
        embedding_cache: SqliteEmbeddingCache | str | PathLike[str] | bool | None = None,
        query_cache: QueryCache | None = None,
        recipe_settings: Mapping[str, Mapping[str, Any]] | None = None,
        secrets: SecretsPolicy = "store",
        vector_search: VectorSearch = "auto",
    ) -> None:
        """``store`` is an open store to use instead of a file; the mind does not close it.

        ``tz`` is the time zone in which days begin, such as "America/New_York": the days that a memory tells of
        (“yesterday”) and, unless a call names another zone, those of a query. Dates and times that name no zone
        are in it, too. By default it is that of this machine.

        ``recipe_settings`` are settings of recipes for all calls, as ``{"abmind": {"notes": "diary"}}``; those of a
        call win.

        ``secrets`` says what happens to keys and passwords in what is remembered, edited, imported or synced: "refuse"
        them, or "redact" them; by default they are stored.

        ``embedding_cache`` is a file that caches vectors, so that no text is embedded twice: True for one beside the
        memory, False for none. By default, remote embedders have one and local ones do not.

        ``vector_search`` in a file is "exact", "approximate" (faster, and may miss one of the nearest), or "auto":
        approximate where more than 20,000 vectors are in scope. The trace of a recall names what was used.
        """
        from recollect.embed import choose_embedder, known_dim
        from recollect.ingest.secrets import POLICIES
        from recollect.ingest.writer import Writer
        from recollect.store.base import Bound, Space, check_space

        self.zone = _zone(tz)  # in which days begin, and of dates that name none
        self.clock: Clock = _checked_clock(clock, self.zone)
        check.choice(secrets, "secrets", POLICIES)
        self.choice = choose_embedder(embedder)
        self._temporary_folder: str | None = None
        self._embedding_cache: SqliteEmbeddingCache | None = None
        self._recall_cache = _recall_cache(query_cache)
        self._recipe_settings = _checked_recipe_settings(recipe_settings)
        bound = Bound(
            *(
                None if value is None else check.string(value, name)
                for name, value in (("collection", collection), ("user", user), ("agent", agent), ("session", session))
            )
        )
        self._owned_store: Store | None = None
        if store is None:
            store = self._owned_store = self._open_store(path, readonly, durability, vector_search)
        self._store: Store = store.within(bound)
        self.path = store.path
        try:
            space = self._store.space
            self.choice = self.choice.for_vectors_of(space.name if space else None)
            self.embedder = self._cached(self.choice.embedder, embedding_cache)
            if self.embedder is not None:  # a remote embedder is not asked for its dimensions just to open a file
                check_space(space, Space(self.embedder.name, known_dim(self.embedder) or 0), self.path)
            self._writer = Writer(self._store, self.embedder, secrets)
        except RecollectError:
            self.close()
            raise

    def _open_store(
        self, path: str | PathLike[str], readonly: bool, durability: str, vector_search: VectorSearch
    ) -> Store:
        if not isinstance(path, (str, PathLike)):
            raise InvalidInput(f"path must be the name of a file, not {check.short_repr(path)}.")
        if fspath(path) == ":memory:":  # a temporary file, for as long as the mind is open
            import tempfile

            self._temporary_folder = tempfile.mkdtemp(prefix="recollect-")
            path = Path(self._temporary_folder) / "memory.db"
        if "://" in fspath(path):  # a server, wherever the path of a file can be given
            from recollect.store.registry import open_store

            if vector_search != "auto":
                raise InvalidInput("vector_search is for files. For a server, add approximate=N to its URL.")
            return open_store(str(fspath(path)), self.clock, readonly)
        from recollect.store.sqlite import SqliteStore

        return SqliteStore(fspath(path), self.clock, readonly, durability, vector_search=vector_search)

    @property
    def store(self) -> Store:
        """The store, limited to this mind's bound."""
        return self._store

    @property
    def secrets_policy(self) -> SecretsPolicy:
        return self._writer.secrets

    @property
    def bound(self) -> Bound:
        return self._store.bound

    @property
    def collection(self) -> str | None:
        return self.bound.collection

    # Writing.

    def remember(self, text: str | Memory, **details: Unpack[Details]) -> Memory:
        """Store a memory and return it. The same external id again updates it; equal content changes nothing."""
        memory = self._memory(text, details)
        (written,) = self._writer.write("remember", [memory])
        if written.action != "added":
            return retry(lambda: self._store.get([written.id]))[0]
        return with_id_and_times(memory, written.id, written.at)

    def remember_many(
        self, items: Iterable[str | Memory | Mapping[str, Any]], *, progress: Progress | None = None
    ) -> WriteSummary:
        """Store many memories: up to 10,000 all or none, more in batches that are one operation for undo."""
        if isinstance(items, (str, Mapping)) or not isinstance(items, Iterable):
            raise InvalidInput(
                f"remember_many takes a list of memories, not {check.short_repr(items)}; use remember for one."
            )
        from recollect.ingest.writer import ATOMIC_LIMIT, CheckedItems, summarize

        given = items if isinstance(items, Sequence) else list(items)
        memories: Sequence[Memory]
        if len(given) > ATOMIC_LIMIT:
            memories = CheckedItems(given, self._numbered)
        else:
            memories = [self._numbered(number, item) for number, item in enumerate(given, 1)]
        return summarize(self._writer.write("remember", memories, progress))

    def remember_turns(
        self, messages: Messages, *, extract: ExtractFacts | None = None, **details: Unpack[Details]
    ) -> RememberedTurns:
        """Store the messages of a conversation as turns of one session, and the facts that ``extract`` finds in them.

        ``extract`` gets the messages and returns texts, or objects with ``text`` and the numbers of its ``turns``;
        ``recollect.ingest.turns.FactExtractor`` makes one from any chat model. The turns are stored first: when
        ``extract`` fails, they stay, and the result has the ``error``. A fact is linked to its turns and trusted as the
        least trusted of them.
        """
        from recollect.ingest.turns import TurnWriter

        return TurnWriter(self._writer, self._memory, self._last_position).write(messages, extract, details)

    @retried
    def _last_position(self, memory: Memory) -> tuple[int, str]:
        """The highest position in the session of a memory, of those with its owner, and the version of the answer."""
        owner = {name: getattr(memory, name) for name in ("collection", "user", "agent", "session")}
        with self.store.snapshot() as snapshot:
            scope = snapshot.scope(as_filter(owner), STATUSES, self.clock(), hidden=True)
            positions = snapshot.numbers("position", snapshot.page(scope, "oldest", scope.count))
        return int(max((each for each in positions.tolist() if each == each), default=0)), snapshot.version  # not NaN

    def edit(
        self, id: str, /, *, text: str | None = None, expected: Memory | None = None, **changes: Unpack[Changes]
    ) -> Memory:
        """Change a memory in place. The earlier version stays in its history and is no longer found.

        A forgotten memory cannot be changed, except by a ``status`` that restores it. With ``expected``, nothing is
        changed and EditConflict is raised unless the memory still equals that one.
        """
        (full_id,) = self._store.resolve([id])
        fields: dict[str, Any] = {**changes} if text is None else {"text": text, **changes}
        fields = check_fields(fields, self.zone)
        self._writer.edit(full_id, fields, expected)
        return self.show(full_id)

    def forget(self, *ids: str, reason: str = "") -> int:
        """Mark memories as forgotten: no recall returns them. ``undo`` restores them.

        Returns how many this call forgot: those that were forgotten before do not count and stay as they are.
        """
        full_id = self._store.resolve(ids)
        with self._store.transaction("forget", check.string(reason, "reason")) as transaction:
            written = [transaction.revise(id, lambda memory: replace(memory, status="forgotten")) for id in full_id]
        return sum(each.action == "changed" for each in written)

    def erase(
        self,
        *ids: str,
        filter: AnyFilterOrMapping | None = None,
        user: str | None = None,
        session: str | None = None,
        agent: str | None = None,
        collection: str | None = None,
        dry_run: bool = False,
        code: str | None = None,
    ) -> Erasure:
        """Remove memories for good, with everything that is derived from them (B6); ``undo`` does not restore them.

        Give ids, a filter (forgotten and expired memories are included), or the user, session, agent or collection
        whose memories are to go, with their relations. ``dry_run`` changes nothing and returns the counts and a
        ``code`` that confirms exactly this set. The result has a receipt, what remains and what is ``pending``.
        """
        from recollect.store.base import Bound
        from recollect.upkeep.erasing import choose

        named = {"collection": collection, "user": user, "agent": agent, "session": session}
        bound = Bound(**{name: check.string(value, name) for name, value in named.items() if value is not None})
        now, conditions = self._now_and_filter(filter)
        store, chosen = choose(self._store, ids, conditions, bound, now)
        return self._erase(store, chosen, dry_run, code)

    def erase_expired(self, *, dry_run: bool = False, code: str | None = None) -> Erasure:
        """Erase the memories that are past their ``expires``."""
        from recollect.upkeep.erasing import select_ids

        return self._erase(self._store, select_ids(self._store, None, self.clock(), expired=True), dry_run, code)

    def finish_erasures(self) -> tuple[str, ...]:
        """Overwrite what erasures left in freed pages and logs; what is still pending, and why."""
        from recollect.upkeep import erasing

        with erasing.open_caches(self._store, self.embedder) as caches:
            return (*self._store.finish_erasures(), *(reason for cache in caches for reason in cache.clean()))

    def receipts(self) -> Sequence[Receipt]:
        """The receipts of all erasures, oldest first."""
        return self._store.receipts()

    def verify_erasure(self, receipt: Receipt | Mapping[str, Any]) -> Verification:
        """Check that nothing with the ids of a receipt is stored, and that no byte of it is left in the files."""
        from recollect.upkeep import erasing

        with erasing.open_caches(self._store, self.embedder) as caches:
            return erasing.verify(self._store, erasing.as_receipt(receipt), self.clock(), caches)

    def link(self, source: str, target: str, kind: str = "supports", weight: float = 1.0) -> Edge:
        """Add an edge between two memories, or set the weight of an existing one."""
        source, target = self._store.resolve([source, target])
        edge = make_edge(source, target, kind, weight)
        with self._store.transaction("link") as transaction:
            transaction.link(edge)
        return self._stored(edge)

    def unlink(self, source: str, target: str, kind: str | None = None) -> int:
        """Remove the edges of a kind (or all) from one memory to another; how many there were."""
        source, target = self._store.resolve([source, target])
        with self._store.transaction("unlink") as transaction:
            return transaction.unlink(source, target, kind)

    def relate(self, /, subject: str, relation: str, object: str, weight: float = 1.0, **owner: Any) -> EntityEdge:
        """Add a relation between two entity names: ``relate("alice", "works_with", "bob")``."""
        unknown = [name for name in owner if name not in RELATION_FIELDS]
        if unknown:
            raise InvalidInput(f"relate has no argument {unknown[0]!r}; it has: {', '.join(RELATION_FIELDS)}.")
        if owner.get("created") is not None:
            owner["created"] = check.moment(owner["created"], "created", self.zone)
        owner = {"collection": "main", **self._relation_bound(), **owner}
        edge = entity_edge_from_json(
            {"subject": subject, "relation": relation, "object": object, "weight": weight, **owner}
        )
        with self._store.transaction("relate") as transaction:
            transaction.relate(edge)
        return edge

    def supersede(self, old: str, new: str | Memory, /, **details: Unpack[Details]) -> Memory:
        """Replace a memory by a newer one, from its ``valid_from`` or now on; both are kept.

        ``new`` is a text, a Memory, or the full id of a memory that is already stored. A text inherits the collection,
        user, topic and the like of the old memory, unless the details differ.
        """
        from recollect.ingest.writer import inherited_fields

        replaced = self.show(old)
        if isinstance(new, str) and self._store.get([new], missing_ok=True):
            if details:
                raise InvalidInput(f"{new} is a stored memory: change its {', '.join(details)} with edit.")
            self._writer.supersede_by_stored(replaced.id, new, self.clock())
            return self.show(new)
        if isinstance(new, str) and (stored := self._with_prefix(new)):
            raise InvalidInput(f"new is a text, or a full id: {new!r} begins the id {stored!r}; give all of it.")
        memory = self._memory(new, {**inherited_fields(replaced), **details} if isinstance(new, str) else details)
        return self.show(self._writer.supersede(replaced.id, memory, self.clock()))

    def contradict(self, a: str, b: str, weight: float = 1.0, *, loser: str | None = None) -> Edge:
        """Record that two memories contradict each other; the ``loser``, if known, is marked as contradicted."""
        a, b = self._store.resolve([a, b])
        wrong = None if loser is None else self._store.resolve([loser])[0]
        if wrong not in (None, a, b):
            raise InvalidInput(f"The loser must be one of the two, {a} or {b}, not {wrong}.")
        edge = make_edge(a, b, "contradicts", weight)
        self._writer.contradict(edge, wrong)
        return self._stored(edge)

    def reinforce(self, id: str, amount: float = 0.1) -> Memory:
        """Increase the strength of a memory, up to 1."""
        from recollect.ingest.writer import reinforced

        (full_id,) = self._store.resolve([id])
        more = check.fraction(amount, "amount")
        with self._store.transaction("reinforce") as transaction:
            transaction.revise(full_id, lambda memory: reinforced(memory, more))
        return self.show(full_id)

    def decay(self, rate: float = 0.01) -> int:
        """Decay all strengths: × exp(−rate × days since the last decay, or creation); how many changed.

        The first decay of a memory counts from its ``created``, even if it was imported or reinforced just now.
        """
        with self._store.transaction("decay") as transaction:
            return transaction.decay(check.number(rate, "rate", low=0.0))

    def undo(self, *, past_erasure: bool = False, dry_run: bool = False) -> UndoResult | None:
        """Undo the last operation of this mind's bound; None when there is nothing left to undo.

        ``memories`` of the result names the first that were removed or restored. ``dry_run=True`` returns the same and
        changes nothing. After an erasure, which cannot be undone, it raises InvalidInput instead of undoing the
        operation before it; ``past_erasure=True`` undoes that one.
        """
        return self._writer.undo(past_erasure=past_erasure, dry_run=dry_run)

    # Recalling.

    def recall(
        self,
        /,
        query: str,
        k: int | None = None,
        *,
        recipe: str | Recipe = "default",
        filter: AnyFilterOrMapping | None = None,
        as_of: When | None = None,
        history: History = (),
        now: When | None = None,
        tz: str | tzinfo | None = None,
        track: bool = True,
        abstain: bool | float = False,
        deadline: float | None = None,
        **settings: Any,
    ) -> Recall:
        """The memories that answer best, best first, each with its score and why.

        ``now`` is the moment of the query, if not that of the clock, and ``tz`` the time zone in which its days begin
        (“yesterday”): a name such as "Europe/Berlin", or a tzinfo.
        ``history`` is the conversation before the query, oldest first: a follow-up such as “and what did it cost?”
        takes its subject from there. ``as_of`` returns what was valid at a moment; ``track=False`` records no use;
        ``deadline`` is in seconds.
        ``abstain`` returns nothing when the recall's ``confidence`` is below the recipe's threshold, or below a number
        of your own. Further keywords are settings of the recipe, by name.
        """
        from recollect.recall import pipeline

        settings = self._with_recipe_settings(recipe, settings)
        request = self._request(
            query,
            k,
            recipe,
            settings,
            track,
            abstain,
            deadline,
            filter=filter,
            as_of=as_of,
            history=history,
            now=now,
            tz=tz,
        )
        if (cache := self._recall_cache) is not None:
            return retry(lambda: cache.recall(self._store, request, recipe, settings))
        return retry(lambda: pipeline.recall(self._store, request))

    def context(
        self,
        /,
        query: str,
        budget: int = 1000,
        *,
        recipe: str | Recipe = "default",
        filter: AnyFilterOrMapping | None = None,
        as_of: When | None = None,
        history: History = (),
        now: When | None = None,
        tz: str | tzinfo | None = None,
        track: bool = True,
        abstain: bool | float = False,
        deadline: float | None = None,
        **settings: Any,
    ) -> Context:
        """The best memories as one text for a prompt, within a budget of tokens (4 characters each).

        The budget is spent on the best results without duplicates, and what is left on their neighbours.
        """
        from recollect.recall import context
        from recollect.recall.packing import check_budget

        size = check_budget(budget, "budget")
        settings = self._with_recipe_settings(recipe, settings)
        request = self._request(
            query,
            CANDIDATES,
            recipe,
            settings,
            track,
            abstain,
            deadline,
            filter=filter,
            as_of=as_of,
            history=history,
            now=now,
            tz=tz,
        )
        return context.context(self._store, request, size)

    def compare(
        self, /, query: str, recipes: str | Recipe | Sequence[str | Recipe], k: int = 10, **options: Any
    ) -> Comparison:
        """One query by several recipes, side by side; no use is recorded."""
        from recollect.recall.comparison import Comparison
        from recollect.recall.recipe import Recipe
        from recollect.recall.registry import get_recipe

        names = [recipes] if isinstance(recipes, (str, Recipe)) else recipes
        chosen = [get_recipe(recipe, **self._with_recipe_settings(recipe, {})) for recipe in names]
        allowed = ("filter", "as_of", "history", "now", "tz", "track", "abstain", "deadline")
        unknown = [name for name in options if name not in allowed]
        if unknown:
            raise InvalidInput(f"compare has no option {unknown[0]!r}; its options are: {', '.join(allowed)}.")
        settings = {**options, "track": False}
        return Comparison(query, {recipe.name: self.recall(query, k, recipe=recipe, **settings) for recipe in chosen})

    def why(self, /, query: str, id: str, k: int | None = None, **options: Any) -> Explanation:
        """Recall again, without recording use, and explain the score of one of the results."""
        (full_id,) = self._store.resolve([id])
        return self.recall(query, k, **{**options, "track": False}).why(full_id)

    def why_not(self, /, query: str, id: str, k: int | None = None, **options: Any) -> Verdict:
        """Recall again, without recording use, and name the step that leaves a memory out, and by how much."""
        (full_id,) = self._store.resolve([id])
        return self.recall(query, k, **{**options, "track": False}).why_not(full_id)

    def tools(self, *sets: str) -> Tools:
        """Tools for a language model: name, description, JSON schema and function of each.

        ``sets`` are basic (remember, recall, update, supersede and forget; the default), robot, notes, and all.
        """
        from recollect.tools import make_tools

        return make_tools(self, sets or ("basic",))

    # Reading.

    def show(self, id: str) -> Memory:
        """One memory, by its id or the beginning of it."""
        return retry(lambda: self._store.get(self._store.resolve([id])))[0]

    @retried
    def list(
        self,
        filter: AnyFilterOrMapping | None = None,
        *,
        sort: SortOrder = "newest",
        ascending: bool = False,
        use: Mapping[str, Any] | None = None,
        limit: int | None = None,
        offset: int = 0,
    ) -> Sequence[Memory]:
        """Memories that pass a filter, newest first; forgotten ones only when the filter names that status.

        ``sort`` is newest, oldest, or how they were used, highest first: uses, access_count, return_count,
        recall_count, last_accessed, last_recalled; ``ascending`` puts the lowest first. ``use`` has conditions on
        these: ``{"uses": 0}``, ``{"access_count": {"$gte": 3}}``, ``{"last_accessed": {"$lt": "2026-01-01"}}``.
        """
        from recollect.upkeep.usage import select_by_use

        first = check.count(offset, "offset")
        most = None if limit is None else check.count(limit, "limit")
        with self._store.snapshot() as snapshot:
            known = tuple(each for each in STATUSES if each != "forgotten")
            now, conditions = self._now_and_filter(filter)
            scope = snapshot.scope(conditions, known, now, hidden=True)
            if sort == "newest" and not ascending and use is None:
                rows = snapshot.page(scope, "newest", scope.count if most is None else most, first)
            else:
                rows = select_by_use(snapshot, scope, sort, ascending, use)[first:][:most]
            return snapshot.memories(rows)

    def usage(
        self,
        filter: AnyFilterOrMapping | None = None,
        *,
        limit: int = 10,
        period: UsagePeriodName = "week",
        periods: int = 12,
    ) -> Usage:
        """Which memories are used most, least and never, and how many were created and last used in each period."""
        from recollect.upkeep.usage import read_usage

        return read_usage(self._store, self.clock(), as_filter(filter), limit, period, periods)

    def edges(self, *ids: str) -> Sequence[Edge]:
        """The edges of these memories, or all edges."""
        return self._store.edges(self._store.resolve(ids) if ids else None)

    def entity_edges(self) -> Sequence[EntityEdge]:
        """The relations between entity names."""
        return self._store.entity_edges()

    def conflicts(
        self,
        filter: AnyFilterOrMapping | None = None,
        *,
        limit: int | None = None,
        progress: Callable[[int, int], None] | None = None,
    ) -> Sequence[Conflict]:
        """Pairs of memories that may state different values of the same thing; nothing is changed (B17).

        Decide with ``supersede``, ``contradict`` or by keeping both. Pairs that are linked already are left out.
        """
        from recollect.upkeep.conflicts import find_conflicts

        most = None if limit is None else check.count(limit, "limit")
        return find_conflicts(self._store, *self._now_and_filter(filter), most, progress)

    def audit(self, filter: AnyFilterOrMapping | None = None, *, limit: int | None = None) -> Sequence[AuditFinding]:
        """Memories that may be hostile: instructions to a model, forged sources, recalled text that was stored again,
        hidden or lookalike characters, secrets, floods of near duplicates; each with the reason. Nothing is changed.
        """
        from recollect.upkeep.audit import audit

        most = None if limit is None else check.count(limit, "limit")
        return audit(self._store, *self._now_and_filter(filter), most)

    def history(self, id: str) -> Sequence[tuple[datetime, Memory]]:
        """Earlier versions of a memory, oldest first, each with the moment when it ended."""
        return self._store.history(self._store.resolve([id])[0])

    def status(self) -> Status:
        from recollect.embed import known_dim
        from recollect.upkeep.probes import memory_language_note

        name, dim = (self.embedder.name, known_dim(self.embedder)) if self.embedder else (None, None)
        note = memory_language_note(self._store, self.embedder, self.clock())
        return Status(self._store.status(), name, dim, self.choice.reason, note)

    def probe(self) -> Probes:
        """Test embedding, vector search and word search (O20); nothing is written."""
        from recollect.upkeep.probes import probe

        return probe(self._store, self.embedder, self.clock())

    # Consolidating.

    def consolidate(
        self,
        folder: str | PathLike[str],
        period: Period = "daily",
        *,
        filter: AnyFilterOrMapping | None = None,
        summarise: Summarise | ChatModel | str | None = None,
        deadline: float = 120.0,
    ) -> Sequence[Path]:
        """Write notes about days, weeks or quarters into a folder; the files that changed.

        Notes are extracts of the memories, or summaries by ``summarise``: a function, or a chat model (a ChatModel,
        "URL MODEL", or "chat" for the configured one). When it fails, or after ``deadline`` seconds for all notes,
        the other notes are extracts, and a warning is logged.
        """
        from recollect.upkeep.consolidate import Summariser, make_notes, write_notes

        summariser = None if summarise is None else Summariser(summarise, deadline)
        active = [memory for memory in reversed(self.list(filter)) if memory.status == "active"]
        return write_notes(Path(folder), make_notes(active, period, summariser, self.zone), self.bound.values)

    def consolidate_session(
        self, session: str, *, summarise: Summarise | ChatModel | str | None = None, deadline: float = 120.0
    ) -> Memory:
        """Store one memory that summarises a session, with edges to its memories; a second call replaces it."""
        from recollect.upkeep.consolidate import Summariser, session_summary

        memories = self.list({"session": session, "status": "active", "not": {"kind": "summary"}})
        if not memories:
            raise NotFound(f"There are no memories of the session {session!r}.")
        summariser = None if summarise is None else Summariser(summarise, deadline)
        summary = session_summary(session, list(reversed(memories)), summariser)

        def link(transaction: Transaction, written: Sequence[WriteResult]) -> None:
            for memory in memories:
                transaction.link(make_edge(written[0].id, memory.id, "mentions", 1.0))

        (written,) = self._writer.write("consolidate", [self._memory(summary)], also=link)
        return self.show(written.id)

    def extract(
        self,
        filter: AnyFilterOrMapping | None = None,
        *,
        extract: ExtractFields | ChatModel | str | None = None,
        deadline: float = 120.0,
        progress: Progress | None = None,
    ) -> ExtractSummary:
        """Fill in names (``entities``) and a gist (``summary``) of memories that have none; one operation for undo.

        By rule, or by ``extract``: a function from a text to ``{"gist": …, "entities": […]}``, or a chat model. When it
        fails, or after ``deadline`` seconds, the rules do the rest. Names that a text does not contain are left out.
        """
        from recollect.upkeep.extraction import Extractor, extract_missing

        extractor = Extractor(self._known_names(), extract, deadline)
        memories = [memory for memory in self.list(filter) if memory.status == "active"]
        return extract_missing(self._store, memories, extractor, progress)

    def names_in(self, text: str) -> Sequence[str]:
        """Entity names in a text, without a model: known names, and runs of capitalised words."""
        from recollect.text.entity_names import find_names

        text = check.string(text, "text")
        check_limit("query_bytes", len(text.encode()), f"text has {len(text.encode()):,} bytes")
        return find_names(text, self._known_names())

    def _known_names(self) -> Sequence[str]:
        return sorted({name for edge in self._store.entity_edges() for name in (edge.subject, edge.object)})

    # Export and import.

    def export(self) -> Iterator[JsonObject]:
        """Everything as JSON objects: memories (forgotten ones, too) with use and history, edges and relations."""
        from recollect.upkeep.export import export_records

        return export_records(self._store, self.clock())

    def export_markdown(
        self, folder: str | PathLike[str], *, filter: AnyFilterOrMapping | None = None, force: bool = False
    ) -> ExportResult:
        """Write Markdown pages by session, topic or day; ``force`` overwrites files that others wrote or edited."""
        from recollect.upkeep.export import write_pages

        return write_pages(folder, self.list(filter), force, self.zone)

    def import_(self, records: Iterable[Mapping[str, Any]], *, progress: ImportProgress | None = None) -> WriteSummary:
        """Import what ``export`` returned, or plain ``{"text": …}`` objects: all of them, or none."""
        if isinstance(records, (str, PathLike)):
            raise InvalidInput(f"import_ takes records; a file is read by import_from({fspath(records)!r}).")
        from recollect.ingest.imports.importer import Importer, numbered_records
        from recollect.ingest.writer import WriteSummary

        items = numbered_records(records)
        done = Importer(self._writer, strict=True, progress=progress, zone=self.zone).run("", lambda: items)
        return WriteSummary(done.ids, done.added, done.changed, done.same, done.forgotten)

    def import_from(
        self,
        source: str | PathLike[str],
        kind: str | None = None,
        *,
        strict: bool | None = None,
        progress: ImportProgress | None = None,
    ) -> ImportSummary:
        """Import files of other programs: ``import_from("claude-export.zip")``. Again, it adds only new records.

        The format is detected, or one of ``recollect.ingest.imports.FORMATS``. ``strict`` imports all records or none,
        as is the default for JSON and CSV; otherwise records that cannot be read are skipped and reported.
        """
        from recollect.ingest.imports import FORMATS, detect_format, read_source
        from recollect.ingest.imports.importer import Importer

        format = detect_format(source) if kind is None else kind
        records = read_source(source, format)
        strict = FORMATS[format].strict if strict is None else strict
        once = source == "-" or not (Path(source).is_file() or Path(source).is_dir())  # a pipe can be read once
        if strict and once:
            items = list(records)
            return Importer(self._writer, strict, progress, self.zone).run(format, lambda: items)
        importer = Importer(self._writer, strict, progress, self.zone)
        return importer.run(format, lambda: read_source(source, format), once)

    # Backups.

    def backup(
        self,
        folder: str | PathLike[str],
        *,
        passphrase: str | None = None,
        keep: int | None = None,
        keep_days: float | None = None,
        progress: Progress | None = None,
    ) -> BackupResult:
        """Back up the file into a folder, while it is in use. Backups in one folder share what did not change.

        ``passphrase`` encrypts them (the extra ``encryption``). Backups beyond the newest ``keep`` and older than
        ``keep_days`` are removed. ``recollect.restore`` restores one.
        """
        from recollect.store.sqlite import SqliteStore
        from recollect.upkeep.backup import backup

        if not isinstance(self._store, SqliteStore):
            raise StoreError(
                f"Only a file can be backed up; {self.path} is not a file. export() works for every store."
            )
        return backup(
            self._store,
            folder,
            self.clock,
            passphrase=passphrase,
            keep=keep,
            keep_days=keep_days,
            progress=progress,
        )

    # Vectors.

    def embed_missing(self, *, progress: Progress | None = None) -> int:
        """Embed the memories that have no vector yet; how many there were.

        If the embedder refuses a text, the others are embedded, and then an EmbeddingError names that memory.
        """
        if self.embedder is None:
            raise EmbeddingError("This mind has no embedder. Open it with embedder='local' or one of your own.")
        from recollect.ingest.writer import embed_missing_vectors

        return embed_missing_vectors(self._store, self.embedder, "embed", progress)

    @classmethod
    def reembed(
        cls,
        path: str | PathLike[str],
        *,
        embedder: Embedder | str = "local",
        progress: Progress | None = None,
    ) -> int:
        """Make all vectors of a file again with another model, then switch to them; how many were made."""
        from recollect.embed import choose_embedder
        from recollect.ingest.writer import UnembeddedError, embed_missing_vectors
        from recollect.store.base import Space

        chosen = choose_embedder(embedder).embedder
        if chosen is None:
            raise InvalidInput("reembed needs an embedder.")
        with cls(path, embedder=None) as mind:
            model = mind._cached(chosen, None) or chosen
            made, missing = 0, True
            while missing:  # others may write meanwhile
                refused = None
                try:
                    made += embed_missing_vectors(mind._store, model, "reembed", progress)
                except UnembeddedError as error:  # a few refused texts must not prevent the switch
                    refused = error
                missing = mind._store.switch_space(Space(model.name, model.dim), refused.reasons if refused else ()) > 0
        if refused is not None:
            raise refused
        return made

    # Opening and closing.

    def close(self) -> None:
        if self._owned_store is not None:
            self._owned_store.close()
        if self._embedding_cache is not None:
            self._embedding_cache.close()
        if self._temporary_folder is not None:
            import shutil

            shutil.rmtree(self._temporary_folder, ignore_errors=True)

    def __repr__(self) -> str:
        return f"Mind({self.path!r})"

    # Internals.

    def _erase(self, store: Store, ids: Sequence[str] | None, dry_run: bool, code: str | None) -> Erasure:
        from recollect.upkeep import erasing

        with erasing.open_caches(store, self.embedder) as caches:
            whole = not self.bound.values
            erased = erasing.erase(store, ids, caches, self.clock(), code=code, dry_run=dry_run, whole=whole)
        if self._recall_cache is not None and not dry_run:
            self._recall_cache.clear()
        return erased

    def _now_and_filter(self, filter: AnyFilterOrMapping | None) -> tuple[datetime, FilterExpression | None]:
        """The current moment, and a filter with the moments that its words mean now."""
        from recollect.text.times.phrases import with_moments

        now = self.clock()
        return now, with_moments(as_filter(filter), now)

    def _with_prefix(self, text: str) -> str:
        """The id that a text is the beginning of, if it is long enough to be meant as one."""
        if len(text) < MIN_PREFIX or not text.isalnum():
            return ""
        try:
            return self._store.resolve([text])[0]
        except RecollectError:
            return ""

    def _with_recipe_settings(self, recipe: str | Recipe, settings: Mapping[str, Any]) -> dict[str, Any]:
        """The settings of a call, and those of this mind for a recipe that is given by name."""
        return {**self._recipe_settings.get(recipe, {}), **settings} if isinstance(recipe, str) else {**settings}

    def _request(
        self,
        query: str,
        k: int | None,
        recipe: str | Recipe,
        settings: Mapping[str, Any],
        track: bool,
        abstain: bool | float,
        deadline: float | None,
        *,
        filter: AnyFilterOrMapping | None,
        as_of: When | None,
        history: History,
        now: When | None,
        tz: str | tzinfo | None,
    ) -> Request:
        from recollect.recall.history import as_turns
        from recollect.recall.pipeline import Request
        from recollect.recall.registry import get_recipe
        from recollect.text.times.phrases import query_moment, with_moments

        chosen = get_recipe(recipe, **settings)
        moment = query_moment(self.clock() if now is None else now, tz, self.zone)
        return Request(
            query=query,
            recipe=chosen,
            now=moment,
            k=k,
            filter=with_moments(as_filter(filter), moment),
            as_of=None if as_of is None else to_zone(check.moment(as_of, "as_of", moment.tzinfo), moment.tzinfo),
            track=track,
            abstain=_threshold(abstain, chosen),
            deadline=deadline,
            embedder=self.embedder,
            history=as_turns(history),
            called_at=None if now is None else self.clock(),
        )

    def _cached(
        self, embedder: Embedder | None, wanted: SqliteEmbeddingCache | str | PathLike[str] | bool | None
    ) -> Embedder | None:
        """The embedder with the requested cache; by default only services have one."""
        if embedder is None or wanted is False:
            return embedder
        from recollect.embed import CachedByDefault, cache_embeddings

        is_cached = isinstance(embedder, CachedByDefault) and embedder.cached_by_default
        if wanted is None and not is_cached:
            return embedder
        from recollect.store.sqlite import SqliteStore
        from recollect.store.sqlite.embedding_cache import SqliteEmbeddingCache

        if not isinstance(self._store, SqliteStore) and (wanted is None or wanted is True):
            if wanted:
                raise InvalidInput("embedding_cache=True is for files. For a server, give the path of a cache file.")
            return embedder
        if isinstance(wanted, SqliteEmbeddingCache):
            return cache_embeddings(embedder, wanted)
        try:
            path = f"{self.path}-vectors" if wanted is None or wanted is True else fspath(wanted)
            self._embedding_cache = SqliteEmbeddingCache(path)
        except StoreError as error:
            if wanted is not None:
                raise
            log.warning("%s Vectors are not cached.", error)
            return embedder
        return cache_embeddings(embedder, self._embedding_cache)

    def _memory(self, content: str | Memory | Mapping[str, Any], details: Mapping[str, Any] | None = None) -> Memory:
        """A checked memory, with the values of the bound."""
        fields, bound = dict(details or {}), self.bound.values
        for name, value in bound.items():
            if fields.get(name, value) != value:
                raise InvalidInput(f"This mind is bound to the {name} {value!r}; it cannot write to another.")
        return self._writer.clean(make_memory(content, {**fields, **bound}, self.zone))

    def _stored(self, edge: Edge) -> Edge:
        key = (edge.source, edge.target, edge.kind)
        return next(e for e in self._store.edges([edge.source]) if (e.source, e.target, e.kind) == key)

    def _relation_bound(self) -> dict[str, str]:
        """The values of the bound that a relation has, too."""
        return {name: value for name, value in self.bound.values.items() if name in ("collection", "user")}

    def _numbered(self, number: int, item: str | Memory | Mapping[str, Any]) -> Memory:
        try:
            return self._memory(item)
        except InvalidInput as error:
            raise InvalidInput(f"Item {number}: {error}") from None


def open_mind(url: str | PathLike[str] = "memory.db", **options: Any) -> Mind:
    """Open a memory by the path of its file or by the URL of a store; the options are those of Mind.

    ``memory.db`` and ``sqlite:memory.db`` are files, ``memory:`` is a store in the memory of this process. Packages
    can add schemes of their own.
    """
    if not isinstance(url, (str, PathLike)):
        raise InvalidInput(f"A memory is opened by a path or a URL, not by {check.short_repr(url)}.")
    from recollect.store.registry import find_store

    factory, location = find_store(str(fspath(url)))
    if factory is None:
        return Mind(location, **options)
    clock = _checked_clock(options.pop("clock", None), _zone(options.get("tz")))
    readonly = bool(options.pop("readonly", False))
    mind = Mind(store=factory(location, clock, readonly=readonly), clock=clock, **options)
    mind._owned_store = mind._store
    return mind


def _zone(tz: str | tzinfo | None) -> tzinfo | None:
    """A time zone by its name, or that of this machine."""
    if tz is None:
        return machine_zone()
    return local_moment(None, tz).tzinfo


def _checked_clock(clock: Clock | None, zone: tzinfo | None) -> Clock:
    """The clock, in a time zone."""
    tell = clock or (lambda: datetime.now(UTC))

    def read() -> datetime:
        return to_zone(check.moment(tell(), "the clock", zone), zone)

    return read


def _checked_recipe_settings(settings_by_recipe: Mapping[str, Mapping[str, Any]] | None) -> dict[str, dict[str, Any]]:
    if settings_by_recipe is None:
        return {}
    from recollect.recall.registry import get_recipe

    if not isinstance(settings_by_recipe, Mapping) or not all(
        isinstance(settings, Mapping) for settings in settings_by_recipe.values()
    ):
        raise InvalidInput(
            'recipe_settings must be settings by recipe, as in {"abmind": {"notes": "diary"}}, '
            f"not {check.short_repr(settings_by_recipe)}."
        )
    for recipe, settings in settings_by_recipe.items():
        get_recipe(recipe, **settings)  # unknown names and wrong values are errors now
    return {recipe: dict(settings) for recipe, settings in settings_by_recipe.items()}


def _recall_cache(settings: QueryCache | None) -> RecallCache | None:
    if settings is None or not settings.enabled:
        return None
    from recollect.recall.query_cache import RecallCache

    return RecallCache(settings)


def _threshold(abstain: bool | float, recipe: Recipe) -> float | None:
    """The confidence below which a recall returns nothing; None if it always returns what it found."""
    if isinstance(abstain, bool):
        return (recipe.confidence.threshold if recipe.confidence else 0.0) if abstain else None
    return check.fraction(abstain, "abstain")
