"""Preferred sets by links: the answers that the design documents give for the DGX-1."""

from numaproof.plugins_mock.boards import BOARDS
from numaproof.plugins_mock.links import best_partition, best_sets, count_links, links_of

GPUS = [str(number) for number in range(8)]


def as_pairs(sets: list[list[str]]) -> set[tuple[int, ...]]:
    return {tuple(int(gpu) for gpu in ids) for ids in sets}


def test_feedback_document_all_pairs_with_two_links() -> None:
    links = BOARDS["dgx1-as-drawn"].links
    expected = {(0, 3), (0, 4), (1, 2), (1, 5), (2, 3), (2, 6), (3, 7), (4, 7), (5, 6), (6, 7)}
    assert as_pairs(best_sets(links, GPUS, [], 2)) == expected


def test_proposal_best_connected_pairs_that_do_not_overlap() -> None:
    board = BOARDS["dgx1-v100"]
    assert as_pairs(best_partition(board.links, board.numa, GPUS, [], 2)) == {(0, 3), (1, 2), (4, 7), (5, 6)}


def test_every_gpu_of_a_dgx1_has_six_links() -> None:
    links = BOARDS["dgx1-v100"].links
    assert [sum(count for pair, count in links.items() if gpu in pair) for gpu in GPUS] == [6] * 8


def test_quads_of_a_dgx1_are_its_halves() -> None:
    # Within a half: 1+1+2+2+1+2 = 9 links; no other four GPUs have as many.
    links = BOARDS["dgx1-v100"].links
    best = best_sets(links, GPUS, [], 4)
    assert as_pairs(best) == {(0, 1, 2, 3), (4, 5, 6, 7)}
    assert [count_links(links, ids) for ids in best] == [9, 9]


def test_what_must_be_included_is_and_what_is_taken_is_not() -> None:
    links = BOARDS["dgx1-v100"].links
    assert best_sets(links, ["0", "1", "2", "5"], ["1"], 2) == [["1", "2"], ["1", "5"]]
    assert best_sets(links, ["6", "7", "0"], [], 2) == [["6", "7"]]


def test_a_request_that_cannot_be_met_has_no_answer() -> None:
    links = BOARDS["dgx1-v100"].links
    assert best_sets(links, ["0"], [], 2) == []
    assert best_sets(links, ["0", "1"], ["7"], 2) == []
    assert best_sets(links, ["0", "1", "2"], ["0", "1"], 1) == []


def test_a_large_board_is_answered_without_trying_every_set() -> None:
    # Eight rings of eight with two links, one link between any other two: C(64, 8) sets are out of reach.
    ids = [str(number) for number in range(64)]
    links = {(a, b): 2 if int(a) // 8 == int(b) // 8 else 1 for a in ids for b in ids if int(a) < int(b)}
    [chosen] = best_sets(links, ids, ["19"], 8)
    assert chosen == [str(number) for number in range(16, 24)]


def test_rows_may_name_a_pair_twice() -> None:
    assert links_of({"2": {"10": 1}, "10": {"2": 1}}) == {("2", "10"): 1}
