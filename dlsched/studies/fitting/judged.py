"""The scenario that a fitted policy was judged on, for runs and what-ifs that start from the same nodes."""

from __future__ import annotations

from dlsched.domain.assumptions import Assumption
from dlsched.domain.scenario import Scenario
from dlsched.domain.slurm import SlurmSetup
from dlsched.placement import can_ever_fit
from dlsched.studies.fitting.answer import Fit
from dlsched.studies.fitting.replay import withheld, without_nodes
from dlsched.studies.fitting.training import nodes_before
from dlsched.wording.formats import amount


def judged_scenario(answer: Fit, scenario: Scenario) -> Scenario:
    """Return the scenario as the fitted policy replayed it, or itself where that is the same.

    Its nodes, partitions and absences are those of the first half of the log. Nodes that jobs could not use are absent
    for good but paid for, where that gives the same replay; where a job needs them, or the size of a job counts as a
    share of the cluster, they are left out. Jobs that can never fit are left out of its runs, as of the replays.
    """
    learned = answer.learned
    cluster = nodes_before(scenario, answer.half_s).cluster
    usable = without_nodes(cluster, learned.setting.capacity)
    fits = bool(can_ever_fit(scenario.workload, usable, scenario.options.placement).all())
    weighs_size = learned.setting.size or (scenario.slurm or SlurmSetup()).options.PriorityWeightJobSize
    used = withheld(cluster, learned.setting.capacity) if fits and not weighs_size else usable
    # Nodes that were learned again have the prices of today's.
    usd_per_h = {pool.vm.name: pool.vm.usd_per_h for pool in scenario.cluster.pools}
    priced = (pool.vm.model_copy(update={"usd_per_h": usd_per_h.get(pool.vm.name)}) for pool in used.pools)
    pools = (pool.model_copy(update={"vm": vm}) for pool, vm in zip(used.pools, priced, strict=True))
    used = used.model_copy(update={"pools": tuple(pools)})
    options = scenario.options if fits else scenario.options.model_copy(update={"oversize": "drop"})
    if (used, options) == (scenario.cluster, scenario.options):
        return scenario
    said = f"nodes and absences as a fit learned them from the first half of the log: {nodes_words(answer)}"
    return scenario.replace(
        cluster=used, options=options, assumptions=(*scenario.assumptions, Assumption(kind="rule", text=said))
    )


def nodes_words(answer: Fit) -> str:
    """Return on what a fit was judged that no flag says: "6 of 10 nodes, 3 times of absence, without 2 later nodes"."""
    learned = answer.learned
    parts = [f"{learned.usable_nodes:,} of {amount(learned.nodes, 'node')}"]
    if learned.absences:
        parts.append(f"{amount(learned.absences, 'time')} at which a node was absent")
    if learned.num_later:
        parts.append(f"without {amount(learned.num_later, 'node')} first seen in the second half")
    return ", ".join(parts)
