"""cpu_manager_state as people paste it."""

import json

import pytest

from numaproof.errors import UserError
from numaproof.harness.intake.cpu_state import read_cpu_state
from tests.harness.intake.pasted import FORMS, ends, forms, is_value_or_line, prefixes, pretty, rubbish
from tests.harness.intake.state_files import CPU, compact, cpu_file, memory_file, twice

HELD = {
    ("uid-1", "app"): frozenset((1, 2)),
    ("uid-2", "app"): frozenset((3,)),
    ("uid-2", "log"): frozenset((4,)),
}
# Texts that kubelets wrote: their checksums are the judges of what is computed.
WRITTEN = {
    "none": '{"policyName":"none","defaultCpuSet":"","checksum":1353318690}',
    "static": '{"policyName":"static","defaultCpuSet":"0-27","checksum":273146150}',
    # Kubelet v1.37.0-rc.1, with the content a second time.
    "v1.37": '{"policyName":"static","defaultCpuSet":"0-1,6-7","entries":{"uid-p0":{"c0":"2-5"}},"checksum":2406400210,'
    '"data":"{\\"policyName\\":\\"static\\",\\"defaultCpuSet\\":\\"0-1,6-7\\",\\"entries\\":{\\"uid-p0\\":'
    '{\\"c0\\":\\"2-5\\"}}}","dataChecksum":3510706425}',
}


@forms
@pytest.mark.parametrize("version", ["v1.36", "v1.37"])
def test_forms_that_lose_nothing(form: str, version: str) -> None:
    text = cpu_file() if version == "v1.36" else twice(cpu_file())
    state = read_cpu_state(FORMS[form](text), "f")
    assert (state.cpu_policy, state.shared_cpus, state.cpus) == ("static", frozenset((0, 5, 6, 7)), HELD)
    assert state.notes == ()


@pytest.mark.parametrize("name", WRITTEN)
def test_checksums_are_a_kubelets(name: str) -> None:
    assert read_cpu_state(WRITTEN[name], "f").notes == ()
    edited = WRITTEN[name].replace('"checksum":', '"checksum":1')
    assert "f: the checksum does not fit: edited or damaged" in read_cpu_state(edited, "f").notes


def test_a_checksum_that_does_not_fit() -> None:
    state = read_cpu_state(cpu_file().replace('"1-2"', '"1"'), "f")
    assert state.cpus["uid-1", "app"] == {1}
    assert state.notes == ("f: the checksum does not fit: edited or damaged",)


def test_the_second_content_counts() -> None:
    state = read_cpu_state(WRITTEN["v1.37"].replace('"c0":"2-5"', '"c0":"2-4"'), "f")
    assert state.cpus == {("uid-p0", "c0"): {2, 3, 4, 5}}
    assert state.notes == ("f: entries: differs from what `data` says; `data` counts",)
    state = read_cpu_state(WRITTEN["v1.37"].replace('\\"2-5\\"', '\\"2-4\\"'), "f")
    assert state.cpus == {("uid-p0", "c0"): {2, 3, 4}}
    assert "f: data: the checksum does not fit: edited or damaged" in state.notes
    state = read_cpu_state(WRITTEN["v1.37"].replace('"data":"{', '"data":"'), "f")
    assert state.cpus == {("uid-p0", "c0"): {2, 3, 4, 5}}
    assert "f: data: cannot be read, and is passed over" in state.notes


def test_entries_without_pods_of_old_kubelets() -> None:
    # Before 1.18 an entry is a container's id with its CPUs.
    text = cpu_file(CPU | {"entries": {"0a1b": "1-2", "2c3d": "3-4"}})
    state = read_cpu_state(text, "f")
    assert state.cpus == {("", "0a1b"): {1, 2}, ("", "2c3d"): {3, 4}}
    (note,) = state.notes
    assert note == "f: the entries are by a container's id (a kubelet before 1.18): their pods are not known"


def test_pods_as_a_whole_are_passed_over() -> None:
    state = read_cpu_state(compact(CPU | {"podEntries": {"uid-9": "6"}, "checksum": 1}), "f")
    assert state.cpus == HELD
    assert state.notes == ("f: podEntries: what belongs to pods as a whole is passed over",)


LOST = {
    "a value": ('"3"', "...", {("uid-2", "app")}, 'f: the entries of 1 pod are elided ("...")'),
    "a value in quotes": ('"3"', '"..."', {("uid-2", "app")}, 'f: the entries of 1 pod are elided ("...")'),
    "a container": ('"log": "4"', "[snip]", {("uid-2", "log")}, 'f: the entries of 1 pod are elided ("[snip]")'),
    "pods": ('"uid-2"', '<2 more pods>\n"uid-2"', set(), 'f: entries: something is elided ("<2 more pods>")'),
    "the shared CPUs": ('"0,5-7"', "...", set(), 'f: defaultCpuSet: something is elided ("...")'),
    "no list": ('"3"', '"three"', {("uid-2", "app")}, "f: entries.uid-2.app: 'three' is not a list of CPUs, and is"),
    "a number": ('"3"', "3", {("uid-2", "app")}, "f: entries.uid-2.app: '3' is not a list of CPUs, and is passed over"),
    "too far": ('"3"', '"3-10000"', {("uid-2", "app")}, "f: entries.uid-2.app: '3-10000' is not a list of CPUs, and"),
    "backwards": ('"3"', '"3-2"', {("uid-2", "app")}, "f: entries.uid-2.app: '3-2' is not a list of CPUs, and is"),
    "no name": ('"log"', '"a\\nb"', {("uid-2", "log")}, "f: entries.uid-2.a?b: is not a name, and is passed over"),
}


@pytest.mark.parametrize("case", LOST)
def test_what_is_lost_is_said(case: str) -> None:
    old, new, lost, note = LOST[case]
    text = pretty(cpu_file())
    assert old in text
    state = read_cpu_state(text.replace(old, new), "f")
    assert state.cpus == {key: cpus for key, cpus in HELD.items() if key not in lost}
    assert any(one.startswith(note) for one in state.notes), state.notes


def test_a_file_that_was_cut_off() -> None:
    text = cpu_file()
    state = read_cpu_state(text[: text.index('"log"')], "f")
    assert state.cpus == {("uid-1", "app"): {1, 2}, ("uid-2", "app"): {3}}
    assert state.notes == ("f: the text ends in the middle, in entries.uid-2; what follows is not known",)


def test_several_files_in_one_text() -> None:
    older = cpu_file(CPU | {"defaultCpuSet": "0"})
    state = read_cpu_state(older + cpu_file(), "f")
    assert state.shared_cpus == frozenset((0, 5, 6, 7))
    assert state.notes == ("f: 2 such files stand one after the other; the last one is read",)
    for text in (cpu_file() + memory_file(), memory_file() + cpu_file()):
        state = read_cpu_state(text, "f")
        assert (state.cpus, state.notes) == (HELD, ())


def test_another_file_is_refused() -> None:
    for text, why in (
        (memory_file(), "f: is a memory_manager_state, not a cpu_manager_state; give the other file"),
        ('{"a": 1}', "f: is not a cpu_manager_state; give a JSON object with policyName, defaultCpuSet, entries"),
        ("[1]", "f: is not a cpu_manager_state; give a JSON object with policyName, defaultCpuSet, entries"),
    ):
        with pytest.raises(UserError) as caught:
            read_cpu_state(text, "f")
        assert str(caught.value) == why


def test_entries_of_more_cpus_than_there_can_be() -> None:
    # Ten thousand CPUs for each of two hundred pods; and one list that names them all again and again.
    many = {f"uid-{number}": {"app": "0-9999"} for number in range(200)}
    with pytest.raises(UserError, match="its entries name more than 1048576 CPUs"):
        read_cpu_state(compact(CPU | {"entries": many}), "f")
    again = {"uid-1": {"app": ",".join(["0-9999"] * 500)}}
    state = read_cpu_state(compact(CPU | {"entries": again}), "f")
    assert state.cpus == {}


@pytest.mark.parametrize("text", [cpu_file(), pretty(cpu_file()), *WRITTEN.values()])
def test_every_prefix_is_a_value_or_one_line(text: str) -> None:
    for part in prefixes(text):
        is_value_or_line(read_cpu_state, part)


@pytest.mark.parametrize("key", ["policyName", "defaultCpuSet", "entries", "checksum"])
@pytest.mark.parametrize("value", [None, 1, 1.5, True, "x", [], {}, {"a": 1}, {"a": [1]}, {"a": {"b": {}}}])
def test_any_value_anywhere(key: str, value: object) -> None:
    is_value_or_line(read_cpu_state, json.dumps({**json.loads(cpu_file()), key: value}))


@rubbish
def test_rubbish_ends(unit: str) -> None:
    ends(read_cpu_state, unit)
