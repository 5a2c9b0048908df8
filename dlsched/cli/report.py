"""``report``: the decision memo about policies and changes of one scenario, as HTML, PPTX or XLSX."""

from __future__ import annotations

from argparse import Namespace
from pathlib import Path

from dlsched.cli.compare import complaints, computed
from dlsched.cli.output import clear_line, print_json, printable
from dlsched.domain.errors import InputError
from dlsched.report.compared_memo import memo_of
from dlsched.report.write import content, kind_of
from dlsched.wording.caveats import mind_line, plain_caveats


def run(options: Namespace) -> int:
    """Carry out the command; a failed audit is refused, 1 when a run failed."""
    kinds = {path: kind_of(path) for path in options.out}
    found = computed(options)
    complaints(found)
    memo = memo_of(
        found,
        question=options.question,
        recommendation=options.recommendation,
        note=options.note,
        hide_names=options.hide_names,
        groups=not options.no_groups,
    )
    for path, kind in kinds.items():
        _write(path, content(memo, kind))
    if options.json:
        words = {
            "question": memo.question,
            "recommendation": memo.recommendation,
            "condition": memo.condition.changes,
            "advice": {"kind": memo.advice.kind, "option": memo.advice.option},
            "labels": memo.labels,
            "caveats": plain_caveats(memo.caveats),
        }
        print_json({**words, "certainty": memo.certainty, "scenario_hash": memo.origin.scenario_hash,
                    "files": list(kinds)})  # fmt: skip
    else:
        clear_line()
        print(memo.recommendation)
        if memo.labels:
            print(printable(mind_line(memo.labels)))
        for path in kinds:
            print(f"written: {path}")
    return 1 if found.failed else 0


def _write(path: str, data: bytes) -> None:
    try:
        Path(path).expanduser().write_bytes(data)
    except OSError as error:
        raise InputError(f"file {path}", f"cannot be written ({error.strerror})", "Give another path") from error
