"""What the commands that ask a study have in common: flags from the fields of its question, where to compute, answers.

A command is a module with ``add_arguments(parser)`` and ``run(options)``; it says which fields can be typed and what a
person is shown.
"""

from __future__ import annotations

import sys
from argparse import ArgumentParser, Namespace
from collections.abc import Callable, Iterator, Mapping, Sequence
from concurrent.futures import Executor
from contextlib import contextmanager
from dataclasses import replace
from typing import TYPE_CHECKING, Any, Literal, TypeVar, get_args, get_origin

from pydantic import BaseModel
from pydantic.fields import FieldInfo

from dlsched.cli.arguments import names, whole, whole_numbers
from dlsched.cli.output import clear_line, print_json, printable, progress_line, waiting_line, write_csv
from dlsched.domain.errors import InputError
from dlsched.domain.scenario import Scenario
from dlsched.runner.dask_access import DaskAccess, read_wait
from dlsched.runner.executor import open_pool
from dlsched.studies.study import PlainAnswer, Study
from dlsched.wording.caveats import Caveat

if TYPE_CHECKING:
    from dlsched.store import Store

S = TypeVar("S", bound=BaseModel)
A = TypeVar("A", bound=PlainAnswer)


def add_flags(parser: ArgumentParser, spec: type[BaseModel], metavars: Mapping[str, str], **called: str) -> None:
    """Add an option for each field of a question that is named: type, choices, default and help are the field's.

    ``metavars``: what stands for the value in the help, by field; ``called``: options that are not called as their
    field is.
    """
    for name, metavar in metavars.items():
        field, flag = spec.model_fields[name], f"--{called.get(name, name).replace('_', '-')}"
        kind, default = field.annotation, field.get_default()
        if kind is bool:
            parser.add_argument(flag, dest=name, action="store_true", help=field.description)
            continue
        told = ",".join(map(str, default)) if isinstance(default, tuple) else default
        usual = "" if field.is_required() or told in (None, "") else f" (default: {told})"
        help_text = f"{field.description}{usual}".replace("%", "%%")
        if get_origin(kind) is Literal:
            parser.add_argument(flag, dest=name, choices=get_args(kind), help=help_text)
        else:
            parser.add_argument(flag, dest=name, type=_reader(field), metavar=metavar, help=help_text)


def _reader(field: FieldInfo) -> Callable[[str], Any]:
    """Return what reads the text of a field; the model checks what is not checked here."""
    kind = field.annotation
    if get_origin(kind) is tuple:
        item = get_args(kind)[0]
        return whole_numbers if item is int or int in get_args(item) else names
    if kind is int:
        return whole(next((bound.ge for bound in field.metadata if hasattr(bound, "ge")), 0))
    return float if kind is float else str


def typed(options: Namespace, spec: type[BaseModel]) -> dict[str, Any]:
    """Return the fields of a question that were typed."""
    given = {name: getattr(options, name, None) for name in spec.model_fields}
    return {name: value for name, value in given.items() if value is not None}


def answer_to(study: Study[S, A], spec: S, scenario: Any, options: Namespace) -> A:
    """Return the answer to a question, computed where the options say; runs that a store knows come from there."""
    study.check(spec, scenario)
    with kept(options) as store, opened(options) as executor:
        return study.run(spec, scenario, executor, store, progress_line(options.json))


def tell(
    options: Namespace,
    plain: Mapping[str, Any],
    show: Callable[[], None],
    rows: Callable[[], Sequence[Mapping[str, Any]]] | None = None,
) -> None:
    """Print an answer as the options say: as JSON, or as ``show`` does; its rows also into the file of ``--csv``."""
    if rows is not None and options.csv:
        write_csv(rows(), options.csv)
    if options.json:
        print_json(plain)
    else:
        clear_line()
        show()


def complain(*texts: str) -> int:
    """Say on standard error what is wrong with an answer; return the exit status, 1 if there is anything."""
    told = [text for text in texts if text]
    for text in told:
        print(f"dlsched: {printable(text)}", file=sys.stderr)
    return 1 if told else 0


def known_trust(scenario: Scenario, policy: str, options: Namespace) -> Caveat | None:
    """Return what a fit or calibration in the store of ``--save`` says of a scenario; None without one."""
    from dlsched.studies.stored_trust import trust_in

    with kept(options, writes=False) as store:
        return None if store is None else trust_in(store, scenario, policy)


@contextmanager
def opened(options: Namespace) -> Iterator[Executor | None]:
    """Give what ``--processes`` and ``--dask`` name; None = here, one after the other.

    Waiting for the workers of a Dask cluster is told on standard error.

    Raises
    ------
    InputError
        If both were typed, as :func:`dask_named`, or as :func:`dlsched.runner.executor.open_pool`.
    """
    processes = getattr(options, "processes", None)
    access = dask_named(options)
    if processes == 1:
        yield None
        return
    told = waiting_line()
    if access is not None:
        access.wait_for_file(told)
    pool = open_pool(access, processes)
    if access is not None:
        where = f"waiting for workers of {access.address}: "
        pool.on_change(lambda: told(where + pool.waiting if pool.waiting else ""))
    with pool.executor as executor:
        yield executor


def dask_named(options: Namespace) -> DaskAccess | None:
    """Return the Dask cluster that was typed, else that of the variables; None = this machine.

    Raises
    ------
    InputError
        If ``--processes`` was typed too, for options of a cluster without one, or a time to wait that is none.
    """
    typed = {name: getattr(options, f"dask_{name}", None) for name in ("wait", "ca", "cert", "key")}
    given = {name: text for name, text in typed.items() if text is not None}
    address, processes = getattr(options, "dask", None), getattr(options, "processes", None)
    if address is not None and processes is not None:
        why = f"cannot be combined with --processes {processes}: the Dask cluster has its own workers"
        raise InputError(f"--dask {address}", why, "Give one of them")
    if address is not None:
        access: DaskAccess | None = DaskAccess.at(address)
    else:
        access = DaskAccess.configured() if processes is None else None
    if access is None:
        for name, text in given.items():
            raise InputError(f"--dask-{name} {text}", "needs a Dask cluster", "Give --dask ADDRESS too")
        return None
    if (wait := given.pop("wait", None)) is not None:
        access = replace(access, wait_s=read_wait(f"--dask-wait {wait}", wait))
    return replace(access, **given)


@contextmanager
def kept(options: Namespace, *, writes: bool = True) -> Iterator[Store | None]:
    """Give the store that ``--save`` names, None without it; before the runs, as it may refuse to be written to."""
    if getattr(options, "save", None) is None:
        yield None
        return
    from dlsched.cli.store import open_store

    with open_store(options.save or None, writes=writes) as store:
        yield store
