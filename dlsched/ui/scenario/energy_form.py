"""Energy and carbon on the page Cluster: watts by GPU type, PUE, price and carbon, constant or by the hour."""

from __future__ import annotations

from collections.abc import Mapping
from typing import Any

import pandas as pd
import streamlit as st

from dlsched.domain.energy import EnergySetup, GpuPower, gpu_types_of
from dlsched.domain.errors import InputError, validated
from dlsched.domain.scenario import Scenario
from dlsched.ui.frame import session, tables, writing
from dlsched.ui.frame.parts import mistakes_shown
from dlsched.ui.frame.tables import number_of
from dlsched.ui.frame.text import dollars
from dlsched.ui.frame.uploads import read_once, tag_of
from dlsched.wording.clock import clock_of
from dlsched.wording.formats import amount, listed, number
from dlsched.workload.energy_setup import IDLE_SHARE, TEMPLATE, counting_energy, known_power, with_hours

_number, _text = st.column_config.NumberColumn, st.column_config.TextColumn
POWER_COLUMNS: Mapping[str, Any] = {
    "gpu_type": _text("GPU type", disabled=True, help="GPU type, as in the node types above"),
    "idle_w": _number("Idle (W)", min_value=0.0, help="Watts of one GPU that no job holds, with its part of the "
                      "machine if you know it"),
    "busy_w": _number("Busy (W)", min_value=0.0, help="Watts of one GPU that a job holds, with its part of the "
                      "machine if you know it"),
}  # fmt: skip
RATES: Mapping[str, tuple[str, str, float]] = {
    "usd_per_kwh": ("Electricity ($/kWh)", "Price of electricity; empty = no cost of electricity", 0.01),
    "g_per_kwh": ("Carbon (g CO2e/kWh)", "Carbon intensity of electricity; empty = carbon is not counted", 10.0),
}


def part(current: Scenario, *, disabled: bool = False) -> None:
    """Show what energy is counted from, and save it; ``disabled``: nothing can be saved, as another part is not."""
    tag, types = current.content_hash[: session.HASH_DIGITS], sorted(gpu_types_of(current.cluster))
    st.subheader("Energy and carbon", anchor=False, help="Counted beside cost; no policy reads it, and no schedule "
                 "changes")  # fmt: skip
    if not types:
        st.markdown(":gray[No node type has GPUs, and only their energy is counted.]")
        return
    opened = f"energy-open-{tag}"
    if current.energy is None and opened not in st.session_state:
        with st.container(horizontal=True, vertical_alignment="center", gap="small"):
            if writing.button("Count energy", key="energy-start", disabled=disabled,
                              help="Watts by GPU type, PUE, price and carbon of electricity"):  # fmt: skip
                st.session_state[opened] = True
                st.rerun()
            st.markdown(":gray[Energy is not counted.]")
        return
    saved = current.energy or EnergySetup(power=known_power(types))
    start: EnergySetup = st.session_state.get(f"energy-draft-{tag}", saved)
    with mistakes_shown():
        made = _edited(start, types, tag)
        unsaved = made != current.energy
        with st.container(horizontal=True, vertical_alignment="center", gap="small"):
            if writing.button(
                "Save energy", type="primary" if unsaved else "secondary", key="energy-save",
                disabled=not unsaved or disabled, help="Makes a new version of the scenario",
            ):  # fmt: skip
                _save(counting_energy(current, made), current, tag)
            _hours(current, made, tag)
            if current.energy is not None and writing.button("Do not count energy", key="energy-remove",
                                              disabled=disabled, help="Reverted with “Undo last edit”"):  # fmt: skip
                _save(counting_energy(current, None), current, tag)
            if current.energy is None and st.button("Discard", key="energy-discard", help="Energy is not counted"):
                st.session_state.pop(opened, None)
                _start_over(tag)
            st.markdown(f":gray[{'Not saved yet' if unsaved else 'Saved'}.]")


def _edited(start: EnergySetup, types: list[str], tag: str) -> EnergySetup:
    """Show the settings and return what they say; InputError for a GPU type without watts."""
    power = {one.gpu_type: one for one in start.power}
    watts = {name: (power[name].idle_w, power[name].busy_w) if name in power else (None, None) for name in types}
    frame = pd.DataFrame([(name, *of) for name, of in watts.items()], columns=[*POWER_COLUMNS])
    left, right = st.columns((3, 2))
    with left:
        table = tables.editor(frame, f"energy-power-{tag}", POWER_COLUMNS, live=lambda rows, _: rows,
                              alt="Watts of one GPU of each type, idle and busy")  # fmt: skip
        st.markdown(
            f":gray[Filled in where the board power is known: busy all of it, idle {IDLE_SHARE:.0%} of it (our "
            "assumption), nothing for the rest of the machine. Replace them with what you measure.]"
        )
    fields: dict[str, Any] = {"step_s": start.step_s, "first_s": start.first_s}
    with right:
        fields["pue"] = st.number_input(
            "PUE", 1.0, 5.0, start.pue, 0.05, key=f"energy-pue-{tag}",
            help="Power of the building per power of the machines (power usage effectiveness)",
        )  # fmt: skip
        for name, (label, hint, step) in RATES.items():
            rate: tuple[float, ...] = getattr(start, name)
            key = f"energy-{name}-{tag}"
            if len(rate) > 1:
                st.markdown(dollars(f"{label}: {rate_words(rate, start.step_s)}"))
                fields[name] = rate
                if st.button("Use the mean", key=f"{key}-mean", help=f"Replaces the list for {dollars(label)}"):
                    mean = round(sum(rate) / len(rate), 6)
                    st.session_state[f"energy-draft-{tag}"] = start.model_copy(update={name: (mean,)})
                    st.rerun()
                continue
            value = st.number_input(label, None, None, rate[0] if len(rate) == 1 else None, step, key=key, help=hint,
                                    format="%.4g", placeholder="not given")  # fmt: skip
            fields[name] = () if value is None else (value,)
    rows = [record for _, record in tables.filled_rows(table)]
    lacking = [str(row["gpu_type"]) for row in rows if None in (number_of(row["idle_w"]), number_of(row["busy_w"]))]
    if lacking:
        raise InputError("energy", f"the watts of {listed(lacking)} are not filled in", "Fill in both columns")
    here = [GpuPower(**{name: row[name] for name in POWER_COLUMNS}) for row in rows]
    others = [one for one in start.power if one.gpu_type not in types]
    return validated(EnergySetup, fields | {"power": [*here, *others]}, "energy")


def rate_words(rate: tuple[float, ...], step_s: float) -> str:
    """Return what a list holds: "24 values, one each 60 min, 0.12 to 0.21, mean 0.16"."""
    mean = sum(rate) / len(rate)
    span = f"{number(min(rate))} to {number(max(rate))}, mean {number(mean)}"
    return f"{amount(len(rate), 'value')}, one each {number(step_s / 60)} min, {span}"


def _hours(current: Scenario, made: EnergySetup, tag: str) -> None:
    """Offer price and carbon by the hour from a file."""
    key = tables.widget_key(f"energy-file-{tag}")
    with st.popover("By the hour, from a file", help="Price and carbon that change over the day", key=f"by-{key}"):
        st.markdown(
            "A CSV with the columns `hour` (0 to 23, or 0 to 167 from Monday on), `time_s` or `datetime`, and "
            "`usd_per_kwh`, `usd_per_mwh` or `g_per_kwh`. It begins again at its end."
        )
        st.download_button("Example", TEMPLATE, "energy-by-the-hour.csv", key=f"energy-example-{tag}",
                           help="A small file of this form; its numbers are made up")  # fmt: skip
        file = writing.uploader("Price or carbon by the hour", key=key, help="It replaces what it has columns for")
        if file is None:
            return
        with mistakes_shown():
            content, zero = file.getvalue(), clock_of(current.workload).zero
            question = tag_of(content, made.model_dump_json().encode(), str(zero).encode())
            read = read_once(file.name, question, with_hours, made, content, file.name, zero)
            for name, (label, _, _) in RATES.items():
                if len(getattr(read, name)) > 1:
                    st.markdown(f"- {dollars(label)}: {rate_words(getattr(read, name), read.step_s)}")
            if st.button("Use these numbers", type="primary", key="energy-use", help="Saved with “Save energy”"):
                st.session_state[f"energy-draft-{tag}"] = read
                for name in RATES:
                    st.session_state.pop(f"energy-{name}-{tag}", None)
                tables.forget(f"energy-file-{tag}")
                st.rerun()


def _save(made: Scenario, current: Scenario, tag: str) -> None:
    info = session.keep(made, based_on=current.content_hash)
    st.toast(f"Saved as version {info.version}.")
    _start_over(tag)


def _start_over(tag: str) -> None:
    for name in ("power", "file"):
        tables.forget(f"energy-{name}-{tag}")
    st.session_state.pop(f"energy-draft-{tag}", None)
    st.rerun()
