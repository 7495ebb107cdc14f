"""The proposal's examples, worked out by hand.

The one with fpga, qat and cpu (its two slips corrected), one way and raw:

    fpga1 -> cpu1, cpu2: 10; qat0-3: 12; fpga2: 3        fpga's largest is 20, so each of its costs counts 5 times
    fpga2 -> cpu1, cpu2: 20; qat0-3: 16; fpga1: 3
    cpu1-2 -> fpga1, fpga2: 5; qat0-3: 7                 cpu's largest is 7: 100/7 times
    qat1-3 -> cpu1-2: 10; fpga2: 20                      qat's largest is 20: 5 times; qat0 says nothing

Both directions summed:

    cpu - fpga1   10 x 5 + 5 x 100/7 =  850/7            raw 15
    cpu - fpga2   20 x 5 + 5 x 100/7 = 1200/7            raw 25
    cpu - qat0             7 x 100/7 =  100              raw  7
    cpu - qat1-3  10 x 5 + 7 x 100/7 =  150              raw 17
    fpga1 - qat0-3            12 x 5 =   60              raw 12
    fpga2 - qat0              16 x 5 =   80              raw 16
    fpga2 - qat1-3   16 x 5 + 20 x 5 =  180              raw 36
    fpga1 - fpga2      3 x 5 + 3 x 5 =   30              raw  6

Five vertices: cpu1-2 (nobody tells them apart), fpga1, fpga2, qat0, and qat1-3.

One of each. The walk: cpu1, at no cost; fpga1, since 850/7 < 1200/7; qat0, since 100 + 60 < 150 + 60. In all 850/7 +
160 = 1970/7, raw 15 + 7 + 12 = 34. Every other set is dearer: with qat1-3 by 50, with fpga2 and qat0 it is 1200/7 + 180
= 2460/7.

Two fpga and two qat: both fpga are in. cpu with them 2050/7, they together 30. qat0 adds 100 + 60 + 80 = 240, each of
qat1-3 150 + 60 + 180 = 390: qat0 and one of them. In all 2050/7 + 660 = 6670/7.
"""

from fractions import Fraction
from pathlib import Path

import pytest

from numaproof.fake_sysfs.strict_yaml import load
from numaproof.harness.cost.build import build
from numaproof.harness.cost.costfile import costs_of
from numaproof.harness.cost.costs import Costs, Entry, Report
from numaproof.harness.cost.greedy import walk
from numaproof.harness.cost.pairs import pairs
from numaproof.harness.cost.solve import solve

FPGA, QAT = "intel.com/fpga", "intel.com/qat"
EXAMPLES = Path(__file__).parents[3] / "docs/examples/costs"


def _example(name: str) -> Costs:
    path = EXAMPLES / name
    return costs_of(load(path.read_text(), str(path)))


def test_the_graph() -> None:
    graph = build(_example("fpga-qat.yaml"), {"cpu": 1, FPGA: 1, QAT: 1})
    assert [layer.resource for layer in graph.layers] == ["cpu", FPGA, QAT]
    assert [vertex.ids for vertex in graph.vertices] == [
        ("cpu1", "cpu2"),
        ("fpga1",),
        ("fpga2",),
        ("qat0",),
        ("qat1", "qat2", "qat3"),
    ]
    cpu, fpga1, fpga2, qat0, qat = range(5)
    assert graph.cost(cpu, fpga1) == Fraction(850, 7)
    assert graph.cost(cpu, fpga2) == Fraction(1200, 7)
    assert [graph.cost(cpu, qat0), graph.cost(cpu, qat)] == [100, 150]
    assert [graph.cost(fpga1, qat0), graph.cost(fpga1, qat)] == [60, 60]
    assert [graph.cost(fpga2, qat0), graph.cost(fpga2, qat)] == [80, 180]
    assert graph.cost(fpga1, fpga2) == graph.cost(fpga2, fpga1) == 30


def test_the_greedy_walk() -> None:
    found = walk(build(_example("fpga-qat.yaml"), {"cpu": 1, FPGA: 1, QAT: 1}))
    assert [(step.vertex, step.units, step.increment) for step in found.steps] == [
        (0, 1, 0),
        (1, 1, Fraction(850, 7)),
        (3, 1, 160),
    ]
    assert found.steps[1].alternatives == ((2, Fraction(1200, 7)),)


def test_the_optimum() -> None:
    solution = solve(_example("fpga-qat.yaml"), {"cpu": 1, FPGA: 1, QAT: 1})
    assert solution.chosen == {"cpu": ("cpu1",), FPGA: ("fpga1",), QAT: ("qat0",)}
    assert solution.cost == Fraction(1970, 7)
    assert solution.raw_cost == 34
    assert solution.optimal


def test_two_of_a_type_use_the_edges_within_a_layer() -> None:
    solution = solve(_example("fpga-qat.yaml"), {"cpu": 1, FPGA: 2, QAT: 2})
    assert solution.chosen == {"cpu": ("cpu1",), FPGA: ("fpga1", "fpga2"), QAT: ("qat0", "qat1")}
    assert solution.cost == Fraction(6670, 7)


def test_foo_and_bar_cost_22() -> None:
    # "Having both foo/id0 and bar/card0 granted to the same container would mean a total cost of 22 (10+12)": raw.
    costs = _example("foo-bar.yaml")
    (pair,) = pairs(costs, {"example.com/foo": ("id0",), "example.com/bar": ("card0",)})
    assert pair.there + pair.back == 22
    # Of foo the largest is 20, of bar 12: 10 x 100/20 + 12 x 100/12.
    assert pair.cost == 150


@pytest.mark.parametrize(("unlisted", "near"), [("nothing", False), ("farthest", True)])
def test_the_trap_of_unlisted_pairs(unlisted: str, near: bool) -> None:
    # bar/card0 lists cpu0-20 only, at 5 of at most 12: by the rule of the text the far cpu21-30 cost it nothing.
    costs = _example("foo-bar.yaml")
    ruled = Costs(costs.instances, costs.reports, None, "farthest" if unlisted == "farthest" else "nothing")
    chosen = solve(
        ruled, {"cpu": 1, "example.com/bar": 1}, available={**costs.instances, "example.com/bar": ("card0",)}
    )
    assert (int(chosen.chosen["cpu"][0].removeprefix("cpu")) <= 20) is near


def test_linked_devices_come_first_where_all_links_cost_the_same() -> None:
    # g0 - g2 and g1 - g3 are linked, at 15 either way: both are remapped to 100 + 100, as far as by `farthest` a pair
    # is that nobody lists. It is listed all the same.
    gpu = "example.com/gpu"
    links = (("g0", "g2"), ("g2", "g0"), ("g1", "g3"), ("g3", "g1"))
    report = Report(gpu, tuple(Entry(gpu, (one,), gpu, (other,), Fraction(15)) for one, other in links))
    costs = Costs({gpu: ("g0", "g1", "g2", "g3")}, (report,), None, "farthest")
    solution = solve(costs, {gpu: 2})
    assert solution.chosen == {gpu: ("g0", "g2")}
    assert solution.cost == 200
    assert solve(costs, {gpu: 2}, available={gpu: ("g0", "g1", "g3")}).chosen == {gpu: ("g1", "g3")}
