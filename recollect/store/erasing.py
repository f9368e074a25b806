"""Erasing for good, shared by all stores: what an erasure removed, its receipt, and the code that confirms it.

A receipt names the erased memories by salted hashes of their ids, never by content or its hash; one of everything that
belongs to a user, session, agent or collection has salted hashes of these names, too. A file has one salt, so that its
receipts can be checked together, in one pass over the ids.
"""

from __future__ import annotations

import hashlib
import hmac
import json
from collections.abc import Iterable, Mapping, Sequence
from dataclasses import dataclass, field
from datetime import datetime
from typing import Any, Protocol

from recollect.errors import InvalidInput
from recollect.model import check

HASH_BYTES = 16
CODE_LENGTH = 10  # characters


class Purge(Protocol):
    def __call__(self, kept: Iterable[str] = ()) -> int:
        """Remove what caches beside the store have, except for these texts, which remain; how many entries there
        were."""


@dataclass(frozen=True, slots=True)
class Receipt:
    """Proof of an erasure: when, what kinds of things and how many, and the hashed ids of the memories. ``bound`` has
    the hashed names of the user, session, agent or collection of whom everything was erased."""

    at: datetime
    removed: Mapping[str, int]
    salt: str  # hexadecimal, as are the hashes
    ids: tuple[str, ...]
    bound: Mapping[str, str] = field(default_factory=dict)

    def as_dict(self) -> dict[str, Any]:
        return {
            "receipt": 1,  # the version of this format
            "at": self.at.isoformat(),
            "removed": dict(self.removed),
            "salt": self.salt,
            "ids": list(self.ids),
            "bound": dict(self.bound),
        }

    def matching(self, ids: Iterable[str]) -> list[str]:
        """Those of these ids that the receipt names."""
        salt, erased = bytes.fromhex(self.salt), {*self.ids}
        return [id for id in ids if hash_id(salt, id) in erased]


@dataclass(frozen=True, slots=True)
class Remaining:
    """Something that an erasure does not reach, and why."""

    what: str
    names: tuple[str, ...]  # ids or paths
    why: str


@dataclass(frozen=True, slots=True)
class Erasure:
    """What an erasure removed, or would remove (a dry run); what remains; what is not finished, and why."""

    removed: Mapping[str, int]  # by kind of thing
    code: str  # confirms the erasure of exactly this set
    receipt: Receipt | None = None  # None for a dry run, and when none of the memories that were named is stored
    remaining: tuple[Remaining, ...] = ()
    pending: tuple[str, ...] = ()  # empty: no file has a byte of it any more
    dry_run: bool = field(default=False, kw_only=True)
    unfinished: bool = field(default=False, kw_only=True)  # is something pending that ``finish_erasures`` can do?

    def as_dict(self) -> dict[str, Any]:
        return {
            "removed": dict(self.removed),
            "remaining": [{"what": each.what, "names": list(each.names), "why": each.why} for each in self.remaining],
            "pending": list(self.pending),
            "dry_run": self.dry_run,
            "code": self.code,
            "receipt": None if self.receipt is None else self.receipt.as_dict(),
        }


def hash_id(salt: bytes, id: str) -> str:
    """The hash of an id or of another name."""
    return hmac.digest(salt, id.encode("utf-8", "surrogatepass"), "sha256")[:HASH_BYTES].hex()


def make_receipt(
    at: datetime, removed: Mapping[str, int], salt: bytes, ids: Iterable[str], bound: Mapping[str, str]
) -> Receipt:
    """The receipt of an erasure of these memories; ``bound`` names of whom everything was erased."""
    hashes = tuple(sorted(hash_id(salt, id) for id in ids))
    return Receipt(at, removed, salt.hex(), hashes, {kind: hash_id(salt, name) for kind, name in bound.items()})


def confirmation_code(
    salt: bytes, ids: Sequence[str], relations: Sequence[Sequence[str]], versions: Sequence[object] = ()
) -> str:
    """A short code for the erasure of exactly these memories and relations of this store.

    ``versions`` say of each memory when it last changed, so that the code does not confirm what was edited since. They
    are no hash of a content, because codes may be stored beside receipts."""
    memories = sorted(zip(ids, map(str, versions), strict=True)) if versions else sorted(ids)
    chosen = json.dumps([memories, sorted(map(list, relations))]).encode()
    return hmac.new(salt, b"erase" + chosen, hashlib.sha256).hexdigest()[:CODE_LENGTH]


def check_code(entered: str | None, code: str) -> None:
    if entered is not None and not hmac.compare_digest(check.string(entered, "code").encode(), code.encode()):
        raise InvalidInput(
            f"The code {entered!r} does not belong to what would be erased now: memories were added, changed or "
            "removed since the dry run, or the selection differs. Nothing was erased; do another dry run."
        )


def receipt_from_dict(record: Any) -> Receipt:
    """A receipt that ``Receipt.as_dict`` made."""
    try:
        removed = {check.string(name, "removed"): int(count) for name, count in record["removed"].items()}
        ids = tuple(check.string(id, "ids") for id in record["ids"])
        bound = {str(kind): check.string(hash, "bound") for kind, hash in record.get("bound", {}).items()}
        bytes.fromhex(record["salt"])
        return Receipt(check.moment(record["at"], "at"), removed, record["salt"], ids, bound)
    except (KeyError, TypeError, AttributeError, ValueError) as error:
        raise InvalidInput(
            "This is not the receipt of an erasure: it must be the JSON object that 'recollect erase' returned "
            'as "receipt", with at, removed, salt and ids.'
        ) from error
