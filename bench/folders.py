"""The area ``folders``: indexing, looking again, following and searching a folder of generated Markdown."""

from __future__ import annotations

import json
import random
import resource
import subprocess
import sys
import textwrap
import time
from argparse import Namespace
from dataclasses import dataclass
from pathlib import Path

from bench.report import HOME, Measurement, Report
from bench.synthetic_data import TextGenerator
from bench.timing import Timing, interleave, median_timing, timed
from recollect import Mind
from recollect.ingest.folder import FolderSettings
from recollect.recall.registry import get_recipe
from recollect.systems.openclaw.workspace import Workspace

PARTS = ("index", "unchanged", "watch", "search", "memory")
FILES, FILE_BYTES = 500, 12_000  # 6 MB
MANY = 5_000
LARGE = 100_000_000
VAULT = FolderSettings(layout="vault")
QUESTIONS = 30


@dataclass(frozen=True, slots=True)
class TimeLimit(Measurement):
    """Seconds that something may take, beside nothing else."""

    @property
    def met(self) -> bool | None:
        return None if self.goal is None or self.ours is None else self.ours.wall <= self.goal

    def cells(self) -> tuple[str, ...]:
        shown = "" if self.ours is None else f"{self.ours.wall * 1e3:.0f} ms"
        cpu = "" if self.ours is None else f"(cpu {self.ours.cpu * 1e3:.0f} ms)"
        met = {None: "", True: "yes", False: "NO"}[self.met]
        return self.name, shown, self.against, cpu, f"≤ {self.goal} s", met


@dataclass(frozen=True, slots=True)
class PeakMemory(Measurement):
    """Memory, in the place of seconds."""

    bytes: int = 0

    @property
    def met(self) -> bool | None:
        return None if self.goal is None else self.bytes < self.goal

    def cells(self) -> tuple[str, ...]:
        goal = "" if self.goal is None else f"< {self.goal / 1e6:.0f} MB"
        met = {None: "", True: "yes", False: "NO"}[self.met]
        return self.name, f"{self.bytes / 1e6:.0f} MB", self.against, "", goal, met


def run(options: Namespace, cache: Path, folder: Path, report: Report) -> None:
    """Folders and memories of this run live in the folder."""
    parts = options.parts or PARTS
    share = 10 if options.quick else 1
    writer = MarkdownGenerator()
    vault = writer.folder(folder / "vault", FILES // share, FILE_BYTES)
    if "index" in parts:
        indexing(vault, folder, min(options.rounds, 5), report)
    if "unchanged" in parts:
        unchanged(writer.folder(folder / "many", MANY // share, 1_000), folder, options.rounds, report)
    if "watch" in parts:
        following(vault, folder, options.rounds, report)
    if "search" in parts:
        searching(vault, writer.world, folder, options.rounds, report)
    if "memory" in parts:
        remembering(writer.folder(folder / "large", LARGE // share // 50_000, 50_000), folder, report)


class MarkdownGenerator:
    """Writes Markdown as people do: headings, paragraphs, lists, a table, code, front matter."""

    def __init__(self) -> None:
        self.world = TextGenerator()
        self.random = random.Random(3)
        self.texts = self.world.texts(4_000)

    def folder(self, path: Path, files: int, size: int) -> Path:
        for number in range(files):
            file = path / f"{number % 20:02}" / f"note-{number}.md"
            file.parent.mkdir(parents=True, exist_ok=True)
            file.write_text(self.note(number, size))
        return path

    def note(self, number: int, size: int) -> str:
        parts = [f"---\ntitle: Note {number}\ntags: [bench, t{number % 7}]\n---\n\n# Note {number}\n"]
        length = len(parts[0])
        while length < size:
            parts.append(self.random.choice((self.section, self.paragraph, self.items, self.code, self.table))())
            length += len(parts[-1]) + 1
        return "\n".join(parts)[:size] + "\n"

    def sentences(self, count: int) -> str:
        return " ".join(self.random.choices(self.texts, k=count))

    def section(self) -> str:
        return f"## {' '.join(self.random.choices(self.world.words, k=3)).title()}\n\n{self.paragraph()}"

    def paragraph(self) -> str:
        return textwrap.fill(self.sentences(3), 100) + "\n"

    def items(self) -> str:
        return "\n".join(f"- {self.sentences(1)}" for _ in range(4)) + "\n"

    def code(self) -> str:
        names = self.random.choices(self.world.words, k=6)
        return "```python\n" + "\n".join(f"{name} = load_{name}({at})" for at, name in enumerate(names)) + "\n```\n"

    def table(self) -> str:
        rows = [" | ".join(self.random.choices(self.world.words, k=3)) for _ in range(5)]
        return "\n".join(f"| {row} |" for row in ["a | b | c", "--- | --- | ---", *rows]) + "\n"


def indexing(vault: Path, folder: Path, rounds: int, report: Report) -> None:
    taken, told = [], {}
    for number in range(rounds):
        with Workspace(vault, db=folder / f"index-{number}.db", embedder=None, settings=VAULT) as space:
            timing = timed(lambda _, space=space: space.sync())(0)  # type: ignore[misc]
            taken.append(Timing(timing.cpu, timing.cpu))
            told = {"chunks": len(space.mind.store.chunk_ids(space.collection)), "wall": f"{timing.wall:.2f} s"}
    size = sum(file.stat().st_size for file in vault.rglob("*.md"))
    report.figures.append(TimeLimit(f"index {FILES} files, {size / 1e6:.1f} MB, CPU", median_timing(taken), goal=2.0))
    told["fastest turn"] = f"{min(each.cpu for each in taken):.2f} s"
    told["a bare loop of 5,000,000 sums in this run"] = f"{timed(lambda _: _loop())(0).cpu:.2f} s"
    report.details["indexing"] = told


def _loop() -> int:
    """A measure of the machine as it is now: with others at work, processor time is longer, too."""
    total = 0
    for number in range(5_000_000):
        total += number
    return total


def unchanged(many: Path, folder: Path, rounds: int, report: Report) -> None:
    with Workspace(many, db=folder / "many.db", embedder=None, settings=VAULT) as space:
        space.sync()
        time.sleep(2.5)  # what was written just now is read once more: its time does not tell yet
        space.sync()
        taken = [timed(lambda _: space.sync())(number) for number in range(rounds)]
    files = sum(1 for _ in many.rglob("*.md"))
    report.figures.append(TimeLimit(f"sync of {files:,} files, none changed", median_timing(taken), goal=0.3))


def following(vault: Path, folder: Path, rounds: int, report: Report) -> None:
    """From the write of a file to the search that finds it, the debounce of 1.5 s included."""
    taken = []
    with Workspace(vault, db=folder / "watch.db", embedder=None, settings=VAULT) as space, space.watch():
        while space.dirty:
            time.sleep(0.05)
        for number in range(rounds):
            word = f"zebrafinch{chr(97 + number)}"
            begun, cpu = time.perf_counter(), time.process_time()
            (vault / "00" / "note-0.md").write_text(f"# Followed\n\nA {word} was seen.\n")
            while not space.mind.recall(word, 1, recipe="openclaw", filter=space.scope, track=False):
                time.sleep(0.01)
            taken.append(Timing(time.perf_counter() - begun, time.process_time() - cpu))
    report.figures.append(TimeLimit("a changed file is found, under watch", median_timing(taken), goal=2.0))
    report.details["slowest to be found"] = {"seconds": round(max(each.wall for each in taken), 3)}


def searching(vault: Path, world: TextGenerator, folder: Path, rounds: int, report: Report) -> None:
    """The search of a folder beside a recall of the same texts, remembered one by one, by the same recipe."""
    settings = FolderSettings(layout="vault", on_search=False)
    words = random.Random(5)
    questions = [" ".join(words.sample(world.words[:3000], 2)) for _ in range((rounds + 1) * QUESTIONS)]
    recipe = get_recipe("openclaw", vector_weight=0.0, text_weight=1.0)
    with (
        Workspace(vault, db=folder / "search.db", embedder=None, settings=settings) as space,
        Mind(folder / "core.db", embedder=None, durability="fast") as mind,
    ):
        space.sync()
        mind.remember_many([memory.text for memory in space.mind.list()])
        taken = interleave(
            {
                "folder": timed(lambda n: space.search(questions[n])),
                "core": timed(lambda n: mind.recall(questions[n], 6, recipe=recipe)),
            },
            rounds * QUESTIONS,
            warm=QUESTIONS,
        )
    report.compare("search, 6 MB of files", taken["folder"], taken["core"], "recall of the same texts", 1.5)


def remembering(large: Path, folder: Path, report: Report) -> None:
    command = [sys.executable, "-m", "bench.folders", str(large), str(folder / "large.db")]
    done = subprocess.run(command, cwd=HOME.parent, capture_output=True, text=True, check=True)
    told = json.loads(done.stdout)
    megabytes = sum(file.stat().st_size for file in large.rglob("*.md")) / 1e6
    name = f"memory while indexing {megabytes:.0f} MB"
    report.figures.append(
        PeakMemory(name, goal=300e6, against=f"{told['before'] / 1e6:.0f} MB before", bytes=told["peak"])
    )
    report.details[name] = {"seconds": round(told["seconds"], 1), "chunks": told["chunks"]}


def main(root: str, db: str) -> None:
    """A process of its own: indexes a folder and says what memory that took."""
    with Workspace(root, db=db, embedder=None, settings=VAULT) as space:
        before = _peak()
        done = space.sync()
    print(json.dumps({"before": before, "peak": _peak(), "seconds": done.seconds, "chunks": done.chunks_added}))


def _peak() -> int:
    """The most that this process ever held; the system's own counter begins with what its parent held."""
    status = Path("/proc/self/status")
    if status.exists():
        (line,) = (line for line in status.read_text().splitlines() if line.startswith("VmHWM"))
        return int(line.split()[1]) * 1024
    return resource.getrusage(resource.RUSAGE_SELF).ru_maxrss * (1 if sys.platform == "darwin" else 1024)


if __name__ == "__main__":
    main(*sys.argv[1:])
