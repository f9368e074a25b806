"""Client: the methods of a Mind over HTTP, with the same types and the same exceptions.

    with Client("http://127.0.0.1:8765", token="rct_…") as memory:
        memory.remember("The cup is on the shelf.")
        for result in memory.recall("where is the cup?"):
            print(result.score, result.text, result.why.summary())

Without arguments, the address and the token are those of $RECOLLECT_URL and $RECOLLECT_TOKEN.
"""

from __future__ import annotations

import json
import os
import time
from collections.abc import Callable, Iterable, Iterator, Mapping, Sequence
from datetime import UTC, datetime, tzinfo
from os import PathLike, fspath
from typing import TYPE_CHECKING, Any, Unpack
from urllib.parse import quote

from recollect.errors import InvalidInput, RecollectError, ServerUnavailable
from recollect.model import (
    Changes,
    Details,
    Edge,
    EntityEdge,
    FilterExpression,
    JsonObject,
    Memory,
    When,
    as_filter,
    check,
    edge_from_json,
    entity_edge_from_json,
    filter_json,
    memory_from_json,
    to_json,
)
from recollect.protocols import ClosedOnExit
from recollect.service.errors import error_from_json
from recollect.service.operations import find_operation

if TYPE_CHECKING:
    import httpx2

    from recollect.ingest.imports.importer import ImportSummary
    from recollect.ingest.writer import WriteSummary
    from recollect.mind import Status
    from recollect.recall.comparison import Comparison
    from recollect.recall.context import Context
    from recollect.recall.expressions import Explanation
    from recollect.recall.history import History
    from recollect.recall.results import Recall, Verdict
    from recollect.store.base import UndoResult
    from recollect.store.erasing import Erasure
    from recollect.upkeep.conflicts import Conflict
    from recollect.upkeep.usage import Usage

URL, TOKEN = "RECOLLECT_URL", "RECOLLECT_TOKEN"
MAX_ANSWER_BYTES, MAX_SECONDS = 256 << 20, 600  # of one answer; exports are streamed
PAGE = 1_000  # memories that list fetches at a time
AnyFilter = FilterExpression | Mapping[str, Any] | None


class Client(ClosedOnExit):
    """A memory behind a server. Use it from many threads; close it, or use it as a context manager."""

    def __init__(self, url: str | None = None, token: str | None = None, *, timeout: float = 60.0) -> None:
        import httpx2

        address = url or os.environ.get(URL)
        secret = token or os.environ.get(TOKEN)
        if not address:
            raise InvalidInput(f"url is missing: give the address of a server, or set {URL}.")
        if not address.startswith(("http://", "https://")):
            raise InvalidInput(f"url must begin with http:// or https://, not {check.short_repr(address)}.")
        if not secret:
            raise InvalidInput(f"token is missing: give one of 'recollect token create', or set {TOKEN}.")
        self.url = address.rstrip("/")
        self._http = httpx2.Client(
            base_url=self.url,
            headers={"authorization": f"Bearer {secret}", "accept-encoding": "identity"},
            timeout=timeout,
            trust_env=False,
            verify=self.url.startswith("https:"),  # without TLS, no certificates are loaded
        )

    def call(self, name: str, /, **arguments: Any) -> Any:
        """Call an operation of the service by its name; JSON values."""
        operation = find_operation(name)
        values = {key: value for key, value in arguments.items() if value is not None}
        path = operation.path
        for parameter in [each.name for each in operation.parameters if f"{{{each.name}}}" in path]:
            path = path.replace(f"{{{parameter}}}", quote(check.string(values.pop(parameter), parameter), safe=""))
        options: dict[str, Any] = {"json": values}
        if operation.method in ("GET", "DELETE"):
            options = {"params": {key: _in_query(value) for key, value in values.items()}}
        return self._json(operation.method, f"/v1{path}", **options)

    def _request(self, method: str, path: str, **options: Any) -> httpx2.Response:
        import httpx2

        body, end = bytearray(), time.monotonic() + MAX_SECONDS
        try:
            with self._http.stream(method, path, **options) as streamed:
                for chunk in streamed.iter_bytes():
                    body += chunk
                    if len(body) > MAX_ANSWER_BYTES or time.monotonic() > end:
                        limits = f"{MAX_ANSWER_BYTES:,} bytes or takes more than {MAX_SECONDS:,} seconds"
                        raise ServerUnavailable(f"The answer of {self.url} has more than {limits}.")
        except httpx2.HTTPError as error:
            raise ServerUnavailable(f"{self.url} does not answer: {error}.") from None
        response = httpx2.Response(streamed.status_code, content=bytes(body), request=streamed.request)
        if response.is_error:
            raise _error(response)
        if not response.is_success:
            raise ServerUnavailable(f"{self.url} answers with status {response.status_code}; is it a Recollect server?")
        return response

    def _json(self, method: str, path: str, **options: Any) -> Any:
        response = self._request(method, path, **options)
        try:
            return response.json()
        except (ValueError, RecursionError):
            raise ServerUnavailable(f"{self.url} does not answer with JSON; is it a Recollect server?") from None

    # Writing.

    def remember(self, text: str | Memory, **details: Unpack[Details]) -> Memory:
        fields = to_json(text) if isinstance(text, Memory) else {"text": text}
        return memory_from_json(self.call("remember", **{**_without_use(fields), **_plain(details)}))

    def remember_many(
        self, items: Iterable[str | Memory | Mapping[str, Any]], *, progress: Callable[[int, int], None] | None = None
    ) -> WriteSummary:
        from recollect.ingest.writer import WriteSummary

        listed = [
            {"text": item}
            if isinstance(item, str)
            else _without_use(to_json(item) if isinstance(item, Memory) else item)
            for item in items
        ]
        return WriteSummary(**self.call("remember_many", items=_plain(listed)))

    def edit(
        self, id: str, /, *, text: str | None = None, expected: Memory | None = None, **changes: Unpack[Changes]
    ) -> Memory:
        from recollect.service.records import content_tag, memory_json

        tag = None if expected is None else content_tag(memory_json(expected))
        nothing = {name: value for name, value in changes.items() if value is None}
        return memory_from_json(self._patch(id, {"text": text, "etag": tag, **_plain(changes)}, nothing))

    def _patch(self, id: str, changes: Mapping[str, Any], cleared: Mapping[str, None]) -> Any:
        """Changes where null removes a value, and what is not given stays."""
        body = {**{name: value for name, value in changes.items() if value is not None}, **cleared}
        return self._json("PATCH", f"/v1/memories/{quote(check.string(id, 'id'), safe='')}", json=body)

    def forget(self, *ids: str, reason: str = "") -> int:
        return int(self.call("forget", ids=list(ids), reason=reason)["forgotten"])

    def erase(
        self,
        *ids: str,
        filter: AnyFilter = None,
        user: str | None = None,
        session: str | None = None,
        agent: str | None = None,
        collection: str | None = None,
        dry_run: bool = False,
        code: str | None = None,
    ) -> Erasure:
        """As for a Mind; without a code, a dry run on the server gets one first."""
        from recollect.client_records import read_erasure

        named = {"user": user, "session": session, "agent": agent, "collection": collection}
        chosen = {"ids": [*ids] or None, "filter": _filter(filter), **named}
        if code is None and not dry_run:
            code = self.call("erase", **chosen)["code"]
        return read_erasure(self.call("erase", **chosen, code=None if dry_run else code))

    def link(self, source: str, target: str, kind: str = "supports", weight: float = 1.0) -> Edge:
        return edge_from_json(self.call("link", source=source, target=target, kind=kind, weight=weight))

    def unlink(self, source: str, target: str, kind: str | None = None) -> int:
        return int(self.call("unlink", source=source, target=target, kind=kind)["removed"])

    def relate(self, subject: str, relation: str, object: str, weight: float = 1.0, **owner: Any) -> EntityEdge:
        arguments = {"subject": subject, "relation": relation, "object": object, "weight": weight}
        return entity_edge_from_json(self.call("relate", **arguments, **_plain(owner)))

    def supersede(self, old: str, new: str | Memory, /, **details: Unpack[Details]) -> Memory:
        fields = _without_use(to_json(new)) if isinstance(new, Memory) else {"text": new}
        return memory_from_json(
            self.call("supersede", old=old, new=fields.pop("text"), **{**fields, **_plain(details)})
        )

    def contradict(self, a: str, b: str, weight: float = 1.0, *, loser: str | None = None) -> Edge:
        return edge_from_json(self.call("contradict", a=a, b=b, weight=weight, loser=loser))

    def reinforce(self, id: str, amount: float = 0.1) -> Memory:
        return memory_from_json(self.call("reinforce", id=id, amount=amount))

    def decay(self, rate: float = 0.01) -> int:
        return int(self.call("decay", rate=rate)["faded"])

    def undo(self, *, past_erasure: bool = False, dry_run: bool = False) -> UndoResult | None:
        from recollect.store.base import UndoneMemory, UndoResult

        undone = self.call("undo", past_erasure=past_erasure, dry_run=dry_run)["undone"]
        if undone is None:
            return None
        moments = {name: undone[name] and _moment(undone[name]) for name in ("at", "erasure")}
        memories = tuple(UndoneMemory(**each) for each in undone.get("memories", ()))
        return UndoResult(**{**undone, **moments, "ids": tuple(undone["ids"]), "memories": memories})

    # Recalling.

    def recall(
        self,
        query: str,
        k: int | None = None,
        *,
        recipe: str = "default",
        filter: AnyFilter = None,
        as_of: When | None = None,
        history: History = (),
        now: When | None = None,
        tz: str | tzinfo | None = None,
        track: bool = True,
        abstain: bool | float = False,
        deadline: float | None = None,
        **settings: Any,
    ) -> Recall:
        from recollect.client_records import read_recall

        options = _options(recipe, filter, as_of, history, now, tz, settings)
        shown = self.call(
            "recall",
            query=query,
            k=k,
            **options,
            track=track,
            abstain=abstain,
            deadline=deadline,
            explain=True,
            trace=True,
            left_out=0,
        )
        return read_recall(
            shown,
            lambda id: self._verdict(query, id, k, {**options, "abstain": abstain}),
            lambda: self.call("recall", query=query, k=k, **options, track=False, abstain=abstain, matched_words=True),
        )

    def context(
        self,
        query: str,
        budget: int = 1000,
        *,
        recipe: str = "default",
        filter: AnyFilter = None,
        as_of: When | None = None,
        history: History = (),
        now: When | None = None,
        tz: str | tzinfo | None = None,
        track: bool = True,
        abstain: bool | float = False,
        deadline: float | None = None,
        **settings: Any,
    ) -> Context:
        """As for a Mind, but its ``recall`` has only the confidence and no results."""
        from recollect.client_records import read_context

        options = _options(recipe, filter, as_of, history, now, tz, settings)
        more = {"track": track, "abstain": abstain, "deadline": deadline}
        shown = self.call("context", query=query, budget=budget, **options, **more)
        return read_context(shown, query, recipe)

    def compare(self, query: str, recipes: str | Sequence[str], k: int = 10, **options: Any) -> Comparison:
        from recollect.client_records import read_comparison

        names = [recipes] if isinstance(recipes, str) else list(recipes)
        options = {name: value for name, value in options.items() if name != "track"}  # never recorded
        chosen = _options(None, **{**_NO_OPTIONS, **options}, settings={})
        return read_comparison(
            self.call("compare", query=query, recipes=names, k=k, explain=True, trace=True, **chosen)
        )

    def why(self, query: str, id: str, k: int | None = None, **options: Any) -> Explanation:
        from recollect.client_records import read_explanation

        chosen = _split_options(options)
        chosen.pop("abstain", None)
        return read_explanation(self.call("why", query=query, id=id, k=k, **chosen)["explanation"])

    def why_not(self, query: str, id: str, k: int | None = None, **options: Any) -> Verdict:
        return self._verdict(query, id, k, _split_options(options))

    def _verdict(self, query: str, id: str, k: int | None, options: Mapping[str, Any]) -> Verdict:
        from recollect.recall.results import Verdict

        return Verdict(**self.call("why_not", query=query, id=id, k=k, **options))

    # Reading.

    def show(self, id: str) -> Memory:
        return memory_from_json(self.call("show", id=id))

    def list(
        self,
        filter: AnyFilter = None,
        *,
        sort: str = "newest",
        ascending: bool = False,
        use: Mapping[str, Any] | None = None,
        limit: int | None = None,
        offset: int = 0,
    ) -> Sequence[Memory]:
        most = None if limit is None else check.count(limit, "limit") + check.count(offset, "offset")
        found: list[Memory] = []
        cursor: str | None = None
        while most is None or len(found) < most:
            size = PAGE if most is None else min(PAGE, most - len(found))
            page = self.call(
                "list", filter=_filter(filter), sort=sort, ascending=ascending, use=use, limit=size, cursor=cursor
            )
            found += [memory_from_json(each) for each in page["memories"]]
            cursor = page["next_cursor"]
            if cursor is None:
                break
        return found[offset:]

    def usage(self, filter: AnyFilter = None, *, limit: int = 10, period: str = "week", periods: int = 12) -> Usage:
        from recollect.client_records import read_usage

        return read_usage(self.call("usage", filter=_filter(filter), limit=limit, period=period, periods=periods))

    def edges(self, *ids: str) -> Sequence[Edge]:
        return [edge_from_json(each) for each in self.call("edges", ids=[*ids] or None)["edges"]]

    def entity_edges(self) -> Sequence[EntityEdge]:
        return [entity_edge_from_json(each) for each in self.call("relations")["relations"]]

    def conflicts(
        self,
        filter: AnyFilter = None,
        *,
        limit: int | None = None,
        progress: Callable[[int, int], None] | None = None,
    ) -> Sequence[Conflict]:
        from recollect.client_records import read_conflict

        found = self.call("conflicts", filter=_filter(filter), limit=PAGE if limit is None else limit)["conflicts"]
        return [read_conflict(each) for each in found]

    def history(self, id: str) -> Sequence[tuple[datetime, Memory]]:
        versions = self.call("history", id=id)["versions"]
        return [(_moment(each["until"]), memory_from_json(each["memory"])) for each in versions]

    def status(self) -> Status:
        """As for a Mind, without the path, the size and the version of the file on the server."""
        from recollect.client_records import read_status

        return read_status(self.call("memory_status"), self.url)

    # Export and import.

    def export(self) -> Iterator[JsonObject]:
        import httpx2

        try:
            with self._http.stream("GET", "/v1/export") as response:
                if response.is_error:
                    response.read()
                    raise _error(response)
                for line in response.iter_lines():
                    if line:
                        yield json.loads(line)
        except httpx2.HTTPError as error:
            raise ServerUnavailable(f"{self.url} ended the export early: {error}.") from None

    def import_(
        self, records: Iterable[Mapping[str, Any]], *, progress: Callable[[int, int | None], None] | None = None
    ) -> WriteSummary:
        from recollect.ingest.writer import WriteSummary

        return WriteSummary(**self.call("import", records=_plain([*records])))

    def import_from(self, source: str | PathLike[str], kind: str | None = None, **options: Any) -> ImportSummary:
        """Upload a file of this machine and import it there."""
        from recollect.ingest.imports.importer import ImportSummary

        query = {"filename": os.path.basename(fspath(source)), **({} if kind is None else {"kind": kind})}
        with open(source, "rb") as file:
            headers = {"content-type": "application/octet-stream"}
            done = self._json("POST", "/v1/import/file", params=query, content=file, headers=headers)
        return ImportSummary(**done)

    def close(self) -> None:
        self._http.close()

    def __repr__(self) -> str:
        return f"Client({self.url!r})"


_NO_OPTIONS: dict[str, Any] = {"filter": None, "as_of": None, "history": (), "now": None, "tz": None}


def _options(
    recipe: str | None,
    filter: AnyFilter,
    as_of: When | None,
    history: History,
    now: When | None,
    tz: str | tzinfo | None,
    settings: Mapping[str, Any],
) -> dict[str, Any]:
    """The options of a recall as JSON values."""
    if recipe is not None and not isinstance(recipe, str):
        raise InvalidInput("recipe must be the name of a recipe: a server takes no Recipe objects.")
    from recollect.recall.history import as_turns

    if isinstance(tz, tzinfo) and not hasattr(tz, "key"):  # an offset without a name: the moment has it
        moment = check.moment(datetime.now(UTC) if now is None else now, "now", tz)
        now, tz = moment.astimezone(tz), None
    turns = [{"role": turn.role, "text": turn.text} for turn in as_turns(history)]
    return {
        "recipe": recipe,
        "filter": _filter(filter),
        "as_of": _date(as_of, "as_of"),  # without a time zone it is in the server's
        "history": turns or None,
        "now": _date(now, "now"),
        "tz": None if tz is None else str(tz),
        "settings": _plain(settings) or None,
    }


def _split_options(options: Mapping[str, Any]) -> dict[str, Any]:
    """The options of why and why_not, with the settings of the recipe apart."""
    known = {**_NO_OPTIONS, **{name: value for name, value in options.items() if name in _NO_OPTIONS}}
    rest = {name: value for name, value in options.items() if name not in _NO_OPTIONS and name != "track"}
    recipe, abstain = rest.pop("recipe", "default"), rest.pop("abstain", None)
    rest.pop("deadline", None)
    return {**_options(recipe, **known, settings=rest), "abstain": abstain}


def _filter(filter: AnyFilter) -> JsonObject | None:
    expression = as_filter(filter)
    return None if expression is None else filter_json(expression)


def _plain(value: Any) -> Any:
    """JSON values: moments in ISO 8601, and lists for tuples."""
    match value:
        case datetime():
            return value.isoformat()
        case Memory() | Edge() | EntityEdge():
            return to_json(value)
        case Mapping():
            return {name: _plain(each) for name, each in value.items()}
        case list() | tuple():
            return [_plain(each) for each in value]
        case _:
            return value


def _in_query(value: Any) -> Any:
    if isinstance(value, bool):
        return "true" if value else "false"
    return json.dumps(value) if isinstance(value, Mapping) else value


def _without_use(fields: Mapping[str, Any]) -> JsonObject:
    """What a caller may write: use is counted by the server."""
    return {name: value for name, value in fields.items() if name not in ("use", "mentions", "updated")}


def _date(when: When | None, name: str) -> str | None:
    if isinstance(when, datetime):
        return when.isoformat()
    return when if when is None or isinstance(when, str) else check.moment(when, name).isoformat()


def _moment(text: str) -> datetime:
    return check.moment(text, "a moment of the server")


def _error(response: httpx2.Response) -> RecollectError:
    try:
        return error_from_json(response.json()["error"])
    except (ValueError, KeyError, TypeError):
        return ServerUnavailable(
            f"{response.url.host} answered with status {response.status_code}; is it a Recollect server?"
        )
