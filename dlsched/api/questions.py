"""``compare``, ``what_if``, ``sweep`` and ``size``: questions to studies, in Python's own types.

All take ``futures``, ``vary``, ``processes``, ``dask`` and ``progress``:

futures
    How many versions of the workload beside the first, which is the recorded trace or the first draw; None = 40 for a
    trace of 5 days or more, else 20. Where nothing is random one is enough, and one is run.
vary
    What differs between futures of a recorded trace, as in ``{"days": 1, "failures": 500}``; ``{}`` = nothing;
    None = its days, for a trace of 5 days or more.
processes
    1 = here, one run after the other; a larger number spreads the runs over so many processes, None over one for each
    core. A script that does so must be guarded by ``if __name__ == "__main__":``, and a policy of your own must be in
    a module: name it as in ``"mymodule:MyPolicy"``.
dask
    Address of a Dask scheduler, as in ``"tcp://host:8786"``, to compute on its workers.
progress
    True for a line on standard error, or a function ``(share, text)``; what it raises stops the work.
"""

from __future__ import annotations

from collections.abc import Iterable, Mapping, Sequence
from typing import Any

from dlsched.api.answers import SizeAnswer, SweepAnswer, WhatIfAnswer
from dlsched.api.asking import PolicyGiven, key_of, require, told, workers
from dlsched.domain.errors import InputError
from dlsched.domain.scenario import Scenario
from dlsched.report.alternatives import condition_of
from dlsched.report.compared import LEAST, MOST, Compared, named_variants, run_compared
from dlsched.studies import sizing
from dlsched.studies import sweep as sweeps
from dlsched.studies import what_if as what_ifs
from dlsched.studies.design import Variant, factor_of
from dlsched.studies.design.factors import without_neutral
from dlsched.studies.design.futures import chosen_futures
from dlsched.studies.design.variants import Value
from dlsched.studies.simulation import Progress
from dlsched.studies.sizing.conditions import refuse_options
from dlsched.studies.sizing.targets import Target, read_target
from dlsched.studies.sweep.run import read_axis, run_sweep
from dlsched.studies.sweep.spec import policy_of
from dlsched.studies.what_if.spec import planned

METRICS = ("wait_mean", "wait_p95", "jct_mean", "late_share", "cost_month", "completed")


def compare(
    scenario: Scenario,
    policies: Sequence[PolicyGiven],
    *,
    baseline: PolicyGiven | None = None,
    options: Iterable[Mapping[str, Value]] = (),
    condition: Mapping[str, Value] | None = None,
    params: Mapping[str, Mapping[str, Any]] | None = None,
    futures: int | None = None,
    vary: Mapping[str, float] | None = None,
    processes: int | None = 1,
    dask: str | None = None,
    progress: bool | Progress = False,
) -> Compared:
    """Compare policies and changes of a scenario with a baseline, in the same futures.

    Parameters
    ----------
    scenario
        As of ``dlsched.load``.
    policies
        Keys of policies, or policies of your own; the first is the baseline. Two to six with the ``options``.
    baseline
        The policy that others are compared with, where it is not the first.
    options
        Changes to compare beside the policies, as in ``[{"nodes": 12}, {"nodes": "+2", "policy": "sjf"}]``; without
        ``policy`` they are under the baseline's.
    condition
        What applies to all, as in ``{"demand": 1.3, "prices": 0.9}``.
    params
        Parameters by key of policy, those that differ from their defaults.
    futures, vary, processes, dask, progress
        See :mod:`dlsched.api.questions`.

    Returns
    -------
    Compared
        ``frame``: one row for each metric and option with value, range, difference and verdict; ``runs``: all metrics
        of every run; ``table``, ``sentence``, ``caveats``, ``assumptions``.

    Raises
    ------
    InputError
        A bad name, parameter or change, fewer than two choices, or a baseline that cannot be run.

    Examples
    --------
    >>> import dlsched
    >>> scenario = dlsched.load("sample:demo")
    >>> answer = dlsched.compare(scenario, ["fifo", "easy-backfill"], futures=1)
    >>> answer.comparison.names
    ('FIFO', 'EASY backfill')
    >>> answer.frame.columns[:4].tolist()
    ['key', 'label', 'name', 'value']
    """
    scenario = require(scenario)
    asked = [baseline, *policies] if baseline is not None else [*policies]
    keys = list(dict.fromkeys(key_of(policy) for policy in asked))
    sets = [_option(scenario, option, keys) for option in options]
    if not keys or not LEAST <= len(keys) + len(sets) <= MOST:
        why = f"needs {LEAST} to {MOST} policies and options, and at least one policy; got {len(keys) + len(sets)}"
        raise InputError("compare", why, "Write it as in compare(scenario, ['fifo', 'srtf'])")
    given = {key_of(policy): of for policy, of in (params or {}).items()}
    used = {*keys, *(policy for policy, _ in sets)}
    if unused := [key for key in given if key not in used]:
        raise InputError(f"params of {unused[0]}", "are of a policy that is not compared", "Leave them out")
    variants = named_variants(scenario, keys, sets, given)
    happens = condition_of(scenario, _condition(scenario, condition))
    asked_futures = chosen_futures(scenario, futures, vary, keys[0])
    with workers(processes, dask) as executor:
        return run_compared(scenario, variants, happens, asked_futures, executor, told(progress))


def what_if(
    scenario: Scenario,
    changes: Mapping[str, Value] | None = None,
    *,
    condition: Mapping[str, Value] | None = None,
    policy: PolicyGiven = "fifo",
    params: Mapping[str, Any] | None = None,
    new_policy: PolicyGiven | None = None,
    new_params: Mapping[str, Any] | None = None,
    futures: int | None = None,
    vary: Mapping[str, float] | None = None,
    processes: int | None = 1,
    dask: str | None = None,
    progress: bool | Progress = False,
) -> WhatIfAnswer:
    """Return what changes do, against doing nothing, under a condition.

    Parameters
    ----------
    scenario
        Today's jobs and cluster.
    changes
        What you choose, as in ``{"nodes": "+2"}``; the keys are those of ``dlsched sweep FILE --vary ?``. A text with
        a sign is added to what there is.
    condition
        What happens whatever you choose, as in ``{"demand": 1.3}``.
    policy, params
        Today's policy, and its parameters that differ from their defaults.
    new_policy, new_params
        The policy you choose, where it is another one or has other parameters.
    futures, vary, processes, dask, progress
        See :mod:`dlsched.api.questions`.

    Returns
    -------
    WhatIfAnswer
        ``frame``: one row for each metric and side; ``settings``: what differs; ``answer``: the study's own.

    Raises
    ------
    InputError
        A bad name, parameter or change; a change that is a condition or the reverse; a side that cannot be run.

    Examples
    --------
    >>> import dlsched
    >>> scenario = dlsched.load("sample:demo")
    >>> answer = dlsched.what_if(scenario, {"nodes": "+2"}, policy="easy-backfill", futures=1)
    >>> answer.settings["With the change"].tolist()
    ['10']
    >>> sorted(answer.frame["name"].unique().tolist())
    ['the change', 'today']
    """
    scenario = require(scenario)
    today = Variant(policy=key_of(policy), params=dict(params or {}))
    chosen = today if new_policy is None else Variant(policy=key_of(new_policy))
    if new_params is not None:
        chosen = chosen.model_copy(update={"params": dict(new_params)})
    option = Variant(policy=chosen.policy, params=chosen.params, changes=_with_sums(scenario, changes or {}))
    spec = what_ifs.WhatIfSpec(
        scenario=scenario.content_hash,
        condition=dict(condition or {}),
        baseline=today,
        changed=option,
        futures=chosen_futures(scenario, futures, vary, today.policy),
    )
    plan = planned(spec, scenario)
    if plan.basis.is_exact:  # nothing is random: the other futures would all be this one
        spec = spec.first_future
        plan = planned(spec, scenario)
    with workers(processes, dask) as executor:
        answer = what_ifs.run_what_if(spec, scenario, executor, None, told(progress))
    if answer.errors:
        raise InputError("what if", f"a run failed: {answer.errors[0].removesuffix('.')}", "Correct what was asked")
    return WhatIfAnswer(scenario, plan, answer)


def sweep(
    scenario: Scenario,
    vary: Mapping[str, Sequence[Value] | str],
    policies: Sequence[PolicyGiven] = ("fifo",),
    *,
    metrics: Sequence[str] = METRICS,
    reference: PolicyGiven | None = None,
    params: Mapping[str, Mapping[str, Any]] | None = None,
    one_at_a_time: bool = False,
    futures: int | None = None,
    processes: int | None = 1,
    dask: str | None = None,
    progress: bool | Progress = False,
) -> SweepAnswer:
    """Return how policies compare over a range of one or two settings, in the same futures.

    Parameters
    ----------
    scenario
        As of ``dlsched.load``.
    vary
        Values by key, as in ``{"nodes": [8, 10, 12], "demand": "0.8:1.2:5"}`` (a text as on the command line: from, to,
        number of values). A key is one of ``dlsched sweep FILE --vary ?`` or ``POLICY.PARAMETER``.
    policies
        Keys of policies, or policies of your own.
    metrics
        Metrics to keep; the sentence is about the first.
    reference
        The policy that others are compared with; None = the first.
    params
        Parameters by key of policy, those that differ from their defaults.
    one_at_a_time
        Change one value at a time, all others as in the scenario, instead of all combinations.
    futures, processes, dask, progress
        See :mod:`dlsched.api.questions`.

    Returns
    -------
    SweepAnswer
        ``frame``: one row for each run; ``values``: one row for each point, policy and metric with its range.

    Raises
    ------
    InputError
        A bad name, value or parameter, more than 5,000 runs, or no values.

    Examples
    --------
    >>> import dlsched
    >>> scenario = dlsched.load("sample:demo")
    >>> answer = dlsched.sweep(scenario, {"nodes": [8, 10]}, ["fifo", "sjf"], metrics=["wait_mean"], futures=0)
    >>> answer.frame[["nodes", "policy"]].to_numpy().tolist()
    [[8.0, 'fifo'], [8.0, 'sjf'], [10.0, 'fifo'], [10.0, 'sjf']]
    """
    scenario = require(scenario)
    keys = [key_of(policy) for policy in policies]
    asked = {
        "scenario": scenario.content_hash,
        "axes": [{"key": key, "values": _values(scenario, key, values)} for key, values in vary.items()],
        "mode": "one-at-a-time" if one_at_a_time else "grid",
        "policies": keys,
        "params": {key_of(policy): dict(given) for policy, given in (params or {}).items()},
        "futures": chosen_futures(scenario, futures).model_dump(),
        "metrics": list(metrics),
        "reference": "" if reference is None else key_of(reference),
    }
    spec = sweeps.STUDY.read_spec(asked)
    sweeps.check(spec, scenario)
    with workers(processes, dask) as executor:
        found = run_sweep(spec, scenario, executor, None, told(progress))
    return SweepAnswer(scenario, found.answer)


def size(
    scenario: Scenario,
    targets: Sequence[str | Target],
    policy: PolicyGiven = "fifo",
    *,
    params: Mapping[str, Any] | None = None,
    condition: Mapping[str, Value] | None = None,
    types: Mapping[str, tuple[int, int]] | None = None,
    claim: str = "average",
    level: float = 0.95,
    headroom: bool = False,
    futures: int | None = None,
    vary: Mapping[str, float] | None = None,
    processes: int | None = 1,
    dask: str | None = None,
    progress: bool | Progress = False,
) -> SizeAnswer:
    """Return the cheapest cluster that meets targets under a policy, the sizes around it and its headroom.

    Parameters
    ----------
    scenario
        As of ``dlsched.load``.
    targets
        Limits with their units, as in ``["wait_p95<=1h", "late_share<=5%", "cost_month<=$50,000"]``.
    policy, params
        The policy, and its parameters that differ from their defaults.
    condition
        What happens to every size, as in ``{"demand": 1.3}``.
    types
        Nodes to try, from and to, as in ``{"nodes": (4, 20)}`` or by machine type ``{"A100": (2, 8)}``; None = up to
        four times today's nodes, including those rented beside them.
    claim, level
        When the targets hold: ``"average"``, or ``"nearly-every"`` future, the share of which is ``level``.
    headroom
        Also find how much more load the answer and today's cluster take.
    futures, vary, processes, dask, progress
        See :mod:`dlsched.api.questions`.

    Returns
    -------
    SizeAnswer
        ``nodes`` and ``counts`` of the answer, None if no size meets the targets; ``frame``: one row for each size.

    Raises
    ------
    InputError
        A target that cannot be read, a machine type that cannot vary, or a policy that cannot run the jobs.

    Examples
    --------
    >>> import dlsched
    >>> scenario = dlsched.load("sample:demo")
    >>> answer = dlsched.size(scenario, ["wait_p95<=4h"], "easy-backfill", futures=1)
    >>> bool(answer.frame.set_index("nodes").loc[answer.nodes, "wait_p95"] <= 4 * 3600)
    True
    """
    scenario = require(scenario)
    ranges = [
        {"key": key if key == "nodes" or key.startswith("nodes.") else f"nodes.{key}", "least": least, "most": most}
        for key, (least, most) in (types or {}).items()
    ]
    asked = {
        "scenario": scenario.content_hash,
        "targets": [(read_target(one) if isinstance(one, str) else one).model_dump() for one in targets],
        "policy": key_of(policy),
        "params": dict(params or {}),
        "condition": _condition(scenario, condition),
        "types": ranges,
        "claim": claim,
        "level": level,
        "headroom": headroom,
        "futures": chosen_futures(scenario, futures, vary).model_dump(),
    }
    spec = sizing.STUDY.read_spec(asked)
    sizing.check(spec, scenario)
    with workers(processes, dask) as executor:
        return SizeAnswer(scenario, sizing.run_size(spec, scenario, executor, None, told(progress)))


def _option(scenario: Scenario, option: Mapping[str, Any], policies: Sequence[str]) -> tuple[str, dict[str, Value]]:
    """Return policy and changes of an option; the policy is the baseline's where it names none."""
    changes = dict(option)
    policy = changes.pop("policy", None)
    key = (policies[0] if policies else "") if policy is None else key_of(policy)
    return key, _with_sums(scenario, changes)


def _with_sums(scenario: Scenario, changes: Mapping[str, Value]) -> dict[str, Value]:
    """Return changes in which texts with a sign, as in ``{"nodes": "+2"}``, are added to what the scenario has."""
    found = dict(changes)
    for key, value in changes.items():
        own = None if policy_of(key) else factor_of(scenario, key).own(scenario)
        if isinstance(value, str) and value.strip()[:1] in ("+", "-") and isinstance(own, int | float):
            try:
                found[key] = own + float(value)
            except ValueError:
                continue  # the change itself says what is wrong with it
    return found


def _condition(scenario: Scenario, condition: Mapping[str, Value] | None) -> dict[str, Value]:
    """Return a condition as it is read, without what changes nothing; InputError for what is something to choose."""
    given = dict(condition or {})
    refuse_options(given, scenario)
    return without_neutral(scenario, {key: factor_of(scenario, key).read(value) for key, value in given.items()})


def _values(scenario: Scenario, key: str, values: Sequence[Value] | str) -> list[Value]:
    text = values if isinstance(values, str) else ",".join(str(value) for value in values)
    return read_axis(scenario, key, text)
