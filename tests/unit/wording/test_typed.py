"""What people type, and that what the app shows is read back."""

from __future__ import annotations

import math

import pytest
from hypothesis import assume, example, given
from hypothesis import strategies as st

from dlsched.wording.formats import MINUS, SHOW, Kind, number, short, show
from dlsched.wording.typed import EXAMPLES, TIMES, NotRead, read, text_of


@pytest.mark.parametrize(
    ("kind", "text", "value"),
    [
        ("duration", "1 d 12 h", 129_600),
        ("duration", "90 min", 5_400),
        ("duration", "2h", 7_200),
        ("duration", "36:00:00", 129_600),
        ("duration", "1-12:00:30", 129_630),
        ("duration", " 45  s ", 45),
        ("duration", "1 day, 2 hours", 93_600),
        ("duration", "1.5 h", 5_400),
        ("duration", "1,240 h", 4_464_000),
        ("duration", "forever", math.inf),
        ("duration", f"{MINUS}41 min", -2_460),
        ("duration", "3 h 12 min (11,523.25 s)", 11_523.25),
        ("hours", "100 h", 360_000),
        ("usd", "$2.10", 2.1),
        ("usd", "2,000", 2_000),
        ("usd", "2000 USD", 2_000),
        ("usd", f"{MINUS}$7,000", -7_000),
        ("usd", "$1.5M", 1_500_000),
        ("usd_per_month", "$31,900/month", 31_900),
        ("usd_per_gpu_h", "$2.48/GPU-h", 2.48),
        ("share", "15%", 0.15),
        ("share", "15 %", 0.15),
        ("factor", "2.4x", 2.4),
        ("factor", "2.4", 2.4),
        ("count", "9,999", 9_999),
        ("number", "12.3 k", 12_300),
        ("number", "1e3", 1_000),
    ],
)
def test_numbers_are_read_as_people_type_them(kind: Kind, text: str, value: float) -> None:
    assert read(kind, text) == value


@pytest.mark.parametrize(
    ("kind", "text", "unit", "value"),
    [
        ("duration", "90", "min", 5_400),
        ("duration", "90", "s", 90),
        ("duration", "2 h", "min", 7_200),
        ("share", "15", "%", 0.15),
        ("share", "0.15", "1", 0.15),
        ("share", "15%", "1", 0.15),
    ],
)
def test_a_plain_number_counts_in_the_unit_of_its_field(kind: Kind, text: str, unit: str, value: float) -> None:
    assert read(kind, text, unit) == value


@pytest.mark.parametrize(
    ("kind", "text"),
    [
        ("duration", "60"),
        ("duration", ""),
        ("duration", "1:30"),
        ("duration", "36:61:00"),
        ("duration", "12 h 1 d"),
        ("duration", "1 h 1 h"),
        ("duration", "1 fortnight"),
        ("duration", "under 1 ms"),
        ("share", "0.15"),
        ("share", "<0.01%"),
        ("share", "5 min"),
        ("usd", "$$5"),
        ("usd", "$5/GPU-h"),
        ("usd", "1,5"),
        ("usd", "20,00"),
        ("count", "12 jobs"),
        ("number", "few"),
        ("number", "nan"),
    ],
)
def test_what_is_no_number_of_its_kind_is_refused(kind: Kind, text: str) -> None:
    with pytest.raises(NotRead, match=r"got|needs"):
        read(kind, text)


@pytest.mark.parametrize("kind", EXAMPLES)
def test_the_examples_are_read(kind: Kind) -> None:
    for one in EXAMPLES[kind].replace(" or ", ", ").split(", "):
        assert read(kind, one) > 0


# ---- what is shown is read back within what was printed ----------------------------------------------


@given(st.floats(0.0006, 1e9) | st.just(0.0), st.booleans(), st.booleans())
@example(59.6, False, False)
@example(10.5, False, True)
@example(86_369.9, True, True)
def test_a_duration_is_read_back_within_half_its_smaller_unit(seconds: float, negative: bool, exact: bool) -> None:
    shown = show("duration", -seconds if negative else seconds, exact=exact)
    back = read("duration", shown)
    if exact:
        tolerance = 1e-9 * seconds if seconds >= 60 else 0.06
    else:
        tolerance = TIMES[shown.split()[-1]] / 2 + 1e-9
    assert abs(back) == pytest.approx(seconds, abs=max(tolerance, 1e-9), rel=0.0 if seconds >= 10 else 0.051)
    assert back <= 0 if negative else back >= 0


@given(st.sampled_from(["usd", "usd_per_month", "usd_per_gpu_h"]), st.floats(-1e9, 1e9))
@example("usd", -99.996)
def test_money_is_read_back_to_the_cent_or_within_half_of_its_third_figure(kind: Kind, usd: float) -> None:
    assert read(kind, show(kind, usd)) == pytest.approx(usd, abs=0.00501, rel=0.00501)


@given(st.floats(-10, 10))
@example(0.99949)
def test_a_share_is_read_back_within_half_of_its_last_digit(fraction: float) -> None:
    assume(not 0 < fraction < 1e-4)  # "<0.01%" is no number
    # Three figures from 1% on, two below; one in a hundred thousand at least.
    assert read("share", show("share", fraction)) == pytest.approx(fraction, abs=1.01e-5, rel=0.00501)


@given(st.integers(-99_999, 99_999))
def test_counts_keep_every_digit(value: int) -> None:
    assert read("count", show("count", value)) == read("number", number(value)) == value


@given(st.floats(1e-5, 1e12))
def test_numbers_factors_and_ticks_are_read_back_within_half_of_their_third_figure(value: float) -> None:
    assert read("number", number(value)) == pytest.approx(value, rel=0.0051)
    assert read("number", short(value)) == pytest.approx(value, rel=0.0051)
    assert read("factor", show("factor", value)) == pytest.approx(value, rel=0.053)


@given(st.sampled_from(sorted(SHOW)), st.floats(-1e12, 1e12) | st.integers(0, 10**9).map(float))
@example("duration", 5_400.0)
@example("share", 0.07)
@example("usd", 0.1)
def test_a_field_holds_a_text_that_is_read_as_the_same_number(kind: Kind, value: float) -> None:
    back = read(kind, text_of(kind, value))
    assert back == pytest.approx(value, rel=1e-14, abs=1e-300)
    assert text_of(kind, back) == text_of(kind, value)
