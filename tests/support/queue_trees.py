"""Small trees of quotas, jobs on them, and random ones."""

from hypothesis import strategies as st

from dlsched.domain.queue_tree import QueueTree
from dlsched.policies.queue_tree.cycle import CycleResult
from dlsched.policies.queue_tree.jobs import Job, PodSet, Running
from dlsched.policies.queue_tree.tree import Tree


def tree_of(queues, cohorts=None, **more):
    """Return a tree with amounts in whole units; ``queues``: name -> fields, ``gpus`` short for one quota."""

    def plain(fields):
        fields = dict(fields)
        gpus = fields.pop("gpus", None)
        limits = {key: fields.pop(key) for key in ("borrow", "lend") if key in fields}
        if gpus is not None:
            fields["quota"] = [{"nominal": gpus, **limits}]
        return fields

    cohorts = {name: plain(fields) for name, fields in (cohorts or {}).items()}
    return Tree.of(
        QueueTree(tree={name: plain(fields) for name, fields in queues.items()}, cohorts=cohorts, **more),
        amounts_per_unit=1,
    )


def job(tree, name, queue, gpus, priority=0, order_s=0.0, **more):
    fields = {"min_count": more.pop("min_count", None), "flavors": more.pop("flavors", None)}
    count = more.pop("count", 1)
    podset = PodSet("main", count, {"gpus": gpus} if isinstance(gpus, int) else gpus, **fields)
    return Job(name, tree.number[queue], (podset,), priority, order_s, **more)


def runs(tree, name, queue, gpus, priority=0, start_s=0.0, flavor="all", **more):
    running = Running(
        name, tree.number[queue], {tree.index[flavor, "gpus"]: gpus}, priority, more.pop("order_s", start_s), start_s,
        **more,
    )  # fmt: skip
    tree.start(running)
    return running


def carry_out(tree, result: CycleResult, now_s=0.0):
    """Let what a cycle decided happen at once, victims first."""
    for told in result.told:
        tree.end(told.victim)
    for admitted, assignment in result.admitted:
        tree.start(Running.of(admitted, assignment, now_s))


def used(tree):
    return [list(row) for row in tree.used]


POLICIES = st.sampled_from(["never", "lower", "lower-or-newer-equal"])
RECLAIMS = st.sampled_from(["never", "lower", "any"])
SOME = st.integers(0, 8)
LIMIT = st.none() | st.integers(0, 6)


@st.composite
def worlds(draw, policies=True, most_jobs=12, most_flavors=2, names="r{:02}"):
    """Draw a tree of up to two levels of cohorts and two flavors, with running jobs that hold what they were given."""
    flavors = ["a", "b"][: draw(st.integers(1, most_flavors))]

    def quotas(limits):
        return [
            {
                "flavor": flavor, "nominal": draw(SOME), "borrow": draw(LIMIT) if limits else None,
                "lend": draw(LIMIT) if limits else None,
            }
            for flavor in flavors
        ]  # fmt: skip

    cohorts = {
        "root": {"quota": quotas(False) if draw(st.booleans()) else []},
        "left": {"parent": "root", "quota": quotas(True) if draw(st.booleans()) else []},
        "right": {"parent": "root", "weight": draw(st.sampled_from([0.0, 0.5, 1.0, 3.0]))},
    }
    queues = {}
    for number in range(draw(st.integers(1, 5))):
        fields = {
            "parent": draw(st.sampled_from([None, "root", "left", "right"])), "quota": quotas(True),
            "weight": draw(st.sampled_from([0.0, 1.0, 1.0, 2.0])),
            "strategy": draw(st.sampled_from(["best-effort", "strict"])),
            "when_can_borrow": draw(st.sampled_from(["stop", "next"])),
            "when_can_preempt": draw(st.sampled_from(["stop", "next"])),
            "preference": draw(st.sampled_from(["borrow", "preempt"])),
        }  # fmt: skip
        if policies:
            fields |= {
                "within": draw(POLICIES), "reclaim": draw(RECLAIMS),
                "while_borrowing": draw(st.sampled_from(["never", "lower"])),
                "while_borrowing_below": draw(st.none() | st.integers(0, 2)),
            }  # fmt: skip
        queues[f"q{number}"] = fields
    tree = Tree.of(QueueTree(tree=queues, cohorts=cohorts), amounts_per_unit=1)
    for number in range(draw(st.integers(0, most_jobs))):
        queue = draw(st.sampled_from(sorted(queues)))
        flavor = draw(st.sampled_from(flavors))
        f, amount = tree.index[flavor, "gpus"], draw(st.integers(1, 4))
        if tree.fits(tree.number[queue], {f: amount}):
            start_s = float(draw(st.integers(0, 20)))
            runs(tree, names.format(number), queue, amount, draw(st.integers(0, 3)), start_s, flavor)
    return tree


@st.composite
def waiting_jobs(draw, tree, most=6, fewer=True):
    """Draw jobs that wait in the queues of a tree; ``fewer``: some may run with fewer pods."""
    jobs = []
    for number in range(draw(st.integers(1, most))):
        count = draw(st.integers(1, 3))
        jobs.append(
            job(
                tree, f"w{number}", tree.names[draw(st.sampled_from(tree.queues))], draw(st.integers(1, 4)),
                draw(st.integers(0, 3)), float(draw(st.integers(0, 20))), count=count,
                min_count=draw(st.none() | st.integers(1, count)) if fewer else None,
            )
        )  # fmt: skip
    return jobs
