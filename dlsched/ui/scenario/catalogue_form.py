"""Widgets of the Catalogue page: the table of offers with its chart, what is paid, where prices come from."""

from __future__ import annotations

from dataclasses import dataclass

import streamlit as st

from dlsched.domain.errors import InputError, validated
from dlsched.domain.scenario import Scenario, SimulationRules
from dlsched.figures.prices import price_dots
from dlsched.ui.frame import charts, tables
from dlsched.ui.frame.forms import field
from dlsched.ui.frame.parts import sentence
from dlsched.ui.frame.text import dollars, safe
from dlsched.ui.scenario import price_lists
from dlsched.ui.scenario.catalogue_view import columns, live_rows, new_row, offers_frame, offers_of
from dlsched.wording.formats import amount
from dlsched.wording.price_lists import age_words, owned_sentence, price_sentence, what_use_does
from dlsched.workload.catalogue import PRICE_LISTS, price_list
from dlsched.workload.prices.owned import OwnedNode
from dlsched.workload.prices.price_file import to_frame
from dlsched.workload.prices.price_list import PriceList

TABLE, BASE, BEFORE = "prices", "prices-base", "prices-before"
TALL_PX = 420
LIST, SPOT = "On demand", "Spot where known"
BILLING = {"second": "Per second", "hour": "Per started hour"}
OWNED_LABELS = {
    "gpu_type": "GPU type", "gpus": "GPUs", "capex_usd": "Price of buying ($)", "years": "Years of use",
    "yearly_upkeep_share": "Upkeep a year (share of price)", "kw": "Power (kW)", "pue": "PUE",
    "usd_per_kwh": "Electricity ($/kWh)", "use_share": "Use at present (0 to 1)",
}  # fmt: skip


@dataclass(frozen=True)
class Shown:
    """The list as the page shows it, and what is wrong with its table; then the list is that before the mistake."""

    prices: PriceList
    mistake: InputError | None


def begin() -> PriceList:
    """Return the list of the store; the table begins anew where another tab has changed it meanwhile."""
    kept = price_lists.own()
    before: PriceList | None = st.session_state.get(BASE)
    if before is not None and before != kept:
        tables.forget(TABLE)
        if price_lists.saved() is not None:
            st.toast("The catalogue was changed elsewhere; this is what it is now.")
    st.session_state[BASE] = kept
    return kept


def keep(prices: PriceList) -> None:
    """Keep a list that was changed on this page."""
    price_lists.save(prices)
    st.session_state[BASE] = prices


def replace(prices: PriceList) -> None:
    """Keep another list and show it from the next run of the page; the one before can be had back."""
    st.session_state[BEFORE] = price_lists.own()
    keep(prices)
    tables.forget(TABLE)


def _key(name: str) -> str:
    """Return the key of a widget that belongs to the list as it is: another one when the table begins anew."""
    return f"{tables.widget_key(TABLE)}-{name}"


def headline(scenario: Scenario, shown: Shown) -> None:
    """Show the sentence, how old prices are, and what using them does."""
    sentence(price_sentence(shown.prices))
    price_lists.times_warning(scenario, shown.prices.used)
    with st.container(horizontal=True, vertical_alignment="center", gap="small"):
        if old := age_words(shown.prices, price_lists.today()):
            st.badge(old, color="orange", icon="🕰️", help="More than 90 days: check them against the list of today")
        st.markdown(_standing(scenario, shown))


def _standing(scenario: Scenario, shown: Shown) -> str:
    if (wrong := shown.mistake) is not None:
        return f":red[⛔ **{safe(wrong.what, 120)}**: {safe(wrong.why, 200)}. {safe(wrong.do, 120)}.]"
    return f":gray[{dollars(what_use_does(scenario.cluster, len(shown.prices.used)))}]"


def table(prices: PriceList, scenario: Scenario) -> Shown:
    """Show the table of offers; return the list with what it holds now."""
    start = offers_frame(prices)
    today = price_lists.today()
    now = tables.editor(
        start, TABLE, columns(tables.held(TABLE, start)), height=TALL_PX,
        live=lambda rows, edited: live_rows(rows, edited, prices, today),
        alt="Machine types: name, GPU, price, provider, source and date",
    )  # fmt: skip
    try:
        shown = Shown(prices.model_copy(update={"offers": offers_of(now)}), None)
    except InputError as mistake:
        shown = Shown(prices, mistake)
    with st.container(horizontal=True, gap="small"):
        if st.button("Add a type", key="price-add", help="A row to fill in"):
            tables.replace(TABLE, new_row(now, today))
            st.rerun()
        unticked = int((~now["use"].astype(bool)).sum())
        if st.button(f"Delete {amount(unticked, 'unticked type')}", key="price-delete", disabled=not unticked):
            tables.replace(TABLE, now[now["use"].astype(bool)].reset_index(drop=True))
            st.rerun()
        _begin_with(scenario, disabled=shown.mistake is not None)
        _undo()
        st.download_button(
            "CSV", lambda: charts.csv(to_frame(price_lists.own().offers)), "catalogue.csv", "text/csv", type="tertiary",
            key="price-csv", on_click="ignore", help="Download the catalogue; importing it gives the same again",
        )  # fmt: skip
    return shown


def _begin_with(scenario: Scenario, *, disabled: bool) -> None:
    of_scenario = price_lists.of_cluster(scenario.cluster)
    lists = [(bundled.label, bundled.note, price_list(bundled)) for bundled in PRICE_LISTS]
    if of_scenario.offers:
        lists.append(("The scenario's types", "Names, sizes and prices only.", of_scenario))
    hint = "Another list in place of this one"
    with st.popover("Begin with", help=hint, disabled=disabled, key=_key("begin")):
        for place, (label, note, prices) in enumerate(lists):
            if st.button(f"{label}: {amount(len(prices.offers), 'type')}", key=f"begin-with-{place}"):
                replace(prices)
                st.rerun()
            st.markdown(f":gray[{dollars(note)}]")


def _undo() -> None:
    before: PriceList | None = st.session_state.get(BEFORE)
    label = f"Back to the {amount(len(before.offers), 'type')} before" if before else ""
    if before and st.button(label, key="price-undo", type="tertiary"):
        replace(before)
        st.session_state.pop(BEFORE)
        st.rerun()


def chart(prices: PriceList) -> None:
    """Show the chart of the list, or why there is none."""
    picture = price_dots(prices, charts.page_theme())
    if picture is None:
        st.markdown(":gray[No ticked type has GPUs, so there is no price per GPU-hour to show.]")
    charts.show(picture, "price-dots")


def paid(prices: PriceList, options: SimulationRules) -> tuple[PriceList, SimulationRules]:
    """Show which price is paid, discounts and billing; return the list and the options with what was chosen."""
    kind = st.segmented_control(
        "Price", [LIST, SPOT], required=True, default=SPOT if prices.use_spot else LIST, key=_key("spot"),
        help="Spot machines can be taken away at any time. No run here models that.",
    )  # fmt: skip
    billing = st.segmented_control(
        "Billing", [*BILLING], required=True, default=options.billing, format_func=BILLING.__getitem__,
        key=f"billing-{options.billing}", help="Each stay of a machine is paid to the second, or to the started hour",
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
    with st.popover(f"Discounts ({given})" if given else "Discounts", help="Off the list prices of a provider"):
        if not prices.providers:
            st.markdown("Discounts are by provider: fill in the column Provider first.")
        for provider in before:
            off = st.number_input(
                f"{safe(provider)} (%)", 0.0, 99.0, before[provider], 1.0, format="%g",
                key=_key(f"discount-{provider}"), help="Off its on-demand list prices. Spot prices are what they are.",
            )  # fmt: skip
            chosen[provider] = round(off / 100, 6)
    return {provider: off for provider, off in chosen.items() if off}


def with_own_hardware(shown: Shown) -> Shown:
    """Show the form for a machine of one's own; return the list with it.

    Raises
    ------
    InputError
        When a value of the form is out of range.
    """
    with st.expander("Own hardware: what buying costs per GPU-hour", key="own-hardware"):
        owned = _owned_form(shown.prices.owned)
        prices = shown.prices.model_copy(update={"owned": owned})
        if owned is not None:
            st.markdown(f"**{safe(owned_sentence(prices), 500)}**")
            if st.button("Take it out of the chart", key="owned-away", type="tertiary"):
                replace(prices.model_copy(update={"owned": None}))
                st.rerun()
    return Shown(prices, shown.mistake)


def _owned_form(before: OwnedNode | None) -> OwnedNode | None:
    """Show the form; return the machine as asked for just now, else the one before."""
    base, values = before or OwnedNode(), {}
    with st.form(_key("owned"), border=False):
        places = st.columns(3)
        for place, (name, info) in enumerate(OwnedNode.model_fields.items()):
            with places[place % 3]:
                values[name] = field(OWNED_LABELS[name], info, getattr(base, name), _key(f"owned-{name}"))
        asked = st.form_submit_button("Compare with renting")
    st.markdown(
        ":gray[Buying and upkeep are spread over 8,760 hours a year, whether it works or not; electricity is paid for "
        "the hours of work. No interest, and worth nothing at the end.]"
    )
    if not asked:
        return before
    return validated(OwnedNode, values, "own hardware")
