"""URLs of databases as inputs: a file system whose one file says what the database holds.

A run finds, digests and names its inputs through fsspec; for a database the digest is that of its tables and of how
many rows each has.
"""

from __future__ import annotations

import io
from typing import Any

import fsspec
import orjson
from fsspec.spec import AbstractFileSystem

DIALECTS = (
    "cockroachdb",
    "duckdb",
    "mariadb",
    "mariadb+pymysql",
    "mssql",
    "mssql+pyodbc",
    "mysql",
    "mysql+pymysql",
    "oracle",
    "oracle+oracledb",
    "postgresql",
    "postgresql+psycopg",
    "postgresql+psycopg2",
    "snowflake",
    "sqlite",
)


def is_database(path: str) -> bool:
    """Tell whether an input is a database by URL."""
    protocol, mark, _ = path.partition("://")
    return bool(mark) and protocol in DIALECTS


class DatabaseFileSystem(AbstractFileSystem):  # type: ignore[misc]
    """Knows one file for each URL; nothing is written."""

    protocol = DIALECTS
    cachable = False

    @classmethod
    def _strip_protocol(cls, path: str) -> str:
        return path

    def unstrip_protocol(self, name: str) -> str:
        """Return the URL, which is the name."""
        return name

    def isdir(self, path: str) -> bool:
        """Return False: a database is one input."""
        return False

    def exists(self, path: str, **kwargs: Any) -> bool:
        """Return True: whether it can be reached is seen when it is opened."""
        return True

    def info(self, path: str, **kwargs: Any) -> dict[str, Any]:
        """Return that it is a file; when it changed is not known."""
        return {"name": path, "size": None, "type": "file"}

    def _open(self, path: str, mode: str = "rb", **kwargs: Any) -> io.BytesIO:
        return io.BytesIO(describe_database(path))


def describe_database(url: str) -> bytes:
    """Return the URL, the tables and their numbers of rows as JSON."""
    from sqlalchemy import func, select

    from lisdata.sources.sql_alchemy import DatabaseByUrl, connected, named_table

    with connected(url) as connection:
        tables, _ = DatabaseByUrl(connection).read_tables(with_views=False)
        sizes = [
            connection.execute(select(func.count()).select_from(named_table(t.name, ()))).scalar_one() for t in tables
        ]
    found = [{"table": table.to_json(), "rows": size} for table, size in zip(tables, sizes, strict=True)]
    return orjson.dumps({"url": url, "tables": found}, option=orjson.OPT_INDENT_2)


def register() -> None:
    """Let fsspec know the URLs of databases."""
    for dialect in DIALECTS:
        fsspec.register_implementation(dialect, DatabaseFileSystem)
