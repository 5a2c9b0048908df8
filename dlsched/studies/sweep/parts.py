"""A sweep in parts: processes without a common server write a file each, and one process puts them together.

Part k of n holds every n-th different run, from the k-th on. A file holds the question, the scenario, the versions that
computed it and one row per run, so that nothing else is needed to answer.
"""

from __future__ import annotations

import base64
import json
import os
from collections.abc import Mapping, Sequence
from concurrent.futures import Executor
from dataclasses import dataclass
from pathlib import Path
from typing import Any

import pyarrow as pa
import pyarrow.parquet as pq

from dlsched.domain.errors import DlschedError, InputError
from dlsched.domain.scenario import Scenario
from dlsched.store.columns import definition_of, scenario_of
from dlsched.store.record import CellStore
from dlsched.studies.design.run import RunResult, VariantTask, cell_of, run_tasks
from dlsched.studies.simulation import Progress
from dlsched.studies.sweep.run import Swept, answer_of, planned
from dlsched.studies.sweep.spec import MOST_RUNS, SweepSpec
from dlsched.workload.parquet import ParquetLimits
from dlsched.workload.sidecar import table_bytes

FORMAT, VERSION = "dlsched sweep part", 1
MOST_PARTS = MOST_RUNS
MOST_UNPACKED_BYTES = 2**30
_HEAD = b"dlsched"
_SCHEMA = pa.schema([(name, pa.string()) for name in ("key", "metrics", "audit", "error")])
_AGAIN = "Give files that sweep --part wrote, or compute the part again"


@dataclass(frozen=True, eq=False)
class Part:
    """Part ``number`` (from 1) of ``of``: its results by the key of the run.

    ``versions``: by name, of all that can change a number, as of the process that computed it.
    """

    number: int
    of: int
    spec: SweepSpec
    scenario: Scenario
    versions: Mapping[str, str]
    results: Mapping[str, RunResult]

    @property
    def failed(self) -> list[str]:
        """The errors of runs that failed."""
        return [result.error for result in self.results.values() if result.error]


def run_part(
    spec: SweepSpec,
    scenario: Scenario,
    number: int,
    of: int,
    versions: Mapping[str, str],
    executor: Executor | None = None,
    progress: Progress | None = None,
) -> Part:
    """Return a part, computed; parameters and errors as :func:`studies.sweep.run.run_sweep`."""
    results, _ = run_tasks(_tasks_of(planned(spec, scenario).tasks, number, of), executor, None, progress)
    return Part(number, of, spec, scenario, versions, results)


def _tasks_of(tasks: Mapping[str, VariantTask], number: int, of: int) -> dict[str, VariantTask]:
    return {key: tasks[key] for key in list(tasks)[number - 1 :: of]}


def write_part(part: Part, path: str | Path) -> None:
    """Write a part to a file, which is there whole or not at all; InputError when it cannot be written."""
    scenario, path = part.scenario, Path(path).expanduser()
    head = {
        "format": FORMAT,
        "version": VERSION,
        "part": part.number,
        "of": part.of,
        "question": part.spec.model_dump(mode="json"),
        "versions": dict(part.versions),
        "scenario": {"name": scenario.name, "data_kind": scenario.data_kind, "definition": definition_of(scenario)},
        "jobs": base64.b64encode(table_bytes(scenario.workload)).decode("ascii"),
    }
    rows = [
        {"key": key, "metrics": json.dumps(result.metrics, allow_nan=False), "audit": json.dumps(result.audit),
         "error": result.error}
        for key, result in part.results.items()
    ]  # fmt: skip
    table = pa.Table.from_pylist(rows, _SCHEMA.with_metadata({_HEAD: json.dumps(head).encode()}))
    unfinished = path.with_name(f"{path.name}.{os.getpid()}.unfinished")
    try:
        pq.write_table(table, unfinished, compression="zstd")
        os.replace(unfinished, path)
    except OSError as error:
        unfinished.unlink(missing_ok=True)
        raise InputError(f"file {path}", f"cannot be written ({error.strerror})", "Give another path") from error


def read_part(path: str | Path) -> Part:
    """Return the part of a file.

    Raises
    ------
    InputError
        For a file that is none, that a newer version wrote, or that was changed.
    """
    what = f"file {path}"
    try:
        data = Path(path).expanduser().read_bytes()
        limits = ParquetLimits(what, _AGAIN, MOST_RUNS, MOST_UNPACKED_BYTES)
        source = limits.open(data)
        head = json.loads((source.schema_arrow.metadata or {}).get(_HEAD, b"{}"))
        if head.get("format") != FORMAT or source.schema_arrow.remove_metadata() != _SCHEMA:
            raise InputError(what, "is not a part of a sweep", _AGAIN)
        if head["version"] != VERSION:
            why = f"has format {head['version']!r:.20}, but this version of dlsched reads only format {VERSION}"
            raise InputError(what, why, "Merge with the version that computed the parts")
        return _part_of(head, limits.columns(data, _SCHEMA.names).to_pylist(), what)
    except FileNotFoundError as error:
        raise InputError(what, "does not exist", "Check the path") from error
    except InputError as error:
        if error.what == what:
            raise
        raise InputError(what, f"is not a part of a sweep, or damaged: {error.clause}", _AGAIN) from error
    except (DlschedError, pa.ArrowException, OSError, ValueError, KeyError, TypeError, AttributeError, RecursionError,
            OverflowError) as error:  # fmt: skip
        raise InputError(what, "is not a part of a sweep, or damaged", _AGAIN) from error


def _part_of(head: Mapping[str, Any], rows: Sequence[Mapping[str, str]], what: str) -> Part:
    number, of, named = head["part"], head["of"], head["scenario"]
    if not (isinstance(number, int) and isinstance(of, int) and 1 <= number <= of <= MOST_PARTS):
        raise InputError(what, f"says it is part {number!r:.20} of {of!r:.20}", _AGAIN)
    spec = SweepSpec.model_validate(head["question"])
    jobs = base64.b64decode(head["jobs"], validate=True)
    scenario = scenario_of(jobs, json.loads(named["definition"]), str(named["name"]), named["data_kind"])
    if scenario.content_hash != spec.scenario:
        why = f"holds scenario {scenario.content_hash[:8]}, but asks about {spec.scenario[:8]}"
        raise InputError(what, why, _AGAIN)
    versions = {str(name): str(version) for name, version in head["versions"].items()}
    return Part(number, of, spec, scenario, versions, {row["key"]: _result_of(row, what) for row in rows})


def _result_of(row: Mapping[str, str], what: str) -> RunResult:
    metrics, audit = json.loads(row["metrics"]), json.loads(row["audit"])
    numbers = [] if metrics is None else [value for value in metrics.values() if value is not None]
    if not all(isinstance(value, int | float) and abs(float(value)) < float("inf") for value in numbers):
        raise InputError(what, "has a metric that is not a number", _AGAIN)
    return RunResult(metrics, tuple(map(str, audit)), str(row["error"]))


def merged(parts: Mapping[str, Part], here: Mapping[str, str], store: CellStore | None = None) -> Swept:
    """Return the answer of the whole sweep, as one process gives it.

    Parameters
    ----------
    parts
        By the file they come from.
    here
        Versions of this process: the answer is made by this code.
    store
        Keeps the numbers of the runs.

    Raises
    ------
    InputError
        For parts of several questions or versions, of another version than this process, a part that is given twice,
        was changed or is missing.
    """
    first_file, first = next(iter(parts.items()))
    by_number: dict[int, str] = {}
    for file, part in parts.items():
        _same_sweep(file, part, first_file, first)
        if (other := by_number.setdefault(part.number, file)) != file:
            why = f"is part {part.number} of {part.of}, as {other} is"
            raise InputError(f"file {file}", why, "Give one of them")
    ours, theirs = here["dlsched"], first.versions.get("dlsched", "none")
    if theirs != ours:
        why = f"was computed with dlsched {theirs}, but this machine has {ours}"
        raise InputError(f"file {first_file}", why, "Merge with the version that computed the parts")
    missing = [number for number in range(1, first.of + 1) if number not in by_number]
    if missing:
        noun = "part" if len(missing) == 1 else "parts"
        verb = "is" if len(missing) == 1 else "are"
        do = f"Compute {noun} {_ranges(missing)} with sweep --part N/{first.of} (in Slurm: --array={_ranges(missing)})"
        raise InputError("merge", f"{noun} {_ranges(missing)} of {first.of} {verb} missing", do)
    plan = planned(first.spec, first.scenario)
    by_key: dict[str, RunResult] = {}
    for number, file in by_number.items():
        if set(parts[file].results) != set(_tasks_of(plan.tasks, number, first.of)):
            raise InputError(f"file {file}", f"does not hold the runs of part {number} of {first.of}", _AGAIN)
        by_key.update(parts[file].results)
    if store is not None:
        cells = (cell_of(task, by_key[key]) for key, task in plan.tasks.items())
        store.save_cells([cell for cell in cells if cell is not None])
    answer = answer_of(first.spec, first.scenario, plan.results(by_key), exact=plan.exact)
    return Swept(answer, computed=len(by_key), stored=0)


def _same_sweep(file: str, part: Part, first_file: str, first: Part) -> None:
    """Raise InputError where two parts are not of one sweep."""
    what, do = f"file {file}", "Merge the parts of one sweep, all computed with the same versions"
    if part.spec.scenario != first.spec.scenario:
        why = f"is about scenario {part.spec.scenario[:8]}, but {first_file} about {first.spec.scenario[:8]}"
        raise InputError(what, why, do)
    if part.spec != first.spec:
        fields = [name for name in SweepSpec.model_fields if getattr(part.spec, name) != getattr(first.spec, name)]
        raise InputError(what, f"asks another question than {first_file}: {', '.join(fields)} differ", do)
    if part.of != first.of:
        raise InputError(what, f"is one of {part.of} parts, but {first_file} one of {first.of}", do)
    for name in {**first.versions, **part.versions}:
        theirs, others = part.versions.get(name, "none"), first.versions.get(name, "none")
        if theirs != others:
            raise InputError(what, f"was computed with {name} {theirs}, but {first_file} with {others}", do)


def _ranges(numbers: Sequence[int]) -> str:
    """Return "7,12-14" of ascending numbers, as job arrays take them."""
    groups: list[list[int]] = []
    for number in numbers:
        if groups and number == groups[-1][-1] + 1:
            groups[-1].append(number)
        else:
            groups.append([number])
    return ",".join(str(group[0]) if len(group) == 1 else f"{group[0]}-{group[-1]}" for group in groups)
