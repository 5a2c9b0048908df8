"""What can be typed. Imports nothing of the package, so that ``--help`` is quick."""

from __future__ import annotations

import argparse
import math
from importlib import import_module
from typing import NoReturn

PLACEMENTS = ("pool", "best-fit", "pack", "spread")
OVERSIZE = ("refuse", "drop", "cap")
LIMITS = ("believe", "ignore", "kill")
GROUPINGS = ("group", "user", "partition", "job_class", "gpus")
LOG_GROUPINGS = ("user", "group", "partition", "month", "job_class")


class Parser(argparse.ArgumentParser):
    """Reports what is wrong in one line instead of repeating the usage."""

    def error(self, message: str) -> NoReturn:
        """Print the message and leave with status 2."""
        self.exit(2, f"{self.prog}: {' '.join(message.split())}. Try {self.prog} --help\n")


def whole(least: int) -> type:
    """Return what reads a whole number that is at least so large."""

    def read(text: str) -> int:
        number = int(text)
        if number < least:
            raise argparse.ArgumentTypeError(f"must be at least {least}, got {text}")
        return number

    read.__name__ = "whole number"  # argparse puts it into "invalid ... value"
    return read  # type: ignore[return-value]


def _usd(text: str) -> float:
    from dlsched.wording.typed import read

    number = read("usd_per_gpu_h", text)
    if not (math.isfinite(number) and number >= 0):
        raise argparse.ArgumentTypeError(f"must be at least 0, got {text}")
    return number


_usd.__name__ = "price"


def names(text: str) -> list[str]:
    """Return the names of "a,b"."""
    return [name.strip() for name in text.split(",") if name.strip()]


def numbers(text: str) -> list[float]:
    """Return the numbers of "0.5,0.7"."""
    return [float(part) for part in text.split(",")]


numbers.__name__ = "list of numbers"


def whole_numbers(text: str) -> list[int]:
    """Return the whole numbers of "4,8"."""
    return [int(part) for part in text.split(",")]


whole_numbers.__name__ = "list of whole numbers"


STUDIES = {
    "steady": "turnaround time by load and policy, with intervals",
    "pool-sizes": "policies on clusters of different sizes, on the same jobs",
    "sweep": "how policies compare over a range of one or two settings, in the same futures",
    "size": "the cheapest cluster that meets your targets, and its headroom",
    "growth": "a projection with growing demand: when a target is missed and when to order",
    "calibrate": "replay a recorded trace and compare the result with its recorded starts",
}
"""Commands that ask a study, and what for. Their modules add their flags, by the fields of the question."""


def build_parser(command: str = "") -> argparse.ArgumentParser:
    """Return the parser; ``command`` in its result names the module of the command.

    Of the commands that ask a study only the one given has its flags: others would cost the loading of theirs.
    """
    parser = Parser(
        prog="dlsched",
        description="Plan deep-learning training clusters: simulate and compare policies, size clusters, keep runs.",
    )
    parser.add_argument("--version", action="store_true", help="print the version and exit")
    commands = parser.add_subparsers(dest="command", metavar="COMMAND", parser_class=Parser)
    _simulate(commands.add_parser("simulate", help="run a trace or a scenario under a policy"))
    _policies(commands.add_parser("policies", help="list the policies, their parameters and needs"))
    _import(commands.add_parser("import", help="read a trace and report what was kept, repaired and dropped"))
    _runs(commands.add_parser("runs", help="list, show, export, import and delete saved runs"))
    _scenario(
        commands.add_parser("scenario", help="write a trace, generated jobs or another scenario as a scenario file")
    )
    _solve(commands.add_parser("solve", help="solve instances of one problem read from standard input"))
    _reproduce(commands.add_parser("reproduce", help="recompute a figure or table of a paper"))
    for name, text in STUDIES.items():
        parser_of = commands.add_parser(name, help=text)
        if name == command:
            import_module(f"dlsched.cli.{name.replace('-', '_')}").add_arguments(parser_of)
    _history(commands.add_parser("history", help="what a recorded log says: waits, hours used, cost, idle hours"))
    _anonymise(commands.add_parser("anonymise", help="write a copy of a log or scenario without names and dates"))
    _compare(commands.add_parser("compare", help="compare policies and changes with a baseline, in the same futures"))
    _report(commands.add_parser("report", help="write a decision memo: HTML, PPTX or XLSX"))
    return parser


def _simulate(parser: argparse.ArgumentParser) -> None:
    add_file(parser)
    parser.add_argument(
        "--policy", required=True, metavar="KEY", help="key of the policy; the command policies lists them"
    )
    parser.add_argument(
        "--param", action="append", default=[], metavar="K=V", help="a parameter of the policy; may be repeated"
    )
    _cluster(parser)
    parser.add_argument("--seed", type=int, default=0, metavar="S", help="random seed (default: 0)")
    parser.add_argument(
        "--jobs", metavar="OUT.csv", help="write one row per job: when it started and ended, and how long it waited"
    )
    parser.add_argument("--save", action="store_true", help="save the run in the store")
    _store(parser)
    add_json(parser)


def _policies(parser: argparse.ArgumentParser) -> None:
    add_json(parser)


def _import(parser: argparse.ArgumentParser) -> None:
    parser.add_argument("file", metavar="FILE", help="trace file, plain or compressed, or the folder of an instance")
    add_reading(parser)
    parser.add_argument("--check", action="store_true", help="only report how the file was read; save nothing")
    add_whole_nodes(parser)
    _store(parser)
    add_json(parser)


def _runs(parser: argparse.ArgumentParser) -> None:
    actions = parser.add_subparsers(dest="action", metavar="ACTION", required=True, parser_class=Parser)
    texts = {
        "list": "list the runs, newest first",
        "show": "show the numbers of a run",
        "export": "write runs to one file",
        "import": "import runs from an export file",
        "delete": "delete runs (they can be restored for a day)",
        "restore": "restore deleted runs",
    }
    for name, text in texts.items():
        action = actions.add_parser(name, help=text)
        if name == "show":
            action.add_argument("run_id", metavar="ID")
        if name in {"export", "delete", "restore"}:
            action.add_argument("run_ids", metavar="ID", nargs="+")
        if name == "export":
            action.add_argument("--out", required=True, metavar="FILE", help="output file, usually .zip")
        if name == "import":
            action.add_argument("file", metavar="FILE")
        _store(action)
        add_json(action)


def _scenario(parser: argparse.ArgumentParser) -> None:
    add_file(parser, nargs="?")
    parser.add_argument(
        "--generate",
        metavar="KIND",
        help="generate jobs instead: gpuaas, job-mix, modelarts, server-jobs, slotted-jobs, training-stream",
    )
    parser.add_argument(
        "--param", action="append", default=[], metavar="K=V", help="a field of the generator; may be repeated"
    )
    parser.add_argument("--seed", type=int, default=0, metavar="S", help="random seed (default: 0)")
    add_whole_nodes(parser)
    parser.add_argument("--write", required=True, metavar="OUT", help="scenario file to write: .json or .toml")


def _solve(parser: argparse.ArgumentParser) -> None:
    parser.add_argument("kind", metavar="KIND", help="kind of problem; slots and machines are numbered from 0")


def _reproduce(parser: argparse.ArgumentParser) -> None:
    parser.add_argument("key", metavar="KEY", nargs="?", help="figure or table; leave out to list them")
    parser.add_argument("--quick", action="store_true", help="smaller sizes and fewer draws; takes about a minute")
    parser.add_argument(
        "--load-scale",
        type=float,
        metavar="X",
        help="for modelarts-9 to modelarts-16: arrival rate as a multiple of the published one, from 0.1 to 10 "
        "(default: 2 for Figs 12 to 15, else 1 and 2)",
    )
    add_json(parser)


def _history(parser: argparse.ArgumentParser) -> None:
    parser.add_argument("file", metavar="FILE", help="log with recorded starts, or a scenario file with such a log")
    add_reading(parser)
    parser.add_argument("--by", choices=LOG_GROUPINGS, help="how to group the jobs (default: by user where there are)")
    parser.add_argument(
        "--price", type=_usd, metavar="USD", help="price of a GPU in $ per hour (default: of the cluster's node types)"
    )
    parser.add_argument(
        "--core-price", type=_usd, metavar="USD", help="price of a core in $ per hour, for jobs without GPUs"
    )
    add_csv(parser, "one line per group, for --by or for all groupings")
    add_json(parser)


def _anonymise(parser: argparse.ArgumentParser) -> None:
    add_file(parser)
    parser.add_argument("out", metavar="OUT", help="copy to write: .csv or .parquet for jobs, .json or .toml for all")
    parser.add_argument(
        "--key", metavar="SECRET", help="secret that decides the new names; the same gives the same (default: random)"
    )


def add_keep_numbers(parser: argparse.ArgumentParser) -> None:
    """Add where numbers of runs are kept and known ones come from."""
    parser.add_argument(
        "--save",
        nargs="?",
        const="",
        metavar="STORE",
        help="reuse metrics of runs from a result store and save new ones there, without job tables (default store: "
        "DLSCHED_STORE, else ~/.dlsched/results.duckdb); put it after FILE",
    )


def add_compute_options(parser: argparse.ArgumentParser) -> None:
    """Add what :func:`dlsched.cli.study_command.opened` reads."""
    parser.add_argument(
        "--processes", type=whole(1), metavar="N", help="number of processes on this machine (default: one per core)"
    )
    parser.add_argument(
        "--dask",
        metavar="ADDRESS",
        help="compute on the workers of a Dask scheduler, as in tcp://host:8786 (default: DLSCHED_DASK)",
    )


def _compare(parser: argparse.ArgumentParser) -> None:
    _compared(parser)
    add_csv(parser, "one line per metric and policy")
    add_json(parser)


def _report(parser: argparse.ArgumentParser) -> None:
    _compared(parser)
    parser.add_argument(
        "--out", action="append", required=True, metavar="FILE", help="memo.html, .pptx or .xlsx; may be repeated"
    )
    parser.add_argument("--question", default="", metavar="TEXT", help="the question to be decided")
    parser.add_argument(
        "--recommendation", default="", metavar="TEXT", help="a recommendation of your own instead of the computed one"
    )
    parser.add_argument("--note", default="", metavar="TEXT", help="anything else the reader should know")
    parser.add_argument("--hide-names", action="store_true", help="show users and groups as A, B, C")
    parser.add_argument("--no-groups", action="store_true", help="leave out which users and groups gain or lose")
    add_json(parser)


def _compared(parser: argparse.ArgumentParser) -> None:
    add_file(parser)
    parser.add_argument(
        "--policies",
        type=names,
        required=True,
        metavar="A,B",
        help="2 to 6 policy keys; the command policies lists them",
    )
    parser.add_argument(
        "--set",
        action="append",
        default=[],
        metavar="KEY=VALUE",
        help="an option to compare, under the baseline's policy unless it names one: nodes=10, or "
        "nodes=10,policy=sjf; may be repeated, and then one policy is enough; for all keys: sweep FILE --vary "
        "?",
    )
    parser.add_argument(
        "--condition",
        action="append",
        default=[],
        metavar="KEY=VALUE",
        help="a condition that applies to all options: demand=1.3, or demand=1.3,prices=0.9",
    )
    add_futures(parser)
    parser.add_argument("--baseline", metavar="A", help="policy that the others are compared with (default: the first)")
    parser.add_argument(
        "--param", action="append", default=[], metavar="A.K=V", help="a parameter of policy A; may be repeated"
    )
    parser.add_argument(
        "--store",
        dest="save",
        nargs="?",
        const="",
        metavar="STORE",
        help="say how well a replay explains the log, from what calibrate --save kept in this result store (default "
        "store: DLSCHED_STORE, else ~/.dlsched/results.duckdb); put it after FILE",
    )
    add_compute_options(parser)
    _cluster(parser)


def add_futures(parser: argparse.ArgumentParser, *, varies: bool = True) -> None:
    """Add what :func:`dlsched.cli.goal.futures_of` reads; ``varies``: also what differs between futures."""
    parser.add_argument(
        "--futures",
        type=whole(0),
        metavar="N",
        help="number of futures in addition to future 0, which is the recorded trace or the first draw (default: 40 "
        "for a trace of 5 days or more, else 20)",
    )
    if varies:
        parser.add_argument(
            "--vary",
            action="append",
            metavar="KEY[=VALUE]",
            help="what varies between the futures of a recorded trace: days (default), run_time_spread=0.3, "
            "failures=500 (hours between failures), or none; may be repeated",
        )


def _cluster(parser: argparse.ArgumentParser) -> None:
    parser.add_argument("--nodes", type=whole(1), metavar="N", help="number of nodes")
    parser.add_argument("--gpus-per-node", type=whole(0), metavar="G", help="GPUs per node")
    parser.add_argument("--placement", choices=PLACEMENTS, help="how jobs are placed on nodes")
    parser.add_argument("--oversize", choices=OVERSIZE, help="what to do with jobs that are too large for the cluster")
    parser.add_argument(
        "--limits",
        choices=LIMITS,
        help="time limits: what policies believe a run time to be (default), of no account, or when a job is ended",
    )
    parser.add_argument("--price", type=_usd, metavar="USD", help="price of a node in $ per hour")


def add_whole_nodes(parser: argparse.ArgumentParser) -> None:
    """Add what :func:`dlsched.cli.whole_nodes.on_asked_nodes` reads."""
    parser.add_argument(
        "--whole-nodes",
        nargs="?",
        type=whole(1),
        const=0,
        metavar="N",
        help="run the jobs on N whole nodes of 8 GPUs and let their GPU counts change; put it after FILE",
    )


def _store(parser: argparse.ArgumentParser) -> None:
    parser.add_argument(
        "--store", metavar="FILE", help="result store (default: DLSCHED_STORE, else ~/.dlsched/results.duckdb)"
    )


def add_file(parser: argparse.ArgumentParser, *, nargs: str | None = None) -> None:
    """Add the file that a command reads."""
    parser.add_argument(
        "file", metavar="FILE", nargs=nargs, help="trace or scenario file, or the folder of an instance"
    )
    add_reading(parser)


def add_reading(parser: argparse.ArgumentParser) -> None:
    """Add what :func:`dlsched.cli.reading.options_typed` reads."""
    parser.add_argument(
        "--read",
        action="append",
        default=[],
        metavar="KEY=VALUE",
        help="how a trace is read: format=sacct, cpu_jobs=drop, mapping=columns.json; may be repeated",
    )
    parser.add_argument(
        "--cluster",
        metavar="NODES",
        help="file that describes the cluster of a trace: scontrol show nodes -o, slurm.conf, sinfo, pbsnodes, a node "
        "list",
    )


def add_csv(parser: argparse.ArgumentParser, rows: str) -> None:
    """Add a file for the rows of an answer."""
    parser.add_argument("--csv", metavar="OUT", help=f"also write {rows} to this file")


def add_json(parser: argparse.ArgumentParser) -> None:
    """Add the way to one JSON object."""
    parser.add_argument("--json", action="store_true", help="print one JSON object")
