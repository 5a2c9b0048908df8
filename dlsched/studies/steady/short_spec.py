"""A steady-state experiment in a few plain values, as a form asks it, and the experiment that these stand for."""

from __future__ import annotations

from typing import Any

import numpy as np
from pydantic import Field

from dlsched.domain.errors import InputError, validated
from dlsched.domain.model import FrozenModel
from dlsched.policies.elastic_queueing import ELASTIC
from dlsched.studies.steady.spec import SteadyPolicy, SteadySpec
from dlsched.wording.formats import number
from dlsched.workload.studies.hell_knee import PRESETS, StreamSpec

LABELS = {spec.key: spec.label for spec in ELASTIC}
ORDERED = frozenset(spec.key for spec in ELASTIC if "gamma" in spec.params.model_fields)
CHUNKED = frozenset(spec.key for spec in ELASTIC if "chunk" in spec.params.model_fields)
OWN, SHOWN = "own", "shown"
DEFAULT_POLICIES = ("hell-malleable", "knee-malleable", "srpt-all-nodes", "jsq-chunk")
MOST_LOADS = 20
CAPS = (4_000, 16_000, 64_000, 256_000)
FIRST_JOBS = 4_000
LOAD_HELP = "Work asked for over work possible, were every job on one node. Below 1: at 1 and above every queue grows."


class ShortSpec(FrozenModel):
    """Which networks (a preset, OWN or SHOWN), loads by first, last and step, policies and how sure.

    ``gammas`` are numbers separated by commas, each a variant of every policy that takes one; ``chunk`` 0 = found by a
    pilot.
    """

    networks: str = "table-iii"
    nodes: int = Field(100, ge=1, le=1024, description="Nodes of the cluster, one GPU each.")
    first_load: float = Field(0.1, ge=0, le=2, title="Load from", description=LOAD_HELP)
    last_load: float = Field(0.9, ge=0, le=2, title="to", description=LOAD_HELP)
    step: float = Field(0.2, ge=0, le=2, title="by", description="From one load to the next; at most 20 loads.")
    policies: tuple[str, ...] = DEFAULT_POLICIES
    gammas: str = Field(
        "0",
        title="Early termination (gamma)",
        description="A job that has done a share of its work counts as (1 / (1 - share)) to the power of gamma longer, "
        "so that new jobs soon show early results. 0 = off; several, as in 0, 1, are compared.",
    )
    chunk: int = Field(
        0,
        ge=0,
        le=1024,
        title="Chunk (nodes)",
        description="Nodes of each part that JSQ-Chunk cuts the cluster into; 0 = the best of several, tried on other "
        "jobs.",
    )
    target: float = Field(
        0.05,
        title="Sure within",
        description="Jobs are doubled until half the 95% interval is at most this share of the mean.",
    )
    cap: int = Field(
        64_000, title="Jobs, at most", description="Of a point; the interval reached by then is shown as it is."
    )
    links: str = Field("hybrid", description="How transfers meet on the server's link: hybrid is the study's model.")
    servers: int = Field(
        1, ge=1, le=64, title="Servers of a job", description="Server nodes of a job on several nodes."
    )
    shared_server: bool = Field(
        False,
        title="Servers share nodes with workers",
        description="All nodes have a worker, servers run beside them.",
    )
    seed: int = Field(1, ge=0, le=10**6, description="Another seed draws other jobs of the same kind.")


def spec_of(short: ShortSpec, own: StreamSpec | None = None, shown: StreamSpec | None = None) -> SteadySpec:
    """Return the experiment; ``own`` and ``shown`` are the streams that the choices OWN and SHOWN stand for.

    Raises
    ------
    InputError
        Where that cannot be computed; it names the field.
    """
    if not short.policies:
        raise InputError("steady state, policies", "none is chosen", "Choose one or more")
    stream = {OWN: own, SHOWN: shown}.get(short.networks)
    jobs: dict[str, Any] = (
        {"networks": short.networks, "network_model": short.links, "servers": short.servers,
         "shared_server": short.shared_server}
        if stream is None
        else stream.model_dump(mode="json", exclude={"load", "jobs"})
    )  # fmt: skip
    return validated(
        SteadySpec,
        {
            "stream": {**jobs, "nodes": short.nodes},
            "loads": loads_of(short),
            "policies": [policy.model_dump() for policy in policies_of(short)],
            "target": short.target,
            "first_jobs": min(FIRST_JOBS, short.cap),
            "most_jobs": short.cap,
            "seed": short.seed,
        },
        "steady state",
    )


def loads_of(short: ShortSpec) -> tuple[float, ...]:
    """Return the loads from first to last; InputError where there is none or they are too many."""
    if short.step <= 0 or short.last_load < short.first_load:
        why = f"from {number(short.first_load)} to {number(short.last_load)} by {number(short.step)} holds no load"
        raise InputError("steady state, loads", why, "Let them ascend by a step above 0")
    many = int(np.floor((short.last_load - short.first_load) / short.step + 1e-9)) + 1
    if many > MOST_LOADS:
        raise InputError("steady state, loads", f"at most {MOST_LOADS}, got {many:,}", "Take a larger step")
    return tuple(round(short.first_load + place * short.step, 6) for place in range(many))


def policies_of(short: ShortSpec) -> list[SteadyPolicy]:
    """Return the policies with their parameters, a variant for each gamma; labels only where variants need them."""
    gammas = gammas_of(short.gammas)
    policies: list[SteadyPolicy] = []
    for key in short.policies:
        if key in ORDERED and gammas != (0.0,):
            policies += [
                SteadyPolicy(key=key, params={"gamma": gamma}, label=f"{LABELS[key]}, gamma {gamma:g}")
                for gamma in gammas
            ]
        else:
            params = {"chunk": short.chunk} if key in CHUNKED and short.chunk else {}
            policies.append(SteadyPolicy(key=key, params=params))
    return policies


def gammas_of(text: str) -> tuple[float, ...]:
    """Return the numbers of a text such as "0, 1", each once; InputError where it holds none or something else."""
    parts = [part.strip() for part in text.split(",") if part.strip()]
    try:
        gammas = tuple(dict.fromkeys(float(part) for part in parts))
    except ValueError:
        gammas = ()
    if not gammas or not all(0 <= gamma <= 10 for gamma in gammas):
        why = f"must be numbers from 0 to 10 separated by commas, got {text[:40]!r}"
        raise InputError("steady state, early termination (gamma)", why, "Write 0, or 0, 1")
    return gammas


def short_of(spec: SteadySpec) -> ShortSpec:
    """Return the plain values that come nearest to an experiment; SHOWN where its networks are of no preset."""
    stream, loads = spec.stream, spec.loads
    preset = next((name for name, networks in PRESETS.items() if networks == stream.networks), SHOWN)
    steps = np.diff(loads)
    gammas = dict.fromkeys(float(policy.params.get("gamma", 0.0)) for policy in spec.policies if policy.key in ORDERED)
    return ShortSpec(
        networks=preset,
        nodes=stream.nodes,
        first_load=loads[0],
        last_load=loads[-1],
        step=round(float(steps.min()), 6) if len(steps) else 0.2,
        policies=tuple(dict.fromkeys(policy.key for policy in spec.policies if policy.key in LABELS)),
        gammas=", ".join(f"{gamma:g}" for gamma in gammas) or "0",
        chunk=next((int(policy.params["chunk"]) for policy in spec.policies if "chunk" in policy.params), 0),
        target=spec.target,
        cap=min(CAPS, key=lambda cap: abs(cap - spec.most_jobs)),
        links=stream.network_model,
        servers=stream.servers,
        shared_server=stream.shared_server,
        seed=spec.seed,
    )
