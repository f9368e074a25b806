"""Reads the labelled datasets of a folder; the fields of a record become fields of a Memory."""

from __future__ import annotations

import csv
import hashlib
import json
import re
from collections import Counter
from collections.abc import Iterator, Sequence
from dataclasses import dataclass
from datetime import UTC, datetime, timedelta
from pathlib import Path
from random import Random
from typing import Any

from recollect.evaluation import LabelledQuestion, LabelledSet
from recollect.evaluation import read as read_published
from recollect.evaluation.dataset import Unit
from recollect.model import Filter, Memory

FILES = ("corpus.jsonl", "queries.jsonl", "qrels.tsv", "queries_noanswer.jsonl")  # the last is not always there
# How dates are written; brackets and Chinese weekdays are taken away before.
DATES = (
    "%I:%M %p on %d %B, %Y",  # 1:56 pm on 8 May, 2023
    "%d.%m.%Y, %H:%M:%S",  # 29.12.2023, 00:51:12
    "%Y/%m/%d %H:%M",  # 2023/07/12 (Wed) 10:14
    "%Y-%m-%d %H:%M",  # 2025-07-14 20:41
    "%Y年%m月%d日 %H:%M",  # 2024年04月01日 周一 08:51
)
DAYS = ("%B-%d-%Y", "%Y-%m-%d")  # March-15-2024, 2025-12-19 (Friday)
WEEKDAY = re.compile(r"\s*(\([A-Z][a-z]+\)|周.)")
A_DAY = timedelta(days=1) - timedelta(microseconds=1)
# What a record must not tell: labels, answers, and what says where the answer is.
LABELS = {"has_answer", "evidence_in_head", "qid", "answer", "label", "clean", "edits", "expect"}
FIELDS = {"date", "session", "speaker", "role"}
OTHER_FIELDS = {"user"}
BEGINNING = datetime(2025, 1, 1, tzinfo=UTC)  # when memories without a date are written, and asked for


@dataclass(frozen=True, slots=True)
class Dataset:
    """A labelled set, and the fingerprints of its files."""

    labelled: LabelledSet
    files: dict[str, str]

    @property
    def name(self) -> str:
        return self.labelled.name


def read(folder: Path, limit: int | None = None) -> Dataset:
    """The set in a folder, with all of its questions or so many of each kind, drawn at random."""
    records, grades = list(_lines(folder / FILES[0])), _qrels(folder / FILES[2])
    told = [record for record in records if record["text"].strip()]  # a blank text is no memory
    memories = list(_memories(folder.name, told))
    users = {record["_id"]: record["meta"].get("user") for record in told}
    newest: dict[str, datetime] = {}
    for memory in memories:
        if memory.created:
            newest[memory.collection] = max(memory.created, newest.get(memory.collection, memory.created))
    questions = [
        _question(folder.name, record, grades.get(record["_id"], {}), newest, users)
        for file in (FILES[1], FILES[3])
        if (folder / file).exists()
        for record in _lines(folder / file)
        if record["text"].strip() and (file == FILES[3] or record["_id"] in grades)  # a blank question is refused
    ]
    files = {file: _sha256(folder / file) for file in FILES if (folder / file).exists()}
    return Dataset(LabelledSet(folder.name, _some(questions, limit), memories), files)


def published(path: Path, unit: Unit, limit: int | None = None) -> Dataset:
    """A benchmark as its makers publish it: LongMemEval's or LoCoMo's file, or a folder in BEIR layout."""
    labelled = read_published(path, unit=unit)
    name = f"{labelled.name}-{unit}" if path.is_file() else labelled.name
    files = [path] if path.is_file() else sorted(each for each in path.rglob("*") if each.suffix in (".jsonl", ".tsv"))
    questions = _some(labelled.questions, limit)
    return Dataset(LabelledSet(name, questions, labelled.memories), {each.name: _sha256(each) for each in files})


def _some(questions: Sequence[LabelledQuestion], limit: int | None) -> list[LabelledQuestion]:
    """All, or so many of those with an answer and of those without, drawn at random."""
    able, unable = ([each for each in questions if bool(each.relevant) is has] for has in (True, False))
    return [each for all_ in (able, unable) for each in Random(1).sample(all_, min(limit or len(all_), len(all_)))]


def names(data: Path) -> list[str]:
    return sorted(each.parent.name for each in data.glob("*/corpus.jsonl"))


def _memories(set_: str, records: list[dict[str, Any]]) -> Iterator[Memory]:
    """Records of a conversation (somebody says it, or it has a time or session) have a place in it."""
    places: Counter[tuple[str, str]] = Counter()
    said: dict[str, str] = {}  # the last date of each haystack: what follows without one was written then
    for record in records:
        meta, group = record["meta"], record["group"]
        date = said[group] = meta.get("date") or said.get(group, "")
        talk = meta.get("session", meta.get("batch"))
        session = "" if talk is None else _session(set_, group, str(talk), meta.get("qid"))
        place = None
        if FIELDS & meta.keys():
            place = places[group, session]
            places[group, session] += 1
        id = opaque(set_, record["_id"])
        yield Memory(
            text=record["text"],
            id=id,  # so that ties fall the same way in every store
            collection=group,
            external_id=id,
            user=meta.get("user", ""),
            session=session,
            speaker=meta.get("speaker", ""),
            role=meta.get("role", "") or _role(record["text"]),
            position=place,
            created=moment(date) if date else None,
            context={name: value for name, value in meta.items() if name not in LABELS | FIELDS | OTHER_FIELDS},
        )


def _role(text: str) -> str:
    """Who says it, where the text begins with that."""
    return next((role for role in ("user", "assistant") if text.startswith(f"{role}: ")), "")


def _question(
    set_: str,
    record: dict[str, Any],
    grades: dict[str, int],
    newest: dict[str, datetime],
    users: dict[str, str | None],
) -> LabelledQuestion:
    """Asked at its own date, or else when the newest memory of its haystack was made.

    By one user of that user's memories; of those of all users where it is about what another one said.
    """
    meta, group = record["meta"], record["group"]
    user = meta.get("user")
    about_others = bool(grades) and all(users.get(id) != user for id in grades)
    here = Filter(collection=group, user=None if about_others else user)
    left_out = meta.get("exclude_session")
    return LabelledQuestion(
        text=record["text"],
        relevant={opaque(set_, id): grade for id, grade in grades.items()},
        category=record["category"],
        filter=here if left_out is None else here & ~Filter(session=_session(set_, group, left_out)),
        asked_at=moment(meta["date"], end=True) if meta.get("date") else newest.get(group, BEGINNING),
        history=tuple((turn["role"], turn["text"]) for turn in meta.get("history", ())),
    )


def opaque(*parts: str) -> str:
    """A name that says nothing: ids such as ``answer_17`` would give the label away."""
    return hashlib.blake2s("\0".join(parts).encode(), digest_size=8).hexdigest()


def _session(set_: str, group: str, session: str, whose: str | None = None) -> str:
    return opaque(set_, group, whose or "", session)


def moment(text: str, end: bool = False) -> datetime:
    """A date in any of the ways above; a day alone is its beginning, or its end."""
    plain = WEEKDAY.sub("", text)
    for form in (*DATES, *DAYS):
        try:
            parsed = datetime.strptime(plain, form).replace(tzinfo=UTC)
        except ValueError:
            continue
        return parsed + A_DAY if end and form in DAYS else parsed
    raise ValueError(f"{text!r} is written like none of the dates that are known here.")


def _lines(file: Path) -> Iterator[dict[str, Any]]:
    with file.open(encoding="utf-8") as lines:
        yield from map(json.loads, lines)


def _qrels(file: Path) -> dict[str, dict[str, int]]:
    grades: dict[str, dict[str, int]] = {}
    with file.open(encoding="utf-8", newline="") as lines:
        for row in csv.DictReader(lines, delimiter="\t", quoting=csv.QUOTE_NONE):
            if int(row["grade"]) > 0:
                grades.setdefault(row["query_id"], {})[row["doc_id"]] = int(row["grade"])
    return grades


def _sha256(file: Path) -> str:
    with file.open("rb") as stream:
        return hashlib.file_digest(stream, "sha256").hexdigest()
