"""Samples of metrics: one spelling for each, whatever the order of its labels."""

import pytest

from numaproof.harness.scenario.samples import parse_samples, sample_name

PAGE = r"""# HELP requests_total Requests.
# TYPE requests_total counter
requests_total 3
errors_total{scope="pod",boundary="numa_node"} 1 1700000000000
quoted{path="a \"b\", {c}=1 d"} 2.5

seconds_bucket{le="+Inf"} 7
broken{x} 1
"""


def test_a_page() -> None:
    assert parse_samples(PAGE) == {
        "requests_total": 3,
        'errors_total{boundary="numa_node",scope="pod"}': 1,
        r'quoted{path="a \"b\", {c}=1 d"}': 2.5,
        'seconds_bucket{le="+Inf"}': 7,
    }


@pytest.mark.parametrize(
    ("text", "name"),
    [
        ("a_total", "a_total"),
        ("a_total{}", "a_total"),
        ('a{z="1",b="2"}', 'a{b="2",z="1"}'),
        ('a{b="2",z="1"}', 'a{b="2",z="1"}'),
        ("a total", None),
        ("a{b=1}", None),
        ('a{b="1"', None),
        ("1a", None),
        ("", None),
    ],
)
def test_a_name(text: str, name: str | None) -> None:
    assert sample_name(text) == name
