"""What was reported of nodes that have too little as a whole: OutOfcpu, OutOfmemory, OutOfpods."""

import pytest

from tests.harness.explain.reported_devices import GIB, MIB, Case, asking, check, pod

CASES = {
    "the scheduler was faster than the kubelet": Case(
        "kubernetes issue 115325",
        "OutOfcpu: requested 100, used 3838, capacity 3920, from a Job of many small pods",
        "pack:1 [numa(memory=16GiB)] core:4 pu:1",
        "kubeReserved: {cpu: 80m}",
        asking("job", {"cpu": "100m"}),
        running=(asking("others", {"cpu": "3738m"}), asking("previous", {"cpu": "100m"})),
        reason="OutOfcpu",
        what="fit",
        resource="cpu",
        shortage=(100, 3838, 3920),
        waits=True,
        sources=("115325",),
        # 3920 - 3838
        helps=("ask for 82m CPUs instead of 100m", "remove pod default/previous", "remove pod default/others"),
        never=("opologyManager",),
    ),
    "more CPUs than are left of the reservation": Case(
        "kubernetes issue 81639",
        "32 CPUs, three for the system and three for Kubernetes: 28 are asked for, 26 are there",
        "pack:1 [numa(memory=64GiB)] core:32 pu:1",
        "systemReserved: {cpu: '3', memory: 4Gi}\nkubeReserved: {cpu: '3', memory: 4Gi}",
        asking("large", {"cpu": 28}),
        reason="OutOfcpu",
        what="fit",
        resource="cpu",
        shortage=(28_000, 0, 26_000),
        waits=False,
        helps=("ask for 26000m CPUs instead of 28000m",),
        never=("remove",),
    ),
    "memory that is asked for is not memory that is used": Case(
        "kubernetes issue 38862",
        "OutOfmemory though the limit is far away: requests count",
        {"packages": 1, "cores": 8, "memory": 7_125_270_528 + 100 * MIB},
        "cpuManagerPolicy: none",
        asking("new", {"memory": "1Gi"}, {"memory": "8Gi"}),
        running=(asking("old", {"memory": "6Gi"}),),
        reason="OutOfmemory",
        what="fit",
        resource="memory",
        shortage=(GIB, 6 * GIB, 7_125_270_528),
        waits=True,
        sources=("115325",),
        # 7125270528 - 6442450944 = 682819584 bytes, 651.2 MiB
        helps=("ask for 651 MiB of memory instead of 1 GiB", "remove pod default/old"),
        never=("instead of 8 GiB",),
    ),
    "a Guaranteed pod on a node that is full": Case(
        "kubernetes issue 38862",
        "the same with limits equal to requests: it may ask for so much less of both",
        {"packages": 1, "cores": 8, "memory": 7_125_270_528 + 100 * MIB},
        "cpuManagerPolicy: none",
        pod("new", app={"cpu": 1, "memory": "1Gi"}),
        running=(asking("old", {"memory": "6Gi"}),),
        reason="OutOfmemory",
        what="fit",
        resource="memory",
        shortage=(GIB, 6 * GIB, 7_125_270_528),
        waits=True,
        sources=("115325",),
        helps=("ask for 651 MiB of memory instead of 1 GiB", "remove pod default/old"),
        never=("as request and limit",),
    ),
    "several pods have to go": Case(
        "kubernetes issue 106884",
        "many small pods, none of which alone has enough",
        "pack:1 [numa(memory=16GiB)] core:4 pu:1",
        "kubeReserved: {cpu: 80m}",
        asking("large", {"cpu": "2500m"}),
        running=(asking("a", {"cpu": "1200m"}), asking("b", {"cpu": "1300m"}), asking("c", {"cpu": "1400m"})),
        reason="OutOfcpu",
        what="fit",
        resource="cpu",
        shortage=(2500, 3900, 3920),
        waits=True,
        sources=("106884",),
        # 2480 are missing: 1400 + 1300 are the fewest that have them.
        helps=("remove pods default/c, default/b", "ask for 20m CPUs"),
    ),
    "no more pods": Case(
        "mybinder.org-deploy issue 3284",
        "OutOfpods: the node takes so many pods and no more",
        "pack:1 [numa(memory=64GiB)] core:48 pu:1",
        "maxPods: 2",
        asking("third", {"cpu": "100m"}),
        running=(asking("first", {"cpu": "100m"}), asking("second", {"cpu": "100m"})),
        reason="OutOfpods",
        what="fit",
        resource="pods",
        shortage=(1, 2, 2),
        waits=True,
        sources=("115325",),
        helps=("remove pod default/first",),
        never=("ask for",),
    ),
}


@pytest.mark.parametrize("case", CASES.values(), ids=CASES.keys())
def test_reported(case: Case) -> None:
    check(case)
