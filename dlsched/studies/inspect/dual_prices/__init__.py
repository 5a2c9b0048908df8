"""Runs of PD-ORS and OASiS worked out again: decisions with their prices, and the best in hindsight of tiny cases."""

from dlsched.studies.inspect.dual_prices.answer import Hindsight, PricedRun
from dlsched.studies.inspect.dual_prices.hindsight import run_hindsight, why_not
from dlsched.studies.inspect.dual_prices.run import run_dual_prices
from dlsched.studies.inspect.dual_prices.spec import DualPricesSpec
from dlsched.studies.inspect.dual_prices.words import admitted_words, hindsight_words
from dlsched.studies.inspect.re_execute import check_scenario
from dlsched.studies.study import Study, one_piece

__all__ = ["HINDSIGHT_STUDY", "STUDY", "DualPricesSpec", "run_dual_prices", "run_hindsight", "why_not"]

REPLAY_S, HINDSIGHT_S = 2.0, 10.0
"""CPU seconds of a run with its prices, and of the best in hindsight of a case as large as it takes, about."""

STUDY = Study(
    kind="prices",
    label="Prices",
    page="Run details",
    spec=DualPricesSpec,
    answer=PricedRun,
    check=check_scenario,
    run=one_piece(run_dual_prices),
    estimate_s=lambda spec, scenario=None: REPLAY_S,
    words=admitted_words,
    sources=("studies/inspect/dual_prices",),
)
HINDSIGHT_STUDY = Study(
    kind="hindsight",
    label="Best in hindsight",
    page="Run details",
    spec=DualPricesSpec,
    answer=Hindsight,
    check=check_scenario,
    run=one_piece(run_hindsight),
    estimate_s=lambda spec, scenario=None: HINDSIGHT_S,
    words=hindsight_words,
    sources=("studies/inspect/dual_prices",),
)
