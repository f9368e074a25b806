"""The store in a PostgreSQL database with pgvector, for several processes and machines."""

from recollect.store.postgres.store import PostgresStore, open_postgres_store

__all__ = ["PostgresStore", "open_postgres_store"]
