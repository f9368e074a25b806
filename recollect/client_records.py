"""Records that a client reads from the JSON of a server: recalls with traces and explanations, usage, conflicts."""

from __future__ import annotations

from collections.abc import Callable
from datetime import UTC, datetime
from typing import Any

from recollect.mind import Status
from recollect.model import JsonObject, check, memory_from_json
from recollect.recall.comparison import Comparison
from recollect.recall.context import Context
from recollect.recall.expressions import Explanation
from recollect.recall.results import MatchedWord, Recall, Result, Verdict
from recollect.recall.trace import Step, Trace
from recollect.store.base import StoreStatus
from recollect.store.erasing import Erasure, Receipt, Remaining
from recollect.upkeep.conflicts import Conflict
from recollect.upkeep.usage import Usage, UsagePeriod


def read_explanation(tree: JsonObject) -> Explanation:
    """The tree of a score, which evaluates to it."""
    parts = tuple(read_explanation(part) for part in tree.get("parts", ()))
    role: Any = tree.get("role", "")
    return Explanation(tree["value"], tree["label"], tree.get("operation", ""), parts, role, tree.get("name", ""))


def read_trace(shown: JsonObject) -> Trace:
    steps = [
        Step(
            each["kind"],
            each["name"],
            each["outcome"],
            each.get("reason", ""),
            each["milliseconds"],
            each.get("in"),
            each.get("out"),
            each.get("detail", {}),
        )
        for each in shown["steps"]
    ]
    facts = shown.get("facts")
    report = None if facts is None else lambda trace: facts
    return Trace(shown["query"], shown["recipe"], "", shown["milliseconds"], steps, report)


def _result(shown: JsonObject) -> Result:
    explanation = read_explanation(shown["explanation"])
    memory = memory_from_json(shown["memory"])
    return Result(shown["rank"], shown["score"], memory, tuple(shown["notes"]), lambda: explanation)


def read_recall(
    shown: JsonObject, why_not: Callable[[str], Verdict], recall_with_words: Callable[[], JsonObject]
) -> Recall:
    results = [_result(each) for each in shown["results"]]

    def matched_words() -> list[tuple[MatchedWord, ...]]:
        """Asked for with a recall of its own; none for a result that it does not have any more."""
        again = {(each["memory"]["id"], each["memory"]["text"]): each for each in recall_with_words()["results"]}
        found = (again.get((result.id, result.text), {}).get("matched_words", ()) for result in results)
        return [tuple(MatchedWord(**word) for word in words) for words in found]

    return Recall(results, read_trace(shown["trace"]), why_not, *_confidence(shown), matched_words)


def _confidence(shown: JsonObject) -> tuple[float | None, bool, str, str]:
    """The confidence, whether it is low and why, and a time of which nothing is known; a server of an older version
    gives no reason and no time."""
    reason, missing_time = shown.get("low_confidence_reason", ""), shown.get("missing_time", "")
    return shown["confidence"], shown["low_confidence"], reason, missing_time


def read_context(shown: JsonObject, query: str, recipe: str) -> Context:
    def unknown(id: str) -> Verdict:
        return Verdict(id, False, "", "A context of a server has no trace; ask why_not.")

    recall = Recall([], Trace(query, recipe), unknown, *_confidence(shown))
    memories = [memory_from_json(each) for each in shown["memories"]]
    outdated = frozenset(shown.get("outdated", ()))  # a server of an older version has none
    return Context(shown["text"], memories, shown["tokens"], recall, shown["best_needs"], outdated)


def read_comparison(shown: JsonObject) -> Comparison:
    def unknown(id: str) -> Verdict:
        return Verdict(id, False, "", "Ask why_not with the recipe.")

    recalls = {
        name: Recall([_result(one) for one in each["results"]], read_trace(each["trace"]), unknown, each["confidence"])
        for name, each in shown["recipes"].items()
    }
    return Comparison(shown["query"], recalls)


def read_conflict(shown: JsonObject) -> Conflict:
    older, newer = memory_from_json(shown["older"]), memory_from_json(shown["newer"])
    return Conflict(older, newer, shown["rule"], shown["nearness"])


def read_usage(shown: JsonObject) -> Usage:
    lists: dict[str, Any] = {
        name: tuple(memory_from_json(each) for each in shown[name])
        for name in ("most_used", "least_used", "unused", "unreturned")
    }
    counts = {name: shown[name] for name in ("memories", "uses", "undated_uses", "never_recalled", "never_returned")}
    periods = tuple(
        UsagePeriod(
            datetime.fromisoformat(each["begins"]).replace(tzinfo=UTC), each["created"], each["uses"], each["last_used"]
        )
        for each in shown["over_time"]
    )
    return Usage(**counts, **lists, over_time=periods)


def read_erasure(shown: JsonObject) -> Erasure:
    stored = shown["receipt"]
    receipt = None
    if stored is not None:
        at = check.moment(stored["at"], "at")
        receipt = Receipt(at, stored["removed"], stored["salt"], tuple(stored["ids"]), stored["bound"])
    remaining = tuple(Remaining(each["what"], tuple(each["names"]), each["why"]) for each in shown["remaining"])
    return Erasure(
        shown["removed"], shown["code"], receipt, remaining, tuple(shown["pending"]), dry_run=shown["dry_run"]
    )


def read_status(shown: JsonObject, url: str) -> Status:
    last = shown["last_change"]
    store = StoreStatus(
        path=url,
        bytes=0,
        version="",
        readonly=shown["readonly"],
        memories=shown["memories"],
        expired=shown.get("expired", 0),  # a server of an older version does not count them
        collections=shown["collections"],
        edges=shown["edges"],
        entity_edges=shown["relations"],
        words=shown["words"],
        without_vector=shown["without_vector"],
        last_change=None if last is None else check.moment(last, "last_change"),
    )
    return Status(store, shown["embedder"], None, shown["chosen"], shown["note"])
