"""Options, partitions and weights of nodes: slurm.conf(5), and what scontrol shows of config and partitions."""

from __future__ import annotations

import re
from collections.abc import Iterator
from math import inf
from typing import Any, get_args

from dlsched.domain.slurm import OPTIONS, SlurmOptions
from dlsched.domain.slurm_notation import NO_VALUE, YEAR_S, names, number, preempt_mode, seconds, tres, whole, yes
from dlsched.workload.readers.formats import Head
from dlsched.workload.readers.slurm_settings.part import Part
from dlsched.workload.readers.source import TraceText

_PAIR = re.compile(r'(\w+)\s*=\s*("[^"]*"|\S*)')
_INCLUDE = re.compile(r"include\s+(\S+)", re.IGNORECASE)
_CONFIG = re.compile(r"(\w+)\s*=\s?(.*)")
_NAMES = re.compile(
    r"(?i)\s*(PartitionName|NodeName|NodeSet|SwitchName|ClusterName|SlurmctldHost|ControlMachine|Scheduler(Type|Parameters)|SelectType"
    r"|Priority\w+|Preempt(Type|Mode)|FairShareDampeningFactor)\s*="
)
MOST_WEIGHTS = 20_000
LONGEST_LIST = 10_000
FIELD_OF = {name.removesuffix("_s").lower(): name for name in OPTIONS}
"""Option of slurm.conf or item of SchedulerParameters, in small letters -> field of SlurmOptions."""
IN_PARAMETERS = frozenset(key for key, name in FIELD_OF.items() if name[0].islower())
"""Those that are items of SchedulerParameters."""
OLD_NAMES = {"max_job_bf": "bf_max_job_test", "defer_batch": "defer"}
MODELLED_FLAGS = frozenset({"NO_FAIR_TREE", "FAIR_TREE", "SMALL_RELATIVE_TO_TIME"})
_RELATED: dict[str, set[str]] = {
    "PriorityUsageResetPeriod": set(), "PrioritySiteFactorPlugin": {"site_factor/none"}, "JobSubmitPlugins": set(),
    "PrioritySiteFactorParameters": set(), "PreemptExemptTime": {"00:00:00", "0"}, "PreemptParameters": set(),
    "TopologyPlugin": {"topology/none", "topology/default", "topology/flat", "topology/tree"},
    "SuspendTime": {"infinite"}, "CompleteWait": {"0", "0 sec"}, "EnforcePartLimits": {"no"},
    "KillWait": {"0", "0 sec"}, "PriorityWeightAssoc": {"0"},
}  # fmt: skip
"""Options that bear on when jobs start and are not modelled -> values, in small letters, that change nothing.

Others, such as paths and ports, are of no account.
"""
_RELATED_OF = {name.lower(): name for name in _RELATED}
ENFORCED = frozenset({"limits", "safe", "all"})
_OF_PARTITION: dict[str, set[str]] = {
    "AllowAccounts": {"all"}, "DenyAccounts": set(), "AllowQos": {"all"}, "DenyQos": set(), "AllowGroups": {"all"},
    "MaxNodes": set(), "MinNodes": {"0", "1"}, "GraceTime": {"0"}, "MaxCPUsPerNode": set(), "State": {"up"},
    "MaxCPUsPerSocket": set(), "LLN": {"no"}, "ExclusiveUser": {"no"}, "ReqResv": {"no"},
}  # fmt: skip
"""Settings of a partition that are not modelled -> values, in small letters, that change nothing."""


def looks_like_conf(head: Head) -> bool:
    """Whether a text has lines of a slurm.conf, or of scontrol show config or partition."""
    return not head.is_parquet and not head.json_start and any(_NAMES.match(line) for line in head.lines)


def read_conf(text: TraceText) -> Part:
    """Return what a slurm.conf or topology.conf says; also what scontrol shows of config and partition.

    What cannot be read is left out and named. Of repeated options the last holds.
    """
    content = text.data.decode("utf-8", "replace").replace("\r\n", "\n").replace("\\\n", "")
    is_config = content.lstrip().startswith("Configuration data")
    is_shown = not is_config and re.search(r"(?m)^PartitionName=\S+[ \t]*\n[ \t]+\w+=", content) is not None
    source = "scontrol show config" if is_config else "scontrol show partition" if is_shown else "slurm.conf"
    part = Part(source)
    defaults: dict[str, dict[str, str]] = {"nodename": {}, "partitionname": {}}
    if is_shown:
        content = re.sub(r"\n[ \t]+(?=\w+=)", " ", content)
    for fields in _config_lines(content) if is_config else _lines(content, part):
        kind = next((key for key in ("nodename", "partitionname", "nodeset", "switchname") if key in fields), "")
        if not kind:
            for key, value in fields.items():
                _option(part, key, value)
        elif kind == "switchname":  # of topology.conf; those without nodes join switches
            if fields.get("nodes"):
                part.switches[fields[kind][:120]] = fields["nodes"]
        elif kind != "nodeset" and fields[kind].upper() == "DEFAULT":
            defaults[kind] |= fields
        elif kind == "partitionname":
            read_partition(part, fields[kind], defaults[kind] | fields)
        elif kind == "nodename":
            _weight(part, fields[kind], (defaults[kind] | fields).get("weight", ""))
    return part


def _lines(content: str, part: Part) -> Iterator[dict[str, str]]:
    for line in re.sub(r"(?m)(?<!\\)#.*$", "", content).split("\n"):
        if include := _INCLUDE.match(line.strip()):
            part.notes.append(f"it includes {include[1][:80]}: give that file too if it has settings")
            continue
        if pairs := _PAIR.findall(line[:1_000_000]):
            yield {key.lower(): value.strip('"') for key, value in pairs}


def _config_lines(content: str) -> Iterator[dict[str, str]]:
    for line in content.split("\n"):
        if pair := _CONFIG.fullmatch(line.strip()):
            yield {pair[1].lower(): pair[2].strip()}


# ---- options -----------------------------------------------------------------------------------------


def _option(part: Part, key: str, value: str) -> None:
    if value.lower() in NO_VALUE and not (key == "overtimelimit" and seconds(value) == inf):
        return
    if key == "schedulerparameters":
        for item in value.replace(" ", "").lstrip("=").split(","):
            _parameter(part, item)
    elif key in FIELD_OF and key not in IN_PARAMETERS:
        read_option(part, FIELD_OF[key], value, key)
    elif key == "accountingstorageenforce":
        part.limits_hold = bool(ENFORCED & {word.strip().lower() for word in value.split(",")})
    elif key == "selecttypeparameters" and "memory" not in value.lower():
        part.notes.append(f"with SelectTypeParameters={value[:60]} Slurm does not count memory; here it counts")
    elif key in _RELATED_OF and value.lower() not in _RELATED[_RELATED_OF[key]]:
        part.left_out[_RELATED_OF[key]] += 1


def _parameter(part: Part, item: str) -> None:
    name, equals, value = item.lstrip("=").partition("=")
    key = OLD_NAMES.get(name.lower(), name.lower())
    if key in IN_PARAMETERS:
        read_option(part, FIELD_OF[key], value if equals else "yes", name)
    elif key:
        part.left_out[f"SchedulerParameters {name[:40]}"] += 1


def read_option(part: Part, field: str, text: str, name: str) -> None:
    """Take an option where its value can be read and is allowed."""
    value = _value(part, field, text)
    try:
        if value is None:
            raise ValueError(text)
        SlurmOptions.model_validate({field: value})
    except ValueError:  # pydantic's own is one
        part.left_out[f"{name[:40]}={text[:40]}"] += 1
        return
    part.options[field] = value


def _value(part: Part, field: str, text: str) -> Any:
    """Return the value of an option by the type of its field; None if it cannot be read."""
    if field == "PreemptMode":
        return preempt_mode(text, part.left_out, "PreemptMode")
    if field == "PriorityFlags":
        flags = tuple(flag.upper() for flag in names(text))
        part.left_out.update(f"PriorityFlags {flag[:40]}" for flag in flags if flag not in MODELLED_FLAGS)
        return flags
    if field == "PriorityWeightTRES":
        return tres(text, part.left_out, "plain")
    if field == "OverTimeLimit_s" and seconds(text) == inf:
        return "UNLIMITED"
    if field.endswith("_s"):
        value = seconds(text)
        return None if value is None else min(value, YEAR_S)
    kinds = get_args(SlurmOptions.model_fields[field].annotation)
    if bool in kinds:
        return yes(text)
    if float in kinds:
        return number(text)
    choices = [choice for kind in kinds for choice in get_args(kind) if isinstance(choice, str)]
    if choices:
        return next((choice for choice in choices if choice.lower() == text.lower()), None)
    return whole(text)


# ---- partitions and nodes ----------------------------------------------------------------------------


def read_partition(part: Part, name: str, fields: dict[str, str]) -> None:
    """Take a partition by its settings, keys in small letters."""
    given: dict[str, Any] = {}
    for key, field in (("prioritytier", "PriorityTier"), ("priorityjobfactor", "PriorityJobFactor")):
        value = whole(fields.get(key) or fields.get("priority", ""))
        if value is not None:
            given[field] = min(value, 65_533)
    for key, field in (("maxtime", "MaxTime_s"), ("defaulttime", "DefaultTime_s")):
        limit = seconds(fields.get(key, ""))
        if limit is not None and 0 < limit < float("inf"):
            given[field] = min(limit, YEAR_S)
    if (over := seconds(fields.get("overtimelimit", ""))) is not None:
        given["OverTimeLimit_s"] = "UNLIMITED" if over == inf else min(over, YEAR_S)
    if qos := names(fields.get("qos", "")):
        given["QOS"] = qos[0]
    if weights := tres(fields.get("tresbillingweights", ""), part.left_out, "per-gib"):
        given["TRESBillingWeights"] = weights
    if mode := preempt_mode(fields.get("preemptmode", ""), part.left_out, "PreemptMode"):
        given["PreemptMode"] = mode
    shared = (fields.get("oversubscribe") or fields.get("shared", "")).upper().split(":")[0]
    if shared == "EXCLUSIVE":
        given["exclusive"] = True
    elif shared in ("YES", "FORCE"):
        part.left_out[f"OverSubscribe={shared}"] += 1
    for key, harmless in _OF_PARTITION.items():
        if fields.get(key.lower(), "").lower() not in harmless | NO_VALUE:
            part.left_out[f"{key} of a partition"] += 1
    part.partitions[name[:120]] = given


def _weight(part: Part, nodes: str, text: str) -> None:
    weight = whole(text)
    if weight is None:
        return
    if len(nodes) > LONGEST_LIST or len(part.node_weights) >= MOST_WEIGHTS:
        part.left_out["Weight of a node"] += 1
        return
    part.node_weights[nodes] = min(weight, 2**32)
