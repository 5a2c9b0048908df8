"""What a stored fit or calibration says of a scenario: its own, or that of an earlier version with the same jobs."""

from __future__ import annotations

from collections.abc import Callable, Iterable, Mapping
from contextlib import suppress
from functools import partial
from typing import TYPE_CHECKING, Any

from dlsched.domain.errors import DlschedError
from dlsched.domain.scenario import Scenario
from dlsched.store.scenarios import ScenarioInfo
from dlsched.studies import calibration, fitting
from dlsched.studies.calibration.answer import Calibration
from dlsched.studies.calibration.record import has_same_record
from dlsched.studies.calibration.words import trust_caveat as calibration_caveat
from dlsched.studies.fitting.answer import Fit
from dlsched.studies.fitting.words import trust_caveat as fit_caveat
from dlsched.wording.caveats import Caveat

if TYPE_CHECKING:
    from dlsched.store import Store

MOST_LOOKED_AT = 20
"""Newest answers among which one about the scenario is looked for."""
STUDIES = (fitting.STUDY, calibration.STUDY)
"""What is learned from a first half and judged on the second goes before policies that run as they are."""
Answered = tuple[str, Fit | Calibration, bool]
"""Hash of a scenario, what is known of it, and whether that is by other code than today's."""
Said = Callable[..., Caveat]


def sayings(answers: Iterable[Answered], policy: str) -> dict[str, Said]:
    """Return what is said of scenarios, by hash: the first answer about each counts.

    ``policy``: that of today, or the baseline of a comparison.
    """
    found: dict[str, Said] = {}
    for about, answer, stale in answers:
        say: Said = fit_caveat if isinstance(answer, Fit) else calibration_caveat
        found.setdefault(about, partial(say, answer, policy, stale=stale))
    return found


def trust_of(
    scenario: Scenario,
    said: Mapping[str, Said],
    info_of: Callable[[str], ScenarioInfo | None],
    load: Callable[[str], Scenario],
) -> Caveat | None:
    """Return how well a replay explains what was recorded of a scenario; None if no replay was made.

    What is said of the scenario itself counts, else of the nearest earlier version with the same recorded jobs: a
    change of cluster, rules, prices or due dates leaves the record as it is.

    Parameters
    ----------
    said
        What is said of scenarios, by hash, as :func:`sayings`.
    info_of, load
        What a store knows of a scenario, and the scenario, by hash.
    """
    if not scenario.workload.has_recorded_starts or not said:
        return None
    if (own := said.get(scenario.content_hash)) is not None:
        return own()
    version = info_of(scenario.content_hash)
    while version is not None and version.based_on:
        version = info_of(version.based_on)
        if version is None or (found := said.get(version.scenario_hash)) is None:
            continue
        if has_same_record(load(version.scenario_hash).workload, scenario.workload):
            return found(of=f"version {version.version}")
    return None


def trust_in(store: Store, scenario: Scenario, policy: str) -> Caveat | None:
    """Return :func:`trust_of` a scenario from the newest answers in a store; versions need not be kept there.

    So any scenario with the same recorded jobs counts, whatever cluster or rules were typed since.
    """
    said = sayings(_answers(store), policy)
    if (found := trust_of(scenario, said, store.scenario_info, store.get_scenario)) is not None:
        return found
    for about, say in said.items():
        known = store.scenario_info(about) is not None
        if known and has_same_record(store.get_scenario(about).workload, scenario.workload):
            return say(of="another version")
    return None


def _answers(store: Store) -> Iterable[Answered]:
    for study in STUDIES:
        for one in store.list_experiments(study.kind)[:MOST_LOOKED_AT]:
            with suppress(DlschedError):  # of an older version of this program, with other fields
                record = store.get_experiment(one.experiment_id)
                spec, answer = _read(study, record)
                yield spec.scenario, answer, study.is_older(record)


def _read(study: Any, record: Any) -> tuple[Any, Fit | Calibration]:
    read: tuple[Any, Fit | Calibration] = study.read_record(record)
    return read
