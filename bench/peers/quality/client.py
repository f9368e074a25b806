"""Our side: which peers there are, how they are installed, and what they answer."""

from __future__ import annotations

import json
import os
import sqlite3
import subprocess
import sys
import tempfile
import time
from collections.abc import Iterable
from dataclasses import dataclass, field
from pathlib import Path
from threading import Timer
from typing import Any

import numpy as np

from bench.datasets import Dataset
from bench.report import HOME
from recollect.embed import Embedder, embed_texts
from recollect.evaluation import DEPTH, LabelledQuestion, RecallAnswer
from recollect.model.filter import AllOf, Filter, Not
from recollect.store.text_fields import embedding_text


@dataclass(frozen=True, slots=True)
class Peer:
    """What to install, and which program of this folder to run with it."""

    program: str
    requirements: tuple[str, ...] = ()
    embeds: bool = True  # questions are embedded, which costs as much as it costs us


PEERS = {  # no name of a recipe is among them
    "SQLite FTS5": Peer("fts5", embeds=False),
    "bm25s": Peer("bm25s", ("bm25s==0.3.16",), embeds=False),
    "chromadb": Peer("chroma", ("chromadb",)),
    "LanceDB hybrid": Peer("lance", ("lancedb==0.40.0",)),
    "txtai hybrid": Peer("txt", ("txtai==9.14.0",)),
    "mempalace": Peer("palace", ("mempalace==3.11.0",)),
    "robotmem 0.1.3": Peer("robotmem", ("robotmem==0.1.3", "pysqlite3-binary")),
    "openmem-engine": Peer("openmem", ("openmem-engine==0.4.0", "numpy"), embeds=False),
    "langgraph store": Peer("langgraph", ("langgraph==1.2.20", "numpy")),
    "llama-index fusion": Peer("llama", ("llama-index-core==0.14.25", "llama-index-retrievers-bm25==0.8.0")),
}


@dataclass(slots=True)
class PeerAnswers:
    """What a peer said: an answer a question, its version, and the cost of a document; or its problem."""

    answers: list[RecallAnswer] = field(default_factory=list)
    version: str = ""
    document_ms: float = 0.0
    problem: str = ""


class PeerRequest:
    """A set as files: the same texts and vectors for all peers."""

    def __init__(self, set_: Dataset, embedder: Embedder, folder: Path) -> None:
        memories, self.questions = set_.labelled.memories, set_.labelled.answerable
        self.ids = [memory.id for memory in memories]
        self.folder, self.dim = folder, embedder.dim
        sessions: dict[tuple[str, str], list[int]] = {}
        for at, memory in enumerate(memories):
            sessions.setdefault((memory.collection, memory.session), []).append(at)
        texts = [embedding_text(each) for each in memories]  # what our own embedder reads
        groups = (each.collection for each in memories)
        _write(folder / "documents", ({"text": a, "group": b} for a, b in zip(texts, groups, strict=True)))
        _write(folder / "questions", (_asked(each, sessions) for each in self.questions))
        embed_texts(embedder, texts).tofile(folder / "document_vectors")
        asked = [embed_texts(embedder, [each.text], query=True)[0] for each in self.questions]
        np.stack(asked).tofile(folder / "question_vectors")

    def said(self, own: Path) -> dict[str, Any]:
        names = ("documents", "document_vectors", "questions", "question_vectors")
        files = {name: str(self.folder / name) for name in names}
        return {**files, "k": DEPTH, "dim": self.dim, "folder": str(own), "version": sqlite3.sqlite_version}


def _asked(question: LabelledQuestion, sessions: dict[tuple[str, str], list[int]]) -> dict[str, Any]:
    """The haystack is told as such; what a filter leaves out beside it, as places that must not come back."""
    match question.filter:
        case None:
            return {"text": question.text, "group": "main"}
        case Filter(collection=str(group)):
            return {"text": question.text, "group": group}
        case AllOf(of=(Filter(collection=str(group)), Not(of=Filter(session=str(session))))):
            return {"text": question.text, "group": group, "left_out": sessions.get((group, session), [])}
    raise ValueError(f"peers cannot be told of {question.filter!r}")


def ask(peer: Peer, orders: PeerRequest, cache: Path, patience: float = 600.0) -> PeerAnswers:
    """All questions of a set, put to one peer, which has so many seconds for all of it."""
    told = PeerAnswers(answers=[RecallAnswer((), 0.0, 0.0)] * len(orders.questions))
    try:
        python = environment(peer, cache)
    except subprocess.CalledProcessError as problem:
        told.problem = f"cannot be installed: {_last(problem.stderr)}"
        return told
    with tempfile.TemporaryDirectory(dir=cache, ignore_cleanup_errors=True) as folder:
        own = {"HOME": folder, "PYTHONPATH": str(HOME.parent), "HF_HUB_OFFLINE": "1", "ANONYMIZED_TELEMETRY": "False"}
        command = [str(python), "-m", f"bench.peers.quality.{peer.program}"]
        with (Path(folder) / "stderr").open("w+") as errors:
            process = subprocess.Popen(
                command,
                stdin=subprocess.PIPE,
                stdout=subprocess.PIPE,
                stderr=errors,
                text=True,
                env={**os.environ, **own},
            )
            timer = Timer(patience, process.kill)
            timer.start()
            began = time.monotonic()
            try:
                assert process.stdin is not None
                assert process.stdout is not None
                print(json.dumps(orders.said(Path(folder))), file=process.stdin, flush=True)
                count = _hear(process.stdout, orders, told)
            finally:
                timer.cancel()
                process.kill()
                process.wait()
            if count < len(orders.questions):
                errors.seek(0)
                late = time.monotonic() - began >= patience
                why = f"stopped after {patience:g} s" if late else _last(errors.read())
                told.problem = f"answered {count} of {len(orders.questions)}: {why}"
    return told


def _hear(lines: Iterable[str], orders: PeerRequest, told: PeerAnswers) -> int:
    """Take down what the peer says; how many questions it has answered."""
    count, documents, cpu = 0, 0, 0.0
    for line in lines:
        said = json.loads(line)
        if "at" in said:
            found = tuple(orders.ids[at] for at in said["found"])
            told.answers[said["at"]] = RecallAnswer(found, 0.0, said["cpu"])
            count += 1
        elif "documents" in said:
            documents, cpu = documents + said["documents"], cpu + said["cpu"]
            told.document_ms = round(cpu / documents * 1e3, 3)
        else:
            told.version = said["version"]
    return count


def environment(peer: Peer, cache: Path) -> Path:
    """The peer's own Python, made the first time; ours where it needs nothing."""
    if not peer.requirements:
        return Path(sys.executable)
    place = cache / "+".join(peer.requirements).replace("==", "-")
    python = place / "bin" / "python"
    if not (place / "ready").exists():
        make = [sys.executable, "-m", "venv", "--clear", str(place)]
        install = [str(python), "-m", "pip", "install", "--quiet", *peer.requirements]
        for command in (make, install):
            subprocess.run(command, capture_output=True, text=True, check=True)
        (place / "ready").touch()
    return python


def _write(file: Path, records: Iterable[dict[str, Any]]) -> None:
    file.write_text("".join(json.dumps(each, ensure_ascii=False) + "\n" for each in records), encoding="utf-8")


def _last(said: str) -> str:
    return _nameless((said.strip().splitlines() or ["it ended without a word"])[-1].strip())[:300]


def _nameless(text: str) -> str:
    """Without the paths of this machine, which errors may mention."""
    return text.replace(str(HOME.parent), ".").replace(str(Path.home()), "~")
