"""Words, limits and classes that several parts share, each said once."""

from collections.abc import Mapping
from typing import Literal, get_args

Semantics = Literal["current", "kep"]
SEMANTICS: tuple[Semantics, ...] = get_args(Semantics)

KUBELET_POLICIES = ("none", "best-effort", "restricted", "single-numa-node")
# Experimental: strict, from the feedback on the proposal; cost, from the proposal of cost-based selection.
POLICIES = (*KUBELET_POLICIES, "strict", "cost")
SELECTING_POLICY = "cost"  # it selects resources, where all others merge hints
SCOPES = ("container", "pod")
SMALLEST_NODE_LIMIT = 8  # the kubelet's default for max-allowable-numa-nodes, and its least

# auto: docker where an engine answers, else namespaces where they work, else plain processes.
RUNTIMES = ("auto", "docker", "namespace", "process")

ContainerKey = tuple[str, str]  # a pod's uid, a container's name

# Where a kubelet listens and plugins register, and where its plugin watcher finds plugins.
DEVICE_PLUGIN_DIRECTORY = "/var/lib/kubelet/device-plugins"
PLUGIN_REGISTRY_DIRECTORY = "/var/lib/kubelet/plugins_registry"
LONGEST_SOCKET_PATH = 107  # bytes of a unix socket's path: sun_path holds 108, the last of which is 0


def is_gpu(class_code: int) -> bool:
    """Whether a PCI function of this class (24 bits) is a GPU: VGA, 3D, or a display controller of another kind.

    The last, 0x0380, is what AMD's Instinct cards are.
    """
    return class_code >> 8 in {0x0300, 0x0302, 0x0380}


def is_nic(class_code: int) -> bool:
    """Whether a PCI function of this class (24 bits) is a network card: Ethernet, InfiniBand."""
    return class_code >> 8 in {0x0200, 0x0207}


# What a plugin of each kind usually calls its resource.
USUAL_RESOURCES: Mapping[str, str] = {
    "gpu": "nvidia.com/gpu",
    "nic": "intel.com/sriov_netdevice",
    "rdma": "rdma/hca",
    "fpga": "fpga.intel.com/af",
    "qat": "qat.intel.com/generic",
}


def kind_of(class_code: int, *, is_vf: bool) -> str | None:
    """The kind of plugin that offers a PCI function of this class (24 bits): a key of USUAL_RESOURCES; None: none.

    Of network cards, virtual functions and the cards as a whole are two resources.
    """
    if is_gpu(class_code):
        return "gpu"
    if is_nic(class_code):
        return "nic" if is_vf else "rdma"
    return {0x1200: "fpga", 0x0B40: "qat"}.get(class_code >> 8)
