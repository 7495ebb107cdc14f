"""`numaproof cost`, as a user calls it: the proposal's example by hand, both rules for unlisted pairs, bad input."""

import json
import math
import shutil
from collections.abc import Iterator
from pathlib import Path
from typing import Any
from xml.etree import ElementTree

import pytest

from numaproof.harness.cli import main
from tests.fake_sysfs.on_disk import contents, on_a_small_disk
from tests.places import short_directory

EXAMPLES = Path(__file__).parents[3] / "docs/examples/costs"
FPGA_QAT = str(EXAMPLES / "fpga-qat.yaml")
FOO_BAR = str(EXAMPLES / "foo-bar.yaml")
ONE_OF_EACH = ("--request", "cpu=1,intel.com/fpga=1,intel.com/qat=1")

# The proposal's example by hand. Each resource's costs are remapped so that its largest becomes 100: cpu's by 100/7,
# fpga's and qat's by 5. Both directions are summed:
#   cpu1-2 - fpga1      5 * 100/7 + 10 * 5 = 121.43 (850/7)     cpu1-2 - fpga2   71.43 + 20 * 5 = 171.43
#   cpu1-2 - qat0       7 * 100/7 +  0     = 100                cpu1-2 - qat1-3  100 + 10 * 5   = 150
#   fpga1  - qat0           12 * 5 + 0     = 60                 fpga1  - qat1-3  60 + 0         = 60
#   fpga2  - qat0           16 * 5 + 0     = 80                 fpga2  - qat1-3  80 + 20 * 5    = 180
#   fpga1  - fpga2           3 * 5 + 3 * 5 = 30
# One of each: cpu1 (cpu2 is alike), fpga1 and qat0 cost 121.43 + 100 + 60 = 281.43 (1970/7), raw 15 + 7 + 12 = 34. With
# qat1: 121.43 + 150 + 60 = 331.43; with fpga2 and qat0: 171.43 + 100 + 80 = 351.43; with fpga2 and qat1: 501.43.
# The walk: a CPU for 0; fpga1 for 121.43 (fpga2 for 171.43); qat0 for 100 + 60 (a qat1-3 for 150 + 60). It is optimal.
#
# By `farthest` qat0 -> cpu and every qat -> fpga1 cost 100, as qat's reporter lists others there: qat0 costs
# 200 + 160, a qat1-3 costs 150 + 160. With qat1: 121.43 + 310 = 431.43, with qat0: 481.43.


@pytest.fixture
def place() -> Iterator[Path]:
    with short_directory() as directory:
        yield directory


def output(capsys: pytest.CaptureFixture[str], *arguments: object) -> list[str]:
    """The lines that `numaproof cost` prints."""
    assert main(["cost", *map(str, arguments)]) == 0
    captured = capsys.readouterr()
    assert captured.err == ""
    return captured.out.splitlines()


def solved(capsys: pytest.CaptureFixture[str], *arguments: object) -> Any:
    return json.loads("\n".join(output(capsys, "solve", *arguments, "--json")))


def written(place: Path, text: str) -> Path:
    file = place / "costs.yaml"
    file.write_text(text)
    return file


def test_the_proposals_example_is_solved(capsys: pytest.CaptureFixture[str]) -> None:
    lines = output(capsys, "solve", FPGA_QAT, *ONE_OF_EACH)
    assert [line.split() for line in lines[:3]] == [
        ["cpu", "cpu1"],
        ["intel.com/fpga", "fpga1"],
        ["intel.com/qat", "qat0"],
    ]
    assert "cost 281.43 (raw 34): optimal, no set costs less" in lines
    assert "the greedy walk's set costs 281.43; seed 1; pairs that nobody lists cost nothing" in lines
    assert [line.split() for line in lines[-3:]] == [
        ["cpu/cpu1", "intel.com/fpga/fpga1", "5", "10", "121.43"],
        ["cpu/cpu1", "intel.com/qat/qat0", "7", "0", "100"],
        ["intel.com/fpga/fpga1", "intel.com/qat/qat0", "12", "0", "60"],
    ]


def test_json_has_every_number(capsys: pytest.CaptureFixture[str]) -> None:
    assert solved(capsys, FPGA_QAT, *ONE_OF_EACH, "--seed", 7) == {
        "chosen": {"cpu": ["cpu1"], "intel.com/fpga": ["fpga1"], "intel.com/qat": ["qat0"]},
        "cost": 1970 / 7,
        "raw_cost": 34,
        "optimal": True,
        "bound": 1970 / 7,
        "gap": 0,
        "greedy": 1970 / 7,
        "annealed": None,
        "seed": 7,
        "unlisted": "nothing",
        "edges": [
            {"between": ["cpu/cpu1", "intel.com/fpga/fpga1"], "there": 5, "back": 10, "cost": 850 / 7},
            {"between": ["cpu/cpu1", "intel.com/qat/qat0"], "there": 7, "back": 0, "cost": 100},
            {"between": ["intel.com/fpga/fpga1", "intel.com/qat/qat0"], "there": 12, "back": 0, "cost": 60},
        ],
    }


def test_the_other_rule_for_unlisted_pairs_takes_another_card(capsys: pytest.CaptureFixture[str]) -> None:
    found = solved(capsys, FPGA_QAT, *ONE_OF_EACH, "--unlisted", "farthest")
    assert found["unlisted"] == "farthest"
    assert found["chosen"]["intel.com/qat"] in (["qat1"], ["qat2"], ["qat3"])
    assert found["cost"] == 850 / 7 + 310
    assert found["raw_cost"] == 15 + 17 + 12  # what the rule adds nobody reported


def test_the_text_of_the_proposal_means_raw_costs(capsys: pytest.CaptureFixture[str]) -> None:
    """`foo/id0` costs 10 to `bar/card0`, which costs 12 back: 22 in total."""
    found = solved(capsys, FOO_BAR, "--request", "example.com/foo=2,example.com/bar=4")
    ends = ["example.com/bar/card0", "example.com/foo/id0"]
    edge = next(one for one in found["edges"] if one["between"] == ends)
    assert edge["there"] + edge["back"] == 22
    assert edge["cost"] == 100 + 50  # 12 is the largest of bar's costs, 10 is half the largest of foo's


@pytest.mark.parametrize("machine", ["dgx-a100", "xeon-2s-pmem", "pack:2 [numa(memory=64GB)] core:8 pu:2"])
def test_the_edges_of_a_machine_sum_up_to_the_cost(capsys: pytest.CaptureFixture[str], machine: str) -> None:
    found = solved(capsys, "--machine", machine, "--request", "cpu=6,memory=1")
    assert [len(ids) for ids in found["chosen"].values()] == [6, 1]
    assert found["bound"] <= found["cost"] <= found["greedy"]
    assert math.isclose(sum(edge["cost"] for edge in found["edges"]), found["cost"])
    assert sum(edge["there"] + edge["back"] for edge in found["edges"]) == found["raw_cost"]
    chosen = {f"{resource}/{one}" for resource, ids in found["chosen"].items() for one in ids}
    assert {end for edge in found["edges"] for end in edge["between"]} == chosen
    assert solved(capsys, "--machine", machine, "--request", "memory=1,cpu=6") == found


def test_many_pairs_are_told_by_vertices(capsys: pytest.CaptureFixture[str]) -> None:
    """20 CPUs of one node make 190 pairs: one line."""
    machine = "pack:2 [numa(memory=64GB)] core:32 pu:1"
    lines = output(capsys, "solve", "--machine", machine, "--request", "cpu=20")
    assert lines[-1] == "190 pairs (--json has each)"
    rows = [line.split() for line in lines[lines.index("") + 1 :] if "cpu/cpu" in line]
    assert [(row[1], row[2]) for row in rows] == [("themselves", "190")]
    found = solved(capsys, "--machine", machine, "--request", "cpu=20")
    assert len(found["edges"]) == 190


def test_the_graph_in_the_terminal(capsys: pytest.CaptureFixture[str]) -> None:
    lines = [" ".join(line.split()) for line in output(capsys, "graph", FPGA_QAT, *ONE_OF_EACH)]
    layers = ["cpu: 1 wanted, 2 there", "* cpu1-2 2 alike chosen: cpu1", "intel.com/fpga: 1 wanted, 2 there"]
    layers += ["* fpga1", "fpga2", "intel.com/qat: 1 wanted, 4 there", "* qat0", "qat1-3 3 alike"]
    assert lines[1:9] == layers
    tables = {
        "cpu - intel.com/fpga (red)": ["fpga1 fpga2", "cpu1-2 121.43* 171.43"],
        "cpu - intel.com/qat (black)": ["qat0 qat1-3", "cpu1-2 100* 150"],
        "within intel.com/fpga (green)": ["fpga1 fpga2", "fpga1 . 30", "fpga2 30 ."],
        "intel.com/fpga - intel.com/qat (red)": ["qat0 qat1-3", "fpga1 60* 60", "fpga2 80 180"],
    }
    for title, rows in tables.items():
        place = lines.index(title)
        assert lines[place + 1 : place + 1 + len(rows)] == rows


def test_a_wide_layer_is_listed(capsys: pytest.CaptureFixture[str], place: Path) -> None:
    """13 cards at 1 to 13 from the CPU: no matrix of 13 columns, but how many, from where to where, and the chosen."""
    text = "".join(f"example.com/card/card{number}:\n  - {number}: [cpu/cpu0]\n" for number in range(1, 14))
    lines = output(capsys, "graph", written(place, text), "--request", "cpu=1,example.com/card=1")
    at = lines.index("cpu - example.com/card (red)")
    assert lines[at + 1 : at + 3] == ["  13 edges of 7.69..100", "  * cpu0 - card1: 7.69"]


def test_the_graph_as_a_picture(capsys: pytest.CaptureFixture[str], place: Path) -> None:
    file = place / "graph.svg"
    assert output(capsys, "graph", FPGA_QAT, *ONE_OF_EACH, "--svg", file) == [f"{file}: 5 vertices in 3 layers"]
    words = {element.text for element in ElementTree.parse(file).iter() if element.text}
    assert {"start", "cpu1-2", "fpga1", "qat1-3", "121.43", "171.43", "100", "150", "60", "80", "180", "30"} <= words


def test_the_proposals_example_is_explained(capsys: pytest.CaptureFixture[str]) -> None:
    lines = [line.strip() for line in output(capsys, "explain", FPGA_QAT, *ONE_OF_EACH)]
    walk = lines.index("The greedy walk, layer by layer, comes to 281.43:")
    assert lines[walk + 1 : walk + 7] == [
        *("cpu: cpu1-2 x 1, for 0", "no other is left with as many"),
        *("intel.com/fpga: fpga1, for 121.43", "dearer: fpga2 for 171.43"),
        *("intel.com/qat: qat0, for 160", "dearer: qat1-3 for 210"),
    ]
    assert "The search found nothing cheaper than the walk's 281.43." in lines
    assert "The proof: optimal, no set costs less." in lines
    weighs = lines.index("What weighs most, of 281.43:")
    assert lines[weighs + 1 : weighs + 4] == [
        "121.43 (43%): cpu/cpu1 - intel.com/fpga/fpga1",
        "100 (36%): cpu/cpu1 - intel.com/qat/qat0",
        "60 (21%): intel.com/fpga/fpga1 - intel.com/qat/qat0",
    ]
    rule = lines.index("The rule for unlisted pairs decided: by the other one another set comes out.")
    nothing, farthest = lines[rule + 1 : rule + 3]
    assert nothing.startswith("--unlisted nothing: cpu cpu1; intel.com/fpga fpga1; intel.com/qat qat0: 281.43")
    assert nothing.endswith("(by farthest: 481.43)")
    assert farthest.startswith("--unlisted farthest: cpu cpu1; intel.com/fpga fpga1; intel.com/qat qat")
    assert farthest.endswith(": 431.43 (by nothing: 331.43)")


LINKED = """
example.com/gpu/gpu0:
  - 1: [example.com/gpu/gpu1]
example.com/gpu/gpu1:
  - 1: [example.com/gpu/gpu0]
example.com/gpu/gpu2:
  - 4: [cpu/cpu0]
"""


def test_explain_tells_that_an_unlisted_pair_beat_a_linked_one(capsys: pytest.CaptureFixture[str], place: Path) -> None:
    """The linked pair costs 25 + 25; with gpu2, of which no link is listed, a pair costs 0, or 100 + 100."""
    file = written(place, LINKED)
    text = "\n".join(output(capsys, "explain", file, "--request", "example.com/gpu=2"))
    assert "The rule for unlisted pairs decided" in text
    assert "--unlisted farthest: example.com/gpu gpu0-1: 50 (by nothing: 50)" in text
    assert "2: 0 (by farthest: 200)" in text
    text = "\n".join(output(capsys, "explain", file, "--request", "example.com/gpu=2", "--unlisted", "farthest"))
    assert "The rule for unlisted pairs decided" in text
    assert "--unlisted farthest: example.com/gpu gpu0-1: 50 (by nothing: 50)" in text


def test_explain_tells_that_the_rule_did_not_matter(capsys: pytest.CaptureFixture[str], place: Path) -> None:
    text = "\n".join(output(capsys, "explain", written(place, LINKED), "--request", "example.com/gpu=3"))
    assert "The rule for unlisted pairs did not decide" in text  # there are three
    assert "by --unlisted farthest this set costs 450," in text  # 50 + 200 + 200


def test_explain_tells_what_the_search_improved(capsys: pytest.CaptureFixture[str], place: Path) -> None:
    """The walk takes cpu0, as both CPUs add nothing at first, and then pays 100 for the card; cpu1 would cost 50."""
    file = written(place, "example.com/gpu/gpu0:\n  - 20: [cpu/cpu0]\n  - 10: [cpu/cpu1]\n")
    lines = output(capsys, "explain", file, "--request", "cpu=1,example.com/gpu=1")
    assert "    as cheap: cpu1 for 0" in lines
    at = lines.index("The search brought the walk's 100 down to 50 (50% less):")
    assert lines[at + 1] == "  cpu cpu1 instead of cpu0"


NO_COSTS = ["--request", "cpu=1"]


@pytest.mark.parametrize("action", ["solve", "graph", "explain"])
@pytest.mark.parametrize(
    ("arguments", "message"),
    [
        ([FPGA_QAT, "--request", "intel.com/fgpa=1"], "did you mean intel.com/fpga?"),
        ([FPGA_QAT, "--request", "cpu=1,intel.com/qat=5"], "intel.com/qat: 5 of it are asked for, and there are 4"),
        ([FPGA_QAT, "--request", "cpu=999999999"], "there are 2"),
        ([FPGA_QAT, "--request", "cpu=99999999999999999999"], "is not a count"),
        ([FPGA_QAT, "--request", "cpu=0"], "ask for 1 or more"),
        ([FPGA_QAT, "--request", "cpu=-1"], "ask for 1 or more"),
        ([FPGA_QAT, "--request", "cpu=two"], 'cpu: "two" is not a count'),
        ([FPGA_QAT, "--request", "cpu=1.5"], 'cpu: "1.5" is not a count'),
        ([FPGA_QAT, "--request", "cpu=¹"], "is not a count"),
        ([FPGA_QAT, "--request", "cpu="], "is not a count"),
        ([FPGA_QAT, "--request", "cpu"], "is not RESOURCE=COUNT"),
        ([FPGA_QAT, "--request", "=1"], "is not RESOURCE=COUNT"),
        ([FPGA_QAT, "--request", "cpu=1,"], "is not RESOURCE=COUNT"),
        ([FPGA_QAT, "--request", "c\npu=1"], r"c\npu=1"),
        ([FPGA_QAT, "--request", "cpu=1,cpu=1"], "cpu is there twice"),
        ([FPGA_QAT, "--request", ""], "nothing is wanted"),
        ([FPGA_QAT], "--request: nothing is wanted"),
        ([*NO_COSTS], "neither a file of costs nor --machine is given"),
        ([FPGA_QAT, "--machine", "laptop", *NO_COSTS], "a file of costs and --machine are given"),
        (["--machine", "no-such-machine", *NO_COSTS], "no-such-machine"),
        (["--machine", "laptop", "--request", "example.com/gpu=1"], "example.com/gpu: no costs are known"),
        (["/no/such/costs.yaml", *NO_COSTS], "/no/such/costs.yaml: cannot be read"),
    ],
)
def test_bad_input_is_one_line(
    capsys: pytest.CaptureFixture[str], action: str, arguments: list[str], message: str
) -> None:
    refused(capsys, message, action, *arguments)


def refused(capsys: pytest.CaptureFixture[str], message: str, *arguments: object) -> None:
    assert main(["cost", *map(str, arguments)]) == 2
    captured = capsys.readouterr()
    assert captured.out == ""
    assert captured.err.startswith("numaproof: ")
    assert captured.err.count("\n") == 1
    assert message in captured.err


@pytest.mark.parametrize(
    ("right", "slip", "message"),
    [
        ("intel.com/qat/qat1-3:", "intel.com/qat/qat3-1:", "qat1-3"),  # backwards
        ("  - 16:", "  - -16:", "-16"),
        ("  - 16:", "  - .inf:", ".inf"),
        ("  - 16:\n", "  - 16\n", "16"),
        ("  - 20:\n    - intel.com/fpga/fpga2", "  - 20:\n    - intel.com/fpga/fpga-2", "fpga2"),
    ],
    ids=["backwards", "negative", "endless", "colon", "unknown"],
)
def test_a_slip_in_the_file_is_one_line(
    capsys: pytest.CaptureFixture[str], place: Path, right: str, slip: str, message: str
) -> None:
    text = Path(FPGA_QAT).read_text()
    assert text.count(right) == 1
    refused(capsys, message, "solve", written(place, text.replace(right, slip)), *ONE_OF_EACH)


def test_a_huge_file_is_one_line(capsys: pytest.CaptureFixture[str], place: Path) -> None:
    line = "cpu/cpu0: # " + "x" * 1000 + "\n"
    file = written(place, line * (10_000_000 // len(line)))
    refused(capsys, "is larger than", "solve", file, *NO_COSTS)


def test_a_picture_may_be_printed(
    place: Path, capsys: pytest.CaptureFixture[str], monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.chdir(place)
    before = contents(place)
    printed = "\n".join(output(capsys, "graph", FPGA_QAT, *ONE_OF_EACH, "--svg", "-"))
    assert ElementTree.fromstring(printed).tag.endswith("svg")
    assert contents(place) == before


@pytest.mark.parametrize("target", ["no/such/graph.svg", "taken", "costs.yaml/graph.svg"])
def test_a_picture_that_cannot_be_written_leaves_nothing(
    capsys: pytest.CaptureFixture[str], place: Path, target: str
) -> None:
    shutil.copy(FPGA_QAT, place / "costs.yaml")
    (place / "taken").mkdir()
    before = contents(place)
    refused(capsys, "cannot be written", "graph", place / "costs.yaml", *ONE_OF_EACH, "--svg", place / target)
    assert contents(place) == before


ON_A_FULL_DISK = f"""
import os, sys
from numaproof.harness.cli import main
picture = os.path.join(sys.argv[1], "graph.svg")
print(main(["cost", "graph", {FPGA_QAT!r}, *{ONE_OF_EACH!r}, "--svg", picture]), os.listdir(sys.argv[1]))
"""


def test_a_full_disk_is_left_as_it_was(place: Path) -> None:
    assert on_a_small_disk(ON_A_FULL_DISK, place, "size=4k") == "2 []\n"


def test_what_is_in_use_is_not_taken(capsys: pytest.CaptureFixture[str]) -> None:
    # Without fpga1 and qat0: fpga2 with a qat1-3, 171.43 + 150 + 180, see above.
    found = solved(capsys, FPGA_QAT, *ONE_OF_EACH, "--without", "intel.com/fpga/fpga1,intel.com/qat/qat0,cpu/cpu1")
    assert found["chosen"] == {"cpu": ["cpu2"], "intel.com/fpga": ["fpga2"], "intel.com/qat": ["qat1"]}
    assert math.isclose(found["cost"], 1200 / 7 + 150 + 180)


@pytest.mark.parametrize(
    ("without", "text"),
    [
        ("cpu/cpu3", "--without: there is no cpu/cpu3; did you mean cpu/cpu"),
        ("intel.com/fpag/fpga1", "--without: there is no intel.com/fpag/fpga1; did you mean intel.com/fpga/fpga1?"),
        ("cpu", '--without: "cpu" names no instance; write RESOURCE/ID'),
        ("cpu/cpu2-1", "runs backwards"),
        ("cpu/cpu1-2", "--request: cpu: 1 of it are asked for, and there are 0"),
    ],
)
def test_what_cannot_be_in_use(capsys: pytest.CaptureFixture[str], without: str, text: str) -> None:
    assert main(["cost", "solve", FPGA_QAT, *ONE_OF_EACH, "--without", without]) == 2
    captured = capsys.readouterr()
    assert captured.out == ""
    assert text in captured.err
    assert captured.err.count("\n") == 1


@pytest.mark.parametrize(
    ("picture", "arguments"),
    [
        ("fpga-qat.svg", (FPGA_QAT, *ONE_OF_EACH)),
        ("dgx-a100.svg", ("--machine", "dgx-a100", "--request", "cpu=4,nvidia.com/gpu=2,rdma/hca=2")),
    ],
)
def test_the_pictures_of_the_docs_are_what_is_drawn(
    place: Path, capsys: pytest.CaptureFixture[str], picture: str, arguments: tuple[str, ...]
) -> None:
    drawn = place / picture
    output(capsys, "graph", *arguments, "--svg", drawn)
    assert drawn.read_text() == (EXAMPLES / picture).read_text()
