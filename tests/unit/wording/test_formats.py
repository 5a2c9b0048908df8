"""How numbers are written, and that nothing is lost beyond the promised rounding."""

from __future__ import annotations

import math
import re

import pytest
from hypothesis import example, given
from hypothesis import strategies as st

from dlsched.metrics.kpi import KPIS, kpis_among
from dlsched.wording import formats
from dlsched.wording.formats import (
    MINUS,
    MISSING,
    SHOW,
    as_cell,
    duration,
    money,
    number,
    share,
    short,
    show_delta,
    show_interval,
)

UNITS = {"ms": 0.001, "s": 1.0, "min": 60.0, "h": 3600.0, "d": 86_400.0}


@pytest.mark.parametrize(
    ("seconds", "text"),
    [
        (0, "0 s"),
        (0.0001, "under 1 ms"),
        (0.042, "42 ms"),
        (0.9999, "1 s"),
        (1.44, "1.4 s"),
        (9.96, "10 s"),
        (42, "42 s"),
        (59.6, "1 min"),
        (252, "4 min 12 s"),
        (599.7, "10 min"),
        (720, "12 min"),
        (3599, "1 h"),
        (11_520, "3 h 12 min"),
        (86_390, "1 d"),
        (446_400, "5 d 4 h"),
        (35_596_800, "412 d"),
        (-2460, f"{MINUS}41 min"),
        (math.inf, "forever"),
    ],
)
def test_duration(seconds, text):
    assert duration(seconds) == text


def test_exact_duration_adds_the_seconds():
    assert duration(11_523.25, exact=True) == "3 h 12 min (11,523.25 s)"


@given(st.floats(0.001, 1e9))
@example(0.0025)
@example(59.5)
@example(599.5)
@example(86_369.9)
def test_duration_reads_back_within_its_smaller_unit(seconds):
    text = duration(seconds)
    parts = [part.split() for part in re.findall(r"[\d.,]+ [a-z]+", text)]
    assert 1 <= len(parts) <= 2
    back = sum(float(amount.replace(",", "")) * UNITS[unit] for amount, unit in parts)
    assert back == pytest.approx(seconds, rel=0.051)
    if len(parts) == 2:
        assert abs(back - seconds) <= UNITS[parts[1][1]] / 2 + 1e-6
        assert float(parts[1][0]) * UNITS[parts[1][1]] < UNITS[parts[0][1]]


@given(st.floats(-1e15, 1e15).filter(lambda value: value == 0 or abs(value) > 1e-9))
def test_three_figures_read_back_within_half_a_unit_of_the_third(value):
    text = number(value)
    assert "e" not in text
    assert "-" not in text
    assert float(text.replace(",", "").replace(MINUS, "-")) == pytest.approx(value, rel=5.1e-3)


@pytest.mark.parametrize(
    ("shown", "text"),
    [
        (money(42_317.25), "$42,300"),
        (money(42_317.25, exact=True), "$42,317.25"),
        (money(31), "$31.00"),
        (money(99.996), "$100"),
        (money(-7_000), f"{MINUS}$7,000"),
        (money(-0.001), "$0.00"),
        (formats.price(2.48), "$2.48/GPU-h"),
        (formats.price(0.3512, exact=True), "$0.3512/GPU-h"),
        (formats.money_per_month(31_912), "$31,900/month"),
        (formats.hours(4_464_000), "1,240 h"),
        (share(0.061), "6.1%"),
        (share(0.84), "84%"),
        (share(0.7841), "78.4%"),
        (share(1.18), "118%"),
        (share(0.0004), "0.04%"),
        (share(1), "100%"),
        (share(1.2e-7), "<0.01%"),
        (share(0), "0%"),
        (formats.factor(2.4), "2.4x"),
        (formats.factor(1230.4), "1,230x"),
        (formats.factor(0.042), "0.042x"),
        (formats.count(9383), "9,383"),
        (number(12.345), "12.3"),
        (number(0.0), "0"),
        (number(3.8e-21), "0"),
        (number(3.8e-21, exact=True), "0"),
        (number(1e11 / 3, exact=True), "33,333,333,333"),
        (number(9999), "9,999"),
        (number(99_999.0), "99,999"),
        (number(123_456), "123,000"),
        (short(950), "950"),
        (short(12_345), "12.3 k"),
        (short(4.1e6), "4.1 M"),
        (short(999_999), "1 M"),
        (formats.amount(1, "job"), "1 job"),
        (formats.amount(9383, "job"), "9,383 jobs"),
    ],
)
def test_numbers(shown, text):
    assert shown == text


@pytest.mark.parametrize("kind", SHOW)
@pytest.mark.parametrize("value", [None, math.nan])
def test_missing_is_a_dash_everywhere(kind, value):
    assert formats.show(kind, value) == formats.show(kind, value, exact=True) == MISSING
    assert show_delta(kind, value) == show_interval(kind, value, 1.0) == formats.show_size(kind, value) == MISSING
    assert short(value) == formats.points(value) == MISSING


@pytest.mark.parametrize(
    ("kind", "value", "half", "text"),
    [
        ("duration", -2460, 900, f"{MINUS}41 min ± 15 min"),
        ("share", -0.081, 0.019, f"{MINUS}8.1 pp ± 1.9 pp"),
        ("usd", -7_000, 120.4, f"{MINUS}$7,000 ± $120"),
        ("usd", 3.5, 0.021, "+$3.50 ± $0.02"),
        pytest.param("usd", 149_000, 127_882.3, "+$149,000 ± $128,000", id="no more figures than the value"),
        pytest.param("number", 12.3, 0.04, "+12.3 ± 0.04", id="an interval never rounds to nothing"),
        ("factor", 0.4, None, "+0.4x"),
        ("count", 0, 3.2, "0 ± 3"),
        ("usd_per_gpu_h", -0.12, 0.031, f"{MINUS}$0.12/GPU-h ± $0.03"),
    ],
)
def test_interval(kind, value, half, text):
    assert show_interval(kind, value, half, signed=True) == text


@given(st.sampled_from(sorted(SHOW)), st.floats(-1e9, 1e9))
def test_a_difference_has_a_true_minus_and_zero_has_no_sign(kind, value):
    text = show_delta(kind, value)
    assert "-" not in re.sub("(GPU|core|GiB)-h", "", text)
    signed = text[0] in f"+{MINUS}"
    assert signed == (text != formats.show_size(kind, 0.0))
    assert not signed or (text[0] == "+") == (value > 0)


# ---- the dictionary --------------------------------------------------------------------------------


def test_every_entry_can_be_read_without_a_manual():
    assert all(key == kpi.key for key, kpi in KPIS.items())
    assert len({kpi.label for kpi in KPIS.values()}) == len(KPIS)
    for kpi in KPIS.values():
        assert kpi.kind in SHOW
        assert kpi.tooltip.endswith((".", ")."))
        assert kpi.key not in kpi.tooltip


def test_sections_and_selection_keep_the_order_of_the_dictionary():
    assert [kpi.key for kpi in kpis_among(["completed", "wait_p95"])] == ["wait_p95", "completed"]
    assert KPIS["late_share"].show(0.061) == "6.1%"


@pytest.mark.parametrize("text", ["=1+1", "+1", "-1", "@SUM(A1)", "\t=1", "\r=1"], ids=repr)
def test_no_text_of_a_csv_is_run_as_a_formula(text: str) -> None:
    assert as_cell(text) == f"'{text}"


@pytest.mark.parametrize("value", ["a=1", "", "8 nodes", -1.5, 3, None], ids=repr)
def test_other_values_of_a_csv_stay_as_they_are(value: object) -> None:
    assert as_cell(value) is value
