import numpy as np
import pytest

from dlsched.speed.regression import fit_all
from dlsched.speed.terms import BATCH, GPUS, ITERATIONS
from dlsched.workload.profiles.demo_profile import GPU_TYPES, NOISE, demo_runs
from dlsched.workload.profiles.gpu_types import gflops_of
from dlsched.workload.studies.gpu_as_a_service import APPLICATIONS


@pytest.mark.parametrize(
    ("written", "gflops"),
    [
        ("K80", 4368), ("Tesla K80", 4368), ("NVIDIA Tesla V100-SXM2-16GB", 15_700), ("v100 pcie", 14_000),
        ("GTX 1080Ti", 11_340), ("GeForce GTX 1080", 8870), ("A100-SXM4-80GB", 19_500), ("A10G", 31_200),
        ("l40s", 91_600), ("L4", 30_300), ("H100", 67_000), ("H100 PCIe", 51_000),
        ("A1000", None), ("L400", None), ("abacus", None), ("", None),
    ],
)  # fmt: skip
def test_gflops_by_the_ways_a_type_is_written(written, gflops):
    assert gflops_of(written) == gflops


def test_speed_law_without_noise():
    runs = demo_runs(noise=0.0)

    def seconds(network, gpu_type, gpus, batch=64, iterations=20_000):
        wanted = np.array([iterations, batch, gpus])
        hit = (runs.features[:, [ITERATIONS, BATCH, GPUS]] == wanted).all(axis=1)
        (found,) = runs.seconds[hit & (runs.network == network) & (runs.gpu_type == gpu_type)]
        return found

    one = seconds("AlexNet", "K80", 1)
    assert one == pytest.approx(20_000 * 0.4)
    assert seconds("AlexNet", "K80", 4) / one == pytest.approx(0.28 + 0.72 / 4)
    assert seconds("AlexNet", "M60", 1) / one == pytest.approx(1.02)
    assert seconds("AlexNet", "K80", 1, batch=128) / one == pytest.approx(0.2 + 0.8 * 2)
    assert seconds("AlexNet", "K80", 1, iterations=60_000) / one == pytest.approx(3)


def test_noise_has_the_stated_size_and_depends_on_the_seed_only():
    runs, same, other = demo_runs(1), demo_runs(1), demo_runs(2)
    ratio = runs.seconds / demo_runs(noise=0.0).seconds
    assert ratio.std() == pytest.approx(NOISE, rel=0.1)
    assert (runs.seconds == same.seconds).all()
    assert (runs.seconds != other.seconds).any()


def test_demo_is_predicted_about_as_well_as_its_noise_allows():
    fits = fit_all(demo_runs())
    assert [fit.network for fit in fits.models] == sorted(application.name for application in APPLICATIONS)
    assert fits.rows == 6 * len(GPU_TYPES) * 2 * 3 * 4
    assert 0.035 < fits.mape < 0.08
