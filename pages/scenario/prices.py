import streamlit as st

from dlsched.ui.frame import page, parts, session
from dlsched.ui.scenario import catalogue, cluster
from dlsched.wording.formats import amount

current = page.begin("Prices")
kept = catalogue.begin()
head = st.container()
with st.container(horizontal=True, vertical_alignment="bottom", gap="medium"):
    prices, options = catalogue.paid(kept, current.options)
    st.space("stretch")
    actions = st.container(horizontal=True, width="content")
whose = st.segmented_control("Part", ("Rent", "Own"), default="Rent", required=True, key="machines",
                             bind="query-params", label_visibility="collapsed")  # fmt: skip
left, right = st.columns([3, 2], gap="medium")
picture = right.container()
with left:
    if whose == "Rent":
        shown = catalogue.table(prices, current)
    else:
        shown = catalogue.untouched(prices)
        with parts.mistakes_shown():
            shown = catalogue.with_own_hardware(shown)
if whose == "Rent":
    catalogue.importing(disabled=shown.mistake is not None)
if shown.prices != kept:
    catalogue.keep(shown.prices)
with head:
    catalogue.headline(current, shown)
with picture:
    catalogue.chart(shown.prices)

changed = None
if shown.mistake is None and shown.prices.used:
    changed = cluster.renting(current, shown.prices).replace(options=options)
unsaved = changed is not None and changed.content_hash != current.content_hash
label = f"Use these {amount(len(shown.prices.used), 'type')}"
if actions.button(
    label, type="primary" if unsaved else "secondary", key="use-prices", disabled=not unsaved,
    help="Makes a new version of the scenario with these prices frozen into it; its menu can undo it",
) and changed is not None:  # fmt: skip
    info = session.keep(changed, based_on=current.content_hash)
    st.toast(f"Saved as version {info.version}.")
    st.rerun()
settled = shown.mistake is None and not unsaved
if actions.button("Next: choose policies", type="primary" if settled else "secondary", key="to-run"):
    session.go("Run")
