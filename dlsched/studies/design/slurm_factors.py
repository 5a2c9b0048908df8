"""What of a scenario's Slurm can be changed: limits, priorities of QOS, and shares, as sacctmgr names them.

Keys: ``limit.user.``, ``limit.account.`` and ``limit.qos.NAME.LIMIT[.RESOURCE]``, as in
``limit.account.vision.GrpTRES.gres/gpu``; ``qos.NAME.Priority`` and ``qos.NAME.UsageFactor``; ``shares.ACCOUNT`` and
``shares.ACCOUNT/USER``. All are options: the planner chooses them. Settings of slurm.conf are parameters of the policy.
"""

from __future__ import annotations

from collections.abc import Callable, Iterable, Mapping, Sequence
from typing import Any

from dlsched.domain.errors import InputError
from dlsched.domain.names import names_hint
from dlsched.domain.scenario import Scenario
from dlsched.domain.slurm import SlurmAssociation, SlurmLimits, SlurmQos, SlurmSetup
from dlsched.studies.design.factor import Factor, Kind, Value

NONE, PARENT, MIXED = "none", "parent", "differs by account"
FAMILIES = ("limit", "qos", "shares")
LIMITS: Mapping[str, Mapping[str, str]] = {
    "user": {"MaxJobs": "MaxJobsPU", "GrpJobs": "GrpJobs", "GrpTRES": "GrpTRES", "MaxTRES": "MaxTRESPJ"},
    "account": {"MaxJobs": "MaxJobsPU", "GrpJobs": "GrpJobs", "GrpTRES": "GrpTRES", "MaxTRES": "MaxTRESPJ"},
    "qos": {
        "GrpJobs": "GrpJobs", "MaxJobsPerUser": "MaxJobsPU", "MaxJobsPerAccount": "MaxJobsPA", "GrpTRES": "GrpTRES",
        "MaxTRESPerUser": "MaxTRESPU", "MaxTRESPerAccount": "MaxTRESPA", "MaxTRES": "MaxTRESPJ",
    },
}  # fmt: skip
"""Limits that the policy slurm keeps, by whose they are: the name that sacctmgr takes -> field of SlurmLimits."""
TEXTS: Mapping[str, str] = {
    "MaxJobsPU": "Running jobs of each user at once",
    "MaxJobsPA": "Running jobs of each account at once",
    "GrpJobs": "Running jobs of all together at once",
    "GrpTRES": "What the running jobs of all together hold",
    "MaxTRESPU": "What the running jobs of each user hold",
    "MaxTRESPA": "What the running jobs of each account hold",
    "MaxTRESPJ": "What one job holds",
}
UNITS: Mapping[str, str] = {"cpu": "CPUs", "mem": "GiB", "node": "nodes in use"}
QOS_FIELDS: Mapping[str, tuple[str, Kind, float, str]] = {
    "Priority": ("Priority", "whole", 2**32, "Priority of its jobs, which PriorityWeightQOS weighs"),
    "UsageFactor": ("Usage factor", "number", 1e6, "What its jobs count as for fair share: 0.5 = half"),
}
MOST, MOST_SHARES = 1e9, 2**31
MOST_OFFERED = 40
"""So many changes of each family are offered in forms; all keys can be typed."""
Holder = SlurmQos | SlurmAssociation


def slurm_factors(scenario: Scenario) -> tuple[Factor, ...]:
    """Return the factors of Slurm that a form offers: limits that are set, priorities, shares of accounts."""
    setup = scenario.slurm
    if setup is None:
        return ()
    limits = []
    for kind, holders in (("qos", setup.qos), ("account", setup.associations), ("user", setup.associations)):
        for one in holders:
            name = _name_of(kind, one)
            for limit, field in LIMITS[kind].items() if name else ():
                value = getattr(one.limits, field)
                ends = [f".{resource}" for resource in value] if isinstance(value, dict) else [""]
                limits += [f"limit.{kind}.{name}.{limit}{end}" for end in ends if value not in (None, {})]
    priorities = [f"qos.{one.name}.Priority" for one in setup.qos]
    shares = [f"shares.{one.account}" for one in setup.associations if not one.user and not one.partition]
    keys = [key for family in (limits, priorities, shares) for key in list(dict.fromkeys(family))[:MOST_OFFERED]]
    found = (slurm_factor(scenario, key) for key in keys if len(key) <= 120)
    return tuple(factor for factor in found if factor is not None)


def slurm_factor(scenario: Scenario, key: str) -> Factor | None:
    """Return the factor of a key; None if the key is not about limits, QOS or shares.

    Raises
    ------
    InputError
        Where there are no settings of Slurm, no such user, account or QOS, or no such limit.
    """
    family, _, rest = key.partition(".")
    if family not in FAMILIES or not rest:
        return None
    setup = scenario.slurm
    if setup is None:
        do = "Add them on the page Cluster, or read them with --slurm FILE, as in sacctmgr show qos -P"
        raise InputError(f"change {key!r:.80}", "the scenario has no settings of Slurm", do)
    if family == "shares":
        return _shares(setup, key, rest)
    if family == "qos":
        name, field = _placed(key, "QOS", rest, [one.name for one in setup.qos], "Priority")
        return _of_qos(setup, key, name, field)
    kind, _, rest = rest.partition(".")
    if kind not in LIMITS:
        raise InputError(f"change {key!r:.80}", f"there are no limits of {kind!r:.40}", names_hint(kind, LIMITS))
    holders: Sequence[Holder] = setup.qos if kind == "qos" else setup.associations
    known = dict.fromkeys(name for one in holders if (name := _name_of(kind, one)))
    name, limit = _placed(key, "QOS" if kind == "qos" else kind, rest, known, "GrpJobs")
    return _limit(scenario, key, kind, name, limit)


def _name_of(kind: str, one: Holder) -> str:
    """Return the user, account or QOS whose limits these are; "" where it is of another kind."""
    if isinstance(one, SlurmQos):
        return one.name
    return one.user if kind == "user" else "" if one.user or one.partition else one.account


def _placed(key: str, what: str, rest: str, known: Iterable[str], example: str) -> tuple[str, str]:
    """Return name and setting of NAME.SETTING; names may hold points, so the longest counts."""
    names = list(known)
    near = [name for name in names if rest == name or rest.startswith(f"{name}.")]
    if not near:
        name = rest.partition(".")[0]
        raise InputError(f"change {key!r:.80}", f"there is no {what} {name!r:.80}", names_hint(name, names))
    name = max(near, key=len)
    setting = rest[len(name) + 1 :]
    if not setting:
        raise InputError(f"change {key!r:.80}", "does not say what to change", f"Write it as in {key:.80}.{example}")
    return name, setting


def _factor(
    key: str, label: str, unit: str, kind: Kind, high: float, text: str, own: Value,
    edit: Callable[[SlurmSetup, Any], SlurmSetup], choices: tuple[str, ...] = (),
) -> Factor:  # fmt: skip
    def edited(scenario: Scenario, value: Any, _: int) -> Scenario:
        assert scenario.slurm is not None
        return scenario.replace(slurm=edit(scenario.slurm, value))

    base = None if isinstance(own, str) else own
    return Factor(
        key, label, unit, kind, 0.0, high, f"{text}. Only the policy slurm follows it.", edited, "option",
        choices=choices, base=base, own=lambda _: own,
    )  # fmt: skip


def _limit(scenario: Scenario, key: str, kind: str, name: str, rest: str) -> Factor:
    """Return the change of a limit; of a user in several accounts, in each of them."""
    assert scenario.slurm is not None
    setup, (limit, _, resource) = scenario.slurm, rest.partition(".")
    if limit not in LIMITS[kind]:
        why = f"the policy slurm knows no limit {limit!r:.40} of {'a QOS' if kind == 'qos' else f'each {kind}'}"
        raise InputError(f"change {key!r:.80}", why, names_hint(limit, LIMITS[kind]))
    field = LIMITS[kind][limit]
    if "TRES" in field:
        types = dict.fromkeys(vm.gpu_type for vm in scenario.cluster.vm_types if vm.gpus)
        known = ["gres/gpu", "cpu", "mem", "node", *(f"gres/gpu:{one}" for one in types)]
        at_start = f"{key.removesuffix(f'.{resource}')}.gres/gpu"
        if not resource:
            raise InputError(f"change {key!r:.80}", "does not say of which resource", f"Write it as in {at_start}=16")
        if resource.lower() not in [one.lower() for one in known]:
            why = f"there is no resource {resource!r:.60}"
            raise InputError(f"change {key!r:.80}", why, names_hint(resource, known))
    elif resource:
        raise InputError(f"change {key!r:.80}", f"{limit} is a number of jobs", f"Leave out .{resource:.60}")

    def is_meant(one: Holder) -> bool:
        return _name_of(kind, one) == name

    def value_of(limits: SlurmLimits) -> float | None:
        found = getattr(limits, field)
        if not isinstance(found, dict):
            return found  # type: ignore[no-any-return]  # a number of jobs
        return next((amount for known, amount in found.items() if known.lower() == resource.lower()), None)

    def limited(limits: SlurmLimits, value: Value) -> SlurmLimits:
        plain = None if value == NONE else value
        before = getattr(limits, field)
        if not isinstance(before, dict):
            return limits.model_copy(update={field: plain})
        others = {known: amount for known, amount in before.items() if known.lower() != resource.lower()}
        return limits.model_copy(update={field: others if plain is None else others | {resource: plain}})

    def edit(setup: SlurmSetup, value: Value) -> SlurmSetup:
        part = "qos" if kind == "qos" else "associations"
        rows = tuple(
            one.model_copy(update={"limits": limited(one.limits, value)}) if is_meant(one) else one
            for one in getattr(setup, part)
        )
        return setup.model_copy(update={part: rows})

    holders: Sequence[Holder] = setup.qos if kind == "qos" else setup.associations
    values = {value_of(one.limits) for one in holders if is_meant(one)}
    single = values.pop() if len(values) == 1 else MIXED
    of = f"{'QOS' if kind == 'qos' else kind} {name}"
    text = (
        f"{TEXTS[field]}, for {of}; {NONE} = no limit. Typed with a sign (+4, -2) it is a change of today's. As "
        f"{limit} in sacctmgr"
    )
    unit = UNITS.get(resource.lower(), "GPUs" if resource else "")
    return _factor(
        key, f"Limit {limit}{f' {resource}' if resource else ''} of {of}", unit, "number" if resource else "whole",
        MOST, text, NONE if single is None else single, edit, (NONE,),
    )  # fmt: skip


def _of_qos(setup: SlurmSetup, key: str, name: str, field: str) -> Factor:
    if field not in QOS_FIELDS:
        raise InputError(f"change {key!r:.80}", f"there is no setting {field!r:.40}", names_hint(field, QOS_FIELDS))
    label, kind, high, text = QOS_FIELDS[field]

    def edit(setup: SlurmSetup, value: Value) -> SlurmSetup:
        rows = (one.model_copy(update={field: value}) if one.name == name else one for one in setup.qos)
        return setup.model_copy(update={"qos": tuple(rows)})

    own = next(getattr(one, field) for one in setup.qos if one.name == name)
    text = f"{text}. Typed with a sign (+10, -5) it is a change of today's"
    return _factor(key, f"{label} of QOS {name}", "", kind, high, text, own, edit)


def _shares(setup: SlurmSetup, key: str, rest: str) -> Factor:
    """Return the change of the shares of an account, or of a user in one."""
    rows = {f"{one.account}/{one.user}" if one.user else one.account: one for one in setup.associations}
    if rest not in rows:
        why = f"there is no account or user {rest!r:.80}"
        raise InputError(f"change {key!r:.80}", why, names_hint(rest, rows))
    account, user = rows[rest].account, rows[rest].user

    def edit(setup: SlurmSetup, value: Value) -> SlurmSetup:
        shares = None if value == PARENT else value
        return setup.model_copy(update={"associations": tuple(
            one.model_copy(update={"shares": shares}) if (one.account, one.user) == (account, user) else one
            for one in setup.associations
        )})  # fmt: skip

    of = f"user {user} in account {account}" if user else f"account {account}"
    values = {one.shares for one in setup.associations if (one.account, one.user) == (account, user)}
    single = values.pop() if len(values) == 1 else MIXED
    text = (
        f"Shares of {of} among those beside it, for fair share; {PARENT} = those of the account above. Typed with a "
        "sign (+4, -2) it is a change of today's"
    )
    own = PARENT if single is None else single
    return _factor(key, f"Fair share of {of}", "", "whole", MOST_SHARES, text, own, edit, (PARENT,))
