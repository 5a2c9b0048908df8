"""Frames to typed Arrow tables; scenarios to a definition and a table of jobs, and back."""

from __future__ import annotations

import json
from collections.abc import Mapping
from functools import cache
from typing import Any

import pyarrow as pa

from dlsched.domain.assumptions import Assumption
from dlsched.domain.cluster import Cluster
from dlsched.domain.energy import EnergySetup
from dlsched.domain.errors import StoreError
from dlsched.domain.queue_tree import QueueTree
from dlsched.domain.scenario import Scenario, SimulationRules, SpeedSpec
from dlsched.domain.slurm import SlurmSetup
from dlsched.domain.workload import Workload
from dlsched.store.schema import TABLES, Kind
from dlsched.workload.sidecar import table_columns

_ARROW: dict[Kind, pa.DataType] = {"text": pa.string(), "float": pa.float64(), "int": pa.int64()}


@cache
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
    if table.schema.equals(table_schema(name)):
        return table
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


def definition_of(scenario: Scenario) -> str:
    """Return all of a scenario but its jobs, its name and its kind, as JSON text; queues keep their order."""
    return json.dumps(
        {
            "cluster": scenario.cluster.model_dump(mode="json"),
            "options": scenario.options.model_dump(mode="json"),
            "speed": scenario.speed.model_dump(mode="json"),
            "seed": scenario.seed,
            "generator": scenario.generator,
            "read": dict(scenario.read),
            "meta": dict(scenario.workload.meta),
            "assumptions": [one.plain() for one in scenario.assumptions],
            "copy": scenario.copy_number,
            "queues": scenario.queues and scenario.queues.model_dump(mode="json"),
            "slurm": scenario.slurm and scenario.slurm.model_dump(mode="json"),
            "energy": scenario.energy and scenario.energy.model_dump(mode="json"),
        }
    )


def scenario_of(jobs: bytes, definition: Mapping[str, Any], name: str, data_kind: Any) -> Scenario:
    """Return the scenario of a table of jobs (``workload.sidecar.table_bytes``) and a parsed definition.

    All parts are validated again; raises InputError, ValidationError, or KeyError for a part that is missing.
    """
    return Scenario(
        workload=Workload.from_columns(table_columns(jobs, name), definition["meta"]),
        cluster=Cluster.model_validate(definition["cluster"]),
        options=SimulationRules.model_validate(definition["options"]),
        speed=SpeedSpec.model_validate(definition["speed"]),
        seed=int(definition["seed"]),
        name=name,
        data_kind=data_kind,
        generator=definition["generator"],
        read=definition["read"],
        assumptions=tuple(map(Assumption.model_validate, definition["assumptions"])),
        copy_number=int(definition.get("copy", 0)),  # older stores know none of these
        queues=None if (queues := definition.get("queues")) is None else QueueTree.model_validate(queues),
        slurm=None if (slurm := definition.get("slurm")) is None else SlurmSetup.model_validate(slurm),
        energy=None if (energy := definition.get("energy")) is None else EnergySetup.model_validate(energy),
    )
