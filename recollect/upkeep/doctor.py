"""The doctor: looks whether a memory's file, its indexes and its vectors are sound, and mends what can be mended."""

from __future__ import annotations

import contextlib
import os
import shutil
import stat
from collections.abc import Callable, Iterable, Iterator, Sequence
from dataclasses import dataclass, field
from datetime import UTC, datetime
from os import PathLike, fspath

import numpy as np

from recollect.embed import Embedder, TokenEmbedder, encode_most
from recollect.errors import EmbeddingError, StoreError
from recollect.model import validation as check
from recollect.store.base import Encoded, Space
from recollect.store.sqlite.integrity import TORN, Patient, empty_log, mend
from recollect.store.sqlite.integrity_rules import EXAMPLES, Finding

SAMPLE = 64  # memories that are embedded again, to see whether the stored vectors are theirs
ALIKE = 0.95  # the least cosine of a vector and the same text embedded again; processors and float16 differ by less
LONG_LOG = 64 << 20  # bytes
LITTLE_ROOM = 64 << 20
OTHERS_WRITE = 0o002
CLOSED, TORN_APART = "it cannot be opened", "it cannot be read"
OLDER = "an older shape"
UNREADABLE = (CLOSED, TORN_APART, "damage", "missing table")  # what keeps the doctor from looking further
BACKUP = "%s.before-doctor-%s"


@dataclass(frozen=True, slots=True)
class Report:
    """What the doctor found and, after a treatment, what is mended and where the file was copied to before."""

    path: str
    findings: tuple[Finding, ...]
    mended: tuple[Finding, ...] = ()
    backup: str | None = None

    @property
    def healthy(self) -> bool:
        return not self.findings


@dataclass(slots=True)
class Doctor:
    """Examines one file, with the embedder that it is used with, if any.

    ``everything`` embeds all memories again to compare, not only some.
    """

    path: str | PathLike[str]
    embedder: Embedder | None = None
    clock: Callable[[], datetime] = field(default=lambda: datetime.now(UTC))
    everything: bool = False
    beside: Sequence[Finding] = ()  # findings of others that belong into the report
    in_folder: Callable[[str], Iterable[Finding]] = lambda root: ()  # the same, of a folder that is followed
    _stale: tuple[str, ...] = ()

    def examine(self) -> Report:
        """Look; nothing is changed."""
        path = fspath(self.path)
        return Report(path, (*self.beside, *self._around(path), *self._inside(path)))

    def treat(self) -> Report:
        """Look, copy the file, mend in one transaction, and look again."""
        before = self.examine()
        if not any(finding.fix for finding in before.findings):
            return before
        with contextlib.suppress(PermissionError):  # only its owner may; it stays a finding then
            os.chmod(before.path, stat.S_IMODE(os.stat(before.path).st_mode) & ~OTHERS_WRITE)
        hopeless = any(each.name in UNREADABLE and not each.fix for each in before.findings)
        backup = None if hopeless else self._mend(before)
        after = self.examine()
        left = {finding.name for finding in after.findings}
        mended = tuple(each for each in before.findings if each.fix and each.name not in left)
        return Report(before.path, after.findings, mended, backup)

    def _mend(self, before: Report) -> str:
        """Mend what is inside; where the copy from before is."""
        now = check.moment(self.clock(), "the clock")
        backup = BACKUP % (before.path, now.strftime("%Y%m%d-%H%M%S-%f"))
        patient = Patient(before.path)
        try:
            patient.back_up(backup)
            shutil.copymode(before.path, backup)
            unread = any(each.name in (*UNREADABLE, OLDER) for each in before.findings)
            fresh = {} if unread else self._fresh(patient)
        finally:
            patient.close()
        mend(before.path, self.clock, fresh, self._space if fresh else None)
        empty_log(before.path)
        return backup

    @property
    def _space(self) -> Space | None:
        return Space(self.embedder.name, self.embedder.dim) if self.embedder else None

    # Around the file: where it lies, who may write it, how much room there is.

    def _around(self, path: str) -> Iterator[Finding]:
        if not os.path.exists(path):
            return
        mode = stat.S_IMODE(os.stat(path).st_mode)
        if mode & OTHERS_WRITE:
            yield Finding(
                "others may write",
                "warning",
                f"{path} may be written by every user of this machine (mode {mode:o}).",
                "They can change or delete what is remembered.",
                "takes that right away",
            )
        if not os.access(path, os.W_OK) or not os.access(os.path.dirname(path) or ".", os.W_OK):
            yield Finding(
                "read-only",
                "warning",
                f"{path} or its folder cannot be written by you.",
                "It can be recalled from; nothing can be remembered, and use is not counted.",
            )
        size = os.path.getsize(path)
        free = shutil.disk_usage(os.path.dirname(path) or ".").free
        if free < max(LITTLE_ROOM, size):
            yield Finding(
                "little room",
                "warning",
                f"The disk has {free / 1e6:,.0f} MB left; the file has {size / 1e6:,.0f}.",
                "A backup, or making vectors anew, may not fit. A full disk loses nothing that was acknowledged, but "
                "takes nothing new.",
            )
        log = os.path.getsize(path + "-wal") if os.path.exists(path + "-wal") else 0
        if log > LONG_LOG:
            yield Finding(
                "a long log",
                "warning",
                f"The write-ahead log has {log / 1e6:,.0f} MB.",
                "A reader that never ends keeps it from being emptied; opening and searching become slow.",
                "writes it into the file, if no reader holds it",
            )

    # Inside it.

    def _inside(self, path: str) -> Iterator[Finding]:
        try:
            if not os.path.exists(path):
                raise StoreError(f"There is no memory at {path}.")
            patient = Patient(path)
        except StoreError as problem:
            yield Finding(CLOSED, "error", str(problem), "Nothing can be recalled from it.")
            return
        try:
            if patient.pending:
                yield Finding(
                    OLDER,
                    "note",
                    f"The file lacks the steps {', '.join(patient.pending)}.",
                    "An older version of Recollect wrote it; it is brought up to date when it is next written to.",
                    "brings it up to date",
                )
                return
            found = patient.findings(check.moment(self.clock(), "the clock"))
            yield from found
            if not any(each.name in UNREADABLE for each in found):
                yield from self._followed(patient)
                yield from self._vectors(patient)
        except StoreError as problem:
            yield Finding(TORN_APART, "error", str(problem), TORN)
        finally:
            patient.close()

    def _followed(self, patient: Patient) -> Iterator[Finding]:
        folders = patient.folders()
        for collection, root in folders.items():
            if not os.path.isdir(root):
                yield Finding(
                    "a folder that is not there",
                    "warning",
                    f"{root}, which the collection {collection} follows, is not there.",
                    "It has moved, or a disk is not mounted. What was read of it is still found; nothing new is.",
                )
        for root in dict.fromkeys(folders.values()):
            yield from self.in_folder(root)

    def _vectors(self, patient: Patient) -> Iterator[Finding]:
        self._stale = ()
        try:
            held, ours = patient.space, self._space
        except EmbeddingError as problem:  # a service that must be asked for its dimensions
            yield _failing(problem)
            return
        if ours is not None and held is not None and held != ours:
            yield Finding(
                "vectors of another model",
                "error",
                f"The vectors are by {held.name} ({held.dim} dimensions), the embedder is {ours.name} ({ours.dim}).",
                "They cannot be compared, so searches by meaning are refused. Choose that embedder again, or make all "
                "vectors anew with recollect reembed.",
            )
            return
        texts, vectors = patient.texts(), patient.vectors()
        missing = texts.keys() - vectors.keys()
        if missing and (ours or held):
            yield Finding(
                "memories without a vector",
                "warning",
                f"Memories that have no vector to be found by: {len(missing)} of {len(texts)}.",
                "They are found by words alone: the embedder failed when they were written, or there was none.",
                "makes the vectors" if ours else "",
                examples=tuple(sorted(missing)[:EXAMPLES]),
            )
        if self.embedder is not None:
            yield from self._refused({id: texts[id] for id in sorted(missing)[:SAMPLE]})
            known = [id for id in vectors if id in texts]
            step = 1 if self.everything else max(1, -(-len(known) // SAMPLE))
            yield from self._compared({id: texts[id] for id in known[::step]}, vectors, patient.tokenless())

    def _refused(self, texts: dict[str, str]) -> Iterator[Finding]:
        """Does the embedder take what has no vector?"""
        assert self.embedder is not None
        try:
            _, refused = self._embedded(texts)
        except EmbeddingError:  # the comparison says so
            return
        if refused:
            id, why = next(iter(refused.items()))
            yield Finding(
                "texts that the embedder refuses",
                "warning",
                f"Memories whose texts {self.embedder.name} does not take: {len(refused)}. Of {id} it says: {why}",
                "They are found by words alone; a shorter text (recollect edit) or another model may help.",
                examples=tuple(refused)[:EXAMPLES],
            )

    def _compared(
        self, texts: dict[str, str], vectors: dict[str, np.ndarray], tokenless: set[str]
    ) -> Iterator[Finding]:
        """Does the embedder say the same today as when the vectors were made?"""
        assert self.embedder is not None
        try:
            again, _ = self._embedded(texts or {"": "Does the embedder answer?"})
        except EmbeddingError as problem:
            yield _failing(problem)
            return
        texts = {id: text for id, text in texts.items() if id in again}
        if bare := [id for id in texts if again[id][1] and id in tokenless]:
            yield Finding(
                "vectors without tokens",
                "note",
                f"Memories of which the vector is kept and not the tokens: {len(bare)} of {len(texts)} compared.",
                "An older version wrote them; they cannot be compared with a question token by token.",
                "makes them",
                examples=tuple(bare[:EXAMPLES]),
            )
        off = [id for id in texts if float(again[id][0] @ vectors[id]) < ALIKE and np.any(vectors[id])]
        if len(off) > len(texts) / 2 and len(texts) > 1:
            yield Finding(
                "an embedder that has changed",
                "error",
                f"Texts to which {self.embedder.name} gives another vector than before: {len(off)} of {len(texts)}.",
                "It is another version of the model under the same name: questions and memories no longer meet. Choose "
                "the former one, or make all vectors anew with recollect reembed.",
                examples=tuple(off[:EXAMPLES]),
            )
        elif off:
            self._stale = tuple(off)
            yield Finding(
                "vectors of another text",
                "error",
                f"Memories that have the vector of another text: {len(off)} of {len(texts)} compared.",
                "They are found when something else is asked, and not when they are.",
                "makes their vectors anew",
                examples=tuple(off[:EXAMPLES]),
            )

    def _fresh(self, patient: Patient) -> dict[str, tuple[str, Encoded]]:
        """Vectors for what has none, or a wrong one."""
        if self.embedder is None or patient.space not in (None, self._space):
            return {}
        texts, vectors = patient.texts(), patient.vectors()
        wrong = {*self._stale, *(patient.tokenless() if isinstance(self.embedder, TokenEmbedder) else ())}
        wanted = {id: text for id, text in texts.items() if id not in vectors or id in wrong}
        try:
            made, _ = self._embedded(wanted)
        except EmbeddingError:  # the report says so already
            return {}
        return {id: (wanted[id], vector) for id, vector in made.items()}

    def _embedded(self, texts: dict[str, str]) -> tuple[dict[str, Encoded], dict[str, str]]:
        """Vectors for these texts, and why those without one are refused; both by id."""
        assert self.embedder is not None
        made, refused = encode_most(self.embedder, list(texts.values()))
        vectors = {id: each for id, each in zip(texts, made, strict=True) if each is not None}
        return vectors, {id: refused[text] for id, text in texts.items() if text in refused}


def _failing(problem: EmbeddingError) -> Finding:
    return Finding(
        "the embedder fails",
        "error",
        str(problem),
        "New memories are kept without vectors, and questions are answered by words alone.",
    )
