"""What the page Load test says: sentence, cards, chips, banners, from chosen numbers."""

from __future__ import annotations

import pytest

from dlsched.policies.registry import spoken
from dlsched.studies.steady import ChunkTried, SteadyAnswer, SteadyPolicy, SteadySpec, words
from dlsched.workload.studies.hell_knee import StreamSpec
from tests.support.steady_answers import HELL, KNEE, SRPT, answer, point, three_policies
from tests.support.wording import says

ANSWER = three_policies()


def test_the_sentence_speaks_of_the_highest_load_where_two_policies_have_a_mean() -> None:
    assert words.focus_load(ANSWER) == 0.7
    text = words.steady_sentence(ANSWER)
    assert says(text, "load 0.7", "malleable HELL", "3 d 8 h (± 10%)", "1 d 16 h (± 15 h) less than malleable KNEE")
    assert says(text, "queues grow without end", "SRPT on all nodes from load 0.5 on", "all others at load 0.9")


def test_what_is_about_the_same_is_not_called_less() -> None:
    alike = answer(
        [point(HELL, 0.5, 60.0), point(KNEE, 0.5, 61.0), point(SRPT, 0.5, 90.0)],
        {(KNEE, HELL, 0.5): (1.0, 2.0), (SRPT, HELL, 0.5): (30.0, 3.0), (SRPT, KNEE, 0.5): (29.0, 3.0)},
    )
    text = words.steady_sentence(alike)
    assert says(text, "2 d 12 h (± 1.7%)", "1 d 6 h (± 3 h) less than SRPT", "about the same as malleable KNEE")


def test_a_shorter_mean_may_still_be_longer_job_by_job() -> None:
    # Other jobs are measured under the two, so that the difference over the common ones may point the other way.
    odd = answer([point(HELL, 0.5, 60.0), point(KNEE, 0.5, 61.0)], {(HELL, KNEE, 0.5): (3.0, 1.0)})
    assert "3 h (± 1 h) more than malleable KNEE" in words.steady_sentence(odd)


def test_an_interval_that_cannot_be_relied_on_is_at_least_so_wide() -> None:
    doubtful = answer([point(HELL, 0.5, 60.0, 3.0, settled=False)])
    assert says(words.steady_sentence(doubtful), "malleable HELL", "2 d 12 h (at least ± 5%)")
    assert words.state_words(doubtful.points[0]) == ("malleable HELL: cap reached, at least ± 5%", "orange")


def test_where_every_queue_grows_there_is_no_mean_to_tell() -> None:
    hopeless = answer([point(SRPT, 0.3, None), point(SRPT, 0.5, None)])
    assert says(words.steady_sentence(hopeless), "Every queue grows", "0.3 and 0.5")
    assert words.steady_cards(hopeless)[0][1] == "20 jobs"
    assert words.focus_load(hopeless) == 0.5


GROWTH = {
    "": [point(HELL, 0.3, 5.0), point(HELL, 0.5, 6.0)],
    "queues grow without end: malleable HELL at load 0.5": [point(HELL, 0.3, 5.0), point(HELL, 0.5, None)],
    "queues grow without end: malleable HELL at loads 0.3 and 0.7": [
        point(HELL, 0.3, None), point(HELL, 0.5, 6.0), point(HELL, 0.7, None)
    ],
    "every queue grows without end from load 0.5 on": [
        *(point(label, 0.3, 5.0) for label in (HELL, KNEE)),
        *(point(label, load, None) for label in (HELL, KNEE) for load in (0.5, 0.7)),
    ],
    "queues grow without end: SRPT on all nodes at load 0.5": [point(HELL, 0.5, 5.0), point(SRPT, 0.5, None)],
}  # fmt: skip


@pytest.mark.parametrize("said", GROWTH)
def test_who_grows_where(said: str) -> None:
    assert words.growth_words(answer(GROWTH[said])) == said


def test_cards_agree_with_the_sentence() -> None:
    found = {label: value for label, value, _ in words.steady_cards(ANSWER)}
    assert found == {
        "Mean turnaround time": "3 d 8 h",
        "p95 turnaround time": "10 d",
        "Difference to next policy": "\N{MINUS SIGN}1 d 16 h",
        "Stable up to": "load 0.7",
    }
    assert len(words.steady_cards(answer([point(HELL, 0.5, 60.0)]))) == 3


def test_states_are_told_in_words_and_colours() -> None:
    assert [words.state_words(one) for one in ANSWER.points[1:4]] == [
        ("malleable HELL: done, ± 1.7%", "blue"),
        ("malleable HELL: cap reached, ± 10%", "orange"),
        ("malleable HELL: queue grows", "gray"),
    ]


def test_a_wide_interval_at_the_cap_may_hide_a_growing_queue() -> None:
    wide, narrow = point(HELL, 0.9, 200.0, 60.0), point(HELL, 0.9, 200.0, 30.0)
    assert wide.may_grow
    assert wide.words.endswith("; it may grow without end")
    assert words.state_words(wide) == ("malleable HELL: cap reached, ± 30%, may grow without end", "orange")
    assert not narrow.may_grow


def test_audit_findings_and_other_versions_stand_above_the_answer() -> None:
    assert words.steady_cautions(ANSWER, stale=False) == []
    bad = answer([point(KNEE, 0.5, 5.0, audit=["node 3 is used twice"])])
    red, old = words.steady_cautions(bad, stale=True)
    assert (red.level, old.level) == ("red", "info")
    assert "malleable KNEE at load 0.5: node 3 is used twice" in red.text


def test_the_question_in_one_line() -> None:
    assert words.spec_words(SteadySpec()) == "four example networks on 100 nodes, load 0.1 to 0.9, 20 points"
    large = SteadySpec(stream=StreamSpec(networks="large", nodes=20), loads=(0.5,))
    assert words.spec_words(large) == "two large example networks on 20 nodes, load 0.5, 4 points"


def test_assumptions_name_the_chunks_that_were_found() -> None:
    def chips(of: SteadyAnswer) -> str:
        return " ".join(f"{chip.label}: {chip.why}" for chip in words.steady_premises(of))

    assert "Poisson arrivals" in chips(ANSWER)
    assert "chunk" not in chips(ANSWER)
    tried = (ChunkTried(chunk=5, response_h=9.0, jobs=10),)
    jsq = point(HELL, 0.5, 9.0).model_copy(update={"chunks_tried": tried, "params": {"chunk": 5, "load": 0.5}})
    assert "5 at load 0.5" in chips(answer([jsq]))
    assert "moldable KNEE knows the load" in chips(answer([jsq]))


def test_policy_labels_can_be_listed() -> None:
    assert spoken(SteadyPolicy(key="srpt-all-nodes").name) == "SRPT on all nodes"
