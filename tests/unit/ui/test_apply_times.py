"""Models of jobs are matched to networks by name, or left to the reader."""

import pytest

from dlsched.ui.lab.apply_times import nearest


@pytest.mark.parametrize(
    ("model", "network"),
    [
        ("alexnet", "AlexNet"), ("AlexNet-v2", "AlexNet"), ("vgg19_pytorch", "VGG19-PyTorch"), ("ResNet", "ResNet50-T"),
        ("bert", None), ("", None),
    ],
)  # fmt: skip
def test_models_find_the_network_with_the_nearest_name(model, network):
    networks = ["AlexNet", "ResNet50-T", "VGG19-PyTorch"]
    place = nearest(model, networks)
    assert (None if place is None else networks[place]) == network
