"""Import of a price list on the Catalogue page: file, region, doctor's report, what becomes of the offers."""

from __future__ import annotations

import streamlit as st

from dlsched.domain.errors import DlschedError
from dlsched.ui.frame.parts import error_box, mistakes_shown
from dlsched.ui.frame.uploads import File, kept_file
from dlsched.ui.scenario import catalogue_form, price_lists
from dlsched.ui.scenario.jobs import import_report
from dlsched.wording.formats import amount
from dlsched.workload.prices.price_file import SKYPILOT, PriceRead, read_prices
from dlsched.workload.prices.price_list import Offer, check_names, merged, stamped

FILE, READ = "price-file", "price-read"
CHEAPEST = "Cheapest of all regions"


def importing(*, disabled: bool) -> None:
    """Show the drop zone, what was read and dropped, and the ways to take the offers over.

    ``disabled`` says that the table has a mistake, which taking them over would lose.
    """
    with st.expander("Import a price list: SkyPilot vms.csv, or a CSV of this page", key="price-import"):
        left, right = st.columns([3, 2], gap="medium")
        with left:
            file = kept_file("Drop a CSV, also .gz .zip", FILE, "Nothing changes before you press a button")
        if file is None:
            return
        read = _read(file, None)
        with left:
            if isinstance(read, PriceRead) and read.format == SKYPILOT:
                read = _read(file, _region(file, read))
            if isinstance(read, DlschedError):
                error_box(read)
                return
            _take(_stamped(file, read) if read.format == SKYPILOT else read.offers, disabled=disabled)
        with right:
            import_report(read.report, read.format, "Price doctor")


def _read(file: File, region: str | None) -> PriceRead | DlschedError:
    known: dict[tuple[str, str | None], PriceRead | DlschedError] = st.session_state.setdefault(READ, {})
    if (file.tag, region) not in known:
        for key in [key for key in known if key[0] != file.tag or key[1] is not None]:
            del known[key]
        try:
            with st.spinner("Reading"):
                known[file.tag, region] = read_prices(file.content, file.name, region=region)
        except DlschedError as error:
            known[file.tag, region] = error
    return known[file.tag, region]


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
                               help="The file does not say; discounts are by provider")  # fmt: skip
    day = right.date_input("Prices of", price_lists.today(), key=f"price-day-{file.tag}", help="When they were true")
    return stamped(read.offers, provider.strip(), day)


def _take(offers: tuple[Offer, ...], *, disabled: bool) -> None:
    prices = price_lists.own()
    if disabled:
        st.markdown(":orange[First correct the table above.]")
    with st.container(horizontal=True), mistakes_shown():
        if st.button(
            f"Add {amount(len(offers), 'type')}",
            key="price-merge",
            disabled=disabled,
            help="The same name of the same provider is renewed",
        ):
            both = merged(prices.offers, offers)
            check_names(both)
            catalogue_form.replace(prices.model_copy(update={"offers": both}))
            st.rerun()
        if st.button(f"Replace the catalogue by {amount(len(offers), 'type')}", key="price-replace", disabled=disabled):
            catalogue_form.replace(prices.model_copy(update={"offers": offers}))
            st.rerun()
