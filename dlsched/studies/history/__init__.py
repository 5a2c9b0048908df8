"""What happened in a recorded log: who waited, who used what at what cost, what stood idle; nothing is simulated."""

from dlsched.studies.history.answer import History
from dlsched.studies.history.run import check, estimate_s, history_of
from dlsched.studies.history.spec import HistorySpec, spec_of
from dlsched.studies.history.words import sentence
from dlsched.studies.study import Study, one_piece

__all__ = ["STUDY", "History", "HistorySpec", "history_of", "spec_of"]

STUDY = Study(
    kind="history",
    label="What happened",
    page="Jobs",
    spec=HistorySpec,
    answer=History,
    check=check,
    run=one_piece(history_of),
    estimate_s=estimate_s,
    words=sentence,
    sources=("studies/history",),
)
