"""The part Cost of Run details: where the money went, by part, machine type, user and late job; the bill's rules."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

import pandas as pd
import streamlit as st

from dlsched.domain.counted import counted_capacity
from dlsched.domain.energy import gpu_types_of
from dlsched.domain.scenario import Scenario
from dlsched.domain.units import HOUR_S
from dlsched.figures import rented, result
from dlsched.figures.base import Chart
from dlsched.figures.palette import Theme
from dlsched.metrics.savings import gain_words
from dlsched.metrics.tables import bill_by_machine, late_by_cost
from dlsched.ui.frame import charts, loaders, runs_of, tables
from dlsched.ui.frame.text import dollars, safe
from dlsched.ui.results.timeline import to_story
from dlsched.wording.certainty import range_note, range_words, value_words
from dlsched.wording.clock import Clock
from dlsched.wording.counted import GPUS, Counted, counted_of
from dlsched.wording.formats import (
    amount,
    capital,
    count,
    kilograms,
    kilowatt_hours,
    listed,
    money,
    number,
    price,
    share,
)

MAX_LATE = 200
MOST_PRICES = 6
Metrics = dict[str, float | int | None]


def cost_part(run_id: str, scenario: Scenario) -> None:
    """Show where the money went: parts, VM types, users, late jobs."""
    metrics, jobs, counted = loaders.metrics(run_id), loaders.jobs(run_id), counted_of(scenario)
    theme = charts.page_theme()
    if metrics.get("vm_cost") is None:
        st.info("No price is set for this cluster, so there is no cost. Set prices on Prices or Cluster and run again.")
    else:
        spare = spare_words(scenario, counted)
        charts.show(result.cost_waterfall(cost_parts(metrics, spare), theme), "waterfall", caption=True)
        _limits(run_id, metrics, counted, spare)
        _machines(run_id, scenario, jobs, theme)
        _terms(run_id, scenario)
    _energy(scenario, metrics)
    _late_jobs(jobs, theme, loaders.clock(run_id))


SPARE = "Spare GPUs on busy machines"


def spare_words(scenario: Scenario, counted: Counted) -> str:
    """Return what is spare on busy machines: GPUs, cores, or both on a mixed cluster."""
    if counted == GPUS and not loaders.is_of_gpus(scenario):
        return "Spare GPUs and cores on busy machines"
    return counted.say(SPARE)


def cost_parts(metrics: Metrics, spare_label: str = SPARE) -> dict[str, float]:
    """Return label -> dollars: the bill by what it was for, and lateness.

    Runs that were stored before spare GPUs were counted separately have the share of held GPU time that was useful.
    """
    bill, idle = float(metrics["vm_cost"] or 0), float(metrics.get("idle_cost") or 0)
    spare, restarts, goodput = (metrics.get(key) for key in ("spare_cost", "restart_cost", "goodput"))
    if restarts is None:
        restarts = (bill - idle) * (0.0 if goodput is None else 1.0 - float(goodput))
    parts = {
        "Useful work": bill - idle - float(spare or 0) - float(restarts),
        "Restarts and lost work": float(restarts),
        spare_label: float(spare or 0),
        "Paid but idle": idle,
        "Lateness": float(metrics.get("tardiness_cost") or 0),
        "Rejections": float(metrics.get("rejection_cost") or 0),
    }
    return {label: value for label, value in parts.items() if value > 0.005 or label == "Useful work"}


def _limits(run_id: str, metrics: Metrics, counted: Counted, spare: str) -> None:
    """Say what could be gained at most, what was paid for and not used, and what the total is in other futures."""
    lines = [gain_words(metrics)]
    if metrics.get("gpu_hours_idle") is not None:
        lines.append(counted.say(idle_words(metrics, spare)))
    lines += [kinds_words(metrics), futures_words(run_id)]
    text = ". ".join(capital(line) for line in lines if line)
    st.markdown(dollars(f"{text}."))


def idle_words(metrics: Metrics, spare_label: str = SPARE) -> str:
    """Return "120 GPU-hours were paid for but not allocated, 4.1% of those rented: $60 for ... and $12 for ..."."""
    hours, idle, spare = (float(metrics.get(key) or 0) for key in ("gpu_hours_idle", "idle_cost", "spare_cost"))
    if hours < 0.005 and idle < 0.005:
        return "every GPU-hour that was paid for was allocated to a job"
    paid = hours + float(metrics.get("gpu_hours_held") or 0)
    part = f", {share(hours / paid)} of all" if paid > 0 else ""
    words = ((idle, "machines without a job"), (spare, f"{spare_label[:1].lower()}{spare_label[1:]}"))
    costs = [f"{money(usd)} for {what}" for usd, what in words if usd >= 0.005]
    return f"{number(hours)} GPU-hours were paid for but not allocated{part}" + (
        f": {' and '.join(costs)}" if costs else ""
    )


KINDS = {"owned_cost": "owned", "reserved_cost": "reserved", "on_demand_cost": "on demand", "spot_cost": "spot"}


def kinds_words(metrics: Metrics) -> str:
    """Return "nodes by terms: owned $120, spot $30"; "" where all nodes are owned or policies rent machines."""
    costs = {words: metrics[key] for key, words in KINDS.items() if metrics.get(key) is not None}
    told = ", ".join(f"{words} {money(usd)}" for words, usd in costs.items() if usd is not None)
    return f"nodes by terms: {told}" if told else ""


def futures_words(run_id: str) -> str:
    """Return what the total is in other futures: "$26,800 ($25,600 to $28,000) over all 21 futures"; "" without any."""
    own = runs_of.chosen_of([run_id])[0]
    numbers = runs_of.numbers_of([own])
    total = numbers.estimates(own.label).get("total_cost")
    if total is None or total.low is None or total.high is None:
        return ""
    if numbers.basis.is_recorded:
        around, note = range_words("usd", total.low, total.high), range_note(numbers.basis, numbers.count)
        return f"this is the recorded month; the total with lateness is {around} {note}" if around else ""
    text = value_words("usd", total.value, total.low, total.high)
    return f"this is one future; over all {numbers.count} the total with lateness is {text} on average"


def _machines(run_id: str, scenario: Scenario, jobs: pd.DataFrame, theme: Theme) -> None:
    counted, pieces = counted_of(scenario), loaders.of_headline(loaders.segments(run_id), scenario)
    units = counted_capacity(scenario.cluster, counted.index).tolist()
    sizes = {vm.name: size for vm, size in zip(scenario.cluster.vm_types, units, strict=True)}
    stays = loaders.stays(run_id)
    machines = bill_by_machine(stays.assign(gpus=stays["vm_type"].map(sizes).astype(float)), pieces)
    by_user = [name for name in ("user", "group", "job_class") if name in jobs and jobs[name].fillna("").any()]
    kinds = loaders.groups(run_id, "gpu_type")
    drawn: list[tuple[str, Callable[[], Chart]]] = [
        ("by-type", lambda: rented.bill_bars(machines, theme, kinds, counted).of(counted))
    ]
    if by_user:
        drawn.append(("by-user", lambda: _cost_by(by_user[0], jobs, theme)))
    for column, (key, draw) in zip(st.columns(len(drawn)), drawn, strict=True):
        with column:
            charts.show(draw(), key, caption=len(drawn) == 1)


def _cost_by(who: str, jobs: pd.DataFrame, theme: Theme) -> Chart:
    word = {"job_class": "class"}.get(who, who)
    by_user = jobs.groupby(who)["cost"].sum()
    top = f", top {result.MOST_GROUPS} of {count(len(by_user))}" if len(by_user) > result.MOST_GROUPS else ""
    title = f"Machine cost by {word}{top}"
    return result.group_bars(by_user, theme, title=title, x="Cost ($)", y=word.capitalize(), unit="$")


def _terms(run_id: str, scenario: Scenario) -> None:
    """Name the billing rule, the prices frozen into the run, and where they come from."""
    rule = {
        "second": "Billing per second: a rented machine is paid for from its request to its return.",
        "hour": "Billing per started hour: each stay of a machine is rounded up, and what that adds counts as idle.",
    }[scenario.options.billing]
    prices = sorted(loaders.info(run_id).prices.items(), key=lambda item: (item[1] is None, item[1] or 0.0))
    named = [f"{safe(name, 40)} {price(usd, 'h')}" for name, usd in prices[:MOST_PRICES]]
    more = f" and {count(len(prices) - MOST_PRICES)} more on Numbers" if len(prices) > MOST_PRICES else ""
    notes = [safe(one.words, 200) for one in scenario.assumptions if one.is_about_prices]
    source = f" Source: {'; '.join(notes)}." if notes else " Source: as set on Cluster, no date given."
    listed = dollars(f"Prices of this run: {', '.join(named)}{more}.{source}")
    st.markdown(f":gray[{rule} {listed}]")


def _energy(scenario: Scenario, metrics: Metrics) -> None:
    """Say what electricity the run drew, what it costs and emits, and what that rests on."""
    setup = scenario.energy
    if setup is None:
        return
    st.subheader("Energy", anchor=False)
    if metrics.get("energy_kwh") is None:
        lacking = setup.unknown_types(gpu_types_of(scenario.cluster))
        why = (
            f"the watts of {listed([safe(name, 40) for name in lacking])} are not given"
            if lacking
            else ("this run was made before energy was counted")
        )
        st.info(f"Energy is unknown: {why}. Set it on Cluster and run again.")
        return
    st.markdown(dollars(f"{energy_words(metrics)}."))
    entered = "Energy: watts as entered on Cluster"
    told = next((one.words for one in scenario.assumptions if one.kind == "energy"), entered)
    st.markdown(f":gray[{safe(told, 400)}. PUE {number(setup.pue)}. Electricity is no part of the bill above.]")


def energy_words(metrics: Metrics) -> str:
    """Return "5,750 kWh, 6.1% by idle GPUs; $1,250 of electricity; 2,180 kg of CO2 equivalent"."""
    kwh, idle = float(metrics["energy_kwh"] or 0), float(metrics.get("energy_idle_kwh") or 0)
    parts = [kilowatt_hours(kwh) + (f", {share(idle / kwh)} of it by idle GPUs" if kwh > 0 else "")]
    if (usd := metrics.get("energy_usd")) is not None:
        parts.append(f"{money(usd)} of electricity")
    if (kg := metrics.get("carbon_kg")) is not None:
        parts.append(f"{kilograms(kg)} of CO2 equivalent")
    return "; ".join(parts)


def _late_jobs(jobs: pd.DataFrame, theme: Theme, clock: Clock) -> None:
    late = late_by_cost(jobs)
    if late.empty:
        return
    weighed = bool(late["tardiness_usd"].notna().any())
    order = "most expensive" if weighed else "latest"
    top = late.head(MAX_LATE)
    st.subheader(f"{amount(len(late), 'late job')}, {order} first", anchor=False)
    charts.show(rented.tardiness_bars(late, theme), "tardiness", on_point=to_story)
    columns = {"Job": top["job_id"], "Due": top["due_s"], "Late by": top["tardiness_s"]}
    if weighed:
        columns["Weight, per hour"] = top["tardiness_usd"] / top["tardiness_s"] * HOUR_S
        columns["Cost of lateness"] = top["tardiness_usd"]
    if top["cost"].notna().any():
        columns["Machine cost"] = top["cost"]
    words: dict[str, Any] = dict.fromkeys(list(columns)[3:], "usd") | {"Late by": "duration", "Due": clock.moment}
    st.dataframe(tables.in_words(pd.DataFrame(columns), words), hide_index=True, key="late-jobs", width="content",
                 alt=f"The first {count(len(top))} of {amount(len(late), 'late job')}")  # fmt: skip
    if len(late) > len(top):
        st.markdown(f":gray[First {count(len(top))}; the download of jobs on Numbers has all.]")
