"""``dlsched.read_trace``: a trace with what reading it found, and the scenario made of it."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass
from functools import cached_property
from pathlib import Path
from typing import Any

import pandas as pd

from dlsched.domain.errors import InputError, validated
from dlsched.domain.names import names_hint
from dlsched.domain.scenario import Scenario
from dlsched.report.shown import Shown
from dlsched.wording.assumptions import Premise, assumptions
from dlsched.wording.caveats import Caveat, caveats_of
from dlsched.workload.catalogue import file_of
from dlsched.workload.import_report import Report
from dlsched.workload.load import scenario_of
from dlsched.workload.readers import ReadOptions, load_mapping
from dlsched.workload.readers import read_trace as read
from dlsched.workload.readers.options import parse_choice

FILES = ("cluster", "throughputs")
LISTS_OF_FILES = ("queues", "slurm")


@dataclass(frozen=True, eq=False, repr=False)
class Trace(Shown):
    """A trace that was read: ``scenario`` on the cluster it tells of, ``report`` on its rows, ``format`` it is in."""

    scenario: Scenario
    report: Report
    format: str

    @property
    def sentence(self) -> str:
        """How many rows were kept, repaired and dropped."""
        return str(self.report)

    @property
    def caveats(self) -> tuple[Caveat, ...]:
        """What must be known of all that is computed from it, worst first."""
        return caveats_of(self.scenario, ())

    @property
    def assumptions(self) -> tuple[Premise, ...]:
        """All that stands in for what the trace does not say: its caveats, then the rest."""
        return *self.caveats, *assumptions(self.scenario)

    @cached_property
    def frame(self) -> pd.DataFrame:
        """One row for each job that was kept, with the columns the trace has; times in seconds from the first job."""
        return pd.DataFrame(self.scenario.workload.columns())

    @property
    def findings(self) -> pd.DataFrame:
        """What was dropped, repaired or is worth a look, one row for each rule, the most frequent first."""
        found = sorted(self.report.as_dict()["findings"], key=lambda one: -int(one["count"]))
        return pd.DataFrame(found)

    @property
    def table(self) -> pd.DataFrame:
        """The jobs; see ``frame``."""
        return self.frame


def read_trace(path: str | Path, **options: Any) -> Trace:
    """Return a trace with its import report; ``dlsched.load`` gives the same scenario without the report.

    Parameters
    ----------
    path
        A log of jobs in any known format, plain or compressed, detected by content; ``sample:campus`` is a bundled
        sample.
    options
        How it is read, as in ``read_trace(path, cpu_jobs="drop", gpus_per_processor=0.125)``: the fields of
        ``dlsched.workload.readers.ReadOptions``, which are those of ``--read KEY=VALUE``. ``mapping`` is a dict or
        the path of a file; ``cluster`` and ``throughputs`` are paths, ``queues`` and ``slurm`` paths or lists of them.

    Raises
    ------
    InputError
        No such file or option, or content that cannot be read.

    Examples
    --------
    >>> import dlsched
    >>> trace = dlsched.read_trace("sample:campus", cpu_jobs="drop")
    >>> print(trace.report)
    Kept 2,000 of 2,000 rows, repaired 0, dropped 0.
    >>> trace.frame[["job_id", "submit_s", "work"]].shape
    (2000, 3)
    """
    given = {name: _value(name, value) for name, value in options.items()}
    file = file_of(path)
    if not file.is_file():
        raise InputError(f"file {str(path)[:200]}", "there is no such file", "Check the path")
    found = read(file, options=validated(ReadOptions, given, "read_trace"))
    return Trace(scenario_of(found, file.stem), found.report, found.format_key)


def _value(name: str, value: Any) -> Any:
    if name not in ReadOptions.model_fields:
        hint = names_hint(name, ReadOptions.model_fields)
        raise InputError("read_trace", f"there is no reading choice {name!r}", hint)
    if name in FILES:
        return _content(name, value)
    if name in LISTS_OF_FILES:
        return [_content(name, one) for one in ([value] if isinstance(value, (str, Path, bytes)) else value)]
    if name == "mapping" and not isinstance(value, Mapping):
        return load_mapping(_content(name, value))
    return parse_choice(name, value) if isinstance(value, str) else value


def _content(name: str, path: Any) -> bytes:
    if isinstance(path, bytes):
        return path
    try:
        return Path(path).expanduser().read_bytes()
    except (OSError, TypeError, ValueError) as error:
        why = f"the file cannot be read ({getattr(error, 'strerror', None) or error})"
        raise InputError(f"{name} {str(path)[:200]}", why, "Check the path") from None
