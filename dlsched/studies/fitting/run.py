"""From a record to a fitted policy: learned from the first half only, judged once on the second."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from concurrent.futures import Executor
from dataclasses import replace

import numpy as np

from dlsched.domain.cluster import Cluster
from dlsched.domain.scenario import Scenario
from dlsched.placement import can_ever_fit
from dlsched.policies import registry
from dlsched.sim.prepare import refuse_rented_nodes
from dlsched.store.record import CellStore
from dlsched.studies.calibration.answer import ReplayedTimes, calibrate
from dlsched.studies.calibration.idle import idle_of_record
from dlsched.studies.calibration.measures import log_ratio
from dlsched.studies.calibration.record import RecordedTimes, closed_loop, halves, left_without_start, record_of
from dlsched.studies.calibration.run import refuse_sample
from dlsched.studies.fitting.answer import (
    EASY,
    FIFO,
    FITTED,
    FamilyTried,
    Fit,
    Learned,
    bands_of,
    ceiling_of,
)
from dlsched.studies.fitting.families import (
    PARTS,
    Ground,
    Setting,
    coordinates,
    given_in,
    ground_of,
    policy_of,
    scenario_of,
)
from dlsched.studies.fitting.replay import Replay, Replayed, replayed, without_nodes
from dlsched.studies.fitting.search import Score, Step, descend, nested, starts_of
from dlsched.studies.fitting.spec import FitSpec
from dlsched.studies.fitting.training import Cuts, LearnedNodes, cuts_of, judged_in, known_before, nodes_before
from dlsched.studies.run_all import run_all
from dlsched.studies.simulation import Progress
from dlsched.studies.study import require_scenario
from dlsched.wording.counted import COUNTED
from dlsched.wording.formats import amount

NAMED_LATER = 20
S_PER_JOB = 0.01
FITTED_AT, REFITTED_AT = 0.25, 0.5
"""Share of the work that is done after each search, about."""
USUAL_TRIES = 40
SHORT_JOBS = 800
"""Jobs that are compared in a short replay, which says what is worth a replay of all that is known, ours."""
OTHERS_REPLAYS = 5
"""FIFO and EASY backfill have no passes on a timer: their replays differ less."""


def check(spec: FitSpec, scenario: Scenario) -> None:
    """Raise InputError when nothing can be fitted, before anything is computed."""
    require_scenario("fit", spec.scenario, scenario)
    refuse_rented_nodes(scenario, "the log does not say when they were there")
    cuts_of(record_of(scenario.workload))


def estimate_s(spec: FitSpec, scenario: Scenario | None = None) -> float:
    """Return about how many CPU seconds it takes."""
    return 5.0 if scenario is None else 2.0 + len(scenario.workload) * S_PER_JOB


def run_fit(
    spec: FitSpec,
    scenario: Scenario,
    executor: Executor | None = None,
    store: CellStore | None = None,
    progress: Progress | None = None,
) -> Fit:
    """Return a policy fitted to the first half of the record, and how near it comes on the second half.

    Parameters
    ----------
    executor
        Where to replay; None = here, one after the other.
    store
        Not used: single replays are not kept.
    progress
        Told the share done; what it raises stops the replays and comes through.

    Raises
    ------
    InputError
        Another scenario than the question names, no recorded waits, too few jobs, or a sample of jobs instead of a log.
    """
    check(spec, scenario)
    refuse_sample("fit", scenario)
    record = record_of(scenario.workload)
    cuts = cuts_of(record)
    tell = progress or (lambda done, text: None)
    nodes = nodes_before(scenario, cuts.half_s)
    first, ground = (_ground(scenario, nodes.cluster, cut_s) for cut_s in (cuts.quarter_s, cuts.half_s))
    steps = _chosen(first, ground, cuts, executor, tell)
    setting = _refitted(ground, [step for step in steps if step.kept], cuts, executor, tell)
    learned = _learned(scenario, ground, nodes, setting)
    replays = _replays(spec, scenario, nodes.cluster, ground, setting, executor, tell)
    return _judged(spec, scenario, record, cuts, learned, steps, replays)


# ---- learning --------------------------------------------------------------------------------------


def _ground(scenario: Scenario, nodes: Cluster, cut_s: float) -> Ground:
    """Return what is known at a cut: the jobs before it, on these nodes."""
    return ground_of(scenario.replace(workload=known_before(scenario.workload, cut_s), cluster=nodes))


def _chosen(first: Ground, half: Ground, cuts: Cuts, executor: Executor | None, tell: Progress) -> list[Step]:
    """Return the families that were fitted on the first quarter and chosen on the second."""
    told = _Tries(tell, 0.0, FITTED_AT, "fitting on the first quarter")
    return nested(
        {part: grid for part in PARTS if (grid := coordinates(part, first))},
        scorer(first, 0.0, cuts.quarter_s, executor, told),
        scorer(replace(first, scenario=half.scenario), cuts.quarter_s, cuts.half_s, executor, told),
        short_scorer(first, cuts.quarter_s, executor, told),
    )


def _refitted(ground: Ground, kept: Sequence[Step], cuts: Cuts, executor: Executor | None, tell: Progress) -> Setting:
    """Return the best setting of the kept parts on the whole first half, looked for as on the first quarter."""
    parts = [step.part for step in reversed(kept) if step.part is not None]  # what was added last first
    grid = {name: values for part in parts for name, values in coordinates(part, ground).items()}
    if not grid:
        return Setting()
    told = _Tries(tell, FITTED_AT, REFITTED_AT, "fitting on the first half")
    chosen = kept[-1].setting.model_copy(update={"closed": ()})  # hours are learned anew
    score = scorer(ground, 0.0, cuts.half_s, executor, told)
    return descend(starts_of(chosen, grid), grid, score, short_scorer(ground, cuts.half_s, executor, told)).setting


class _Tries:
    """Progress of a search that may try more or fewer settings: it nears its end more and more slowly."""

    def __init__(self, tell: Progress, low: float, high: float, text: str) -> None:
        self._tell, self._low, self._high, self._text = tell, low, high, text
        self._done = 0

    def __call__(self, task: Replay, found: Replayed) -> None:
        """Say that one more setting was replayed; what the progress raises comes through."""
        self._done += 1
        share = 1 - float(np.exp(-self._done / USUAL_TRIES))
        self._tell(self._low + (self._high - self._low) * share, f"{self._text}, {amount(self._done, 'replay')}")


def scorer(ground: Ground, from_s: float, until_s: float, executor: Executor | None, told: _Tries) -> Score:
    """Return what gives the mean |log ratio| of settings over the jobs of a period.

    The replay runs over all that is known. A job that never starts counts as if it waited until the last submission,
    except where it fits no node of the cluster.
    """
    jobs = ground.scenario.workload
    fits = can_ever_fit(jobs, ground.scenario.cluster, "pool")
    rows = np.flatnonzero(judged_in(jobs, from_s, until_s) & fits)
    recorded_s = record_of(jobs).wait_s[rows]
    longest_s = (jobs.submit_s[-1] - jobs.submit_s)[rows]

    def score(settings: Sequence[Setting]) -> list[float]:
        if not len(rows):
            return [0.0] * len(settings)
        tasks = [Replay(scenario_of(ground, one), *policy_of(ground, one)) for one in settings]
        waits = (found.wait_s[rows] for found in run_all(tasks, replayed, executor, each=told))
        found = [np.where(np.isnan(wait_s), longest_s, wait_s) for wait_s in waits]
        return [float(np.abs(log_ratio(recorded_s, wait_s)).mean()) for wait_s in found]

    return score


def short_scorer(ground: Ground, until_s: float, executor: Executor | None, told: _Tries) -> Score | None:
    """Return the score of a replay of the first jobs only, or None if there are few jobs."""
    jobs = ground.scenario.workload
    rows = np.flatnonzero(judged_in(jobs, 0.0, until_s))
    if len(rows) < 2 * SHORT_JOBS:
        return None
    cut_s = float(jobs.submit_s[rows[SHORT_JOBS]])
    first = ground.scenario.replace(workload=known_before(jobs, cut_s))
    return scorer(replace(ground, scenario=first), 0.0, cut_s, executor, told)


def _learned(scenario: Scenario, ground: Ground, nodes: LearnedNodes, setting: Setting) -> Learned:
    policy, params = policy_of(ground, setting)
    usable = without_nodes(nodes.cluster, setting.capacity)
    return Learned(
        policy=policy,
        params=params,
        setting=setting,
        period_s=ground.period_s,
        jobs=len(ground.scenario.workload),
        nodes=nodes.cluster.num_nodes,
        usable_nodes=usable.num_nodes,
        nodes_from_log=nodes.from_log,
        absences=nodes.absences,
        num_later=len(nodes.later),
        later_nodes=nodes.later[:NAMED_LATER],
        given=given_in(scenario),
        base=ground.policy,
        counted=COUNTED[ground.resource].say("GPUs"),
    )


# ---- judging ---------------------------------------------------------------------------------------


def _replays(
    spec: FitSpec, scenario: Scenario, nodes: Cluster, ground: Ground, setting: Setting,
    executor: Executor | None, tell: Progress,
) -> dict[str, list[Replayed]]:  # fmt: skip
    """Return the replays of the whole log under the fitted policy, FIFO and EASY backfill, on the learned nodes.

    FIFO and EASY backfill have all nodes all the time; the first replay of each policy is audited.
    """
    whole = scenario.replace(cluster=nodes)
    plain = scenario.replace(cluster=nodes.model_copy(update={"absences": ()}))
    cases = {
        FITTED: (scenario_of(replace(ground, scenario=whole), setting), *policy_of(ground, setting)),
        FIFO: (plain, FIFO, {}),
        EASY: (plain, EASY, {}),
    }
    count = {name: spec.replays if name == FITTED else min(spec.replays, OTHERS_REPLAYS) for name in cases}
    tasks = [
        Replay(what, policy, params, spec.seed, shake, checked=shake == 0, whole=nodes)
        for name, (what, policy, params) in cases.items()
        for shake in range(count[name])
    ]

    def judging(done: float, text: str) -> None:
        tell(REFITTED_AT + (1 - REFITTED_AT) * done, text)

    found = iter(run_all(tasks, replayed, executor, judging, noun="replay"))
    return {name: [next(found) for _ in range(count[name])] for name in cases}


def _judged(
    spec: FitSpec, scenario: Scenario, record: RecordedTimes, cuts: Cuts, learned: Learned, steps: Sequence[Step],
    replays: Mapping[str, Sequence[Replayed]],
) -> Fit:  # fmt: skip
    jobs = scenario.workload
    params = {FITTED: learned.params}
    labels = {FITTED: fitted_label(learned.policy), FIFO: registry.find(FIFO).label, EASY: registry.find(EASY).label}
    of_mean = [
        ReplayedTimes(
            policy=name,
            label=labels[name],
            params=params.get(name, {}),
            wait_s=np.mean([one.wait_s for one in found], axis=0),
            jct_s=np.mean([one.wait_s for one in found], axis=0) + jobs.work,
            audit=found[0].audit,
            idle_wanted=_mean([one.idle_wanted for one in found]),
        )
        for name, found in replays.items()
    ]
    judged = calibrate(
        record, of_mean, scenario=spec.scenario, scenario_name=scenario.name, seed=spec.seed,
        idle_wanted=idle_of_record(jobs, scenario.cluster), loop=closed_loop(jobs), unseen_only=True,
    )  # fmt: skip
    _, second = halves(record)
    compared = np.flatnonzero(second & np.logical_and.reduce([np.isfinite(one.wait_s) for one in of_mean]))
    waits = {name: [one.wait_s[compared] for one in found] for name, found in replays.items()}
    return Fit(
        scenario=spec.scenario,
        scenario_name=scenario.name,
        seed=spec.seed,
        replays=spec.replays,
        first_jobs=int(judged_in(known_before(jobs, cuts.half_s), 0.0, cuts.half_s).sum()),
        quarter_s=cuts.quarter_s,
        half_s=cuts.half_s,
        learned=learned,
        families=tuple(_family(step) for step in steps),
        judged=judged,
        bands={name: bands_of(record.wait_s[compared], found) for name, found in waits.items()},
        ceiling=ceiling_of(waits[FITTED]),
        left=int(left_without_start(jobs).sum()),
        left_started=float(np.mean([one.left_started for one in replays[FITTED]])),
    )


def fitted_label(policy: str) -> str:
    """Return what the fitted policy is called within a sentence."""
    return f"fitted {registry.find(policy).spoken}"


def _family(step: Step) -> FamilyTried:
    return FamilyTried(
        part=step.part,
        setting=step.setting,
        fit_factor=float(np.exp(step.fitted)),
        choice_factor=float(np.exp(step.chosen_by)),
        tried=step.tried,
        kept=step.kept,
    )


def _mean(values: Sequence[float | None]) -> float | None:
    known = [value for value in values if value is not None]
    return float(np.mean(known)) if known else None
