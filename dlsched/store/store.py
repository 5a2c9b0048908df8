"""The store as the app and the command line use it. Safe to share between the threads of one process."""

from __future__ import annotations

import json
import threading
from collections.abc import Callable, Collection, Iterator, Sequence
from contextlib import contextmanager
from copy import copy
from dataclasses import dataclass
from datetime import UTC, datetime, timedelta
from pathlib import Path
from types import TracebackType
from typing import Any, Self

import duckdb
import pandas as pd

from dlsched.domain.actor import NO_LOGIN, Actor
from dlsched.domain.errors import NotAllowed, StoreError
from dlsched.domain.scenario import Scenario
from dlsched.store import cells, experiments, portable, runs, scenarios, trail, windows
from dlsched.store.connection import connect, store_path
from dlsched.store.portable import ImportReport
from dlsched.store.record import (
    CellRecord,
    ExperimentInfo,
    ExperimentRecord,
    Finished,
    RunLabel,
    RunRecord,
    run_id_of,
)
from dlsched.store.runs import LIST_METRICS, RunInfo
from dlsched.store.scenarios import Deletion, ScenarioInfo
from dlsched.store.schema import STEPS, migrate, version_of
from dlsched.store.sql import insert_row, one
from dlsched.store.windows import RowFilter
from dlsched.wording.formats import amount

KEEP_DELETED = timedelta(days=1)


def _now() -> datetime:
    return datetime.now(UTC).replace(tzinfo=None)


@dataclass(slots=True)
class Written:
    """How many writes a store has seen since it was opened, by what was written; all views of the store share it."""

    settings: int = 0
    cells: int = 0
    runs: int = 0
    others: int = 0


class Store:
    """One DuckDB file with scenarios, runs, answers of experiments and settings.

    Parameters
    ----------
    path
        The file; None takes the variable DLSCHED_STORE, else ``~/.dlsched/results.duckdb``.
    read_only
        Open without the right to change anything; the file must exist and be of this version.
    wait_s
        How long to wait for another process to give the file back.
    read_export
        How an export file is read: a server that others depend on does it in a process with limits.

    Raises
    ------
    StoreError
        When another process has the file, it is damaged, of another program, or of a newer dlsched.
    """

    def __init__(
        self,
        path: str | Path | None = None,
        read_only: bool = False,
        wait_s: float = 0.0,
        read_export: Callable[[bytes], portable.Bundle] = portable.read,
    ) -> None:
        self.path = store_path(path)
        self.read_only = read_only
        self.actor = NO_LOGIN
        self._read_export = read_export
        self._write_lock = threading.Lock()
        self._written = Written()
        self._past: dict[int, dict[str, list[tuple[int, float]]]] = {}  # for the latest number of changes
        self._cursors = connect(self.path, read_only, wait_s)
        try:
            self._prepare()
        except BaseException:
            self._cursors.close()
            raise

    def _prepare(self) -> None:
        try:
            with self._cursors.one() as cursor:
                if not self.read_only:
                    migrate(cursor)
                elif version_of(cursor) != len(STEPS):
                    raise StoreError(
                        f"The store {self.path} has an older format. Open it once for writing to update it."
                    )
            if not self.read_only:
                self.purge_deleted(KEEP_DELETED)
        except duckdb.Error as error:
            raise StoreError(f"The store {self.path} is damaged: {error}") from error

    def acting(self, actor: Actor) -> Self:
        """Return this store in the hands of a user: what is written carries the name, a reader writes nothing."""
        view = copy(self)
        view.actor = actor
        return view

    @property
    def changes(self) -> int:
        """How many times anything but settings and numbers of runs was written since the store was opened.

        While it is the same, scenarios, runs and answers are as they were read before.
        """
        return self._written.others + self._written.runs

    @property
    def scenario_changes(self) -> int:
        """While it is the same, scenarios and their names are as they were read before; runs of them may be new."""
        return self._written.others

    @property
    def setting_changes(self) -> tuple[int, int]:
        """While it is the same, settings are as they were read before."""
        return self._written.others, self._written.settings

    @property
    def cell_changes(self) -> tuple[int, int]:
        """While it is the same, numbers of runs, and the runs themselves, are as they were read before."""
        return self.changes, self._written.cells

    def close(self) -> None:
        """Write everything to the file and give it back."""
        self._cursors.close()

    def __enter__(self) -> Self:
        return self

    def __exit__(self, kind: type[BaseException] | None, err: BaseException | None, tb: TracebackType | None) -> None:
        self.close()

    @contextmanager
    def _reading(self) -> Iterator[Any]:
        try:
            with self._cursors.one() as cursor:
                yield cursor
        except duckdb.Error as error:
            raise StoreError(f"The store {self.path} could not be read: {error}") from error

    @contextmanager
    def _writing(self, what: Collection[str] = ("others",)) -> Iterator[Any]:
        """Give a cursor inside one transaction: all of it is kept, or nothing.

        ``what``, which may change meanwhile: the fields of Written that count it once it is kept.
        """
        if not self.actor.may_write:
            raise NotAllowed(f"{self.actor.name or 'This user'} may read here, but not change anything.")
        if self.read_only:
            raise NotAllowed(f"The store {self.path} is open for reading only.")
        try:
            with self._write_lock, self._cursors.one() as cursor:
                cursor.begin()
                try:
                    yield cursor
                except BaseException:
                    cursor.rollback()
                    raise
                cursor.commit()
                for kind in what:
                    setattr(self._written, kind, getattr(self._written, kind) + 1)
        except duckdb.Error as error:
            raise StoreError(f"The store {self.path} could not be written: {error}") from error

    def _note(self, cursor: Any, action: str, kind: str, done: Sequence[tuple[str, str]]) -> None:
        """Write what this user did into the trail, one row for each ``(what, detail)``."""
        trail.add(cursor, _now(), self.actor.name, action, kind, done)

    # ---- scenarios -----------------------------------------------------------------------------------

    def save_scenario(self, scenario: Scenario, based_on: str | None = None) -> ScenarioInfo:
        """Keep a scenario; ``based_on`` (a hash) makes it the next version of that scenario's line."""
        with self._writing() as cursor:
            return self._save_scenario(cursor, scenario, based_on)

    def _save_scenario(self, cursor: Any, scenario: Scenario, based_on: str | None = None) -> ScenarioInfo:
        known = scenarios.info(cursor, scenario.content_hash)
        if known is not None:
            return known
        saved = scenarios.save(cursor, scenario, based_on, _now(), self.actor.name)
        self._note(cursor, "saved", "scenario", [(saved.scenario_hash, f"{saved.name}, version {saved.version}")])
        return saved

    def get_scenario(self, scenario_hash: str) -> Scenario:
        """Return a scenario by its hash or the first 8 digits or more of it; StoreError when unknown."""
        with self._reading() as cursor:
            return scenarios.get(cursor, scenario_hash)

    def scenario_info(self, scenario_hash: str) -> ScenarioInfo | None:
        """Return name, version and sizes of a scenario, None when it is not here."""
        with self._reading() as cursor:
            return scenarios.info(cursor, scenario_hash)

    def list_scenarios(self) -> pd.DataFrame:
        """Return one row per scenario, newest first: the fields of ScenarioInfo and ``runs``."""
        with self._reading() as cursor:
            return scenarios.listed(cursor)

    def rename_scenario(self, scenario_hash: str, name: str) -> None:
        """Rename all versions of a scenario's line."""
        with self._writing() as cursor:
            line = scenarios.rename(cursor, scenario_hash, name)
            self._note(cursor, "renamed", "scenario", [(line.scenario_hash, f"{line.name} to {name.strip()}")])

    def duplicate_scenario(self, scenario_hash: str) -> ScenarioInfo:
        """Keep a copy of a scenario as a line of its own, without runs, with the settings of its line."""
        with self._writing() as cursor:
            copied = scenarios.duplicate(cursor, scenario_hash, _now(), self.actor.name)
            self._note(cursor, "saved", "scenario", [(copied.scenario_hash, f"{copied.name}, version 1")])
            return copied

    def delete_scenario(self, scenario_hash: str) -> Deletion:
        """Take a scenario with all its versions and their runs off the lists; saving a version again brings that back.

        :meth:`restore` undoes it until it is purged (a day later, at a start).
        """
        with self._writing() as cursor:
            deletion = scenarios.delete(cursor, scenario_hash, _now())
            self._note(cursor, "deleted", "scenario", [(deletion.scenario_hash, _words(deletion))])
            return deletion

    def deletions(self) -> list[Deletion]:
        """Return what was deleted and can be brought back, the latest first."""
        with self._reading() as cursor:
            return scenarios.deletions(cursor)

    def deletion_of(self, scenario_hash: str) -> Deletion | None:
        """Return the deletion that took a scenario away, found by its hash or the start of it; None without one."""
        with self._reading() as cursor:
            return scenarios.deletion_of(cursor, scenario_hash)

    def restore(self, deletion: Deletion) -> None:
        """Bring back what was deleted at one moment of one scenario."""
        with self._writing() as cursor:
            scenarios.restore(cursor, deletion.lineage, deletion.when)
            self._note(cursor, "restored", "scenario", [(deletion.scenario_hash, _words(deletion))])

    # ---- runs ----------------------------------------------------------------------------------------

    def find_run(self, key: str) -> str | None:
        """Return the id of the run with this key, None when the question was not asked yet."""
        with self._reading() as cursor:
            return runs.find(cursor, key)

    def find_runs(self, keys: Sequence[str]) -> dict[str, str]:
        """Return the ids of the runs with these keys, by key; questions that were not asked yet are left out."""
        with self._reading() as cursor:
            return runs.find_all(cursor, keys)

    def save_run(self, record: RunRecord) -> str:
        """Keep a run with all its tables in one transaction and return its id; its scenario is kept too."""
        return self.save_runs([record])[0]

    def save_runs(self, records: Sequence[RunRecord]) -> list[str]:
        """Keep several runs, all of them or none, and return their ids; see :meth:`save_run`."""
        self.save_finished([Finished(run=record, made_by=self.actor.name) for record in records])
        return [run_id_of(record.key) for record in records]

    def save_finished(self, finished: Sequence[Finished]) -> None:
        """Keep what tasks of several users left, all of it or nothing, in one transaction."""
        what = ["runs" if any(one.run or one.experiment for one in finished) else "cells"]
        with self._writing(what) as cursor:
            cells.save(cursor, [cell for one in finished for cell in one.cells], _now())
            for name in dict.fromkeys(one.made_by for one in finished):
                own = [one for one in finished if one.made_by == name]
                user = self.acting(Actor(name))
                records = [one.run for one in own if one.run is not None]
                of = {record.scenario.content_hash: record.scenario for record in records}
                for new in scenarios.unknown(cursor, [*of]):
                    user._save_scenario(cursor, of[new])
                    what[:] = ["others"]
                user._save_runs(cursor, records)
                for one in own:
                    if one.experiment is not None:
                        user._save_experiment(cursor, one.experiment)

    def _save_runs(self, cursor: Any, records: Sequence[RunRecord]) -> None:
        now = _now()
        new = [
            runs.NewRun(runs.row_of(one, now, self.actor.name), one.metrics, runs.complete_tables(one.tables))
            for one in records
        ]
        added = runs.insert(cursor, new)
        if added:
            self._note(cursor, "saved", "run", runs.described(cursor, added))

    def run_info(self, run_id: str) -> RunInfo:
        """Return what is frozen in a run: question, parameters, prices, audit, times; StoreError when unknown."""
        with self._reading() as cursor:
            return runs.info(cursor, run_id)

    def list_runs(
        self,
        metrics: Sequence[str] = LIST_METRICS,
        code_version: str | None = None,
        plugins: Collection[str] = (),
    ) -> pd.DataFrame:
        """Return one row per run, newest first, with one column per metric asked for.

        ``state`` is stored, running, or interrupted (a process ended before it was done: nothing is kept but the
        question). ``draws`` counts runs that differ in the seed only; ``stale`` says that ``code_version`` is given
        and the run was made by another, or by a plug-in that is not among ``plugins``; ``violations`` counts the
        audit's complaints; ``params`` is JSON text.
        """
        with self._reading() as cursor:
            return runs.listed(cursor, metrics, code_version, plugins)

    def metrics(self, run_id: str) -> dict[str, float | int | None]:
        """Return the metrics of a run."""
        with self._reading() as cursor:
            return runs.metrics(cursor, run_id)

    def _rows(self, table: str, run_id: str, window: RowFilter) -> pd.DataFrame:
        with self._reading() as cursor:
            return windows.rows(cursor, table, runs.number(cursor, run_id), window)

    def jobs(
        self,
        run_id: str,
        from_s: float | None = None,
        to_s: float | None = None,
        nodes: Sequence[int] | None = None,
        job: str | None = None,
        columns: Collection[str] | None = None,
    ) -> pd.DataFrame:
        """Return the jobs of a run that were in the system within [from_s, to_s), that ran on these nodes.

        ``columns``: only these; reading all of a million jobs takes a second.
        """
        return self._rows("job_outcomes", run_id, RowFilter(from_s, to_s, nodes, job, columns))

    def segments(
        self,
        run_id: str,
        from_s: float | None = None,
        to_s: float | None = None,
        nodes: Sequence[int] | None = None,
        job: str | None = None,
        columns: Collection[str] | None = None,
    ) -> pd.DataFrame:
        """Return the segments of a run that touch [from_s, to_s) on these nodes, of this job; see :meth:`jobs`."""
        return self._rows("segments", run_id, RowFilter(from_s, to_s, nodes, job, columns))

    def nodes(
        self, run_id: str, from_s: float | None = None, to_s: float | None = None, nodes: Sequence[int] | None = None
    ) -> pd.DataFrame:
        """Return the intervals in which nodes were up and billed."""
        return self._rows("node_intervals", run_id, RowFilter(from_s, to_s, nodes))

    def decisions(self, run_id: str, from_s: float | None = None, to_s: float | None = None) -> pd.DataFrame:
        """Return the calls of the policy."""
        return self._rows("decisions", run_id, RowFilter(from_s, to_s))

    def waits(
        self, run_id: str, from_s: float | None = None, to_s: float | None = None, job: str | None = None
    ) -> pd.DataFrame:
        """Return why jobs waited, from when on."""
        return self._rows("waits", run_id, RowFilter(from_s, to_s, None, job))

    def series(self, run_id: str, from_s: float | None = None, to_s: float | None = None) -> pd.DataFrame:
        """Return the series over time."""
        return self._rows("series", run_id, RowFilter(from_s, to_s))

    def set_note(self, run_id: str, note: str) -> None:
        """Set the note of a run (at most 4,000 characters)."""
        with self._writing() as cursor:
            runs.set_text(cursor, run_id, "note", note, runs.MAX_NOTE)
            self._note(cursor, "noted", "run", [(run_id, note)])

    def rename_run(self, run_id: str, name: str) -> None:
        """Set the name of a run."""
        with self._writing() as cursor:
            runs.set_text(cursor, run_id, "name", name.strip(), scenarios.MAX_NAME)
            self._note(cursor, "renamed", "run", [(run_id, name.strip())])

    def delete_runs(self, run_ids: Sequence[str]) -> None:
        """Take runs off the list; :meth:`restore_runs` undoes it until they are purged (a day later, at a start)."""
        with self._writing() as cursor:
            self._note(cursor, "deleted", "run", runs.described(cursor, runs.mark_deleted(cursor, run_ids, _now())))

    def restore_runs(self, run_ids: Sequence[str]) -> None:
        """Undo :meth:`delete_runs`."""
        with self._writing() as cursor:
            self._note(cursor, "restored", "run", runs.described(cursor, runs.mark_deleted(cursor, run_ids, None)))

    def purge_deleted(self, older_than: timedelta = timedelta(0)) -> int:
        """Remove for good the runs and scenarios deleted longer ago than this; return how many runs."""
        with self._writing() as cursor:
            before = _now() - older_than
            gone = runs.described(cursor, runs.deleted_before(cursor, before))
            purged = runs.purge(cursor, "deleted_at <= ?", [before])
            self._note(cursor, "purged", "run", gone)
            self._note(cursor, "purged", "scenario", scenarios.purge(cursor, before))
            return purged

    def mark_running(self, labels: Sequence[RunLabel]) -> None:
        """Note runs as under way; saving them, or :meth:`clear_running`, takes the note away."""
        with self._writing(("runs",)) as cursor:
            runs.mark_active(cursor, labels, _now())

    def clear_running(self, keys: Sequence[str]) -> None:
        """Forget that runs are under way or were interrupted."""
        with self._writing(("runs",)) as cursor:
            runs.clear_active(cursor, keys)

    def past_seconds(self, policy: str) -> list[tuple[int, float]]:
        """Return (jobs, wall seconds) of earlier runs of a policy on this machine."""
        changes = self.changes
        found = self._past.get(changes)
        if found is None:  # a page asks for each of its policies, a batch of a hundred tasks for the same few
            with self._reading() as cursor:
                found = runs.past_seconds(cursor)
            self._past.clear()
            self._past[changes] = found
        return found.get(policy, [])

    # ---- cells: numbers of many runs -----------------------------------------------------------------

    def find_cells(self, keys: Sequence[str]) -> dict[str, CellRecord]:
        """Return the numbers of runs by key, those that are known."""
        with self._reading() as cursor:
            return cells.find(cursor, keys)

    def cells_of(self, scenario_hash: str, most: int = 5000) -> dict[str, CellRecord]:
        """Return the newest numbers of runs of a scenario and of changes of it, by key."""
        with self._reading() as cursor:
            return cells.of_scenario(cursor, scenario_hash, most)

    def save_cells(self, records: Sequence[CellRecord]) -> None:
        """Keep the numbers of runs, all in one transaction."""
        with self._writing(("cells",)) as cursor:
            cells.save(cursor, records, _now())

    # ---- experiments ---------------------------------------------------------------------------------

    def find_experiment(self, key: str) -> str | None:
        """Return the id of the experiment with this key, None when the question was not asked yet."""
        with self._reading() as cursor:
            return experiments.find(cursor, key)

    def save_experiment(self, record: ExperimentRecord) -> str:
        """Keep an answer and return its id."""
        self.save_finished([Finished(experiment=record, made_by=self.actor.name)])
        return run_id_of(record.key)

    def _save_experiment(self, cursor: Any, record: ExperimentRecord) -> None:
        experiment_id = experiments.save(cursor, record, _now(), self.actor.name)
        self._note(
            cursor, "saved", "experiment", [(experiment_id, ": ".join(filter(None, (record.kind, record.name))))]
        )

    def get_experiment(self, experiment_id: str) -> ExperimentRecord:
        """Return a question with its answer; StoreError when unknown."""
        with self._reading() as cursor:
            return experiments.get(cursor, experiment_id)

    def list_experiments(self, kind: str | None = None) -> list[ExperimentInfo]:
        """Return the experiments of a kind, all without one, newest first."""
        with self._reading() as cursor:
            return experiments.listed(cursor, kind)

    # ---- files ---------------------------------------------------------------------------------------

    def export_runs(self, run_ids: Sequence[str]) -> bytes:
        """Return runs with their scenarios as one file (zip of Parquet and a manifest)."""
        with self._reading() as cursor:
            return portable.export(cursor, run_ids)

    def import_runs(self, content: bytes) -> ImportReport:
        """Take in an export file; all of it is checked before anything is written.

        Raises
        ------
        InputError
            If the file is not an export, too big, or does not agree with itself.
        """
        bundle = self._read_export(content)
        with self._writing() as cursor:
            fresh = scenarios.unknown(cursor, list(bundle.scenarios))
            report = portable.insert(cursor, bundle, _now())
            self._note(cursor, "imported", "scenario", [(key, bundle.scenarios[key].name) for key in fresh])
            self._note(cursor, "imported", "run", runs.described(cursor, report.added))
            return report

    def vacuum(self) -> tuple[int, int]:
        """Remove what nothing refers to and give space back; return the file's size before and after, bytes."""
        before = self.path.stat().st_size
        self.purge_deleted()
        with self._write_lock, self._reading() as cursor:
            cursor.execute("CHECKPOINT")
        return before, self.path.stat().st_size

    # ---- what the pages remember ---------------------------------------------------------------------

    def get_setting(self, key: str, default: Any = None) -> Any:
        """Return a remembered value ("baseline/…", "draft/…", "mapping/…"), or the default."""
        with self._reading() as cursor:
            row = one(cursor, "SELECT value FROM settings WHERE key = ?", [key])
        return default if row is None else json.loads(row[0])

    def set_setting(self, key: str, value: Any, detail: str = "") -> None:
        """Remember a value that can be written as JSON; None forgets it.

        ``detail`` says in the trail what was set, where it changes what other users see; empty for what only a page
        remembers.
        """
        text = json.dumps(value)
        with self._writing(("settings",)) as cursor:
            cursor.execute("DELETE FROM settings WHERE key = ?", [key])
            if value is not None:
                insert_row(cursor, "settings", {"key": key, "value": text, "changed_at": _now()})
            if detail:
                self._note(cursor, "set", "setting", [(key, detail)])

    def list_settings(self, prefix: str) -> dict[str, Any]:
        """Return all remembered values whose key starts with ``prefix``."""
        with self._reading() as cursor:
            rows = cursor.execute(
                "SELECT key, value FROM settings WHERE starts_with(key, ?) ORDER BY key", [prefix]
            ).fetchall()
        return {key: json.loads(value) for key, value in rows}

    # ---- who did what --------------------------------------------------------------------------------

    def trail(
        self,
        who: str | None = None,
        action: str | None = None,
        kind: str | None = None,
        text: str = "",
        limit: int = 1000,
    ) -> pd.DataFrame:
        """Return what users changed, newest first: ``done_at`` (UTC), who, action, kind, what (an id), detail.

        ``who``, ``action`` (saved, renamed, noted, deleted, restored, purged, imported, set) and ``kind`` (run,
        scenario, experiment, setting) are exact; ``text`` is a part of ``what`` or ``detail``, in any case of letters.
        Kept are the newest 100,000 rows. What the app remembers for itself is not among them.
        """
        with self._reading() as cursor:
            return trail.listed(cursor, who, action, kind, text, limit)


def _words(deletion: Deletion) -> str:
    return f"{deletion.name}: {amount(deletion.versions, 'version')}, {amount(deletion.runs, 'run')}"
