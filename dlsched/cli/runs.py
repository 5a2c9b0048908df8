"""``runs``: the kept runs."""

from __future__ import annotations

from argparse import Namespace
from dataclasses import asdict
from pathlib import Path
from typing import Any

from dlsched.cli.output import print_json, print_metrics, print_table, printable
from dlsched.cli.store import open_store
from dlsched.domain.errors import InputError
from dlsched.metrics.kpi import KPIS
from dlsched.store import Store
from dlsched.studies.code_version import code_version, plugin_versions
from dlsched.wording.counted import counted_of
from dlsched.wording.formats import amount

WRITING = ("import", "delete", "restore", "note")
_SHOWN = ("wait_p95", "late_share", "cost_month")


def run(options: Namespace) -> int:
    """Carry out the command."""
    actions = {
        "list": _list,
        "show": _show,
        "export": _export,
        "import": _import,
        "delete": _delete,
        "restore": _restore,
        "note": _set_note,
    }
    with open_store(options.store, writes=options.action in WRITING) as store:
        actions[options.action](store, options)
    return 0


def _list(store: Store, options: Namespace) -> None:
    frame = store.list_runs(code_version=code_version(), plugins=plugin_versions())
    rows: list[dict[str, Any]] = [{str(k): _present(v) for k, v in row.items()} for row in frame.to_dict("records")]
    if options.json:
        print_json({"runs": rows})
        return
    if not rows:
        print("No runs yet. Save one with: dlsched simulate FILE --policy fifo --save")
        return
    header = ("run", "scenario", "policy", "seed", *(KPIS[key].label for key in _SHOWN), "audit", "made (UTC)", "note")
    print_table(header, [_line(row) for row in rows])


def _present(value: Any) -> Any:
    """Return None for the several ways a frame says "nothing here"."""
    return None if value is None or value != value or str(value) in {"NaT", "<NA>"} else value


def _line(row: dict[str, Any]) -> tuple[Any, ...]:
    version = f" v{int(row['version'])}" if row["version"] is not None else ""
    stored = row["state"] == "stored"
    numbers = [KPIS[key].show(row[key]) if stored else "" for key in _SHOWN]
    audit = ("clean" if row["violations"] == 0 else amount(int(row["violations"]), "violation")) if stored else ""
    name = row["run_id"] if stored else f"({row['state']}, nothing saved)"
    note = (row["note"] or "") + (" [older version]" if row["stale"] else "")
    made = f"{row['created_at']:%Y-%m-%d %H:%M}"
    return name, f"{row['scenario_name']}{version}", row["policy"], row["seed"], *numbers, audit, made, note


def _show(store: Store, options: Namespace) -> None:
    info, metrics = store.run_info(options.run_id), store.metrics(options.run_id)
    if options.json:
        print_json({**asdict(info), "metrics": metrics})
        return
    print(f"run {info.run_id}: {info.policy} on {printable(info.scenario_name)}, seed {info.seed}, {info.params}")
    print(f"made {info.created_at:%Y-%m-%d %H:%M} UTC with {info.code_version} in {info.wall_s:.1f} s")
    if info.plugin:
        print(f"plug-in: {printable(info.plugin)}")
    if info.note:
        print(f"note: {printable(info.note)}")
    print_metrics(metrics, counted_of(store.get_scenario(info.scenario_hash)))
    print("audit: " + ("clean" if not info.audit else amount(len(info.audit), "violation")))
    for line in info.audit:
        print(f"  {printable(line)}")


def _export(store: Store, options: Namespace) -> None:
    content = store.export_runs(options.run_ids)
    path = Path(options.out).expanduser()
    try:
        path.write_bytes(content)
    except OSError as error:
        raise InputError(f"file {path}", f"cannot be written ({error.strerror})", "Choose another path") from error
    _tell(
        options, {"file": str(path), "bytes": len(content)}, f"{amount(len(options.run_ids), 'run')} written to {path}"
    )


def _import(store: Store, options: Namespace) -> None:
    path = Path(options.file).expanduser()
    try:
        content = path.read_bytes()
    except OSError as error:
        raise InputError(f"file {path}", f"cannot be read ({error.strerror})", "Check the path") from error
    report = store.import_runs(content)
    _tell(
        options,
        asdict(report),
        f"{amount(len(report.added), 'run')} imported, {len(report.known):,} already in the store",
    )


def _delete(store: Store, options: Namespace) -> None:
    for run_id in options.run_ids:
        store.run_info(run_id)  # says so when there is none
    store.delete_runs(options.run_ids)
    _tell(
        options, {"deleted": options.run_ids}, f"{amount(len(options.run_ids), 'run')} deleted; to undo: runs restore"
    )


def _restore(store: Store, options: Namespace) -> None:
    store.restore_runs(options.run_ids)
    for run_id in options.run_ids:
        store.run_info(run_id)
    _tell(options, {"restored": options.run_ids}, f"{amount(len(options.run_ids), 'run')} restored")


def _set_note(store: Store, options: Namespace) -> None:
    store.set_note(options.run_id, options.text)
    _tell(options, {"run_id": options.run_id, "note": options.text}, f"note of run {options.run_id} saved")


def _tell(options: Namespace, answer: dict[str, Any], sentence: str) -> None:
    if options.json:
        print_json(answer)
    else:
        print(printable(sentence))
