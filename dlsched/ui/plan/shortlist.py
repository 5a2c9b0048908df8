"""Answers that were kept as options of a scenario, for whoever writes the report; remembered in the store."""

from __future__ import annotations

from dlsched.ui.frame import session

PREFIX = "options/"


def kept(scenario_hash: str) -> list[str]:
    """Return the ids of the experiments that were kept as options of a scenario, in the order in which they were."""
    return [str(one) for one in session.store().get_setting(PREFIX + scenario_hash, [])]


def is_kept(scenario_hash: str, experiment_id: str) -> bool:
    """Whether an answer is among the options of a scenario."""
    return experiment_id in kept(scenario_hash)


def keep(scenario_hash: str, experiment_id: str) -> None:
    """Add an answer to the options of a scenario; one that is there stays where it is."""
    others = kept(scenario_hash)
    if experiment_id not in others:
        session.store().set_setting(PREFIX + scenario_hash, [*others, experiment_id])


def drop(scenario_hash: str, experiment_id: str) -> None:
    """Take an answer off the options of a scenario; one that is not there changes nothing."""
    others = [one for one in kept(scenario_hash) if one != experiment_id]
    session.store().set_setting(PREFIX + scenario_hash, others or None)
