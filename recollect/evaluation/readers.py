"""Public benchmarks from their files: any folder in BEIR layout, LongMemEval and LoCoMo as published.

Their ids become opaque, for some of them tell which memories are the answer.
"""

from __future__ import annotations

import hashlib
import re
from collections.abc import Iterator, Mapping, Sequence
from datetime import UTC, datetime
from os import PathLike
from pathlib import Path
from typing import Any, Literal, get_args

from recollect.errors import InvalidInput
from recollect.evaluation.dataset import Labelled, Question
from recollect.evaluation.json_files import from_json, json_lines, needs
from recollect.evaluation.own_questions import own
from recollect.model import Filter, Memory

Unit = Literal["session", "turn"]
UNITS: tuple[Unit, ...] = get_args(Unit)
LOCOMO = {1: "multi-hop", 2: "temporal", 3: "open-domain", 4: "single-hop", 5: "adversarial"}
TURN = re.compile(r"D:?(\d+):(\d+)")  # evidence in LoCoMo, with the slips that it has


def read(path: str | PathLike[str], *, unit: Unit = "session", split: str = "test") -> Labelled:
    """What a file or folder holds, told by its layout.

    ``unit``: what a memory is in LongMemEval, a session or a turn. ``split``: which file of a BEIR folder's ``qrels``.
    """
    place = Path(path)
    if unit not in UNITS:
        raise InvalidInput(f"unit must be {' or '.join(UNITS)}, not {unit!r}.")
    if place.is_dir():
        return beir(place, split)
    if not place.is_file():
        raise InvalidInput(f"There is no file or folder {place}.")
    if place.suffix != ".json":
        return own(place)
    whole = from_json(place.read_bytes(), str(place))
    if isinstance(whole, list) and whole and isinstance(whole[0], dict):
        try:
            if "haystack_sessions" in whole[0]:
                return longmemeval(place.stem, whole, unit)
            if "conversation" in whole[0]:
                return locomo(place.stem, whole)
        except (KeyError, TypeError, AttributeError) as problem:
            raise InvalidInput(f"{place} is not as published: {type(problem).__name__} {problem}.") from None
    raise InvalidInput(
        f"{place} is neither LongMemEval's nor LoCoMo's file. Your own questions are JSON lines, in a file that ends "
        'with .jsonl: {"query": "…", "relevant": ["id"]}.'
    )


def beir(folder: Path, split: str) -> Labelled:
    """corpus.jsonl, queries.jsonl, and qrels.tsv or qrels/<split>.tsv. A "group", where there is one, is a haystack."""
    qrels = next((each for each in (folder / "qrels" / f"{split}.tsv", folder / "qrels.tsv") if each.exists()), None)
    if qrels is None:
        there = ", ".join(sorted(each.stem for each in folder.glob("qrels/*.tsv")))
        hint = f"It has the splits {there}." if there else "That is no BEIR layout."
        raise InvalidInput(f"There is neither qrels/{split}.tsv nor qrels.tsv in {folder}. {hint}")
    grades: dict[str, dict[str, int]] = {}
    for number, line in enumerate(qrels.read_text("utf-8").splitlines(), 1):
        match line.split("\t"):
            case [query, id, grade] if grade.strip().lstrip("-").isdigit():
                if int(grade) > 0:
                    grades.setdefault(query, {})[_opaque(id)] = int(grade)
            case [*_] if number > 1:  # the first may be a heading
                raise InvalidInput(f"{qrels}, line {number} is not: query id, tab, document id, tab, a whole number.")
    memories = []
    for where, each in json_lines(folder / "corpus.jsonl"):
        needs(where, each, "_id", "text")
        group, title = str(each.get("group", "main")), str(each.get("title") or "")
        memories.append(Memory(each["text"], title=title, collection=group, id=_opaque(each["_id"])))
    questions = []
    for where, each in json_lines(folder / "queries.jsonl"):
        needs(where, each, "_id", "text")
        if relevant := grades.get(each["_id"]):
            here = Filter(collection=str(each["group"])) if "group" in each else None
            questions.append(Question(each["text"], relevant, str(each.get("category", "")), here))
    return Labelled(folder.name, questions, memories)


def longmemeval(name: str, whole: Sequence[Mapping[str, Any]], unit: Unit) -> Labelled:
    """Every question has a haystack of its own. One that ends with ``_abs`` has no answer in it."""
    memories: list[Memory] = []
    questions = []
    for asked in whole:
        haystack = _opaque(asked["question_id"])
        relevant: dict[str, int] = {}
        sessions = zip(asked["haystack_session_ids"], asked["haystack_dates"], asked["haystack_sessions"], strict=True)
        for number, (id, date, turns) in enumerate(sessions):
            said = list(_session(haystack, number, _moment(date), turns, unit))
            memories += said
            if id in asked["answer_session_ids"]:
                marked = [each for each, turn in zip(said, turns, strict=False) if turn.get("has_answer")]
                relevant |= dict.fromkeys((each.id for each in (unit == "turn" and marked) or said), 1)
        questions.append(
            Question(
                asked["question"],
                {} if asked["question_id"].endswith("_abs") else relevant,
                asked["question_type"],
                Filter(collection=haystack),
                _moment(asked["question_date"]),
            )
        )
    return Labelled(name, questions, memories)


def _session(
    haystack: str, number: int, date: datetime, turns: Sequence[Mapping[str, Any]], unit: Unit
) -> Iterator[Memory]:
    session = _opaque(haystack, number)
    texts = [f"{turn['role']}: {turn['content']}" for turn in turns]
    if unit == "session":
        yield Memory("\n".join(texts), collection=haystack, id=session, session=session, created=date)
        return
    for at, (turn, text) in enumerate(zip(turns, texts, strict=True)):
        yield Memory(
            text,
            collection=haystack,
            id=_opaque(session, at),
            session=session,
            role=turn["role"],
            position=at,
            created=date,
        )


def locomo(name: str, whole: Sequence[Mapping[str, Any]]) -> Labelled:
    """A conversation is a haystack, a turn a memory. Adversarial questions name the turn that seems to answer."""
    memories: list[Memory] = []
    questions = []
    for sample in whole:
        talk, here = sample["conversation"], _opaque(sample["sample_id"])
        ids = set()
        for key in talk:
            if not re.fullmatch(r"session_\d+", key):
                continue
            date = _moment(talk[f"{key}_date_time"])
            for at, turn in enumerate(talk[key]):
                picture = f" [shares {turn['blip_caption']}]" if turn.get("blip_caption") else ""
                id = _opaque(here, *_turns([turn["dia_id"]]))
                ids.add(id)
                memories.append(
                    Memory(
                        f"{turn['speaker']}: {turn['text']}{picture}",
                        collection=here,
                        id=id,
                        session=key,
                        speaker=turn["speaker"],
                        position=at,
                        created=date,
                    )
                )
        last = max(memory.created for memory in memories if memory.collection == here and memory.created)
        for asked in sample["qa"]:
            named = [_opaque(here, each) for each in _turns(asked.get("evidence", ()))]
            if relevant := {each: 1 for each in named if each in ids}:  # a few name a turn that is not there
                kind = LOCOMO.get(asked["category"], str(asked["category"]))
                questions.append(Question(asked["question"], relevant, kind, Filter(collection=here), last))
    return Labelled(name, questions, memories)


def _turns(evidence: Sequence[str]) -> list[str]:
    """D1:3 for "D1:03", and both for "D8:6; D9:17"."""
    return [f"D{int(a)}:{int(b)}" for each in evidence for a, b in TURN.findall(each)]


def _opaque(*parts: object) -> str:
    return hashlib.blake2s("\0".join(map(str, parts)).encode(), digest_size=8).hexdigest()


def _moment(text: str) -> datetime:
    """As LoCoMo and LongMemEval write it: "1:56 pm on 8 May, 2023", "2023/05/20 (Sat) 02:21"."""
    plain = re.sub(r"\s*\(\w+\)", "", text)
    for form in ("%I:%M %p on %d %B, %Y", "%Y/%m/%d %H:%M", "%Y/%m/%d"):
        try:
            return datetime.strptime(plain, form).replace(tzinfo=UTC)
        except ValueError:
            continue
    raise InvalidInput(f"{text!r} is no date as LoCoMo or LongMemEval write it.")
