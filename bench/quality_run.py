"""The quality benchmark of one dataset: recipes and peers answer the same questions and are scored alike."""

from __future__ import annotations

import tempfile
from argparse import Namespace
from pathlib import Path
from typing import Any

import numpy as np
from rich.console import Console

from bench import costs
from bench.abstention import silence
from bench.baselines import BASELINES
from bench.datasets import Dataset
from bench.memory_files import CachedLocalEmbedder, build_memory_file
from bench.peers.quality import client
from bench.peers.quality.client import PEERS
from bench.quality_results import RESULTS, QualityResults
from bench.report import machine
from bench.token_budgets import budgets
from recollect.evaluation import RecallRunner, RecipeScores, open_runner, paired_difference, score_answers
from recollect.recall.recipe import Recipe
from recollect.recall.registry import RECIPES, get_recipe

PAIRED = ("R@10", "NDCG@10")
SHOWN = ("R@5", "R@10", "all@5", "any@5", "NDCG@10", "MRR", "Hit@1")
# Without a reranking model, as every other system here.
SETTINGS: dict[str, dict[str, Any]] = {"qmd": {"reranker": None}, "jeffsbrain": {"rerank": False}}


class QualityRun:
    """Everything that is measured of a dataset, as one JSON object."""

    def __init__(self, set_: Dataset, embedder: CachedLocalEmbedder, cache: Path, options: Namespace) -> None:
        self.set, self.embedder, self.cache, self.options = set_, embedder, cache, options
        self.console = Console(highlight=False)
        self.scores: dict[str, RecipeScores] = {}
        facts = machine()
        self._made = {name: facts[name] for name in ("commit", "date")}
        self._systems: dict[str, Any] = {}

    def run(self) -> dict[str, Any]:
        labelled, options = self.set.labelled, self.options
        path = build_memory_file(self.set, self.embedder, self.cache / "quality", options.stale)
        found: dict[str, Any] = {
            "files": self.set.files,
            "documents": len(labelled.memories),
            "haystacks": len({memory.collection for memory in labelled.memories}),
            "questions": len(labelled.answerable),
            "systems": self._systems,
        }
        names = list(RECIPES) if options.recipes == ["all"] else options.recipes
        recipes = {name: get_recipe(name, **SETTINGS.get(name, {})) for name in names}
        baselines = BASELINES if options.baselines else {}
        with open_runner(path, self.embedder) as asker:
            for kind, chosen in (("recipe", recipes), ("baseline", baselines)):
                for recipe in chosen.values():
                    self._ask(asker, recipe, kind)
            if options.silence:
                found["silence"] = {**silence(asker, labelled, "default"), **self._made}
            if options.budgets:
                found["budgets"] = {**budgets(asker, labelled, "default"), **self._made}
        if options.peers:
            self._ask_peers(self._chosen(options.peers))
        if options.cost:
            with tempfile.TemporaryDirectory(dir=self.cache) as folder:
                found["writes"] = {**costs.writes(self.set, Path(folder)), **self._made}
            found["bytes"] = {**costs.size(path, self.set), **self._made}
            taken = costs.recalls(path, self.set, {**recipes, **baselines})
            found["embedding_ms"] = taken.pop("embedding")
            for name, milliseconds in taken.items():
                self._systems[name]["cpu_ms"] = milliseconds
        self._compare()
        return found

    def _ask(self, asker: RecallRunner, recipe: Recipe, kind: str) -> None:
        questions = self.set.labelled.answerable
        try:
            self.record_scores(score_answers(recipe.name, questions, asker.answers(questions, recipe)), kind)
        except Exception as problem:
            self.failed(recipe.name, kind, f"{type(problem).__name__}: {problem}")

    def _chosen(self, peers: list[str]) -> list[str]:
        """The peers of these names; "all", or "new": those that were not asked for this very data."""
        kept = QualityResults(RESULTS).peers(self.set.name, self.set.files) if peers == ["new"] else set()
        return [name for name in PEERS if name not in kept] if peers in (["all"], ["new"]) else peers

    def _ask_peers(self, names: list[str]) -> None:
        with tempfile.TemporaryDirectory(dir=self.cache) as folder:
            orders = client.PeerRequest(self.set, self.embedder, Path(folder))
            for name in names:
                told = client.ask(PEERS[name], orders, self.cache, self.options.patience)
                if told.problem:
                    self.failed(name, "peer", told.problem, version=told.version)
                    continue
                scores = score_answers(name, orders.questions, told.answers)
                cost: dict[str, Any] = {
                    "cpu_ms": round(float(np.median(scores.cpu_seconds)) * 1e3, 3),
                    "document_ms": told.document_ms,
                    "embeds": PEERS[name].embeds,
                }
                self.record_scores(scores, "peer", version=told.version, **cost)

    def record_scores(self, scores: RecipeScores, kind: str, **more: Any) -> None:
        self.scores[scores.name] = scores
        told = scores.as_dict()
        del told["cpu_ms"]  # the embedder that remembers its questions hides most of it
        self._systems[scores.name] = {"kind": kind, **self._made, **told, **more}
        figures = "  ".join(f"{name} {scores.mean(name):.3f}" for name in SHOWN)
        self.console.print(f"{self.set.name:<16} {scores.name:<24} {figures}", soft_wrap=True)
        for category, values in told["categories"].items() if self.options.verbose else ():
            figures = "  ".join(f"{name} {values[name]:.3f}" for name in SHOWN)
            self.console.print(f"{values['questions']:>16} {category:<24} {figures}", soft_wrap=True)

    def failed(self, name: str, kind: str, problem: str, **more: Any) -> None:
        self._systems[name] = {"kind": kind, **self._made, "error": problem, **more}
        self.console.print(f"{self.set.name:<16} {name:<24} failed: {problem}", soft_wrap=True)

    def _compare(self) -> None:
        """Every system beside the default recipe, question by question."""
        ours = self.scores.get("default")
        for name, scores in self.scores.items():
            if ours is not None and scores is not ours:
                gained = {measure: paired_difference(scores, ours, measure) for measure in PAIRED}
                self._systems[name]["against default"] = {
                    measure: [round(value, 4) for value in (each.mean, each.low, each.high)]
                    for measure, each in gained.items()
                }
