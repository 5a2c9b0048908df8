"""Resources, workers and parameter servers in words: what they are called, and what jobs ask for of each."""

from __future__ import annotations

import numpy as np

from dlsched.domain.scenario import Scenario
from dlsched.domain.workload import GPU, RESOURCES, Floats, Workload
from dlsched.wording.formats import amount, count, duration, listed, share
from dlsched.workload.import_report import in_seconds, loads_of, requested_totals, shares_at_once

RESOURCE_WORDS = {"gpus": "GPUs", "cpus": "CPUs", "mem_gib": "memory", "disk_gib": "disk"}
RESOURCE_UNITS = {"gpus": "GPUs", "cpus": "CPUs", "mem_gib": "GiB of memory", "disk_gib": "GiB of disk"}
ONE_UNIT = {"gpus": "GPU", "cpus": "CPU", "mem_gib": "GiB", "disk_gib": "GiB"}
"""One unit of a resource, where the resource is named beside it."""
UPDATES_WORDS = {"async": "asynchronous", "sync": "synchronous"}


def gang_words(workers: float, servers: float) -> str:
    """Return "3 workers, 2 servers"; what is zero is left out."""
    parts = [amount(int(workers), "worker")] if workers else []
    return ", ".join([*parts, *([amount(int(servers), "server")] if servers else [])])


def requested_words(workload: Workload) -> str:
    """Return "All jobs together request 1,234 GPUs and 9,876 CPU cores"; what no job asks for is left out."""
    totals = requested_totals(workload)
    named = (("gpus_total", "GPU"), ("cpus_total", "CPU core"))
    asked = [amount(totals[key], word) for key, word in named if totals[key]]
    return f"All jobs together request {listed(asked) if asked else 'memory only'}"


def resource_verb(resource: str, one: str, several: str) -> str:
    """Return the form of a verb that goes with the word of a resource: GPUs are, memory is."""
    return several if resource in ("gpus", "cpus") else one


def comes_at_once(scenario: Scenario) -> bool:
    """Whether all jobs are submitted at one instant."""
    submit_s = scenario.workload.submit_s
    return bool(submit_s[0] == submit_s[-1])


def asked_of(scenario: Scenario) -> dict[str, float]:
    """Return what jobs ask for of each resource that nodes state: together where all come at once, else their load."""
    jobs, cluster = in_seconds(scenario), scenario.cluster
    return shares_at_once(jobs, cluster) if comes_at_once(scenario) else loads_of(jobs, cluster)


def scarcest(scenario: Scenario) -> tuple[str, float] | None:
    """Return the resource that jobs ask most of where it is not GPUs that count, and :func:`asked_of` it.

    Also for jobs with parameter servers, which hold several resources, and where cores or memory are scarcer than the
    GPUs that count; a few GPUs that do not count are left aside. None if GPUs say it all, or if no node states a
    resource that jobs ask for.
    """
    few_gpus = scenario.counted != GPU and not scenario.workload.has_servers
    asked = {name: part for name, part in asked_of(scenario).items() if not (few_gpus and name == RESOURCES[GPU])}
    found = max(asked.items(), key=lambda item: item[1], default=None)
    told = found is not None and found[0] != RESOURCES[GPU]
    return found if scenario.workload.has_servers or told else None


def amounts_of(scenario: Scenario, resource: str) -> Floats:
    """Return what the workers and servers of each job ask for of a resource, shape (jobs,)."""
    return np.asarray(scenario.workload.requested[:, RESOURCES.index(resource)])


def name_of(scenario: Scenario, resource: str) -> str:
    """Return the word of a resource; CPUs are cores where jobs have no parameter servers."""
    return "cores" if resource == "cpus" and not scenario.workload.has_servers else RESOURCE_WORDS[resource]


def room_of(scenario: Scenario, resource: str) -> str:
    """Return what the owned nodes have of a resource: "480 cores", "2,560 GiB of memory"."""
    there = float(scenario.cluster.nodes.capacity[:, RESOURCES.index(resource)].sum())
    return f"{count(there)} {unit_of(scenario, resource)}"


def unit_of(scenario: Scenario, resource: str) -> str:
    """Return the unit of a resource: GPUs, cores, GiB of memory."""
    return "cores" if resource == "cpus" and not scenario.workload.has_servers else RESOURCE_UNITS[resource]


def asked_words(scenario: Scenario) -> str:
    """Return "asked 552% of memory" where all come at once, else "load 84% of memory"; "" as :func:`scarcest`."""
    found = scarcest(scenario)
    if found is None:
        return ""
    return f"{'asked' if comes_at_once(scenario) else 'load'} {share(found[1])} of {name_of(scenario, found[0])}"


def scarcest_card(scenario: Scenario) -> tuple[str, str, str] | None:
    """Return label, value and help of a card on the scarcest resource; None as :func:`scarcest`."""
    found = scarcest(scenario)
    if found is None:
        return None
    value = f"{share(found[1])} of {name_of(scenario, found[0])}"
    others = [
        f"{share(part)} of {name_of(scenario, name)}" for name, part in asked_of(scenario).items() if name != found[0]
    ]
    more = f" Also asked: {listed(others)}." if others and not scenario.workload.has_servers else ""
    if comes_at_once(scenario):
        hint = "All jobs come at once: what they request together, over what is available, of the scarcest resource."
        return ("Requested at once", value, hint + more)
    gangs = " Workers and servers." if scenario.workload.has_servers else ""
    hint = "Time requested over time available while jobs arrive, of the scarcest resource."
    return ("Load", value, f"{hint}{gangs}{more}")


def servers_words(scenario: Scenario) -> str:
    """Return how many workers and servers the jobs ask for, and what of each resource."""
    jobs = in_seconds(scenario)
    servers = 0 if jobs.servers is None else int(jobs.servers.sum())
    gangs = f"{amount(int(jobs.workers.sum()), 'worker')} and {amount(servers, 'parameter server')}"
    text = f"The jobs ask for **{gangs}** in all; the longest runs {duration(float(jobs.work.max()))} with that."
    named = [f"**{share(part)}** of the {RESOURCE_WORDS[name]}" for name, part in asked_of(scenario).items()]
    if not named:
        return text
    when = "Together they ask for" if comes_at_once(scenario) else "While they arrive, they ask for"
    return f"{text} {when} {listed(named)}."
