"""memory_manager_state as people paste it."""

import json

import pytest

from numaproof.errors import UserError
from numaproof.harness.intake.memory_state import read_memory_state
from numaproof.harness.providers.memory.state import Block, MemoryTable, NodeState
from tests.harness.intake.pasted import FORMS, ends, forms, is_value_or_line, prefixes, pretty, rubbish
from tests.harness.intake.state_files import GIB, MEMORY, compact, cpu_file, memory_file, twice

HELD = {("uid-1", "app"): (Block((0,), "memory", 2 * GIB),)}
NODES = {
    0: NodeState(1, (0,), {"memory": MemoryTable(8 * GIB, GIB, 7 * GIB, 2 * GIB, 5 * GIB)}),
    1: NodeState(0, (1,), {"memory": MemoryTable(8 * GIB, 0, 8 * GIB, 0, 8 * GIB)}),
}
# Texts that kubelets wrote: their checksums are the judges of what is computed.
WRITTEN = {
    "None": '{"policyName":"None","machineState":{},"checksum":4236770233}',
    # Kubelet v1.37.0-rc.1, with the content a second time.
    "v1.37": '{"policyName":"Static","machineState":{"0":{"numberOfAssignments":1,"memoryMap":{"memory":{"total":4096,'
    '"systemReserved":1024,"allocatable":3072,"reserved":1024,"free":2048}},"cells":[0]}},"entries":{"uid-p0":{"c0":'
    '[{"numaAffinity":[0],"type":"memory","size":1024}]}},"checksum":3840309287,"data":"{\\"policyName\\":\\"Static\\",'
    '\\"machineState\\":{\\"0\\":{\\"numberOfAssignments\\":1,\\"memoryMap\\":{\\"memory\\":{\\"total\\":4096,'
    '\\"systemReserved\\":1024,\\"allocatable\\":3072,\\"reserved\\":1024,\\"free\\":2048}},\\"cells\\":[0]}},'
    '\\"entries\\":{\\"uid-p0\\":{\\"c0\\":[{\\"numaAffinity\\":[0],\\"type\\":\\"memory\\",\\"size\\":1024}]}}}",'
    '"dataChecksum":2787676668}',
}


@forms
@pytest.mark.parametrize("version", ["v1.36", "v1.37"])
def test_forms_that_lose_nothing(form: str, version: str) -> None:
    text = memory_file() if version == "v1.36" else twice(memory_file())
    state = read_memory_state(FORMS[form](text), "f")
    assert (state.memory_policy, state.memory, state.memory_nodes) == ("Static", HELD, NODES)
    assert state.notes == ()


@pytest.mark.parametrize("name", WRITTEN)
def test_checksums_are_a_kubelets(name: str) -> None:
    assert read_memory_state(WRITTEN[name], "f").notes == ()
    edited = WRITTEN[name].replace('"checksum":', '"checksum":1')
    assert read_memory_state(edited, "f").notes == ("f: the checksum does not fit: edited or damaged",)


def test_the_second_content_counts() -> None:
    text = WRITTEN["v1.37"].replace('"size":1024', '"size":1')
    state = read_memory_state(text, "f")
    assert state.memory == {("uid-p0", "c0"): (Block((0,), "memory", 1024),)}
    assert state.notes == ("f: entries: differs from what `data` says; `data` counts",)


def test_groups_of_nodes_and_huge_pages() -> None:
    blocks = [
        {"numaAffinity": [0, 1], "type": "memory", "size": 9 * GIB},
        {"numaAffinity": [0, 1], "type": "hugepages-2Mi", "size": 2 << 20},
    ]
    state = read_memory_state(memory_file(MEMORY | {"entries": {"uid-1": {"app": blocks}}}), "f")
    assert state.memory == {
        ("uid-1", "app"): (Block((0, 1), "memory", 9 * GIB), Block((0, 1), "hugepages-2Mi", 2 << 20))
    }


LOST = {
    "a block's size": (f'"size": {2 * GIB}', '"size": ...', {}, NODES, 'f: the entries of 1 pod are elided ("...")'),
    "blocks": ('"type": "memory",', "...", {}, NODES, 'f: the entries of 1 pod are elided ("...")'),
    "a node's table": (
        '"systemReserved": 0,',
        "...",
        HELD,
        None,
        "f: machineState.1: is not complete, so the memory of the NUMA nodes is not known",
    ),
    "nodes": ('"1": {', '...\n"1": {', HELD, None, 'f: machineState: something is elided ("...")'),
    "a negative size": (f'"size": {2 * GIB}', '"size": -1', {}, NODES, "f: entries.uid-1.app: 1 of its blocks cannot"),
    "a size beyond 64 bits": (f'"size": {2 * GIB}', f'"size": {2**64}', {}, NODES, "f: entries.uid-1.app: 1 of its"),
    "a node that is no number": ('"1": {', '"one": {', HELD, None, "f: machineState.one: is not complete, so the"),
    "no such key": ('"machineState"', '"machine"', HELD, None, "f: machineState: is not there, so the memory of the"),
}


@pytest.mark.parametrize("case", LOST)
def test_what_is_lost_is_said(case: str) -> None:
    old, new, held, nodes, note = LOST[case]
    text = pretty(memory_file())
    assert old in text
    state = read_memory_state(text.replace(old, new), "f")
    assert (state.memory, state.memory_nodes) == (held, nodes)
    assert any(one.startswith(note) for one in state.notes), state.notes


def test_a_file_that_was_cut_off() -> None:
    text = memory_file()
    state = read_memory_state(text[: text.index('"cells":[1]')], "f")
    assert state.memory_nodes is None
    # What is whole of it may not be all: a third node may have stood behind the second.
    state = read_memory_state(text[: text.index(',"entries"')], "f")
    assert (state.memory_policy, state.memory_nodes) == ("Static", None)
    state = read_memory_state(text[: text.index('"uid-1"')], "f")
    assert (state.memory, state.memory_nodes) == ({}, NODES)


def test_another_file_is_refused() -> None:
    with pytest.raises(UserError, match="f: is a cpu_manager_state, not a memory_manager_state; give the other file"):
        read_memory_state(cpu_file(), "f")
    for text in (cpu_file() + memory_file(), memory_file() + cpu_file()):
        state = read_memory_state(text, "f")
        assert (state.memory, state.memory_nodes, state.notes) == (HELD, NODES, ())


@pytest.mark.parametrize("text", [memory_file(), pretty(memory_file()), *WRITTEN.values()])
def test_every_prefix_is_a_value_or_one_line(text: str) -> None:
    for part in prefixes(text):
        is_value_or_line(read_memory_state, part)


@pytest.mark.parametrize("key", ["policyName", "machineState", "entries", "checksum"])
@pytest.mark.parametrize("value", [None, 1, 1.5, True, "x", [], {}, {"a": 1}, {"a": [1]}, {"0": {"memoryMap": {}}}])
def test_any_value_anywhere(key: str, value: object) -> None:
    is_value_or_line(read_memory_state, json.dumps({**json.loads(memory_file()), key: value}))
    is_value_or_line(read_memory_state, compact({**MEMORY, "entries": {"uid": {"c": [value, {key: value}]}}}))


@rubbish
def test_rubbish_ends(unit: str) -> None:
    ends(read_memory_state, unit)
