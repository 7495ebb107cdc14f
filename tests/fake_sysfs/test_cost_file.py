"""Files of costs: the proposal's two examples, and one line for whatever is wrong."""

import re
from fractions import Fraction

import pytest

from numaproof.errors import UserError
from numaproof.fake_sysfs.cost_file import FileEntry, read_costs
from numaproof.fake_sysfs.strict_yaml import load

# The first example of the proposal; its `- 20` has no colon there.
FOO = """\
example.com/foo/id0-1:
  - 10:
    - cpu/cpu0-20
    - example.com/bar/card0-3
  - 20:
    - cpu/cpu21-30

example.com/bar/card0:
  - 5:
    - cpu/cpu0-20
  - 12:
    - example.com/foo/id0
"""
# The second, whose last line says fpga-2 there. qat0 is nobody's key: it has no costs of its own.
FPGA = """\
intel.com/fpga/fpga1:
  - 10:
    - cpu/cpu1
    - cpu/cpu2
  - 12:
    - intel.com/qat/qat0-3
  - 3:
    - intel.com/fpga/fpga2
intel.com/fpga/fpga2:
  - 20:
    - cpu/cpu1-2
  - 16:
    - intel.com/qat/qat0-3
  - 3:
    - intel.com/fpga/fpga1
cpu/cpu1-2:
  - 5:
    - intel.com/fpga/fpga1
    - intel.com/fpga/fpga2
  - 7:
    - intel.com/qat/qat0-3
intel.com/qat/qat1-3:
  - 10:
    - cpu/cpu1-2
  - 20:
    - intel.com/fpga/fpga2
"""


def costs(text: str, *, typed: bool = True) -> tuple[FileEntry, ...]:
    return read_costs(load(text, "f.yaml", typed=typed))


def pairs(text: str) -> dict[tuple[str, str], Fraction]:
    return {
        (f"{entry.resource}/{one}", f"{entry.to_resource}/{other}"): entry.cost
        for entry in costs(text)
        for one in entry.ids
        for other in entry.to_ids
    }


def test_the_first_example_of_the_proposal() -> None:
    told = pairs(FOO)
    assert told["example.com/foo/id0", "example.com/bar/card0"] == 10
    assert told["example.com/bar/card0", "example.com/foo/id0"] == 12
    assert told["example.com/foo/id1", "cpu/cpu21"] == 20
    # 2 ids with 21 CPUs, 4 cards and 10 CPUs more; a card with 21 CPUs and an id.
    assert len(told) == 2 * (21 + 4 + 10) + 21 + 1
    assert costs(FOO)[0] == FileEntry(
        "example.com/foo", ("id0", "id1"), "cpu", tuple(f"cpu{n}" for n in range(21)), Fraction(10), "f.yaml:3"
    )


def test_the_second_example_of_the_proposal() -> None:
    told = pairs(FPGA)
    assert told["intel.com/fpga/fpga1", "intel.com/qat/qat0"] == 12
    assert ("intel.com/qat/qat0", "cpu/cpu1") not in told
    assert told["intel.com/qat/qat3", "intel.com/fpga/fpga2"] == 20
    assert len(told) == (2 + 4 + 1) + (2 + 4 + 1) + 2 * (2 + 4) + 3 * (2 + 1)


def test_flow_style_and_text_scalars_are_the_same() -> None:
    flow = '{"a/x0": [{"2.5": ["a/x1", "memory/node1"]}]}'
    assert costs(flow) == costs(flow, typed=False)
    assert [entry.cost for entry in costs(flow)] == [Fraction(5, 2)] * 2


def test_every_pair_of_a_range_and_pairs_that_share_a_corner_are_fine() -> None:
    assert len(costs("a/x0-3: [{1: [a/x0-3]}]\na/x4: [{1: [a/x3]}]")) == 2
    assert len(costs("a/x0-1: [{1: [a/x0-1]}]\na/x1-2: [{2: [a/x1-2]}]")) == 2


@pytest.mark.parametrize(
    ("text", "expected"),
    [
        (
            FOO.replace("20:", "20"),
            'f.yaml:5: "20 - cpu/cpu21-30" is a cost without a colon; write 20: and a list below',
        ),
        (
            FPGA.removesuffix("fpga2\n") + "fpga-2\n",
            'f.yaml:26: "intel.com/fpga/fpga-2" is unknown.*did you mean intel.com/fpga/fpga2?',
        ),
        ("a/x: [{-1: [b/y]}]", 'f.yaml:1: "-1" is no cost; write a number from 0 on'),
        ("a/x:\n- .inf: [b/y]", 'f.yaml:2: ".inf" is no cost'),
        ("a/x:\n- .nan: [b/y]", 'f.yaml:2: ".nan" is no cost'),
        ("a/x:\n- 1e999: [b/y]", 'f.yaml:2: "1e999" is no cost'),
        ("a/x:\n- near: [b/y]", 'f.yaml:2: "near" is no cost'),
        ("a/x:\n- 1: [b/y3-1]", 'f.yaml:2: "b/y3-1": the range runs backwards; write y1-3'),
        ("a/x:\n- 1: [b/y]\n- 2: [b/y]", "f.yaml:3: gives a cost from a to b that f.yaml:2 gives, too; keep one"),
        ("a/x0-9:\n- 1: [b/y0-9]\na/x7-8:\n- 2: [b/y08, b/y8]", "f.yaml:4: gives a cost .* that f.yaml:2 gives, too"),
        ("a/x:\n- 1: [a/x]", "f.yaml:2: a/x has a cost to itself"),
        ("a/x: []", "f.yaml:1: a/x has no list of costs"),
        ("a/x:", "f.yaml:1: a/x has no list of costs"),
        ("a/x:\n- 1: []", "f.yaml:2: the cost 1 of a/x has no list of instances"),
        ("a/x:\n- 1: b/y", "f.yaml:2: the cost 1 of a/x has no list of instances"),
        ("a/x:\n- 1: [b/y]\n  2: [b/z]", "f.yaml:2: 2 costs in one entry of the list"),
        ("a/x:\n- b/y", 'f.yaml:2: "b/y" is not a cost with a list'),
        ("a/x:\n- 1: [17]", 'f.yaml:2: "17" names no instance'),
        ("fpga1:\n- 1: [b/y]", 'f.yaml:1: "fpga1" names no instance; write RESOURCE/ID'),
        ("a/x:\n- 1: [cpu/7]", 'f.yaml:2: "cpu/7" names no instance of cpu; write cpu/cpu0'),
        ("a/x:\n- 1: [memory/numa1]", 'f.yaml:2: "memory/numa1" names no instance of memory; write memory/node0'),
        ("a/x:\n- 1: [b/y0-70000]", "f.yaml:2: .*a range of 70001 instances"),
        ("a/x:\n- 1: [b/y0-65535]", "f.yaml:2: more than 65536 instances in one file"),
        ("[]", "f.yaml:1: holds no costs"),
    ],
)
def test_what_is_wrong_is_said_in_one_line(text: str, expected: str) -> None:
    with pytest.raises(UserError) as error:
        costs(text)
    assert re.match(expected.replace("[", r"\[").replace("?", r"\?"), str(error.value)), error.value
    assert "\n" not in str(error.value)


def test_many_ranges_that_overlap_are_soon_refused() -> None:
    """Each key's range of 20,000 instances, spelled anew: counting them out would take gigabytes."""
    text = "".join(f"a/x{n}: [{{1: [b/y{n}-{n + 20000}]}}]\n" for n in range(10_000))
    with pytest.raises(UserError, match=r"f\.yaml:53: its ranges name more than 1048576 instances"):
        costs(text)
    nested = "".join(f"a/x0-{n}: [{{1: [b/y{n}]}}]\n" for n in range(1400))
    assert len(costs(nested)) == 1400
