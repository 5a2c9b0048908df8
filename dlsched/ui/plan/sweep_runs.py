"""The sweeps of a scenario: their runs go to the background in batches, and what is finished stays when one stops.

Ranges and sensitivities are answers of one study, shown by two parts of a page: each has the sweeps of its mode.
"""

from __future__ import annotations

import time
from collections.abc import Mapping, Sequence
from contextlib import suppress
from dataclasses import dataclass, field
from typing import Any, ClassVar

from dlsched.domain.errors import DlschedError
from dlsched.domain.scenario import Scenario
from dlsched.policies.registry import find
from dlsched.runner.background import RunTask, StudyTask, TaskState, TaskStatus
from dlsched.runner.executor import num_workers
from dlsched.store.record import ExperimentRecord
from dlsched.studies.batches import batches, run_seconds
from dlsched.studies.cells import KIND as CELLS
from dlsched.studies.cells import outcomes_of, spec_of
from dlsched.studies.design import changed
from dlsched.studies.design.run import RunResult, VariantPlan, stored_results
from dlsched.studies.sweep import STUDY, SweepSpec, answer_of, planned, read_spec
from dlsched.studies.sweep.answer import Sweep
from dlsched.studies.sweep.presets import Mode
from dlsched.studies.sweep.run import question_of
from dlsched.studies.sweep.words import point_words
from dlsched.ui import answers
from dlsched.ui.answers import Answers, Begun
from dlsched.ui.frame import identity, run_state, session
from dlsched.ui.frame.caches import shared
from dlsched.ui.pending import PendingTasks
from dlsched.wording.formats import about_seconds, amount

INTERRUPTED = "sweep-interrupted"
Shown = answers.Shown[SweepSpec, Sweep]


@dataclass(frozen=True, eq=False)
class Ready:
    """A question before it is asked: what there is to run, what the store has of it, how long the rest may take."""

    spec: SweepSpec
    scenario: Scenario
    plan: VariantPlan
    found: Mapping[str, RunResult]
    each_s: Mapping[str, float]

    @property
    def seconds(self) -> float:
        """About how long the missing runs take on all workers."""
        return sum(self.each_s[key] for key in self.missing) / num_workers()

    @property
    def missing(self) -> list[str]:
        """Keys of the runs that are still to be computed."""
        return [key for key in self.plan.tasks if key not in self.found]


@dataclass(frozen=True, eq=False)
class RunsBegun(Begun[SweepSpec]):
    """A sweep under way: how many runs each task of the runner has, what was there before, and since when."""

    ready: Ready
    runs_of: Mapping[str, int]
    began_s: float = field(default_factory=time.monotonic)


@dataclass(frozen=True)
class PendingRuns(PendingTasks):
    """The runs of a sweep that is under way: one progress bar for all batches."""

    begun: RunsBegun | None = None
    kept_words: ClassVar[str] = "finished runs are kept"
    cancel_help: ClassVar[str] = "Runs are kept in batches of a few seconds; those in hand now are lost"

    def under_way(self) -> list[TaskStatus]:
        """Return the batches of the sweep; empty once all of it is over."""
        statuses = [] if self.begun is None else session.runner().status(self.begun.ids)
        return [] if all(status.state.is_over for status in statuses) else statuses

    def bars(self, statuses: Sequence[TaskStatus]) -> Mapping[str, tuple[float, str]]:
        """Return the one bar: 380 of 1,350 runs, about 40 s left."""
        if self.begun is None:
            return {}
        done, runs, left_s = progress_of(self.begun, statuses)
        return {"runs": (done / runs, f"{done:,} of {amount(runs, 'run')}, {about_seconds(left_s)} left")}


@dataclass(frozen=True, eq=False)
class Sweeps(Answers[SweepSpec, Sweep]):
    """The sweeps of one mode in the store, and those whose runs are not complete."""

    mode: Mode = "grid"

    def takes(self, record: ExperimentRecord) -> bool:
        """Whether a stored answer is a sweep of this mode."""
        return super().takes(record) and record.spec.get("mode", "grid") == self.mode

    def listed(self) -> list[tuple[str, str]]:
        """Return id and name of the newest of this mode that the code of today can read."""
        found = []
        for experiment_id, name in super().listed():
            with suppress(DlschedError):
                found += [(experiment_id, name)] if self.stored(experiment_id).spec.mode == self.mode else []
        return found

    def shown(self, current: Scenario) -> Shown | None:
        """Return the answer that was opened, else what there is of one that was stopped, else the newest."""
        if (opened := self.opened(current)) is not None:
            return opened
        if self.begun(current) is None and (stopped := interrupted(current, self.mode)) is not None:
            return stopped
        return super().shown(current)

    def work_about(self, current: Scenario) -> PendingTasks:
        """Return what a page about a scenario waits for, whichever tab began it."""
        begun = self.last_begun(current)
        return PendingRuns(self.key, begun if isinstance(begun, RunsBegun) else None)

    def rejoin(self, current: Scenario) -> None:
        """Do nothing: a sweep is everybody's on the server anyway."""

    def start(self, spec: SweepSpec, subject: Any, name: str) -> None:
        """Show the answer where the store has all runs, else ask the background runner for the missing ones."""
        self.work.forget_ended()
        if (experiment := self.stored_id(spec)) is not None:
            self.open(experiment)
            return
        ready = prepare(spec, subject)
        if not ready.missing:
            self._finish(ready, ready.found)
            return
        session.store().set_setting(_kept_under(spec.scenario, spec.mode), spec.model_dump(mode="json"))
        parts = batches(ready.missing, ready.each_s, num_workers())
        cells = [spec_of({key: ready.plan.tasks[key] for key in part}) for part in parts]
        ids = session.runner().submit(StudyTask(CELLS, one, name, subject) for one in cells)
        runs_of = {one: len(part) for one, part in zip(ids, parts, strict=True)}
        self.note(RunsBegun(spec, tuple(ids), ready, runs_of))

    def take_in(self, current: Scenario) -> bool:
        """Take in what a sweep brought once nothing of it is under way; return whether there was one."""
        begun = self.last_begun(current)
        if not isinstance(begun, RunsBegun) or self.begun(current) is not None or not identity.may_write():
            return False
        self.forget_begun(current)
        runner = session.runner()
        statuses = runner.status(begun.ids)
        tasks = begun.ready.plan.tasks
        found = dict(stored_results(session.store(), tasks))
        for task_id in begun.ids:
            rest = runner.answer(task_id)
            found |= {} if rest is None else outcomes_of(rest)
        runner.forget(begun.ids)
        missing = len(tasks) - len(found)
        if not missing:
            self._finish(begun.ready, found)
            return True
        failed = next((status for status in statuses if status.state is TaskState.FAILED), None)
        kept = f"{len(found):,} of {amount(len(tasks), 'run')} are kept, {missing:,} are missing"
        if failed is None:
            self.work.end(TaskState.CANCELLED, f"Cancelled. {kept}.")
        else:
            self.work.end(TaskState.FAILED, f"{failed.message} {kept}.")
        self.open(None)
        return True

    def _finish(self, ready: Ready, found: Mapping[str, RunResult]) -> None:
        """Make the answer of all outcomes, keep and open it."""
        spec = ready.spec
        answer = answer_of(spec, ready.scenario, _outcomes(ready.plan, spec, found), exact=ready.plan.exact)
        name = f"{ready.scenario.name[:60]}: {question_of(spec, ready.scenario)}"
        record = self.study.record(spec, answer, ready.scenario, name)
        self.open(session.store().save_experiment(record))
        forget_interrupted(ready.scenario, spec.mode)


SWEEPS: Mapping[str, Sweeps] = {
    "grid": Sweeps(STUDY, prefix="range"),
    "one-at-a-time": Sweeps(STUDY, prefix="sensitivity", mode="one-at-a-time"),
}
"""By their mode."""


def progress_of(begun: RunsBegun, statuses: Sequence[TaskStatus]) -> tuple[int, int, float]:
    """Return how many runs of a sweep are done, how many there are, and about how many seconds are left."""
    here = sum(
        begun.runs_of[status.id] * (1.0 if status.state in (TaskState.STORED, TaskState.DONE) else status.share)
        for status in statuses
        if status.state not in (TaskState.CANCELLED, TaskState.FAILED)
    )
    runs, stored = len(begun.ready.plan.tasks), len(begun.ready.found)
    gone_s = time.monotonic() - begun.began_s
    left_s = gone_s * (runs - stored - here) / here if here >= 1 else begun.ready.seconds - gone_s
    return stored + int(here), runs, left_s


# ---- a sweep that was stopped ------------------------------------------------------------------------


def _kept_under(scenario_hash: str, mode: str) -> str:
    """Return the setting of the store that holds the last question that did not come to its end."""
    return f"{INTERRUPTED}/{mode}/{scenario_hash}"


def interrupted(current: Scenario, mode: str) -> Shown | None:
    """Return what there is of the last sweep of a scenario that did not come to its end, and is not under way."""
    plain = session.store().get_setting(_kept_under(current.content_hash, mode))
    if plain is None:
        return None
    try:
        spec = read_spec(plain)
        ready = prepare(spec, current)
    except DlschedError:  # of an older version of this program
        forget_interrupted(current, mode)
        return None
    answer = answer_of(spec, current, _outcomes(ready.plan, spec, ready.found), exact=ready.plan.exact)
    return answers.Shown(spec, answer, "", partial=True)


def is_interrupted(spec: SweepSpec) -> bool:
    """Whether a question was asked before and did not come to its end."""
    return bool(session.store().get_setting(_kept_under(spec.scenario, spec.mode)) == spec.model_dump(mode="json"))


def forget_interrupted(current: Scenario, mode: str) -> None:
    """Ask no more about the sweep that was stopped; its runs stay in the store."""
    session.store().set_setting(_kept_under(current.content_hash, mode), None)


# ---- what there is to run ----------------------------------------------------------------------------


def prepare(spec: SweepSpec, scenario: Scenario) -> Ready:
    """Return what there is to run for a question; InputError where it cannot be run."""
    plan = _planned(spec.model_dump_json(), spec, scenario)
    found = stored_results(session.store(), plan.tasks)
    each_s = run_seconds(plan.tasks, scenario, session.store())
    return Ready(spec, scenario, plan, found, each_s)


@shared
def _planned(question: str, _spec: SweepSpec, _scenario: Scenario) -> VariantPlan:
    return planned(_spec, _scenario)


def _outcomes(plan: VariantPlan, spec: SweepSpec, found: Mapping[str, RunResult]) -> list[list[RunResult | None]]:
    draws = len(spec.futures.seeds)
    return [[found.get(key) for key in plan.keys[at : at + draws]] for at in range(0, len(plan.keys), draws)]


def look_at_runs(scenario: Scenario, shown_now: Shown, point: int) -> None:
    """Run the policies of an answer in one situation, future 0, on the page Run, which opens their Result."""
    spec, answer = shown_now.spec, shown_now.answer
    seed = spec.futures.seeds[0]
    cases = [spec.variant(spec.points[point], policy) for policy in spec.policies]
    made = changed(scenario, cases[0].changes | spec.futures.changes_in(seed), seed)
    if made.content_hash != scenario.content_hash:
        made = made.replace(name=f"{scenario.name[:60]}, {point_words(answer, point)}")
    session.keep(made)
    run_state.start([RunTask(made, case.policy, dict(case.params), seed, find(case.policy).label) for case in cases])
    session.go("Run")
