"""What the story of a job says of machines booked for later."""

from __future__ import annotations

from dlsched.domain.cluster import Absence
from dlsched.domain.plan import REASON_TEXT, WaitReason
from dlsched.metrics.job_timeline import timeline_of
from dlsched.studies.simulation import simulate
from tests.support.booked_jobs import booked, cluster, in_slots


def test_the_story_of_a_job_says_that_it_is_booked_for_later():
    done = simulate(
        in_slots(
            booked((0, 4, 2), (30, 2, 2)),
            cluster(2, absences=(Absence(node=0, start_s=60.0, end_s=120.0, cause="maintenance"),)),
        ),
        "pd-ors",
    )
    tables = (done.jobs, done.segments, done.waits)
    booked_for_later = REASON_TEXT[WaitReason.BOOKED]
    assert timeline_of("b", *tables, done.log.end_s).sentence.startswith(
        f"waited 2 min 30 s because: {booked_for_later}; "
    )
    paused = [span for span in timeline_of("a", *tables, done.log.end_s).spans if span.kind == "paused"]
    assert [(span.from_s, span.to_s, span.reason) for span in paused] == [(60, 120, booked_for_later)]
