"""Our side of the talk with peers: install them, start them, ask them in turn with ourselves."""

from __future__ import annotations

import json
import os
import subprocess
import sys
from collections.abc import Sequence
from contextlib import ExitStack
from dataclasses import dataclass
from pathlib import Path
from threading import Timer
from typing import Any

from bench.recall_speed import QUESTIONS, BenchMemory, K
from bench.report import HOME, Measurement, Report
from bench.synthetic_data import BenchQuery
from bench.timing import Action, Timing, interleave, timed
from recollect import Mind

PATIENCE = 3000.0  # seconds for a peer to load, or to answer
WORDS, HYBRID = "recall, words only", "recall, hybrid"


@dataclass(frozen=True, slots=True)
class Peer:
    """What to install, which program to run with it, what of ours stands beside it, and the goal."""

    requirement: str
    program: str
    about: str
    beside: tuple[str, ...]
    goal: float | None = None


PEERS = (
    Peer("robotmem==0.1.3", "bench.peers.robotmem", "robotmem (BM25 only)", (WORDS, HYBRID), 0.7),
    Peer("openmem-engine==0.4.0", "bench.peers.openmem", "openmem", (WORDS, HYBRID), 0.2),
    Peer("chromadb", "bench.peers.chroma", "chroma (vectors only)", (HYBRID,)),
)


class PeerProcess:
    """A running peer, or the problem that it had: then it is asked no more, and the others go on."""

    def __init__(self, peer: Peer, python: Path, folder: Path) -> None:
        self.peer, self.problem, self.version, self._said = peer, "", "", folder / "stderr"
        own = {"HOME": str(folder), "PYTHONPATH": str(HOME.parent), "HF_HUB_OFFLINE": "1"}
        command, pipe = [str(python), "-m", peer.program], subprocess.PIPE
        with self._said.open("w") as errors:
            self._process = subprocess.Popen(
                command, stdin=pipe, stdout=pipe, stderr=errors, text=True, env={**os.environ, **own}
            )

    def say(self, message: dict[str, Any]) -> dict[str, Any]:
        assert self._process.stdin is not None
        assert self._process.stdout is not None
        answer: dict[str, Any] = {}
        timer = Timer(PATIENCE, self._process.kill)
        timer.start()
        try:
            print(json.dumps(message), file=self._process.stdin, flush=True)
            answer = json.loads(self._process.stdout.readline())
        except (OSError, ValueError):
            self.problem = _last(self._said.read_text())
        timer.cancel()
        return answer

    def ask(self, question: BenchQuery) -> Timing:
        asked = {"text": question.text, "vector": question.vector.tolist(), "k": K}
        answer = {} if self.problem else self.say(asked)
        return Timing(answer.get("wall", 0.0), answer.get("cpu", 0.0))

    def close(self) -> None:
        self._process.kill()
        self._process.wait()


def compare_with_peers(scene: BenchMemory, rounds: int, cache: Path, folder: Path, report: Report) -> None:
    """Our recall, of words alone and whole, and every peer's ordinary one, question by question."""
    questions = scene.ask(rounds)
    versions = report.details.setdefault("peers", {})
    with ExitStack() as stack:
        words = stack.enter_context(Mind(scene.path, embedder=None))
        whole = stack.enter_context(Mind(scene.path, embedder=scene.embedder))
        actions: dict[str, Action] = {
            WORDS: timed(lambda n: words.recall(questions[n].text, K)),
            HYBRID: timed(lambda n: whole.recall(questions[n].text, K)),
        }
        talks, absent = start_peers(PEERS, scene, cache, folder, stack)
        for peer, problem in absent:
            failed(report, peer, problem)
        for talk in talks:
            versions[talk.peer.about] = talk.version or talk.problem
            actions[talk.peer.about] = lambda n, talk=talk: talk.ask(questions[n])  # type: ignore[misc]
        taken = interleave(actions, rounds * QUESTIONS, warm=QUESTIONS)
    for talk in talks:
        if talk.problem:
            failed(report, talk.peer, talk.problem)
            continue
        for ours in talk.peer.beside:
            theirs, goal = talk.peer.about, talk.peer.goal
            report.compare(f"{ours}, {scene.size:,}", taken[ours], taken[theirs], theirs, goal)


def start_peers(
    peers: Sequence[Peer], scene: BenchMemory, cache: Path, folder: Path, stack: ExitStack, **order: Any
) -> tuple[list[PeerProcess], list[tuple[Peer, str]]]:
    """Peers with the scene loaded, and those that could not be had, with their problem."""
    talks, absent = [], []
    for peer in peers:
        try:
            talk = PeerProcess(peer, peer_python(peer, cache), _made(folder / f"{peer.program}.{scene.size}"))
        except subprocess.CalledProcessError as problem:
            absent.append((peer, _last(problem.stderr)))
            continue
        stack.callback(talk.close)
        talk.version = talk.say({**_load(scene, folder, folder / f"{peer.program}.{scene.size}"), **order}).get(
            "version", ""
        )
        talks.append(talk)
    return talks, absent


def failed(report: Report, peer: Peer, problem: str) -> None:
    report.figures.append(Measurement("recall", None, None, f"{peer.requirement} failed: {problem}", peer.goal))


def _load(scene: BenchMemory, folder: Path, own: Path) -> dict[str, str]:
    texts, vectors = folder / "texts.jsonl", folder / "vectors.f32"
    texts.write_text("".join(json.dumps(text) + "\n" for text in scene.texts))
    scene.vectors.tofile(vectors)
    return {"texts": str(texts), "vectors": str(vectors), "folder": str(own)}


def peer_python(peer: Peer, cache: Path) -> Path:
    """The peer's own Python, made the first time."""
    place = cache / peer.requirement.replace("==", "-")
    python = place / "bin" / "python"
    if not (place / "ready").exists():
        make = [sys.executable, "-m", "venv", "--clear", str(place)]
        install = [str(python), "-m", "pip", "install", "--quiet", peer.requirement]
        for command in (make, install):
            subprocess.run(command, capture_output=True, text=True, check=True)
        (place / "ready").touch()
    return python


def _made(folder: Path) -> Path:
    folder.mkdir()
    return folder


def _last(said: str) -> str:
    return (said.strip().splitlines() or ["it ended without a word"])[-1]
