"""When the jobs of a queue start, with an interval for each, and how often such intervals held on the log."""

from dlsched.studies.study import Study
from dlsched.studies.when_starts.answer import Score, When
from dlsched.studies.when_starts.run import check, estimate_s, run_when
from dlsched.studies.when_starts.score import estimate_s as estimate_score_s
from dlsched.studies.when_starts.score import run_score
from dlsched.studies.when_starts.spec import ScoreSpec, WhenSpec
from dlsched.studies.when_starts.together import with_history
from dlsched.studies.when_starts.words import score_sentence, sentence

__all__ = ["SCORE_STUDY", "STUDY", "Score", "ScoreSpec", "When", "WhenSpec", "with_history"]

STUDY = Study(
    kind="when-starts",
    label="When jobs start",
    page="When jobs start",
    spec=WhenSpec,
    answer=When,
    check=check,
    run=run_when,
    estimate_s=estimate_s,
    words=sentence,
    sources=("studies/when_starts",),
    shared_out=True,
)
SCORE_STUDY = Study(
    kind="when-score",
    label="Score of start times",
    page="When jobs start",
    spec=ScoreSpec,
    answer=Score,
    check=check,
    run=run_score,
    estimate_s=estimate_score_s,
    words=score_sentence,
    sources=("studies/when_starts",),
    shared_out=True,
)
