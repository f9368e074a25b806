"""What an operator does: dump and restore, export, doctor, re-embedding, and an index for large collections."""

from __future__ import annotations

import json
import os
import subprocess
from collections.abc import Sequence
from datetime import UTC, datetime
from pathlib import Path
from typing import Any

import numpy as np
import pytest

import recollect
from recollect import Mind
from recollect.embed import resolve_embedder
from recollect.errors import StoreError
from recollect.store.base import Bound
from recollect.store.postgres import PostgresStore
from recollect.store.postgres.statements import policy_settings
from recollect.store.postgres.vector_index import VectorIndex, build_indexes
from recollect.upkeep.copying import copy_store
from recollect.upkeep.doctor import Doctor
from tests.postgres.fixtures import Database
from tests.postgres.server import OWNER

NOW = datetime(2026, 1, 1, tzinfo=UTC)
TEXTS = [f"Parcel {number} is on shelf {number % 7} of the hall." for number in range(30)]


def answers(mind: Mind) -> list[tuple[str, float]]:
    return [(hit.id, hit.score) for query in ("parcel 3", "the hall") for hit in mind.recall(query, k=5)]


def run_program(database: Database, *command: str, **environment: str) -> None:
    programs = database.server.programs
    if programs is None or not (programs / command[0]).exists():
        pytest.skip(f"there is no {command[0]} here")
    done = subprocess.run(
        [str(programs / command[0]), *command[1:]], capture_output=True, text=True, env={**os.environ, **environment}
    )
    assert done.returncode == 0, done.stderr


@pytest.mark.parametrize("by", ["the owner", "a superuser"])
def test_a_dump_that_is_restored_gives_the_same_answers(database: Database, tmp_path: Path, by: str) -> None:
    dump, copy = str(tmp_path / "memory.dump"), f"{database.name}_copy"
    with recollect.open(database.url, embedder="local", clock=lambda: NOW) as mind:
        mind.remember_many({"text": text, "session": "s"} for text in TEXTS)
        mind.edit(mind.remember("The rent is 800 euros.").id, text="The rent is 950 euros.")
        expected = answers(mind)
    if by == "the owner":
        settings = " ".join(f"-c {name}={value}" for name, value in policy_settings(Bound()).items())
        options = ("--enable-row-security", "-f", dump, "-d", database.url)
        run_program(database, "pg_dump", "-Fc", *options, PGOPTIONS=settings)
    else:
        run_program(database, "pg_dump", "-Fc", "-f", dump, "-d", database.admin_url)
    database.server.create_database(copy)
    try:
        run_program(database, "pg_restore", "--no-comments", "-d", database.server.url(copy), dump)
        with recollect.open(database.server.url(copy, OWNER), embedder="local", clock=lambda: NOW) as restored:
            assert answers(restored) == expected
            (rent,) = restored.recall("rent", k=1)
            assert [memory.text for _, memory in restored.history(rent.id)] == ["The rent is 800 euros."]
            restored.remember("New memories have numbers of their own.")
    finally:
        database.server.drop_database(copy)


def test_an_export_is_read_by_a_file(database: Database, tmp_path: Path) -> None:
    with recollect.open(database.url, embedder=None) as mind, Mind(tmp_path / "file.db", embedder=None) as file:
        mind.remember_many(TEXTS)
        (tmp_path / "memory.jsonl").write_text("".join(f"{json.dumps(line)}\n" for line in mind.export()))
        file.import_from(tmp_path / "memory.jsonl")
        assert {each.id for each in file.list(limit=99)} == {each.id for each in mind.list(limit=99)}


def test_all_vectors_can_be_made_again_in_place(database: Database) -> None:
    class Reversed:
        """The local model with its numbers in the other order: another model, the same cosines."""

        name, dim = "reversed", 384

        def embed(self, texts: Sequence[str], query: bool = False) -> Any:
            local = resolve_embedder("local")
            assert local is not None
            return np.asarray(local.embed(texts, query=query))[:, ::-1].copy()

    with recollect.open(database.url, embedder="local") as mind:
        mind.remember_many(TEXTS)
    Mind.reembed(database.url, embedder=Reversed())
    with recollect.open(database.url, embedder=Reversed()) as mind:
        assert mind.status().store.spaces == [{"name": "reversed", "dim": 384, "active": True, "vectors": 30}]
        assert mind.recall("parcel 3 on the shelf", k=1)[0].text == TEXTS[3]


# Doctor.


def names(report: Any) -> set[str]:
    return {finding.name for finding in report.findings}


def test_doctor_finds_nothing_in_a_sound_memory(database: Database) -> None:
    with recollect.open(database.url, embedder="local") as mind:
        mind.remember_many(TEXTS)
    assert names(Doctor(database.url, resolve_embedder("local")).diagnose()) == set()


def test_doctor_repairs_what_others_have_broken(database: Database) -> None:
    with recollect.open(database.url, embedder="local", clock=lambda: NOW) as mind:
        mind.remember_many(TEXTS)
        expected = answers(mind)
    for statement in (
        "DELETE FROM recollect.postings WHERE row IN (SELECT min(row) FROM recollect.memories)",
        "INSERT INTO recollect.postings VALUES (1, 1, 999999, 1, 0)",
        "UPDATE recollect.memories SET lengths = '' WHERE row = (SELECT max(row) FROM recollect.memories)",
        "UPDATE recollect.vectors SET vector = '[1,2]' WHERE row = (SELECT max(row) FROM recollect.vectors)",
        "DELETE FROM recollect.vectors WHERE row = (SELECT min(row) FROM recollect.vectors)",
        "DROP INDEX recollect.edges_target",
        "ALTER TABLE recollect.memories NO FORCE ROW LEVEL SECURITY",
    ):
        database.server.execute(statement, database.name)
    doctor = Doctor(database.url, resolve_embedder("local"))
    assert names(doctor.diagnose()) == {
        *("missing index", "tables without row-level security", "words of no memory", "vectors of a wrong size"),
        *("words that are not those of the text", "memories without a vector"),
    }
    assert names(doctor.repair()) == set()
    with recollect.open(database.url, embedder="local", clock=lambda: NOW) as mind:
        assert answers(mind) == expected


def test_doctor_warns_of_a_role_that_bypasses_row_level_security(database: Database) -> None:
    recollect.open(database.url, embedder=None).close()
    assert names(Doctor(database.admin_url).diagnose()) == {"a role without row-level security"}


def test_doctor_tells_why_a_server_cannot_be_opened() -> None:
    assert names(Doctor("postgresql://nobody@127.0.0.1:1/memory").diagnose()) == {"it cannot be opened"}


def test_one_tenant_is_moved_to_another_server_beside_what_is_there(database: Database) -> None:
    tenant = Bound(collection="anna")
    with recollect.open(f"{database.url}&schema=old", embedder="local", clock=lambda: NOW) as old:
        old.remember_many({"text": text, "collection": name} for text in TEXTS for name in ("anna", "ben"))
        (first,) = old.recall("parcel 3", k=1, filter={"collection": "anna"})
        old.edit(first.id, text="Parcel 3 has left the hall.")
        with recollect.open(f"{database.url}&schema=new", embedder="local", clock=lambda: NOW) as new:
            new.remember("A cup.", collection="carla")
            source, copy = (
                Mind(store=mind.store, embedder="local", collection="anna", clock=lambda: NOW) for mind in (old, new)
            )
            before = answers(source)
            copy_store(old.store.within(tenant), new.store.within(tenant))
            assert answers(copy) == before
            assert [memory.text for _, memory in new.history(first.id)] == [first.text]
            assert new.status().store.collections == {"anna": len(TEXTS), "carla": 1}
            old.erase(collection="anna")
            assert old.status().store.collections == {"ben": len(TEXTS)}


# Approximate search.


def test_an_approximate_search_is_configured_built_and_said(database: Database) -> None:
    url = f"{database.url}&approximate=20"
    with recollect.open(url, embedder="local", collection="main", clock=lambda: NOW) as mind:
        mind.remember_many({"text": text, "user": "anna" if at % 3 else "ben"} for at, text in enumerate(TEXTS))
        (exact,) = [step for step in mind.recall("parcel 3").trace.steps if step.name == "vectors"]
        assert "approximate" not in exact.detail.get("search", "")
        expected = answers(mind)
    doctor = Doctor(url, resolve_embedder("local"))
    assert names(doctor.diagnose()) == {"large collections without a vector index"}
    assert names(doctor.repair()) == set()
    with recollect.open(url, embedder="local", collection="main", clock=lambda: NOW) as mind:
        recall = mind.recall("parcel 3")
        (step,) = [step for step in recall.trace.steps if step.name == "vectors"]
        assert step.detail["search"].startswith("approximate")
        assert answers(mind) == expected
    with recollect.open(url, embedder="local", collection="main", user="ben") as mind:
        few = mind.recall("parcel 3")  # ten of them: below the limit
        (step,) = [step for step in few.trace.steps if step.name == "vectors"]
        assert not step.detail.get("search", "").startswith("approximate")
        assert {hit.memory.user for hit in few} == {"ben"}


def test_a_pgvector_without_iterative_scans_searches_exactly_and_doctor_says_so(database: Database) -> None:
    url = f"{database.url}&approximate=20"
    with recollect.open(url, embedder="local", collection="main", clock=lambda: NOW) as mind:
        mind.remember_many(TEXTS)
        expected = answers(mind)
    doctor = Doctor(url, resolve_embedder("local"))
    doctor.repair()
    sql = "UPDATE pg_extension SET extversion = '0.7.4' WHERE extname = 'vector'"  # as before ALTER EXTENSION … UPDATE
    database.server.execute(sql, database.name)
    (finding,) = doctor.diagnose().findings
    assert finding.name == "pgvector is too old for approximate searches"
    assert "0.7.4" in finding.what
    assert "0.8" in finding.what
    with recollect.open(url, embedder="local", collection="main", clock=lambda: NOW) as mind:
        (step,) = [step for step in mind.recall("parcel 3").trace.steps if step.name == "vectors"]
        assert not step.detail.get("search", "").startswith("approximate")
        assert answers(mind) == expected
        assert isinstance(mind.store, PostgresStore)
        with pytest.raises(StoreError, match=r"pgvector 0\.7\.4: approximate= needs 0\.8"):
            build_indexes(mind.store.database, [VectorIndex(1, 1, 256)])
    database.server.execute("DROP INDEX recollect.vectors_near_1_1", database.name)
    assert names(doctor.repair()) == {finding.name}
    assert database.server.execute("SELECT to_regclass('recollect.vectors_near_1_1')", database.name) == [(None,)]
