"""The public call ``dlsched.report``: the decision memo of what was compared, as a file."""

from __future__ import annotations

from collections.abc import Sequence
from pathlib import Path

from dlsched.domain.errors import InputError
from dlsched.policies import registry
from dlsched.report.alternatives import Condition
from dlsched.report.compared import LEAST, MOST, Compared, Draw
from dlsched.report.compared_memo import memo_of
from dlsched.report.memo import Memo
from dlsched.report.write import content, kind_of
from dlsched.studies.design import EditedScenarios, Futures, Variant, basis_of, resolve_variant
from dlsched.studies.simulation import Run


def report(
    found: Compared | Sequence[Run],
    path: str | Path,
    *,
    question: str = "",
    recommendation: str = "",
    note: str = "",
    hide_names: bool = False,
    groups: bool = True,
) -> Memo:
    """Write the decision memo of a comparison, or of runs of one scenario; return what it says.

    Parameters
    ----------
    found
        What ``dlsched.compare`` returned, or two to six runs of one scenario at one seed under different policies; the
        first run is the baseline.
    path
        File to write: ``.html``, ``.pptx`` or ``.xlsx``.
    question, recommendation, note
        Texts of your own: the question to be decided, a recommendation in place of the computed one, and anything else
        the reader should know.
    hide_names
        Show users and groups as A, B, C.
    groups
        Say which users and groups gain and lose; this runs the first futures of a comparison again.

    Raises
    ------
    InputError
        Another ending, a file that cannot be written, runs that cannot be compared, or a run that failed its audit.

    Examples
    --------
    >>> import dlsched
    >>> scenario = dlsched.load("sample:demo")
    >>> runs = [dlsched.simulate(scenario, policy) for policy in ("fifo", "easy-backfill")]
    >>> memo = dlsched.report(runs, "memo.html", question="Should we change the policy?")
    >>> memo.question
    'Should we change the policy?'
    """
    kind = kind_of(str(path))
    compared = found if isinstance(found, Compared) else _compared(found)
    memo = memo_of(
        compared, question=question, recommendation=recommendation, note=note, hide_names=hide_names, groups=groups
    )
    try:
        Path(path).expanduser().write_bytes(content(memo, kind))
    except OSError as error:
        raise InputError(f"file {path}", f"cannot be written ({error.strerror})", "Give another path") from error
    return memo


def _compared(runs: Sequence[Run]) -> Compared:
    """Return runs that were made one by one as a comparison in one future."""
    if not LEAST <= len(runs) <= MOST:
        raise InputError("report", f"needs {LEAST} to {MOST} runs, got {len(runs)}", "Give a comparison, or more runs")
    first, *others = runs
    for run in others:
        if (run.scenario.content_hash, run.seed) != (first.scenario.content_hash, first.seed):
            do = "Run all policies on one scenario with one seed, or use dlsched.compare"
            raise InputError("report", "was given runs of different scenarios or seeds", do)
    names = [registry.find(run.policy).label for run in runs]
    if twice := [name for name in names if names.count(name) > 1]:
        raise InputError("report", f"was given two runs under {twice[0]}", "Give one run for each policy")
    scenario, futures = first.scenario, Futures(seeds=(first.seed,))
    variants = {
        name: Variant(policy=run.policy, params=dict(run.params)) for name, run in zip(names, runs, strict=True)
    }
    edited = EditedScenarios(scenario)
    return Compared(
        scenario,
        Condition(),
        variants,
        futures,
        basis_of(scenario, [resolve_variant(edited, one, futures) for one in variants.values()], futures),
        {name: [Draw(run.metrics, tuple(run.audit()), "", run.policy, run.seed)]
         for name, run in zip(names, runs, strict=True)},
        jobs={(name, run.seed): run.jobs for name, run in zip(names, runs, strict=True)},
    )  # fmt: skip
