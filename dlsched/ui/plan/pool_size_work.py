"""Which answer the page Pool size shows, the computation of another one, and the runs behind one size."""

from __future__ import annotations

from dlsched.domain.errors import InputError
from dlsched.domain.scenario import Scenario
from dlsched.policies.registry import find
from dlsched.runner.background import RunTask
from dlsched.studies.estimate import estimate_s
from dlsched.studies.pool_sizes import STUDY, PoolSizesSpec, guess_s, num_rounds, pool_of, scenario_at
from dlsched.studies.pool_sizes.answer import PoolSizes
from dlsched.studies.pool_sizes.words import question_words
from dlsched.ui import answers
from dlsched.ui.frame import run_state, session
from dlsched.ui.scenario.drawn import ON_NODES
from dlsched.wording.formats import amount, duration
from dlsched.workload.studies.modelarts import on_whole_nodes, sample_elastic

POOL = answers.Answers(STUDY)
WORK = POOL.work
Shown = answers.Shown[PoolSizesSpec, PoolSizes]


def num_runs(spec: PoolSizesSpec, scenario: Scenario) -> int:
    """Return how many runs a sweep is."""
    return num_rounds(spec, scenario) * len(spec.policies)


def button_words(spec: PoolSizesSpec, scenario: Scenario) -> str:
    """Return what the button says: Compute 30 runs, about 4 min."""
    runs = amount(num_runs(spec, scenario), "run")
    if POOL.stored_id(spec) is not None:
        return f"Show {runs} from the store"
    about_s = _about_s(spec, scenario)
    return f"Compute {runs}, about {duration(60 * round(about_s / 60) if about_s >= 90 else round(about_s))}"


def _about_s(spec: PoolSizesSpec, scenario: Scenario) -> float:
    """Return about how long a sweep takes: by earlier runs of its policies in the store, else by a guess."""
    rounds, total_s = num_rounds(spec, scenario), 0.0
    for policy in spec.policies:
        past = estimate_s(scenario, policy, session.store())
        each_s = guess_s((policy,), len(scenario.workload), 1)
        total_s += rounds * (past.seconds if past.source == "earlier runs" else each_s)
    return total_s


def start(spec: PoolSizesSpec, scenario: Scenario) -> None:
    """Show the answer where the store has it, else ask the background runner."""
    POOL.start(spec, scenario, f"Pool size, {question_words(spec)}")


def look_at_runs(scenario: Scenario, answer: PoolSizes, nodes: int, variant: str) -> None:
    """Run the policies of an answer on one size, first draw, on the page Run, which opens their Result."""
    made = scenario_at(scenario, nodes, variant)
    if made.content_hash != scenario.content_hash:
        made = made.replace(name=f"{scenario.name[:60]}, {amount(nodes, 'node')}")
    session.keep(made)
    session.look_at_run("")
    run_state.start([RunTask(made, policy, {}, 0, find(policy).label) for policy in answer.policies])
    session.go("simulate/run.py")


def put_on_whole_nodes(scenario: Scenario) -> None:
    """Make a version of the scenario with its jobs on whole nodes, in one pool."""
    made = on_whole_nodes(scenario)
    try:
        pool_of(made)
    except InputError:
        made = on_whole_nodes(scenario, scenario.cluster.num_nodes)
    name = scenario.name.removesuffix(ON_NODES) + ON_NODES
    session.keep(made.replace(name=name), based_on=scenario.content_hash)


def open_demo() -> None:
    """Look at the demo of elastic training."""
    session.keep(sample_elastic())
    session.look_at_run("")
