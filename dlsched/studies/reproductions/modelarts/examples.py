"""Figs 4 to 8 of the ModelArts study: its worked examples, computed anew."""

from __future__ import annotations

import numpy as np

from dlsched.domain.scenario import Scenario
from dlsched.domain.units import MINUTE_S
from dlsched.domain.workload import Workload
from dlsched.policies.rolling_horizon import problem as problems
from dlsched.policies.rolling_horizon.greedy import greedy
from dlsched.policies.rolling_horizon.solver import solve
from dlsched.speed import build_speed
from dlsched.studies.reproductions.claims import Check, reasons_of, verdict_of
from dlsched.studies.reproductions.modelarts.runs import GREEDY, OPTIMAL, PAPER
from dlsched.studies.reproductions.reproduction import CpuTime, Outcome, Printed, PrintedNumber, Setting
from dlsched.studies.simulation import Run, simulate
from dlsched.workload.studies.modelarts import NODE_GPUS, ModelArtsSpec, modelarts_scenario

WIDTHS = (1, 2, 4, 8, 16)
STEP_H = 1 / 12
EXAMPLES_4 = (
    # held now, minutes in training, after the decision; nodes of the pool
    ((2, 2, 2, 2), (15, 12, 5, 1), (2, 2, 2, 4), 10),
    ((4, 4, 2, 0), (15, 12, 5, 0), (2, 4, 2, 2), 10),
)
PLAN_5, DEMAND_5, HALF_HOUR = (1, 2, 1, 4), 3.0, 0.5
SPEEDS_6 = {1: 1.0, 2: 1.6, 4: 2.56, 8: 4.096, 16: 6.5536}
NODES_8, JOINS_8_S, ENDS_8_S = 8, 62.0, 129.0


def figure_4(setting: Setting) -> Outcome:
    """Two decisions of the greedy allocator."""
    checks, data = [], []
    for number, (held, minutes, after, nodes) in enumerate(EXAMPLES_4, 1):
        problem = problems.of([1.0] * len(held), nodes, WIDTHS, steps=1, step_h=STEP_H)
        answer = greedy(problem, np.array(held), np.array(minutes) * MINUTE_S)
        ours = answer.nodes.tolist()
        checks.append(Check(f"example {number}: nodes {list(after)} (ours {ours})", ours == list(after)))
        data.append({"before": list(held), "after": ours, "scenarios": list(answer.scenarios)})
    words = "; ".join(f"from {one['before']} to {one['after']} nodes" for one in data)
    return Outcome(f"Greedy goes {words}.", verdict_of(checks), reasons_of(checks), {"examples": data})


def figure_5(setting: Setting) -> Outcome:
    """Progress of a job of 3 node-hours with 1, 2, 1 and 4 nodes for half an hour each."""
    problem = problems.of([DEMAND_5], max(PLAN_5), WIDTHS, steps=len(PLAN_5), step_h=HALF_HOUR)
    done = problems.progress(problem, np.array([PLAN_5]))[0]
    checks = [Check("done after the fourth step and not before", bool(done[-1] >= 1 and done[-2] < 1))]
    shares = ", ".join(f"{part:.0%}" for part in done)
    words = f"With {', '.join(map(str, PLAN_5))} nodes {shares} of the job are done after each half hour."
    data = {"nodes": list(PLAN_5), "share_done": done.tolist()}
    return Outcome(words, verdict_of(checks), reasons_of(checks), data)


def figure_6(setting: Setting) -> Outcome:
    """Speed of a job over its nodes, in the simulator and in the allocator's program."""
    scenario = modelarts_scenario(ModelArtsSpec(nodes=max(WIDTHS), jobs=10))
    simulated = build_speed(scenario.speed, scenario.workload, scenario.cluster.vm_types)
    speeds = simulated.rates(np.zeros(len(WIDTHS), dtype=np.int64), np.array(WIDTHS))
    speeds = speeds / speeds[0]
    planned = problems.of([1.0], max(WIDTHS), WIDTHS, steps=1, step_h=STEP_H).rate[0]
    printed = np.array(list(SPEEDS_6.values()))
    checks = [
        Check("simulated speeds follow k x 0.8^log2(k)", bool(np.allclose(speeds, printed, rtol=1e-9))),
        Check("the optimal allocator plans with the same speeds", bool(np.allclose(planned, printed, rtol=1e-9))),
        Check("the measured speeds behind the law (they are private)", False),
    ]
    pairs = ", ".join(f"{speed:.2f} with {nodes}" for nodes, speed in zip(WIDTHS, speeds, strict=True))
    data = {"nodes": list(WIDTHS), "simulated": speeds.tolist(), "planned": planned.tolist()}
    return Outcome(f"Speed by nodes: {pairs}.", verdict_of(checks), reasons_of(checks), data)


def figure_7(setting: Setting) -> Outcome:
    """What a job that is done before the horizon may keep, and what that costs."""
    per_step = STEP_H * SPEEDS_6[2]
    problem = problems.of([2 * per_step], 2, (1, 2), steps=5, step_h=STEP_H)
    best = solve(problem, "enumerate")
    plan = np.array([[2, 2, 1, 1, 1]])
    worth = problems.objective_of(problem, plan)
    checks = [
        Check(
            f"2 nodes until it is done and 1 afterwards is an optimal plan ({worth:.3f} of {best.objective:.3f})",
            abs(worth - best.objective) <= 1e-9,
        ),
        Check(f"2 nodes are carried out now (ours {best.nodes_now[0]})", int(best.nodes_now[0]) == 2),
    ]
    words = (
        f"A job done after 2 of 5 steps: keeping 1 node afterwards is worth {worth:.3f}, the best {best.objective:.3f}."
    )
    about = "Alone in the pool; next to other jobs the node it keeps is one they cannot have in the plan."
    data = {"kept": plan[0].tolist(), "worth": worth, "best": best.objective, "best_plan": best.plan[0].tolist()}
    return Outcome(words, verdict_of(checks), reasons_of(checks, about), data)


def figure_8(setting: Setting) -> Outcome:
    """Between decisions a job that waits gets the nodes of the one that ends."""
    runs = {key: simulate(_two_jobs(), key) for key in (OPTIMAL, GREEDY)}
    checks = []
    for key, run in runs.items():
        ends_s, (start_s, nodes) = _end_of_1(run), _start_of_2(run)
        text = f"{key}: job 1 ends after {ENDS_8_S:g} s on {NODES_8} nodes (ours {ends_s:g} s)"
        checks.append(Check(text, abs(ends_s - ENDS_8_S) < 1e-6))
        text = f"{key}: job 2 starts on {NODES_8} nodes within a second ({nodes} nodes, {start_s - ends_s:g} s later)"
        checks.append(Check(text, nodes == NODES_8 and 0 <= start_s - ends_s <= 1))
    ends_s, (start_s, nodes) = _end_of_1(runs[OPTIMAL]), _start_of_2(runs[OPTIMAL])
    words = (
        f"Job 1 ends after {ends_s:g} s; job 2, which waits since {JOINS_8_S:g} s, starts after {start_s:g} s on "
        f"{nodes} nodes."
    )
    about = "The study moves forward by whole seconds and starts job 2 one second later; time is continuous here."
    data = {key: {"nodes_over_time": _pieces(run)} for key, run in runs.items()}
    return Outcome(words, verdict_of(checks), reasons_of(checks, about), data)


def _two_jobs() -> Scenario:
    """Return a pool of 8 nodes with a job that ends after 2 min 9 s there, and one that joins after 1 min 2 s."""
    columns = {
        "job_id": np.array(["job 1", "job 2"], dtype=object),
        "submit_s": np.array([0.0, JOINS_8_S]),
        "work": np.array([ENDS_8_S, 100.0]),  # job 2 ends before the next decision
        "workers": np.full(2, NODES_8),
        "gpus_per_worker": np.full(2, float(NODE_GPUS)),
        "min_workers": np.ones(2, np.int64),
        "max_workers": np.full(2, NODES_8),
    }
    empty = modelarts_scenario(ModelArtsSpec(nodes=NODES_8, jobs=10), name="Fig. 8")
    return empty.replace(workload=Workload.from_columns(columns, {}), generator=None)


def _pieces(run: Run) -> list[dict[str, object]]:
    """Return which job held how many nodes from when to when."""
    log = run.log
    rows = zip(log.piece_row, log.piece_start_s, log.piece_end_s, log.piece_workers, strict=True)
    return [
        {"job": f"job {row + 1}", "from_s": float(start_s), "to_s": float(end_s), "nodes": int(nodes)}
        for row, start_s, end_s, nodes in rows
    ]


def _end_of_1(run: Run) -> float:
    """Return when job 1 ends."""
    last = int(np.flatnonzero(run.log.piece_row == 0)[-1])
    return float(run.log.piece_end_s[last])


def _start_of_2(run: Run) -> tuple[float, int]:
    """Return when job 2 starts and on how many nodes."""
    first = int(np.flatnonzero(run.log.piece_row == 1)[0])
    return float(run.log.piece_start_s[first]), int(run.log.piece_workers[first])


EXAMPLES = (
    PAPER.figure(
        4,
        "Greedy gives 2 idle nodes to the job that has trained shortest, and halves the one that has trained longest "
        "for a job that waits.",
        figure_4,
        CpuTime(0.05, 0.05),
        Printed("nodes of each job"),
    ),
    PAPER.figure(
        5,
        "A job of 3 node-hours with 1, 2, 1 and 4 nodes for half an hour each is done in 2 hours.",
        figure_5,
        CpuTime(0.05, 0.05),
        Printed("2 h"),
    ),
    PAPER.figure(
        6,
        "Each doubling of the nodes makes a job 1.6 times as fast: k x 0.8^log2(k).",
        figure_6,
        CpuTime(0.05, 0.05),
        Printed("1.6 times per doubling", tuple(PrintedNumber("simulated", 1.6**n, x=float(2**n)) for n in range(5))),
    ),
    PAPER.figure(
        7,
        "A job that is done within the horizon may keep a node in the plan: only the first step is carried out.",
        figure_7,
        CpuTime(0.05, 0.05),
        Printed("one plan"),
    ),
    PAPER.figure(
        8,
        "Between decisions, a job that waits gets the 8 nodes of the job that ends.",
        figure_8,
        CpuTime(0.05, 0.05),
        Printed("8 nodes, after 129 s"),
    ),
)
