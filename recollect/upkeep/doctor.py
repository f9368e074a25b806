"""The doctor: checks the file of a memory, its indexes and its vectors, and repairs what it can."""

from __future__ import annotations

import os
import shutil
import stat
from collections.abc import Callable, Iterable, Iterator, Sequence
from contextlib import closing, suppress
from dataclasses import dataclass, field, replace
from datetime import UTC, datetime
from os import PathLike, fspath
from pathlib import Path
from typing import TYPE_CHECKING, Protocol

import numpy as np
from numpy.typing import NDArray

from recollect.embed import Embedder, TokenEmbedder, embed_accepted, version_named
from recollect.errors import EmbeddingError, InvalidInput, StoreError
from recollect.model import check
from recollect.store.base import EncodedText, LastBackup, Space
from recollect.store.postgres.connections import without_password
from recollect.store.sqlite.embedding_cache import APPLICATION_ID as CACHE_APPLICATION_ID
from recollect.store.sqlite.integrity import DAMAGED_PAGES, FileInspector, checkpoint_log, repair_file
from recollect.store.sqlite.integrity_rules import EXAMPLES, Finding
from recollect.store.sqlite.pages import accept_pages, inspect_pages
from recollect.store.sqlite.salvage import salvage_memories

if TYPE_CHECKING:
    from recollect.upkeep.salvage import SalvageReport

SAMPLE_SIZE = 64  # memories that are embedded again, to compare with their stored vectors
MIN_COSINE = 0.95  # of a vector and the same text embedded again; processors and float16 differ by less
MAX_LOG_BYTES = 64 << 20
MIN_FREE_BYTES = 64 << 20
OTHERS_WRITE = 0o002
NOT_OPENED, NOT_READ = "it cannot be opened", "it cannot be read"
OLDER_FORMAT = "an older format"
WRONG_CHECKSUMS = "wrong checksums"
DAMAGED_CACHE = "a damaged embedding cache"
CACHE_SUFFIX = "-vectors"
NOTHING_READABLE = "No memory can be read from the other pages."
USE_BACKUP = "If it was a memory, the best repair is a backup (recollect restore)."
UNREADABLE = (NOT_OPENED, NOT_READ, "damage", "missing table", WRONG_CHECKSUMS)  # findings that prevent further checks
BACKUP_NAME = "%s.before-doctor-%s"


class Inspector(Protocol):
    """A memory under examination: what is checked in the same way wherever it is stored."""

    @property
    def space(self) -> Space | None:
        """The model whose vectors are stored."""

    def texts(self) -> dict[str, str]:
        """By id: the text that is embedded."""

    def vectors(self) -> dict[str, NDArray[np.float64]]:
        """By id: the stored vector."""

    def without_sketches(self) -> set[str]:
        """The ids of memories with a vector and without a token sketch."""

    def folders(self) -> dict[str, str]:
        """By collection: the folder that is indexed."""

    def findings(self, now: datetime) -> list[Finding]:
        """What is wrong in the tables."""


@dataclass(frozen=True, slots=True)
class DoctorReport:
    """What the doctor found and, after a repair, what was repaired and where the backup is."""

    path: str
    findings: tuple[Finding, ...]
    mended: tuple[Finding, ...] = ()
    backup: str | None = None  # the copy that was made before a repair
    last_backup: LastBackup | None = None  # by recollect backup

    @property
    def healthy(self) -> bool:
        return not self.findings


@dataclass(slots=True)
class Doctor:
    """Checks one file, with the embedder that it is used with, if any.

    ``everything`` compares the vectors of all memories, not only of a sample.
    """

    path: str | PathLike[str]
    embedder: Embedder | None = None
    clock: Callable[[], datetime] = field(default=lambda: datetime.now(UTC))
    everything: bool = False
    other_findings: Sequence[Finding] = ()  # of the caller, for the report
    check_folder: Callable[[str], Iterable[Finding]] = lambda root: ()  # further checks of an indexed folder
    _wrong_vectors: tuple[str, ...] = ()
    _last_backup: LastBackup | None = None

    def diagnose(self) -> DoctorReport:
        """Check everything; nothing is changed."""
        path = fspath(self.path)
        self._last_backup = None
        if _is_server(path):
            findings = (*self.other_findings, *self._check_server(path))
            return DoctorReport(without_password(path), findings)
        content = (_offer_salvage(path, each) for each in self._check_content(path))
        findings = (*self.other_findings, *self._check_file(path), *content)
        return DoctorReport(path, findings, last_backup=self._last_backup)

    def repair(self) -> DoctorReport:
        """Check, back up the file, repair it in one transaction, and check again."""
        before = self.diagnose()
        if not any(finding.fix for finding in before.findings):
            return before
        if _is_server(fspath(self.path)):
            return self._repair_server(before)
        with suppress(PermissionError):  # only its owner may; then it stays a finding
            os.chmod(before.path, stat.S_IMODE(os.stat(before.path).st_mode) & ~OTHERS_WRITE)
        if any(each.name == DAMAGED_CACHE for each in before.findings):
            for suffix in ("", "-wal", "-shm"):
                Path(before.path + CACHE_SUFFIX + suffix).unlink(missing_ok=True)
        beyond_repair = any(each.name in UNREADABLE and not each.fix for each in before.findings)
        return self._diagnose_again(before, None if beyond_repair else self._repair_content(before))

    def rebuild(self) -> DoctorReport:
        """Make everything that is derived from the texts again: words, told times, indexes and, with an embedder,
        vectors. Answers stay the same. The file is copied first, as for a repair."""
        report = self.diagnose()
        if any(each.name in UNREADABLE for each in report.findings):
            return report
        if _is_server(fspath(self.path)):
            return self._repair_server(report, rebuild=True)
        backup = self._repair_content(report, rebuild=True)
        return replace(self.diagnose(), path=report.path, backup=backup)

    def salvage(self, to: str | PathLike[str]) -> SalvageReport:
        """Write what can be read of a file that is beyond repair to a new one; see salvage.py."""
        from recollect.upkeep.salvage import salvage

        if _is_server(fspath(self.path)):
            raise InvalidInput("Only a file can be salvaged; a server's operator has its own means.")
        return salvage(self.path, to, self.embedder, self.clock)

    def _repair_content(self, before: DoctorReport, rebuild: bool = False) -> str:
        """Back up and repair the content; returns the path of the backup."""
        now = check.moment(self.clock(), "the clock")
        backup = BACKUP_NAME % (before.path, now.strftime("%Y%m%d-%H%M%S-%f"))
        accepted = any(each.name == WRONG_CHECKSUMS for each in before.findings)
        if accepted:
            accept_pages(before.path, backup)
        with closing(FileInspector(before.path)) as inspector:
            if not accepted:
                inspector.copy_to(backup)
            shutil.copymode(before.path, backup)
            unreadable = not accepted and any(each.name in (*UNREADABLE, OLDER_FORMAT) for each in before.findings)
            vectors = {} if unreadable else self._make_vectors(inspector, all=rebuild)
        repair_file(before.path, self.clock, vectors, self._space if vectors else None, rebuild or accepted)
        checkpoint_log(before.path)
        return backup

    # A server: the database checks its own files, what is in the tables is checked here.

    def _check_server(self, url: str) -> Iterator[Finding]:
        from recollect.store.postgres.inspection import PostgresInspector

        try:
            inspector = PostgresInspector(url, self.clock)
        except StoreError as error:
            yield Finding(NOT_OPENED, "error", str(error), "Nothing can be recalled from it.")
            return
        with closing(inspector):
            try:
                yield from self._check_tables(inspector)
            except StoreError as error:
                yield Finding(NOT_READ, "error", str(error), "Recalls may fail, too.")

    def _repair_server(self, before: DoctorReport, rebuild: bool = False) -> DoctorReport:
        """No copy is made: a repair is one transaction, and dumps are the business of the server's operator."""
        from recollect.store.postgres.inspection import PostgresInspector

        with closing(PostgresInspector(fspath(self.path), self.clock)) as inspector:
            unreadable = any(each.name in UNREADABLE for each in before.findings)
            vectors = {} if unreadable else self._make_vectors(inspector, all=rebuild)
            inspector.repair(vectors, self._space if vectors else None, rebuild)
        return self._diagnose_again(before)

    def _diagnose_again(self, before: DoctorReport, backup: str | None = None) -> DoctorReport:
        """The report after a repair: what is left, and what is mended."""
        after = self.diagnose()
        remaining = {finding.name for finding in after.findings}
        mended = tuple(each for each in before.findings if each.fix and each.name not in remaining)
        return replace(after, path=before.path, mended=mended, backup=backup)

    @property
    def _space(self) -> Space | None:
        return Space(self.embedder.name, self.embedder.dim) if self.embedder else None

    # The file: its permissions, its log and the free disk space.

    def _check_file(self, path: str) -> Iterator[Finding]:
        if not os.path.exists(path):
            return
        mode = stat.S_IMODE(os.stat(path).st_mode)
        if mode & OTHERS_WRITE:
            yield Finding(
                "others may write",
                "warning",
                f"Every user of this machine may write {path} (mode {mode:o}).",
                "They can change or delete memories.",
                "removes that permission",
            )
        if not os.access(path, os.W_OK) or not os.access(os.path.dirname(path) or ".", os.W_OK):
            yield Finding(
                "read-only",
                "warning",
                f"You may not write {path} or its folder.",
                "Recall works; nothing can be remembered, and use is not counted.",
            )
        size = os.path.getsize(path)
        free = shutil.disk_usage(os.path.dirname(path) or ".").free
        if free < max(MIN_FREE_BYTES, size):
            yield Finding(
                "little room",
                "warning",
                f"The disk has {free / 1e6:,.0f} MB free; the file has {size / 1e6:,.0f} MB.",
                "A backup or a re-embedding may not fit. A full disk loses no memory that was acknowledged, but new "
                "ones cannot be stored.",
            )
        log = os.path.getsize(path + "-wal") if os.path.exists(path + "-wal") else 0
        if log > MAX_LOG_BYTES:
            yield Finding(
                "a long log",
                "warning",
                f"The write-ahead log has {log / 1e6:,.0f} MB.",
                "A reader that never closes prevents its checkpoint; opening and searching become slow.",
                "writes it into the file, if no reader uses it",
            )
        if _is_damaged_cache(path + CACHE_SUFFIX):
            yield Finding(
                DAMAGED_CACHE,
                "warning",
                f"Pages of the embedding cache {path}{CACHE_SUFFIX} do not match their checksums.",
                "Vectors are computed again instead of being read from it.",
                "deletes it; it contains nothing that cannot be made again",
            )

    # The content: tables, folders and vectors.

    def _check_content(self, path: str) -> Iterator[Finding]:
        try:
            if not os.path.exists(path):
                raise StoreError(f"There is no file {path}.")
            if finding := _check_pages(path):
                yield finding
                return
            inspector = FileInspector(path)
        except StoreError as error:
            yield Finding(NOT_OPENED, "error", str(error), f"Nothing can be recalled from it. {USE_BACKUP}")
            return
        try:
            self._last_backup = inspector.last_backup
            if inspector.pending:
                yield Finding(
                    OLDER_FORMAT,
                    "note",
                    f"The file needs the migrations {', '.join(inspector.pending)}.",
                    "An older version of Recollect wrote it; it is migrated when it is next written to.",
                    "migrates it",
                )
                return
            if not inspector.has_checksums:
                yield Finding(
                    "no checksums",
                    "note",
                    "The pages of the file have no checksums: an earlier version wrote it.",
                    "Damage may go unnoticed. It gets checksums when it is next opened for writing, if nothing else "
                    "has it open and the disk has room for a copy.",
                    "adds them, if nothing else has it open",
                )
            yield from self._check_tables(inspector)
        except StoreError as error:
            yield Finding(NOT_READ, "error", str(error), DAMAGED_PAGES)
        finally:
            inspector.close()

    def _check_tables(self, inspector: Inspector) -> Iterator[Finding]:
        findings = inspector.findings(check.moment(self.clock(), "the clock"))
        yield from findings
        if not any(each.name in UNREADABLE for each in findings):
            yield from self._check_folders(inspector)
            yield from self._check_vectors(inspector)

    def _check_folders(self, inspector: Inspector) -> Iterator[Finding]:
        folders = inspector.folders()
        for collection, root in folders.items():
            if not os.path.isdir(root):
                yield Finding(
                    "a folder that is not there",
                    "warning",
                    f"{root}, which the collection {collection} indexes, does not exist.",
                    "It was moved, or a disk is not mounted. What was read from it is still found; changes are not.",
                )
        for root in dict.fromkeys(folders.values()):
            yield from self.check_folder(root)

    def _check_vectors(self, inspector: Inspector) -> Iterator[Finding]:
        self._wrong_vectors = ()
        try:
            stored = inspector.space
            if self.embedder is not None and stored is not None:
                self.embedder = version_named(self.embedder, stored.name) or self.embedder
            current = self._space
        except EmbeddingError as error:  # a service is asked for its dimensions
            yield _embedder_fails(error)
            return
        if current is not None and stored is not None and stored != current:
            yield Finding(
                "vectors of another model",
                "error",
                f"The vectors were made by {stored.name} ({stored.dim} dimensions), the embedder is {current.name} "
                f"({current.dim}).",
                "They cannot be compared, so searches by meaning are refused. Choose that embedder again, or make all "
                "vectors again with recollect reembed.",
            )
            return
        texts, vectors = inspector.texts(), inspector.vectors()
        missing = texts.keys() - vectors.keys()
        if missing and (current or stored):
            yield Finding(
                "memories without a vector",
                "warning",
                f"Memories without a vector: {len(missing)} of {len(texts)}.",
                "They are found by words only: the embedder failed when they were written, or there was none.",
                "makes the vectors" if current else "",
                examples=tuple(sorted(missing)[:EXAMPLES]),
            )
        if self.embedder is not None:
            yield from self._check_refused({id: texts[id] for id in sorted(missing)[:SAMPLE_SIZE]})
            known = [id for id in vectors if id in texts]
            step = 1 if self.everything else max(1, -(-len(known) // SAMPLE_SIZE))
            yield from self._compare_vectors(
                {id: texts[id] for id in known[::step]}, vectors, inspector.without_sketches()
            )

    def _check_refused(self, texts: dict[str, str]) -> Iterator[Finding]:
        """Does the embedder accept the texts that have no vector?"""
        assert self.embedder is not None
        try:
            _, refused = self._embed(texts)
        except EmbeddingError:  # the comparison reports it
            return
        if refused:
            id, reason = next(iter(refused.items()))
            yield Finding(
                "texts that the embedder refuses",
                "warning",
                f"Memories whose texts {self.embedder.name} refuses: {len(refused)}. For {id} it says: {reason}",
                "They are found by words only; a shorter text (recollect edit) or another model may help.",
                examples=tuple(refused)[:EXAMPLES],
            )

    def _compare_vectors(
        self, texts: dict[str, str], vectors: dict[str, np.ndarray], tokenless: set[str]
    ) -> Iterator[Finding]:
        """Does the embedder still make the same vectors as those that are stored?"""
        assert self.embedder is not None
        try:
            new, _ = self._embed(texts or {"": "Does the embedder answer?"})
        except EmbeddingError as error:
            yield _embedder_fails(error)
            return
        texts = {id: text for id, text in texts.items() if id in new}
        if without_tokens := [id for id in texts if new[id][1] and id in tokenless]:
            yield Finding(
                "vectors without tokens",
                "note",
                f"Memories that have a vector and no token sketch: {len(without_tokens)} of {len(texts)} compared.",
                "An older version wrote them; they cannot be compared with a query token by token.",
                "makes them",
                examples=tuple(without_tokens[:EXAMPLES]),
            )
        wrong = [id for id in texts if float(new[id][0] @ vectors[id]) < MIN_COSINE and np.any(vectors[id])]
        if len(wrong) > len(texts) / 2 and len(texts) > 1:
            yield Finding(
                "an embedder that has changed",
                "error",
                f"Texts for which {self.embedder.name} now makes another vector: {len(wrong)} of {len(texts)}.",
                "It is another version of the model under the same name, so queries no longer match memories. Use the "
                "earlier version, or make all vectors again with recollect reembed.",
                examples=tuple(wrong[:EXAMPLES]),
            )
        elif wrong:
            self._wrong_vectors = tuple(wrong)
            yield Finding(
                "vectors of another text",
                "error",
                f"Memories that have the vector of another text: {len(wrong)} of {len(texts)} compared.",
                "Searches by meaning find them for the wrong queries.",
                "makes their vectors again",
                examples=tuple(wrong[:EXAMPLES]),
            )

    def _make_vectors(self, inspector: Inspector, all: bool = False) -> dict[str, tuple[str, EncodedText]]:
        """Vectors for the memories that have none, or a wrong one, or for all."""
        if self.embedder is None or inspector.space not in (None, self._space):
            return {}
        texts, vectors = inspector.texts(), inspector.vectors()
        wrong = {
            *self._wrong_vectors,
            *(inspector.without_sketches() if isinstance(self.embedder, TokenEmbedder) else ()),
        }
        wanted = {id: text for id, text in texts.items() if all or id not in vectors or id in wrong}
        try:
            encoded, _ = self._embed(wanted)
        except EmbeddingError:  # reported already
            return {}
        return {id: (wanted[id], vector) for id, vector in encoded.items()}

    def _embed(self, texts: dict[str, str]) -> tuple[dict[str, EncodedText], dict[str, str]]:
        """Vectors for these texts, and why others are refused; both by id."""
        assert self.embedder is not None
        encoded, refused = embed_accepted(self.embedder, list(texts.values()))
        vectors = {id: each for id, each in zip(texts, encoded, strict=True) if each is not None}
        return vectors, {id: refused[text] for id, text in texts.items() if text in refused}


def _offer_salvage(path: str, finding: Finding) -> Finding:
    """Say how much of a file that is beyond repair can be read."""
    if finding.fix or finding.name not in UNREADABLE or not os.path.isfile(path):
        return finding
    try:
        found = salvage_memories(Path(path))
    except OSError:
        return finding
    if not found.memories:
        return finding if finding.name == NOT_OPENED else replace(finding, means=f"{finding.means} {NOTHING_READABLE}")
    damaged = f", {len(found.unverified)} of them from damaged pages" if found.unverified else ""
    means = (
        f"{finding.means} Without one: memories that can still be read: {len(found.memories)}{damaged}. "
        f"'recollect --db {path} doctor --salvage NEW.db' writes them to a new file."
    )
    return replace(finding, means=means)


def _is_server(path: str) -> bool:
    return "://" in path and not path.startswith(("sqlite:", "file:"))


def _is_damaged_cache(path: str) -> bool:
    try:
        return os.path.exists(path) and inspect_pages(path, CACHE_APPLICATION_ID) is not None
    except StoreError:
        return True


def _check_pages(path: str) -> Finding | None:
    report = inspect_pages(path)
    if report is None:
        return None
    cause = (
        "A bad disk or memory, or another program has written to the file. Nothing is answered from these pages. The "
        "best repair is a backup (recollect restore)."
    )
    if not report.intact:
        return Finding(WRONG_CHECKSUMS, "error", report.what, cause, examples=report.ids[:EXAMPLES])
    return Finding(
        WRONG_CHECKSUMS,
        "error",
        report.what,
        f"{cause} Otherwise read the memories below again after the repair: their texts may be wrong.",
        "accepts the texts as they are now, and makes words and vectors again",
        examples=report.ids[:EXAMPLES],
    )


def _embedder_fails(error: EmbeddingError) -> Finding:
    return Finding(
        "the embedder fails",
        "error",
        str(error),
        "New memories are stored without vectors, and queries are answered by words only.",
    )
