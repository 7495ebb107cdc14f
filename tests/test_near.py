"""Names that somebody may have meant."""

import pytest

from numaproof.near import did_you_mean, nearest

MACHINES = ("laptop", "xeon-2s", "xeon-4s", "dgx-a100")


@pytest.mark.parametrize(
    ("word", "meant"),
    [("labtop", "laptop"), ("XEON-2S", "xeon-2s"), ("dgxa100", "dgx-a100"), ("moon", None), ("", None), (7, None)],
)
def test_what_is_alike_was_meant(word: object, meant: str | None) -> None:
    assert nearest(word, MACHINES) == meant
    assert did_you_mean(word, MACHINES) == (f"; did you mean {meant}?" if meant else "")


def test_who_names_many_things_wants_to_be_sure() -> None:
    assert nearest("xeon-3s", MACHINES, 0.9) is None


def test_the_known_names_keep_their_case() -> None:
    assert nearest("topologymanagerpolicy", ["topologyManagerPolicy"]) == "topologyManagerPolicy"


def test_the_end_of_a_name_is_the_name() -> None:
    assert nearest("GPU", ["cpu", "nvidia.com/gpu", "memory"]) == "nvidia.com/gpu"
    assert nearest("CPU", ["example.com/cpu", "cpu"]) == "cpu"


def test_letters_in_another_order_are_more_alike_than_a_wrong_one() -> None:
    assert nearest("noeds", ["notes", "nodes", "noise"]) == "nodes"
