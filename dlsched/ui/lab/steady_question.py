"""What the form of the Steady state page asks, as plain values, and the experiment it means; no page library."""

from __future__ import annotations

from typing import Any

import numpy as np

from dlsched.domain.errors import InputError
from dlsched.domain.model import FrozenModel
from dlsched.policies.elastic_queueing import ELASTIC
from dlsched.studies.steady import SteadyPolicy, SteadySpec, read_spec
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


class SteadyQuestion(FrozenModel):
    """The form: which networks (a preset, OWN or SHOWN), loads by first, last and step, policies and how sure.

    ``gammas`` are numbers separated by commas, each a variant of every policy that takes one; ``chunk`` 0 = found by a
    pilot.
    """

    networks: str = "table-iii"
    nodes: int = 100
    first_load: float = 0.1
    last_load: float = 0.9
    step: float = 0.2
    policies: tuple[str, ...] = DEFAULT_POLICIES
    gammas: str = "0"
    chunk: int = 0
    target: float = 0.05
    cap: int = 64_000
    links: str = "hybrid"
    servers: int = 1
    shared_server: bool = False
    seed: int = 1


def experiment_of(asked: SteadyQuestion, own: StreamSpec | None = None, shown: StreamSpec | None = None) -> SteadySpec:
    """Return the experiment; ``own`` and ``shown`` are the streams that the choices OWN and SHOWN stand for.

    Raises
    ------
    InputError
        Where the form asks for what cannot be computed; it names the field.
    """
    if not asked.policies:
        raise InputError("steady state, policies", "none is chosen", "Choose one or more")
    stream = {OWN: own, SHOWN: shown}.get(asked.networks)
    jobs: dict[str, Any] = (
        {"networks": asked.networks, "network_model": asked.links, "servers": asked.servers,
         "shared_server": asked.shared_server}
        if stream is None
        else stream.model_dump(mode="json", exclude={"load", "jobs"})
    )  # fmt: skip
    return read_spec(
        {
            "stream": {**jobs, "nodes": asked.nodes},
            "loads": loads_of(asked),
            "policies": [policy.model_dump() for policy in policies_of(asked)],
            "target": asked.target,
            "first_jobs": min(FIRST_JOBS, asked.cap),
            "most_jobs": asked.cap,
            "seed": asked.seed,
        }
    )


def loads_of(asked: SteadyQuestion) -> tuple[float, ...]:
    """Return the loads from first to last; InputError where there is none or they are too many."""
    if asked.step <= 0 or asked.last_load < asked.first_load:
        why = f"from {number(asked.first_load)} to {number(asked.last_load)} by {number(asked.step)} holds no load"
        raise InputError("steady state, loads", why, "Let them ascend by a step above 0")
    many = int(np.floor((asked.last_load - asked.first_load) / asked.step + 1e-9)) + 1
    if many > MOST_LOADS:
        raise InputError("steady state, loads", f"at most {MOST_LOADS}, got {many:,}", "Take a larger step")
    return tuple(round(asked.first_load + place * asked.step, 6) for place in range(many))


def policies_of(asked: SteadyQuestion) -> list[SteadyPolicy]:
    """Return the policies with their parameters, a variant for each gamma; labels only where variants need them."""
    gammas = gammas_of(asked.gammas)
    found: list[SteadyPolicy] = []
    for key in asked.policies:
        if key in ORDERED:
            found += [_with_gamma(key, gamma, gammas) for gamma in gammas]
        else:
            params = {"chunk": asked.chunk} if key in CHUNKED and asked.chunk else {}
            found.append(SteadyPolicy(key=key, params=params))
    return found


def _with_gamma(key: str, gamma: float, gammas: tuple[float, ...]) -> SteadyPolicy:
    if gammas == (0.0,):
        return SteadyPolicy(key=key)
    return SteadyPolicy(key=key, params={"gamma": gamma}, label=f"{LABELS[key]}, gamma {gamma:g}")


def gammas_of(text: str) -> tuple[float, ...]:
    """Return the numbers of a text such as "0, 1", each once; InputError where it holds none or something else."""
    parts = [part.strip() for part in text.split(",") if part.strip()]
    try:
        found = tuple(dict.fromkeys(float(part) for part in parts))
    except ValueError:
        found = ()
    if not found or not all(0 <= gamma <= 10 for gamma in found):
        why = f"must be numbers from 0 to 10 separated by commas, got {text[:40]!r}"
        raise InputError("steady state, early termination (gamma)", why, "Write 0, or 0, 1")
    return found


def asked_of(spec: SteadySpec) -> SteadyQuestion:
    """Return the form that comes nearest to an experiment; SHOWN where its networks are of no preset."""
    stream, loads = spec.stream, spec.loads
    preset = next((name for name, networks in PRESETS.items() if networks == stream.networks), SHOWN)
    steps = np.diff(loads)
    gammas = dict.fromkeys(float(policy.params.get("gamma", 0.0)) for policy in spec.policies if policy.key in ORDERED)
    return SteadyQuestion(
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
