"""Accounting logs on the page Jobs: dropped, read, with the choices of their format."""

T0 = 1_700_000_000
PBS = "\n".join(
    f"11/14/2023 23:30:05;E;{job}.head;user=ann group=lab queue=gpu ctime={T0 + job} etime={T0 + job} "
    f"start={T0 + 60 + job} exec_host=n{job}/0-7 Resource_List.nodes=1:ppn=8:gpus=2 "
    f"Resource_List.walltime=01:00:00 end={T0 + 660 + job} Exit_status=0"
    for job in range(1, 6)
)
SGE = "\n".join(
    f"all.q:n1:staff:ann:train:{job}:sge:0:{T0 + job}:{T0 + 60 + job}:{T0 + 660 + job}:0:0:600:{'0:' * 17}NONE:none:"
    "smp:4:0:1:1:0:-l gpu=1,h_rt=3600 -pe smp 4:0:NONE:1:0:0"
    for job in range(1, 6)
)


def drop(open_page, text):
    app = open_page("scenario/jobs.py", source="Upload")
    return app.file_uploader(key="upload").upload("jobs.log", text.encode(), "application/octet-stream").run()


def test_a_pbs_log_is_read(open_page):
    app = drop(open_page, PBS)
    assert not app.exception
    assert not app.error
    assert app.button(key="use-jobs").label == "Use these 5 jobs"


def test_gpus_of_grid_engine_may_count_by_slot(open_page):
    app = drop(open_page, SGE)
    assert not app.exception
    assert app.button(key="use-jobs").label == "Use these 5 jobs"
    choice = next(box for box in app.selectbox if box.label == "GPUs are asked for by")
    assert list(choice.options) == ["job", "slot"]
    app = choice.set_value("slot").run()
    assert not app.exception
    assert app.button(key="use-jobs").label == "Use these 5 jobs"
