"""Settings, changes and what varies between draws, each in one wording."""

from __future__ import annotations

import pytest

from dlsched.wording.settings import Value, factor_words, setting_words, value_words, vary_words


@pytest.mark.parametrize(
    ("factor", "words"),
    [
        (1.2, "+20%"),
        (0.8, "−20%"),
        (1.0, "unchanged"),
        (1.999, "+99.9%"),
        (2.0, "2x"),
        (2.5, "2.5x"),
        (1.0005, "+0.05%"),
    ],
)
def test_a_factor_is_a_change_in_percent_until_it_doubles(factor: float, words: str) -> None:
    assert factor_words(factor) == words


@pytest.mark.parametrize(
    ("key", "unit", "value", "words"),
    [
        ("nodes", "nodes", 1200.0, "1,200"),
        ("arrivals", "x", 1.2, "+20%"),
        ("restart_s", "s", 300.0, "5 min"),
        ("failures", "h", 100.0, "4 d 4 h"),
        ("rejection_usd", "$", 4.0, "$4.00"),
        ("run_time_spread", "", 0.5, "± 50%"),
        ("estimate_error", "", 0.3, "30%"),
        ("param.chunk", "", 12.0, "12"),
        ("vm_types", "", "a100+h100", "a100, h100"),
        ("failure_at", "", "3@48for6", "a failure of node 3 after 2 d for 6 h"),
        ("failure_at", "", "3@48for6+4@1for1", "2 failures"),
        ("horizon_s", "s", None, "none"),
    ],
)
def test_a_value_has_the_unit_of_its_setting(key: str, unit: str, value: Value | None, words: str) -> None:
    assert value_words(key, unit, value) == words


@pytest.mark.parametrize(
    ("key", "label", "unit", "value", "words"),
    [
        ("nodes", "Nodes", "nodes", 1.0, "1 node"),
        ("nodes.a100", "Nodes of a100", "nodes", 8.0, "8 nodes of a100"),
        ("arrivals", "Arrivals", "x", 2.5, "arrivals 2.5x"),
        ("run_time_spread", "Run times, spread", "", 0.3, "run times ± 30%"),
        ("days", "Days", "", 1.0, "days resampled"),
        ("failures", "Failures", "h", 480.0, "failures (each node every 20 d)"),
        ("vm_types", "VM types", "", "a100+h100", "only the VM types a100 and h100"),
        ("gpu_speed", "GPU speed", "x", 1.1, "GPU speed +10%"),
    ],
)
def test_a_setting_names_itself(key: str, label: str, unit: str, value: Value, words: str) -> None:
    assert setting_words(key, label, unit, value) == words


def test_what_varies_between_draws() -> None:
    assert vary_words({"days": 1, "run_time_spread": 0.3, "failures": 200.0}) == [
        "days resampled", "run times ± 30%", "failures (each node every 8 d 8 h)",
    ]  # fmt: skip
