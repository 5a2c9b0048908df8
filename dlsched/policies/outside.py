"""Policies from outside: what is made of an object, and a watch over what the code of others answers."""

from __future__ import annotations

import copy
import dataclasses
import inspect
import math
import pickle
import re
import sys
from collections.abc import Callable, Mapping
from hashlib import blake2b
from numbers import Integral, Real
from typing import TYPE_CHECKING, Any
from uuid import uuid4

import numpy as np
from pydantic import BaseModel

from dlsched.domain.errors import DlschedError, InputError, PlanError
from dlsched.domain.plan import STATUSES, Plan, Share, Step
from dlsched.domain.policy import GROUPS, KernelRule, Need, Policy, PolicySpec, ReviewRule
from dlsched.plugins.loading import told
from dlsched.plugins.origin import origin_of

if TYPE_CHECKING:
    from dlsched.domain.model import FrozenModel
    from dlsched.domain.state import State


def spec_of_object(thing: Any) -> PolicySpec | None:
    """Return the specification of a policy that is given as an object or a class; None of what has no ``plan``.

    Key and label come from the class: ``MyPolicy`` is ``my-policy`` and "My policy", unless it has its own.
    Each run gets a copy of the object as it was given. A PolicySpec is returned as it is, with its origin.
    """
    if isinstance(thing, PolicySpec):
        return thing if thing.origin else _signed(thing, thing.build)
    if not callable(getattr(thing, "plan", None)):
        return None
    cls = thing if isinstance(thing, type) else type(thing)
    words = re.sub(r"(?<=[a-z0-9])(?=[A-Z])|(?<=[A-Z])(?=[A-Z][a-z])", " ", cls.__name__).replace("_", " ").lower()
    given: dict[str, Any] = {name: getattr(cls, name, None) for name in ("key", "label")}
    key, label = (text if isinstance(text, str) and text else "" for text in given.values())
    doc = (inspect.getdoc(cls) or "").partition("\n")[0]
    spec = PolicySpec(
        key=key or "-".join(words.split()), label=label or words.capitalize(), family="From outside",
        summary=doc or f"A policy given as the Python class {cls.__name__}.", build=_builder(thing),
    )  # fmt: skip
    return _signed(spec, thing)


def _builder(thing: Any) -> Callable[[FrozenModel], Policy]:
    """Return what builds the policy of a run: a new object of a class, a copy of an object."""

    def build(params: FrozenModel) -> Policy:
        policy: Policy = thing() if isinstance(thing, type) else copy.deepcopy(thing)
        return policy

    return build


def _signed(spec: PolicySpec, thing: Any) -> PolicySpec:
    """Return a specification with the origin of a thing of this process: its module, and the state of an object."""
    module = getattr(thing, "__module__", None) or type(thing).__module__
    if module == "__main__" or getattr(sys.modules.get(module), "__file__", None) is None:
        origin, mark = "this Python session", f"session {_code_hash(thing)}"
    else:
        found = origin_of(module)
        origin, mark = found.words, found.fingerprint
    state = "" if inspect.isfunction(thing) or isinstance(thing, type) else f" {_state_hash(thing)}"
    return dataclasses.replace(spec, origin=origin, fingerprint=mark + state)


def _code_hash(thing: Any) -> str:
    """Return a hash of the source of a class or function that no file holds; a new one each time without a source."""
    try:
        return _hash(inspect.getsource(thing if inspect.isroutine(thing) or isinstance(thing, type) else type(thing)))
    except (OSError, TypeError):
        return uuid4().hex[:12]


def _state_hash(thing: Any) -> str:
    """Return a hash of an object's fields; a new one each time where they cannot be written down."""
    try:
        return blake2b(pickle.dumps(vars(thing)), digest_size=6).hexdigest()
    except Exception:
        return uuid4().hex[:12]


def _hash(text: str) -> str:
    return blake2b(text.encode(), digest_size=6).hexdigest()


_KEY = re.compile(r"[a-z0-9][a-z0-9_-]{0,59}")
_LONGEST_LABEL = 60


def fault_of(spec: Any) -> str:
    """Return what is wrong with a specification from outside; "" if nothing is."""
    texts = (spec.label, spec.family, spec.summary, spec.knows, spec.paper, spec.spoken)
    if not isinstance(spec.key, str) or not _KEY.fullmatch(spec.key):
        return "its key must be lower-case letters, digits, - and _, at most 60"
    if not all(isinstance(text, str) for text in texts) or not 0 < len(spec.label) <= _LONGEST_LABEL:
        return (
            f"label, family, summary, knows and paper must be texts, and the label have 1 to {_LONGEST_LABEL} letters"
        )
    if not (isinstance(spec.params, type) and issubclass(spec.params, BaseModel)):
        return "params must be a pydantic model, as a subclass of dlsched.domain.model.FrozenModel"
    if spec.group not in GROUPS:
        return f"group must be one of {', '.join(GROUPS)}, got {spec.group!r}"
    if not (isinstance(spec.needs, frozenset) and all(isinstance(need, Need) for need in spec.needs)):
        return "needs must be a frozenset of dlsched.domain.policy.Need"
    return "" if callable(spec.build) else "build must be callable"


def missing_policy(key: str, error: InputError) -> PolicySpec:
    """Return what stands for a policy of a stored result that this machine does not have: it cannot be run."""

    def build(params: FrozenModel) -> Policy:
        raise error

    return PolicySpec(key=key, label=key, family="Not installed", summary="Not installed here.", build=build)


def nonsense(plan: Plan) -> str:
    """Return what in a plan is not of its type, "" where nothing is; what it asks for is checked by the engine."""
    if not isinstance(plan.allocations, Mapping) or not all(map(_is_whole, plan.allocations)):
        return "allocations must map rows, whole numbers, to tuples of Step"
    steps = [step for steps in plan.allocations.values() for step in (steps if isinstance(steps, tuple) else (steps,))]
    if not all(isinstance(steps, tuple) for steps in plan.allocations.values()) or not all(map(_is_step, steps)):
        return "an allocation must be a tuple of Step with whole workers and servers, and times that are numbers"
    if not isinstance(plan.rejected, (tuple, list)) or not all(map(_is_whole, plan.rejected)):
        return "rejected must be a tuple of rows"
    if not isinstance(plan.vms, Mapping) or not all(map(_is_whole, plan.vms)):
        return "vms must map nodes, whole numbers, to names of machine types or None"
    if not isinstance(plan.evicted, Mapping) or not all(map(_is_whole, plan.evicted)):
        return "evicted must map rows to the loss of work"
    numbers = {"wake_at_s": plan.wake_at_s, "objective": plan.objective, "bound": plan.bound}
    for name, value in numbers.items():
        if not (value is None or _is_number(value)):
            return f"{name} must be a number or None, got {type(value).__name__}"
    if not isinstance(plan.note, str) or plan.status not in STATUSES:
        return f"note must be a text, and status one of {', '.join(filter(None, STATUSES))} or empty"
    if plan.reasons is not None and not _are_reasons(plan.reasons):
        return "reasons must be two arrays of whole numbers of equal length: rows and their WaitReason"
    return "" if isinstance(plan.journal, tuple) else "journal must be a tuple"


def _is_whole(value: object) -> bool:
    return isinstance(value, Integral) and not isinstance(value, bool)


def _is_number(value: object) -> bool:
    return isinstance(value, Real)


def _is_step(step: object) -> bool:
    if not isinstance(step, Step) or not (_is_whole(step.workers) and _is_whole(step.servers)):
        return False
    if step.shares is not None and not (isinstance(step.shares, tuple) and all(map(_is_share, step.shares))):
        return False
    return step.start_s is None or (_is_number(step.start_s) and math.isfinite(step.start_s))


def _is_share(share: object) -> bool:
    return isinstance(share, Share) and all(map(_is_whole, share))


def _are_reasons(reasons: object) -> bool:
    if not (isinstance(reasons, tuple) and len(reasons) == 2):
        return False
    rows, codes = (np.asarray(part) for part in reasons)
    return (
        rows.shape == codes.shape
        and rows.ndim == 1
        and all(part.dtype.kind in "iu" or not part.size for part in (rows, codes))
    )


def watched(spec: PolicySpec, *given: Any) -> Watched:
    """Return the policy of a run, built of parameters (and jobs) as the specification says, under a watch."""
    return Watched(spec, lambda: spec.build(*given))


class Watched:
    """A policy from outside while it runs: whatever goes wrong in it is a PlanError with its name."""

    def __init__(self, spec: PolicySpec, build: Callable[[], Policy]) -> None:
        self._name = f"Policy {spec.key} from {spec.origin}"
        self._policy = self._asked("cannot be built", build)
        if not callable(getattr(self._policy, "plan", None)):
            raise PlanError(f"{self._name}: build must return an object with plan(state).")

    @property
    def review(self) -> ReviewRule:
        """When it is asked; at every event where it does not say."""
        rule = self._asked("cannot say when to be asked", lambda: getattr(self._policy, "review", None)) or ReviewRule()
        if not isinstance(rule, ReviewRule):
            raise PlanError(f"{self._name}: review must be a ReviewRule, got {type(rule).__name__}.")
        return rule

    @property
    def kernel_rule(self) -> KernelRule | None:
        """The rule of a compiled loop that may stand in for it; None if it does not say."""
        return getattr(self._policy, "kernel_rule", None)

    def plan(self, state: State) -> Plan:
        """Return its plan."""
        plan = self._asked(f"failed at {state.now_s:g} s", lambda: self._policy.plan(state))
        if not isinstance(plan, Plan):
            why = f"must answer a Plan, got {type(plan).__name__} at {state.now_s:g} s"
            raise PlanError(f"{self._name}: {why}. Return Plan() to change nothing.")
        if found := nonsense(plan):
            raise PlanError(f"{self._name}: answered a plan that cannot be read at {state.now_s:g} s: {found}.")
        return plan

    def close(self) -> None:
        """End what it has opened, if it knows how to."""
        close = getattr(self._policy, "close", None)
        if callable(close):
            self._asked("cannot be closed", close)

    def _asked(self, what: str, call: Callable[[], Any]) -> Any:
        try:
            return call()
        except DlschedError as error:
            raise PlanError(f"{self._name}: {what}: {error.clause}.") from error
        except Exception as error:
            raise PlanError(f"{self._name}: {what}: {told(error)}.") from error

    def named(self, error: Exception) -> DlschedError:
        """Return what a run under this policy raised as an error that names the policy."""
        if isinstance(error, DlschedError) and (not isinstance(error, PlanError) or str(error).startswith(self._name)):
            return error
        more = getattr(self._policy, "last_words", "")
        return PlanError(f"{self._name}: its plan cannot be carried out: {told(error)}{more}.")
