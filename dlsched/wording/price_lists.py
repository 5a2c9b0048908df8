"""What a price list says, in a sentence: how many types, from what to what, of when; and owning against renting."""

from __future__ import annotations

from datetime import date

from dlsched.domain.cluster import Cluster
from dlsched.wording.formats import amount, price, share
from dlsched.workload.prices.owned import OwnedNode
from dlsched.workload.prices.price_list import Offer, PriceList, price_paid, stale_days, usd_per_gpu_h


def price_sentence(prices: PriceList) -> str:
    """Return "12 types, $0.35 to $4.10 per GPU-hour. List prices of 2026-03-01: example price, not a quote."."""
    used = prices.used
    if not used:
        return "No machine type to rent: tick one, or import a price list."
    per_gpu = [value for offer in used if (value := usd_per_gpu_h(price_paid(offer, prices), offer.gpus)) is not None]
    of_all = f" of {len(prices.offers):,}" if len(used) < len(prices.offers) else ""
    size = f"{len(used):,}{of_all} {'type' if len(prices.offers) == 1 else 'types'}"
    if per_gpu:
        low, high = price(min(per_gpu), "")[:-1], price(max(per_gpu), "")[:-1]
        size += f", {low} per GPU-hour" if low == high else f", {low} to {high} per GPU-hour"
    return f"{size}. {_kind(prices)} {_when(used)}: {_sources(used)}."


def _kind(prices: PriceList) -> str:
    if prices.use_spot and any(offer.spot_usd_per_h for offer in prices.used):
        return "Spot prices where known, of"
    off = {provider for offer in prices.used if prices.discounts.get(provider := offer.provider)}
    return "Prices after discounts, lists of" if off else "List prices of"


def _when(offers: tuple[Offer, ...]) -> str:
    days = sorted({offer.as_of for offer in offers if offer.as_of})
    if not days:
        return "unknown date"
    span = str(days[0]) if len(days) == 1 else f"{days[0]} to {days[-1]}"
    return span if all(offer.as_of for offer in offers) else f"{span}, some without a date"


def _sources(offers: tuple[Offer, ...]) -> str:
    found = list(dict.fromkeys(offer.source or "no source" for offer in offers))
    return found[0] if len(found) == 1 else amount(len(found), "source")


def age_words(prices: PriceList, today: date) -> str:
    """Return "oldest price 95 days old" when that is more than 90 days, "" else."""
    days = [offer.as_of for offer in prices.used if offer.as_of]
    age = stale_days(min(days), today) if days else 0
    return f"oldest price {age:,} days old" if age else ""


def owned_sentence(prices: PriceList) -> str:
    """Return what owning costs against the cheapest rent of the same GPU type; "" without a machine of one's own."""
    owned = prices.owned
    if owned is None:
        return ""
    full, present = owned.usd_per_gpu_h(1.0), owned.usd_per_gpu_h(owned.use_share)
    costs = f"Owning {owned.gpus} x {owned.gpu_type} costs {price(full)} at full use"
    if owned.use_share < 1:
        costs += f", {price(present)} at {share(owned.use_share)} use"
    return f"{costs}. {_against_rent(prices, owned)}"


def _against_rent(prices: PriceList, owned: OwnedNode) -> str:
    rents = [
        (price_paid(offer, prices) / offer.gpus, offer.name)
        for offer in prices.used
        if offer.gpus and offer.gpu_type == owned.gpu_type
    ]
    if not rents:
        return f"No ticked type has {owned.gpu_type} GPUs to compare with."
    rent, name = min(rents)
    least = owned.break_even_share(rent * owned.gpus)
    if least is None:
        return f"Renting {name} at {price(rent)} is cheaper at any use."
    if least == 0:
        return f"Renting {name} at {price(rent)} is dearer at any use."
    verdict = "so owning is cheaper today" if owned.use_share > least else "so renting is cheaper today"
    return f"Renting {name} at {price(rent)} is dearer above {share(least)} use, {verdict}."


def what_use_does(cluster: Cluster, types: int) -> str:
    """Return what adding this many types to a scenario does to its cluster."""
    named = amount(types, "machine type")
    if cluster.free_slots:
        return f"The scenario rents up to {amount(cluster.num_nodes, 'machine')}; policies will rent from {named}."
    nodes, machines = amount(cluster.num_nodes, "node"), amount(cluster.num_nodes, "rented machine")
    return f"The scenario owns {nodes}. Using {named} replaces them by up to {machines}, chosen by the policy."
