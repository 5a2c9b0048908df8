"""Tables of the store, and the steps that bring an older file up to date."""

from __future__ import annotations

from collections.abc import Collection
from typing import Any, Literal

from dlsched.domain.errors import StoreError
from dlsched.store.sql import one

Kind = Literal["text", "float", "int"]
SQL_TYPE: dict[Kind, str] = {"text": "VARCHAR", "float": "DOUBLE", "int": "BIGINT"}

TABLES: dict[str, dict[str, Kind]] = {
    "job_outcomes": {
        "job_id": "text",
        "submit_s": "float",
        "first_start_s": "float",
        "completion_s": "float",
        "status": "text",
        "gpus": "float",
        "wait_s": "float",
        "jct_s": "float",
        "tardiness_s": "float",
        "cost": "float",
        "utility": "float",
        "run_s": "float",
        "not_running_s": "float",
        "left_s": "float",
        "due_s": "float",
        "tardiness_usd": "float",
        "slowdown": "float",
        "gpu_s": "float",
        "preemptions": "int",
        "resizes": "int",
        "restarts": "int",
        "row": "int",
        "user": "text",
        "group": "text",
        "job_class": "text",
        "partition": "text",
        "model": "text",
        "cpus": "float",
        "mem_gib": "float",
        "energy_kwh": "float",
        "energy_usd": "float",
        "carbon_kg": "float",
    },
    "segments": {
        "job_id": "text",
        "node": "int",
        "start_s": "float",
        "end_s": "float",
        "workers": "int",
        "servers": "int",
        "gpus": "float",
        "rate": "float",
        "piece": "int",
        "row": "int",
        "end_reason": "text",
        "progress_from_s": "float",
        "cpus": "float",
        "mem_gib": "float",
    },
    "node_intervals": {
        "node": "int",
        "vm_type": "text",
        "start_s": "float",
        "end_s": "float",
        "cost": "float",
        "usd_per_h": "float",
    },
    "decisions": {
        "time_s": "float",
        "cause": "text",
        "cpu_s": "float",
        "status": "text",
        "objective": "float",
        "bound": "float",
        "note": "text",
    },
    "waits": {"job_id": "text", "row": "int", "from_s": "float", "to_s": "float", "reason": "text"},
    "series": {
        "time_s": "float",
        "gpus_held": "float",
        "gpus_up": "float",
        "waiting": "float",
        "running": "float",
        "cost_usd": "float",
        "tardiness_usd": "float",
        "utility": "float",
    },
}
"""Tables of a run: name -> column -> kind. In the file each has ``run_no`` and ``row_no`` (order) in front."""


ADDED_COLUMNS = ("cpus", "mem_gib")
"""Columns of job_outcomes and segments that files of versions up to 3 lack."""
ENERGY_COLUMNS = ("energy_kwh", "energy_usd", "carbon_kg")
"""Columns of job_outcomes that files of versions up to 5 lack."""


def column_list(table: str, only: Collection[str] | None = None) -> str:
    """Return the columns of a run's table for SQL, all or ``only`` some, quoted (``group`` is a word of SQL)."""
    return ", ".join(f'"{column}"' for column in TABLES[table] if only is None or column in only)


def _run_tables() -> tuple[str, ...]:
    return tuple(
        f"CREATE TABLE {table} (run_no INTEGER, row_no INTEGER, "
        + ", ".join(f'"{column}" {SQL_TYPE[kind]}' for column, kind in columns.items())
        + ")"
        for table, columns in TABLES.items()
    )


# No primary keys: they triple the time of an insert. Uniqueness is checked by the code that writes.
STEPS: tuple[tuple[str, ...], ...] = (
    (
        "CREATE TABLE workloads (workload_hash VARCHAR, jobs BIGINT, content BLOB)",
        """CREATE TABLE scenarios (scenario_hash VARCHAR, name VARCHAR, lineage VARCHAR, version INTEGER,
            based_on VARCHAR, data_kind VARCHAR, created_at TIMESTAMP, deleted_at TIMESTAMP, workload_hash VARCHAR,
            jobs BIGINT, nodes BIGINT, gpus BIGINT, definition VARCHAR)""",
        "CREATE SEQUENCE run_numbers",
        """CREATE TABLE runs (run_no INTEGER, run_id VARCHAR, run_key VARCHAR, scenario_hash VARCHAR,
            scenario_name VARCHAR, policy VARCHAR, params VARCHAR, seed BIGINT, code_version VARCHAR, name VARCHAR,
            note VARCHAR, created_at TIMESTAMP, deleted_at TIMESTAMP, wall_s DOUBLE, cpu_s VARCHAR, audit VARCHAR,
            violations BIGINT, prices VARCHAR, read_counts VARCHAR, jobs BIGINT, size_bytes BIGINT, origin VARCHAR)""",
        "CREATE TABLE metrics (run_no INTEGER, row_no INTEGER, key VARCHAR, value DOUBLE, whole BOOLEAN)",
        """CREATE TABLE active_runs (run_key VARCHAR, session VARCHAR, scenario_hash VARCHAR, scenario_name VARCHAR,
            policy VARCHAR, params VARCHAR, seed BIGINT, started_at TIMESTAMP)""",
        "CREATE TABLE settings (key VARCHAR, value VARCHAR, changed_at TIMESTAMP)",
        *_run_tables(),
    ),
    (
        """CREATE TABLE experiments (experiment_key VARCHAR, experiment_id VARCHAR, kind VARCHAR, name VARCHAR,
            spec VARCHAR, answer VARCHAR, code_version VARCHAR, made_at TIMESTAMP)""",
    ),
    (
        """CREATE TABLE cells (cell_key VARCHAR, scenario_hash VARCHAR, policy VARCHAR, seed BIGINT, metrics VARCHAR,
            audit VARCHAR, made_at TIMESTAMP)""",
    ),
    tuple(
        f"ALTER TABLE {table} ADD COLUMN IF NOT EXISTS {column} DOUBLE"
        for table in ("job_outcomes", "segments")
        for column in ADDED_COLUMNS
    ),
    (
        *(f"ALTER TABLE {table} ADD COLUMN made_by VARCHAR" for table in ("runs", "scenarios", "experiments")),
        *(f"ALTER TABLE {table} ADD COLUMN plugin VARCHAR" for table in ("runs", "experiments")),
        """CREATE TABLE trail (done_at TIMESTAMP, who VARCHAR, action VARCHAR, kind VARCHAR, what VARCHAR,
            detail VARCHAR)""",
    ),
    tuple(f"ALTER TABLE job_outcomes ADD COLUMN IF NOT EXISTS {column} DOUBLE" for column in ENERGY_COLUMNS),
)
"""Step i (from 0) brings a file of version i to version i + 1. A released step is never edited."""


def version_of(cursor: Any) -> int:
    """Return the schema version of an open file; 0 for a new one.

    Raises
    ------
    StoreError
        If the file is a DuckDB database of something else.
    """
    tables = {name for (name,) in cursor.execute("SELECT table_name FROM duckdb_tables()").fetchall()}
    if not tables:
        return 0
    row = one(cursor, "SELECT version FROM store_version") if "store_version" in tables else None
    if row is None:
        raise StoreError("This DuckDB file belongs to another program: it has tables, but no dlsched tables.")
    return int(row[0])


def migrate(cursor: Any, steps: tuple[tuple[str, ...], ...] | None = None) -> int:
    """Bring a file to the newest version, each step in one transaction; return the version it had.

    Raises
    ------
    StoreError
        If the file was written by a newer dlsched.
    """
    steps = STEPS if steps is None else steps
    version = version_of(cursor)
    if version > len(steps):
        raise StoreError(
            f"This store has format {version}, but this version of dlsched reads formats up to {len(steps)} only. "
            "Update dlsched, or give another file with --store or DLSCHED_STORE."
        )
    for number in range(version, len(steps)):
        _carry_out(cursor, steps[number], number + 1)
    return version


def _carry_out(cursor: Any, statements: tuple[str, ...], version: int) -> None:
    cursor.begin()
    try:
        for statement in statements:
            cursor.execute(statement)
        cursor.execute("CREATE TABLE IF NOT EXISTS store_version (version INTEGER)")
        cursor.execute("DELETE FROM store_version")
        cursor.execute("INSERT INTO store_version VALUES (?)", [version])
    except Exception:
        cursor.rollback()
        raise
    cursor.commit()
