"""A price list: what can be rented or owned, at what price; and the machine types that a scenario takes from it.

A scenario holds plain machine types with their prices, so a later change of the list never changes a run. Where the
prices came from goes into the scenario's assumptions.
"""

from __future__ import annotations

from collections.abc import Collection, Iterable, Mapping, Sequence
from datetime import date
from typing import Annotated

from pydantic import Field

from dlsched.domain.assumptions import Assumption
from dlsched.domain.cluster import VmType
from dlsched.domain.errors import InputError
from dlsched.domain.model import FrozenModel
from dlsched.domain.names import names_hint
from dlsched.domain.timetable import TimeTable
from dlsched.workload.prices.owned import OwnedNode

MOST_OFFERS = 2_000
MOST_NAMED = 3
STALE_DAYS = 90
LARGEST_PRICE = 1e6
Share = Annotated[float, Field(ge=0, lt=1)]


class Offer(FrozenModel):
    """One machine type of one provider. Prices are in US dollars per hour and machine."""

    name: str = Field(min_length=1, max_length=80, description="Name of the machine type; must be unique.")
    provider: str = Field("", max_length=80, description="Provider that rents it out; empty = unknown.")
    gpu_type: str = Field("GPU", min_length=1, max_length=80, description="GPU type, as named in jobs and run times.")
    gpus: int = Field(1, ge=0, le=1024, description="GPUs per machine.")
    cpus: float | None = Field(None, ge=0, description="CPU cores per machine; empty = no limit.")
    mem_gib: float | None = Field(None, ge=0, description="Memory per machine in GiB; empty = no limit.")
    disk_gib: float | None = Field(None, ge=0, description="Disk per machine in GiB; empty = no limit.")
    usd_per_h: float = Field(gt=0, le=LARGEST_PRICE, description="On-demand price per machine in $/h.")
    spot_usd_per_h: float | None = Field(
        None, gt=0, le=LARGEST_PRICE, description="Spot price per machine in $/h; empty = unknown."
    )
    region: str = Field("", max_length=80, description="Region in which the price applies.")
    source: str = Field("", max_length=200, description="Source of the price.")
    as_of: date | None = Field(None, description="Date of the price.")
    use: bool = Field(True, description="Whether scenarios may rent it.")


class PriceList(FrozenModel):
    """Offers with distinct names, the discount of each provider off its list prices, and which price is paid."""

    offers: tuple[Offer, ...] = ()
    discounts: Mapping[str, Share] = Field(
        default_factory=dict, description="Provider -> discount on its list prices, as a share."
    )
    use_spot: bool = Field(False, description="Whether the spot price is paid where it is known.")
    owned: OwnedNode | None = Field(None, description="An owned machine to compare with.")

    @property
    def used(self) -> tuple[Offer, ...]:
        """The offers that scenarios may rent."""
        return tuple(offer for offer in self.offers if offer.use)

    @property
    def providers(self) -> tuple[str, ...]:
        """Names of the providers, in order of first appearance."""
        return tuple(dict.fromkeys(offer.provider for offer in self.offers if offer.provider))


def price_paid(offer: Offer, prices: PriceList) -> float:
    """Return what one machine costs, $/h: spot where chosen and known, else the list price minus the discount.

    Discounts are off list prices; spot prices are what they are.
    """
    return spot_or_discounted(offer.usd_per_h, offer.spot_usd_per_h, prices.discounts.get(offer.provider, 0.0),
                              use_spot=prices.use_spot)  # fmt: skip


def spot_or_discounted(usd_per_h: float, spot_usd_per_h: float | None, discount: float, *, use_spot: bool) -> float:
    """Return the price paid of two prices and a discount, to a millionth of a dollar."""
    if use_spot and spot_usd_per_h is not None:
        return spot_usd_per_h
    return round(usd_per_h * (1.0 - discount), 6)


def to_vm_types(prices: PriceList, speeds: Mapping[str, float] | None = None) -> tuple[VmType, ...]:
    """Return the machine types of the ticked offers with the prices paid, frozen.

    ``speeds`` holds the relative speed of types that are not at 1.

    Raises
    ------
    InputError
        If no offer is ticked, or two have one name.
    """
    if not prices.used:
        why = "it has no machine type" if not prices.offers else f"none of its {len(prices.offers)} types is ticked"
        raise InputError("catalogue", why, "Add a machine type, import a price list, or tick one to use")
    check_names(prices.offers)
    return tuple(
        VmType(
            name=offer.name, gpu_type=offer.gpu_type, gpus=offer.gpus, cpus=offer.cpus, mem_gib=offer.mem_gib,
            disk_gib=offer.disk_gib, usd_per_h=price_paid(offer, prices), speed=(speeds or {}).get(offer.name, 1.0),
        )
        for offer in prices.used
    )  # fmt: skip


def check_names(offers: Sequence[Offer]) -> None:
    """Raise InputError that names two rows with one name, or says that there are too many."""
    if len(offers) > MOST_OFFERS:
        why = f"it would have {len(offers):,} types; the limit is {MOST_OFFERS:,}"
        raise InputError("catalogue", why, "Choose one region, or remove machine types that you do not use")
    first: dict[str, int] = {}
    for row, offer in enumerate(offers, 1):
        if offer.name in first:
            why = f"{offer.name!r} is also the name in row {first[offer.name]}"
            raise InputError(f"catalogue row {row}, column Type", why, "Rename or delete one of them")
        first[offer.name] = row


def chosen(prices: PriceList, names: Iterable[str]) -> PriceList:
    """Return the list with exactly these types ticked.

    Raises
    ------
    InputError
        For a name that is not in the list, with near names.
    """
    wanted, offered = list(names), [offer.name for offer in prices.offers]
    for name in wanted:
        if name not in offered:
            raise InputError(f"VM type {name!r:.80}", "is not in the price list", names_hint(name, offered, most=3))
    offers = tuple(offer.model_copy(update={"use": offer.name in wanted}) for offer in prices.offers)
    return prices.model_copy(update={"offers": offers})


def stamped(offers: Iterable[Offer], provider: str, as_of: date | None) -> tuple[Offer, ...]:
    """Return offers of a file that does not say whose prices they are and of which day."""
    return tuple(offer.model_copy(update={"provider": provider, "as_of": as_of}) for offer in offers)


def merged(old: Sequence[Offer], new: Sequence[Offer]) -> tuple[Offer, ...]:
    """Return the old offers with the new ones: the same name of the same provider is renewed in its place.

    A name that another provider has already gets the provider (else a number) behind it.
    """
    result = {offer.name: offer for offer in old}
    for offer in new:
        holder = result.get(offer.name)
        if holder is not None and holder.provider != offer.provider:
            offer = offer.model_copy(update={"name": _free_name(offer, result)})
        result[offer.name] = offer
    return tuple(result.values())


def _free_name(offer: Offer, taken: Mapping[str, Offer]) -> str:
    tag = offer.provider or "2"
    for number in range(1, MOST_OFFERS + 2):
        ending = f" ({tag})" if number == 1 else f" ({tag} {number})"
        name = offer.name[: 80 - len(ending)] + ending
        if name not in taken or taken[name].provider == offer.provider != "":
            return name
    raise InputError("catalogue", f"too many types are called {offer.name!r:.80}", "Give them names of their own")


def usd_per_gpu_h(usd_per_h: float | None, gpus: float | None) -> float | None:
    """Return the price of one GPU for an hour; None without a price or without GPUs."""
    return usd_per_h / gpus if usd_per_h is not None and gpus else None


def without_times(
    vm_types: Iterable[VmType | Offer], times: TimeTable | None, profiles: Collection[str]
) -> tuple[str, ...]:
    """Return the GPU types for which no profile in use has run times: jobs cannot run there. Without a table, none."""
    if times is None:
        return ()
    timed = {gpu_type for profile in profiles for gpu_type in times.rows.get(profile, ())}
    return tuple(dict.fromkeys(vm.gpu_type for vm in vm_types if vm.gpus and vm.gpu_type not in timed))


# ---- where prices came from ----------------------------------------------------------------------


def price_notes(vm_types: Iterable[VmType], prices: PriceList, of: int = 0) -> tuple[Assumption, ...]:
    """Return where the prices of machine types came from, one note for each kind, day and source.

    A type counts as taken from the list when its name and the price paid are the list's. A note names its types,
    unless it speaks of all ``of`` there are.
    """
    offers = {offer.name: offer for offer in prices.offers}
    groups: dict[tuple[str, date | None], list[str]] = {}
    for vm in vm_types:
        offer = offers.get(vm.name)
        if offer is not None and vm.usd_per_h == price_paid(offer, prices):
            groups.setdefault((_words(offer, prices), offer.as_of), []).append(vm.name)
    notes = []
    for (words, day), names in groups.items():
        named = ", ".join(names) if len(names) <= MOST_NAMED else f"{len(names)} types"
        text = words if len(names) == of else f"{named}: {words}"
        notes.append(Assumption(kind="list-prices", since=day, text=text))
    return tuple(notes)


def stale_days(day: date | None, today: date) -> int:
    """Return how old prices are, days, when that is more than STALE_DAYS; else 0."""
    age = (today - day).days if day is not None else 0
    return age if age > STALE_DAYS else 0


def _words(offer: Offer, prices: PriceList) -> str:
    day = offer.as_of.isoformat() if offer.as_of else "without a date"
    source = f" ({offer.source})" if offer.source else ""
    if prices.use_spot and offer.spot_usd_per_h is not None:
        return f"spot list prices {day}{source}"
    off = prices.discounts.get(offer.provider, 0.0)
    less = f"{offer.provider} {off * 100:g}% off " if off else ""
    return f"{less}list prices {day}{source}"
