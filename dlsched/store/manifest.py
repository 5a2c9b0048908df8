"""The table of contents of an export file: typed, with limits, because the file may come from anybody."""

from __future__ import annotations

from datetime import datetime
from typing import Annotated, Any, Literal

from pydantic import Field, field_validator

from dlsched.domain.model import FrozenModel
from dlsched.store.schema import TABLES

FORMAT = "dlsched-runs"
VERSION = 1

Hash = Annotated[str, Field(pattern=r"^[0-9a-f]{32}$")]
FileName = Annotated[str, Field(pattern=r"^(workloads/[0-9a-f]{32}|runs/[0-9a-f]{12}/[a-z_]{1,40})\.parquet$")]
Short = Annotated[str, Field(max_length=200)]
Whole = Annotated[int, Field(ge=-(2**63), le=2**63 - 1)]
Counts = Annotated[dict[Short, Whole], Field(max_length=50)]


class FileEntry(FrozenModel):
    """One Parquet file of the export."""

    sha256: str = Field(pattern=r"^[0-9a-f]{64}$")
    rows: int = Field(ge=0, le=20_000_000)


class ScenarioEntry(FrozenModel):
    """One scenario; its definition is validated by the domain's own models."""

    scenario_hash: Hash
    name: Short
    version: int = Field(ge=1, le=1_000_000)
    based_on: Hash | None
    lineage: Hash
    data_kind: Literal["example", "generated", "trace"]
    created_at: datetime
    definition: dict[str, Any]
    workload: FileName
    made_by: Short = ""


class RunEntry(FrozenModel):
    """One run; the key is computed again from the question it answers."""

    run_key: Hash
    scenario_hash: Hash
    scenario_name: Short
    policy: Short
    params: dict[Short, Any] = Field(max_length=200)
    seed: int = Field(ge=-(2**62), le=2**62)
    code_version: Short
    name: Short
    note: str = Field(max_length=4000)
    created_at: datetime
    wall_s: float = Field(ge=0)
    cpu_s: dict[Short, float] = Field(max_length=50)
    audit: list[Annotated[str, Field(max_length=2000)]] = Field(max_length=10_000)
    prices: dict[Short, float | None] = Field(max_length=10_000)
    read_counts: Counts
    metrics: dict[Short, Whole | float | None] = Field(max_length=500)
    tables: dict[str, FileName]
    made_by: Short = ""
    plugin: Short = ""

    @field_validator("tables")
    @classmethod
    def _all_tables(cls, tables: dict[str, str]) -> dict[str, str]:
        if set(tables) != set(TABLES):
            raise ValueError(f"a run has exactly the tables {', '.join(TABLES)}")
        return tables


class Manifest(FrozenModel):
    """What is in the file. ``files`` maps every name in the zip to its size in rows and its hash."""

    format: Literal["dlsched-runs"]
    version: int = Field(ge=1)
    written_by: Short
    scenarios: list[ScenarioEntry] = Field(max_length=1000)
    runs: list[RunEntry] = Field(min_length=1, max_length=1000)
    files: dict[FileName, FileEntry] = Field(max_length=10_000)
