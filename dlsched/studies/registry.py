"""Named computations beyond a run: from a plain question to a plain answer, in a worker process or here."""

from __future__ import annotations

from collections.abc import Callable, Mapping
from dataclasses import asdict, dataclass
from typing import TYPE_CHECKING, Any, TypeVar

from pydantic import BaseModel

from dlsched.domain.errors import InputError
from dlsched.domain.names import names_hint
from dlsched.domain.scenario import Scenario
from dlsched.store.record import ExperimentRecord
from dlsched.studies import calibration, growth, pool_sizes, sizing, what_if
from dlsched.studies.code_version import code_version
from dlsched.studies.inspect import admissions, dual_prices, look_ahead
from dlsched.studies.reproductions import spec as reproduction
from dlsched.studies.reproductions.registry import find as find_reproduction
from dlsched.studies.simulation import Progress
from dlsched.studies.steady import read_spec, run_steady
from dlsched.studies.steady.run import check
from dlsched.studies.sweep import cells

if TYPE_CHECKING:
    from dlsched.store import Store

Plain = Mapping[str, Any]
Spec = TypeVar("Spec", bound=BaseModel)

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
_LIST_RUN_S = 0.05
"""CPU seconds of a run of 1,000 jobs under a list policy with its audit, about."""
_JOBS = 450
"""Jobs of a scenario that is not at hand: those of the demo of elastic training."""


@dataclass(frozen=True, slots=True)
class Computation:
    """A line of the table.

    ``canonical`` returns the one plain form of a question, or raises InputError for a bad one. ``answer`` computes from
    a question, its subject and a progress; it may call the progress, and lets what that raises through. The subject is
    what a question is about and too large for it, such as a scenario; it travels with it. ``guess_s``: about how long,
    seconds. ``sources``: folders of the package that decide the answer, beyond those that decide a run. ``keep``: how
    the store keeps an answer that is no experiment; it returns what of it the store does not hold.
    """

    kind: str
    label: str
    canonical: Callable[[Plain], dict[str, Any]]
    answer: Callable[[Plain, Any, Progress | None], dict[str, Any]]
    guess_s: Callable[[Plain], float]
    sources: tuple[str, ...]
    keep: Callable[[Store, ExperimentRecord], ExperimentRecord] | None = None

    @property
    def version(self) -> str:
        """The code that decides the answer."""
        return code_version(self.sources)


def _steady(plain: Plain) -> dict[str, Any]:
    spec = read_spec(plain)
    check(spec)
    return spec.model_dump(mode="json")


def _looked_ahead(spec: Plain, subject: Any, progress: Progress | None) -> dict[str, Any]:
    asked = look_ahead.LookAheadSpec.read(spec)
    if not isinstance(subject, look_ahead.StoredRun):
        raise InputError("look-ahead", "comes without the scenario it is about", "Ask on the page Look-ahead")
    return {"decisions": [one.to_plain() for one in look_ahead.run_look_ahead(asked, subject, progress)]}


def _admissions(asked: admissions.AdmissionsSpec, scenario: Scenario, progress: Progress | None) -> dict[str, Any]:
    return {"decisions": [one.to_plain() for one in admissions.run_admissions(asked, scenario, progress)]}


def _prices(asked: dual_prices.DualPricesSpec, scenario: Scenario, progress: Progress | None) -> dict[str, Any]:
    return dual_prices.run_dual_prices(asked, scenario, progress).to_plain()


def _hindsight(asked: dual_prices.DualPricesSpec, scenario: Scenario, progress: Progress | None) -> dict[str, Any]:
    return asdict(dual_prices.run_hindsight(asked, scenario, progress))


def _pool_sizes_s(asked: pool_sizes.PoolSizesSpec) -> float:
    return pool_sizes.guess_s(asked.policies, _JOBS, asked.runs // len(asked.policies))


def _about_scenario(
    kind: str,
    label: str,
    page: str,
    read: Callable[[Plain], Spec],
    answer: Callable[[Spec, Scenario, Progress | None], dict[str, Any]],
    guess_s: Callable[[Spec], float],
    *sources: str,
    keep: Callable[[Store, ExperimentRecord], ExperimentRecord] | None = None,
) -> Computation:
    """Return the line of a question about a scenario, which is asked on a page."""

    def about(spec: Plain, subject: Any, progress: Progress | None) -> dict[str, Any]:
        if not isinstance(subject, Scenario):
            raise InputError(label, "asked without the scenario it is about", f"Ask on the page {page}")
        return answer(read(spec), subject, progress)

    return Computation(
        kind,
        label,
        lambda plain: read(plain).model_dump(mode="json"),
        about,
        lambda spec: guess_s(read(spec)),
        tuple(f"studies/{source}" if source != "workload" else source for source in sources),
        keep,
    )


COMPUTATIONS = (
    Computation(
        "steady",
        "Steady state",
        _steady,
        lambda spec, _, progress: run_steady(read_spec(spec), progress=progress).to_plain(),
        lambda spec: _STEADY_POINT_S * len(spec["loads"]) * len(spec["policies"]),
        ("studies/steady", "workload"),
    ),
    Computation(
        "look-ahead",
        "Look-ahead",
        lambda plain: look_ahead.LookAheadSpec.read(plain).model_dump(mode="json"),
        _looked_ahead,
        lambda spec: _REPLAY_S + _DECISION_S * (spec["last"] - spec["first"] + 1),
        ("studies/inspect/look_ahead",),
    ),
    _about_scenario(
        "admissions", "Admissions", "Admissions", admissions.AdmissionsSpec.read, _admissions,
        lambda asked: _REPLAY_S + _INTERVAL_S * (asked.last - asked.first + 1),
        "inspect/admissions",
    ),
    _about_scenario(
        "prices", "Prices", "Prices and admissions", dual_prices.DualPricesSpec.read, _prices, lambda _: _REPLAY_S,
        "inspect/dual_prices",
    ),
    _about_scenario(
        "hindsight", "Best in hindsight", "Prices and admissions", dual_prices.DualPricesSpec.read, _hindsight,
        lambda _: _HINDSIGHT_S,
        "inspect/dual_prices",
    ),
    _about_scenario(
        "pool-sizes", "Pool size", "Pool size", pool_sizes.read_spec,
        lambda asked, scenario, progress: pool_sizes.run_pool_sizes(asked, scenario, progress=progress).to_plain(),
        _pool_sizes_s,
        "pool_sizes", "workload",
    ),
    _about_scenario(
        "calibration", "Calibration", "Workload", calibration.read_spec,
        lambda asked, scenario, progress: calibration.run_calibration(asked, scenario, progress=progress).to_plain(),
        lambda asked: calibration.guess_s(len(asked.policies), _JOBS),
        "calibration",
    ),
    _about_scenario(
        cells.KIND, "Runs of a sweep", "Sweep", cells.read_cells, cells.answered,
        lambda asked: _CELL_S * len(asked.cells),
        "design", "sweep", "workload",
        keep=cells.keep,
    ),
    _about_scenario(
        "what-if", "What if", "What if", what_if.read_spec,
        lambda asked, scenario, progress: what_if.run_what_if(asked, scenario, progress).to_plain(),
        lambda asked: _LIST_RUN_S * 2 * len(asked.draws.seeds),
        "what_if", "design", "workload",
    ),
    _about_scenario(
        "size", "Size", "Size", sizing.read_spec,
        lambda asked, scenario, progress: sizing.run_size(asked, scenario, progress=progress).to_plain(),
        lambda asked: _LIST_RUN_S * sizing.usual_runs(asked),
        "sizing", "design", "workload",
    ),
    _about_scenario(
        "growth", "Growth", "Size", growth.read_spec,
        lambda asked, scenario, progress: growth.run_growth(asked, scenario, progress=progress).to_plain(),
        lambda asked: _LIST_RUN_S * asked.runs,
        "growth", "sizing", "design", "workload",
    ),
    Computation(
        "reproduction",
        "Reproduction",
        lambda plain: reproduction.read_asked(plain).model_dump(mode="json"),
        lambda spec, _, progress: reproduction.answered(reproduction.read_asked(spec), progress),
        lambda spec: find_reproduction(spec["key"]).time.of(quick=spec["quick"]),
        ("studies/reproductions", "studies/steady", "studies/pool_sizes", "workload"),
    ),
)  # fmt: skip


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
    return ExperimentRecord(kind, asked, found.answer(asked, subject, progress), found.version, name or found.label)
