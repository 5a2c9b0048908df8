from dlsched.ui.frame import loaders, page
from dlsched.ui.results import dual_prices_view, dual_prices_work

page.begin("Prices and admissions", url=("scenario", "run"))
replays = dual_prices_work.REPLAYS
found = replays.runs()
replays.refuse_unknown(found, "Show the newest run that books at prices")
if found.empty:
    replays.offer_demo(
        "No run of this scenario books at prices. PD-ORS and OASiS do, for jobs with parameter servers and utility "
        "functions: run one here, or open the sample: 50 jobs on 30 machines under four policies, some seconds.",
        "Run the sample of jobs that book machines", dual_prices_work.run_demo,
    )  # fmt: skip

run_id = replays.run_of(found)
info, scenario = loaders.info(run_id), loaders.scenario_of(run_id)
stale = bool(found.loc[found["run_id"] == run_id, "stale"].iloc[0])
dual_prices_view.choose_run(info, found)
places = dual_prices_work.bring(
    "prices",
    info,
    replays.work,
    lambda plain: dual_prices_view.whole_run(dual_prices_work.priced(info, plain), info, scenario, stale=stale),
    at_once=True,
)
work = replays.work
if not places and dual_prices_work.answer("prices", info) is not None:
    places = dual_prices_view.hindsight(info, scenario, int(info.params["horizon_slots"]))
    work = dual_prices_work.HINDSIGHT
dual_prices_view.how()
if places:
    work.follow(places)
