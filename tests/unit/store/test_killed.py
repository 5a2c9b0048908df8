"""A process killed at any point leaves whole runs only."""

import os
import random
import signal
import subprocess
import sys
import time

from dlsched.store import Store

WRITER = """
import sys
from dlsched.store import Store
from tests.support.runs_for_store import record, small_scenario
scenario = small_scenario(3000)
with Store(sys.argv[1]) as store:
    for seed in range(int(sys.argv[2]), 10**6):
        store.mark_running([record(scenario, seed=seed).label])
        store.save_run(record(scenario, seed=seed))
        print(seed, flush=True)
"""


def test_kill_9_at_random_points(tmp_path):
    path = tmp_path / "s.duckdb"
    dice = random.Random(4)
    kept = 0
    for turn in range(3):
        process = subprocess.Popen(
            [sys.executable, "-c", WRITER, path, str(1000 * turn)],
            stdout=subprocess.PIPE,
            text=True,
            env=os.environ | {"PYTHONPATH": "."},
        )
        assert process.stdout is not None
        done = [process.stdout.readline() for _ in range(1 + dice.randrange(2))]
        time.sleep(dice.random() * 0.2)
        process.send_signal(signal.SIGKILL)
        process.wait()
        process.stdout.close()
        with Store(path) as store:
            frame = store.list_runs()
            stored = frame[frame["state"] == "stored"]
            assert len(stored) >= kept + len(done)
            kept = len(stored)
            for run_id in stored["run_id"]:
                assert len(store.jobs(run_id)) == len(store.segments(run_id)) == 3000
                assert store.metrics(run_id)["jobs"] == 3000
            with store._reading() as cursor:
                orphans = "SELECT count(*) FROM segments WHERE run_no NOT IN (SELECT run_no FROM runs)"
                assert cursor.execute(orphans).fetchall() == [(0,)]
            assert (frame["state"] != "stored").sum() <= turn + 1
