"""A folder of backups: blocks that backups share, named by their content, and a manifest for each backup.

A backup is a copy of the file in blocks of 16 KB. A block that an earlier backup has is not written again, so a
repeated backup costs what changed. Everything is written before the manifest that needs it, and nothing is ever
changed: a backup whose manifest is there is complete. Removing a backup removes its manifest, then the blocks that no
other one has.

With a passphrase (the extra ``encryption``), scrypt makes the keys. Blocks are named by a keyed hash and encrypted by
AES-256-GCM together with their name, and so are manifests, which contain the order of the blocks: nothing can be read,
exchanged or left out without the passphrase.

A folder may come from anywhere, so links in it are refused: what they lead to would be read, written or deleted.
"""

from __future__ import annotations

import hashlib
import hmac
import json
import os
import re
import secrets
import stat
import zlib
from collections.abc import Sequence
from dataclasses import asdict, dataclass, field
from datetime import datetime
from pathlib import Path
from typing import Protocol

from recollect.errors import InvalidInput, NotFound, StoreError
from recollect.model import JsonObject
from recollect.store.disk import TEMPORARY, Disk

FORMAT = 1
BLOCK_BYTES = 16 << 10  # four pages: ids are random, so a hundred new memories touch hundreds of pages
HEADER, LOCK, BLOCKS, MANIFESTS = "recollect-backup.json", "lock", "blocks", "manifests"
HASH_BYTES, SALT_BYTES, NONCE_BYTES = 32, 16, 12
SCRYPT = {"n": 1 << 16, "r": 8, "p": 1}  # 64 MB and about 0.2 s for each try of a passphrase
MAX_SCRYPT = {"n": 1 << 20, "r": 16, "p": 4}  # of a folder that somebody else may have written
PROOF = b"recollect backup"
MAX_HEADER_BYTES = 64 << 10
MAX_BLOCK_BYTES = BLOCK_BYTES + 1024  # packed and sealed
MAX_MANIFEST_BYTES = 1 << 30  # unpacked: a file of 100 GB has one of 430 MB
BLOCK_NAME = re.compile(rf"[0-9a-f]{{{2 * HASH_BYTES}}}")
MANIFEST_NAME = re.compile(r"[0-9A-Za-z.-]{1,100}")


@dataclass(frozen=True, slots=True)
class Manifest:
    """One backup: when it was made, of what, its blocks in order, and what a copy must contain to be right."""

    id: str
    at: str  # ISO 8601
    source: str
    database: int  # tells memories apart
    bytes: int
    hash: str  # of the whole file
    version: str
    counts: dict[str, int]  # rows by table
    blocks: list[str]
    receipts: list[JsonObject] = field(default_factory=list)  # of erasures, which a restore applies again
    format: int = FORMAT

    @property
    def moment(self) -> datetime:
        return datetime.fromisoformat(self.at)


class Seal(Protocol):
    """How files in the folder are named and protected."""

    def name(self, content: bytes) -> str:
        """The name of the file of a block."""

    def close(self, name: str, content: bytes) -> bytes:
        """The content of a file, sealed."""

    def open(self, name: str, sealed: bytes) -> bytes:
        """The content of a sealed file."""


class PlainSeal:
    """Not encrypted: a block is named by its hash, and a file begins with the hash of the rest."""

    def name(self, content: bytes) -> str:
        return hashlib.blake2b(content, digest_size=HASH_BYTES).hexdigest()

    def close(self, name: str, content: bytes) -> bytes:
        return self._hash(name, content) + content

    def open(self, name: str, sealed: bytes) -> bytes:
        content = sealed[HASH_BYTES:]
        if not hmac.compare_digest(self._hash(name, content), sealed[:HASH_BYTES]):
            raise StoreError("it does not match its hash")
        return content

    def _hash(self, name: str, content: bytes) -> bytes:
        return hashlib.blake2b(name.encode() + b"\0" + content, digest_size=HASH_BYTES).digest()


class PassphraseSeal:
    """Encrypted with keys that scrypt makes of a passphrase."""

    def __init__(self, passphrase: str, salt: bytes, scrypt: dict[str, int]) -> None:
        try:
            from cryptography.hazmat.primitives.ciphers.aead import AESGCM
        except ImportError:
            raise StoreError("Encrypted backups need the package cryptography: pip install '.[encryption]'") from None
        memory = 256 * scrypt["n"] * scrypt["r"]
        keys = hashlib.scrypt(passphrase.encode(), salt=salt, dklen=64, maxmem=memory, **scrypt)
        self._cipher, self._name_key = AESGCM(keys[:32]), keys[32:]

    def name(self, content: bytes) -> str:
        return hashlib.blake2b(content, key=self._name_key, digest_size=HASH_BYTES).hexdigest()

    def close(self, name: str, content: bytes) -> bytes:
        nonce = secrets.token_bytes(NONCE_BYTES)
        return nonce + self._cipher.encrypt(nonce, content, name.encode())

    def open(self, name: str, sealed: bytes) -> bytes:
        from cryptography.exceptions import InvalidTag

        try:
            return self._cipher.decrypt(sealed[:NONCE_BYTES], sealed[NONCE_BYTES:], name.encode())
        except (InvalidTag, ValueError):
            raise StoreError("it was changed, or is of another passphrase") from None


class BackupFolder:
    """The blocks and manifests in a folder. ``create`` makes the folder if there is none."""

    def __init__(
        self, path: Path, passphrase: str | None = None, disk: Disk | None = None, create: bool = False
    ) -> None:
        self.path = path
        self.disk = disk or Disk()
        self._written: list[Path] = []  # blocks that are to be synced before the manifest
        if passphrase == "":
            raise InvalidInput("The passphrase is empty; give one, or none for backups that are not encrypted.")
        header = path / HEADER
        for each in (header, path / MANIFESTS, path / BLOCKS, *sorted((path / BLOCKS).glob("[0-9a-f][0-9a-f]"))):
            refuse_link(each)
        if not header.exists():
            if not create:
                raise NotFound(f"There are no backups in {path} (no {HEADER}).")
            if not _is_free(path):
                raise InvalidInput(f"{path} is neither empty nor a folder of backups; choose another folder.")
            self.seal = self._create(header, passphrase)
        else:
            self.seal = self._open(header, passphrase)

    def _create(self, header: Path, passphrase: str | None) -> Seal:
        record: JsonObject = {"format": FORMAT, "encryption": None}
        seal: Seal = PlainSeal()
        if passphrase is not None:
            salt = secrets.token_bytes(SALT_BYTES)
            seal = PassphraseSeal(passphrase, salt, SCRYPT)
            proof = seal.close(HEADER, PROOF).hex()
            record["encryption"] = {"cipher": "AES-256-GCM", "salt": salt.hex(), "scrypt": SCRYPT, "proof": proof}
        self.disk.write(header, json.dumps(record, indent=1).encode())
        return seal

    def _open(self, header: Path, passphrase: str | None) -> Seal:
        try:
            record = json.loads(_read(header, MAX_HEADER_BYTES, self.disk))
            newer, encryption = record["format"] > FORMAT, record["encryption"]
        except StoreError as error:
            raise StoreError(f"{header} cannot be read: {error}.") from None
        except (ValueError, KeyError, TypeError, RecursionError):
            raise StoreError(f"{header} cannot be read: it is damaged, or of another program.") from None
        if newer:
            raise StoreError(f"{self.path} was written by a newer version of Recollect; upgrade to read it.")
        if encryption is None:
            if passphrase is not None:
                raise InvalidInput(f"The backups in {self.path} are not encrypted: give no passphrase.")
            return PlainSeal()
        if passphrase is None:
            raise InvalidInput(f"The backups in {self.path} are encrypted; give their passphrase.")
        try:
            salt, proof = bytes.fromhex(encryption["salt"]), bytes.fromhex(encryption["proof"])
            scrypt = {name: int(encryption["scrypt"][name]) for name in SCRYPT}
            if any(not 0 < scrypt[name] <= MAX_SCRYPT[name] for name in SCRYPT):
                raise ValueError
            seal = PassphraseSeal(passphrase, salt, scrypt)
        except (ValueError, KeyError, TypeError):
            raise StoreError(
                f"{header} is damaged: it does not say rightly how the backups are encrypted (salt, scrypt, proof). "
                "Put the file of a copy of this folder in its place."
            ) from None
        try:
            seal.open(HEADER, proof)
        except StoreError:
            raise InvalidInput(f"This is not the passphrase of the backups in {self.path}.") from None
        return seal

    # Blocks.

    def write_block(self, content: bytes, known: set[str]) -> tuple[str, int]:
        """Write a block unless it is known; its name, and how many bytes were written.

        A block that no complete backup has may be damaged by a power cut, so that it is there is not enough."""
        name = self.seal.name(content)
        path = self._block(name)
        if name in known:
            return name, 0
        known.add(name)
        sealed = self.seal.close(name, zlib.compress(content, 3))
        self.disk.write(path, sealed, sync=False)
        self._written.append(path)
        return name, len(sealed)

    def read_block(self, name: str) -> bytes:
        path = self._block(name)
        try:
            content = _unpack(self.seal.open(name, _read(path, MAX_BLOCK_BYTES, self.disk)), BLOCK_BYTES)
            if self.seal.name(content) != name:
                raise StoreError("it is another block")
            return content
        except (StoreError, zlib.error, OSError) as error:
            raise StoreError(f"The block {path} of the backup cannot be used: {error}.") from error

    def _block(self, name: str) -> Path:
        return self.path / BLOCKS / name[:2] / name

    # Manifests.

    def write_manifest(self, manifest: Manifest) -> None:
        self.disk.sync_all(self._written)
        self._written.clear()
        content = zlib.compress(json.dumps(asdict(manifest), ensure_ascii=False).encode())
        self.disk.write(self.path / MANIFESTS / manifest.id, self.seal.close(manifest.id, content))

    def manifests(self) -> tuple[list[Manifest], list[str]]:
        """All backups that can be read, oldest first, and what is wrong with the others."""
        found, problems = [], []
        for name in self.names():
            try:
                found.append(self.manifest(name))
            except StoreError as error:
                problems.append(str(error))
        return sorted(found, key=lambda each: (each.moment, each.id)), problems

    def names(self) -> list[str]:
        """The ids of all backups."""
        folder = self.path / MANIFESTS
        return sorted(each for each in os.listdir(folder) if not each.startswith(TEMPORARY)) if folder.is_dir() else []

    def manifest(self, name: str) -> Manifest:
        path = self.path / MANIFESTS / name
        try:
            content = _unpack(self.seal.open(name, _read(path, MAX_MANIFEST_BYTES, self.disk)), MAX_MANIFEST_BYTES)
            manifest = Manifest(**json.loads(content))
            _ = manifest.moment
            if (
                manifest.id != name
                or not MANIFEST_NAME.fullmatch(name)
                or not all(map(BLOCK_NAME.fullmatch, manifest.blocks))
            ):
                raise StoreError("it names files that are not of this backup")
            return manifest
        except (StoreError, zlib.error, ValueError, TypeError, OSError, RecursionError) as error:
            raise StoreError(f"The backup {path} cannot be used: {error}.") from error

    # Removing.

    def remove(self, manifests: Sequence[Manifest]) -> int:
        """Remove backups, and the blocks that no other backup has; how many bytes are free again."""
        for each in manifests:
            self.disk.delete(self.path / MANIFESTS / each.id)
        return self.remove_unused()

    def remove_unused(self) -> int:
        """Remove the blocks that no backup has; none while a backup cannot be read, as its blocks are not known.

        Nothing but blocks is removed: links are not followed, and other files stay."""
        manifests, problems = self.manifests()
        if problems:
            return 0
        used = {block for manifest in manifests for block in manifest.blocks}
        freed = 0
        for folder in sorted((self.path / BLOCKS).glob("*")):
            for path in sorted(folder.iterdir()) if folder.is_dir() and not folder.is_symlink() else ():
                ours = path.name.startswith(TEMPORARY) or BLOCK_NAME.fullmatch(path.name)
                if ours and path.name not in used:
                    freed += path.stat().st_size
                    self.disk.delete(path)
        return freed


def refuse_link(path: Path) -> None:
    """A StoreError if something in a folder of backups is a link."""
    if path.is_symlink():
        raise StoreError(
            f"{path} is a link, which is not followed in a folder of backups: others may have put it there. "
            "Put what it leads to in its place, or choose another folder."
        )


def _read(path: Path, max_bytes: int, disk: Disk) -> bytes:
    """Read a file that somebody else may have put there."""
    found = path.lstat()
    if not stat.S_ISREG(found.st_mode):
        raise StoreError("it is a link, or something else that is no file")
    if found.st_size > max_bytes:
        raise StoreError(f"it has {found.st_size:,} bytes, and may have {max_bytes:,}")
    return disk.read(path)


def _unpack(content: bytes, max_bytes: int) -> bytes:
    """Decompress what somebody else may have written."""
    unpacker = zlib.decompressobj()
    unpacked = unpacker.decompress(content, max_bytes + 1)
    if len(unpacked) > max_bytes or not unpacker.eof:
        raise StoreError("it is cut off, or larger than it may be")
    return unpacked


def _is_free(folder: Path) -> bool:
    """May a folder become one of backups? What an interrupted first backup left does not matter."""
    if not folder.exists():
        return True
    return folder.is_dir() and all(each.name.startswith(TEMPORARY) or each.name == LOCK for each in folder.iterdir())


def is_encrypted(folder: Path) -> bool | None:
    """Whether the backups in a folder are encrypted; None if there are none."""
    try:
        return json.loads(_read(folder / HEADER, MAX_HEADER_BYTES, Disk()))["encryption"] is not None
    except FileNotFoundError:
        return None
    except (StoreError, ValueError, KeyError, TypeError, OSError, RecursionError):
        return False  # opening it says what is wrong
