"""The kinds of fake plugins, one small description each."""

from collections.abc import Callable, Sequence
from dataclasses import dataclass

from numaproof.harness.api import deviceplugin_v1beta1_pb2 as api
from numaproof.harness.vocabulary import USUAL_RESOURCES, kind_of
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


def _rdma(_resource: str) -> Respond:
    def respond(ids: Sequence[str]) -> api.ContainerAllocateResponse:
        return api.ContainerAllocateResponse(devices=_device_files(ids, "infiniband/"))

    return respond


def _of_kind(name: str, summary: str, respond: Callable[[str], Respond]) -> Kind:
    """A plugin for the PCI functions of a kind of the vocabulary."""

    def offers(function: PciFunction) -> bool:
        return kind_of(int(function.class_code, 16), is_vf=function.is_vf) == name

    return Kind(summary, USUAL_RESOURCES[name], offers, respond)


KINDS: dict[str, Kind] = {
    "gpu": _of_kind("gpu", "GPUs wired by NVLink; prefers sets with many links", _gpu),
    "nic": _of_kind("nic", "SR-IOV virtual functions of network cards", _sriov),
    "rdma": _of_kind("rdma", "network cards as a whole, Ethernet or InfiniBand", _rdma),
    "fpga": _of_kind("fpga", "FPGAs and other processing accelerators", _fpga),
    "qat": _of_kind("qat", "QuickAssist co-processors", _qat),
    "generic": Kind("devices that are given as data", "example.com/device", lambda function: False, plain_response),
}
