"""What the page What if shows below its row: answer in a sentence, cards, pictures, who wins, next steps."""

from __future__ import annotations

import pandas as pd
import streamlit as st

from dlsched.domain.errors import DlschedError
from dlsched.figures import what_if as figures
from dlsched.metrics.job_classes import NAMED, NOUNS
from dlsched.metrics.stats.compare import Comparison
from dlsched.studies.what_if import WhatIfPlan
from dlsched.studies.what_if.answer import WhatIf, comparison_of
from dlsched.studies.what_if.words import cautions_of, completed_words, premises_of, sentence, settings
from dlsched.ui.frame import charts, parts, session, writing
from dlsched.ui.frame.text import dollars, safe
from dlsched.ui.plan import memo_options, size_state, what_if_cards
from dlsched.ui.plan import what_if_state as state
from dlsched.ui.plan.what_if_state import WHAT_IFS, Shown
from dlsched.ui.results import winners
from dlsched.ui.scenario import price_lists, trust
from dlsched.wording.caveats import Caveat, ordered
from dlsched.wording.formats import amount

NO_OPTION = "Choose an option first: conditions alone are not an option"
PICTURES = {"waits_s": "Wait", "times_in_system_s": "Turnaround time", "queue": "Queue over time"}
WINS, DIFFERS, HOW = "Who gains, who loses", "What differs", "How it is computed"
STYLE = """<style>
.st-key-whatif-old{opacity:.55}
.st-key-whatif-row button p{white-space:nowrap}
.st-key-whatif-cards [data-testid=stColumn]>div{height:100%}
@media(max-width:1240px){
:is(.st-key-whatif-cards,.st-key-whatif-pictures) [data-testid=stHorizontalBlock]{flex-wrap:wrap}
.st-key-whatif-cards [data-testid=stColumn]{min-width:45%}
.st-key-whatif-pictures [data-testid=stColumn]{min-width:100%}}
</style>"""


def styled() -> None:
    """Style what the page shows."""
    st.html(STYLE)


# ---- the answer --------------------------------------------------------------------------------------


def show(shown: Shown, asked: WhatIfPlan, *, refining: bool = False, old: bool = False) -> None:
    """Show an answer below the question that is ``asked``.

    ``refining``: the other futures are under way; ``old``: it answers the question before.
    """
    answer = shown.answer
    comparison = comparison_of(answer)
    for text in answer.errors[:3]:
        st.error(f"**A run did not come to its end**  \n{safe(text, 600)}", icon="⛔")
    try:
        plan = state.plan_of(shown.spec, asked.edited.scenario)
    except DlschedError:  # of an older version of this program
        plan = asked
    with st.container(key="whatif-old" if old else "whatif-now"):
        found = cautions_of(answer, plan)
        parts.guard_rails([one for one in found if one.level != "info"])
        premises = premises_of(answer, plan, price_lists.today())
        parts.sentence(sentence(answer, comparison), _caveats(plan), premises, key="whatif")
        if answer.errors:
            return
        what_if_cards.show(answer, comparison)
        _sure(shown, plan, asked, comparison, refining=refining)
        _pictures(answer, comparison)
        _further(shown, comparison)


def _caveats(plan: WhatIfPlan) -> tuple[Caveat, ...]:
    """Return what stands beside the answer; where estimates differ, each side is told what it is told."""
    today, made, resampled = plan.edited.scenario, plan.made, plan.basis.days > 0
    before, after = plan.spec.baseline.policy, plan.spec.changed.policy
    if today.options.estimate_error == made.options.estimate_error:
        return trust.caveats(made, [before, after], about=today, resampled=resampled)
    sides = ((today, before), (made, after))
    return ordered(one for side, key in sides for one in trust.caveats(side, [key], about=today, resampled=resampled))


def _sure(shown: Shown, plan: WhatIfPlan, asked: WhatIfPlan, comparison: Comparison, *, refining: bool) -> None:
    """Say how sure the numbers are and what varies; then what comes next."""
    answer = shown.answer
    text = f"Differences from {answer.before_name}{' under the same conditions' if answer.conditions else ''}. "
    st.markdown(f":gray[{dollars(text * answer.is_changed + completed_words(answer, comparison))}]")
    with st.container(horizontal=True, vertical_alignment="center", gap="small"):
        if refining:
            st.badge(f"computing {amount(asked.spec.futures.count, 'future')}", color="violet",
                     help="This answer is replaced when they are done")  # fmt: skip
        st.badge(comparison.certainty, color="gray", help="Both sides face the same jobs in each future")
        st.badge("audit failed" if answer.audit else "audit ok", color="red" if answer.audit else "blue",
                 help="Every run was checked again by a program that shares no code with the simulator.")  # fmt: skip
        if refining:  # in the place of what comes next, which would stay there greyed
            for _ in range(3):
                st.empty()
        else:
            st.space("stretch")
            _next_steps(shown)


def _pictures(answer: WhatIf, comparison: Comparison) -> None:
    theme = charts.page_theme()
    chart = figures.changes(answer, comparison, theme) if answer.is_changed else None
    with st.container(key="whatif-pictures"):
        left, right = st.columns(2) if chart else (None, st.container())
    if left:
        with left:
            charts.show(chart, "whatif-forest")
    with right:
        chosen = st.segmented_control(
            "Picture", list(PICTURES), default="waits_s", required=True, format_func=PICTURES.__getitem__,
            key="whatif-picture", label_visibility="collapsed",
        )  # fmt: skip
        drawn = figures.queue(answer, theme) if chosen == "queue" else figures.times(answer, chosen, theme)  # type: ignore[arg-type]
        charts.show(drawn, f"whatif-{chosen}", caption=True)


def _further(shown: Shown, comparison: Comparison) -> None:
    answer = shown.answer
    names = [WINS] * bool(answer.winners) + [DIFFERS] * answer.is_changed + [HOW]
    chosen = st.segmented_control("More", names, key=f"whatif-more-{len(names)}", label_visibility="collapsed")
    if chosen == WINS:
        _winners(answer)
    elif chosen == DIFFERS:
        st.table(pd.DataFrame(settings(answer)).map(dollars), hide_index=True, border="horizontal",
                 alt=f"{amount(len(answer.moved), 'setting')} that differ between the two sides")  # fmt: skip
        st.markdown(":gray[All other settings, rules and the jobs are the same.]")
    elif chosen == HOW:
        st.markdown(HOW_TEXT)


def _winners(answer: WhatIf) -> None:
    found = {one.by: one for one in answer.winners}
    with st.container(horizontal=True, vertical_alignment="bottom"):
        by = st.segmented_control("Group by", list(found), default=next(iter(found)), required=True,
                                  key="whatif-wins-by", format_func=lambda one: NOUNS[one][0].capitalize(),
                                  help="Jobs of a group are averaged")  # fmt: skip
        hide = by in NAMED and st.checkbox("Show names as A, B, C", key="whatif-wins-hide",
                                           help="Hides the names here and in the table")  # fmt: skip
    winners.show_winners(found[by], f"whatif-wins-{by}", hide_names=bool(hide))


# ---- next steps --------------------------------------------------------------------------------------


def _next_steps(shown: Shown) -> None:
    """Offer what comes after an answer: find a size under the same conditions, write it down."""
    is_kept, usable = memo_options.is_kept(shown.spec.scenario, shown.experiment_id), is_usable(shown)
    if st.button("Find the cheapest size", key="whatif-size",
                 help="The smallest cluster that meets a target, under the same conditions and policy"):  # fmt: skip
        with parts.mistakes_shown():
            chosen = shown.spec.changed
            size_state.open_for(session.scenario(), shown.spec.condition, chosen.policy, chosen.params)
    why = "Keeps this as an option and opens the memo" if shown.answer.moved else NO_OPTION
    if writing.button("Add to memo", key="whatif-report", disabled=not usable, help=why,
                 type="primary" if is_kept else "secondary"):  # fmt: skip
        memo_options.keep(shown.spec.scenario, shown.experiment_id)
        memo_options.want(shown.experiment_id)
        session.go("Memo")


def keep_button(shown: Shown) -> None:
    """Offer to keep an answer as an option, or to take it off again."""
    scenario_hash = shown.spec.scenario
    if memo_options.is_kept(scenario_hash, shown.experiment_id):
        writing.button("Kept as option ✕", key="whatif-unkeep", on_click=memo_options.drop,
                  args=(scenario_hash, shown.experiment_id), help="Remove it from the options")  # fmt: skip
    elif shown.answer.moved:
        writing.button("Keep as option", key="whatif-keep", on_click=memo_options.keep, disabled=not is_usable(shown),
                  type="primary", args=(scenario_hash, shown.experiment_id),
                  help="Saved with this scenario, for later and for the memo")  # fmt: skip


def is_usable(shown: Shown) -> bool:
    """Whether an answer can be an option: something is chosen, in all futures, all runs done, their books clean."""
    answer = shown.answer
    return bool(answer.moved) and (answer.exact or answer.draws > 1) and not answer.errors and not answer.audit


def kept_list(scenario_hash: str) -> None:
    """List the what-ifs that were kept, each with its sentence and a way back to it."""
    found = [(one, answer) for one in memo_options.kept_ids(scenario_hash) if (answer := _answer(one)) is not None]
    if not found:
        return
    with st.popover(amount(len(found), "option"), key="whatif-kept", help="Options kept for this scenario"):
        for experiment_id, answer in found:
            st.markdown(safe(sentence(answer, comparison_of(answer)), 400))
            with st.container(horizontal=True, gap="small"):
                st.button("Open", key=f"whatif-open-{experiment_id}", on_click=_open, args=(experiment_id,))
                writing.button("Remove", key=f"whatif-forget-{experiment_id}", on_click=memo_options.drop,
                          args=(scenario_hash, experiment_id), type="tertiary")  # fmt: skip


def _answer(experiment_id: str) -> WhatIf | None:
    """Return a kept answer; None if it is gone, or is of another page."""
    try:
        return WHAT_IFS.stored(experiment_id).answer
    except DlschedError:
        return None


def _open(experiment_id: str) -> None:
    state.open_spec(WHAT_IFS.stored(experiment_id).spec)


HOW_TEXT = """
All sides face the same futures: the same jobs arrive, with the same true run times and the same failures. Conditions
(more jobs, longer run times, prices, failures) apply to every side except today; beyond that, only the options differ.
Every run is audited.

**Recorded trace.** The recorded month comes first and is an exact replay. Other months are reshuffles of its whole
days, drawn with replacement. The range covers 8 of 10 of them. A change is called better or worse if nearly all months
agree (38 of 40) and the recorded month agrees too, and likely better or worse from 32 of 40; the count is shown beside
it. A trace of fewer than 5 days supports no statement about other months.

**Generated jobs.** Each future has new jobs. Values are means with 95% intervals. A change is called better or worse if
the 95% interval of its mean (for waits, of the ratio) excludes no change.

**Recorded log of Slurm.** Where the baseline is Slurm, the futures are 20 replays of the log itself, the same for all
sides, with run times up to a second longer and passes a little later: which job meets which pass is chance. Values are
means of the replays, ranges hold 8 of 10 of them, and a change is called better or worse by the 95% interval of its
mean. Nothing is said about other months; choose other futures in the scenario bar for that.

If nothing varies, the numbers are exact for this trace and are not a forecast.

**Charts** of wait, turnaround time and queue show the first future. Costs are per month of 30.4 days for owned nodes,
and per completed job where the policy rents machines.
"""
