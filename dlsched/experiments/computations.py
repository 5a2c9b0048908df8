"""Named computations beyond a run: from a plain question to a plain answer, in a worker process or here."""

from __future__ import annotations

from collections.abc import Callable, Mapping
from dataclasses import asdict, dataclass
from typing import TYPE_CHECKING, Any

from dlsched.domain.errors import InputError
from dlsched.domain.names import names_hint
from dlsched.domain.scenario import Scenario
from dlsched.experiments import admissions, calibration, growth, look_ahead, pool_sizes, prices, sizing, what_if
from dlsched.experiments.code_version import code_version
from dlsched.experiments.reporting import Channel, Reporter
from dlsched.experiments.run import Progress
from dlsched.experiments.steady import read_spec, run_steady
from dlsched.experiments.steady.run import check
from dlsched.experiments.sweep import cells
from dlsched.store.record import ExperimentRecord

if TYPE_CHECKING:
    from dlsched.store import Store

_STEADY_POINT_S = 3.0
"""CPU seconds of a point with 64,000 jobs, about; for the time that is shown before anything is known."""
_REPLAY_S, _DECISION_S = 2.0, 0.15
"""CPU seconds of coming to a decision, and of one with 40 jobs, about."""
_INTERVAL_S = 0.05
"""CPU seconds of an interval with 200 jobs, with three rules and two admissions, about."""
_HINDSIGHT_S = 10.0
"""CPU seconds of the best in hindsight of a case as large as it takes, about."""
_CELL_S = 0.3
"""CPU seconds of a run of 1,000 jobs, about."""
_WHAT_IF_RUN_S = 0.05
"""CPU seconds of a run of 1,000 jobs under a list policy with its audit, about."""
_JOBS = 450
"""Jobs of a scenario that is not at hand: those of the demo of elastic training."""


@dataclass(frozen=True, slots=True)
class Computation:
    """A line of the table.

    ``canonical`` returns the one plain form of a question, or raises InputError for a bad one. ``answer`` computes; it
    may call its progress, and lets what that raises through. ``guess_s``: about how long, seconds. ``sources``:
    folders of the package that decide the answer, beyond those that decide a run. ``about``, in place of ``answer``,
    where a question is about something too large for it, such as a scenario, that travels with it. ``keep``: how the
    store keeps an answer that is no experiment; it returns what of it the store does not hold.
    """

    kind: str
    label: str
    canonical: Callable[[Mapping[str, Any]], dict[str, Any]]
    answer: Callable[[Mapping[str, Any], Progress | None], dict[str, Any]]
    guess_s: Callable[[Mapping[str, Any]], float]
    sources: tuple[str, ...]
    about: Callable[[Mapping[str, Any], Any, Progress | None], dict[str, Any]] | None = None
    keep: Callable[[Store, ExperimentRecord], ExperimentRecord] | None = None

    @property
    def version(self) -> str:
        """The code that decides the answer."""
        return code_version(self.sources)


def _steady(plain: Mapping[str, Any]) -> dict[str, Any]:
    spec = read_spec(plain)
    check(spec)
    return spec.model_dump(mode="json")


def _looked_ahead(spec: Mapping[str, Any], subject: Any, progress: Progress | None) -> dict[str, Any]:
    asked = look_ahead.read_asked(spec)
    if not isinstance(subject, look_ahead.Subject):
        raise InputError("look-ahead", "comes without the scenario it is about", "Ask on the page Look-ahead")
    return {"decisions": [one.to_plain() for one in look_ahead.answered(asked, subject, progress)]}


def _admissions(spec: Mapping[str, Any], subject: Any, progress: Progress | None) -> dict[str, Any]:
    asked = admissions.Asked.read(spec)
    if not isinstance(subject, Scenario):
        raise InputError("admissions", "come without the scenario they are about", "Ask on the page Admissions")
    return {"decisions": [one.to_plain() for one in admissions.answered(asked, subject, progress)]}


def _prices(spec: Mapping[str, Any], subject: Any, progress: Progress | None) -> dict[str, Any]:
    asked, scenario = _priced(spec, subject)
    return prices.priced_run(scenario, asked.policy, asked.params, asked.seed, progress).to_plain()


def _hindsight(spec: Mapping[str, Any], subject: Any, progress: Progress | None) -> dict[str, Any]:
    asked, scenario = _priced(spec, subject)
    return asdict(prices.hindsight(scenario, asked.policy, asked.params, asked.seed, progress))


def _priced(spec: Mapping[str, Any], subject: Any) -> tuple[prices.Asked, Scenario]:
    asked = prices.Asked.read(spec)
    if not isinstance(subject, Scenario):
        raise InputError("prices", "come without the scenario they are about", "Ask on the page Prices and admissions")
    asked.check_scenario(subject)
    return asked, subject


def _pool_sizes(spec: Mapping[str, Any], subject: Any, progress: Progress | None) -> dict[str, Any]:
    asked = pool_sizes.read_spec(spec)
    if not isinstance(subject, Scenario):
        raise InputError("pool sizes", "come without the scenario they are about", "Ask on the page Pool size")
    return pool_sizes.run_pool_sizes(asked, subject, progress=progress).to_plain()


def _calibration(spec: Mapping[str, Any], subject: Any, progress: Progress | None) -> dict[str, Any]:
    asked = calibration.read_spec(spec)
    if not isinstance(subject, Scenario):
        raise InputError("calibration", "comes without the scenario it is about", "Ask on the page Workload")
    return calibration.run_calibration(asked, subject, progress=progress).to_plain()


def _cells(spec: Mapping[str, Any], subject: Any, progress: Progress | None) -> dict[str, Any]:
    if not isinstance(subject, Scenario):
        raise InputError("runs of a sweep", "come without the scenario they are about", "Ask on the page Sweep")
    return cells.answered(cells.read_cells(spec), subject, progress)


def _what_if(spec: Mapping[str, Any], subject: Any, progress: Progress | None) -> dict[str, Any]:
    asked = what_if.read_spec(spec)
    if not isinstance(subject, Scenario):
        raise InputError("what-if", "comes without the scenario it is about", "Ask on the page What if")
    return what_if.run_what_if(asked, subject, progress).to_plain()


def _size(spec: Mapping[str, Any], subject: Any, progress: Progress | None) -> dict[str, Any]:
    asked = sizing.read_spec(spec)
    if not isinstance(subject, Scenario):
        raise InputError("size", "comes without the scenario it is about", "Ask on the page Size")
    return sizing.run_size(asked, subject, progress=progress).to_plain()


def _growth(spec: Mapping[str, Any], subject: Any, progress: Progress | None) -> dict[str, Any]:
    asked = growth.read_spec(spec)
    if not isinstance(subject, Scenario):
        raise InputError("growth", "comes without the scenario it is about", "Ask on the page Size")
    return growth.run_growth(asked, subject, progress=progress).to_plain()


def _sweep_s(spec: Mapping[str, Any]) -> float:
    asked = pool_sizes.read_spec(spec)
    return pool_sizes.guess_s(asked.policies, _JOBS, asked.runs // len(asked.policies))


def _alone(spec: Mapping[str, Any], progress: Progress | None) -> dict[str, Any]:
    return _looked_ahead(spec, None, progress)


About = Callable[[Mapping[str, Any], Any, Progress | None], dict[str, Any]]


def _about_prices(kind: str, label: str, about: About, guess_s: float) -> Computation:
    return Computation(
        kind,
        label,
        lambda plain: prices.Asked.read(plain).model_dump(mode="json"),
        lambda spec, progress: about(spec, None, progress),
        lambda _: guess_s,
        ("experiments/prices",),
        about,
    )


COMPUTATIONS = (
    Computation(
        "steady",
        "Steady state",
        _steady,
        lambda spec, progress: run_steady(read_spec(spec), progress=progress).to_plain(),
        lambda spec: _STEADY_POINT_S * len(spec["loads"]) * len(spec["policies"]),
        ("experiments/steady", "workload"),
    ),
    Computation(
        "look-ahead",
        "Look-ahead",
        lambda plain: look_ahead.read_asked(plain).model_dump(mode="json"),
        _alone,
        lambda spec: _REPLAY_S + _DECISION_S * (spec["last"] - spec["first"] + 1),
        ("experiments/look_ahead",),
        _looked_ahead,
    ),
    Computation(
        "admissions",
        "Admissions",
        lambda plain: admissions.Asked.read(plain).model_dump(mode="json"),
        lambda spec, progress: _admissions(spec, None, progress),
        lambda spec: _REPLAY_S + _INTERVAL_S * (spec["last"] - spec["first"] + 1),
        ("experiments/admissions",),
        _admissions,
    ),
    _about_prices("prices", "Prices", _prices, _REPLAY_S),
    _about_prices("hindsight", "Best in hindsight", _hindsight, _HINDSIGHT_S),
    Computation(
        "pool-sizes",
        "Pool size",
        lambda plain: pool_sizes.read_spec(plain).model_dump(mode="json"),
        lambda spec, progress: _pool_sizes(spec, None, progress),
        _sweep_s,
        ("experiments/pool_sizes", "workload"),
        _pool_sizes,
    ),
    Computation(
        "calibration",
        "Calibration",
        lambda plain: calibration.read_spec(plain).model_dump(mode="json"),
        lambda spec, progress: _calibration(spec, None, progress),
        lambda spec: calibration.guess_s(len(spec["policies"]), _JOBS),
        ("experiments/calibration",),
        _calibration,
    ),
    Computation(
        cells.KIND,
        "Runs of a sweep",
        lambda plain: cells.read_cells(plain).model_dump(mode="json"),
        lambda spec, progress: _cells(spec, None, progress),
        lambda spec: _CELL_S * len(spec["cells"]),
        ("experiments/cases", "experiments/sweep", "workload"),
        _cells,
        cells.keep,
    ),
    Computation(
        "what-if",
        "What if",
        lambda plain: what_if.read_spec(plain).model_dump(mode="json"),
        lambda spec, progress: _what_if(spec, None, progress),
        lambda spec: _WHAT_IF_RUN_S * 2 * len(spec["draws"]["seeds"]),
        ("experiments/what_if", "experiments/cases", "workload"),
        _what_if,
    ),
    Computation(
        "size",
        "Size",
        lambda plain: sizing.read_spec(plain).model_dump(mode="json"),
        lambda spec, progress: _size(spec, None, progress),
        lambda spec: _WHAT_IF_RUN_S * sizing.usual_runs(sizing.read_spec(spec)),
        ("experiments/sizing", "experiments/cases", "workload"),
        _size,
    ),
    Computation(
        "growth",
        "Growth",
        lambda plain: growth.read_spec(plain).model_dump(mode="json"),
        lambda spec, progress: _growth(spec, None, progress),
        lambda spec: _WHAT_IF_RUN_S * growth.read_spec(spec).runs,
        ("experiments/growth", "experiments/sizing", "experiments/cases", "workload"),
        _growth,
    ),
)


def find(kind: str) -> Computation:
    """Return the computation of this kind; raise InputError that lists what there is."""
    for one in COMPUTATIONS:
        if one.kind == kind:
            return one
    raise InputError(
        f"experiment {kind!r:.80}", "there is none of this kind", names_hint(kind, [one.kind for one in COMPUTATIONS])
    )


def compute(
    kind: str, spec: Mapping[str, Any], progress: Progress | None = None, name: str = "", subject: Any = None
) -> ExperimentRecord:
    """Return question and answer, ready for the store; InputError for a bad question. ``subject``: what it is about."""
    found = find(kind)
    asked = found.canonical(spec)
    answer = found.answer(asked, progress) if found.about is None else found.about(asked, subject, progress)
    return ExperimentRecord(kind, asked, answer, found.version, name or found.label)


@dataclass(frozen=True, eq=False)
class QuestionOrder:
    """A question as it travels to a worker."""

    task_id: str
    channel: Channel
    kind: str
    spec: Mapping[str, Any]
    name: str
    subject: Any = None


def carry_out_question(order: QuestionOrder) -> ExperimentRecord:
    """Compute in a worker process."""
    report = Reporter(order.channel, order.task_id)
    report.force(0.0, "Starting")
    record = compute(order.kind, order.spec, report, order.name, order.subject)
    report.force(1.0, "Saving")
    return record
