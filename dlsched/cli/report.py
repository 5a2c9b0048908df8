"""``report``: the decision memo about policies and changes of one scenario, as HTML, PPTX or XLSX."""

from __future__ import annotations

from argparse import Namespace
from datetime import date
from pathlib import Path

from pandas import DataFrame

from dlsched.cli.compare import Compared, complaints, computed
from dlsched.cli.output import clear_line, print_json, printable
from dlsched.domain.errors import InputError
from dlsched.metrics.winners import Winners
from dlsched.report.alternatives import alternative_of, memo_cautions, memo_caveats, origin_of, taken_for_granted
from dlsched.report.evidence import winners_of
from dlsched.report.happened import happened_in
from dlsched.report.memo import Memo, build
from dlsched.report.write import content, kind_of
from dlsched.studies.code_version import code_version
from dlsched.studies.design import changed, in_full
from dlsched.studies.simulation import simulate
from dlsched.wording.caveats import mind_line, plain_caveats
from dlsched.wording.counted import counted_of


def run(options: Namespace) -> int:
    """Carry out the command; a failed audit is refused, 1 when a run failed."""
    kinds = {path: kind_of(path) for path in options.out}
    found = computed(options)
    if complaints(found) and found.violations:
        worst = found.violations[0]
        why = f"failed its audit at seed {worst.seed}: {worst.audit[0]}"
        raise InputError(f"policy {worst.policy}", why, "Leave the policy out and report the bug")
    memo = memo_of(found, options)
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


def memo_of(found: Compared, options: Namespace) -> Memo:
    """Return the memo of what was computed."""
    scenario = found.scenario
    origin, version = origin_of(scenario), code_version()
    compared = [
        alternative_of(name, [draw.metrics or {} for draw in draws], scenario, found.variants[name].policy,
                  found.variants[name].params, found.futures, origin=origin, code_version=version,
                  changes=found.variants[name].changes, condition=found.condition)
        for name, draws in found.draws.items()
    ]  # fmt: skip
    who, common = ((), None) if options.no_groups else _who(found, hide_names=options.hide_names)
    return build(
        compared,
        made_on=date.today(),
        question=options.question,
        recommended=options.recommendation,
        note=options.note,
        basis=found.basis,
        rents=scenario.cluster.free_slots,
        winners=who,
        caveats=memo_caveats(scenario, compared, found.trust),
        assumptions=taken_for_granted(scenario, compared, date.today()),
        cautions=memo_cautions(scenario, compared, common),
        happened=happened_in(scenario, hide_names=options.hide_names),
        counted=counted_of(scenario),
    )


def _who(found: Compared, *, hide_names: bool) -> tuple[tuple[Winners, ...], int]:
    """Return which groups gain and lose in the first futures, rerun for their jobs, and how many jobs all complete."""
    seeds = [found.futures.seeds[place] for place in in_full(found.basis, found.futures)]
    jobs = {name: [_jobs(found, name, seed) for seed in seeds] for name in found.draws}
    base, *names = jobs
    done = [set(first.loc[first["status"] == "completed", "job_id"]) for first, *_ in jobs.values()]
    exact = found.basis.kind != "drawn"
    who = winners_of(base, jobs[base], {name: jobs[name] for name in names}, exact=exact, hide_names=hide_names)
    return who, len(set.intersection(*done))


def _jobs(found: Compared, name: str, seed: int) -> DataFrame:
    variant = found.variants[name]
    changes = found.futures.changes_in(seed) | {**found.condition.changes, **variant.changes}
    return simulate(changed(found.scenario, changes, seed), variant.policy, variant.params, seed).jobs


def _write(path: str, data: bytes) -> None:
    try:
        Path(path).expanduser().write_bytes(data)
    except OSError as error:
        raise InputError(f"file {path}", f"cannot be written ({error.strerror})", "Give another path") from error
