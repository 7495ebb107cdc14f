"""Hints as Go prints them and as JSON has them; the NUMA nodes of each mask are read off by hand."""

import pytest

from numaproof.harness.intake.logged_hints import LoggedHints, Said, read_hint, read_hints
from numaproof.harness.topology.bitmask import mask_of
from numaproof.harness.topology.hints import TopologyHint

FIRST, SECOND = TopologyHint(mask_of([0]), True), TopologyHint(mask_of([1]), True)
BOTH = TopologyHint(mask_of([0, 1]), False)
ANY = TopologyHint(None, True)


@pytest.mark.parametrize(
    ("text", "hint"),
    [
        ("{01true}", FIRST),
        ("{10true}", SECOND),  # the highest node stands on the left
        ("{0101false}", TopologyHint(mask_of([0, 2]), False)),
        ("{" + "0" * 61 + "111true}", TopologyHint(mask_of([0, 1, 2]), True)),  # v1.16: all 64 digits
        ("{1" + "0" * 63 + "true}", TopologyHint(mask_of([63]), True)),
        ("{<nil>true}", ANY),
        ("{true}", ANY),  # what a web page leaves of <nil>
        ("{NUMANodeAffinity:10Preferred:true}", SECOND),
        ("{NUMANodeAffinity:<nil>Preferred:false}", TopologyHint(None, False)),
        ("{NUMANodeAffinity:01Preferred:trueScore:60}", FIRST),  # a field that may come
        ('{"NUMANodeAffinity":1,"Preferred":true}', FIRST),
        ('{"NUMANodeAffinity":2,"Preferred":true}', SECOND),
        ('{"NUMANodeAffinity":10,"Preferred":false}', TopologyHint(mask_of([1, 3]), False)),  # ten: 8 and 2
        ('{"NUMANodeAffinity":"10","Preferred":true}', SECOND),
        ('{"NUMANodeAffinity":null,"Preferred":true}', ANY),
        ('{"NUMANodeAffinity":1,"Preferred":true,"Score":60}', FIRST),
        ('{"NUMANodeAffinity":9223372036854775808,"Preferred":true}', TopologyHint(mask_of([63]), True)),  # 2**63
    ],
)
def test_a_hint_in_every_spelling(text: str, hint: TopologyHint) -> None:
    read = read_hint(f"..{text}rest", 2)
    assert read is not None
    assert (read.hint, read.end) == (hint, 2 + len(text))
    for end in range(len(text)):
        assert read_hint(text[:end], 0) is None, "a hint that is cut off is none"


@pytest.mark.parametrize(
    "text",
    [
        "{02true}",
        "{1" + "0" * 64 + "true}",  # node 64
        "{01yes}",
        "{}",
        "01true",
        '{"NUMANodeAffinity":18446744073709551616,"Preferred":true}',  # 2**64
        '{"NUMANodeAffinity":-1,"Preferred":true}',
        '{"NUMANodeAffinity":1.5,"Preferred":true}',
        '{"Preferred":true}',
    ],
)
def test_what_is_no_hint(text: str) -> None:
    assert read_hint(text, 0) is None


WHOLE: dict[str, dict[str, Said]] = {
    "map[cpu:[{01true}{10true}{11false}]]": {"cpu": (FIRST, SECOND, BOTH)},
    "map[cpu:[{NUMANodeAffinity:01Preferred:true}]memory:[{NUMANodeAffinity:11Preferred:false}]]": {
        "cpu": (FIRST,),
        "memory": (BOTH,),
    },
    '{"cpu":[{"NUMANodeAffinity":1,"Preferred":true},{"NUMANodeAffinity":3,"Preferred":false}]}': {
        "cpu": (FIRST, BOTH)
    },
    '{"hugepages-2Mi":[],"memory":null}': {"hugepages-2Mi": (), "memory": None},
    '{"example.com/gpu":[{"NUMANodeAffinity":2,"Preferred":true}]}': {"example.com/gpu": (SECOND,)},
    "map[]": {},
    "{}": {},
    "null": {},
    "<nil>": {},
}


@pytest.mark.parametrize("text", WHOLE)
def test_hints_by_resource(text: str) -> None:
    assert read_hints(f"hints={text}pod", 6) == LoggedHints(WHOLE[text], frozenset(), is_whole=True)
    for end in range(len(text)):
        part = read_hints(text[:end], 0)
        assert not part.is_whole
        assert part.hints.items() <= WHOLE[text].items(), "what is there of a resource is there wholly"


def test_an_empty_list_of_go_may_mean_two_things() -> None:
    assert read_hints("map[a:[]b:[{01true}]]", 0) == LoggedHints(
        {"a": (), "b": (FIRST,)}, frozenset("a"), is_whole=True
    )


@pytest.mark.parametrize(
    "text",
    [
        '{"a":[{"NUMANodeAffinity":1,"Preferred":true},...],"b":[{"NUMANodeAffinity":1,"Preferred":true}]}',
        '{"a":[...],"b":[{"NUMANodeAffinity":1,"Preferred":true}]}',
        "map[a:[{01true}{1?true}]b:[{01true}]]",
        "map[b:[{01true}]...]",
        '{"b":[{"NUMANodeAffinity":1,"Preferred":true}],...}',
    ],
)
def test_a_resource_with_something_left_out_is_left_out(text: str) -> None:
    assert read_hints(text, 0) == LoggedHints({"b": (FIRST,)}, frozenset(), is_whole=False)


def test_what_is_not_hints() -> None:
    assert read_hints("...", 0) == read_hints("", 0) == LoggedHints({}, frozenset(), is_whole=False)
