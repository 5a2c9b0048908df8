"""The renting grid keeps what it ran, runs what is missing, and compares like with like."""

from __future__ import annotations

import json

import pytest

from benchmarks.renting_grid import CELLS, MARKET, OTHERS, fill, read, report, scenario_of


def test_runs_that_the_file_has_are_not_made_again(tmp_path):
    file = tmp_path / "grid.jsonl"
    fill(file, ["lone base"], [0], {})
    lines = read(file)
    assert [line["policy"] for line in lines] == [MARKET, *OTHERS]
    file.write_text("".join(json.dumps(line) + "\n" for line in lines[:-1]) + json.dumps(lines[-1])[:20])  # cut short
    fill(file, ["lone base"], [0], {})
    again = read(file)
    assert [line["usd"] for line in again] == [line["usd"] for line in lines]
    assert again[:-1] == lines[:-1]


def test_market_is_compared_with_the_cheapest_other_at_its_own_parameters():
    def line(policy: str, usd: float, **params: object) -> dict[str, object]:
        return {"cell": "a", "seed": 3, "policy": policy, "params": params, "usd": usd, "calls": 2, "cpu_s": 0.1}

    lines = [line(MARKET, 99.0), line(MARKET, 11.0, mixing=False), line(OTHERS[0], 20.0), line(OTHERS[1], 10.0)]
    told = report(lines, ["a"], [3], {"mixing": False})
    assert "1.1000 randomized-greedy" in told
    assert "cells dearer over their seeds: 1 by more than 0.5%, 1 by more than 1.0%, 1 by more than 5.0%" in told


@pytest.mark.parametrize("name", CELLS)
def test_every_cell_draws_jobs_that_can_be_in_time(name):
    scenario = scenario_of(CELLS[name], 0)
    jobs = scenario.workload
    assert len(jobs) == 40
    assert jobs.due_s is not None
    assert scenario_of(CELLS[name], 0).content_hash == scenario.content_hash
    assert (jobs.due_s >= jobs.submit_s + jobs.work - 0.01).all()
