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
from typing import TYPE_CHECKING, Any, Literal, TypeVar, get_args, get_origin

from pydantic import BaseModel
from pydantic.fields import FieldInfo

from dlsched.cli.arguments import names, whole, whole_numbers
from dlsched.cli.output import clear_line, print_json, printable, progress_line, write_csv
from dlsched.domain.errors import InputError
from dlsched.domain.scenario import Scenario
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
    """Return what a calibration in the store of ``--save`` says of a scenario; None without one."""
    from dlsched.studies.calibration.stored import trust_in

    with kept(options) as store:
        return None if store is None else trust_in(store, scenario, policy)


@contextmanager
def opened(options: Namespace) -> Iterator[Executor | None]:
    """Give what ``--processes`` and ``--dask`` name; None = here, one after the other.

    Raises
    ------
    InputError
        If both were typed, or as :func:`dlsched.runner.executor.open_pool`.
    """
    dask, processes = getattr(options, "dask", None), getattr(options, "processes", None)
    if dask is not None and processes is not None:
        why = f"cannot be combined with --processes {processes}: the Dask cluster has its own workers"
        raise InputError(f"--dask {dask}", why, "Give one of them")
    if processes == 1:
        yield None
        return
    with open_pool(dask, processes).executor as executor:
        yield executor


@contextmanager
def kept(options: Namespace) -> Iterator[Store | None]:
    """Give the store that ``--save`` names, None without it; before the runs, as another process may hold it."""
    if getattr(options, "save", None) is None:
        yield None
        return
    from dlsched.store import Store

    with Store(options.save or None) as store:
        yield store
