"""`make mutants`: changes a number, an operator or a word behind a promise and expects a test of that promise to fail.

Each row of ``MUTANTS`` is a file, a text that it has exactly once, the text to put there, and the promise. The change
is made in a temporary copy of the package, and only the tests with the promise's ``contract`` mark run. A mutant that
no test notices survives: then a test is missing. ``python -m tests.contract.mutants J12 A13`` runs those alone.
"""

from __future__ import annotations

import os
import shutil
import subprocess
import sys
import tempfile
import time
from collections.abc import Iterable
from pathlib import Path

import pytest

from tests.contract.report import TESTS
from tests.contract.test_promises import markers

ROOT = TESTS.parent
TIMEOUT_SECONDS = 300  # of the tests of one promise; a mutant may loop forever

Mutant = tuple[str, str, str, str]

ROBOTMEM, OPENCLAW = "systems/robotmem/recipe.py", "systems/openclaw/recipe.py"
ABMIND, BOOSTS, FULL_TEXT = "systems/abmind/recipe.py", "systems/abmind/stages.py", "systems/abmind/full_text.py"
OPENMEM, COMPETITION = "systems/openmem/recipe.py", "systems/openmem/recipe.py"
JEFFSBRAIN, INTENT, MODES = (f"systems/jeffsbrain/{name}.py" for name in ("recipe", "intent", "fusion"))

MUTANTS: list[Mutant] = [
    # robotmem
    (ROBOTMEM, "n: int = 5,", "n: int = 6,", "R1"),
    (ROBOTMEM, "clamp=(1, 100)", "clamp=(1, 99)", "R1"),
    (ROBOTMEM, "times(2) if", "times(3) if", "R2"),
    (ROBOTMEM, "else times(4)", "else times(2)", "R2"),
    ("systems/robotmem/recipe.py", "len(word) > 1 or", "len(word) > 0 or", "R3"),
    ("systems/robotmem/recipe.py", '"NOT", "NEAR")', '"NOT")', "R3"),
    (ROBOTMEM, '"path": 1.0, "entities": 1.0', '"path": 1.0', "R4"),
    (ROBOTMEM, 'statuses=("active",)', 'statuses=("active", "superseded")', "R4"),
    (ROBOTMEM, "rrf_k: float = 60", "rrf_k: float = 61", "R6"),
    (ROBOTMEM, '"vectors": "vec_only"', '"vectors": "vectors"', "R7"),
    (ROBOTMEM, "real_weight: float = 1.5", "real_weight: float = 1.4", "R8"),
    (ROBOTMEM, "min_confidence: float = 0.3", "min_confidence: float = 0.29", "R9"),
    ("systems/robotmem/recipe.py", "values[: run.k].max()", "values.max()", "R14"),
    (ROBOTMEM, '("access", "return")', '("access",)', "R15"),
    (ROBOTMEM, "confidence_decay: float = 0.99", "confidence_decay: float = 0.98", "R17"),
    ("systems/robotmem/recipe.py", "round(1 - float(", "round(2 - float(", "R5"),
    (ROBOTMEM, "session=session,  # R10", "session=None,", "R10"),
    ("systems/robotmem/recipe.py", 'run.scope, "oldest"', 'run.scope, "newest"', "R10"),
    (ROBOTMEM, "context=context_filter,", "", "R12"),
    (
        "model/matching.py",
        "return not equal(value, operand)",
        "return value is not MISSING and value != operand",
        "R12",
    ),
    ("model/matching.py", "        return a is b\n", "        return bool(a == b)\n", "R12"),
    ("systems/robotmem/recipe.py", "math.inf if each is None else each", "-1 if each is None else each", "R13"),
    ("model/matching.py", "apart <= near.within or math.isclose", "apart < near.within and not math.isclose", "R13"),
    ("systems/robotmem/recipe.py", '"real"}', '"sim"}', "R8"),
    ("recall/run.py", 'CONTAINED_KINDS = ("cue", "stage", "after")', 'CONTAINED_KINDS = ("stage", "after")', "R16"),
    (
        "systems/robotmem/robot.py",
        "if duplicate is not None:\n            return",
        "if False:\n            return",
        "R18",
    ),
    (
        "systems/robotmem/robot.py",
        "json.loads(context) if context.strip()",
        "{NOTE: context} if context.strip()",
        "R11",
    ),
    ("systems/robotmem/robot.py", '.startswith(("{", "["))', '.startswith(("{",))', "R11"),
    ("store/rows.py", '{} if value == "{}" else json.loads(value)', '{} if value == "{}" else value', "R11"),
    # OpenClaw and QMD
    ("systems/openclaw/recipe.py", "replace(self._words(), every=True)", "self._words()", "O7"),
    ("recall/fusion.py", 'total("1 + r", leaf(1.0, "1"), r)', 'total("1 + r", leaf(2.0, "1"), r)', "O8"),
    (OPENCLAW, "candidate_multiplier: int = 4", "candidate_multiplier: int = 3", "O9"),
    (OPENCLAW, "vector_weight: float = 0.7", "vector_weight: float = 0.6", "O10"),
    (OPENCLAW, "text_weight: float = 0.3", "text_weight: float = 0.4", "O10"),
    (OPENCLAW, "MIN_SCORE = 0.35", "MIN_SCORE = 0.34", "O11"),
    (OPENCLAW, "k=6,", "k=7,", "O11"),
    ("systems/openclaw/recipe.py", "scores >= self.minimum", "scores > self.minimum", "O11"),
    ("ingest/chunking.py", "tokens: int = 400", "tokens: int = 380", "O13"),
    ("ingest/chunking.py", "overlap: int = 80", "overlap: int = 60", "O13"),
    ("ingest/chunking.py", "best = self._start_within_line(lowest, best)", "pass", "O13"),
    ("systems/qmd/recipe.py", "bonus=(0.05, 0.02, 0.02)", "bonus=(0.05, 0.02)", "O21"),
    ("systems/qmd/recipe.py", "top=0.85, gap=0.15", "top=0.85, gap=0.2", "O21"),
    ("systems/qmd/recipe.py", "(10, 0.60)", "(10, 0.61)", "O21"),
    ("systems/qmd/recipe.py", '{"words": 2.0, "vectors": 2.0}', '{"words": 2.0, "vectors": 1.0}', "O21"),
    ("systems/qmd/recipe.py", "rerank_top: int = 40", "rerank_top: int = 41", "O21"),
    ("systems/openclaw/tools.py", "preferences or todos; returns", "preferences; returns", "O1"),
    ("systems/openclaw/tools.py", "if sentences else", "if True else", "O1"),
    ("ingest/folder.py", '("MEMORY.md", "memory.md", "memory")]', '("MEMORY.md", "memory.md")]', "O3"),
    (
        "ingest/folder.py",
        'sources: tuple[Source, ...] = ("memory",)',
        'sources: tuple[Source, ...] = ("memory", "sessions")',
        "O3",
    ),
    ("embed/services.py", "text-embedding-3-small", "text-embedding-3-large", "O5"),
    ("embed/services.py", '"gemini-embedding-001"', '"gemini-embedding-002"', "O5"),
    (OPENCLAW, 'vector_weight / weight_sum, over="itself"', 'vector_weight / weight_sum, over="best"', "O6"),
    ("config/__init__.py", "[*current.value, *added]", "[*added]", "O12"),
    (
        "config/__init__.py",
        "[*_for_agent(settings, DEFAULTS), *_for_agent(settings, agent)]",
        "_for_agent(settings, DEFAULTS)",
        "O12",
    ),
    ("ingest/folder.py", "debounce: float = 1.5", "debounce: float = 2.5", "O14"),
    ("systems/openclaw/search.py", '"startLine": first,', '"startLine": first - 1,', "O15"),
    (
        "embed/cache.py",
        "self.embedder.provider, self.embedder.name, self.embedder.fingerprint",
        'self.embedder.provider, self.embedder.name, ""',
        "O16",
    ),
    ("embed/cache.py", "if hash not in entries}", "}", "O16"),
    ("embed/remote.py", "concurrency: int = 2", "concurrency: int = 3", "O17"),
    ("recall/query_cache.py", "if self._version != snapshot.version:", "if False:", "O18"),
    (
        "recall/query_cache.py",
        "len(self._entries) > self.settings.max_entries",
        "len(self._entries) > 9 + self.settings.max_entries",
        "O18",
    ),
    (
        "upkeep/probes.py",
        'return Probe(False, "there is no embedder"), None',
        'return Probe(True, "there is no embedder"), None',
        "O20",
    ),
    (
        "systems/openclaw/search.py",
        "vector_weight, text_weight = 1.0, 0.0",
        "vector_weight, text_weight = 0.9, 0.1",
        "O22",
    ),
    (
        "systems/openclaw/search.py",
        '(f"-L{last}" if last > first else "")',
        '(f"-L{last}" if last > first + 9 else "")',
        "O23",
    ),
    ("ingest/folder.py", "selected = lines[first - 1 :", "selected = lines[first:", "O2"),
    ("ingest/folder.py", "if first > len(lines):", "if first > len(lines) + 1:", "O2"),
    ("ingest/folder.py", "if not any(is_within(real, root)", "if False and any(is_within(real, root)", "O2"),
    ("ingest/folder.py", 'if ".." in requested.parts:', "if False:", "O2"),
    ("systems/openclaw/workspace.py", "if first < 1 or (", "if first < 0 or (", "O2"),
    ("systems/openclaw/workspace.py", 'start.get("from")', "None", "O2"),
    ("ingest/documents.py", "(chunk.first, chunk.last),", "(chunk.first, chunk.first),", "O4"),
    ("store/rows.py", "else (first, last))", "else (first, first))", "O4"),
    ("config/status_report.py", "fallback=choice.is_fallback", "fallback=False", "O19"),
    ("config/status_report.py", "chunks=len(store.chunk_ids(collection))", "chunks=len(files) + 1", "O19"),
    ("config/status_report.py", "return Probe(False, choice.reason)", "return Probe(True, choice.reason)", "O19"),
    ("config/status_report.py", 'space["name"] != choice.embedder.name', "False", "O19"),
    ("cli/inspect.py", '"  (the fallback)" if report.fallback', '"" if report.fallback', "O19"),
    # abmind
    (FULL_TEXT, 'leaf(0.1, "for each recall")', 'leaf(0.2, "for each recall")', "A5"),
    (FULL_TEXT, "np.where(relevance > 0, 0.2, 0.0)", "np.where(relevance >= 0, 0.2, 0.0)", "A5"),
    (FULL_TEXT, "np.where(credibility <= 2, 1.25, 1.0)", "np.where(credibility < 2, 1.25, 1.0)", "A5"),
    (FULL_TEXT, '[1.3 if tier == "core"', '[1.2 if tier == "core"', "A5"),
    (ABMIND, '"RECALL_DECAY_DAYS", 365.0', '"RECALL_DECAY_DAYS", 360.0', "A5"),
    (ABMIND, '"EMBEDDING_SIMILARITY_THRESHOLD", 0.5', '"EMBEDDING_SIMILARITY_THRESHOLD", 0.45', "A6"),
    (ABMIND, 'VectorsCue("Se", depth=times(3))', 'VectorsCue("Se", depth=times(2))', "A6"),
    (ABMIND, "min_similarity=0.65", "min_similarity=0.6", "A7"),
    (ABMIND, "depth=fixed(5)", "depth=fixed(6)", "A7"),
    (ABMIND, "zone, fixed_score=0.5", "zone, fixed_score=0.6", "A8"),
    ("systems/abmind/cues.py", "DUPLICATE_CHARACTERS = 80", "DUPLICATE_CHARACTERS = 70", "A8"),
    ("systems/abmind/cues.py", '("daily", "weekly", "quarterly")', '("daily", "weekly")', "A8"),
    (ABMIND, '"S8", fixed_score=0.6', '"S8", fixed_score=0.5', "A9"),
    (ABMIND, 'confirmed_by="Se", factor=0.5', 'confirmed_by="Se", factor=0.6', "A10"),
    (BOOSTS, "if 18 <= hour < 23", "if 18 <= hour < 22", "A11"),
    (ABMIND, "day=0.015", "day=0.02", "A11"),
    (BOOSTS, "return self.day / 2 if", "return self.day if", "A11"),
    (ABMIND, "limit=0.10", "limit=0.20", "A12"),
    (ABMIND, "(1, 1.15)", "(1, 1.1)", "A13"),
    (ABMIND, "last=20", "last=5", "A13"),
    (ABMIND, "last=20", "last=19", "A13"),
    (ABMIND, "relevance_weight=0.7", "relevance_weight=0.8", "A14"),
    (ABMIND, '"SIGNATURE_BITS", 256', '"SIGNATURE_BITS", 128', "A7"),
    ("recall/cues/plans.py", "if len(keys) >= run.k:", "if len(keys) > run.k:", "A1"),
    ("recall/cues/plans.py", "        if _needs_vector(self.cues()):", "        if False:", "A2"),
    (ABMIND, "per_point=0.02", "per_point=0.03", "A12"),
    (FULL_TEXT, 'product("emotion", leaf(0.5', 'product("emotion", leaf(0.6', "A5"),
    (ABMIND, '{"text": 1.0, "keywords": 1.0}', '{"text": 1.0}', "A3"),
    (ABMIND, '{"original": 1.0}', '{"text": 1.0}', "A3"),
    (ABMIND, "classification=classification,", "", "A4"),
    (ABMIND, "+ timedelta(microseconds=1)", "", "A4"),
    ("systems/abmind/stages.py", "⚠️ Conflicts with another result", "⚠️ Conflicts with other results", "A15"),
    ("systems/abmind/stages.py", "if topic and len(sharing) > 1:", "if topic and len(sharing) > 2:", "A15"),
    ("systems/abmind/stages.py", "in decided:", "in ():", "A15"),
    ("store/sqlite/store.py", "RECALL_TIMES = 20", "RECALL_TIMES = 19", "A17"),
    (ABMIND, 'RecordUse(("recall",))', 'RecordUse(("access",))', "A17"),
    (ABMIND, '"MEMORY_SEARCH_MODE") or "hybrid"', '"MEMORY_SEARCH_MODE") or "keyword"', "A18"),
    ("embed/services.py", 'MODEL = "nomic-embed-text"', 'MODEL = "nomic-embed"', "A18"),
    ("recall/trace.py", "Stage {step.name}: {hits} hit", "Stage {step.name} {hits} hit", "A19"),
    (
        ABMIND,
        "DiversityRerank(relevance_weight=0.7),  # A14\n            Enrichment(zone),",
        "Enrichment(zone), DiversityRerank(relevance_weight=0.7),",
        "A16",
    ),
    (FULL_TEXT, "first.setdefault(key, (number, place))", "first[key] = (number, place)", "A16"),
    ("recall/fusion.py", "which.setdefault(key, (number, place))", "which[key] = (number, place)", "A16"),
    # OpenMem
    (OPENMEM, "depth=times(4)", "depth=times(3)", "M1"),
    (OPENMEM, "max_hops: int = 2", "max_hops: int = 3", "M4"),
    (OPENMEM, "decay_per_hop: float = 0.5", "decay_per_hop: float = 0.4", "M4"),
    (OPENMEM, '"recency": 0.2, "strength": 0.2', '"recency": 0.2, "strength": 0.25', "M5"),
    (OPENMEM, "rate=0.05", "rate=0.06", "M6"),
    ("mind.py", "rate: float = 0.01", "rate: float = 0.02", "M7"),
    (COMPETITION, '"superseded": 0.5, "contradicted": 0.3}', '"superseded": 0.5, "contradicted": 0.4}', "M9"),
    (OPENMEM, "ContradictionPenalty(penalty=0.3)", "ContradictionPenalty(penalty=0.4)", "M10"),
    (COMPETITION, "totals <= self.budget", "totals < self.budget", "M11"),
    (OPENMEM, 'CueWeight("words", 1.0, over="best")', 'CueWeight("words", 1.0, over="itself")', "M2"),
    (OPENMEM, '{"text": 1.0, "summary": 1.0, "entities": 1.0}', '{"text": 1.0, "entities": 1.0}', "M1"),
    ("recall/stages/links.py", 'leaf(self.decay, "decay")', 'leaf(self.decay**hop, "decay")', "M3"),
    ("recall/stages/links.py", "((a, b), (b, a))", "((a, b),)", "M4"),
    (OPENMEM, "characters=4", "characters=3", "M11"),
    ("recall/stages/links.py", "hop {hop}, from {ids[at]}", "hop {hop}", "M12"),
    (
        "model/memory.py",
        '"How certain it is, from 0 to 1.",\n            low=0,',
        '"How certain it is, from 0 to 1.",\n            low=-1,',
        "M8",
    ),
    (
        "model/memory.py",
        '"How certain it is, from 0 to 1.",\n            low=0,\n            high=1,',
        '"How certain it is, from 0 to 1.",\n            low=0,\n            high=2,',
        "M8",
    ),
    ("ingest/writer.py", 'status="contradicted")', 'status="contradicted", confidence=0.3)', "M8"),
    (
        "ingest/writer.py",
        "strength=min(1.0, memory.strength + amount)",
        "strength=min(1.0, memory.strength + amount), confidence=1.0",
        "M8",
    ),
    # Jeffs Brain
    ("systems/jeffsbrain/fusion.py", "DEFAULT_K = 60.0", "DEFAULT_K = 61.0", "J1"),
    ("systems/jeffsbrain/fusion.py", 'value is None or value == ""', "not value", "J1"),
    (JEFFSBRAIN, "rrf_k: float = 60", "rrf_k: float = 59", "J1"),
    (JEFFSBRAIN, "top_k: int = 10", "top_k: int = 11", "J3"),
    (JEFFSBRAIN, "candidate_k: int = 60", "candidate_k: int = 61", "J3"),
    (JEFFSBRAIN, "rerank_top_n: int = 20", "rerank_top_n: int = 21", "J3"),
    (MODES, "AGREE_WINDOW, AGREE_MIN = 3, 2", "AGREE_WINDOW, AGREE_MIN = 3, 3", "J4"),
    (MODES, "AGREE_WINDOW, AGREE_MIN = 3, 2", "AGREE_WINDOW, AGREE_MIN = 4, 2", "J4"),
    ("recall/stages/rerank.py", "SNIPPET_CHARACTERS = 280", "SNIPPET_CHARACTERS = 279", "J6"),
    (INTENT, r"totalled?|totalling)\b", r"totalled?)\b", "J7"),
    (INTENT, "rollup_for_preference: float = 0.9", "rollup_for_preference: float = 0.8", "J8"),
    (INTENT, "generic_for_fact: float = 0.75", "generic_for_fact: float = 0.7", "J9"),
    (INTENT, "not rollup and dated", "dated", "J9"),
    ("text/query_language.py", '("de", "het", "een", "en", "of")', '("de", "een", "en", "of")', "J12"),
    ("text/query_language.py", '("de", "het", "een", "en", "of")', '("het", "een", "en", "of")', "J12"),
    ("systems/jeffsbrain/cues.py", "MIN_TERM_LENGTH = 3", "MIN_TERM_LENGTH = 2", "J12"),
    (JEFFSBRAIN, "trigram_threshold: float = 0.3", "trigram_threshold: float = 0.31", "J13"),
    (JEFFSBRAIN, '"tags": 4.0', '"tags": 3.0', "J18"),
    (MODES, '"hybrid" if self.mode == "auto" else self.mode', '"semantic" if self.mode == "auto" else self.mode', "J2"),
    (MODES, 'run.log("ids", run.ids(rankings[0][:window]))', "pass", "J4"),
    ("recall/stages/rerank.py", "np.argsort(-scores", "np.argsort(scores", "J5"),
    (INTENT, "user_preference: float = 2.35", "user_preference: float = 2.3", "J8"),
    (INTENT, "global_preference: float = 2.1", "global_preference: float = 2.2", "J8"),
    (INTENT, "generic_for_preference: float = 0.82", "generic_for_preference: float = 0.8", "J8"),
    (INTENT, "single_fact: float = 2.2", "single_fact: float = 2.1", "J9"),
    (INTENT, "rollup_for_fact: float = 0.45", "rollup_for_fact: float = 0.5", "J9"),
    (INTENT, 'else product("both intents", *factors)', "else factors[1]", "J10"),
    (JEFFSBRAIN, 'return "" if term == query.strip().lower() else term', "return term", "J11"),
    (
        "recall/cues/plans.py",
        'if run.trace.steps[-1].outcome == "failed":\n                break',
        "if False:\n                break",
        "J14",
    ),
    ("recall/pipeline.py", "else start + request.deadline", "else start + 10 * request.deadline", "J15"),
    ("recall/run.py", "outcome.result(self.seconds_left())", "outcome.result()", "J15"),
    ("recall/run.py", "if self.seconds_left() == 0:", "if False:", "J15"),
    ("recall/pipeline.py", "        run.check_deadline()\n", "        pass\n", "J15"),
    ("recall/cues/plans.py", "for cue in self._cues:", "for cue in self._cues + self._cues[-1:]:", "J15"),
    ("threads.py", "return await to_thread(work, ", "return work(", "J15"),
    (MODES, 'return "empty_candidates"', 'return "empty"', "J16"),
    (MODES, '"attempts": [', '"tries": [', "J17"),
    (JEFFSBRAIN, '"title": 10.0', '"title": 9.0', "J18"),
]

# Imports the package of the copy first, so that the tests, whose folder has another, use it.
RUN = """
import sys
sys.path.insert(0, sys.argv[1])
import pytest
import recollect
from tests.contract.mutants import OnlyPromise
sys.exit(pytest.main(sys.argv[3:], plugins=[OnlyPromise(sys.argv[2].split())]))
"""


class OnlyPromise:
    """Runs only the tests that have one of these promises in their ``contract`` mark."""

    def __init__(self, ids: Iterable[str]) -> None:
        self.ids = set(ids)

    def pytest_collection_modifyitems(self, items: list[pytest.Item]) -> None:
        items[:] = [item for item in items if any(self.ids & set(mark.args) for mark in item.iter_markers("contract"))]


def passes(folder: Path, ids: Iterable[str]) -> bool:
    """Whether the tests of these promises pass with the package in a folder."""
    wanted = set(ids)
    files = sorted({str(TESTS / place.rpartition(":")[0]) for id, place in markers() if id in wanted})
    command = [sys.executable, "-c", RUN, str(folder), " ".join(sorted(wanted)), *files]
    command += ["-x", "-q", "--no-header", "-p", "no:cacheprovider", "-p", "no:xdist", "-m", "not slow"]
    environment = {**os.environ, "PYTHONPATH": f"{folder}{os.pathsep}{ROOT}"}
    try:
        done = subprocess.run(
            command, cwd=ROOT, env=environment, capture_output=True, text=True, timeout=TIMEOUT_SECONDS, check=False
        )
    except subprocess.TimeoutExpired:
        return False
    if done.returncode not in (pytest.ExitCode.OK, pytest.ExitCode.TESTS_FAILED):
        raise SystemExit(f"The tests of {', '.join(sorted(wanted))} did not run:\n{done.stdout}{done.stderr}")
    return done.returncode == pytest.ExitCode.OK


def mutate(folder: Path, mutant: Mutant) -> None:
    """Make the change in the copy."""
    file, old, new, id = mutant
    path = folder / "recollect" / file
    text = path.read_text("utf-8")
    if text.count(old) != 1:
        raise SystemExit(
            f"{id}: {file} has {old!r} {text.count(old)} times; correct the row in tests/contract/mutants.py."
        )
    path.write_text(text.replace(old, new), "utf-8")
    forget_bytecode(path)


def restore(folder: Path, mutant: Mutant) -> None:
    path = folder / "recollect" / mutant[0]
    shutil.copy2(ROOT / "recollect" / mutant[0], path)
    forget_bytecode(path)


def forget_bytecode(path: Path) -> None:
    """Python knows outdated bytecode by time and size alone, and a mutant may have the same."""
    for compiled in path.parent.glob(f"__pycache__/{path.stem}.*.pyc"):
        compiled.unlink()


def main(wanted: list[str]) -> int:
    chosen = [each for each in MUTANTS if not wanted or each[3] in wanted]
    survivors = []
    with tempfile.TemporaryDirectory() as temporary:
        folder = Path(temporary)
        shutil.copytree(ROOT / "recollect", folder / "recollect")
        if not passes(folder, [each[3] for each in chosen]):
            print("The tests of these promises fail without a mutant; see make contract.")
            return 1
        for mutant in chosen:
            start = time.monotonic()
            file, old, new, id = mutant
            mutate(folder, mutant)
            survived = passes(folder, [id])
            restore(folder, mutant)
            result, seconds = "SURVIVED" if survived else "killed", time.monotonic() - start
            print(f"{result:<9} {id:<4} {seconds:4.0f} s  {file}: {old} → {new}", flush=True)
            survivors += [mutant] if survived else []
    print(f"\n{len(chosen) - len(survivors)} of {len(chosen)} mutants killed.")
    return 1 if survivors else 0


if __name__ == "__main__":
    sys.exit(main(sys.argv[1:]))
