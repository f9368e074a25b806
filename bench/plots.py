"""The findings as plots (SVG): quality against cost, bars for every set, and evidence against tokens."""

from __future__ import annotations

from collections.abc import Iterator
from contextlib import contextmanager
from pathlib import Path
from statistics import mean
from typing import Any

from bench.tables import BASELINES, Sets

OURS, OTHERS, PLAIN = "#c0392b", "#2c6fbb", "#8a8a8a"
LINE = 0.012  # the height of a name, in NDCG
COLOURS = {"peer": OTHERS, "baseline": PLAIN, "recipe": "#4d9a57"}


def draw(sets: Sets, folder: Path) -> None:
    folder.mkdir(parents=True, exist_ok=True)
    bars(sets, folder / "sets.svg")
    cost(sets, folder / "cost.svg")
    budgets(sets, folder / "budgets.svg")


def bars(sets: Sets, file: Path) -> None:
    """NDCG@10 of the baselines, the best peer and the default recipe, set by set."""
    shown = {name: set_["systems"] for name, set_ in sets.items() if "NDCG@10" in set_["systems"].get("default", {})}
    if not shown:
        return
    contestants = [*BASELINES, "best peer", "default"]
    colours = ["#d0d0d0", "#b0b0b0", PLAIN, OTHERS, OURS]
    with _figure(file, (max(7.0, 0.75 * len(shown) + 2), 4.2)) as axes:
        for at, (contestant, colour) in enumerate(zip(contestants, colours, strict=True)):
            heights = [_height(systems, contestant) for systems in shown.values()]
            places = [place + (at - 2) * 0.17 for place in range(len(shown))]
            axes.bar(places, heights, width=0.16, color=colour, label=contestant)
        axes.set_xticks(range(len(shown)), shown, rotation=40, ha="right")
        axes.set_ylabel("NDCG@10")
        axes.set_ylim(0, 1)
        axes.legend(ncols=5, frameon=False, loc="upper center", bbox_to_anchor=(0.5, 1.14))


def _height(systems: dict[str, Any], contestant: str) -> float:
    if contestant != "best peer":
        return float(systems.get(contestant, {}).get("NDCG@10", 0.0))
    return max(
        (told["NDCG@10"] for told in systems.values() if told["kind"] == "peer" and "NDCG@10" in told), default=0
    )


def cost(sets: Sets, file: Path) -> None:
    """Mean NDCG@10 against processor time a question, embedding included, over the sets that a system has done."""
    points: dict[str, list[tuple[float, float]]] = {}
    kinds = {}
    for set_ in sets.values():
        for name, told in set_["systems"].items():
            if told["kind"] in COLOURS and "cpu_ms" in told and "embedding_ms" in set_:
                spent = told["cpu_ms"] + (set_["embedding_ms"] if told.get("embeds") else 0.0)
                points.setdefault(name, []).append((spent, told["NDCG@10"]))
                kinds[name] = told["kind"]
    most = max(map(len, points.values()), default=0)
    # Means over different sets cannot be compared: a system that broke on one is not shown.
    means = [
        (mean(y for _, y in all_), mean(x for x, _ in all_), name) for name, all_ in points.items() if len(all_) == most
    ]
    with _figure(file, (7.5, 4.8)) as axes:
        below = -1.0
        for y, x, name in sorted(means):
            colour = OURS if name == "default" else COLOURS[kinds[name]]
            axes.scatter([x], [y], color=colour)
            below = max(y, below + LINE)  # names do not lie on each other
            axes.annotate(name, (x, y), (x * 1.08, below), fontsize=8, color=colour, va="center")
        axes.set_xscale("log")
        axes.set_xlabel("processor time a question, embedding included (ms)")
        axes.set_ylabel(f"mean NDCG@10 over {most} sets")


def budgets(sets: Sets, file: Path) -> None:
    """All of the evidence inside, against tokens: plain order and packed, mean over the sets."""
    told = [set_["budgets"] for set_ in sets.values() if "budgets" in set_]
    if not told:
        return
    with _figure(file, (6.5, 4.2)) as axes:
        for way, colour in (("plain", PLAIN), ("packed", OURS)):
            for which, style in ((0, "-"), (1, "--")):
                if all(way in each for each in told):
                    heights = [mean(each[way][at][which] for each in told) for at in range(len(told[0]["budgets"]))]
                    label = f"{way}, {'all' if which == 0 else 'any'} of it"
                    axes.plot(told[0]["budgets"], heights, style, color=colour, marker="o", label=label)
        axes.set_xscale("log", base=2)
        axes.set_xticks(told[0]["budgets"], told[0]["budgets"])
        axes.set_xlabel("tokens")
        axes.set_ylabel(f"questions with their evidence inside (mean over {len(told)} sets)")
        axes.legend(frameon=False)


@contextmanager
def _figure(file: Path, size: tuple[float, float]) -> Iterator[Any]:
    """Axes to draw on; the same figures give the same file."""
    import matplotlib

    matplotlib.use("svg")
    matplotlib.rcParams.update({"svg.hashsalt": "recollect", "svg.fonttype": "none", "font.size": 9})
    from matplotlib import pyplot

    figure, axes = pyplot.subplots(figsize=size, layout="constrained")
    axes.spines[["top", "right"]].set_visible(False)
    yield axes
    figure.savefig(file, metadata={"Date": None})
    pyplot.close(figure)
