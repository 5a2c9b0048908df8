"""``trail``: who changed what in the store."""

from __future__ import annotations

from argparse import Namespace

from dlsched.cli.output import print_json, print_table
from dlsched.cli.store import open_store

COLUMNS = ("done (UTC)", "user", "action", "kind", "id", "detail")


def run(options: Namespace) -> int:
    """Carry out the command."""
    with open_store(options.store, writes=False) as store:
        rows = store.trail(options.user, options.action, options.kind, limit=options.limit).to_dict("records")
    if options.json:
        print_json({"trail": rows})
    elif not rows:
        print("No changes yet." if options.user is options.action is options.kind is None else "No such changes.")
    else:
        print_table(COLUMNS, [(f"{row['done_at']:%Y-%m-%d %H:%M:%S}", *list(row.values())[1:]) for row in rows])
    return 0
