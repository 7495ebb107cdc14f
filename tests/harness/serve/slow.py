"""A question that takes minutes: many containers on many NUMA nodes, each with its own hints."""

import json

_CONTAINERS = "".join(
    f"  - {{name: c{number}, resources: {{limits: {{cpu: 2, memory: 1Gi}}}}}}\n" for number in range(900)
)
SLOW = {
    "machine": "pack:8 numa:8(memory=32GiB) core:8 pu:2",
    "pod": f"metadata: {{name: p}}\nspec:\n  containers:\n{_CONTAINERS}",
}
QUICK = {"machine": "laptop", "pod": "metadata: {name: p}\nspec: {containers: [{name: c}]}"}
SLOW_BODY, QUICK_BODY = (json.dumps(one).encode() for one in (SLOW, QUICK))
