"""Speed curves as the part Throughput tells them: widths by hand, words for every case, tables that agree."""

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st

from dlsched.domain.errors import InputError
from dlsched.speed.measurements import Measurements
from dlsched.speed.network_fit import fit_all
from dlsched.speed.queueing import NETWORKS, StepTimes, node_rates, throughput
from dlsched.studies.speed_models.throughput import (
    MEASURED,
    Layout,
    SpeedCurves,
    fit_cautions,
    fit_table,
    last_worth,
    measured_curve,
    station_table,
    throughput_sentence,
    width_table,
)

PAPER = StepTimes(worker_s=0.029, uplink_s=0.072, server_s=0.018, downlink_s=0.072)


def curves(times=PAPER, nodes=16, servers=1, *, shared=False, **more):
    return SpeedCurves(dict.fromkeys(NETWORKS, times), Layout(nodes, servers, shared), **more)


@pytest.mark.parametrize(
    ("layout", "workers", "servers"),
    [
        (Layout(5), [1, 1, 2, 3, 4], [1, 1, 1, 1, 1]),
        (Layout(6, 3), [1, 1, 1, 1, 2, 3], [1, 1, 2, 3, 3, 3]),
        (Layout(4, 2, shared_server=True), [1, 2, 3, 4], [1, 2, 2, 2]),
        (Layout(1), [1], [1]),
    ],
)
def test_workers_and_servers_on_nodes_by_hand(layout, workers, servers):
    assert layout.num_workers.tolist() == workers
    assert layout.num_servers.tolist() == servers


@given(
    st.integers(1, 30), st.integers(1, 9), st.booleans(), st.sampled_from(NETWORKS),
    st.tuples(*[st.floats(0.001, 1.0)] * 4),
)  # fmt: skip
def test_the_layout_is_that_of_the_speed_curve(nodes, servers, shared, network, seconds):
    times = StepTimes(**dict(zip(["worker_s", "uplink_s", "server_s", "downlink_s"], seconds, strict=True)))
    layout = Layout(nodes, servers, shared)
    told = layout.by_node(lambda workers, used: throughput(times, workers, network, used))
    assert told == pytest.approx(node_rates(times, nodes, network, servers, shared_server=shared))


def test_no_nodes_are_refused():
    with pytest.raises(InputError, match="number of nodes"):
        Layout(0)


def test_the_printed_example_by_hand():
    # Hybrid X of METHODS, 5.236 9.098 11.377 12.066 12.355 12.534 12.667 12.773 for 1..8 workers on 2..9 nodes.
    # w / X^2 is least at 4 nodes: 4 / 11.377^2 = 0.0309 (3: 0.0362, 5: 0.0343). From 7 to 8 workers the time falls by
    # 1 - 12.667 / 12.773 = 0.8%, from 6 to 7 by 1.05%.
    found = curves()
    assert (found.hell, found.knee) == (4, 8)
    assert found.speed_up(4) == pytest.approx(11.377 / 5.236, abs=1e-3)
    assert found.limit == pytest.approx(191 / 72)
    assert found.bottleneck == "links"
    assert throughput_sentence(found) == (
        "Beyond 4 nodes (3 workers) each adds under 10%; the links are the limit (2.7x). "
        "KNEE stops at 8 nodes (7 workers), HELL stops at 4 nodes (3 workers)."
    )


def test_alpha_moves_the_knee_and_not_the_hell_point():
    # the time falls by 20.03% from 9.098 to 11.377, by 5.7% from there to 12.066
    assert [curves(alpha=alpha).knee for alpha in (0.001, 0.01, 0.06, 0.21)] == [16, 8, 4, 3]
    assert {curves(alpha=alpha).hell for alpha in (0.001, 0.21)} == {4}


def test_servers_raise_the_limit():
    assert curves(servers=2).limit == pytest.approx(2 * 191 / 72)
    assert curves(shared=True).knee == 7


def test_words_of_every_limit():
    free = StepTimes(worker_s=1, uplink_s=0, server_s=0, downlink_s=0)
    told = throughput_sentence(curves(free, 8))
    assert told == (
        "Each further node adds 10% or more up to 8 nodes (7 workers), the last one looked at; nothing limits more "
        "workers. KNEE and HELL take all 8 nodes (7 workers)."
    )
    assert np.isinf(curves(free).limit)
    no_worker = StepTimes(worker_s=0, uplink_s=0, server_s=1, downlink_s=0)
    assert throughput_sentence(curves(no_worker)) == (
        "No further node adds 10%; the server is the limit (1.0x). KNEE and HELL stop at 1 node (1 worker)."
    )
    up = StepTimes(worker_s=1, uplink_s=0.5, server_s=0, downlink_s=0.1)
    assert "the uplink is the limit (3.2x)" in throughput_sentence(curves(up))
    assert "8 nodes, " in throughput_sentence(curves(free, 8, shared=True))


def test_last_width_worth_its_nodes_by_hand():
    assert last_worth(np.array([1.0, 1.0, 2.0, 2.1])) == 3  # two nodes double the speed, the next adds 5%
    assert last_worth(np.array([1.0, 1.05, 1.05, 2.0])) == 4  # a jump after a little step counts
    assert last_worth(np.array([1.0, 1.0, 1.15])) == 1  # 15% for two nodes is 7.2% for each
    assert last_worth(np.array([1.0, 1.05, 1.2])) == 3  # 14% against the width before
    assert last_worth(np.array([1.0, 0.9])) == 1
    assert last_worth(np.array([2.0])) == 1
    assert last_worth(np.array([1.0, 1.1])) == 2


def test_a_measured_curve_has_straight_lines_and_ends_where_measuring_did():
    measured = Measurements(np.array([2, 4]), np.array([6.0, 10.0]))
    assert measured_curve(measured, Layout(8)).tolist() == [3, 3, 6, 8, 10]
    assert measured_curve(measured, Layout(8, shared_server=True)).tolist() == [3, 6, 8, 10]
    assert measured_curve(measured, Layout(3)).tolist() == [3, 3, 6]


def test_a_measured_curve_is_told_without_a_limit():
    measured = Measurements(np.array([1, 2, 3]), np.array([2.0, 3.0, 3.1]))
    found = curves(nodes=9, chosen=MEASURED, measured=measured)
    assert found.curve.tolist() == [2, 2, 3, 3.1]
    assert found.one_node == 2.0
    assert throughput_sentence(found) == (
        "Beyond 3 nodes (2 workers) each adds under 10%. "
        "KNEE takes all 4 nodes (3 workers), HELL stops at 1 node (1 worker)."
    )
    assert found.hell == 1  # w / X^2: 1/4, then 3/9 and 4/9.6
    assert found.bottleneck == "links or server"
    table = width_table(found)
    assert table["speed-up, measured"].tolist()[:4] == [1, 1, 1.5, 1.55]
    assert table["speed-up, measured"][4:].isna().all()


def test_measured_without_measurements_is_refused():
    with pytest.raises(InputError, match="nothing was measured"):
        curves(chosen=MEASURED)


def test_the_table_has_rates_speed_up_efficiency_and_examples():
    table = width_table(curves(nodes=5), batch=10)
    assert table["hybrid (mini-batches/s)"].tolist() == pytest.approx([5.236, 5.236, 9.098, 11.377, 12.066], abs=1e-3)
    assert table["FCFS (mini-batches/s)"].iloc[-1] == pytest.approx(12.922, abs=1e-3)
    assert table["speed-up, hybrid"].iloc[-1] == pytest.approx(12.066 / 5.236, abs=1e-3)
    assert table["efficiency, hybrid (%)"].iloc[-1] == pytest.approx(100 * 12.066 / 5.236 / 5, abs=0.1)
    assert table["examples/s, hybrid"].iloc[-1] == pytest.approx(120.66, abs=0.01)


def test_errors_stand_beside_the_measured_widths_only():
    measured = Measurements(np.array([1, 3]), np.array([5.0, 10.0]))
    table = width_table(curves(nodes=5, measured=measured))
    assert table["measured (mini-batches/s)"].tolist() == pytest.approx([5, 5, np.nan, 10, np.nan], nan_ok=True)
    assert table["error, hybrid (%)"][3] == pytest.approx(13.77, abs=0.01)  # 11.377 against 10
    assert table["speed-up, hybrid"][3] == pytest.approx(11.377 / 5.0, abs=1e-3)  # against one measured worker


def test_station_shares_sum_to_all():
    table = station_table(curves(servers=2))
    assert table.drop(columns="nodes").sum(axis=1).tolist() == pytest.approx([100.0] * 16)
    assert table["worker"].iloc[0] == pytest.approx(100 * 29 / 191)


def test_guards_of_a_bad_fit_too_few_points_and_falling_measurements():
    good = fit_all(Measurements(np.arange(1, 11), throughput(PAPER, 10, "hybrid")))
    assert fit_cautions(good) == []
    bad = fit_all(Measurements(np.array([1, 2, 3, 4]), np.array([1.0, 9.0, 1.0, 9.0]), synchronous=True))
    texts = [guard.text for guard in fit_cautions(bad)]
    assert texts[0].startswith("An asynchronous model misses these synchronous measurements by ")
    assert texts[0].endswith("use the measured curve.")
    assert any("falls from 9 mini-batches/s at 2 workers" in text for text in texts)
    few = fit_all(Measurements(np.array([1, 2]), np.array([1.0, 1.8])))
    assert [guard.text[:40] for guard in fit_cautions(few)] == ["2 numbers of workers are too few to judg"]


def test_the_fit_table_has_times_and_errors():
    fits = fit_all(Measurements(np.arange(1, 11), throughput(PAPER, 10, "hybrid")))
    rows = {row["network"]: row for row in fit_table(fits).to_dict("records")}
    assert set(rows) == {"exact", "FCFS", "hybrid"}
    assert rows["hybrid"]["error, max (%)"] < 1e-3
    assert rows["hybrid"]["uplink (ms)"] == pytest.approx(72, rel=0.02)
    assert rows["exact"]["error, mean (%)"] > rows["hybrid"]["error, mean (%)"]
