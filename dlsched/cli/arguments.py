"""What can be typed. Imports nothing of the package, so that ``--help`` is quick."""

from __future__ import annotations

import argparse
import math
from typing import NoReturn

PLACEMENTS = ("pool", "best-fit", "pack", "spread")
OVERSIZE = ("refuse", "drop", "cap")
CLAIMS = ("average", "nearly-every")
GROUPINGS = ("group", "user", "job_class", "gpus")


class Parser(argparse.ArgumentParser):
    """Says what is wrong in one line instead of repeating the usage."""

    def error(self, message: str) -> NoReturn:
        """Print the message and leave with status 2."""
        self.exit(2, f"{self.prog}: {' '.join(message.split())}. Try {self.prog} --help\n")


def _whole(least: int) -> type:
    def read(text: str) -> int:
        number = int(text)
        if number < least:
            raise argparse.ArgumentTypeError(f"must be at least {least}, got {text}")
        return number

    read.__name__ = "whole number"  # argparse puts it into "invalid ... value"
    return read  # type: ignore[return-value]


def _usd(text: str) -> float:
    number = float(text)
    if not (math.isfinite(number) and number >= 0):
        raise argparse.ArgumentTypeError(f"must be at least 0, got {text}")
    return number


_usd.__name__ = "price"


def _names(text: str) -> list[str]:
    return [name.strip() for name in text.split(",") if name.strip()]


def _numbers(text: str) -> list[float]:
    return [float(part) for part in text.split(",")]


_numbers.__name__ = "list of numbers"


def _whole_numbers(text: str) -> list[int]:
    return [int(part) for part in text.split(",")]


_whole_numbers.__name__ = "list of whole numbers"


def build_parser() -> argparse.ArgumentParser:
    """Return the parser; ``command`` in its result names the module of the command."""
    parser = Parser(prog="dlsched", description="Plan deep-learning training clusters: simulate, compare, keep runs.")
    parser.add_argument("--version", action="store_true", help="print the version and leave")
    commands = parser.add_subparsers(dest="command", metavar="COMMAND", parser_class=Parser)
    _simulate(commands.add_parser("simulate", help="run a trace or a scenario under a policy"))
    _policies(commands.add_parser("policies", help="list the policies, their parameters and needs"))
    _import(commands.add_parser("import", help="read a trace and say what was kept, repaired and dropped"))
    _runs(commands.add_parser("runs", help="list, show, export, import and delete kept runs"))
    _scenario(commands.add_parser("scenario", help="write a trace, drawn jobs or a scenario file as a scenario file"))
    _solve(commands.add_parser("solve", help="solve instances of one problem, read from standard input"))
    _reproduce(commands.add_parser("reproduce", help="compute a figure or table of a paper anew"))
    _steady(commands.add_parser("steady", help="time in system by load and policy, with intervals"))
    _pool_sizes(commands.add_parser("pool-sizes", help="policies over the size of the pool, on the same jobs"))
    _sweep(commands.add_parser("sweep", help="policies over one or two things that vary, on the same draws"))
    _size(commands.add_parser("size", help="the cheapest cluster that meets targets, and how much more load it takes"))
    _growth(commands.add_parser("growth", help="months ahead with more jobs: when a target breaks, when to order"))
    _calibrate(commands.add_parser("calibrate", help="replay a recorded trace and compare with its own starts"))
    _compare(commands.add_parser("compare", help="policies and changes against a baseline on the same draws"))
    _report(commands.add_parser("report", help="a decision memo about policies: HTML, PPTX, XLSX"))
    return parser


def _simulate(parser: argparse.ArgumentParser) -> None:
    parser.add_argument("file", metavar="FILE", help="trace or scenario file, or folder of an instance")
    parser.add_argument("--policy", required=True, metavar="KEY", help="policy, as listed by: policies")
    parser.add_argument(
        "--param", action="append", default=[], metavar="K=V", help="a parameter of the policy; may be repeated"
    )
    _cluster(parser)
    parser.add_argument("--seed", type=int, default=0, metavar="S", help="seed of the draw (0)")
    parser.add_argument("--save", action="store_true", help="keep the run in the store")
    _store(parser)
    _json(parser)


def _policies(parser: argparse.ArgumentParser) -> None:
    _json(parser)


def _import(parser: argparse.ArgumentParser) -> None:
    parser.add_argument("file", metavar="FILE", help="trace file, plain or compressed, or folder of an instance")
    parser.add_argument("--check", action="store_true", help="only say how it was read; keep nothing")
    _whole_nodes(parser)
    _store(parser)
    _json(parser)


def _runs(parser: argparse.ArgumentParser) -> None:
    actions = parser.add_subparsers(dest="action", metavar="ACTION", required=True, parser_class=Parser)
    texts = {
        "list": "list the runs, newest first",
        "show": "show the numbers of a run",
        "export": "write runs to one file",
        "import": "take runs from an export file",
        "delete": "delete runs (restore brings them back for a day)",
        "restore": "bring deleted runs back",
    }
    for name, text in texts.items():
        action = actions.add_parser(name, help=text)
        if name == "show":
            action.add_argument("run_id", metavar="ID")
        if name in {"export", "delete", "restore"}:
            action.add_argument("run_ids", metavar="ID", nargs="+")
        if name == "export":
            action.add_argument("--out", required=True, metavar="FILE", help="file to write, usually .zip")
        if name == "import":
            action.add_argument("file", metavar="FILE")
        _store(action)
        _json(action)


def _scenario(parser: argparse.ArgumentParser) -> None:
    parser.add_argument("file", metavar="FILE", nargs="?", help="trace or scenario file, or folder of an instance")
    parser.add_argument(
        "--generate",
        metavar="KIND",
        help="draw jobs instead: gpuaas, job-mix, modelarts, server-jobs, slotted-jobs, training-stream",
    )
    parser.add_argument(
        "--param", action="append", default=[], metavar="K=V", help="a field of the generator; may be repeated"
    )
    parser.add_argument("--seed", type=int, default=0, metavar="S", help="seed of the draw (0)")
    _whole_nodes(parser)
    parser.add_argument("--write", required=True, metavar="OUT", help="scenario file to write: .json or .toml")


def _solve(parser: argparse.ArgumentParser) -> None:
    parser.add_argument("kind", metavar="KIND", help="kind of problem; slots and machines count from 0")


def _reproduce(parser: argparse.ArgumentParser) -> None:
    parser.add_argument("key", metavar="KEY", nargs="?", help="figure or table; none = list them")
    parser.add_argument("--quick", action="store_true", help="small sizes and few draws, in about a minute")
    parser.add_argument(
        "--load-scale",
        type=float,
        metavar="X",
        help="of modelarts-9 to -16: arrivals X times as dense as published, from 0.1 to 10; without it, Figs 12 to 15 "
        "have 2, the others 1 and 2",
    )
    _json(parser)


def _steady(parser: argparse.ArgumentParser) -> None:
    parser.add_argument("file", metavar="SPEC", nargs="?", help="JSON file with the experiment; options go before it")
    parser.add_argument("--policies", type=_names, metavar="A,B", help="policies, as listed by: policies")
    parser.add_argument("--loads", type=_numbers, metavar="X,Y", help="loads, each above 0 and below 1")
    parser.add_argument("--nodes", type=_whole(1), metavar="N", help="nodes of one GPU (100)")
    parser.add_argument("--jobs-most", type=_whole(100), metavar="N", help="never simulate more jobs than this (64000)")
    parser.add_argument("--target", type=float, metavar="T", help="half width of the interval over the mean (0.05)")
    parser.add_argument("--seed", type=int, metavar="S", help="seed of the jobs (1)")
    _json(parser)


def _pool_sizes(parser: argparse.ArgumentParser) -> None:
    parser.add_argument("file", metavar="FILE", help="trace or scenario file; its cluster has equal nodes")
    parser.add_argument("--nodes", type=_whole_numbers, metavar="N,M", help="sizes (half to twice the present one)")
    parser.add_argument(
        "--policies", type=_names, metavar="A,B", help="policies (modelarts-optimal,modelarts-greedy); see: policies"
    )
    parser.add_argument("--reference", metavar="A", help="policy that gains are against (modelarts-greedy or the last)")
    parser.add_argument(
        "--variants",
        type=_names,
        metavar="A,B",
        help="what goes wrong: own (as in the scenario), baseline (nothing), estimates, mishaps, delay",
    )
    parser.add_argument("--draws", type=_whole(1), default=3, metavar="N", help="draws of what is random (3)")
    _keep_numbers(parser)
    parser.add_argument("--csv", metavar="OUT", help="also write the means to this file")
    add_compute_options(parser)
    _whole_nodes(parser)
    _json(parser)


def _sweep(parser: argparse.ArgumentParser) -> None:
    parser.add_argument("file", metavar="FILE", nargs="?", help="trace or scenario file, or folder of an instance")
    parser.add_argument(
        "--vary",
        action="append",
        default=[],
        metavar="KEY=VALUES",
        help="what varies: nodes=4,8,16 or arrivals=0.8:1.2:5 (from, to, how many); twice for two; ? lists the keys",
    )
    parser.add_argument(
        "--one-at-a-time", action="store_true", help="each value by itself beside the scenario as it is"
    )
    parser.add_argument("--policies", type=_names, metavar="A,B", help="policies, as listed by: policies (fifo)")
    parser.add_argument("--reference", metavar="A", help="policy that others are compared with (the first)")
    parser.add_argument("--draws", type=_whole(1), default=1, metavar="N", help="draws of what is random (1)")
    parser.add_argument("--metrics", type=_names, metavar="A,B", help="metrics; regret and frontier are of the first")
    _keep_numbers(parser)
    parser.add_argument("--csv", metavar="OUT", help="also write a line for each run to this file")
    add_compute_options(parser)
    _json(parser)


def _calibrate(parser: argparse.ArgumentParser) -> None:
    parser.add_argument("file", metavar="FILE", help="trace with recorded starts, or scenario file of one")
    parser.add_argument("--policies", type=_names, metavar="A,B", help="policies (the usual rules); see: policies")
    parser.add_argument(
        "--by", choices=GROUPINGS, help="what tells groups apart (the one that says best where the replay is off)"
    )
    parser.add_argument("--seed", type=_whole(0), default=0, metavar="S", help="seed of what is random (0)")
    parser.add_argument("--csv", metavar="OUT", help="also write every policy and group to this file")
    _json(parser)


def _size(parser: argparse.ArgumentParser) -> None:
    parser.add_argument("file", metavar="FILE", help="trace or scenario file, or folder of an instance")
    _goal(parser)
    parser.add_argument(
        "--types",
        metavar="A=N:M,B=N:M",
        help="VM types that vary, from N to M nodes; nodes=N:M for all (up to four times today's)",
    )
    parser.add_argument("--draws", type=_whole(2), metavar="N", help="draws of each size in the search (10)")
    parser.add_argument("--confirm", type=_whole(2), metavar="N", help="fresh draws that confirm a size (40)")
    parser.add_argument("--lack", type=float, metavar="%", help="percent of today's jobs that may be left undone (0)")
    parser.add_argument("--headroom", action="store_true", help="also find how much more load the answer takes")
    parser.add_argument("--most-runs", type=_whole(1), metavar="N", help="stop before more runs than this (2000)")
    _keep_numbers(parser)
    add_compute_options(parser)
    _json(parser)


def _growth(parser: argparse.ArgumentParser) -> None:
    parser.add_argument("file", metavar="FILE", help="trace or scenario file, or folder of an instance")
    _goal(parser)
    parser.add_argument("--percent", type=float, metavar="%", help="growth of arrivals a month, compounded (3)")
    parser.add_argument("--months", type=_whole(1), metavar="N", help="months ahead (12)")
    parser.add_argument("--begin", metavar="YYYY-MM", help="today's month; without it months are numbered")
    parser.add_argument("--lead", type=_whole(0), metavar="N", help="months from an order to nodes that run jobs (3)")
    parser.add_argument(
        "--deliver",
        action="append",
        default=[],
        metavar="MONTH:KEY:NODES",
        help="nodes that come or are retired from the begin of a month on: 4:nodes:+4, 8:nodes.a100:-2; repeatable",
    )
    parser.add_argument("--draws", type=_whole(1), default=10, metavar="N", help="draws of each month (10)")
    parser.add_argument("--csv", metavar="OUT", help="also write a line for each month to this file")
    _keep_numbers(parser)
    add_compute_options(parser)
    _json(parser)


def _goal(parser: argparse.ArgumentParser) -> None:
    """Add what :func:`dlsched.cli.goal.goal_of` reads."""
    parser.add_argument(
        "--target",
        action="append",
        required=True,
        metavar="KEY<=LIMIT",
        help="a metric with its limit, in quotes: 'wait_p95<=1h', 'late_share<=5%%', 'cost_month<=$50,000', "
        "'completed>=1,200'; may be repeated",
    )
    parser.add_argument("--policy", default="fifo", metavar="KEY", help="policy, as listed by: policies (fifo)")
    parser.add_argument(
        "--param", action="append", default=[], metavar="K=V", help="a parameter of the policy; may be repeated"
    )
    parser.add_argument(
        "--claim", choices=CLAIMS, default="average", help="what holds: the mean over draws, or nearly every draw"
    )
    parser.add_argument("--level", type=float, metavar="%", help="of nearly-every: so many percent of draws (95)")
    _draws_vary(parser)


def _keep_numbers(parser: argparse.ArgumentParser) -> None:
    parser.add_argument(
        "--save",
        nargs="?",
        const="",
        metavar="STORE",
        help="keep the numbers of the runs, not whole runs, in a result store and take known ones from it "
        "(DLSCHED_STORE, else ~/.dlsched/results.duckdb); give it after FILE",
    )


def add_compute_options(parser: argparse.ArgumentParser) -> None:
    """Add what :func:`dlsched.cli.compute.opened` reads."""
    parser.add_argument(
        "--processes", type=_whole(1), metavar="N", help="processes of this machine that compute (one a core)"
    )
    parser.add_argument(
        "--dask", metavar="ADDRESS", help="compute on the workers of a Dask scheduler, tcp://host:8786 (DLSCHED_DASK)"
    )


def _compare(parser: argparse.ArgumentParser) -> None:
    _compared(parser)
    parser.add_argument("--csv", metavar="OUT", help="also write a line for each number and policy to this file")
    _json(parser)


def _report(parser: argparse.ArgumentParser) -> None:
    _compared(parser)
    parser.add_argument(
        "--out", action="append", required=True, metavar="FILE", help="memo.html, .pptx or .xlsx; may be repeated"
    )
    parser.add_argument("--question", default="", metavar="TEXT", help="what is to be decided")
    parser.add_argument("--recommendation", default="", metavar="TEXT", help="in place of the one the numbers give")
    parser.add_argument("--note", default="", metavar="TEXT", help="what else the reader should know")
    parser.add_argument("--hide-names", action="store_true", help="show users and groups as A, B, C")
    parser.add_argument("--no-groups", action="store_true", help="leave out who gains and who loses")
    _json(parser)


def _compared(parser: argparse.ArgumentParser) -> None:
    parser.add_argument("file", metavar="FILE", help="trace or scenario file, or folder of an instance")
    parser.add_argument("--policies", type=_names, required=True, metavar="A,B", help="2 to 6, as listed by: policies")
    parser.add_argument(
        "--set",
        action="append",
        default=[],
        metavar="KEY=VALUE",
        help="the scenario changed, under the baseline's policy: nodes=10, or nodes=10,arrivals=1.2,policy=sjf; one "
        "more choice each time, then one policy is enough; keys: sweep FILE --vary ?",
    )
    _draws_vary(parser)
    parser.add_argument("--baseline", metavar="A", help="policy that others are compared with (the first)")
    parser.add_argument(
        "--param", action="append", default=[], metavar="A.K=V", help="a parameter of policy A; may be repeated"
    )
    parser.add_argument("--draws", type=_whole(1), default=10, metavar="N", help="draws of what is random (10)")
    add_compute_options(parser)
    _cluster(parser)


def _draws_vary(parser: argparse.ArgumentParser) -> None:
    parser.add_argument(
        "--vary",
        action="append",
        default=[],
        metavar="KEY[=VALUE]",
        help="what differs between draws: days, run_time_spread=0.3, failures=500 (hours); may be repeated",
    )


def _cluster(parser: argparse.ArgumentParser) -> None:
    parser.add_argument("--nodes", type=_whole(1), metavar="N", help="number of nodes")
    parser.add_argument("--gpus-per-node", type=_whole(0), metavar="G", help="GPUs of each node")
    parser.add_argument("--placement", choices=PLACEMENTS, help="how a width becomes nodes")
    parser.add_argument("--oversize", choices=OVERSIZE, help="what to do with jobs that can never fit")
    parser.add_argument("--price", type=_usd, metavar="USD", help="price of one node, $ per hour")


def _whole_nodes(parser: argparse.ArgumentParser) -> None:
    parser.add_argument(
        "--whole-nodes",
        nargs="?",
        type=_whole(1),
        const=0,
        metavar="N",
        help="put the jobs on whole nodes of 8 GPUs, N of them, with widths that may change; give it after FILE",
    )


def _store(parser: argparse.ArgumentParser) -> None:
    parser.add_argument("--store", metavar="FILE", help="result store (DLSCHED_STORE, else ~/.dlsched/results.duckdb)")


def _json(parser: argparse.ArgumentParser) -> None:
    parser.add_argument("--json", action="store_true", help="print one JSON object")
