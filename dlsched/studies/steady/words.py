"""What the page Load test says of an answer: sentence, cards, states, banners, assumptions; no page library."""

from __future__ import annotations

from collections.abc import Sequence

from dlsched.domain.units import HOUR_S
from dlsched.metrics.stats.intervals import Interval
from dlsched.policies.registry import spoken
from dlsched.studies.steady.answer import Pair, SteadyAnswer, SteadyPoint
from dlsched.studies.steady.spec import SteadySpec
from dlsched.wording.assumptions import Premise
from dlsched.wording.cautions import Caution, origin_cautions, violation_cautions
from dlsched.wording.certainty import mean_time
from dlsched.wording.formats import amount, duration, listed, load_words, number, share
from dlsched.workload.studies.hell_knee import LARGE, TABLE_III

LINKS = {"exact": "shared links", "fcfs": "links that carry one transfer at a time", "hybrid": "hybrid links"}


def focus_load(answer: SteadyAnswer) -> float:
    """Return the load the sentence speaks of: the highest at which two policies have a mean, else one, else any."""
    for least in (2, 1):
        for load in reversed(answer.spec.loads):
            if len(_points_with_mean(answer, load)) >= least:
                return load
    return answer.spec.loads[-1]


def _points_with_mean(answer: SteadyAnswer, load: float) -> list[SteadyPoint]:
    """Return the points with a mean at a load, the shortest first."""
    points = [point for point in answer.points if point.load == load and point.response_h is not None]
    return sorted(points, key=lambda point: _mean(point))


def _mean(point: SteadyPoint) -> float:
    return float("inf") if point.response_h is None else point.response_h.mean


def best_at(answer: SteadyAnswer, load: float) -> SteadyPoint | None:
    """Return the policy with the shortest mean at a load; None if every queue grows."""
    return next(iter(_points_with_mean(answer, load)), None)


def steady_sentence(answer: SteadyAnswer) -> str:
    """Return the answer in one sentence: how long, against which others, how sure, and whose queue grows."""
    load = focus_load(answer)
    best = best_at(answer, load)
    if best is None or best.response_h is None:
        return f"Every queue grows at {_loads_words(answer.spec.loads)}: no policy tested has a mean turnaround time."
    parts = [f"At load {load_words(load)} {spoken(best.label)} has a mean turnaround time of {_sure(best)}"]
    parts[0] += _against(answer, best)
    if growing := growth_words(answer):
        parts.append(growing)
    return "; ".join(parts) + "."


def _sure(point: SteadyPoint) -> str:
    assert point.response_h is not None
    if point.relative_half_width is None:
        return _time(point.response_h.mean)
    at_least = "" if point.settled else "at least "
    return f"{_time(point.response_h.mean)} ({at_least}± {share(point.relative_half_width)})"


def _time(time_h: float | None) -> str:
    return duration(None if time_h is None else time_h * HOUR_S)


def _against(answer: SteadyAnswer, best: SteadyPoint) -> str:
    """Return the other policies at that load: by how much the nearest differs, and which are about the same."""
    differences = differences_at(answer, best)
    alike = [spoken(label) for label, _, is_apart in differences if not is_apart]
    apart = nearest(differences)
    words = ""
    if apart is not None:
        label, of = apart
        less = "less" if of.mean < 0 else "more"
        half = f" (± {_time(of.half_width)})" if of.half_width else ""
        words += f", {_time(abs(of.mean))}{half} {less} than {spoken(label)}"
    if alike:
        words += f"{', and' if words else ','} about the same as {listed(alike)}"
    return words


def differences_at(answer: SteadyAnswer, best: SteadyPoint) -> list[tuple[str, Interval, bool]]:
    """Return (other policy, best minus other in hours, clearly different) at the load of ``best``, paired by job."""
    differences = []
    for pair in answer.pairs:
        if pair.load == best.load and best.label in (pair.label, pair.other):
            other, of = _seen_from(pair, best.label)
            differences.append((other, of, pair.tells_apart))
    return differences


def nearest(differences: Sequence[tuple[str, Interval, bool]]) -> tuple[str, Interval] | None:
    """Return the policy with the smallest difference of those that clearly differ; None if none is."""
    apart = [(label, of) for label, of, is_apart in differences if is_apart]
    return min(apart, key=lambda entry: abs(entry[1].mean), default=None)


def _seen_from(pair: Pair, label: str) -> tuple[str, Interval]:
    """Return the other policy and ``label`` minus it."""
    of = pair.difference_h
    if pair.label == label:
        return pair.other, of
    return pair.label, Interval(-of.mean, of.half_width, of.n, of.level)


def growth_words(answer: SteadyAnswer) -> str:
    """Return whose queue grows at which loads, policies that give way at the same loads together; "" where none."""
    labels = list(dict.fromkeys(point.label for point in answer.points))
    by_loads: dict[tuple[float, ...], list[str]] = {}
    for label in labels:
        points = [point for point in answer.points if point.label == label]
        if loads := tuple(point.load for point in points if point.state == "queue grows"):
            by_loads.setdefault(loads, []).append(spoken(label))
    tried = answer.spec.loads
    if len(by_loads) == 1 and len(labels) > 1 and sum(map(len, by_loads.values())) == len(labels):
        return f"every queue grows without end {_where(next(iter(by_loads)), tried)}"
    parts, named_so_far = [], 0
    for loads, names in sorted(by_loads.items()):
        others = named_so_far > 0 and len(names) > 1 and named_so_far + len(names) == len(labels)
        parts.append(f"{'all others' if others else listed(names)} {_where(loads, tried)}")
        named_so_far += len(names)
    return f"queues grow without end: {', '.join(parts)}" if parts else ""


def _where(loads: Sequence[float], tried: Sequence[float]) -> str:
    first = list(tried).index(loads[0])
    if tuple(tried[first:]) == tuple(loads) and len(loads) > 1:
        return f"from load {load_words(loads[0])} on"
    return f"at {_loads_words(loads)}"


def _loads_words(loads: Sequence[float]) -> str:
    return f"{'loads' if len(loads) > 1 else 'load'} {listed([load_words(load) for load in loads])}"


def steady_cards(answer: SteadyAnswer) -> list[tuple[str, str, str]]:
    """Return at most four cards (label, value, help) on the policy the sentence speaks of."""
    load = focus_load(answer)
    best = best_at(answer, load)
    if best is None or best.response_h is None:
        slowest = min(answer.points, key=lambda point: point.growth.mean)
        value = f"{number(slowest.growth.mean)} jobs"
        grows = f"Jobs by which the backlog of {spoken(slowest.label)} grows per 100 arrivals"
        return [("Slowest growth", value, f"{grows} at load {load_words(slowest.load)}: the least of all points.")]
    about = f"{spoken(best.label)} at load {load_words(load)}"
    apart = nearest(differences_at(answer, best))
    cards = [
        ("Mean turnaround time", _time(best.response_h.mean), f"{about}: submission to completion, "
         f"{mean_time(best.response_h)} (95% interval from {amount(best.batches, 'batch', 'batches')} of "
         f"{amount(best.jobs_measured, 'job')}); {best.words}."),
        ("p95 turnaround time", _time(best.p95_h), f"{about}: 95 of 100 jobs are done within this time, half "
         f"within {_time(best.p50_h)}."),
    ]  # fmt: skip
    if apart is not None:
        other, of = apart
        why = f"{about} minus {spoken(other)}: {mean_time(of)} (95% interval), over the {of.n:,} jobs in both."
        cards.append(("Difference to next policy", _time(of.mean), why))
    stable = [point.load for point in answer.points if point.label == best.label and point.state != "queue grows"]
    cards.append(("Stable up to", f"load {load_words(max(stable))}", f"The highest load tested at which the queue of "
                  f"{spoken(best.label)} does not grow."))  # fmt: skip
    return cards


def state_words(point: SteadyPoint) -> tuple[str, str]:
    """Return the chip of a point and its colour: done at ± 5%, cap reached, queue grows."""
    if point.state == "queue grows":
        return f"{spoken(point.label)}: queue grows", "gray"
    half = "rough" if point.relative_half_width is None else f"± {share(point.relative_half_width)}"
    if point.may_grow:
        return f"{spoken(point.label)}: cap reached, {half}, may grow without end", "orange"
    if not point.settled:
        return f"{spoken(point.label)}: cap reached, at least {half}", "orange"
    within = point.state == "within target"
    return f"{spoken(point.label)}: {'done,' if within else 'cap reached,'} {half}", "blue" if within else "orange"


def steady_cautions(answer: SteadyAnswer, *, stale: bool) -> list[Caution]:
    """Return banners: what the auditor found, and that another version of the program computed the answer."""
    bad = [
        (f"{spoken(point.label)} at load {load_words(point.load)}", point.audit[0])
        for point in answer.points
        if point.audit
    ]
    return [*violation_cautions(bad, "point"), *origin_cautions("", stale=stale, elsewhere=False)]


def spec_words(spec: SteadySpec) -> str:
    """Return the question in one line."""
    loads = spec.loads
    span = load_words(loads[0]) if len(loads) == 1 else f"{load_words(loads[0])} to {load_words(loads[-1])}"
    points = amount(len(loads) * len(spec.policies), "point")
    return f"{networks_words(spec)} on {amount(spec.stream.nodes, 'node')}, load {span}, {points}"


def networks_words(spec: SteadySpec) -> str:
    """Return which networks the jobs train."""
    networks = spec.stream.networks
    if networks == TABLE_III:
        return "four example networks"
    if networks == LARGE:
        return "two large example networks"
    return networks[0].name if len(networks) == 1 else amount(len(networks), "network")


def steady_premises(answer: SteadyAnswer) -> list[Premise]:
    """Return the assumptions behind the answer."""
    stream, spec = answer.spec.stream, answer.spec
    names = listed([network.name for network in stream.networks])
    server = (
        "Servers run beside the workers and cost their nodes nothing."
        if stream.shared_server
        else "One node is a worker with its server; of more nodes "
        + ("one is the server." if stream.servers == 1 else f"{stream.servers} are servers.")
    )
    premises = [
        Premise(
            "generated jobs", f"Poisson arrivals of {names}, seed {spec.seed}; every policy sees the same jobs.", ""
        ),
        Premise("speed from a queueing network", f"{LINKS[stream.network_model].capitalize()}. {server}"),
        Premise("perfect estimates", "Policies know the work left and the speed-up of every job."),
        Premise("no cost of a change", "Stopping a job and changing its width take no time; its progress is kept.", ""),
        Premise(
            "95% intervals of batch means",
            f"The first tenth of the jobs is left out, and the last jobs, which meet "
            f"fewer others; jobs are doubled up to {spec.most_jobs:,} until the mean is known within "
            f"± {share(spec.target)}.",
            "",
        ),
    ]
    tried = {point.load: point for point in answer.points if point.chunks_tried}
    if tried:
        best = "; ".join(f"{point.params['chunk']} at load {load_words(load)}" for load, point in tried.items())
        premises.append(
            Premise(
                "chunk = the best in a pilot",
                f"Of {listed([str(one) for one in spec.chunks])} nodes, on "
                f"other jobs than those it is judged on: {best}.",
                "",
            )
        )
    if any("load" in point.params for point in answer.points):
        premises.append(Premise("moldable KNEE knows the load", "Its threshold follows from the load of each point."))
    return [*premises, Premise("logs audited", answer.audited)]


HOW = """
Jobs come in a Poisson stream that fits the load, the same jobs at every policy. **Load** is the time all jobs would
take on one node each, over the node time there is: jobs on many nodes use more than that, so queues may grow far below
load 1.

**Turnaround time** is submission to completion. The first tenth of the jobs meets a cluster that is still filling up
and is left out; so are the last ones, which meet fewer others. The 95% **interval** is made of means of consecutive
jobs, widened where neighbours are alike. Jobs are doubled until the interval is narrow enough or the cap is reached.

A queue **grows** where jobs in the system increase with every hundred arrivals, by more than chance and by half a job
at the least; its mean would only say how long was simulated, so there is none. Close to the border the cap is too low
to distinguish a slowly growing queue from a long stable one.

**Differences** are taken job by job between two policies: what makes a job long in itself cancels.
"""
