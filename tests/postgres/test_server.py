"""The server that the other tests run on: it starts on a fresh machine, and has what the store needs."""

from __future__ import annotations

import os
import subprocess
import sys
from pathlib import Path

import psycopg
import pytest

from tests.postgres.fixtures import Database
from tests.postgres.server import ENVIRONMENT_VARIABLE, OWNER


def test_a_test_has_a_database_of_its_own_with_the_extensions(database: Database) -> None:
    with psycopg.connect(database.url) as connection:
        names = {name for (name,) in connection.execute("SELECT extname FROM pg_extension")}
        nearest = connection.execute("SELECT '[1,2]'::halfvec <=> '[2,4]'::halfvec").fetchone()
        tables = connection.execute("SELECT count(*) FROM pg_tables WHERE schemaname = 'public'").fetchone()
    assert {"vector", "pg_trgm"} <= names
    assert nearest == (0.0,)
    assert tables == (0,)


def test_the_user_of_a_test_is_no_superuser(database: Database) -> None:
    with psycopg.connect(database.url) as connection:
        user = connection.execute("SELECT current_user, rolsuper FROM pg_roles WHERE rolname = current_user").fetchone()
    assert user == (OWNER, False)


@pytest.mark.slow
@pytest.mark.skipif(ENVIRONMENT_VARIABLE in os.environ, reason="the tests use a server that is there already")
def test_the_command_starts_a_server_and_leaves_nothing_behind(database: Database) -> None:
    command = [sys.executable, "-m", "tests.postgres.server"]
    with subprocess.Popen(command, stdout=subprocess.PIPE, stderr=subprocess.PIPE, text=True) as process:
        assert process.stdout is not None
        url = process.stdout.readline().strip()
        folder = Path(str(psycopg.conninfo.conninfo_to_dict(url)["host"]))
        with psycopg.connect(url) as connection:
            assert connection.execute("SELECT 1").fetchone() == (1,)
        assert folder.exists()
        process.send_signal(2)
        _, said = process.communicate()
    assert process.returncode == 0, said
    assert not folder.exists()
