"""Jobs with parameter servers in words: how many of both, and what they ask for of each resource."""

from __future__ import annotations

from dlsched.domain.scenario import Scenario
from dlsched.metrics.formats import amount, duration, listed, share
from dlsched.metrics.gangs import RESOURCE_WORDS
from dlsched.workload.doctor import in_time, loads_of, shares_at_once


def comes_at_once(scenario: Scenario) -> bool:
    """Whether all jobs are submitted at one instant."""
    submit_s = scenario.workload.submit_s
    return bool(submit_s[0] == submit_s[-1])


def asked_of(scenario: Scenario) -> dict[str, float]:
    """Return what jobs ask for of each resource that nodes state: together where all come at once, else their load."""
    jobs, cluster = in_time(scenario), scenario.cluster
    return shares_at_once(jobs, cluster) if comes_at_once(scenario) else loads_of(jobs, cluster)


def servers_words(scenario: Scenario) -> str:
    """Return how many workers and servers the jobs ask for, and what of each resource."""
    jobs = in_time(scenario)
    servers = 0 if jobs.servers is None else int(jobs.servers.sum())
    gangs = f"{amount(int(jobs.workers.sum()), 'worker')} and {amount(servers, 'parameter server')}"
    text = f"The jobs ask for **{gangs}** in all; the longest runs {duration(float(jobs.work.max()))} with that."
    named = [f"**{share(part)}** of the {RESOURCE_WORDS[name]}" for name, part in asked_of(scenario).items()]
    if not named:
        return text
    when = "Together they ask for" if comes_at_once(scenario) else "While they arrive, they ask for"
    return f"{text} {when} {listed(named)}."
