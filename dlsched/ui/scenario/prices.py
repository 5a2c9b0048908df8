"""The page Prices: the table of offers and back, what is paid, own hardware, import of a list."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass
from datetime import date
from typing import Any

import pandas as pd
import streamlit as st
from pydantic import ValidationError

from dlsched.domain.errors import InputError, validated
from dlsched.domain.scenario import Scenario, SimulationRules
from dlsched.figures.prices import price_dots
from dlsched.ui.frame import charts, tables, writing
from dlsched.ui.frame.forms import field
from dlsched.ui.frame.parts import mistakes_shown, sentence
from dlsched.ui.frame.tables import is_empty, number_of, text_of
from dlsched.ui.frame.text import dollars, safe
from dlsched.ui.frame.uploads import File, kept_file, read_once
from dlsched.ui.scenario import price_lists
from dlsched.ui.scenario.jobs import import_report
from dlsched.wording.formats import amount
from dlsched.wording.price_lists import age_words, owned_sentence, price_sentence, what_use_does
from dlsched.workload.catalogue import PRICE_LISTS, price_list
from dlsched.workload.prices.owned import OwnedNode
from dlsched.workload.prices.price_file import SKYPILOT, PriceRead, read_prices, to_frame
from dlsched.workload.prices.price_list import (
    Offer,
    PriceList,
    check_names,
    merged,
    spot_or_discounted,
    stamped,
    usd_per_gpu_h,
)

TABLE, BASE, BEFORE = "prices", "prices-base", "prices-before"
TALL_PX = 420
LIST, SPOT = "On demand", "Spot where known"
BILLING = {"second": "Per second", "hour": "Per started hour"}


@dataclass(frozen=True)
class TableState:
    """The list as the page shows it, and what is wrong with its table; then the list is that before the mistake."""

    prices: PriceList
    mistake: InputError | None


def begin() -> PriceList:
    """Return the list of the store; the table starts afresh where another tab has changed it meanwhile."""
    stored = price_lists.own()
    before: PriceList | None = st.session_state.get(BASE)
    if before is not None and before != stored:
        tables.forget(TABLE)
        if price_lists.saved() is not None:
            st.toast("The price list was changed in another tab; this is the current version.")
    st.session_state[BASE] = stored
    return stored


def keep(prices: PriceList) -> None:
    """Keep a list that was changed on this page."""
    price_lists.save(prices)
    st.session_state[BASE] = prices


def replace(prices: PriceList) -> None:
    """Keep another list and show it from the next run of the page; the previous one can be restored."""
    st.session_state[BEFORE] = price_lists.own()
    keep(prices)
    tables.forget(TABLE)


def _key(name: str) -> str:
    """Return the key of a widget that belongs to the list as it is: another one when the table starts afresh."""
    return f"{tables.widget_key(TABLE)}-{name}"


def headline(scenario: Scenario, shown: TableState) -> None:
    """Show the sentence, how old prices are, and what using them does."""
    sentence(price_sentence(shown.prices), ())
    price_lists.times_warning(scenario, shown.prices.used)
    with st.container(horizontal=True, vertical_alignment="center", gap="small"):
        if old := age_words(shown.prices, price_lists.today()):
            st.badge(
                old,
                color="orange",
                icon=":material/history:",
                help="More than 90 days old: check it against today's list",
            )
        if (wrong := shown.mistake) is not None:
            st.markdown(f":red[⛔ **{safe(wrong.what, 120)}**: {safe(wrong.why, 200)}. {safe(wrong.do, 120)}.]")
        else:
            lacking = set(price_lists.types_without_times(scenario, shown.prices.used))
            rentable = sum(offer.gpu_type not in lacking for offer in shown.prices.used)  # no policy rents the others
            st.markdown(f":gray[{dollars(what_use_does(scenario.cluster, rentable))}]")


def table(prices: PriceList, scenario: Scenario) -> TableState:
    """Show the table of offers; return the list with what it holds now."""
    start = offers_frame(prices)
    today = price_lists.today()
    now = tables.editor(
        start, TABLE, columns(tables.held(TABLE, start)), height=TALL_PX,
        live=lambda rows, edited: live_rows(rows, edited, prices, today),
        alt="Machine types: name, GPU, price, provider, source and date",
    )  # fmt: skip
    shown = _state_of(now, prices)
    with st.container(horizontal=True, gap="small"):
        if writing.button("Add a type", key="price-add", help="A row to fill in"):
            tables.replace(TABLE, new_row(now, today))
            st.rerun()
        unticked = int((~now["use"].astype(bool)).sum())
        if writing.button(f"Delete {amount(unticked, 'unticked type')}", key="price-delete", disabled=not unticked):
            tables.replace(TABLE, now[now["use"].astype(bool)].reset_index(drop=True))
            st.rerun()
        _begin_with(scenario, disabled=shown.mistake is not None)
        _undo()
        st.download_button(
            "CSV", lambda: charts.csv(to_frame(price_lists.own().offers)), "prices.csv", "text/csv", type="tertiary",
            key="price-csv", on_click="ignore", help="Download this price list; importing the file restores it",
        )  # fmt: skip
    return shown


def untouched(prices: PriceList) -> TableState:
    """Return the list with what the table holds while it is not shown."""
    return _state_of(tables.held(TABLE, offers_frame(prices)), prices)


def _state_of(rows: pd.DataFrame, prices: PriceList) -> TableState:
    try:
        return TableState(prices.model_copy(update={"offers": offers_of(rows)}), None)
    except InputError as mistake:
        return TableState(prices, mistake)


def _begin_with(scenario: Scenario, *, disabled: bool) -> None:
    of_scenario = price_lists.of_cluster(scenario.cluster)
    lists = [(bundled.label, bundled.note, price_list(bundled)) for bundled in PRICE_LISTS]
    if of_scenario.offers:
        lists.append(("The scenario's types", "Names, sizes and prices only.", of_scenario))
    hint = "Replaces this list"
    with st.popover("Load a price list", help=hint, disabled=disabled, key=_key("begin")):
        for place, (label, note, prices) in enumerate(lists):
            if writing.button(f"{label}: {amount(len(prices.offers), 'type')}", key=f"begin-with-{place}"):
                replace(prices)
                st.rerun()
            st.markdown(f":gray[{dollars(note)}]")


def _undo() -> None:
    before: PriceList | None = st.session_state.get(BEFORE)
    label = f"Restore the previous {amount(len(before.offers), 'type')}" if before else ""
    if before and writing.button(label, key="price-undo", type="tertiary"):
        replace(before)
        st.session_state.pop(BEFORE)
        st.rerun()


def chart(prices: PriceList) -> None:
    """Show the chart of the list, or why there is none."""
    picture = charts.drawn(price_dots, prices, charts.page_theme())
    if picture is None:
        st.markdown(":gray[No selected type has GPUs, so there is no price per GPU-hour.]")
    charts.show(picture, "price-dots")


def paid(prices: PriceList, options: SimulationRules) -> tuple[PriceList, SimulationRules]:
    """Show which price is paid, discounts and billing; return the list and the options with what was chosen."""
    kind = st.segmented_control(
        "Price", [LIST, SPOT], required=True, default=SPOT if prices.use_spot else LIST, key=_key("spot"),
        help="Spot machines can be reclaimed at any time. Simulations here do not model that.",
    )  # fmt: skip
    billing = st.segmented_control(
        "Billing", [*BILLING], required=True, default=options.billing, format_func=BILLING.__getitem__,
        key=f"billing-{options.billing}", help="Each rental is billed per second, or per started hour",
    )  # fmt: skip
    discounts = _discounts(prices)
    return (
        prices.model_copy(update={"use_spot": kind == SPOT, "discounts": discounts}),
        options.model_copy(update={"billing": billing}),
    )


def _discounts(prices: PriceList) -> dict[str, float]:
    chosen = {provider: off for provider, off in prices.discounts.items() if provider not in prices.providers}
    before = {name: 100 * prices.discounts.get(name, 0.0) for name in prices.providers}
    given = sum(st.session_state.get(_key(f"discount-{name}"), off) > 0 for name, off in before.items())
    with st.popover(f"Discounts ({given})" if given else "Discounts", help="Discounts on a provider's list prices"):
        if not prices.providers:
            st.markdown("Discounts apply per provider: fill in the column Provider first.")
        for provider in before:
            off = st.number_input(
                f"{safe(provider)} (%)", 0.0, 99.0, before[provider], 1.0, format="%g",
                key=_key(f"discount-{provider}"), help="Applies to its on-demand list prices, not to spot prices.",
            )  # fmt: skip
            chosen[provider] = round(off / 100, 6)
    return {provider: off for provider, off in chosen.items() if off}


def with_own_hardware(shown: TableState) -> TableState:
    """Show the form for an owned machine; return the list with it.

    Raises
    ------
    InputError
        When a value of the form is out of range.
    """
    st.markdown("**What owning costs per GPU-hour**")
    said = st.container()
    owned = _owned_form(shown.prices.owned)
    prices = shown.prices.model_copy(update={"owned": owned})
    if owned is not None:
        with said:
            st.markdown(f"**{safe(owned_sentence(prices), 500)}**")
        if st.button("Remove from the chart", key="owned-away", type="tertiary"):
            replace(prices.model_copy(update={"owned": None}))
            st.rerun()
    return TableState(prices, shown.mistake)


def _owned_form(before: OwnedNode | None) -> OwnedNode | None:
    """Show the form; return the machine as asked for just now, else the one before."""
    base, values = before or OwnedNode(), {}
    with st.form(_key("owned"), border=False):
        places = st.columns(3)
        for place, (name, info) in enumerate(OwnedNode.model_fields.items()):
            with places[place % 3]:
                values[name] = field(name, info, getattr(base, name), _key(f"owned-{name}"))
        is_sent = st.form_submit_button("Compare with renting")
    st.markdown(
        ":gray[Purchase and upkeep are spread over all 8,760 hours a year; electricity counts only busy hours. "
        "No interest, no resale value.]"
    )
    return validated(OwnedNode, values, "own hardware") if is_sent else before


# ---- the table and back ------------------------------------------------------------------------------

TYPED = "typed in"
PRICES = ("usd_per_h", "spot_usd_per_h")
_NUMBERS = ("gpus", "cpus", "mem_gib", "disk_gib", *PRICES)


def _gpu_price_column(longest: float) -> Any:
    return st.column_config.ProgressColumn(
        "$/GPU-h", format="$%.2f", min_value=0.0, max_value=longest, width=105,
        help="Price of one GPU for an hour, after discount or on spot",
    )  # fmt: skip


_number, _text = st.column_config.NumberColumn, st.column_config.TextColumn
COLUMNS: Mapping[str, Any] = {
    "use": st.column_config.CheckboxColumn("Use", width=62, help="Selected: scenarios may rent it"),
    "name": _text("Type", max_chars=80, width=105, help="Unique name of the machine type"),
    "gpu_type": _text("GPU", max_chars=80, width=70, help="GPU type, as jobs and run times name it"),
    "gpus": _number("GPUs", min_value=0, max_value=1024, step=1, width=72, help="GPUs of one machine"),
    "usd_per_h": _number("$/h", format="%.2f", width=70, help="List price of one machine, on demand"),
    "usd_per_gpu_h": _gpu_price_column(1.0),
    "spot_usd_per_h": _number("Spot $/h", format="%.2f", width=92, help="Empty = not known"),
    "provider": _text("Provider", max_chars=80, width=95, help="Discounts are by provider"),
    "cpus": _number("CPUs", min_value=0.0, width=75, help="CPU cores of one machine; empty = not a limit"),
    "mem_gib": _number("GiB", min_value=0.0, width=60, help="Memory of one machine; empty = not a limit"),
    "disk_gib": _number("Disk GiB", min_value=0.0, width=80, help="Disk of one machine; empty = not a limit"),
    "region": _text("Region", max_chars=80, width=80, help="Region the price holds in"),
    "source": _text("Source", max_chars=200, help="Where the price comes from"),
    "as_of": st.column_config.DateColumn("Date", help="The day the price was true"),
}  # fmt: skip


def offers_frame(prices: PriceList) -> pd.DataFrame:
    """Return the offers as an editable table; the column $/GPU-h follows from the others."""
    rows = [offer.model_dump() for offer in prices.offers]
    frame = pd.DataFrame(rows, columns=[*COLUMNS]).astype(object)
    return with_gpu_prices(frame.where(frame.notna(), None), prices)


def new_row(frame: pd.DataFrame, today: date) -> pd.DataFrame:
    """Return the table with one more row to fill in; its price is empty, so that it is not taken for a real one."""
    names = set(frame["name"])
    name = next(name for number in range(1, len(names) + 2) if (name := f"new type {number}") not in names)
    row = {"use": True, "name": name, "gpu_type": "GPU", "gpus": 1, "source": TYPED, "as_of": today}
    more = pd.DataFrame([row], columns=[*COLUMNS]).astype(object)
    return pd.concat([frame.astype(object), more.where(more.notna(), None)], ignore_index=True)


def live_rows(
    begin: pd.DataFrame, edited: Mapping[int, Mapping[str, Any]], prices: PriceList, today: date
) -> pd.DataFrame:
    """Return the rows the table began with, with $/GPU-h as edited, and today's date where a price was typed in."""
    records = begin.to_dict("records")
    for row, cells in edited.items():
        if row < len(records) and any(name in cells and cells[name] != records[row][name] for name in PRICES):
            records[row] |= {"source": TYPED, "as_of": today}
    after = [{**record, **edited.get(row, {})} for row, record in enumerate(records)]
    paid = [_gpu_price(record, prices) for record in after]
    rows = pd.DataFrame(records, columns=begin.columns, index=begin.index).astype(object)
    return rows.assign(usd_per_gpu_h=pd.Series(paid, index=begin.index, dtype=object))


def with_gpu_prices(frame: pd.DataFrame, prices: PriceList) -> pd.DataFrame:
    """Return the table with what is paid for one GPU for an hour; empty where it cannot be told."""
    paid = [_gpu_price(record, prices) for record in frame.to_dict("records")]
    return frame.assign(usd_per_gpu_h=pd.Series(paid, index=frame.index, dtype=object))


def _gpu_price(record: Mapping[Any, Any], prices: PriceList) -> float | None:
    usd, spot, gpus = number_of(record["usd_per_h"]), number_of(record["spot_usd_per_h"]), number_of(record["gpus"])
    if usd is None or usd <= 0:
        return None
    off = prices.discounts.get(text_of(record["provider"]), 0.0)
    return usd_per_gpu_h(spot_or_discounted(usd, spot if spot and spot > 0 else None, off, use_spot=prices.use_spot),
                         gpus)  # fmt: skip


def columns(frame: pd.DataFrame) -> dict[str, Any]:
    """Return the column settings of the table."""
    longest = max([value for value in frame["usd_per_gpu_h"] if value is not None], default=1.0)
    disk = COLUMNS["disk_gib"] if frame["disk_gib"].notna().any() else None
    return {**COLUMNS, "usd_per_gpu_h": _gpu_price_column(longest), "disk_gib": disk}


def offers_of(frame: pd.DataFrame) -> tuple[Offer, ...]:
    """Return the offers of the table.

    Raises
    ------
    InputError
        Naming the row, the column and the rule.
    """
    offers = tuple(_offer(f"row {row}", record) for row, record in enumerate(frame.to_dict("records"), 1))
    check_names(offers)
    return offers


def _offer(where: str, record: Mapping[Any, Any]) -> Offer:
    tables.need_filled(record, ("name", "gpu_type", "gpus", "usd_per_h"), where, COLUMNS)
    given: dict[str, Any] = {
        name: text_of(record[name]) for name in ("name", "gpu_type", "provider", "region", "source")
    }
    given |= {name: None if is_empty(record[name]) else record[name] for name in (*_NUMBERS, "as_of")}
    given["use"] = not is_empty(record["use"]) and bool(record["use"])
    try:
        return Offer.model_validate(given)
    except ValidationError as error:
        raise tables.mistake_in(error, where, COLUMNS) from error


# ---- import of a price list --------------------------------------------------------------------------

FILE = "price-file"
CHEAPEST = "Cheapest of all regions"


def importing(*, disabled: bool) -> None:
    """Show the drop zone, what was read and dropped, and the ways to take the offers over.

    ``disabled`` says that the table has a mistake, which taking them over would lose.
    """
    with st.expander("Import a price list: SkyPilot vms.csv, or a CSV of this page", key="price-import"):
        left, right = st.columns([3, 2], gap="medium")
        with left:
            file = kept_file("Drop a CSV, also .gz .zip", FILE, "Nothing changes until you press a button")
        if file is None:
            return
        with left, mistakes_shown():
            read = _read(file, None)
            if read.format == SKYPILOT:
                read = _read(file, _region(file, read))
            _take(_stamped(file, read) if read.format == SKYPILOT else read.offers, disabled=disabled)
            with right:
                import_report(read.report, read.format, "Price list check")


def _read(file: File, region: str | None) -> PriceRead:
    with st.spinner("Reading"):
        return read_once(file.name, f"{file.tag}-{region}", read_prices, file.content, file.name, region)


def _region(file: File, read: PriceRead) -> str | None:
    chosen = st.selectbox(
        "Region", [CHEAPEST, *read.regions], key=f"price-region-{file.tag}", help="Each type is taken once",
        format_func=lambda name: name if name == CHEAPEST else f"{name}: {amount(read.regions[name], 'row')}",
    )  # fmt: skip
    return None if chosen == CHEAPEST else str(chosen)


def _stamped(file: File, read: PriceRead) -> tuple[Offer, ...]:
    """Return the offers with the provider and the day, which a SkyPilot file does not say."""
    left, right = st.columns(2)
    provider = left.text_input("Provider", key=f"price-provider-{file.tag}", max_chars=80,
                               help="Not in the file; discounts apply per provider")  # fmt: skip
    day = right.date_input("Prices of", price_lists.today(), key=f"price-day-{file.tag}", help="Date of the price list")
    return stamped(read.offers, provider.strip(), day)


def _take(offers: tuple[Offer, ...], *, disabled: bool) -> None:
    prices = price_lists.own()
    if disabled:
        st.markdown(":orange[First correct the table above.]")
    with st.container(horizontal=True), mistakes_shown():
        if writing.button(
            f"Add {amount(len(offers), 'type')}",
            key="price-merge",
            disabled=disabled,
            help="Types with the same name and provider are updated",
        ):
            both = merged(prices.offers, offers)
            check_names(both)
            replace(prices.model_copy(update={"offers": both}))
            st.rerun()
        if writing.button(
            f"Replace the list with {amount(len(offers), 'type')}", key="price-replace", disabled=disabled
        ):
            replace(prices.model_copy(update={"offers": offers}))
            st.rerun()
