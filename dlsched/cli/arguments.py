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
MOST_PARTS = 5000
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


def _port(text: str) -> int:
    number = int(text)
    if not 1 <= number <= 65_535:
        raise argparse.ArgumentTypeError(f"must be from 1 to 65535, got {text}")
    return number


_port.__name__ = "port"


def part_of(text: str) -> tuple[int, int]:
    """Return (3, 40) of "3/40"."""
    number, slash, of = (piece.strip() for piece in text.partition("/"))
    if not (slash and number.isdecimal() and of.isdecimal() and 1 <= int(number) <= int(of) <= MOST_PARTS):
        why = f"must be K/N with K from 1 to N and N up to {MOST_PARTS:,}, as in 3/40, got {text}"
        raise argparse.ArgumentTypeError(why)
    return int(number), int(of)


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
    "commit": "how many nodes to own or reserve and how many to rent, so that a year costs least",
    "calibrate": "replay a recorded trace and compare the result with its recorded starts",
    "fit": "learn a scheduler from the first half of a log and judge it on the second half",
    "queues": "a run with quotas by queue: use, loans, stopped jobs, waits by cause, and what more quota does",
    "when": "when the jobs of a queue start, with an interval for each, and what if one asked for less",
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
    _app(commands.add_parser("app", help="open the app in the browser; dlsched without a command does the same"))
    _simulate(commands.add_parser("simulate", help="run a trace or a scenario under a policy"))
    _policies(commands.add_parser("policies", help="list the policies, their parameters and needs"))
    _import(commands.add_parser("import", help="read a trace and report what was kept, repaired and dropped"))
    _runs(commands.add_parser("runs", help="list, show, export, import, delete and annotate saved runs"))
    _trail(commands.add_parser("trail", help="list who saved, changed, deleted or imported what"))
    _scenario(
        commands.add_parser("scenario", help="write a trace, generated jobs or another scenario as a scenario file")
    )
    _solve(commands.add_parser("solve", help="solve instances of one problem read from standard input"))
    _reproduce(commands.add_parser("reproduce", help="recompute a figure or table of a paper"))
    for name, text in STUDIES.items():
        parser_of = commands.add_parser(name, help=text)
        if name == command:
            import_module(f"dlsched.cli.{name.replace('-', '_')}").add_arguments(parser_of)
    _merge(commands.add_parser("merge", help="put the parts of a sweep together that sweep --part wrote"))
    _history(commands.add_parser("history", help="what a recorded log says: waits, hours used, cost, idle hours"))
    _anonymise(commands.add_parser("anonymise", help="write a copy of a log or scenario without names and dates"))
    _new_policy(commands.add_parser("new-policy", help="write a small project with a policy of your own, ready to run"))
    _compare(commands.add_parser("compare", help="compare policies and changes with a baseline, in the same futures"))
    _report(commands.add_parser("report", help="write a decision memo: HTML, PPTX or XLSX"))
    return parser


def _app(parser: argparse.ArgumentParser) -> None:
    parser.add_argument("--port", type=_port, metavar="N", help="first port to try, then the next ones (default: 8501)")
    parser.add_argument("--address", metavar="IP", help="IPv4 address to serve (default: 127.0.0.1, this machine)")
    parser.add_argument("--base-path", metavar="PATH", help="path below which a proxy serves the app, as in /dlsched")
    parser.add_argument("--read-only", action="store_true", help="open the store for reading: no user can change it")
    _config(parser)
    parser.add_argument("--no-browser", action="store_true", help="do not open a browser")
    parser.add_argument(
        "--plugin", action="append", default=[], metavar="MODULE:NAME",
        help="policy, reader or speed model of your own for the app and its workers; may be repeated (adds to "
        "DLSCHED_PLUGINS)",
    )  # fmt: skip
    _store(parser)


def _simulate(parser: argparse.ArgumentParser) -> None:
    add_file(parser)
    parser.add_argument(
        "--policy",
        required=True,
        metavar="KEY",
        help="key of the policy, or module:NAME for your own; the command policies lists them",
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
    parser.add_argument("policies", metavar="KEY", nargs="*", help="only these; module:NAME for one of your own")
    add_json(parser)


def _import(parser: argparse.ArgumentParser) -> None:
    parser.add_argument(
        "file",
        metavar="FILE",
        help="trace file, plain or compressed, the folder of an instance, or a sample, as in sample:campus",
    )
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
        "note": "set the note of a run",
    }
    for name, text in texts.items():
        action = actions.add_parser(name, help=text)
        if name in {"show", "note"}:
            action.add_argument("run_id", metavar="ID")
        if name == "note":
            action.add_argument("text", metavar="TEXT", help='at most 4,000 characters; "" for none')
        if name in {"export", "delete", "restore"}:
            action.add_argument("run_ids", metavar="ID", nargs="+")
        if name == "export":
            action.add_argument("--out", required=True, metavar="FILE", help="output file, usually .zip")
        if name == "import":
            action.add_argument("file", metavar="FILE")
        _store(action)
        add_json(action)


def _trail(parser: argparse.ArgumentParser) -> None:
    parser.add_argument("--user", metavar="NAME", help="only changes of this user")
    parser.add_argument("--action", metavar="ACTION", help="only this action, as in saved, deleted or imported")
    parser.add_argument(
        "--kind", metavar="KIND", help="only changes of runs, scenarios, ...: run, scenario, experiment, setting"
    )
    parser.add_argument(
        "--limit", type=whole(1), default=100, metavar="N", help="number of changes, the newest first (default: 100)"
    )
    _store(parser)
    add_json(parser)


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
    parser.add_argument("--write", metavar="OUT", help="scenario file to write: .json or .toml")
    parser.add_argument(
        "--schema",
        action="store_true",
        help="print the JSON Schema of scenario files instead, for editors and for programs that write them",
    )


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
    add_compute_options(parser)
    add_json(parser)


def _merge(parser: argparse.ArgumentParser) -> None:
    parser.add_argument(
        "files", metavar="PART", nargs="+", help="files that sweep --part K/N --out wrote, all N of them"
    )
    parser.add_argument(
        "--save",
        nargs="?",
        const="",
        metavar="STORE",
        help="keep the metrics of the runs in a result store, where sweep --save and the app find them (default store: "
        "DLSCHED_STORE, else ~/.dlsched/results.duckdb); put it after the files",
    )
    add_csv(parser, "one line per run")
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


def _new_policy(parser: argparse.ArgumentParser) -> None:
    parser.add_argument("name", metavar="NAME", help="name of the module: small letters, digits and _")
    parser.add_argument("--folder", default=".", metavar="DIR", help="where to make its folder (default: here)")


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
        help="compute on the workers of a Dask scheduler: tcp://host:8786, tls://host:8786 or its file scheduler.json "
        "(default: DLSCHED_DASK)",
    )
    parser.add_argument(
        "--dask-wait",
        metavar="TIME",
        help="how long to wait for workers, as in 30m; 0 = do not wait (default: DLSCHED_DASK_WAIT, else 10 min)",
    )
    for name, what in (("ca", "CA certificate"), ("cert", "certificate"), ("key", "key of the certificate")):
        parser.add_argument(
            f"--dask-{name}",
            metavar="FILE",
            help=f"{what} for tls:// (default: DLSCHED_DASK_{name.upper()}, else Dask's configuration)",
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
        help="2 to 6 policy keys, or module:NAME for your own; the command policies lists them",
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
        help="say how well a replay explains the log, from what fit --save or calibrate --save kept in this result "
        "store (default store: DLSCHED_STORE, else ~/.dlsched/results.duckdb); put it after FILE",
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
        "for a trace of 5 days or more, else 20; 19 in compare where the baseline is slurm on a recorded log)",
    )
    if varies:
        parser.add_argument(
            "--vary",
            action="append",
            metavar="KEY[=VALUE]",
            help="what varies between the futures of a recorded trace: days (default), run_time_spread=0.3, "
            "failures=500 (hours between failures), shaking (run times up to a second longer, usual in compare where "
            "the baseline is slurm on a recorded log), or none; may be repeated",
        )


def _cluster(parser: argparse.ArgumentParser) -> None:
    parser.add_argument("--nodes", type=whole(1), metavar="N", help="number of nodes")
    parser.add_argument("--gpus-per-node", type=whole(0), metavar="G", help="GPUs per node")
    parser.add_argument("--placement", choices=PLACEMENTS, help="how jobs are placed on nodes")
    parser.add_argument("--oversize", choices=OVERSIZE, help="what to do with jobs that are too large for the cluster")
    parser.add_argument(
        "--limits",
        choices=LIMITS,
        help="time limits: what policies believe a run time to be (default), of no account, or when a job is ended "
        "(with Slurm: OverTimeLimit later)",
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


def _config(parser: argparse.ArgumentParser) -> None:
    parser.add_argument(
        "--config",
        metavar="FILE",
        help="server, login and roles (default: DLSCHED_CONFIG, else ~/.dlsched/config.toml)",
    )


def _store(parser: argparse.ArgumentParser) -> None:
    parser.add_argument(
        "--store", metavar="FILE", help="result store (default: DLSCHED_STORE, else ~/.dlsched/results.duckdb)"
    )


def add_file(parser: argparse.ArgumentParser, *, nargs: str | None = None) -> None:
    """Add the file that a command reads."""
    parser.add_argument(
        "file",
        metavar="FILE",
        nargs=nargs,
        help="trace or scenario file, the folder of an instance, or a sample, as in sample:campus",
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
    parser.add_argument(
        "--queues",
        action="append",
        default=[],
        metavar="FILE",
        help="file with queues of Kueue and their quotas, as kubectl prints them in YAML or JSON; may be repeated",
    )
    _slurm(parser)
    parser.add_argument(
        "--energy",
        action="append",
        default=[],
        metavar="KEY=VALUE",
        help="count energy: pue=1.2, usd_per_kwh=0.15, g_per_kwh=380, hours=FILE (a CSV by the hour), H100=105:700 (W "
        "of a GPU, idle and busy); may be repeated",
    )


def _slurm(parser: argparse.ArgumentParser) -> None:
    parser.add_argument(
        "--slurm",
        action="append",
        default=[],
        metavar="FILE",
        help="file with settings of Slurm: slurm.conf, scontrol show config, partition or res, sacctmgr show qos -P, "
        "sacctmgr show assoc -P, sshare -a -l -P; may be repeated",
    )


def add_csv(parser: argparse.ArgumentParser, rows: str) -> None:
    """Add a file for the rows of an answer."""
    parser.add_argument("--csv", metavar="OUT", help=f"also write {rows} to this file")


def add_json(parser: argparse.ArgumentParser) -> None:
    """Add the way to one JSON object."""
    parser.add_argument("--json", action="store_true", help="print one JSON object")
