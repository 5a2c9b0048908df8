"""What is asked about a figure of a paper: as every study, a question with its answer."""

from __future__ import annotations

from concurrent.futures import Executor

from pydantic import Field

from dlsched.domain.model import FrozenModel
from dlsched.store.record import CellStore
from dlsched.studies.reproductions.registry import find
from dlsched.studies.reproductions.reproduction import Outcome, Setting
from dlsched.studies.simulation import Progress
from dlsched.studies.study import Study


class ReproductionSpec(FrozenModel):
    """A figure by its key, by a quick run (small sizes) or a full one."""

    key: str = Field(min_length=1, max_length=80, description="Key of the reproduction.")
    quick: bool = Field(True, description="Small sizes, to be done in seconds to minutes.")


def check(spec: ReproductionSpec, scenario: None = None) -> None:
    """Raise InputError with near keys where there is no reproduction of this key."""
    find(spec.key)


def compute_figure(
    spec: ReproductionSpec,
    scenario: None = None,
    executor: Executor | None = None,
    store: CellStore | None = None,
    progress: Progress | None = None,
) -> Outcome:
    """Return what came out; ``scenario`` and ``store`` are not used."""
    return find(spec.key).run(Setting(spec.quick, progress, executor=executor))


STUDY = Study(
    kind="reproduction",
    label="Reproduction",
    page="Paper checks",
    spec=ReproductionSpec,
    answer=Outcome,
    check=check,
    run=compute_figure,
    estimate_s=lambda spec, scenario=None: find(spec.key).time.of(quick=spec.quick),
    words=lambda outcome: outcome.ours,
    sources=("studies/reproductions", "studies/steady", "studies/design", "workload"),
    about=None,
    shared_out=True,
)
