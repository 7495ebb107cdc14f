"""Names of resources, as the kubelet takes and refuses them."""

import pytest

from numaproof.harness.resource_names import resource_name_problem

# 244 bytes, of the 253 that a domain may have, 9 of which are taken by `requests.`.
LONGEST_DOMAIN = ".".join(["d" * 60, "d" * 60, "d" * 60, "d" * 61])


@pytest.mark.parametrize(
    "name",
    [
        "example.com/gpu",
        "example.com/Gpu_1.x-y",
        "x/y",
        "kubernetes.io.example.com/gpu",
        "example.com/" + "n" * 63,
        "a.b-c.example/gpu",
        LONGEST_DOMAIN + "/gpu",
    ],
)
def test_names_that_are_taken(name: str) -> None:
    assert resource_name_problem(name) == ""


@pytest.mark.parametrize(
    "name",
    [
        "",
        "cpu",
        "gpu",
        "example.com/",
        "/gpu",
        "example.com/gpu/0",
        "kubernetes.io/gpu",
        "sub.kubernetes.io/gpu",
        "requests.example.com/gpu",
        "Example.com/gpu",
        "exa_mple.com/gpu",
        "example..com/gpu",
        "-example.com/gpu",
        "example.com/-gpu",
        "example.com/gpu.",
        "example.com/gpu ",
        "example.com/gpu\n",
        "example.com/gpü",
        "example.com/" + "n" * 64,
        "d" + LONGEST_DOMAIN + "/gpu",
    ],
)
def test_names_that_are_refused(name: str) -> None:
    assert resource_name_problem(name)
