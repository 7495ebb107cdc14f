"""The kinds of fake plugins, one small description each."""

from collections.abc import Callable, Sequence
from dataclasses import dataclass

from numaproof.harness.api import deviceplugin_v1beta1_pb2 as api
from numaproof.harness.vocabulary import is_gpu, is_nic
from numaproof.plugins_mock.answers import Respond, plain_response
from numaproof.plugins_mock.sysfs import PciFunction


@dataclass(frozen=True, slots=True)
class Kind:
    """What makes a plugin a GPU's, a NIC's, ...: its usual resource, which PCI functions it offers, what it answers."""

    summary: str
    resource: str
    offers: Callable[[PciFunction], bool]
    respond: Callable[[str], Respond]  # given the resource's name


def _device_files(ids: Sequence[str], name: str) -> list[api.DeviceSpec]:
    # No such hardware is here: /dev/null stands in for it, under the name that software in the container looks for.
    return [
        api.DeviceSpec(container_path=f"/dev/{name}{device}", host_path="/dev/null", permissions="rwm")
        for device in ids
    ]


def _gpu(_resource: str) -> Respond:
    def respond(ids: Sequence[str]) -> api.ContainerAllocateResponse:
        return api.ContainerAllocateResponse(
            envs={"NVIDIA_VISIBLE_DEVICES": ",".join(ids)}, devices=_device_files(ids, "nvidia")
        )

    return respond


def _sriov(resource: str) -> Respond:
    variable = "PCIDEVICE_" + "".join(c if c.isalnum() else "_" for c in resource).upper()

    def respond(ids: Sequence[str]) -> api.ContainerAllocateResponse:
        return api.ContainerAllocateResponse(envs={variable: ",".join(ids)}, devices=_device_files(ids, "vfio/"))

    return respond


def _fpga(_resource: str) -> Respond:
    def respond(ids: Sequence[str]) -> api.ContainerAllocateResponse:
        return api.ContainerAllocateResponse(
            devices=_device_files(ids, "dfl-port."), annotations={"com.intel.fpga.mode": "fpga.intel.com/af"}
        )

    return respond


def _qat(_resource: str) -> Respond:
    def respond(ids: Sequence[str]) -> api.ContainerAllocateResponse:
        return api.ContainerAllocateResponse(
            envs={f"QAT{number}": device for number, device in enumerate(ids)}, devices=_device_files(ids, "vfio/")
        )

    return respond


KINDS: dict[str, Kind] = {
    "gpu": Kind(
        "GPUs wired by NVLink; prefers sets with many links",
        "nvidia.com/gpu",
        lambda function: is_gpu(int(function.class_code, 16)),
        _gpu,
    ),
    "nic": Kind(
        "SR-IOV virtual functions of network cards",
        "intel.com/sriov_netdevice",
        lambda function: function.is_vf and is_nic(int(function.class_code, 16)),
        _sriov,
    ),
    "fpga": Kind(
        "FPGAs and other processing accelerators",
        "fpga.intel.com/af",
        lambda function: function.class_code[:6] == "0x1200",
        _fpga,
    ),
    "qat": Kind(
        "QuickAssist co-processors",
        "qat.intel.com/generic",
        lambda function: function.class_code[:6] == "0x0b40",
        _qat,
    ),
    "generic": Kind("devices that are given as data", "example.com/device", lambda function: False, plain_response),
}
