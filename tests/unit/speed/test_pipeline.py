"""Layer pipeline: by hand, against the same iteration played event by event, and what is refused."""

from __future__ import annotations

import time
from itertools import pairwise

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st

from dlsched.domain.errors import InputError
from dlsched.speed.pipeline import MOST_LAYERS, OVERLAPS, Layers, pipeline
from dlsched.speed.pipeline_simulation import simulate_layers
from tests.support.known import known

times = st.one_of(st.just(0.0), st.integers(1, 6).map(float), st.floats(0.01, 8.0))


@st.composite
def layers_of(draw: st.DrawFn, slices: st.SearchStrategy[float]) -> Layers:
    rows = draw(st.lists(st.tuples(times, times, times), min_size=1, max_size=7))
    forward, backward, transfer = zip(*rows, strict=True)
    return Layers(forward, backward, transfer, draw(slices))


def played_s(layers: Layers, overlap: str) -> float:
    return max(bar.end_s for bar in simulate_layers(layers, overlap))


# Two layers. Backward 2: 0..1, backward 1: 1..3.
HAND = Layers(forward_s=[4.0, 1.0], backward_s=[2.0, 1.0], transfer_s=[3.0, 5.0], slice_s=0.5)


def test_one_after_the_other_by_hand():
    found = pipeline(HAND, "sequential")
    assert found.iteration_s == 3 + 2 * 8 + 5
    assert found.forward_from_s.tolist() == [19, 23]
    assert found.eta == (1, 1, 1)


def test_wait_free_by_hand():
    # push 2: 1..6, push 1 (ready at 3): 6..9; pull 2: 6..11, pull 1: 11..14; forward 14..18..19
    found = pipeline(HAND, "wait-free")
    assert [known.tolist() for known in (found.push_from_s, found.pull_from_s) if known is not None] == [
        [6, 1],
        [11, 6],
    ]
    assert found.forward_from_s.tolist() == [14, 18]
    assert found.iteration_s == 19
    # all forward, backward of layer 2, push 2 + pull 2 + pull 1 of 2 x 8
    assert found.eta == pytest.approx((1, 1 / 3, 13 / 16))


def test_priority_by_hand():
    # push 2: 1..3, push 1: 3..6, push 2: 6..9, pulled half a second later; forward 1: 6.5..10.5, then forward 2
    found = pipeline(HAND, "priority")
    assert known(found.pulled_s).tolist() == [6.5, 9.5]
    assert found.forward_from_s.tolist() == [6.5, 10.5]
    assert found.iteration_s == 11.5
    # layer 2 does not wait for its transfer: all forward, all backward, push of layer 1 and its last slice
    assert found.eta == pytest.approx((1, 1, 3.5 / 16))


def test_priority_by_hand_where_forward_waits_for_a_transfer():
    # forward 1 ends at 6.5 + 1, layer 2 is there at 9.5: forward 2, backward 2, both pushes and a slice of layer 1
    found = pipeline(Layers([1.0, 1.0], [2.0, 1.0], [3.0, 5.0], 0.5), "priority")
    assert found.forward_from_s.tolist() == [6.5, 9.5]
    assert found.iteration_s == 10.5
    assert found.eta == pytest.approx((1 / 2, 1 / 3, 8.5 / 16))


def test_the_published_example_of_wait_free_shares():
    # four layers whose transfers dominate: eta = (1, b_4 / sum b, (2 r_4 + r_3 + r_2 + r_1) / (2 sum r))
    found = pipeline(Layers([1.0] * 4, [1.0] * 4, [3.0, 4.0, 5.0, 6.0]), "wait-free")
    assert found.eta == pytest.approx((1, 1 / 4, (2 * 6 + 5 + 4 + 3) / 36))


def test_bars_by_hand():
    bars = simulate_layers(Layers([4.0, 1.0], [2.0, 1.0], [3.0, 5.0], 1.0), "priority")
    assert [(bar.layer, bar.kind, bar.start_s, bar.end_s) for bar in bars] == [
        (1, "backward", 0, 1), (0, "backward", 1, 3),
        (1, "push", 1, 3), (0, "push", 3, 6), (1, "push", 6, 9),
        (1, "pull", 2, 4), (0, "pull", 4, 7), (1, "pull", 7, 10),
        (0, "forward", 7, 11), (1, "forward", 11, 12),
    ]  # fmt: skip


def test_bars_without_a_slice_break_off_at_once():
    bars = simulate_layers(Layers([4.0, 1.0], [2.5, 1.0], [3.0, 5.0]), "priority")
    pushes = [(bar.layer, bar.start_s, bar.end_s) for bar in bars if bar.kind == "push"]
    assert pushes == [(1, 1, 3.5), (0, 3.5, 6.5), (1, 6.5, 9)]
    assert pushes == [(bar.layer, bar.start_s, bar.end_s) for bar in bars if bar.kind == "pull"]


@pytest.mark.parametrize("overlap", ["sequential", "wait-free"])
@given(layers=layers_of(st.just(0.0)))
def test_formulas_and_simulation_agree(overlap: str, layers: Layers):
    found = pipeline(layers, overlap)
    bars = simulate_layers(layers, overlap)
    assert found.iteration_s == pytest.approx(max(bar.end_s for bar in bars), abs=1e-9)
    for kind, start_s in (("forward", found.forward_from_s), ("push", found.push_from_s), ("pull", found.pull_from_s)):
        if start_s is not None:
            played = {bar.layer: bar.start_s for bar in bars if bar.kind == kind}
            assert start_s.tolist() == pytest.approx([played[at] for at in range(len(layers))], abs=1e-9)


@given(layers=layers_of(st.just(0.0)))
def test_priority_agrees_without_slices(layers: Layers):
    found = pipeline(layers, "priority")
    bars = simulate_layers(layers, "priority")
    played = {bar.layer: bar.start_s for bar in bars if bar.kind == "forward"}
    assert found.forward_from_s.tolist() == pytest.approx([played[at] for at in range(len(layers))], abs=1e-9)
    assert found.iteration_s == pytest.approx(max(bar.end_s for bar in bars), abs=1e-9)
    pulls = [bar for bar in bars if bar.kind == "pull"]
    there_s = [max(bar.end_s for bar in pulls if bar.layer <= at) for at in range(len(layers))]
    assert known(found.pulled_s).tolist() == pytest.approx(there_s, abs=1e-9)


@given(layers=layers_of(st.sampled_from([0.05, 0.5, 1.0, 3.0, 20.0])))
def test_sliced_priority_ends_within_a_slice_of_the_formula(layers: Layers):
    # a second slice at most where layer 1 has less than one to pull, as the formula lets all others follow like layer 1
    short_s = layers.slice_s - min(layers.slice_s, float(layers.transfer_s[0]))
    late_s = played_s(layers, "priority") - pipeline(layers, "priority").iteration_s
    assert -1e-9 <= late_s <= layers.slice_s + short_s + 1e-9


@pytest.mark.parametrize("overlap", OVERLAPS)
@given(layers=layers_of(st.sampled_from([0.0, 0.3, 2.0])))
def test_shares_are_shares_and_add_up_to_the_iteration(overlap: str, layers: Layers):
    found = pipeline(layers, overlap)
    totals = [layers.forward_s.sum(), layers.backward_s.sum(), 2 * layers.transfer_s.sum()]
    assert np.dot(found.eta, totals) == pytest.approx(found.iteration_s, abs=1e-9)
    assert all(0 <= share <= 1 for share in found.eta)
    assert all(share == 1 for share, total in zip(found.eta, totals, strict=True) if total == 0)


@given(layers=layers_of(st.just(0.0)))
def test_more_overlap_is_never_slower(layers: Layers):
    sequential, wait_free, priority = (pipeline(layers, overlap).iteration_s for overlap in OVERLAPS)
    assert priority <= wait_free + 1e-9
    assert wait_free <= sequential + 1e-9


@pytest.mark.parametrize("overlap", OVERLAPS)
@given(layers=layers_of(st.sampled_from([0.0, 0.7, 5.0])))
def test_everything_is_played_once_and_in_order(overlap: str, layers: Layers):
    bars = simulate_layers(layers, overlap)
    lengths = {"forward": layers.forward_s, "backward": layers.backward_s, "push": layers.transfer_s,
               "pull": layers.transfer_s}  # fmt: skip
    for kind, wanted in lengths.items():
        done = [bar for bar in bars if bar.kind == kind]
        assert all(a.end_s <= b.start_s for a, b in pairwise(done))
        sums = np.zeros(len(layers))
        np.add.at(sums, [bar.layer for bar in done], [bar.end_s - bar.start_s for bar in done])
        assert sums == pytest.approx(wanted, abs=1e-9)
    for at in range(len(layers)):
        ends = {bar.kind: bar for bar in bars if bar.layer == at}  # the last of each kind
        starts = {bar.kind: bar for bar in reversed(bars) if bar.layer == at}
        assert ends["backward"].end_s <= starts["push"].start_s <= starts["pull"].start_s
        assert ends["push"].end_s <= ends["pull"].end_s <= starts["forward"].start_s


@pytest.mark.parametrize("overlap", OVERLAPS)
def test_no_times_at_all(overlap: str):
    found = pipeline(Layers([0, 0], [0, 0], [0, 0]), overlap)
    assert (found.iteration_s, found.eta) == (0, (1, 1, 1))


def test_two_thousand_layers_take_no_time():
    forward, backward, transfer = np.random.default_rng(1).random((3, 2000))
    layers = Layers(forward, backward, transfer, 0.01)
    before_s = time.process_time()
    for overlap in OVERLAPS:
        pipeline(layers, overlap)
    assert time.process_time() - before_s < 0.1


@pytest.mark.parametrize(
    ("forward", "backward", "transfer", "slice_s", "message"),
    [
        pytest.param([], [], [], 0, "layers: their number must be from 1 to 100,000, got 0", id="none"),
        pytest.param(np.zeros(MOST_LAYERS + 1), np.zeros(MOST_LAYERS + 1), np.zeros(MOST_LAYERS + 1), 0,
                     "got 100,001", id="many"),
        pytest.param([1, 1], [1], [1, 1], 0, "layers, backward: must have 2 entries, as many layers as forward, got 1",
                     id="lengths"),
        pytest.param([[1]], [1], [1], 0, "layers, forward: must be a list of times, got 2 dimensions", id="table"),
        pytest.param([1, 1], [1, 1], [1, -2], 0, "layer 2, transfer: must be from 0 to 1e+15, got -2", id="negative"),
        pytest.param([1, float("nan")], [1, 1], [1, 1], 0, "layer 2, forward: .* got nan", id="nan"),
        pytest.param([1], [float("inf")], [1], 0, "layer 1, backward: .* got inf", id="infinite"),
        pytest.param([1], [1], [1], -1, "layers, slice: must be from 0 to 1e.15, got -1", id="slice"),
        pytest.param([1], [1], [1], float("nan"), "layers, slice: .* got nan", id="slice nan"),
    ],
)  # fmt: skip
def test_bad_layers_are_named(forward, backward, transfer, slice_s, message):
    with pytest.raises(InputError, match=message.replace("1e+15", r"1e\+15")):
        Layers(forward, backward, transfer, slice_s)


@pytest.mark.parametrize("core", [pipeline, simulate_layers])
def test_an_unknown_overlap_is_refused(core):
    with pytest.raises(InputError, match="overlap 'fifo': is not known; known: sequential, wait-free, priority"):
        core(HAND, "fifo")


def test_slices_beyond_number_are_refused_when_played():
    with pytest.raises(InputError, match="layer 2, slice: must leave at most 100,000 slices"):
        simulate_layers(Layers([1, 1], [1, 1], [0, 1], 1e-9), "priority")
