"""What every chart must have: words, a table, units, few marks, safe user text, both themes."""

from __future__ import annotations

import json
import re
from dataclasses import replace
from datetime import datetime
from functools import cache

import numpy as np
import pandas as pd
import pytest

from dlsched.domain.cluster import Absence, Cluster, Pool, VmType
from dlsched.domain.workload import Workload
from dlsched.figures import (
    bars,
    cluster,
    compare,
    costs,
    gantt,
    jobs,
    palette,
    raster,
    rented,
    result,
    training,
    workload,
)
from dlsched.figures import winners as winners_figures
from dlsched.figures.base import CLEAR, TimeAxis, duration_axis, plain
from dlsched.figures.palette import BLACK, DARK, LIGHT, WHITE
from dlsched.metrics.savings import run_costs
from dlsched.metrics.stats.basis import Basis
from dlsched.metrics.tables import bill_by_machine, late_by_cost
from dlsched.metrics.winners import winners
from dlsched.policies.registry import POLICIES
from dlsched.speed.regression import fit_all
from dlsched.wording.clock import DAYS, Clock
from dlsched.wording.formats import cut
from dlsched.workload.profiles.demo_profile import demo_runs

NASTY = '<a href="https://bad.example">%{x}</a>'
SAFE = '&lt;a href="https://bad.example"&gt;'
COUNT = 400
NO_UNIT = {
    "Node",
    "Job",
    "User",
    "Group (jobs)",
    "Metric",
    "Jobs",
    "Jobs waiting",
    "GPUs",
    "GPUs allocated",
    "GPUs requested",
}
NO_UNIT |= {"Network", "Available GPUs", "GPUs per job", "Part of the total", "Jobs per hour", "Slot", "Run"}
NO_UNIT |= {"Machine type"}


def trace_frames():
    rng = np.random.default_rng(5)
    submit = np.sort(rng.uniform(0, 4e5, COUNT))
    start = submit + rng.exponential(5000, COUNT)
    end = start + rng.lognormal(8, 1.5, COUNT)
    gpus = rng.choice([1.0, 2, 4, 8], COUNT)
    user = rng.choice(["ana", "ben", "chen", "dora", "emil", "fay", NASTY], COUNT)
    facts = pd.DataFrame(
        {
            "job_id": [f"{NASTY}{i}" if i % 50 == 0 else f"job-{i}" for i in range(COUNT)],
            "submit_s": submit,
            "first_start_s": start,
            "left_s": end,
            "due_s": np.where(rng.random(COUNT) < 0.5, submit + 20_000, np.nan),
            "gpus": gpus,
            "wait_s": start - submit,
            "cost": gpus * 3,
            "user": user,
            "status": "completed",
        }
    )
    pieces = pd.DataFrame(
        {
            "job_id": facts["job_id"],
            "node": rng.integers(0, 8, COUNT),
            "start_s": start,
            "end_s": end,
            "gpus": gpus,
            "progress_from_s": start + 60,
            "end_reason": rng.choice(["completed", "preempted", "node_lost"], COUNT),
        }
    )
    waits = pd.DataFrame({"job_id": facts["job_id"], "from_s": submit, "to_s": start, "reason": "no_room"})
    times = np.linspace(0, 5e5, 1500)
    series = pd.DataFrame(
        {
            "time_s": times,
            "gpus_held": 40 + 20 * np.sin(times / 4e4),
            "gpus_up": 64.0,
            "waiting": (times / 1e4).astype(int),
            "running": 9,
            "cost_usd": times / 10,
            "tardiness_usd": times / 100,
            "utility": times / 1000,
        }
    )
    return facts, bars.with_jobs(pieces, facts, waits), waits, series


def a_workload():
    facts, _, _, _ = trace_frames()
    columns = {
        "job_id": facts["job_id"],
        "submit_s": facts["submit_s"],
        "work": facts["left_s"] - facts["first_start_s"],
    }
    return Workload.from_columns(columns | {"workers": facts["gpus"].astype(int), "user": facts["user"]})


def a_cluster():
    kinds = [VmType(name=name, gpu_type=name, gpus=8) for name in ("A100", NASTY)]
    away = [Absence(node=1, start_s=100, end_s=5000), Absence(node=2, start_s=0, end_s=900, cause="arrives")]
    return Cluster(pools=tuple(Pool(vm=vm, count=4) for vm in kinds), absences=tuple(away))


@cache
def training_fits():
    runs = demo_runs()
    network = np.array([NASTY if name == "AlexNet" else f"{name} {name}" for name in runs.network], dtype=object)
    return fit_all(replace(runs, network=network))


KINDS = {"nc24": ("K80", 4.0), "nv6": ("M60", 1.0), NASTY: (NASTY, 8.0)}


def rented_frames():
    """Return pieces on machines that are rented slot by slot, and the leases."""
    _, pieces, _, _ = trace_frames()
    names = list(KINDS)
    kind = np.array(names, dtype=object)[pieces["node"] % 3]
    pieces = pieces.assign(vm_type=kind, gpu_type=[KINDS[name][0] for name in kind])
    start = np.tile(np.arange(0, 5e5, 5e4), 8)
    stays = pd.DataFrame({"node": np.repeat(np.arange(8), 10), "start_s": start, "end_s": start + 4e4})
    stays["vm_type"] = [names[node % 3] for node in stays["node"]]
    stays["gpu_type"] = [KINDS[name][0] for name in stays["vm_type"]]
    stays["gpus"] = [KINDS[name][1] for name in stays["vm_type"]]
    return pieces, stays.assign(cost=25.0, usd_per_h=2.25)


def some_costs():
    draws = [{"total_cost": 100.0 + d, "vm_cost": 60.0, "tardiness_cost": 40.0 + d, "total_cost_bound": 30.0}
             for d in (0.0, 10.0)]  # fmt: skip
    return run_costs([("EDF", draws), (NASTY, draws[:1])], Basis(kind="drawn", futures=len(draws) - 1))


def every_chart(theme, clock=DAYS):
    facts, pieces, waits, series = trace_frames()
    away = pd.DataFrame({"node": [1], "start_s": [1e5], "end_s": [2e5]})
    gpus = np.full(8, 8.0)
    nodes = raster.node_raster(pieces, gpus, away, 0, 5e5)
    by_user = raster.node_raster(pieces, gpus, away, 0, 5e5, colour_by="user")
    runs = {f"run {i} {NASTY}": facts["wait_s"].to_numpy() * (i + 1) for i in range(8)}
    colour_of = {name: theme.marks[i] for i, name in enumerate(runs)}
    states = dict.fromkeys(runs, series)
    changes = [
        compare.Change("p95 wait", name, 5.0 * i - 9, 5.0 * i - 12, 5.0 * i - 5, verdict, f"{i} min")
        for i, (name, verdict) in enumerate(zip(runs, ("better", "worse", "not distinguishable"), strict=False))
    ]
    per_user = facts.groupby("user")["wait_s"].mean()
    one = facts.iloc[0]
    on_slots, leases = rented_frames()
    slots = {by: raster.node_raster(on_slots, gpus, away, 0, 5e5, colour_by=by, leases=leases)
             for by in ("state", "gpu_type")}  # fmt: skip
    late = late_by_cost(facts.assign(tardiness_s=facts["wait_s"], tardiness_usd=facts["wait_s"] / 90))
    wins = winners([(facts, facts.assign(wait_s=3000.0))], "user", names=(NASTY, NASTY), exact=True)
    return {
        "overview": gantt.overview(nodes, theme, clock=clock),
        "overview by user": gantt.overview(by_user, theme, highlight="ben", clock=clock),
        "overview of slots": gantt.overview(slots["state"], theme, clock=clock),
        "overview of slots by GPU type": gantt.overview(slots["gpu_type"], theme, highlight="K80", clock=clock),
        "slot bars": bars.node_bars(on_slots, theme, 0, 5e5, colour_by="gpu_type", leases=leases, clock=clock),
        "job bars by machine": jobs.job_bars(
            facts.iloc[:60],
            on_slots,
            theme,
            0,
            5e5,
            machines=sorted({kind for kind, _ in KINDS.values()}),
            clock=clock,
        ),
        "job timeline by machine": jobs.job_timeline(
            one,
            on_slots[on_slots["job_id"] == one["job_id"]],
            waits.iloc[:1],
            theme,
            5e5,
            machines=["K80", "M60"],
            clock=clock,
        ),
        "rent": rented.rent_over_time(leases, theme, 0, 5e5, by="vm_type", groups=sorted(KINDS), clock=clock),
        "bill by machine": rented.bill_bars(bill_by_machine(leases, on_slots), theme),
        "late jobs": rented.tardiness_bars(late, theme),
        "late jobs without weights": rented.tardiness_bars(late.assign(tardiness_usd=np.nan), theme),
        "costs": costs.cost_split(some_costs(), theme),
        "held of rented": result.held_and_queue(series, theme, rented=True, clock=clock),
        "users": gantt.user_area(pieces, theme, 0, 5e5, gpus=64, clock=clock),
        "node bars": bars.node_bars(pieces, theme, 0, 5e5, clock=clock),
        "node bars of ten minutes": bars.node_bars(pieces, theme, 2e5, 2e5 + 600, clock=clock),
        "node bars by user": bars.node_bars(pieces, theme, 0, 5e5, colour_by="user", clock=clock),
        "job bars": jobs.job_bars(facts.iloc[:60], pieces, theme, 0, 5e5, clock=clock),
        "job timeline": jobs.job_timeline(
            one, pieces[pieces["job_id"] == one["job_id"]], waits.iloc[:1], theme, 5e5, clock=clock
        ),
        "held and queue": result.held_and_queue(series, theme, clock=clock),
        "cost over time": result.over_time(series, "cost_usd", theme, clock),
        "utility over time": result.over_time(series, "utility", theme, clock),
        "waterfall": result.cost_waterfall({"useful": 21_000.0, "idle": 9_140.0, NASTY: 8_310.0}, theme),
        "groups": result.group_bars(per_user, theme, title="Wait by user", x="Mean wait (s)", y="User", unit="s"),
        "arrivals": workload.arrivals(a_workload(), theme, clock),
        "widths": workload.widths(a_workload(), theme),
        "run times": workload.run_times(a_workload(), theme),
        "who asks": workload.who_asks(a_workload(), theme),
        "demand": cluster.demand(a_workload(), 64, theme, clock=clock),
        "capacity": cluster.capacity(a_cluster(), 1e4, theme, clock),
        "predicted times": training.predicted_vs_measured(training_fits(), theme),
        "prediction errors": training.network_errors(training_fits(), theme),
        "forest": compare.forest(changes, colour_of, theme, NASTY),
        "ecdf": compare.ecdf(runs, colour_of, theme, quantity="Wait"),
        "queues": compare.queues(states, colour_of, theme, clock),
        "who wins": winners_figures.changes(wins, theme),
    }


OCTOBER = Clock(datetime(2026, 10, 1), "UTC", 5e5)
CHARTS = {theme.name: every_chart(theme) for theme in (LIGHT, DARK)} | {"dated": every_chart(LIGHT, OCTOBER)}
EACH = [pytest.param(theme, name, id=f"{theme}-{name}") for theme, charts in CHARTS.items() for name in charts]


@pytest.mark.parametrize(("theme", "name"), EACH)
def test_every_chart_has_a_sentence_a_table_and_axis_titles(theme, name):
    chart = CHARTS[theme][name]
    assert re.search(r"\d", chart.alt)
    assert chart.alt.endswith(".")
    assert "nan" not in chart.alt
    assert len(chart.table) > 0
    assert len(set(chart.table.columns)) == len(chart.table.columns)
    assert len(chart.figure.layout.title.text) < 130
    layout = chart.figure.layout.to_plotly_json()
    axes = [axis for key, axis in layout.items() if key.startswith(("xaxis", "yaxis"))]
    titles = [axis["title"].get("text", "") for axis in axes]
    assert all(axis["automargin"] for axis in axes)
    assert len([title for title in titles if title]) >= 2
    assert [title for title in titles if title and title not in NO_UNIT and not re.search(r"\(.+\)", title)] == []


@pytest.mark.parametrize(("theme", "name"), EACH)
def test_every_chart_stays_small(theme, name):
    chart = CHARTS[theme][name]
    assert sum(len(trace.y) for trace in chart.figure.data if trace.type == "bar") <= 3000
    assert all(len(trace.x) <= 1500 for trace in chart.figure.data if trace.type == "scatter")
    assert len(chart.figure.to_json()) < 900_000


@pytest.mark.parametrize(("theme", "name"), EACH)
def test_user_text_is_never_markup_or_a_template(theme, name):
    figure = json.loads(CHARTS[theme][name].figure.to_json())
    shown = texts_in(figure)
    assert [part for part in shown if "<a href" in part] == []
    if name in ("overview of jobs", "waterfall", "who wins", "capacity", "groups", "prediction errors"):
        assert any(SAFE[:10] in part for part in shown)


def texts_in(part):
    if isinstance(part, dict):
        # customdata[0] of the Gantt bars is the raw job id, for the page; no template shows it.
        ids = [row[0] for row in part.get("customdata", []) if isinstance(row, list)] if "base" in part else []
        return [text for value in part.values() for text in texts_in(value) if text not in ids]
    if isinstance(part, list):
        return [text for value in part for text in texts_in(value)]
    return [part] if isinstance(part, str) else []


@pytest.mark.parametrize("theme", [LIGHT, DARK], ids=["light", "dark"])
def test_no_colour_of_the_other_theme(theme):
    other = DARK if theme is LIGHT else LIGHT
    foreign = {other.ground, other.card, other.grid, other.tint, other.faded, *other.marks} - {BLACK, WHITE}
    for name, chart in CHARTS[theme.name].items():
        found = set(re.findall(r"#[0-9a-f]{6}", chart.figure.to_json())) & foreign
        assert not found, name


def test_an_ecdf_has_at_most_400_points_and_six_lines_and_a_full_table():
    facts, *_ = trace_frames()
    big = {f"r{i}": np.tile(facts["wait_s"].to_numpy(), 20) for i in range(7)}
    big["none"] = np.array([np.nan])
    chart = compare.ecdf(big, dict.fromkeys(big, "#185add"), LIGHT, quantity="Wait")
    assert [len(trace.x) <= 400 for trace in chart.figure.data] == [True] * 6
    assert "first 6 of 7" in chart.figure.layout.title.text
    assert list(chart.table.columns) == ["share of jobs, %", *(f"r{i}, s" for i in range(7))]


def test_an_ecdf_reaches_each_share_where_it_should():
    chart = compare.ecdf({"r": np.array([4.0, 1, 2, np.nan])}, {"r": "#185add"}, LIGHT, quantity="Wait")
    line = chart.figure.data[0]
    assert line.x.tolist() == [1, 2, 4]
    assert line.y.tolist() == pytest.approx([100 / 3, 200 / 3, 100])
    assert "(3 jobs)" in chart.alt


def test_demand_counts_jobs_that_would_run_at_once():
    given = Workload.from_columns(
        {"job_id": ["a", "b"], "submit_s": [0.0, 100.0], "work": [50.0, 50.0], "workers": [8, 16]}
    )
    chart = cluster.demand(given, 8, LIGHT, bins=3)
    assert chart.table["GPUs requested"].tolist() == [8, 0, 16]
    assert "exceeds the 8 GPUs 33.3% of the time" in chart.alt


def test_capacity_counts_nodes_that_are_there():
    chart = cluster.capacity(a_cluster(), 1e4, LIGHT)
    assert chart.alt == "48 to 64 GPUs are available in the cluster."
    assert chart.table["GPUs, A100"].tolist() == [24, 16, 24, 32, 32]


def test_a_box_on_the_overview_becomes_a_window():
    _, pieces, *_ = trace_frames()
    whole = raster.node_raster(pieces, np.full(8, 8.0), pieces.iloc[:0], 0, 4 * 86_400)
    got = gantt.box_window(whole, [2.5, 1.0], [2.4, 5.6])
    assert (got.from_s, got.to_s) == (86_400, 2.5 * 86_400)
    assert (got.first_row, got.last_row) == (2, 6)
    outside = gantt.box_window(whole, [-3, 99], [-2, 99])
    assert (outside.from_s, outside.to_s, outside.first_row, outside.last_row) == (0, 4 * 86_400, 0, 7)


def test_predictions_are_counted_within_the_band():
    fits = training_fits()
    chart = training.predicted_vs_measured(fits, LIGHT)
    near = np.mean(np.concatenate([model.errors for model in fits.models]) <= 0.2)
    assert f"{100 * near:.1f}".rstrip("0").rstrip(".") in chart.alt
    assert len(chart.table) == 720
    assert sum(len(trace.x) for trace in chart.figure.data if trace.mode == "markers") <= 1500
    errors = training.network_errors(fits, LIGHT)
    assert errors.table["mean error"].is_monotonic_decreasing
    assert errors.figure.data[0].x[0] == pytest.approx(100 * max(model.mape for model in fits.models))


def test_an_overview_of_600_nodes_is_small_and_binary():
    rng = np.random.default_rng(0)
    start = rng.uniform(0, 1e6, 5000)
    pieces = pd.DataFrame({"node": rng.integers(0, 600, 5000), "start_s": start, "end_s": start + 9000, "gpus": 8.0})
    shown = raster.node_raster(pieces, np.full(600, 8.0), pieces.iloc[:0], 0, 1e6)
    written = gantt.overview(shown, LIGHT).figure.to_json()
    assert len(written) < 900_000
    assert '"dtype":"u1"' in written


def test_a_highlight_leaves_one_group_in_colour():
    _, pieces, *_ = trace_frames()
    groups = ["ana", "ben"]
    shown = raster.node_raster(pieces, np.full(8, 8.0), pieces.iloc[:0], 0, 5e5, colour_by="user", groups=groups)
    entries = {t.name: t.marker.color for t in gantt.overview(shown, LIGHT, highlight="ben").figure.data if t.name}
    assert (entries["ana"], entries["ben"], entries["other"]) == (LIGHT.faded, LIGHT.marks[1], LIGHT.faded)


OF_TIME = [
    name for name, chart in CHARTS["light"].items() if chart.figure.layout.xaxis.title.text.startswith("Time (")
    or name.startswith("held")
]  # fmt: skip


def test_most_charts_of_a_run_have_a_time_axis():
    assert len(OF_TIME) == 22


@pytest.mark.parametrize("name", OF_TIME)
def test_a_time_axis_has_one_unit_in_every_chart_and_window(name):
    assert _time_titles(every_chart(LIGHT, Clock(span_s=5e5))[name]) == {"Time (days from first job)"}
    dated = CHARTS["dated"][name]
    assert _time_titles(dated) == {"Time (UTC)"}
    figure = json.loads(dated.figure.to_json())
    layout = figure["layout"]
    places = [shape[end] for shape in layout.get("shapes", []) if shape["xref"] == "x" for end in ("x0", "x1")]
    places += [one["x"] for one in layout.get("annotations", []) if one["xref"] == "x"]
    places += [place for trace in dated.figure.data for place in _places(trace)]
    axes = [axis for key, axis in figure["layout"].items() if key.startswith("xaxis")]
    assert {axis["type"] for axis in axes} == {"date"}
    assert len(places) > 0
    assert [place for place in places if not re.match(r"2026-1\d-\d\dT|NaT", str(place))] == []


def _places(trace):
    """Return where the marks of a trace stand in time; a bar begins at its base, where it has one."""
    if trace.type == "heatmap":
        return [trace.x0]
    base = getattr(trace, "base", None)
    places = [place for place in np.ravel(trace.x if base is None else base) if place is not None]
    return np.array(places).astype(str).tolist()


def _time_titles(chart):
    layout = chart.figure.layout.to_plotly_json()
    titles = {axis["title"].get("text", "") for key, axis in layout.items() if key.startswith("xaxis")}
    return titles - {""}


@pytest.mark.parametrize("name", OF_TIME)
def test_tables_of_a_dated_chart_hold_dates_and_say_the_zone_once(name):
    table = CHARTS["dated"][name].table
    assert [
        column for column in table.columns if re.search(r"\b(days|from, s|time, s|start, s|end, s)\b", column)
    ] == []
    dates = [column for column in table.columns if table[column].dtype.kind == "M"]
    assert sum("(UTC)" in column for column in dates) == bool(dates)


def test_the_window_in_words():
    _, pieces, *_ = trace_frames()
    shown = raster.node_raster(pieces.iloc[:0], np.full(8, 8.0), pieces.iloc[:0], 0, 86_400)
    assert gantt.window_alt(shown, 212, 51_600.0, 17, "5012 (+5 h)") == (
        "day 0, 00:00 to day 1, 00:00, 8 rows: 0% of the GPU time allocated; 8 rows idle throughout; "
        "longest queue 212 jobs at day 0, 14:20; 17 late jobs, worst 5012 (+5 h)."
    )


def test_text_of_users():
    assert plain("<b>a & b</b>") == "&lt;b&gt;a &amp; b&lt;/b&gt;"
    assert "%{" not in plain("%{x}")
    assert cut("two\nlines") == "two lines"
    assert cut("x" * 50, 10) == "x" * 9 + "…"


def test_time_axes_choose_a_readable_unit():
    lengths = {90: "seconds", 300: "minutes", 86_400: "hours", 30 * 86_400: "days"}
    assert {length: TimeAxis.over(0, length).unit for length in lengths} == lengths
    assert TimeAxis.over(5, 5).look["range"] == [5, 6]


def test_a_window_has_the_unit_of_its_trace():
    month = Clock(span_s=30 * 86_400)
    for from_s, to_s in ((0, 600), (86_400, 90_000), (20 * 86_400, 21 * 86_400)):
        assert TimeAxis.over(from_s, to_s, month).unit == "days"
    assert TimeAxis.over(20 * 86_400, 20 * 86_400 + 60).unit == "days"


def test_a_sentence_and_the_axis_name_the_same_place():
    at_s = 26 * 86_400 + 31_380
    axis = TimeAxis.over(0, 30 * 86_400)
    assert (DAYS.moment(at_s), round(axis.place(at_s), 2)) == ("day 26, 08:43", 26.36)
    assert axis.title == "Time (days from first job)"
    dated = TimeAxis.over(0, 30 * 86_400, OCTOBER)
    assert (OCTOBER.moment(at_s), dated.place(at_s)) == ("Tue 27 Oct 2026, 08:43", "2026-10-27T08:43:00.000")
    assert dated.title == "Time (UTC)"
    assert dated.seconds("2026-10-27 08:43") == axis.seconds(axis.place(at_s)) == at_s


def test_labels_are_legible_on_every_mark():
    for theme in (LIGHT, DARK):
        for colour in (*theme.marks, theme.other, theme.late, theme.tint):
            assert contrast(colour, palette.ink_on(colour, theme)) >= 3.3, (theme.name, colour)
        for colour in theme.marks:
            assert min(contrast(colour, theme.ground), contrast(colour, theme.card)) >= 3, (theme.name, colour)


def contrast(one, two):
    light = sorted(luminance(colour) for colour in (one, two))
    return (light[1] + 0.05) / (light[0] + 0.05)


def luminance(colour):
    parts = [int(colour[i : i + 2], 16) / 255 for i in (1, 3, 5)]
    linear = [part / 12.92 if part <= 0.03928 else ((part + 0.055) / 1.055) ** 2.4 for part in parts]
    return 0.2126 * linear[0] + 0.7152 * linear[1] + 0.0722 * linear[2]


def test_past_due_is_told_from_running_without_colour():
    for theme in (LIGHT, DARK):
        assert abs(luminance(theme.late) - luminance(theme.marks[0])) > 0.1


def test_policies_keep_their_colour():
    assert palette.policy_colour("fifo", LIGHT) == palette.policy_colour("fifo", LIGHT)
    assert palette.policy_colour("fifo", LIGHT) != palette.policy_colour("srtf", LIGHT)
    assert palette.colours(["b", "a"], LIGHT) == {"a": LIGHT.marks[0], "b": LIGHT.marks[1]}
    assert palette.theme("dark") is DARK
    assert palette.theme(None) is LIGHT
    assert CLEAR


@pytest.mark.parametrize("theme", [LIGHT, DARK], ids=["light", "dark"])
def test_orange_is_the_colour_of_no_group_and_no_policy(theme):
    orange = {theme.late, theme.worse, theme.marks[palette.ORANGE]}
    assert not orange & set(palette.colours("abcdefghijkl", theme).values())
    assert not orange & {palette.policy_colour(spec.key, theme) for spec in POLICIES}


def test_constant_run_times_are_drawn_too():
    given = Workload.from_columns({"job_id": ["a", "b"], "submit_s": [0.0, 0.0], "work": [60.0, 60.0]})
    chart = workload.run_times(given, LIGHT)
    assert sum(chart.table["jobs"]) == 2
    assert [note.text for note in chart.figure.layout.annotations] == ["median and p95"]
    assert workload.who_asks(given, LIGHT) is None
    assert len(workload.profile(given, LIGHT)) == 3


def test_networks_ask_where_nobody_else_is_named():
    columns = {"job_id": ["a", "b", "c"], "submit_s": [0.0] * 3, "work": [60.0, 60.0, 120.0]}
    chart = workload.who_asks(Workload.from_columns(columns | {"model": ["vgg", "vgg", "alexnet"]}), LIGHT)
    assert chart is not None
    assert chart.figure.layout.title.text == "Demand by model: 2 models, the largest with 50%"
    assert workload.who_asks(Workload.from_columns(columns | {"model": ["vgg"] * 3}), LIGHT) is None


@pytest.mark.parametrize(
    ("times", "anchor"), [([60.0] * 10 + [3600.0] * 10, "right"), ([60.0] * 11 + [3600.0] * 8 + [1e6], "left")]
)
def test_the_label_of_p95_stays_inside_the_plot(times, anchor):
    jobs = {"job_id": [f"j{n}" for n in range(20)], "submit_s": np.zeros(20), "work": times}
    notes = workload.run_times(Workload.from_columns(jobs), LIGHT).figure.layout.annotations
    assert {note.text: note.xanchor for note in notes}["p95"] == anchor


def test_duration_ticks_lie_inside_the_axis():
    import plotly.graph_objects as go

    figure = go.Figure()
    duration_axis(figure, 30, 7200)
    assert list(figure.layout.xaxis.ticktext) == ["1 min", "10 min", "1 h"]
