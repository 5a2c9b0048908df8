"""From the command typed to its exit status: 0 done, 2 bad input, 1 anything else; one line on standard error."""

from __future__ import annotations

import os
import sys
import tempfile
import traceback
from argparse import Namespace
from collections.abc import Iterator, Sequence
from contextlib import contextmanager
from importlib import import_module

from dlsched.cli.arguments import build_parser
from dlsched.cli.references import load_references

_MODULES = {"import": "importing"}
"""Commands whose module is not called as they are."""


def main(args: Sequence[str]) -> int:
    """Run one command and return its exit status."""
    for stream in (sys.stdout, sys.stderr):
        if hasattr(stream, "reconfigure"):
            stream.reconfigure(errors="replace")  # a terminal that lacks a letter must not end the run
    typed = args or ["app"]
    parser = build_parser(next((text for text in typed if not text.startswith("-")), ""))
    options = parser.parse_args(typed)
    if options.version:
        import dlsched

        print(dlsched.__version__)
        return 0
    if options.command is None:
        parser.error("no command given")
    if options.command == "app":  # the server that takes over this process writes where it likes
        return _carry_out(options)
    with _answers_only():
        return _carry_out(options)


@contextmanager
def _answers_only() -> Iterator[None]:
    """Keep standard output for our answers: what libraries write there goes to standard error (solvers do at times)."""
    given = sys.__stdout__
    if given is None or sys.stdout is not given or given.fileno() != 1:  # a caller's own stream
        yield
        return
    given.flush()
    with os.fdopen(os.dup(1), "w", encoding=given.encoding, errors="replace") as ours:
        ours.reconfigure(line_buffering=ours.isatty())
        os.dup2(2, 1)
        sys.stdout = ours
        try:
            yield
        finally:
            ours.flush()
            os.dup2(ours.fileno(), 1)
            sys.stdout = given


def _carry_out(options: Namespace) -> int:
    from dlsched.domain.errors import DlschedError, InputError

    module = _MODULES.get(options.command, options.command.replace("-", "_"))
    try:
        load_references(options)
        status: int = import_module(f"dlsched.cli.{module}").run(options)
        sys.stdout.flush()
        return status
    except InputError as error:
        return _complain(str(error), 2)
    except DlschedError as error:
        return _complain(str(error), 1)
    except KeyboardInterrupt:
        return _complain("stopped", 130)
    except BrokenPipeError:  # the reader, such as `head`, has seen enough
        os.dup2(os.open(os.devnull, os.O_WRONLY), sys.stdout.fileno())
        return 0
    except Exception as error:
        summary = f"unexpected {type(error).__name__}: {error}"
        return _complain(
            f"{summary}. Details are in {_keep_details()}; please report them together with the command", 1
        )


def _complain(message: str, status: int) -> int:
    print(f"dlsched: {' '.join(message.split())}", file=sys.stderr)
    return status


def _keep_details() -> str:
    """Write the traceback to a file of its own and return its path."""
    with tempfile.NamedTemporaryFile(
        "w", prefix="dlsched-error-", suffix=".txt", delete=False, encoding="utf-8"
    ) as file:
        traceback.print_exc(file=file)
    return file.name
