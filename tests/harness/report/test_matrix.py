"""The matrix and the summary, of results made by hand."""

from numaproof.harness.report.matrix import InstanceResult, matrix_lines, summary


def result(machine: str, outcome: str = "passed", reason: str = "", **words: str) -> InstanceResult:
    name = "-".join([machine, *words.values()])
    return InstanceResult(
        {"id": f"theme/file[{name}]", "theme": "theme", "machine": machine, **words}, outcome, 0.25, reason
    )


RESULTS = [
    result("xeon-2s", policy="restricted", scope="pod"),
    result("xeon-2s", "failed", policy="restricted", scope="pod"),
    result("xeon-2s", policy="none", scope="container"),
    result("xeon-2s", policy="none", scope="container"),
    result("big", "skipped", "needs 2 NUMA nodes", policy="none", scope="pod"),
    result("big", "skipped", "needs 2 NUMA nodes", policy="none", scope="pod"),
    result("big"),
]


def test_the_matrix() -> None:
    head, *rows, totals, skips = [line.split() for line in matrix_lines(RESULTS)]
    assert head == ["machine", "scope", "none", "restricted", "other"]
    assert rows == [
        ["big", "-", ".", ".", "1"],
        ["big", "pod", "skipped", ".", "."],
        ["xeon-2s", "container", "2", ".", "."],
        ["xeon-2s", "pod", ".", "1", "of", "2", "."],
    ]
    assert " ".join(totals) == "7 instances on 2 machines: 4 passed, 1 failed, 2 skipped"
    assert " ".join(skips) == "2 skipped: needs 2 NUMA nodes"


def test_columns_stand_below_each_other_whatever_the_machines_are_called() -> None:
    for name in ("m", "a-machine-with-quite-a-long-name"):
        head, row, _ = matrix_lines([result(name, policy="none", scope="pod")])
        assert head.index("scope") == row.index("pod")
        assert len(head) == len(row)


def test_the_summary() -> None:
    made = summary(RESULTS, "namespace", {"version": "1.2"})
    assert (made["runtime"], made["version"]) == ("namespace", "1.2")
    assert made["totals"] == {"passed": 4, "failed": 1, "skipped": 2}
    assert len(made["results"]) == 7
    assert [one["id"] for one in made["results"]] == sorted(one["id"] for one in made["results"])
    assert made["results"][0] == {
        "id": "theme/file[big-none-pod]",
        "theme": "theme",
        "machine": "big",
        "policy": "none",
        "scope": "pod",
        "file": "",
        "outcome": "skipped",
        "seconds": 0.25,
        "reason": "needs 2 NUMA nodes",
    }
    assert "reason" not in made["results"][-1]


def test_a_summary_of_successes_counts_the_rest_as_nothing() -> None:
    assert summary(RESULTS[2:3], "process", {})["totals"] == {"passed": 1, "failed": 0, "skipped": 0}
