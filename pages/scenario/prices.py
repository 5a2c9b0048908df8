import streamlit as st

from dlsched.ui.frame import identity, page, parts, session, writing
from dlsched.ui.frame.navigation import PART, SCRIPTS
from dlsched.ui.scenario import cluster
from dlsched.ui.scenario import prices as prices_form
from dlsched.wording.formats import amount

if "run" in st.query_params and session.SCENARIO not in st.session_state:
    # A link of an earlier version, when prices of a run had this address; links within the app come to an open session.
    st.switch_page(SCRIPTS["Run details"], query_params={**st.query_params.to_dict(), PART: "Inside"})
st.query_params.pop("run", None)  # or a reload would be taken for such a link
current = page.begin("Prices")
kept = prices_form.begin()
head = st.container()
with st.container(horizontal=True, vertical_alignment="bottom", gap="medium"):
    prices, options = prices_form.paid(kept, current.options)
    st.space("stretch")
    actions = st.container(horizontal=True, width="content")
part = parts.part_of_page(("Rent", "Own"))
left, right = st.columns([3, 2], gap="medium")
picture = right.container()
with left:
    if part == "Rent":
        shown = prices_form.table(prices, current)
    else:
        shown = prices_form.untouched(prices)
        with parts.mistakes_shown():
            shown = prices_form.with_own_hardware(shown)
if part == "Rent":
    prices_form.importing(disabled=shown.mistake is not None)
if shown.prices != kept and identity.may_write():
    prices_form.keep(shown.prices)
with head:
    prices_form.headline(current, shown)
with picture:
    prices_form.chart(shown.prices)

changed = None
if shown.mistake is None and shown.prices.used:
    changed = cluster.renting(current, shown.prices).replace(options=options)
unsaved = changed is not None and changed.content_hash != current.content_hash
label = f"Use these {amount(len(shown.prices.used), 'type')}"
if writing.button(
    label, type="primary" if unsaved else "secondary", inside=actions, key="use-prices", disabled=not unsaved,
    help="Makes a new version of the scenario with these prices; the scenario menu can undo it",
) and changed is not None:  # fmt: skip
    info = session.keep(changed, based_on=current.content_hash)
    st.toast(f"Saved as version {info.version}.")
    st.rerun()
settled = shown.mistake is None and not unsaved
if actions.button("Next: choose policies", type="primary" if settled else "secondary", key="to-run"):
    session.go("Run")
