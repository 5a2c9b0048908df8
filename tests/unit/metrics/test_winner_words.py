"""Winners and losers in words: who gains, how sure it is, who is left out; names that are not to be named."""

from __future__ import annotations

import numpy as np
import pandas as pd
import pytest

from dlsched.metrics.winner_words import Tally, jobs_sentence, notes, rows_of, sentence, shown_rows, tally, with_letters
from dlsched.metrics.winners import Tables, Winners, winners
from dlsched.wording.formats import MINUS

HOUR_S = 3600.0
NAMES = ("FIFO", "SJF")


def base() -> pd.DataFrame:
    """Six jobs each of ann, bob and cat that wait two hours; one each of dan and eve."""
    users = [user for user in ("ann", "bob", "cat") for _ in range(6)] + ["dan", "eve"]
    return pd.DataFrame({"job_id": np.arange(20).astype(str), "user": users, "wait_s": 2 * HOUR_S})


def moved(ann_s: float, bob_s: float, cat_s: float) -> Tables:
    change_s = np.repeat([ann_s, bob_s, cat_s, 0.0], [6, 6, 6, 2])
    return base(), base().assign(wait_s=2 * HOUR_S + change_s)


def one_draw(*, exact: bool = True) -> Winners:
    return winners([moved(-HOUR_S, 1800, 60)], "user", names=NAMES, exact=exact)


def test_gains_and_losses_are_counted_over_those_who_stand_alone() -> None:
    assert tally(one_draw()) == tally(one_draw(exact=False)) == Tally(gain=1, lose=1, unsure=0, groups=3)
    assert sentence(one_draw()) == (
        "1 user gains and 1 loses more than 10 min of mean wait with SJF in place of FIFO; 1 changes less "
        "(exact for this trace, not a forecast)."
    )
    assert "(rough preview, 1 simulation)" in sentence(one_draw(exact=False))


def test_nobody_is_said_in_words_and_jobs_that_fare_unlike_their_group_are_told() -> None:
    before, after = moved(0, 0, 0)
    after.loc[:1, "wait_s"] += [-3 * HOUR_S / 2, HOUR_S]  # two of ann's jobs; her mean moves by 5 min
    answer = winners([(before, after)], "user", names=NAMES, exact=True)
    assert sentence(answer).startswith("No user gains and none loses more than 10 min of mean wait")
    assert jobs_sentence(answer) == "Of the 20 jobs compared 5% are better off and 5% worse off by more than 10 min."


def test_what_draws_do_not_tell_from_nothing_is_no_gain() -> None:
    answer = winners([moved(-HOUR_S, 3600, 60), moved(-HOUR_S - 60, -1000, 70)], "user", names=NAMES)
    assert tally(answer) == Tally(gain=1, lose=0, unsure=1, groups=3)
    assert sentence(answer).endswith(
        "; 1 changes less and 1 is not clear (95% interval over 2 simulated versions of the workload)."
    )
    assert shown_rows(answer)[-1]["Change"].endswith("not clear")
    assert any("95% interval for its group alone" in note for note in notes(answer))
    many = answer.model_copy(update={"groups": answer.groups[:1] * 10})
    assert notes(many)[0].endswith("about 1 in 20 of the 10 groups may be off by chance.")


def test_rows_have_counts_means_and_shares_sorted_by_gain_below_the_whole() -> None:
    rows = shown_rows(one_draw())
    assert [row["User"] for row in rows] == ["all jobs", "ann", "2 small groups", "cat", "bob"]
    assert rows[1] == {
        "User": "ann", "Jobs compared": "6", "Left out": "0", "Mean, baseline": "2 h", "Mean, other run": "1 h",
        "Change": f"{MINUS}1 h, better", "Jobs better by > 10 min": "100%", "Jobs worse by > 10 min": "0%",
        "Middle half of jobs": f"{MINUS}1 h",
    }  # fmt: skip
    assert rows[3]["Jobs worse by > 10 min"] == "0%"  # cat waits 1 min longer
    assert [row["change"] for row in rows_of(one_draw())] == [
        -522,
        -3600,
        0,
        60,
        1800,
    ]  # all: 6 * (-3600 + 1800 + 60) / 20


def test_jobs_left_out_are_told_with_where_they_started() -> None:
    before, after = moved(-HOUR_S, 1800, 60)
    after.loc[[0, 1], "wait_s"] = np.nan
    before.loc[6, "wait_s"] = np.nan
    said = " ".join(notes(winners([(before, after)], "user", names=NAMES, exact=True)))
    assert "Means are over the 17 jobs started under both; 2 jobs started only under FIFO and 1 job started" in said
    assert "Small groups: dan and eve." in said


def test_nobody_compared_is_said() -> None:
    gone = base().assign(wait_s=np.nan)
    assert sentence(winners([(base(), gone)], "user", names=NAMES)) == "No job started under both FIFO and SJF."


def test_names_become_letters_but_classes_stay() -> None:
    hidden = with_letters(one_draw())
    assert [group.name for group in hidden.groups] == ["A", "B", "C", "2 small groups"]
    assert hidden.folded == ()
    assert not any(name in str(hidden) for name in ("ann", "bob", "cat", "dan", "eve"))
    sizes = winners([(base().assign(gpus=2.0), base())], "size_class")
    assert with_letters(sizes) == sizes


@pytest.mark.parametrize(
    ("quantity", "noticed", "says"),
    [
        ("slowdown", None, "more than 0.5x of mean slowdown"),
        ("utility", None, "at all in mean utility"),
        ("wait_s", 60.0, "more than 1 min of mean wait"),
    ],
)
def test_the_amount_that_counts_is_stated(quantity: str, noticed: float | None, says: str) -> None:
    table = base().assign(slowdown=2.0, utility=1.0)
    assert says in sentence(winners([(table, table)], "user", quantity, noticed=noticed))
