"""Frames to typed Arrow tables, workloads to Parquet bytes, and back."""

from __future__ import annotations

import io
import json
from collections.abc import Mapping
from typing import Any

import numpy as np
import pyarrow as pa
import pyarrow.parquet as pq

from dlsched.domain.cluster import Cluster
from dlsched.domain.errors import StoreError
from dlsched.domain.scenario import Options, Scenario, SpeedSpec
from dlsched.domain.workload import COLUMN, Workload
from dlsched.store.schema import TABLES, Kind

_ARROW: dict[Kind, pa.DataType] = {"text": pa.string(), "float": pa.float64(), "int": pa.int64()}


def table_schema(name: str) -> pa.Schema:
    """Return the Arrow schema of a run's table."""
    return pa.schema([(column, _ARROW[kind]) for column, kind in TABLES[name].items()])


def to_arrow(name: str, frame: Any) -> pa.Table:
    """Return a frame (pandas or Arrow) as the Arrow table of this name; columns it lacks are null.

    Raises
    ------
    StoreError
        If the frame has a column the store does not know, or a value of another type.
    """
    table = frame if isinstance(frame, pa.Table) else pa.Table.from_pandas(frame, preserve_index=False)
    unknown = sorted(set(table.column_names) - set(TABLES[name]))
    if unknown:
        raise StoreError(f"Table {name}: the store has no column {unknown[0]!r}.")
    columns = []
    for field in table_schema(name):
        if field.name not in table.column_names:
            columns.append(pa.nulls(table.num_rows, field.type))
            continue
        try:
            columns.append(table.column(field.name).cast(field.type))
        except pa.ArrowException as error:
            raise StoreError(f"Table {name}, column {field.name}: not {field.type} ({error}).") from error
    return pa.table(columns, schema=table_schema(name))


def workload_bytes(workload: Workload) -> bytes:
    """Return a workload as Parquet, with its facts about the source in the schema's metadata."""
    columns: dict[str, Any] = {**workload.columns(), "order": workload.order}
    arrays = {name: pa.array(values, pa.string()) if values.dtype == object else pa.array(values)
              for name, values in columns.items()}  # fmt: skip
    table = pa.table(arrays).replace_schema_metadata({"dlsched.meta": json.dumps(dict(workload.meta))})
    sink = io.BytesIO()
    pq.write_table(table, sink, compression="zstd")
    return sink.getvalue()


def workload_of(table: pa.Table) -> Workload:
    """Return the workload in a table made by :func:`workload_bytes`, checked again."""
    columns: dict[str, Any] = {}
    for name in table.column_names:
        column = table.column(name)
        is_text = name in COLUMN and COLUMN[name].kind == "text"
        values = column.to_numpy()
        columns[name] = values.astype(object) if is_text else np.asarray(values)
    meta = json.loads((table.schema.metadata or {}).get(b"dlsched.meta", b"{}"))
    return Workload.from_columns(columns, meta)


def definition_of(scenario: Scenario) -> str:
    """Return all of a scenario but its workload, its name and its kind, as JSON text."""
    return json.dumps(
        {
            "cluster": scenario.cluster.model_dump(mode="json"),
            "options": scenario.options.model_dump(mode="json"),
            "speed": scenario.speed.model_dump(mode="json"),
            "seed": scenario.seed,
            "generator": scenario.generator,
            "read": dict(scenario.read),
            "assumptions": list(scenario.assumptions),
        },
        sort_keys=True,
    )


def scenario_of(workload: Workload, definition: Mapping[str, Any], name: str, data_kind: Any) -> Scenario:
    """Return the scenario of a parsed definition; the parts are validated again."""
    return Scenario(
        workload=workload,
        cluster=Cluster.model_validate(definition["cluster"]),
        options=Options.model_validate(definition["options"]),
        speed=SpeedSpec.model_validate(definition["speed"]),
        seed=int(definition["seed"]),
        name=name,
        data_kind=data_kind,
        generator=definition["generator"],
        read=definition["read"],
        assumptions=tuple(definition["assumptions"]),
    )
