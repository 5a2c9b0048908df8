"""What the Training time page says of its models: sentence, cards, charts, the terms in words."""

from __future__ import annotations

import pandas as pd
import streamlit as st

from dlsched.figures.training import BAND, network_errors, predicted_vs_measured
from dlsched.speed.regression import Fits
from dlsched.studies.speed_models.training import formula, left_out, training_guards, training_sentence, unseen_error
from dlsched.ui.frame import charts
from dlsched.ui.frame.parts import cards, chips, guard_rails, sentence
from dlsched.ui.frame.text import safe
from dlsched.ui.lab.training_rows import Models, generated_why
from dlsched.wording.assumptions import Premise
from dlsched.wording.formats import count, share

MOST_LISTED = 30


def answer(models: Models) -> None:
    """Show banners, sentence, cards and the two charts."""
    fits = models.fits
    guard_rails(training_guards(fits))
    sentence(training_sentence(fits))
    cards([
        ("Error, mean", share(fits.mape), "Mean of |predicted - measured| / measured. Each row is predicted by a model "
         "that has seen neither it nor a run of the same configuration, and whose terms were chosen without it."),
        _second_card(fits),
        ("Error, new GPU type", share(unseen_error(fits)), "Mean error for each GPU type when it is predicted "
         "from the others: what to expect of a type that was not measured. Needs three types with known GFLOPS."),
        ("Profiling rows", count(fits.rows), "Measured runs the models were fitted to and judged on."),
    ])  # fmt: skip
    with st.container(horizontal=True, vertical_alignment="center"):
        if models.generated:
            st.badge("generated rows", color="orange", help=generated_why())
        chips(_assumptions(models), "training")
    theme = charts.page_theme()
    left, right = st.columns([3, 2], gap="medium")
    with left:
        charts.show(predicted_vs_measured(fits, theme), f"predicted-{models.tag}")
    with right:
        charts.show(network_errors(fits, theme), f"errors-{models.tag}")


def _second_card(fits: Fits) -> tuple[str, str, str]:
    if len(fits.models) > 1:
        worst = max(model.mape for model in fits.models)
        return ("Error, worst network", share(worst), "Mean error of the network that is predicted worst.")
    near = float((fits.models[0].errors <= BAND).mean())
    return (f"Rows within ± {share(BAND)}", share(near), "Rows whose predicted time is that near to the measured one.")


def _assumptions(models: Models) -> list[Premise]:
    entries = [Premise("generated profiling rows", generated_why(), "")] if models.generated else []
    law = "A linear regression for each network: it adds terms as long as they lower the error on rows not seen."
    entries.append(Premise("time = a sum of terms", law))
    nominal = "GPU types differ by nominal GFLOPS only; what else makes one faster is not seen."
    return [*entries, Premise("GPU types by GFLOPS", nominal)]


def terms(models: Models) -> None:
    """Show which terms were chosen, in words, and what could not be used."""
    with st.expander("Chosen terms, in words", key=f"terms-{models.tag}"):
        st.markdown(
            "Each network's time is a sum of these terms, each times a fitted number, in the order in which they were "
            "chosen. Iterations only multiply: half of them take half of what grows with them."
        )
        for model in models.fits.models[:MOST_LISTED]:
            unused = f" Not used: {left_out(model)}." if left_out(model) else ""
            st.markdown(f"**{safe(model.network, 60)}**: time = {formula(model)}.{unused}")
        if len(models.fits.models) > MOST_LISTED:
            st.markdown(f":gray[The first {MOST_LISTED} of {count(len(models.fits.models))} networks.]")
        types = sorted({gpu_type for model in models.fits.models for gpu_type in model.unseen})
        if types:
            st.markdown("Mean error for a GPU type when it is predicted from the others:")
            unseen = [
                [model.network, *(share(model.unseen.get(gpu_type)) for gpu_type in types)]
                for model in models.fits.models
            ]
            st.dataframe(
                pd.DataFrame(unseen, columns=["Network", *types]), hide_index=True, key=f"unseen-{models.tag}",
                alt="Error of each GPU type left out, by network",
            )  # fmt: skip
