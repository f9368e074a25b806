"""The Mind: what users hold in their hands."""

from __future__ import annotations

import logging
import shutil
import tempfile
from collections.abc import Iterable, Iterator, Mapping, Sequence
from dataclasses import dataclass, replace
from datetime import UTC, datetime
from functools import partial
from os import PathLike, fspath
from pathlib import Path
from types import TracebackType
from typing import TYPE_CHECKING, Any, Unpack

from recollect.embed import Cached, Embedder, TokenEmbedder, choose, known_dim
from recollect.embed.remote import Remote
from recollect.errors import EmbeddingError, InvalidInput, NotFound, RecollectError, StoreError
from recollect.ingest.writer import AT_ONCE, Bare, Keeper, Progress, Receipt, belonging, embed_all, receipt, reinforced
from recollect.model import Changes, Details, Edge, EntityEdge, JsonObject, Memory
from recollect.model import validation as check
from recollect.model.filter import All, AnyFilter, Filter, as_filter
from recollect.model.json_records import edge_from, entity_edge_from, former_from, memory_from, to_json
from recollect.model.memory import STATUSES, Clock, When, stamped
from recollect.recall.compare import Comparison
from recollect.recall.context import Context
from recollect.recall.context import context as make_context
from recollect.recall.expressions import Explanation
from recollect.recall.packing import affordable
from recollect.recall.pipeline import Request
from recollect.recall.pipeline import recall as run_recall
from recollect.recall.query_cache import Answers, QueryCache
from recollect.recall.recipe import Recipe
from recollect.recall.registry import get_recipe
from recollect.recall.results import Recall, Verdict
from recollect.store.base import Space, Store, StoreStatus, Transaction, UndoResult, WriteResult
from recollect.store.sqlite import SqliteStore
from recollect.store.sqlite.embedding_cache import VectorsCache
from recollect.text.entity_names import names
from recollect.upkeep.consolidate import Period, Summarise, notes, session_summary
from recollect.upkeep.consolidate import write as write_notes
from recollect.upkeep.probes import Probes, probe

if TYPE_CHECKING:
    from recollect.ingest.imports.importer import Counting, Imported
    from recollect.upkeep.markdown_export import ExportResult

log = logging.getLogger("recollect")
AnyFilterOrMapping = AnyFilter | Mapping[str, Any]
EXPORT_FORMAT = 1
CANDIDATES = 100  # results that a budget of tokens is spent on


@dataclass(frozen=True, slots=True)
class Status:
    """The store, and the model that this mind embeds with."""

    store: StoreStatus
    embedder: str | None
    dim: int | None  # None, too, while a service has not been asked for it yet
    chosen: str = ""  # why it is this embedder


class Mind:
    """A memory in one file. Use it from many threads; close it, or use it as a context manager.

    >>> with Mind("memory.db") as mind:
    ...     mind.remember("The blue cup is on the top shelf.", tags=["kitchen"])
    ...     for result in mind.recall("where is the cup?"):
    ...         print(result.score, result.text, result.why)

    A mind bound to a collection writes to it and recalls from it alone.
    """

    def __init__(
        self,
        path: str | PathLike[str] = "memory.db",
        *,
        embedder: Embedder | str | None = "local",
        collection: str | None = None,
        clock: Clock | None = None,
        durability: str = "full",
        readonly: bool = False,
        embedding_cache: VectorsCache | str | PathLike[str] | bool | None = None,
        query_cache: QueryCache | None = None,
    ) -> None:
        """``embedding_cache`` is a file that keeps vectors, so that no text is embedded twice: True for one beside the
        memory, False for none; when left out, services have one and models on this machine do not.
        """
        self._folder: str | None = None
        if not isinstance(path, (str, PathLike)):
            raise InvalidInput(f"path must be the name of a file, not {check.short(path)}.")
        if fspath(path) == ":memory:":  # a file of its own, for as long as the mind lives
            self._folder = tempfile.mkdtemp(prefix="recollect-")
            path = Path(self._folder) / "memory.db"
        self.path = fspath(path)
        self.collection = None if collection is None else check.string(collection, "collection")
        told = clock or (lambda: datetime.now(UTC))
        self.clock: Clock = lambda: check.moment(told(), "the clock")
        self.choice = choose(embedder)
        self._shelf: VectorsCache | None = None
        self._answers = Answers(query_cache) if query_cache is not None and query_cache.enabled else None
        self._store: Store = SqliteStore(self.path, self.clock, readonly, durability)
        try:
            self.embedder = self._cached(self.choice.embedder, embedding_cache)
            self._check_space()
        except RecollectError:
            self.close()
            raise

    @property
    def store(self) -> Store:
        """Where the memories live: for the rooms that bring memories in or look after them."""
        return self._store

    # Remembering.

    def remember(self, text: str | Memory, **details: Unpack[Details]) -> Memory:
        """Keep a memory and return it as stored. The same external id again updates it; equal content does nothing."""
        memory = self._memory(text, details)
        (written,) = self._keeper.write("remember", [memory])
        if written.what != "added":
            return self._store.get([written.id])[0]
        return stamped(memory, written.id, written.at)

    def remember_many(
        self, items: Iterable[str | Memory | Mapping[str, Any]], *, progress: Progress | None = None
    ) -> Receipt:
        """Keep many memories in one transaction: all of them, or none."""
        if isinstance(items, (str, Mapping)) or not isinstance(items, Iterable):
            raise InvalidInput(
                f"remember_many takes a list of memories, not {check.short(items)}; use remember for one."
            )
        memories = [self._numbered(number, item) for number, item in enumerate(items, 1)]
        return receipt(self._keeper.write("remember", memories, progress))

    def edit(self, id: str, /, *, text: str | None = None, **changes: Unpack[Changes]) -> Memory:
        """Correct a memory in place. Its earlier content stays in its history and is found no more."""
        (whole,) = self._store.resolve([id])
        said: dict[str, Any] = {**changes} if text is None else {"text": text, **changes}
        with self._store.transaction("edit") as transaction:
            written = transaction.revise(whole, partial(_edited, transaction, said))
        if written.what == "changed":
            self._keeper.mend([whole])
        return self.show(whole)

    def forget(self, *ids: str, reason: str = "") -> int:
        """Let memories go: no recall returns them. ``undo`` brings them back."""
        whole = self._store.resolve(ids)
        with self._store.transaction("forget", check.string(reason, "reason")) as transaction:
            written = [transaction.revise(id, lambda memory: replace(memory, status="forgotten")) for id in whole]
        return sum(each.what == "changed" for each in written)

    def link(self, source: str, target: str, kind: str = "supports", weight: float = 1.0) -> Edge:
        """Connect two memories. The same link again sets its weight."""
        source, target = self._store.resolve([source, target])
        edge = check.edge(source, target, kind, weight)
        with self._store.transaction("link") as transaction:
            transaction.link(edge)
        return self._stored(edge)

    def unlink(self, source: str, target: str, kind: str | None = None) -> int:
        """Remove the links of a kind (or all) from one memory to another; how many there were."""
        source, target = self._store.resolve([source, target])
        with self._store.transaction("unlink") as transaction:
            return transaction.unlink(source, target, kind)

    def relate(self, subject: str, relation: str, object: str, weight: float = 1.0, **owner: Any) -> EntityEdge:
        """Connect two names: ``relate("alice", "works_with", "bob")``."""
        owner.setdefault("collection", self.collection or "main")
        edge = entity_edge_from({"subject": subject, "relation": relation, "object": object, "weight": weight, **owner})
        with self._store.transaction("relate") as transaction:
            transaction.relate(edge)
        return edge

    def supersede(self, old: str, new: str | Memory, /, **details: Unpack[Details]) -> Memory:
        """Let a newer memory take the place of an old one, from its ``valid_from`` or now on; both are kept.

        A text belongs where the old memory does (collection, user, topic, …) unless the details say otherwise.
        """
        held = self.show(old)
        memory = self._memory(new, {**belonging(held), **details} if isinstance(new, str) else details)
        return self.show(self._keeper.supersede(held.id, memory, self.clock()))

    def contradict(self, a: str, b: str, weight: float = 1.0, *, loser: str | None = None) -> Edge:
        """Say that two memories contradict each other; the ``loser``, when it is known, is marked as contradicted."""
        a, b = self._store.resolve([a, b])
        wrong = None if loser is None else self._store.resolve([loser])[0]
        if wrong not in (None, a, b):
            raise InvalidInput(f"The loser must be one of the two, {a} or {b}, not {wrong}.")
        edge = check.edge(a, b, "contradicts", weight)
        self._keeper.contradict(edge, wrong)
        return self._stored(edge)

    def reinforce(self, id: str, amount: float = 0.1) -> Memory:
        """Make a memory stronger, up to 1."""
        (whole,) = self._store.resolve([id])
        more = check.unit(amount, "amount")
        with self._store.transaction("reinforce") as transaction:
            transaction.revise(whole, lambda memory: reinforced(memory, more))
        return self.show(whole)

    def decay(self, rate: float = 0.01) -> int:
        """Let all memories fade: strength × exp(−rate × days since the last decay, or creation); how many did."""
        with self._store.transaction("decay") as transaction:
            return transaction.decay(check.number(rate, "rate", low=0.0), self.collection)

    def undo(self) -> UndoResult | None:
        """Take back the last change to this file; None when there is nothing left to take back."""
        undone = self._store.undo()
        if undone and undone.ids:
            self._keeper.mend(undone.ids)
        return undone

    # Recalling.

    def recall(
        self,
        query: str,
        k: int | None = None,
        *,
        recipe: str | Recipe = "default",
        filter: AnyFilterOrMapping | None = None,
        as_of: When | None = None,
        track: bool = True,
        abstain: bool | float = False,
        deadline: float | None = None,
        **settings: Any,
    ) -> Recall:
        """The memories that answer best, best first, each with its score and why.

        ``as_of`` asks what held at a moment; ``track=False`` leaves no mark of use; ``deadline`` is in seconds.
        ``abstain`` gives nothing back when nothing seems to be about the question: when the recall's ``confidence`` is
        below the recipe's threshold, or below a number of your own.
        Further keywords are settings of the recipe, by name.
        """
        request = self._request(query, recipe, settings, k, filter, as_of, track, abstain, deadline)
        if self._answers is not None:
            return self._answers.recall(self._store, request, recipe, settings)
        return run_recall(self._store, request)

    def context(
        self,
        query: str,
        budget: int = 1000,
        *,
        recipe: str | Recipe = "default",
        filter: AnyFilterOrMapping | None = None,
        as_of: When | None = None,
        track: bool = True,
        abstain: bool | float = False,
        deadline: float | None = None,
        **settings: Any,
    ) -> Context:
        """What is remembered about a question as one text for a prompt, within a budget of tokens (4 letters each).

        The budget goes to what is worth most, nothing twice; what is left of it to what came right before and after.
        """
        size = affordable(budget, "budget")
        request = self._request(query, recipe, settings, CANDIDATES, filter, as_of, track, abstain, deadline)
        return make_context(self._store, request, size)

    def compare(
        self, query: str, recipes: str | Recipe | Sequence[str | Recipe], k: int = 10, **options: Any
    ) -> Comparison:
        """One question, several recipes, side by side; without a mark of use."""
        asked_of = [recipes] if isinstance(recipes, (str, Recipe)) else recipes
        chosen = [get_recipe(recipe) for recipe in asked_of]
        asked = {**options, "track": False}
        return Comparison(query, {recipe.name: self.recall(query, k, recipe=recipe, **asked) for recipe in chosen})

    def why(self, query: str, id: str, k: int | None = None, **options: Any) -> Explanation:
        """Ask again, without a mark of use, and explain the score of one of the results."""
        (whole,) = self._store.resolve([id])
        return self.recall(query, k, **{**options, "track": False}).why(whole)

    def why_not(self, query: str, id: str, k: int | None = None, **options: Any) -> Verdict:
        """Ask again, without a mark of use, and say which step leaves a memory out, and by how much."""
        (whole,) = self._store.resolve([id])
        return self.recall(query, k, **{**options, "track": False}).why_not(whole)

    # Looking.

    def show(self, id: str) -> Memory:
        """One memory, by its id or the beginning of it."""
        return self._store.get(self._store.resolve([id]))[0]

    def list(
        self, filter: AnyFilterOrMapping | None = None, *, limit: int | None = None, offset: int = 0
    ) -> Sequence[Memory]:
        """Memories that pass a filter, newest first; forgotten ones only when the filter names that status."""
        first = check.count(offset, "offset")
        last = None if limit is None else first + check.count(limit, "limit")
        with self._store.snapshot() as snapshot:
            known = tuple(each for each in STATUSES if each != "forgotten")
            scope = snapshot.scope(self._scoped(filter), known, self.clock(), hidden=True)
            rows = snapshot.newest(scope)[first:last]
            return snapshot.memories(rows)

    def edges(self, *ids: str) -> Sequence[Edge]:
        """The links of these memories, or all links."""
        return self._store.edges(self._store.resolve(ids) if ids else None)

    def entity_edges(self) -> Sequence[EntityEdge]:
        """The connections between names."""
        return self._store.entity_edges()

    def history(self, id: str) -> Sequence[tuple[datetime, Memory]]:
        """Earlier contents of a memory, oldest first, each with the moment of its end."""
        return self._store.former(self._store.resolve([id])[0])

    def status(self) -> Status:
        name, dim = (self.embedder.name, known_dim(self.embedder)) if self.embedder else (None, None)
        return Status(self._store.status(), name, dim, self.choice.why)

    def probe(self) -> Probes:
        """Try whether it can embed, search vectors and search words (O20); nothing is written."""
        return probe(self._store, self.embedder, self.clock())

    # Consolidating.

    def consolidate(
        self,
        folder: str | PathLike[str],
        period: Period = "daily",
        *,
        filter: AnyFilterOrMapping | None = None,
        summarise: Summarise | None = None,
    ) -> Sequence[Path]:
        """Write what days, weeks or quarters were about into notes under a folder; the files that changed.

        Notes are made of the memories themselves, by rule; ``summarise`` may be a language model.
        """
        told = [memory for memory in reversed(self.list(filter)) if memory.status == "active"]
        return write_notes(Path(folder), notes(told, period, summarise))

    def consolidate_session(self, session: str, *, summarise: Summarise | None = None) -> Memory:
        """Keep one memory about a session, linked to those it was made of; again, it is made anew."""
        held = self.list({"session": session, "status": "active", "not": {"kind": "summary"}})
        if not held:
            raise NotFound(f"There are no memories of the session {session!r}.")
        summary = session_summary(session, list(reversed(held)), summarise)

        def link(transaction: Transaction, written: Sequence[WriteResult]) -> None:
            for memory in held:
                transaction.link(check.edge(written[0].id, memory.id, "mentions", 1.0))

        (written,) = self._keeper.write("consolidate", [summary], also=link)
        return self.show(written.id)

    def names_in(self, text: str) -> Sequence[str]:
        """Names in a text, without a model: those that this memory knows, and capitalised runs."""
        known = {name for edge in self._store.entity_edges() for name in (edge.subject, edge.object)}
        return names(check.string(text, "text"), sorted(known))

    # Carrying.

    def export(self) -> Iterator[JsonObject]:
        """Everything as JSON objects: memories (forgotten ones too) with use and history, links, names' connections."""
        yield {"type": "recollect", "format": EXPORT_FORMAT}
        with self._store.snapshot() as snapshot:
            scope = snapshot.scope(self._scoped(None), STATUSES, self.clock(), hidden=True)
            rows = snapshot.all_rows(scope)
        carried = set()
        for start in range(0, len(rows), AT_ONCE):
            some = rows[start : start + AT_ONCE]
            with self._store.snapshot() as snapshot:
                ids = snapshot.ids(some)
            before = {id: list(self._store.former(id)) for id in ids}  # first: what is edited meanwhile is not lost
            with self._store.snapshot() as snapshot:
                memories = snapshot.memories(some)
            for memory in memories:
                carried.add(memory.id)
                yield {"type": "memory", **to_json(memory)}
                for until, former in before.get(memory.id, ()):
                    yield {"type": "former", "until": until.isoformat(), "memory": to_json(former)}
        for edge in self._store.edges():
            if {edge.source, edge.target} <= carried:
                yield {"type": "edge", **to_json(edge)}
        for relation in self._store.entity_edges():
            if self.collection in (None, relation.collection):
                yield {"type": "entity_edge", **to_json(relation)}

    def export_markdown(
        self, folder: str | PathLike[str], *, filter: AnyFilterOrMapping | None = None, force: bool = False
    ) -> ExportResult:
        """Write Markdown pages by session, topic or day; ``force`` writes over foreign and edited files."""
        from recollect.upkeep import markdown_export as pages

        return pages.write(folder, self.list(filter), force)

    def import_(self, records: Iterable[Mapping[str, Any]], *, progress: Progress | None = None) -> Receipt:
        """Take in what ``export`` gave, or plain ``{"text": …}`` objects: all of them, or none."""
        if isinstance(records, (str, PathLike)):
            raise InvalidInput(f"import_ takes records; a file is read by import_from({fspath(records)!r}).")
        memories, formers, edges, relations = [], [], [], []
        for number, record in enumerate(records, 1):
            try:
                if not isinstance(record, Mapping):
                    raise InvalidInput(f"a record is a JSON object, not {check.short(record)}.")
                match record.get("type", "memory"):
                    case "memory":
                        memories.append(self._memory(memory_from(record)))
                    case "former":
                        former, until = former_from(record)
                        formers.append((self._memory(former), until))
                    case "edge":
                        edges.append(edge_from(record))
                    case "entity_edge":
                        relations.append(entity_edge_from({**record, **self._bound()}))
                    case "recollect":
                        _check_format(record)
                    case other:
                        raise InvalidInput(f"{other!r} is no type of record.")
            except InvalidInput as problem:
                raise InvalidInput(f"Record {number}: {problem}") from None

        def remind(transaction: Transaction, written: Sequence[WriteResult]) -> None:
            added = {each.id: each.row for each in written if each.what == "added"}  # others have their own history
            for former, until in formers:
                if former.id in added:
                    transaction.set_former(added[former.id], former, until)

        return receipt(self._keeper.write("import", memories, progress, edges, relations, also=remind))

    def import_from(
        self,
        source: str | PathLike[str],
        kind: str | None = None,
        *,
        strict: bool | None = None,
        progress: Counting | None = None,
    ) -> Imported:
        """Take in what other programs keep: ``import_from("claude-export.zip")``. Again, it adds only what is new.

        The kind is recognised, or one of ``recollect.ingest.imports.KINDS``. ``strict`` takes all or none, as is usual
        for JSON and CSV; otherwise what cannot be read is left out and told.
        """
        from recollect.ingest import imports

        chosen = imports.detect(source) if kind is None else kind
        items = imports.read(source, chosen)
        if strict is None:
            strict = imports.KINDS[chosen].strict
        if not strict:
            return imports.bring(chosen, items, self._store, self.embedder, self._bound(), self._gone(), progress)
        records = imports.Strictly(items, progress)
        try:
            whole = self.import_(records, progress=progress)
        except (InvalidInput, NotFound) as problem:
            raise records.placed(problem) from None
        return imports.Imported(chosen, whole.added, whole.changed, whole.same, records.links, ids=whole.ids)

    # Vectors.

    def embed_missing(self, *, progress: Progress | None = None) -> int:
        """Embed the memories that have no vector yet; how many there were.

        Where the embedder refuses a text, the others are done, and then an EmbeddingError names that memory.
        """
        if self.embedder is None:
            raise EmbeddingError("This mind has no embedder. Open it with embedder='local' or one of your own.")
        return embed_all(self._store, self.embedder, "embed", progress)

    @classmethod
    def reembed(
        cls,
        path: str | PathLike[str],
        *,
        embedder: Embedder | str = "local",
        progress: Progress | None = None,
    ) -> int:
        """Make all vectors of a file anew with another model, then switch to them; how many were made."""
        chosen = choose(embedder).embedder
        if chosen is None:
            raise InvalidInput("reembed needs an embedder.")
        with cls(path, embedder=None) as mind:
            model = mind._cached(chosen, None) or chosen
            made, missing = 0, True
            while missing:  # others may write meanwhile
                refused = None
                try:
                    made += embed_all(mind._store, model, "reembed", progress)
                except Bare as problem:  # a text or two must not keep all others from the new model
                    refused = problem
                missing = mind._store.switch(Space(model.name, model.dim), refused.reasons if refused else ()) > 0
        if refused is not None:
            raise refused
        return made

    # Opening and closing.

    def close(self) -> None:
        self._store.close()
        if self._shelf is not None:
            self._shelf.close()
        if self._folder is not None:
            shutil.rmtree(self._folder, ignore_errors=True)

    def __enter__(self) -> Mind:
        return self

    def __exit__(
        self, kind: type[BaseException] | None, error: BaseException | None, trace: TracebackType | None
    ) -> None:
        self.close()

    def __repr__(self) -> str:
        return f"Mind({self.path!r})"

    # Within.

    def _request(
        self,
        query: str,
        recipe: str | Recipe,
        settings: Mapping[str, Any],
        k: int | None,
        filter: AnyFilterOrMapping | None,
        as_of: When | None,
        track: bool,
        abstain: bool | float,
        deadline: float | None,
    ) -> Request:
        chosen = get_recipe(recipe, **settings)
        return Request(
            query=query,
            recipe=chosen,
            now=self.clock(),
            k=k,
            filter=self._scoped(filter),
            as_of=None if as_of is None else check.moment(as_of, "as_of"),
            track=track,
            abstain=_threshold(abstain, chosen),
            deadline=deadline,
            embedder=self.embedder,
        )

    @property
    def _keeper(self) -> Keeper:
        return Keeper(self._store, self.embedder)

    def _check_space(self) -> None:
        if self.embedder is not None:  # no service is asked for its dimensions only to open a file
            self._store.check_space(Space(self.embedder.name, known_dim(self.embedder) or 0))

    def _cached(
        self, embedder: Embedder | None, wanted: VectorsCache | str | PathLike[str] | bool | None
    ) -> Embedder | None:
        """The embedder, with the cache that is wanted for it; the tokens of a text have to be made in any case."""
        if embedder is None or isinstance(embedder, TokenEmbedder) or wanted is False:
            return embedder
        if wanted is None and not isinstance(embedder, Remote):
            return embedder
        if isinstance(wanted, VectorsCache):
            return Cached(embedder, wanted)
        try:
            path = f"{self.path}-vectors" if wanted is None or wanted is True else fspath(wanted)
            self._shelf = VectorsCache(path)
        except StoreError as problem:
            if wanted is not None:
                raise
            log.warning("%s Vectors are not cached.", problem)
            return embedder
        return Cached(embedder, self._shelf)

    def _scoped(self, filter: AnyFilterOrMapping | None) -> AnyFilter | None:
        asked = as_filter(filter)
        if self.collection is None:
            return asked
        mine = Filter(collection=self.collection)
        return mine if asked is None else All((mine, asked))

    def _memory(self, given: str | Memory | Mapping[str, Any], details: Mapping[str, Any] | None = None) -> Memory:
        said = dict(details or {})
        if self.collection is not None and said.get("collection", self.collection) != self.collection:
            raise InvalidInput(f"This mind is bound to the collection {self.collection!r}; it cannot write to another.")
        return check.memory(given, {**said, **self._bound()})

    def _gone(self) -> set[str]:
        """The ids and external ids of what was forgotten. Where nothing was, no image is built to find that out."""
        if not self._store.status().memories.get("forgotten"):
            return set()
        return {name for each in self.list({"status": "forgotten"}) for name in (each.id, each.external_id) if name}

    def _stored(self, edge: Edge) -> Edge:
        key = (edge.source, edge.target, edge.kind)
        return next(e for e in self._store.edges([edge.source]) if (e.source, e.target, e.kind) == key)

    def _bound(self) -> dict[str, str]:
        return {} if self.collection is None else {"collection": self.collection}

    def _numbered(self, number: int, item: str | Memory | Mapping[str, Any]) -> Memory:
        try:
            return self._memory(item)
        except InvalidInput as problem:
            raise InvalidInput(f"Item {number}: {problem}") from None


def _check_format(record: Mapping[str, Any]) -> None:
    if record.get("format") != EXPORT_FORMAT:
        raise InvalidInput(f"this export has format {record.get('format')!r}; this version reads {EXPORT_FORMAT}.")


def _edited(transaction: Transaction, said: Mapping[str, Any], memory: Memory) -> Memory:
    """The memory with these changes. What a file says is changed there."""
    new = check.changed(memory, said)
    of_a_file = memory.path and new.text != memory.text
    if of_a_file and memory.id in {each.id for each in transaction.files.chunks(memory.collection, memory.path)}:
        raise InvalidInput(f"{memory.id} is a part of the file {memory.path}: change the file, and sync its folder.")
    return new


def _threshold(abstain: bool | float, recipe: Recipe) -> float | None:
    """Below which confidence a recall says nothing; None when it is to say what it has."""
    if isinstance(abstain, bool):
        return (recipe.confidence.threshold if recipe.confidence else 0.0) if abstain else None
    return check.unit(abstain, "abstain")
