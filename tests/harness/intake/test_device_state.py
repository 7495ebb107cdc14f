"""kubelet_internal_checkpoint as people paste it."""

import pytest

from numaproof.errors import UserError
from numaproof.harness.intake.device_state import read_device_state
from numaproof.harness.providers.devices import Device
from tests.harness.intake.pasted import FORMS, ends, forms, is_value_or_line, prefixes, pretty, rubbish
from tests.harness.intake.state_files import DEVICES, compact, cpu_file, device_file

GPU = "example.com/gpu"
HELD = {("uid-1", "app"): {GPU: (Device("gpu0", (0,)), Device("gpu1", (1,)))}}
REGISTERED = {GPU: ("gpu0", "gpu1", "gpu2")}
ENTRY = DEVICES["PodDeviceEntries"][0]


@forms
def test_forms_that_lose_nothing(form: str) -> None:
    state = read_device_state(FORMS[form](device_file()), "f")
    assert (state.devices, state.registered, state.notes) == (HELD, REGISTERED, ())


def with_ids(ids: object) -> str:
    return device_file({**DEVICES, "PodDeviceEntries": [{**ENTRY, "DeviceIDs": ids}]})


def test_devices_of_several_nodes_and_of_none() -> None:
    # One of two nodes is in both lists, and one without is under -1.
    state = read_device_state(with_ids({"-1": ["c"], "0": ["a", "b"], "1": ["a"]}), "f")
    (found,) = state.devices["uid-1", "app"].values()
    assert found == (Device("a", (0, 1)), Device("b", (0,)), Device("c", None))


def test_ids_of_old_kubelets_have_no_nodes() -> None:
    # Before 1.20 the ids of an entry are a list.
    entry = {**ENTRY, "DeviceIDs": ["b", "a"]}
    state = read_device_state(compact({"Data": {**DEVICES, "PodDeviceEntries": [entry]}, "Checksum": 1}), "f")
    assert state.devices == {("uid-1", "app"): {GPU: (Device("a", None), Device("b", None))}}
    assert state.notes == ("f: the NUMA nodes of devices are not told (a kubelet before 1.20)",)


def test_nobody_holds_anything() -> None:
    # As a kubelet writes it at first: Go's empty slice is null.
    state = read_device_state(device_file({"PodDeviceEntries": None, "RegisteredDevices": {}}), "f")
    assert (state.devices, state.registered, state.notes) == ({}, {}, ())


def test_the_data_alone() -> None:
    state = read_device_state(compact(DEVICES), "f")
    assert (state.devices, state.registered) == (HELD, REGISTERED)


def test_a_checksum_that_does_not_fit() -> None:
    state = read_device_state(device_file().replace("gpu2", "gpu3"), "f")
    assert state.notes == ("f: the checksum does not fit: edited or damaged",)


LOST = {
    "the answer, elided": (
        '"AllocResp": ""',
        '"AllocResp": ...',
        HELD,
        REGISTERED,
        "f: Data.PodDeviceEntries[0].AllocR",
    ),
    "a node's ids": (
        '"gpu1"\n',
        "...\n",
        {("uid-1", "app"): {GPU: (Device("gpu0", (0,)),)}},
        REGISTERED,
        "f: Data.Pod",
    ),
    "a pod": (
        '"PodUID": "uid-1",',
        "",
        {},
        REGISTERED,
        "f: PodDeviceEntries: 1 entry is not complete, and passed over",
    ),
    "a node": ('"1": [', '"one": [', {}, REGISTERED, "f: PodDeviceEntries: 1 entry is not complete, and passed over"),
    "what is registered": (
        '"RegisteredDevices"',
        '"Others"',
        HELD,
        {},
        "f: RegisteredDevices: is not there, so which devices are registered is not known",
    ),
    "registered ids": (
        '"gpu2"',
        "2",
        HELD,
        {},
        f"f: RegisteredDevices.{GPU}: is not a list of ids, and is passed over",
    ),
}


@pytest.mark.parametrize("case", LOST)
def test_what_is_lost_is_said(case: str) -> None:
    old, new, held, registered, note = LOST[case]
    text = pretty(device_file())
    assert old in text
    state = read_device_state(text.replace(old, new, 1), "f")
    assert (state.devices, state.registered) == (held, registered)
    assert any(one.startswith(note) for one in state.notes), state.notes


def test_a_file_that_was_cut_off() -> None:
    text = device_file()
    state = read_device_state(text[: text.index(',"RegisteredDevices"')], "f")
    assert (state.devices, state.registered) == (HELD, {})
    assert "f: RegisteredDevices: is not there, so which devices are registered is not known" in state.notes
    state = read_device_state(text[: text.index('"1":[')], "f")
    assert state.devices == {("uid-1", "app"): {GPU: (Device("gpu0", (0,)),)}}


def test_another_file_is_refused() -> None:
    with pytest.raises(UserError, match="f: is not a kubelet_internal_checkpoint; give a JSON object with Data, Pod"):
        read_device_state(cpu_file(), "f")


@pytest.mark.parametrize("text", [device_file(), pretty(device_file())])
def test_every_prefix_is_a_value_or_one_line(text: str) -> None:
    for part in prefixes(text):
        is_value_or_line(read_device_state, part)


@pytest.mark.parametrize("key", ["PodDeviceEntries", "RegisteredDevices"])
@pytest.mark.parametrize(
    "value", [None, 1, 1.5, True, "x", [], [1], {}, {"a": 1}, {"a": [1]}, {"a": {}}, [{"PodUID": 1}]]
)
def test_any_value_anywhere(key: str, value: object) -> None:
    is_value_or_line(read_device_state, compact({"Data": {**DEVICES, key: value}, "Checksum": 1}))
    is_value_or_line(read_device_state, compact({"Data": value, "Checksum": value}))
    for name in ENTRY:
        is_value_or_line(read_device_state, compact({"PodDeviceEntries": [{**ENTRY, name: value}]}))


@rubbish
def test_rubbish_ends(unit: str) -> None:
    ends(read_device_state, unit)
