import pandas as pd
import streamlit as st

from dlsched.domain.plan import REASON_TEXT
from dlsched.metrics.kpi import KPIS
from dlsched.ui.frame import page
from dlsched.ui.frame.glossary import terms
from dlsched.ui.frame.parts import sentence

page.begin("Glossary", bar=False)
sentence(f"{len(terms())} words and {len(KPIS)} numbers, as this tool uses them.", ())
wanted = st.text_input(
    "Find a word", key="glossary-find", placeholder="backfill", help="Searches words and meanings"
).lower()


def found(*texts: str) -> bool:
    return not wanted or any(wanted in text.lower() for text in texts)


words = pd.DataFrame([term for term in terms() if found(*term)], columns=["word", "in papers", "meaning"])
numbers = pd.DataFrame(
    [(kpi.label, kpi.better, kpi.tooltip, kpi.key) for kpi in KPIS.values() if found(kpi.label, kpi.tooltip, kpi.key)],
    columns=["number", "better", "how it is counted", "key"],
)
reasons = pd.DataFrame([(code.name, text) for code, text in REASON_TEXT.items()], columns=["code", "why a job waits"])
for title, frame in (("Words", words), ("Numbers", numbers), ("Why a job waits", reasons)):
    st.subheader(title, anchor=False)
    if frame.empty:
        st.markdown(f"Nothing here matches “{wanted}”.".replace("$", "\\$"))
    else:
        st.table(frame, border="horizontal")
