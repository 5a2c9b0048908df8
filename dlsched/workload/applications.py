"""The six training applications of the path-relinking study (Section 4.1, Table 3), as speed laws.

The paper does not print their times: shares and ratios are what this project takes for generated data.
"""

from __future__ import annotations

from dataclasses import dataclass


@dataclass(frozen=True, slots=True)
class Application:
    """A network in a framework: ``parallel`` = share of its time that GPUs divide, ``m60_ratio`` = time M60 / K80."""

    name: str
    parallel: float
    m60_ratio: float

    def share(self, gpus: int) -> float:
        """Return the time with so many GPUs over the time with one (Amdahl's law)."""
        return (1 - self.parallel) + self.parallel / gpus


APPLICATIONS = (
    Application("DeepSpeech", 0.88, 0.85),
    Application("VGG19-PyTorch", 0.82, 0.80),
    Application("VGG19-TensorFlow", 0.80, 0.93),
    Application("AlexNet", 0.72, 1.02),
    Application("ResNet50-PyTorch", 0.95, 0.88),
    Application("ResNet50-TensorFlow", 0.93, 0.95),
)
