"""What is said of a training-time prediction: the sentence, and how far one can go wrong."""

from __future__ import annotations

from collections.abc import Sequence

import numpy as np

from dlsched.speed.regression import Fits, NetworkFit
from dlsched.speed.terms import FEATURES, words
from dlsched.wording.assumptions import Premise
from dlsched.wording.cautions import Caution
from dlsched.wording.formats import amount, count, duration, share
from dlsched.workload.profiles.demo_profile import NOISE, SEED
from dlsched.workload.profiles.predicted_times import Prediction

LONGEST_NAME = 32
BAND = 0.2
"""Predictions within this share of the measured time are counted as near."""
POOR = 0.2
"""A mean error above this is read with care: the differences a planner looks for are of that size."""


def training_sentence(fits: Fits) -> str:
    """Return how well times are predicted: the mean error, the worst network, how sure, one row in twenty."""
    errors = np.concatenate([model.errors for model in fits.models])
    far = f"one row in twenty is off by more than {share(float(np.percentile(errors, 95)))}"
    sure = f"cross-validated, {amount(fits.rows, 'row')}"
    if len(fits.models) == 1:
        return (
            f"{_short(fits.models[0].network)}: times are predicted to {share(fits.mape)} on average ({sure}); {far}."
        )
    worst = max(fits.models, key=lambda model: model.mape)
    return (
        f"Times of {amount(len(fits.models), 'network')} are predicted to {share(fits.mape)} on average ({sure}); "
        f"worst is {_short(worst.network)} with {share(worst.mape)}; {far}."
    )


def prediction_sentence(prediction: Prediction, error: float) -> str:
    """Return the shortest of the predicted times of one job, how long one GPU takes, and the network's mean error."""
    times = [
        (seconds, gpus, gpu_type)
        for gpu_type, row in prediction.rows.items()
        for gpus, seconds in enumerate(row, start=1)
    ]
    if not times:
        return f"{_short(prediction.network)}: none of these machines has a predicted time."
    seconds, gpus, gpu_type = min(times)
    one_s = min(row[0] for row in prediction.rows.values())
    sure = f"mean error of the network {share(error)}"
    begin = f"{_short(prediction.network)} takes {duration(seconds)} on {gpus:,} × {gpu_type}"
    return f"{begin} ({sure})." if gpus == 1 else f"{begin}, {duration(one_s)} on one GPU ({sure})."


def _short(name: str) -> str:
    return name if len(name) <= LONGEST_NAME else name[: LONGEST_NAME - 1] + "…"


def unseen_error(fits: Fits) -> float | None:
    """Return the mean error for GPU types that were left out, over networks; None if none could be."""
    unseen = [model.unseen_mape for model in fits.models if model.unseen_mape is not None]
    return float(np.mean(unseen)) if unseen else None


def training_cautions(fits: Fits) -> list[Caution]:
    """Return what must be read with care before the numbers are used."""
    guards = []
    poor = [model for model in fits.models if model.mape > POOR]
    if poor:
        names = ", ".join(f"{_short(model.network)} {share(model.mape)}" for model in poor[:3])
        more = f" and {len(poor) - 3} more" if len(poor) > 3 else ""
        text = (
            f"Mean errors above {share(POOR)}: {names}{more}. Smaller differences between configurations mean nothing."
        )
        guards.append(
            Caution("orange", text, "Give more rows, or leave out a GPU type that does not follow the others.")
        )
    unseen = unseen_error(fits)
    if unseen is not None and unseen > POOR:
        text = f"For a GPU type that was not measured the mean error is {share(unseen)}: GFLOPS do not tell enough."
        guards.append(Caution("orange", text, "Use the times of measured GPU types only."))
    if fits.refused:
        names = "; ".join(f"{_short(network)}: {why}" for network, why in list(fits.refused.items())[:3])
        more = f" and {len(fits.refused) - 3} more" if len(fits.refused) > 3 else ""
        guards.append(Caution("info", f"Not predicted: {names}{more}."))
    return guards


def formula(fit: NetworkFit) -> str:
    """Return the chosen terms in words: "a constant + iterations / GPUs + ...", in the order they were chosen."""
    return " + ".join(words(term) for term in fit.terms)


def left_out(fit: NetworkFit) -> str:
    """Return which features the model could not use, and why; empty when it used all."""
    same = [f"{FEATURES[feature].word} always {value:g}" for feature, value in fit.fixed.items()]
    unknown = [f"{FEATURES[feature].word} not in the file" for feature in fit.unknown]
    return ", ".join([*same, *unknown])


def error_table(models: Sequence[NetworkFit]) -> list[tuple[str, int, float, float, float, float | None]]:
    """Return network, rows, mean error, smallest and largest of the folds, error on GPU types left out; worst first."""
    ordered = sorted(models, key=lambda model: (-model.mape, model.network))
    return [
        (m.network, len(m.runs), m.mape, float(m.fold_mapes.min()), float(m.fold_mapes.max()), m.unseen_mape)
        for m in ordered
    ]


def training_cards(fits: Fits) -> list[tuple[str, str, str]]:
    """Return four cards (label, value, help): the mean error, the worst network, a new GPU type, the rows."""
    if len(fits.models) > 1:
        worst = max(model.mape for model in fits.models)
        second = ("Error, worst network", share(worst), "Mean error of the network that is predicted worst.")
    else:
        near = float((fits.models[0].errors <= BAND).mean())
        second = (
            f"Rows within ± {share(BAND)}",
            share(near),
            "Rows whose predicted time is that near to the measured one.",
        )
    return [
        ("Error, mean", share(fits.mape), "Mean of |predicted - measured| / measured. Each row is predicted by a model "
         "that has seen neither it nor a run of the same configuration, and whose terms were chosen without it."),
        second,
        ("Error, new GPU type", share(unseen_error(fits)), "Mean error for each GPU type when it is predicted "
         "from the others: what to expect of a type that was not measured. Needs three types with known GFLOPS."),
        ("Profiling rows", count(fits.rows), "Measured runs the models were fitted to and judged on."),
    ]  # fmt: skip


def generated_why() -> str:
    """Return what the generated rows are."""
    return (
        f"Made up: six applications on five GPU types by a speed law with {NOISE:.0%} noise, seed {SEED}. "
        "They show how the page works and say nothing of your networks."
    )


def training_assumptions(*, generated: bool) -> list[Premise]:
    """Return the assumptions behind the predictions."""
    entries = [Premise("generated profiling rows", generated_why())] if generated else []
    law = "A linear regression for each network: it adds terms as long as they lower the error on rows not seen."
    entries.append(Premise("time = a sum of terms", law))
    nominal = "GPU types differ by nominal GFLOPS only; what else makes one faster is not seen."
    return [*entries, Premise("GPU types by GFLOPS", nominal)]
