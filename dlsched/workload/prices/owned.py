"""What a machine of one's own costs per hour, and from which use on it is cheaper than renting one."""

from __future__ import annotations

from pydantic import Field

from dlsched.domain.model import FrozenModel

HOURS_PER_YEAR = 8_760


class OwnedNode(FrozenModel):
    """A machine that is bought, and how much of the time it works."""

    gpu_type: str = Field("H100", title="GPU type", min_length=1, max_length=80, description="GPU type of the machine.")
    gpus: int = Field(8, ge=1, le=1024, description="GPUs of the machine.")
    capex_usd: float = Field(
        250_000.0, title="Purchase price ($)", ge=0, le=1e9, description="Cost to buy and install the machine."
    )
    years: float = Field(
        4.0, title="Years of use", gt=0, le=50, description="Years until the machine has no value left."
    )
    yearly_upkeep_share: float = Field(
        0.05,
        title="Yearly upkeep (share of purchase price)",
        ge=0,
        le=1,
        description="Support, space and staff per year as a share of the purchase price.",
    )
    kw: float = Field(8.0, title="Power (kW)", ge=0, le=1000, description="Power drawn while the machine is in use.")
    pue: float = Field(
        1.3,
        title="PUE",
        ge=1,
        le=5,
        description="Power of the building per power of the machine (power usage effectiveness, PUE).",
    )
    usd_per_kwh: float = Field(0.15, title="Electricity ($/kWh)", ge=0, le=100, description="Price of electricity.")
    use_share: float = Field(
        0.6, title="Current use", gt=0, le=1, description="Share of all hours in which the machine is currently in use."
    )

    def usd_per_h(self, use_share: float = 1.0) -> float:
        """Return what the machine costs for each hour it works, in $, at a share of use above 0.

        The price of buying is spread evenly over ``years`` of 8,760 hours, upkeep per year is a share of it, and both
        are paid whether the machine works or not: (capex / years + upkeep x capex) / (8,760 x use). Electricity is
        paid for the hours of work: kW x PUE x $/kWh. There is no interest and no value at the end.
        """
        standing = self.capex_usd * (1 / self.years + self.yearly_upkeep_share) / HOURS_PER_YEAR
        return standing / use_share + self._power_usd_per_h

    def usd_per_gpu_h(self, use_share: float) -> float:
        """Return the cost of one GPU for an hour of work at this use."""
        return self.usd_per_h(use_share) / self.gpus

    def break_even_share(self, rent_usd_per_h: float) -> float | None:
        """Return the use above which owning is cheaper than renting such a machine; None when it never is."""
        at_full, power = self.usd_per_h(), self._power_usd_per_h
        if at_full > rent_usd_per_h:
            return None
        return (at_full - power) / (rent_usd_per_h - power) if rent_usd_per_h > power else 0.0

    @property
    def _power_usd_per_h(self) -> float:
        return self.kw * self.pue * self.usd_per_kwh
