"""Many tenants on one PostgreSQL server, beside the same memories in files: ``python -m bench.tenants``.

Each tenant is a collection. The first has 10,000 memories, whatever the others have; recalls are asked of it alone, and
then of all by 32 clients. Recalls include the embedding of the question by the local model; stored vectors and token
sketches are random, as their values do not change the work. Seconds are those of the processors, of this process and of
the server together, because other programs may run on the machine; the clients' are those of the clock.
"""

from __future__ import annotations

import argparse
import json
import os
import tempfile
import time
from collections.abc import Callable, Iterator, Sequence
from concurrent.futures import ThreadPoolExecutor
from dataclasses import dataclass
from datetime import UTC, datetime
from pathlib import Path
from typing import Any

import numpy as np

from bench.synthetic_data import DIM, TextGenerator, Vectors
from recollect import Memory, Mind
from recollect.embed import resolve_embedder
from recollect.embed.base import TokenVectors
from recollect.store.base import Space, Store
from recollect.store.postgres import PostgresStore
from recollect.store.postgres.migrations import BY_TENANT
from recollect.store.rows import COLUMNS
from recollect.store.sqlite import SqliteStore
from tests.postgres.plans import rows_by_table, scans_of_recall
from tests.postgres.server import OWNER, PostgresServer, started

FIRST = 10_000  # memories of the tenant that recalls are asked of
BATCH = 2_000
TOKENS, TOKEN_BYTES = 24, 48
CLIENTS = 32
TICKS = os.sysconf("SC_CLK_TCK")


def now() -> datetime:
    return datetime.now(UTC)


class QuestionEmbedder:
    """The local model for questions; memories have vectors already."""

    dim = DIM

    def __init__(self) -> None:
        local: Any = resolve_embedder("local")
        self._local, self.name = local, str(local.name)

    def embed(self, texts: Sequence[str], query: bool = False) -> Vectors:
        return np.asarray(self._local.embed(texts, query=query), dtype=np.float32)

    def token_vectors(self, texts: Sequence[str]) -> Sequence[TokenVectors]:
        found: Sequence[TokenVectors] = self._local.token_vectors(texts)
        return found


class Filler:
    """Fills stores with the same memories."""

    def __init__(self, space: Space) -> None:
        self.space = space
        self.generator = TextGenerator(seed=3)
        self.texts = self.generator.texts(FIRST)
        self.vectors = self.generator.vectors(FIRST)
        self._bytes = np.random.default_rng(5)

    def fill(self, store: Store, tenant: int, count: int) -> None:
        for start in range(0, count, BATCH):
            numbers = range(start, min(start + BATCH, count))
            with store.transaction("remember", durable=False) as transaction:
                rows = [transaction.remember(self._memory(tenant, number)).row for number in numbers]
                transaction.embed(rows, [self._encoded(number) for number in numbers], self.space)

    def fill_server(self, server: PostgresServer, store: Store, sizes: Sequence[int], by_copies: bool) -> None:
        """Fill a server. ``by_copies``: of tenants of one size all but the first are copied inside of it."""
        written: dict[int, int] = {}
        for tenant, size in enumerate(sizes):
            if by_copies and size in written:
                copy_tenant(server, written[size], tenant)
            else:
                self.fill(store, tenant, size)
                written.setdefault(size, tenant)

    def _memory(self, tenant: int, number: int) -> Memory:
        session, position = divmod(number, 10)
        text = self.texts[(number + 7 * tenant) % FIRST]
        return Memory(text=text, collection=name_of(tenant), session=f"session {session}", position=position)

    def _encoded(self, number: int) -> tuple[Vectors, bytes]:
        return self.vectors[number % FIRST], self._bytes.bytes(TOKENS * TOKEN_BYTES)

    def questions(self, count: int) -> list[str]:
        return [each.text for each in self.generator.questions(count, self.texts, self.vectors)]


def name_of(tenant: int) -> str:
    return f"tenant {tenant}"


COPIED = {  # columns that a copy of a tenant has, beside the tenant and the row
    "memories": ", ".join(f'"{name}"' for name in (*COLUMNS, "born", "changed", "tag_list", "lengths")).replace(
        '"collection"', "%(name)s AS collection"
    ),
    "postings": "word, times, field",
    "memory_words": "words",
    "vectors": "space, vector",
    "sketches": "space, sketch",
    "told_times": "number, begins, ends",
}


def copy_tenant(server: PostgresServer, source: int, target: int) -> None:
    """Copy the rows of a tenant inside the server: the same memories, with rows of their own."""
    import psycopg

    names = {"name": name_of(target), "source": name_of(source)}
    with psycopg.connect(server.url("bench")) as connection:
        connection.execute("SET LOCAL search_path = recollect, public")
        connection.execute(
            "INSERT INTO collections (name, version, last_word) SELECT %(name)s, version, last_word FROM collections "
            "WHERE name = %(source)s",
            names,
        )
        sql = "SELECT tenant FROM collections WHERE name = ANY(%s) ORDER BY name <> %s"
        (old,), (new,) = connection.execute(sql, (list(names.values()), names["source"])).fetchall()
        sql = "SELECT min(row), max(row), nextval('rows') FROM memories WHERE tenant = %s"
        found = connection.execute(sql, (old,)).fetchone()
        assert found is not None
        first, last, following = found
        connection.execute("SELECT setval('rows', %s)", (following + last - first + 1,))
        values = {**names, "old": old, "new": new, "shift": following - first}
        sql = "INSERT INTO vocabulary SELECT %(new)s, word, spelling, stem FROM vocabulary WHERE tenant = %(old)s"
        connection.execute(sql, values)
        for table, columns in COPIED.items():
            listed = columns.replace("%(name)s AS ", "")
            connection.execute(
                f"INSERT INTO {table} (tenant, row, {listed}) SELECT %(new)s, row + %(shift)s, {columns} FROM {table} "
                "WHERE tenant = %(old)s".encode(),
                values,
            )


@dataclass
class Processors:
    """Seconds of processor time that this process and a server's processes have taken."""

    server: PostgresServer | None

    def seconds(self) -> tuple[float, float]:
        return time.process_time(), self._server_seconds()

    def _server_seconds(self) -> float:
        """Also of processes that have ended: the server waits for them."""
        if self.server is None or self.server.process is None:
            return 0.0
        main = self.server.process.pid
        total = sum(_times(main, 0)) / TICKS
        return total + sum(sum(_times(pid, 0)[:2]) for pid in _children(main)) / TICKS


def _times(pid: int, missing: int) -> tuple[int, int, int, int]:
    """User and system time of a process, and of its children that have ended, in ticks."""
    try:
        fields = Path(f"/proc/{pid}/stat").read_text().rpartition(")")[2].split()
    except OSError:
        return (missing,) * 4
    return int(fields[11]), int(fields[12]), int(fields[13]), int(fields[14])


def _children(pid: int) -> list[int]:
    return [int(each) for each in Path(f"/proc/{pid}/task/{pid}/children").read_text().split()]


def measure(work: Callable[[int], object], turns: int, processors: Processors) -> tuple[float, float]:
    """Milliseconds of the processors for one turn: of this process, and of the server. The first two do not count."""
    for number in range(2):
        work(number)
    own, server = processors.seconds()
    for number in range(turns):
        work(number + 2)
    end = processors.seconds()
    return 1000 * (end[0] - own) / turns, 1000 * (end[1] - server) / turns


def ask_by_clients(minds: Sequence[Mind], questions: Sequence[str], asked: int) -> dict[str, float]:
    """Recalls by 32 threads, each of another tenant: how long one takes, and how many there are in a second."""

    def ask(number: int) -> float:
        begun = time.perf_counter()
        minds[number % len(minds)].recall(questions[number % len(questions)], k=10)
        return time.perf_counter() - begun

    begun = time.perf_counter()
    with ThreadPoolExecutor(CLIENTS) as pool:
        taken = np.array([*pool.map(ask, range(asked))])
    seconds = time.perf_counter() - begun
    p50, p99 = np.percentile(taken, [50, 99]) * 1000
    return {"p50": float(p50), "p99": float(p99), "a second": asked / seconds}


def write_by_clients(minds: Sequence[Mind], texts: Sequence[str], count: int) -> float:
    """Single memories that 32 threads write in a second, without vectors."""
    begun = time.perf_counter()
    with ThreadPoolExecutor(CLIENTS) as pool:
        list(pool.map(lambda number: minds[number % len(minds)].remember(f"{number} {texts[number]}"), range(count)))
    return count / (time.perf_counter() - begun)


def measure_store(
    store: Store, tenants: int, questions: list[str], options: argparse.Namespace, server: PostgresServer | None
) -> dict[str, Any]:
    embedder, processors = QuestionEmbedder(), Processors(server)
    first = Mind(store=store, embedder=embedder, collection=name_of(0))
    own, servers = measure(lambda number: first.recall(questions[number], k=10), options.turns, processors)
    read = read_share(first, questions[-1]) if server else None
    some = [Mind(store=store, embedder=embedder, collection=name_of(number)) for number in range(min(tenants, CLIENTS))]
    asked = ask_by_clients(some, questions, options.asked) if options.asked else {}
    writers = [Mind(store=store, embedder=None, collection=mind.bound.collection) for mind in some]
    writes = write_by_clients(writers, questions, options.writes) if options.writes else None
    recall = {"recall, CPU ms": own + servers, "of it the server": servers, "largest share that is read": read}
    return {**recall, "clients": asked, "writes a second": writes}


def read_share(mind: Mind, question: str) -> float:
    """The largest share of the tenant's rows of a table that a part of a plan looks at: more than 1 would be rows of
    other tenants."""
    tables = rows_by_table(mind, {*BY_TENANT, "memories"})
    return max(scan.rows / tables[scan.table] for scan in scans_of_recall(mind, question) if tables.get(scan.table))


def run(options: argparse.Namespace) -> Iterator[dict[str, Any]]:
    space = Space(QuestionEmbedder().name, DIM)
    with started({"shared_buffers": "512MB", "fsync": "on", "full_page_writes": "on"}) as server:
        for tenants, total in zip(options.tenants, options.memories, strict=True):
            filler = Filler(space)
            sizes = [FIRST, *([max(1, (total - FIRST) // (tenants - 1))] * (tenants - 1) if tenants > 1 else ())]
            if tenants == 1:
                sizes = [total]
            questions = filler.questions(max(options.turns + 2, 64, options.writes))
            found: dict[str, Any] = {"tenants": tenants, "memories": sum(sizes), "load": os.getloadavg()[0]}
            server.create_database("bench")
            with tempfile.TemporaryDirectory(prefix="recollect-tenants-") as folder:
                url = f"{server.url('bench', OWNER)}&pool_size={CLIENTS}&prepare=yes"
                for name, store in (
                    ("PostgreSQL", PostgresStore(url, now)),
                    ("SQLite", SqliteStore(str(Path(folder) / "memory.db"), now)),
                ):
                    begun = time.process_time()
                    if name == "PostgreSQL":
                        filler.fill_server(server, store, sizes, options.copies)
                    else:
                        for tenant, size in enumerate(sizes):
                            filler.fill(store, tenant, size)
                    filled = (time.process_time() - begun) * 1000 / sum(sizes)
                    if name == "PostgreSQL":
                        server.execute("VACUUM ANALYZE", "bench")
                        found["disk, KB a memory"] = database_bytes(server) / 1024 / sum(sizes)
                    own_server = server if name == "PostgreSQL" else None
                    found[name] = {
                        **measure_store(store, tenants, questions, options, own_server),
                        "fill, own CPU ms a memory": filled,
                    }
                    store.close()
            yield found


def database_bytes(server: PostgresServer) -> int:
    return int(server.execute("SELECT pg_database_size('bench')")[0][0])


def numbers(text: str) -> list[int]:
    return [int(each) for each in text.split(",")]


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("--tenants", type=numbers, default=[1, 10, 100, 1000], help="how many, such as 1,10,100")
    parser.add_argument("--memories", type=numbers, default=[10_000, 20_000, 50_000, 100_000], help="of all tenants")
    parser.add_argument("--copies", action="store_true", help="fill the server by copying tenants, which is quicker")
    parser.add_argument("--turns", type=int, default=30, help="recalls one after the other")
    parser.add_argument("--asked", type=int, default=128, help="recalls by 32 clients")
    parser.add_argument("--writes", type=int, default=128, help="by 32 clients")
    parser.add_argument("--out", type=Path, help="a file for the figures, as JSON lines")
    options = parser.parse_args()
    os.environ.setdefault("OPENBLAS_NUM_THREADS", "1")
    for found in run(options):
        line = json.dumps(found)
        print(line, flush=True)
        if options.out:
            with options.out.open("a") as file:
                file.write(line + "\n")


if __name__ == "__main__":
    main()
