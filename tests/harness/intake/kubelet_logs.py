"""The same decision in the logs of several kubelets.

The formats are those of the kubelet's source: without fields until v1.20, with fields and Go's text of values until v1.27,
with JSON as values since v1.28, and wholly JSON with --logging-format=json.
"""

# ruff: noqa: E501 (a log has long lines)

import json

from numaproof.harness.topology.bitmask import mask_of
from numaproof.harness.topology.hints import TopologyHint

FIRST, SECOND = TopologyHint(mask_of([0]), True), TopologyHint(mask_of([1]), True)
BOTH = TopologyHint(mask_of([0, 1]), False)
CPU = {"cpu": (FIRST, SECOND, BOTH)}
UID = "0c8e5a52-1f7d-4c11-9b6a-6d2f3a4b5c6d"

# A pod with one container that is admitted: a device manager that is silent, CPUs on either NUMA node.
V1_18 = f"""\
I0117 10:57:41.086255   52570 topology_manager.go:233] [topologymanager] Topology Admit Handler
I0117 10:57:41.086261   52570 topology_manager.go:180] [topologymanager] TopologyHints for pod 'web', container 'app': map[]
I0117 10:57:41.086283   52570 topology_manager.go:180] [topologymanager] TopologyHints for pod 'web', container 'app': map[cpu:[{{01 true}} {{10 true}} {{11 false}}]]
I0117 10:57:41.086290   52570 policy.go:70] [topologymanager] Hint Provider has no preference for NUMA affinity with any resource
I0117 10:57:41.086311   52570 topology_manager.go:199] [topologymanager] ContainerTopologyHint: {{01 true}}
I0117 10:57:41.086320   52570 topology_manager.go:258] [topologymanager] Topology Affinity for (pod: {UID} container: app): {{01 true}}
"""
V1_20 = f"""\
I0117 10:57:41.086255   52570 topology_manager.go:187] [topologymanager] Topology Admit Handler
I0117 10:57:41.086261   52570 scope_container.go:80] [topologymanager] TopologyHints for pod 'web_default({UID})', container 'app': map[]
I0117 10:57:41.086283   52570 scope_container.go:80] [topologymanager] TopologyHints for pod 'web_default({UID})', container 'app': map[cpu:[{{01 true}} {{10 true}} {{11 false}}]]
I0117 10:57:41.086311   52570 scope_container.go:88] [topologymanager] ContainerTopologyHint: {{01 true}}
I0117 10:57:41.086315   52570 scope_container.go:53] [topologymanager] Best TopologyHint for (pod: web_default({UID}) container: app): {{01 true}}
I0117 10:57:41.086320   52570 scope_container.go:63] [topologymanager] Topology Affinity for (pod: web_default({UID}) container: app): {{01 true}}
"""
V1_22 = """\
I0117 10:57:41.086255   52570 topology_manager.go:200] "Topology Admit Handler"
I0117 10:57:41.086261   52570 scope_container.go:77] "TopologyHints" hints=map[] pod="default/web" containerName="app"
I0117 10:57:41.086283   52570 scope_container.go:77] "TopologyHints" hints=map[cpu:[{NUMANodeAffinity:01 Preferred:true} {NUMANodeAffinity:10 Preferred:true} {NUMANodeAffinity:11 Preferred:false}]] pod="default/web" containerName="app"
I0117 10:57:41.086311   52570 scope_container.go:85] "ContainerTopologyHint" bestHint={NUMANodeAffinity:01 Preferred:true}
I0117 10:57:41.086315   52570 scope_container.go:54] "Best TopologyHint" bestHint={NUMANodeAffinity:01 Preferred:true} pod="default/web" containerName="app"
I0117 10:57:41.086320   52570 scope_container.go:59] "Topology Affinity" bestHint={NUMANodeAffinity:01 Preferred:true} pod="default/web" containerName="app"
"""
V1_36 = """\
I0117 10:57:41.086255   52570 topology_manager.go:267] "Topology manager admission check" pod="default/web"
I0117 10:57:41.086261   52570 scope_container.go:93] "TopologyHints" hints={} pod="default/web" containerName="app"
I0117 10:57:41.086283   52570 scope_container.go:93] "TopologyHints" hints={"cpu":[{"NUMANodeAffinity":1,"Preferred":true},{"NUMANodeAffinity":2,"Preferred":true},{"NUMANodeAffinity":3,"Preferred":false}]} pod="default/web" containerName="app"
I0117 10:57:41.086311   52570 scope_container.go:101] "ContainerTopologyHint" bestHint={"NUMANodeAffinity":1,"Preferred":true} pod="default/web" containerName="app"
I0117 10:57:41.086315   52570 scope_container.go:57] "Best TopologyHint" bestHint={"NUMANodeAffinity":1,"Preferred":true} pod="default/web" containerName="app"
I0117 10:57:41.086320   52570 scope_container.go:69] "Topology Affinity" bestHint={"NUMANodeAffinity":1,"Preferred":true} pod="default/web" containerName="app"
I0117 10:57:41.086390   52570 topology_manager.go:274] "Pod Admit Result" Message="" pod="default/web"
"""


def as_json(text: str) -> str:
    """A log of V1_36's kind, as --logging-format=json writes it."""
    lines = []
    for line in text.splitlines():
        head, rest = line.split("] ", 1)
        place, message = head.split()[-1], rest.split('"')[1]
        fields: dict[str, object] = {
            "ts": 1768647461086.255,
            "caller": f"topologymanager/{place}",
            "msg": message,
            "v": 0,
        }
        for part in rest.split('" ', 1)[1].split(" "):
            name, value = part.split("=", 1)
            fields[name] = json.loads(value)
        namespace, name = str(fields["pod"]).split("/")
        fields["pod"] = {"name": name, "namespace": namespace}
        lines.append(json.dumps(fields, separators=(",", ":")))
    return "\n".join(lines) + "\n"


LOGS = {"v1.18": V1_18, "v1.20": V1_20, "v1.22": V1_22, "v1.36": V1_36, "json": as_json(V1_36)}


def behind(prefix: str, text: str) -> str:
    """The lines behind a prefix."""
    return "".join(f"{prefix}{line}\n" for line in text.splitlines())
