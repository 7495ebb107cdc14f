"""Several plugins' answers for one container."""

from numaproof.harness.api import deviceplugin_v1beta1_pb2 as api
from numaproof.harness.node.plugins import merge_responses


def test_the_first_wins_and_a_difference_is_logged() -> None:
    first = api.ContainerAllocateResponse(
        envs={"SAME": "1", "MODE": "a"},
        mounts=[api.Mount(container_path="/lib", host_path="/opt/a", read_only=True)],
        devices=[api.DeviceSpec(container_path="/dev/x", host_path="/dev/x0", permissions="rw")],
        annotations={"note": "a"},
        cdi_devices=[api.CDIDevice(name="example.com/gpu=0")],
    )
    second = api.ContainerAllocateResponse(
        envs={"SAME": "1", "MODE": "b", "MORE": "b"},
        mounts=[
            api.Mount(container_path="/lib", host_path="/opt/b", read_only=True),
            api.Mount(container_path="/bin", host_path="/opt/b"),
        ],
        devices=[
            api.DeviceSpec(container_path="/dev/x", host_path="/dev/x0", permissions="rwm"),
            api.DeviceSpec(container_path="/dev/y", host_path="/dev/y0", permissions="r"),
        ],
        annotations={"note": "b", "other": "b"},
        cdi_devices=[api.CDIDevice(name="example.com/gpu=0"), api.CDIDevice(name="example.com/nic=0")],
    )
    log: list[str] = []
    merged = merge_responses([("example.com/gpu", first), ("example.com/nic", second)], log.append)
    assert merged == api.ContainerAllocateResponse(
        envs={"SAME": "1", "MODE": "a", "MORE": "b"},
        mounts=[first.mounts[0], second.mounts[1]],
        devices=[first.devices[0], second.devices[1]],
        annotations={"note": "a", "other": "b"},
        cdi_devices=[first.cdi_devices[0], second.cdi_devices[1]],
    )
    assert log == [
        "example.com/nic: environment variable MODE: 'b' is dropped, because example.com/gpu has set 'a'",
        "example.com/nic: mount /lib: '/opt/b (ro)' is dropped, because example.com/gpu has set '/opt/a (ro)'",
        "example.com/nic: device /dev/x: '/dev/x0 (rwm)' is dropped, because example.com/gpu has set '/dev/x0 (rw)'",
        "example.com/nic: annotation note: 'b' is dropped, because example.com/gpu has set 'a'",
    ]


def test_repetitions_within_one_answer_are_dropped() -> None:
    device = api.DeviceSpec(container_path="/dev/x", host_path="/dev/x0", permissions="rw")
    other = api.DeviceSpec(container_path="/dev/x", host_path="/dev/x1", permissions="rw")
    log: list[str] = []
    merged = merge_responses(
        [("example.com/gpu", api.ContainerAllocateResponse(devices=[device, device, other]))], log.append
    )
    assert list(merged.devices) == [device]
    assert len(log) == 1


def test_no_answers_are_an_empty_one() -> None:
    assert merge_responses([], lambda line: None) == api.ContainerAllocateResponse()
