"""The NUMA-aware node and pod API, pure: zones and what is held of them, the rules of taints, quota, the predicate."""
