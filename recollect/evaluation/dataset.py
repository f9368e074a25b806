"""Labelled questions: what is asked, when and of which memories, and which memories answer it."""

from __future__ import annotations

import hashlib
import json
import re
from bisect import bisect_left
from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass, field, replace
from datetime import UTC, datetime
from os import PathLike
from pathlib import Path
from typing import Any, Literal, get_args

from recollect.errors import InvalidInput
from recollect.mind import AnyFilterOrMapping, Mind
from recollect.model import Filter, Memory, When, as_filter, check
from recollect.recall.history import as_turns

NOTE_CHARACTERS = 200  # of a memory's text in a line of a template


@dataclass(frozen=True, slots=True)
class LabelledQuestion:
    """A question and the memories that answer it: by id or external id, each with a grade above 0.

    ``relevant`` is empty when no memory answers the question: a good recall then returns nothing.
    """

    text: str
    relevant: Mapping[str, int] = field(default_factory=dict)
    category: str = ""
    filter: AnyFilterOrMapping | None = None
    asked_at: datetime | None = None  # the time that counts as now
    as_of: When | None = None
    history: Sequence[tuple[str, str]] = ()  # the turns before it, oldest first: (role, text)


@dataclass(frozen=True, slots=True)
class LabelledSet:
    """Questions, and the memories to search where the set brings its own; each haystack is a collection."""

    name: str
    questions: Sequence[LabelledQuestion]
    memories: Sequence[Memory] = ()

    @property
    def answerable(self) -> list[LabelledQuestion]:
        return [each for each in self.questions if each.relevant]

    @property
    def unanswerable(self) -> list[LabelledQuestion]:
        return [each for each in self.questions if not each.relevant]

    def first(self, count: int) -> LabelledSet:
        """The first ``count`` questions and the haystacks that they search."""
        questions = self.questions[: check.count(count, "limit")]
        collections = {each.filter.collection for each in questions if isinstance(each.filter, Filter)}
        every = not collections or None in collections
        memories = [each for each in self.memories if every or each.collection in collections]
        return LabelledSet(self.name, questions, memories)


def resolve_ids(mind: Mind, labelled: LabelledSet) -> LabelledSet:
    """The same questions with complete ids: each may name an id, the beginning of one, or an external id."""
    memories = mind.list()
    ids = sorted(memory.id for memory in memories)
    external: dict[str, list[str]] = {}
    for memory in memories:
        if memory.external_id:
            external.setdefault(memory.external_id, []).append(memory.id)

    def complete(name: str) -> str:
        at = bisect_left(ids, name)
        if at < len(ids) and ids[at] == name:
            return name
        matches = external.get(name) or [each for each in ids[at : at + 2] if name and each.startswith(name)]
        if len(matches) == 1:
            return matches[0]
        where = f" in the collection {mind.collection!r}" if mind.collection else ""
        problem = "matches several memories" if matches else "matches no memory"
        raise InvalidInput(f"{name!r} {problem}{where}; give an id, the beginning of one, or an external id.")

    questions = []
    for question in labelled.questions:
        try:
            relevant = {complete(name): grade for name, grade in question.relevant.items()}
        except InvalidInput as problem:
            raise InvalidInput(f"“{question.text}”: {problem}") from None
        questions.append(replace(question, relevant=relevant))
    return replace(labelled, questions=questions)


def question_template(mind: Mind, count: int) -> list[dict[str, Any]]:
    """Lines to fill in: memories spread evenly over the file, each with an empty query."""
    memories = mind.list()
    step = max(1, len(memories) // max(1, count))
    return [
        {"query": "", "relevant": [each.id], "note": each.text[:NOTE_CHARACTERS]} for each in memories[::step][:count]
    ]


Unit = Literal["session", "turn"]
UNITS: tuple[Unit, ...] = get_args(Unit)
FIELDS = ("query", "relevant", "category", "filter", "as_of", "history", "note")  # of a user's own question
LOCOMO_CATEGORIES = {1: "multi-hop", 2: "temporal", 3: "open-domain", 4: "single-hop", 5: "adversarial"}
LOCOMO_TURN = re.compile(r"D:?(\d+):(\d+)")  # evidence in LoCoMo, including its typos
DATE_FORMATS = ("%I:%M %p on %d %B, %Y", "%Y/%m/%d %H:%M", "%Y/%m/%d")


def read(path: str | PathLike[str], *, unit: Unit = "session", split: str = "test") -> LabelledSet:
    """The labelled questions in a file or folder; the layout tells the format.

    ``unit``: what a memory is in LongMemEval, a session or a turn. ``split``: which file of a BEIR folder's ``qrels``.
    """
    source = Path(path)
    if unit not in UNITS:
        raise InvalidInput(f"unit must be {' or '.join(UNITS)}, not {unit!r}.")
    if source.is_dir():
        return read_beir(source, split)
    if not source.is_file():
        raise InvalidInput(f"There is no file or folder {source}.")
    if source.suffix != ".json":
        return read_own_questions(source)
    content = _parse_json(source.read_bytes(), str(source))
    if isinstance(content, list) and content and isinstance(content[0], dict):
        try:
            if "haystack_sessions" in content[0]:
                return read_longmemeval(source.stem, content, unit)
            if "conversation" in content[0]:
                return read_locomo(source.stem, content)
        except (KeyError, TypeError, AttributeError) as problem:
            raise InvalidInput(f"{source} is not as published: {type(problem).__name__} {problem}.") from None
    raise InvalidInput(
        f"{source} is neither LongMemEval's nor LoCoMo's file. Your own questions are JSON lines, in a file that ends "
        'with .jsonl: {"query": "…", "relevant": ["id"]}.'
    )


def read_own_questions(file: Path) -> LabelledSet:
    """A user's own questions, one JSON object per line; lines with an empty query, as in a template, are skipped."""
    questions = []
    for where, record in _json_lines(file):
        if unknown := record.keys() - set(FIELDS):
            raise InvalidInput(f"{where}: unknown field {min(unknown)!r}; a question has {', '.join(FIELDS)}.")
        try:
            query = check.string(record.get("query", ""), "query").strip()
            question = LabelledQuestion(
                text=query,
                relevant=_grades(record.get("relevant")),
                category=check.string(record.get("category", ""), "category"),
                filter=as_filter(record.get("filter")),
                as_of=None if record.get("as_of") is None else check.moment(record["as_of"], "as_of"),
                history=tuple((turn.role, turn.text) for turn in as_turns(record.get("history"))),
            )
        except InvalidInput as problem:
            raise InvalidInput(f"{where}: {problem}") from None
        if query:
            questions.append(question)
    if not questions:
        raise InvalidInput(f'{file} has no questions. Each is a line such as {{"query": "…", "relevant": ["id"]}}.')
    return LabelledSet(file.stem, questions)


def _grades(relevant: Any) -> dict[str, int]:
    if isinstance(relevant, str):
        relevant = [relevant]
    if isinstance(relevant, Mapping):
        return {check.string(id, "an id"): _grade(id, grade) for id, grade in relevant.items()}
    if not isinstance(relevant, Sequence):
        raise InvalidInput(
            "relevant must name the memories that answer: a list of ids, or an object of ids with grades. "
            "Use an empty list when no memory does."
        )
    return {check.string(id, "an id"): 1 for id in relevant}


def _grade(id: str, grade: Any) -> int:
    if check.integer(grade, f"the grade of {id!r}") < 1:
        raise InvalidInput(f"the grade of {id!r} must be at least 1, not {grade}; leave out what is not relevant.")
    return int(grade)


def read_beir(folder: Path, split: str) -> LabelledSet:
    """corpus.jsonl, queries.jsonl, and qrels.tsv or qrels/<split>.tsv. An optional "group" names the haystack."""
    qrels = next((each for each in (folder / "qrels" / f"{split}.tsv", folder / "qrels.tsv") if each.exists()), None)
    if qrels is None:
        splits = ", ".join(sorted(each.stem for each in folder.glob("qrels/*.tsv")))
        hint = f"It has the splits {splits}." if splits else "That is no BEIR layout."
        raise InvalidInput(f"There is neither qrels/{split}.tsv nor qrels.tsv in {folder}. {hint}")
    grades: dict[str, dict[str, int]] = {}
    for number, line in enumerate(qrels.read_text("utf-8").splitlines(), 1):
        match line.split("\t"):
            case [query, id, grade] if grade.strip().lstrip("-").isdigit():
                if int(grade) > 0:
                    grades.setdefault(query, {})[_hash_id(id)] = int(grade)
            case [*_] if number > 1:  # the first may be a heading
                raise InvalidInput(f"{qrels}, line {number} is not: query id, tab, document id, tab, a whole number.")
    memories = []
    for where, record in _json_lines(folder / "corpus.jsonl"):
        _require_text(where, record, "_id", "text")
        group, title = str(record.get("group", "main")), str(record.get("title") or "")
        memories.append(Memory(record["text"], title=title, collection=group, id=_hash_id(record["_id"])))
    questions = []
    for where, record in _json_lines(folder / "queries.jsonl"):
        _require_text(where, record, "_id", "text")
        if relevant := grades.get(record["_id"]):
            haystack = Filter(collection=str(record["group"])) if "group" in record else None
            questions.append(LabelledQuestion(record["text"], relevant, str(record.get("category", "")), haystack))
    return LabelledSet(folder.name, questions, memories)


def read_longmemeval(name: str, records: Sequence[Mapping[str, Any]], unit: Unit) -> LabelledSet:
    """Every question has its own haystack. A question whose id ends with ``_abs`` has no answer in it."""
    memories: list[Memory] = []
    questions = []
    for record in records:
        haystack = _hash_id(record["question_id"])
        relevant: dict[str, int] = {}
        sessions = zip(
            record["haystack_session_ids"], record["haystack_dates"], record["haystack_sessions"], strict=True
        )
        for number, (id, date, turns) in enumerate(sessions):
            session = list(_session_memories(haystack, number, _parse_date(date), turns, unit))
            memories += session
            if id in record["answer_session_ids"]:
                marked = [each for each, turn in zip(session, turns, strict=False) if turn.get("has_answer")]
                relevant |= dict.fromkeys((each.id for each in (unit == "turn" and marked) or session), 1)
        questions.append(
            LabelledQuestion(
                record["question"],
                {} if record["question_id"].endswith("_abs") else relevant,
                record["question_type"],
                Filter(collection=haystack),
                _parse_date(record["question_date"]),
            )
        )
    return LabelledSet(name, questions, memories)


def _session_memories(
    haystack: str, number: int, date: datetime, turns: Sequence[Mapping[str, Any]], unit: Unit
) -> Iterator[Memory]:
    session = _hash_id(haystack, number)
    texts = [f"{turn['role']}: {turn['content']}" for turn in turns]
    if unit == "session":
        yield Memory("\n".join(texts), collection=haystack, id=session, session=session, created=date)
        return
    for at, (turn, text) in enumerate(zip(turns, texts, strict=True)):
        yield Memory(
            text,
            collection=haystack,
            id=_hash_id(session, at),
            session=session,
            role=turn["role"],
            position=at,
            created=date,
        )


def read_locomo(name: str, records: Sequence[Mapping[str, Any]]) -> LabelledSet:
    """A conversation is a haystack, a turn a memory. Adversarial questions name the turn that seems to answer."""
    memories: list[Memory] = []
    questions = []
    for record in records:
        conversation, haystack = record["conversation"], _hash_id(record["sample_id"])
        ids = set()
        for key in conversation:
            if not re.fullmatch(r"session_\d+", key):
                continue
            date = _parse_date(conversation[f"{key}_date_time"])
            for at, turn in enumerate(conversation[key]):
                picture = f" [shares {turn['blip_caption']}]" if turn.get("blip_caption") else ""
                id = _hash_id(haystack, *_turn_ids([turn["dia_id"]]))
                ids.add(id)
                memories.append(
                    Memory(
                        f"{turn['speaker']}: {turn['text']}{picture}",
                        collection=haystack,
                        id=id,
                        session=key,
                        speaker=turn["speaker"],
                        position=at,
                        created=date,
                    )
                )
        last = max(memory.created for memory in memories if memory.collection == haystack and memory.created)
        for question in record["qa"]:
            evidence = [_hash_id(haystack, each) for each in _turn_ids(question.get("evidence", ()))]
            if relevant := {each: 1 for each in evidence if each in ids}:  # some name a turn that does not exist
                category = LOCOMO_CATEGORIES.get(question["category"], str(question["category"]))
                questions.append(
                    LabelledQuestion(question["question"], relevant, category, Filter(collection=haystack), last)
                )
    return LabelledSet(name, questions, memories)


def _turn_ids(evidence: Sequence[str]) -> list[str]:
    """D1:3 for "D1:03", and both for "D8:6; D9:17"."""
    return [f"D{int(a)}:{int(b)}" for each in evidence for a, b in LOCOMO_TURN.findall(each)]


def _hash_id(*parts: object) -> str:
    return hashlib.blake2s("\0".join(map(str, parts)).encode(), digest_size=8).hexdigest()


def _parse_date(text: str) -> datetime:
    """A date as LoCoMo and LongMemEval write it: "1:56 pm on 8 May, 2023", "2023/05/20 (Sat) 02:21"."""
    plain = re.sub(r"\s*\(\w+\)", "", text)
    for form in DATE_FORMATS:
        try:
            return datetime.strptime(plain, form).replace(tzinfo=UTC)
        except ValueError:
            continue
    raise InvalidInput(f"{text!r} is not a date as LoCoMo or LongMemEval write it.")


def _json_lines(file: Path) -> Iterator[tuple[str, dict[str, Any]]]:
    """The objects of a JSON lines file, each with its file and line for error messages."""
    try:
        stream = file.open("rb")
    except OSError as problem:
        raise InvalidInput(f"{file} cannot be read: {problem.strerror}.") from None
    with stream:
        for number, line in enumerate(stream, 1):
            if line.strip():
                where = f"{file}, line {number}"
                record = _parse_json(line, where)
                if not isinstance(record, dict):
                    raise InvalidInput(f"{where} must be a JSON object.")
                yield where, record


def _parse_json(text: bytes, where: str) -> Any:
    try:
        return json.loads(text.decode("utf-8-sig"))
    except UnicodeDecodeError as problem:
        place = f"byte {text[problem.start]:#04x} at column {problem.start + 1}"
        raise InvalidInput(f"{where} is not UTF-8 text: {place}.") from None
    except (ValueError, RecursionError) as problem:
        raise InvalidInput(f"{where} is no JSON: {problem}.") from None


def _require_text(where: str, record: Mapping[str, Any], *names: str) -> None:
    for name in names:
        if not isinstance(record.get(name), str):
            raise InvalidInput(f"{where} needs a text under {name!r}.")
