"""Apply predicted run times to the jobs of a scenario: which job trains what, and a new version of the scenario."""

from __future__ import annotations

from difflib import get_close_matches

import numpy as np
import pandas as pd
import streamlit as st
from streamlit.delta_generator import DeltaGenerator

from dlsched.domain.scenario import Scenario
from dlsched.domain.workload import Texts
from dlsched.ui.frame import session, writing
from dlsched.ui.frame.parts import guard_rails, mistakes_shown, sentence
from dlsched.ui.frame.text import safe
from dlsched.ui.lab.training_time import APPLY, VIEW, Models, times_csv
from dlsched.wording.cautions import Caution
from dlsched.wording.formats import amount, count, share
from dlsched.workload.profiles.predicted_times import (
    Prediction,
    draw_networks,
    fill_times,
    lacking_words,
    map_models,
    predict_on,
    widths_of,
)

MOST_MODELS = 6
"""Models with a choice each; the jobs of all others train one network."""
DRAWN = "a random network for each job"
LABEL = "Apply predicted run times"


def nothing_yet(action: DeltaGenerator) -> None:
    """Show the next step before there are rows to take it with."""
    action.button(LABEL, disabled=True, key="fill-none", help="There are no predictions yet")


def offer(action: DeltaGenerator) -> None:
    """Offer the view in which times are applied, as the next step of the others."""

    def open_view() -> None:
        st.session_state[VIEW] = APPLY

    action.button(APPLY, type="primary", key="times-apply", on_click=open_view)


def section(models: Models, current: Scenario, action: DeltaGenerator) -> None:
    """Show how the jobs map to networks and what they would get; the button that does it goes to ``action``."""
    answer = st.container()
    st.markdown(
        ":gray[Makes a new version of the scenario in which each job runs as fast as predicted for its network, GPU "
        "type and number of GPUs. Policies that choose machines and GPUs per job need this. The old version is kept.]"
    )
    network_of = _networks(models, current)
    left, right = st.columns(2)
    batch = left.number_input(
        "Batch size for all", min_value=1.0, max_value=1e9, value=None, key=f"fill-batch-{models.tag}", format="%g",
        placeholder="a typical one of each network",
        help="Samples of one step. Empty: the middle of the batch sizes each network was measured with.",
    )  # fmt: skip
    predictions = [
        predict_on(model, widths_of(current.cluster), batch=batch)
        for model in models.fits.models
        if model.network in set(network_of)
    ]
    with right:
        measured_on = _measured_on(current, predictions)
    with answer:
        _preview(models, predictions, current)
    errors = {p.network: models.fits.of(p.network).mape for p in predictions}
    st.download_button(
        "CSV of the times", lambda: times_csv(predictions, errors, generated=models.generated), "training-times.csv",
        "text/csv", key="times-csv", on_click="ignore", disabled=not predictions,
        help="Seconds by network, GPU type and number of GPUs, with the mean error",
    )  # fmt: skip
    if _pressed(action, current, ready=bool(measured_on)):
        with action, mistakes_shown():
            filled = fill_times(current, predictions, network_of, measured_on, _words(models, predictions))
            session.keep(filled, based_on=current.content_hash)
            st.rerun()


def _pressed(action: DeltaGenerator, current: Scenario, *, ready: bool) -> bool:
    """Show the next step: apply the times, or run policies once they are applied; return whether to apply now."""
    filled = any(one.kind == "predicted-times" for one in current.assumptions)
    with action.container(horizontal=True, vertical_alignment="center"):
        if filled:
            st.badge("predicted run times applied", color="green")
        pressed = writing.button(
            "Apply again" if filled else LABEL, key="fill-times", type="secondary" if filled else "primary",
            disabled=not ready,
            help="Makes a new version of the scenario; you can undo it in the scenario menu"
            if ready else "No machine of this scenario has times for every network that its jobs train",
        )  # fmt: skip
        if filled and st.button("Next: run policies", type="primary", key="times-to-run"):
            session.go("Run")
    return pressed


def _words(models: Models, predictions: list[Prediction]) -> str:
    """Return the assumption that the filled scenario carries."""
    source = " from generated rows" if models.generated else ""
    num_times, outside = _num_times(predictions)
    beyond = f", {count(outside)} of {count(num_times)} extrapolated" if outside else ""
    return f"times predicted{source}, ± {share(_error(models, predictions))}{beyond}"


def _num_times(predictions: list[Prediction]) -> tuple[int, int]:
    """Return how many times are predicted, and how many of them lie outside what was measured."""
    num_times = sum(len(row) for p in predictions for row in p.rows.values())
    return num_times, sum(sum(row) for p in predictions for row in p.outside.values())


def _networks(models: Models, current: Scenario) -> Texts:
    """Ask what each model of the jobs is; return the network of each job."""
    jobs, networks = current.workload, models.networks
    jobs_of = pd.Series([""] * len(jobs) if jobs.model is None else list(jobs.model)).value_counts()
    listed = [str(model) for model in jobs_of.index if model][:MOST_MODELS]
    chosen: dict[str, str] = {}
    if listed:
        st.markdown(f"Network of each model that the {amount(len(jobs), 'job')} name:")
        for column, model in zip(st.columns(3) * 2, listed, strict=False):
            chosen[model] = column.selectbox(
                safe(f"{model}: {count(int(jobs_of[model]))} jobs", 60), networks, index=nearest(model, networks),
                key=f"map-{models.tag}-{model}", placeholder="choose a network",
                help="The network whose predicted times these jobs get",
            ) or ""  # fmt: skip
    rest = int(jobs_of.sum()) - sum(int(jobs_of[model]) for model in listed)
    if not rest:
        return map_models(jobs, chosen)
    what = "All other jobs train" if listed else "The jobs name no model. All of them train"
    offers = [*networks, DRAWN] if len(networks) > 1 else networks
    other = st.selectbox(
        f"{what} ({count(rest)})", offers, index=len(offers) - 1, key=f"map-rest-{models.tag}", width=320,
        help="One network for all of them, or a random one for each job (by seed and job)",
    )  # fmt: skip
    if other != DRAWN:
        return map_models(jobs, {**chosen, "": other})
    drawn = draw_networks(jobs, networks, current.seed)
    named = map_models(jobs, {**chosen, "": ""})
    return np.where(named == "", drawn, named)


def nearest(model: str, networks: list[str]) -> int | None:
    """Return the place of the network whose name is nearest to a model's; None when none is near."""
    plain = {"".join(letter for letter in name.lower() if letter.isalnum()): name for name in networks}
    bare = "".join(letter for letter in model.lower() if letter.isalnum())
    if not bare:
        return None
    inside = [name for name in plain if name.startswith(bare) or bare.startswith(name) or bare in name]
    near = get_close_matches(bare, inside or list(plain), n=1, cutoff=0.0 if inside else 0.6)
    return networks.index(plain[near[0]]) if near else None


def _measured_on(current: Scenario, predictions: list[Prediction]) -> str:
    """Ask on which GPU type jobs run as long as they do now."""
    types = [name for name in widths_of(current.cluster) if all(name in p.rows for p in predictions)]
    if not types:
        return ""
    return st.selectbox(
        "Current run times are for", types, key=f"measured-on-{'-'.join(types)}",
        help="The present run time of each job is taken as its time with the GPUs it requests on this type; all other "
        "times follow in proportion from the prediction.",
    )  # fmt: skip


def _preview(models: Models, predictions: list[Prediction], current: Scenario) -> None:
    widths = widths_of(current.cluster)
    num_times, outside = _num_times(predictions)
    if outside:
        times = f"{count(outside)} of {amount(num_times, 'time')} are extrapolated"
        text = f"{times}: a GPU type or a size that was not measured."
        guard_rails([Caution("orange", text, "Measure a few runs there, or choose machines that were measured.")])
    sentence(
        f"{amount(len(current.workload), 'job')} would get {amount(num_times, 'predicted time')}: "
        f"{amount(len(predictions), 'network')} on {amount(len(widths), 'GPU type')}, mean error "
        f"{share(_error(models, predictions))}.", (),
    )  # fmt: skip
    sentences = []
    if lacking := lacking_words(predictions):
        more = f"; and {len(lacking) - 4} more" if len(lacking) > 4 else ""
        sentences.append(f"No times: {'; '.join(safe(text, 200) for text in lacking[:4])}{more}.")
    widest = max(widths.values(), default=0)
    cut = int((current.workload.gpus > widest).sum())
    if cut and widest:
        sentences.append(
            f"{amount(cut, 'job')} that {'asks' if cut == 1 else 'ask'} for more than {widest:,} GPUs would be limited "
            "to one machine and run longer in proportion."
        )
    if any(vm.speed != 1 for vm in current.cluster.vm_types):
        sentences.append("Relative speeds of the machines are set to 1: the predicted times already include them.")
    if current.generator is not None:
        sentences.append("The jobs stay as generated now: every future has the same ones.")
    if sentences:
        st.markdown(" ".join(sentences))


def _error(models: Models, predictions: list[Prediction]) -> float:
    """Return the mean error over the rows of the networks that are used."""
    errors = [models.fits.of(p.network).errors for p in predictions]
    return float(np.concatenate(errors).mean()) if errors else float("nan")
