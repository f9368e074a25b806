"""The findings as tables in Markdown: one function a table, and which of them there are."""

from __future__ import annotations

from collections.abc import Callable, Iterable
from typing import Any

from recollect.evaluation import MEASURES
from recollect.evaluation.report import table

Sets = dict[str, Any]
TOLERANCE = 0.01  # how far the default recipe may fall below the best baseline
BASELINES = ("BM25", "vectors", "fusion")
HEADLINE = ("R@10", "NDCG@10")


def floor(systems: dict[str, Any]) -> dict[str, float]:
    """Default − the best baseline, for each headline measure; empty when one of them was not measured."""
    if any("error" in systems.get(each, {"error": ""}) for each in ("default", *BASELINES)):
        return {}
    return {
        measure: round(systems["default"][measure] - max(systems[each][measure] for each in BASELINES), 4)
        for measure in HEADLINE
    }


def headline(sets: Sets) -> str:
    rows = []
    for name, set_ in sets.items():
        margins = floor(set_["systems"])
        verdict = "" if not margins else "yes" if min(margins.values()) >= -TOLERANCE else "**NO**"
        margin = " / ".join(f"{each:+.3f}" for each in margins.values())
        size = f"{set_['haystacks']} × {set_['documents'] // set_['haystacks']}"
        cells = [_pair(set_["systems"].get(each)) for each in (*BASELINES, "default")]
        rows.append((name, size, str(set_["questions"]), *cells, margin, verdict))
    head = ("set", "haystacks × documents", "questions", *BASELINES, "default", "default − best of the three", "held")
    return table(head, rows)


def measures(sets: Sets) -> str:
    """Every measure of the default recipe, with its interval."""
    rows = []
    for name, set_ in sets.items():
        told = set_["systems"].get("default", {})
        if "intervals" in told:
            cells = (f"{told[each]:.3f} [{_span(told['intervals'][each])}]" for each in MEASURES)
            rows.append((name, *cells))
    return table(("set", *MEASURES), rows)


def recipes(sets: Sets) -> str:
    return _beside(sets, "recipe")


def peers(sets: Sets) -> str:
    broken = {
        f"- {name}, {system} {told.get('version', '')}: {told['error']}"
        for name, set_ in sets.items()
        for system, told in set_["systems"].items()
        if told["kind"] == "peer" and "error" in told
    }
    said = "\n".join(sorted(broken))
    return _beside(sets, "peer", "default") + (f"\n\nWhat broke or was too slow:\n\n{said}" if broken else "")


def _having(sets: Sets, kind: str) -> Sets:
    """The sets on which a system of this kind was measured."""
    return {name: set_ for name, set_ in sets.items() if any(told["kind"] == kind for told in set_["systems"].values())}


def categories(sets: Sets) -> str:
    rows = [
        (name, category, str(told["questions"]), f"{told['R@10']:.3f}", f"{told['NDCG@10']:.3f}")
        for name, set_ in sets.items()
        for category, told in set_["systems"].get("default", {}).get("categories", {}).items()
    ]
    return table(("set", "category", "questions", *HEADLINE), rows)


def silence(sets: Sets) -> str:
    rows = []
    for name, set_ in sets.items():
        told = set_.get("silence", {"kinds": {}})
        for kind, each in told["kinds"].items():
            able, unable = each["questions"]
            own = [
                f"{each[key]:.3f}" if each.get(key) is not None else ""
                for key in ("precision", "recall", "answers kept")
            ]
            rows.append((name, kind, f"{able} / {unable}", told["by"], f"{each['auc']:.3f}", *own))
    head = ("set", "nothing is there because", "with / without an answer", "judged by", "ROC AUC")
    return table((*head, "precision of silence", "recall of silence", "answers kept"), rows)


def budgets(sets: Sets) -> str:
    """The share of questions with all / any of their evidence inside."""
    rows: list[tuple[str, ...]] = []
    head: tuple[str, ...] = ()
    for name, set_ in sets.items():
        told = set_.get("budgets")
        for way in ("plain", "packed"):
            if told and way in told:
                head = tuple(f"{each} tokens" for each in told["budgets"])
                rows.append((name, way, *(f"{all_:.3f} / {any_:.3f}" for all_, any_ in told[way])))
    return table(("set", "context", *head), rows)


def costs(sets: Sets) -> str:
    rows = []
    for name, set_ in sets.items():
        if "writes" not in set_ or "cpu_ms" not in set_["systems"].get("default", {}):
            continue
        alone, whole = set_["embedding_ms"], set_["systems"]["default"]["cpu_ms"]
        added, held = set_["writes"], set_["bytes"]
        recalled = f"{whole:.1f} ms ({whole / alone:.1f} ×)"
        written = f"{added['remembering']:.1f} ms ({added['remembering'] / added['embedding']:.2f} ×)"
        rows.append((name, f"{alone:.1f} ms", recalled, written, f"{held['file']:,}", f"{held['beyond']:,}"))
    head = ("set", "embedding a question", "default recall", "adding a memory (× embedding it)")
    return table((*head, "bytes a memory", "beside text and vector"), rows)


TABLES: dict[str, tuple[str, Callable[[Sets], str]]] = {
    "headline": ("The default recipe beside what is simpler (R@10 / NDCG@10)", headline),
    "measures": ("Every measure of the default recipe, with 95% intervals", measures),
    "peers": ("Peers: same texts, same embedder (R@10 / NDCG@10)", peers),
    "recipes": ("All recipes (R@10 / NDCG@10)", recipes),
    "categories": ("The default recipe by category", categories),
    "silence": ("Knowing nothing", silence),
    "budgets": ("A token budget: all / any of the evidence inside", budgets),
    "costs": ("Cost, in processor time and bytes", costs),
}


def _beside(sets: Sets, kind: str, *more: str) -> str:
    sets = _having(sets, kind)
    systems = [*_systems(sets, kind), *more]
    return table(
        ("set", *systems),
        [(name, *(_pair(set_["systems"].get(each)) for each in systems)) for name, set_ in sets.items()],
    )


def _systems(sets: Sets, kind: str) -> list[str]:
    """The systems of a kind, in the order in which they were measured."""
    every: Iterable[str] = (
        name for set_ in sets.values() for name, told in set_["systems"].items() if told["kind"] == kind
    )
    return list(dict.fromkeys(every))


def _pair(told: dict[str, Any] | None) -> str:
    if told is None:
        return ""
    if "error" in told:
        return "too slow" if "stopped after" in told["error"] else "broke"
    return " / ".join(f"{told[each]:.3f}" for each in HEADLINE)


def _span(interval: list[float]) -> str:
    return "–".join(f"{each:.3f}" for each in interval)
