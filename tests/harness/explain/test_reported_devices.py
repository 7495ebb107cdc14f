"""Devices: what was reported of plugins, GPUs and network cards, and of virtual machines."""

import json

import pytest

from tests.harness.explain.reported_devices import Case, Manifest, check, pod

ALIGNING = """
cpuManagerPolicy: static
reservedSystemCPUs: "0"
topologyManagerPolicy: single-numa-node
"""
BEST_EFFORT = ALIGNING.replace("single-numa-node", "best-effort")
GPU = "nvidia.com/gpu"
# p5.48xlarge and most HGX boards: four GPUs on each of two sockets.
HGX = {GPU: {0: 4, 1: 4}}


def _gpus(name: str, count: int, cpus: int = 8) -> Manifest:
    return pod(name, app={"cpu": cpus, "memory": "16Gi", GPU: count})


# As `nvidia-smi topo -m` tells of that machine: no two cards are near each other.
_TOPO = "\n".join(
    (
        "\t" + "\t".join(f"GPU{n}" for n in range(8)) + "\tCPU Affinity\tNUMA Affinity\tGPU NUMA ID",
        *(
            f"GPU{row}\t"
            + "\t".join(" X " if column == row else "SYS" for column in range(8))
            + f"\t{'0-55,112-167' if row < 4 else '56-111,168-223'}\t{row // 4}\t\tN/A"
            for row in range(8)
        ),
    )
)

CASES = {
    "all GPUs of two sockets": Case(
        "pytorch/ci-infra PR 652",
        "eight GPUs, four on each socket, and a pod of all eight under single-numa-node: never admitted",
        "pack:2 [numa(memory=512GiB)] core:48 pu:2",
        ALIGNING,
        _gpus("whole", 8),
        HGX,
        reason="TopologyAffinityError",
        what="devices",
        cause="too much",
        resource=GPU,
        wanted=8,
        free={0: 4, 1: 4},
        waits=False,
        helps=("topologyManagerPolicy to best-effort",),
        never=("remove",),
    ),
    "all GPUs of two sockets, best-effort": Case(
        "pytorch/ci-infra PR 652",
        "the same after the change that was made there: admitted, over both sockets",
        "pack:2 [numa(memory=512GiB)] core:48 pu:2",
        BEST_EFFORT,
        _gpus("whole", 8),
        HGX,
        what="devices",
        cause="too much",
        resource=GPU,
        wanted=8,
        free={0: 4, 1: 4},
        never=("remove",),
    ),
    "a GPU taken on each socket": Case(
        "pytorch/ci-infra issue 696",
        "pods of one GPU sit on both sockets; four GPUs are free, and the pod of four is refused again and again",
        "pack:2 [numa(memory=512GiB)] core:48 pu:2",
        ALIGNING + "topologyManagerScope: pod\n",
        _gpus("quarter", 4),
        HGX,
        # The second one comes to socket 1, where alone there are CPUs enough for it: 96 a socket.
        running=(_gpus("one", 1, 80), _gpus("two", 1, 80)),
        reason="TopologyAffinityError",
        what="devices",
        cause="in use",
        resource=GPU,
        wanted=4,
        free={0: 3, 1: 3},
        waits=True,
        sources=("84869", "pytorch/ci-infra issue 696"),
        # restricted wants it on one NUMA node as well: an empty one would have enough.
        helps=("ask for 3 nvidia.com/gpu", "remove pod default/one", "topologyManagerPolicy to best-effort"),
    ),
    "three GPUs, one here and two there": Case(
        "kubernetes issue 136431",
        "best-effort puts a pod of all three GPUs on the CPUs of the NUMA node that has one of them",
        "pack:2 [numa(memory=128GiB)] core:32 pu:2",
        BEST_EFFORT + "memoryManagerPolicy: Static\nreservedMemory: [{numaNode: 0, limits: {memory: 100Mi}}]\n",
        _gpus("three", 3, 8),
        {GPU: {0: 1, 1: 2}},
        what="devices",
        cause="too much",
        resource=GPU,
        wanted=3,
        free={0: 1, 1: 2},
        sources=("136431",),
    ),
    "CPUs torn apart for a card that is elsewhere": Case(
        "kubernetes issue 106270",
        "one SR-IOV card, on node 0; the second pod of 32 CPUs gets what is left there, and the rest of node 1",
        "pack:2 [numa(memory=96GiB)] core:20 pu:2",
        BEST_EFFORT.replace('"0"', "0,20,40,60"),
        pod("dpdk-2", app={"cpu": 32, "memory": "8Gi", "intel.com/sriov": 1}),
        {"intel.com/sriov": {0: 8}},
        running=(pod("dpdk-1", app={"cpu": 32, "memory": "8Gi", "intel.com/sriov": 1}),),
        what="cpu",
        cause="in use",
        resource="cpu",
        wanted=32,
        # 40 CPUs a node, 2 of them reserved, 32 of node 0 held.
        free={0: 6, 1: 38},
        sources=("106270", "sriov-network-operator PR 435"),
    ),
    "GPU and network card on different sockets": Case(
        "sriov-network-device-plugin issue 262, multus-cni issue 413",
        "the card's functions are on node 1, the GPUs on node 0: nothing has both",
        "pack:2 [numa(memory=96GiB)] core:20 pu:2",
        ALIGNING,
        pod("rdma", app={"cpu": 4, "memory": "8Gi", GPU: 1, "mellanox.com/rdma": 1}),
        {GPU: {0: 2}, "mellanox.com/rdma": {1: 8}},
        reason="TopologyAffinityError",
        what="devices",
        cause="apart",
        waits=False,
        sources=("sriov-network-operator PR 435",),
        helps=("topologyManagerPolicy to best-effort",),
        never=("remove", "own CPUs", "CPUs of its own"),
    ),
    "the plugin has not registered again": Case(
        "kubernetes issues 109595, 125579, 133382 and squat/generic-device-plugin issue 33",
        "after a reboot the pod starts before its plugin: no healthy devices present",
        "pack:2 [numa(memory=16GiB)] core:4 pu:1",
        "cpuManagerPolicy: none",
        pod("zigbee", app={"cpu": 1, "memory": "128Mi", "squat.ai/zigbee": 1}),
        {"squat.ai/zigbee": [{"id": "tty0", "numa": None, "healthy": False}]},
        reason="UnexpectedAdmissionError",
        what="devices",
        cause="not given",
        resource="squat.ai/zigbee",
        wanted=1,
        waits=False,
        sources=("125579",),
        never=("ask for", "topologyManager"),
    ),
    "one GPU, and somebody has it": Case(
        "kubernetes issue 130145",
        "requested 1, available 0: held, or kept for a pod whose allocation failed",
        "pack:1 [numa(memory=64GiB)] core:8 pu:2",
        "cpuManagerPolicy: none",
        _gpus("next", 1, 2),
        {GPU: {0: 1}},
        running=(_gpus("first", 1, 2),),
        reason="UnexpectedAdmissionError",
        what="devices",
        cause="not given",
        resource=GPU,
        wanted=1,
        free={0: 0},
        waits=True,
        sources=("130145",),
        helps=("remove pod default/first",),
        never=("topologyManager",),
    ),
    "a GPU of a pod that is gone": Case(
        "kubernetes issues 130145 and 137010",
        "kubelet_internal_checkpoint has the only GPU with a pod that nobody finds any more",
        "pack:1 [numa(memory=64GiB)] core:8 pu:2",
        "cpuManagerPolicy: none",
        _gpus("next", 1, 2),
        files={
            "kubelet_internal_checkpoint": json.dumps(
                {
                    "Data": {
                        "PodDeviceEntries": [
                            {
                                "PodUID": "9d1c",
                                "ContainerName": "gone",
                                "ResourceName": GPU,
                                "DeviceIDs": {"0": ["GPU-31"]},
                                "AllocResp": "",
                            }
                        ],
                        "RegisteredDevices": {GPU: ["GPU-31"]},
                    }
                }
            )
        },
        reason="UnexpectedAdmissionError",
        what="devices",
        cause="not given",
        resource=GPU,
        wanted=1,
        free={0: 0},
        waits=True,
        sources=("130145",),
        says=("pod default/9d1c holds nvidia.com/gpu",),
        helps=("remove pod default/9d1c",),
    ),
    "two GPUs of two sockets": Case(
        "NVIDIA/go-gpuallocator issue 17",
        "eight cards, four a socket, no Topology Manager: a pod of two gets one of each",
        "pack:2 [numa(memory=256GiB)] core:56 pu:2",
        "cpuManagerPolicy: static\nreservedSystemCPUs: '0'",
        _gpus("infer", 2, 8),
        _TOPO,
        running=(_gpus("three", 3, 8),),
        # Three of node 0 are held: the fourth, and one of node 1.
        what="policy",
        sources=(),
        helps=("topologyManagerPolicy to best-effort",),
        never=("remove",),
    ),
    "GPUs, cards and CPUs of a whole board": Case(
        "NVIDIA/nccl issue 707, pytorch/ci-infra PR 652",
        "four GPUs and four cards of one socket, with the CPUs of it: they fit, and only one pod a socket",
        "pack:2 [numa(memory=512GiB)] core:48 pu:2",
        ALIGNING + "topologyManagerScope: pod\n",
        pod("b", app={"cpu": 60, "memory": "64Gi", GPU: 4, "rdma/ib": 4}),
        {**HGX, "rdma/ib": {0: 4, 1: 4}},
        running=(
            pod("a", app={"cpu": 60, "memory": "64Gi", GPU: 4, "rdma/ib": 4}),
            pod("cpus", app={"cpu": 50, "memory": "64Gi"}),
        ),
        # 96 CPUs a socket: node 0 has 96 - 1 - 60 left, so that the 50 are of node 1, where 46 are left.
        reason="TopologyAffinityError",
        what="cpu",
        cause="in use",
        resource="cpu",
        wanted=60,
        free={0: 35, 1: 46},
        waits=True,
        helps=("ask for 46 CPUs instead of 60", "remove pod default/cpus", "topologyManagerPolicy to"),
    ),
    "a healthy and an ill GPU": Case(
        "NVIDIA/k8s-device-plugin issue 75",
        "three GPUs, of which the plugin finds one ill: two can be had",
        "pack:1 [numa(memory=64GiB)] core:8 pu:2",
        "cpuManagerPolicy: none",
        _gpus("three", 3, 2),
        {GPU: [{"id": f"GPU-{n}", "numa": [0], "healthy": n != 2} for n in range(3)]},
        reason="UnexpectedAdmissionError",
        what="devices",
        resource=GPU,
        wanted=3,
        free={0: 2},
        waits=False,
        sources=("k8s-device-plugin issues 58 and 75",),
        helps=("ask for 2 nvidia.com/gpu",),
    ),
    "a topology of no NUMA node": Case(
        "kubernetes issue 112234",
        "the SGX plugin tells a topology without nodes; single-numa-node refused every pod until v1.26",
        "pack:2 [numa(memory=16GiB)] core:4 pu:2",
        ALIGNING,
        pod("sgx", app={"cpu": 1, "memory": "128Mi", "sgx.intel.com/enclave": 1}),
        {"sgx.intel.com/enclave": [{"id": "enclave-0", "numa": []}]},
        sources=("112234",),
    ),
    "a GPU of no NUMA node": Case(
        "NVIDIA/kubevirt-gpu-device-plugin PR 86, a comment in kubernetes enhancement issue 693",
        "the plugin tells no NUMA node of its GPUs: CPUs come from anywhere, and nobody refuses",
        "pack:2 [numa(memory=96GiB)] core:20 pu:2",
        ALIGNING,
        pod("vm", app={"cpu": 4, "memory": "8Gi", "nvidia.com/GA102GL_A10": 1}),
        {"nvidia.com/GA102GL_A10": [{"id": "17"}, {"id": "42"}]},
        sources=("kubevirt-gpu-device-plugin PR 86",),
    ),
    "nobody offers the resource": Case(
        "kubernetes issues 102880 and 116125",
        "the kubelet knows of no plugin, and starts the pod without its GPU",
        "pack:2 [numa(memory=96GiB)] core:20 pu:2",
        ALIGNING,
        _gpus("early", 1, 4),
        sources=("116125",),
        assumes=("nobody offers nvidia.com/gpu",),
    ),
    "an init container uses the GPU first": Case(
        "kubernetes issues 124345 and 138446",
        "init and app container ask for the same device; after a restart of the kubelet the pod that ran is refused",
        "pack:1 [numa(memory=64GiB)] core:8 pu:2",
        "cpuManagerPolicy: none",
        pod("shared", {"check": {"cpu": 1, "memory": "1Gi", GPU: 1}}, app={"cpu": 1, "memory": "1Gi", GPU: 1}),
        {GPU: {0: 1}},
        running=(_gpus("other", 1, 2),),
        reason="UnexpectedAdmissionError",
        what="devices",
        resource=GPU,
        sources=("138446",),
    ),
    "a device of two NUMA nodes": Case(
        "kubernetes PR 101893",
        "a device between the nodes counts as near on both",
        "pack:2 [numa(memory=16GiB)] core:4 pu:1",
        ALIGNING,
        pod("dsa", app={"cpu": 2, "memory": "1Gi", "example.com/dsa": 1}),
        {"example.com/dsa": [{"id": "dsa0", "numa": [0, 1]}]},
    ),
    "one NUMA node, another bridge": Case(
        "sriov-network-operator issue 736",
        "GPU and card share the NUMA node and no PCIe bridge: the kubelet has no word for that",
        "pack:2 [numa(memory=96GiB)] core:20 pu:2",
        ALIGNING,
        pod("rdma", app={"cpu": 4, "memory": "8Gi", GPU: 1, "mellanox.com/rdma": 1}),
        {GPU: {0: 4, 1: 4}, "mellanox.com/rdma": {0: 4, 1: 4}},
        sources=("sriov-network-operator issue 736",),
    ),
    "two replicas of one GPU": Case(
        "NVIDIA/k8s-device-plugin issue 491",
        "time slicing: two replicas are two devices for the kubelet, and may be one GPU",
        "pack:1 [numa(memory=64GiB)] core:8 pu:2",
        ALIGNING,
        _gpus("pair", 2, 2),
        {GPU: [{"id": f"GPU-8d4f{gpu}::{copy}", "numa": [0]} for gpu in range(2) for copy in range(2)]},
        sources=("k8s-device-plugin issue 491",),
    ),
    "the emulator's thread makes it odd": Case(
        "kubevirt PR 10593",
        "a virtual machine of eight CPUs of its own and an isolated emulator thread: nine CPUs, and whole cores only",
        "pack:2 [numa(memory=64GiB)] core:16 pu:2",
        ALIGNING + "cpuManagerPolicyOptions: {full-pcpus-only: 'true'}\n",
        pod("virt-launcher-fedora-x7x2p", compute={"cpu": 9, "memory": "8Gi"}),
        reason="SMTAlignmentError",
        what="cpu",
        resource="cpu",
        wanted=9,
        waits=False,
        sources=("kubevirt PR 10593",),
        helps=("10 CPUs instead of 9",),
    ),
}


@pytest.mark.parametrize("case", CASES.values(), ids=CASES.keys())
def test_reported(case: Case) -> None:
    check(case)
