"""The node's metrics, under the kubelet's names, as Prometheus text."""

import threading
from bisect import bisect_left
from collections.abc import Mapping, Sequence

Labels = tuple[str, ...]


class Counter:
    """A figure for each combination of label values; a gauge is one that may be set."""

    kind = "counter"

    def __init__(self, name: str, text: str, labels: Sequence[str] = ()) -> None:
        self.name = f"kubelet_{name}"
        self.text = text
        self.labels = tuple(labels)
        self._lock = threading.Lock()
        # One without labels is there from the start, at zero.
        self._values: dict[Labels, float] = {} if labels else {(): 0}

    def add(self, *labels: str, by: float = 1) -> None:
        """Count `by` more."""
        with self._lock:
            self._values[labels] = self._values.get(labels, 0) + by

    def lines(self) -> list[str]:
        """The samples."""
        with self._lock:
            values = sorted(self._values.items())
        return [f"{self.name}{_label_text(self.labels, labels)} {value:g}" for labels, value in values]


class Gauge(Counter):
    """A figure that goes up and down."""

    kind = "gauge"

    def set(self, *labels: str, to: float) -> None:
        """Set the figure."""
        with self._lock:
            self._values[labels] = to

    def replace(self, values: Mapping[Labels, float]) -> None:
        """Set all figures at once; those of other label values are gone."""
        with self._lock:
            self._values = dict(values)


class Histogram:
    """How often a duration fell into each bucket."""

    kind = "histogram"

    def __init__(self, name: str, text: str, buckets: Sequence[float], labels: Sequence[str] = ()) -> None:
        self.name = f"kubelet_{name}"
        self.text = text
        self.labels = tuple(labels)
        self._buckets = tuple(buckets)
        self._lock = threading.Lock()
        self._seen: dict[Labels, tuple[list[int], float]] = {} if labels else {(): ([0] * (len(buckets) + 1), 0.0)}

    def observe(self, *labels: str, value: float) -> None:
        """Count one duration."""
        with self._lock:
            counts, total = self._seen.get(labels, ([0] * (len(self._buckets) + 1), 0.0))
            counts[bisect_left(self._buckets, value)] += 1
            self._seen[labels] = (counts, total + value)

    def lines(self) -> list[str]:
        """The samples: cumulative buckets, sum and count."""
        with self._lock:
            seen = [(labels, list(counts), total) for labels, (counts, total) in sorted(self._seen.items())]
        lines = []
        for labels, counts, total in seen:
            below = 0
            for bound, count in zip((*map("{:g}".format, self._buckets), "+Inf"), counts, strict=True):
                below += count
                lines.append(f"{self.name}_bucket{_label_text((*self.labels, 'le'), (*labels, bound))} {below}")
            plain = _label_text(self.labels, labels)
            lines += [f"{self.name}_sum{plain} {total:g}", f"{self.name}_count{plain} {below}"]
        return lines


def _label_text(names: Sequence[str], values: Sequence[str]) -> str:
    if not names:
        return ""
    pairs = zip(names, values, strict=True)
    return "{" + ",".join(f'{name}="{_escaped(value)}"' for name, value in pairs) + "}"


def _escaped(value: str) -> str:
    return value.replace("\\", "\\\\").replace('"', '\\"').replace("\n", "\\n")


class Metrics:
    """All metrics of one node."""

    def __init__(self) -> None:
        self.admission_requests = Counter(
            "topology_manager_admission_requests_total", "Admission requests where resources have to be aligned."
        )
        self.admission_errors = Counter(
            "topology_manager_admission_errors_total", "Admission requests where resources could not be aligned."
        )
        self.admission_duration = Histogram(
            "topology_manager_admission_duration_ms",
            "Duration of an admission request in milliseconds.",
            [0.05 * 2**step for step in range(15)],
        )
        alignment = ("scope", "boundary")
        self.aligned = Counter(
            "container_aligned_compute_resources_count", "Containers given aligned compute resources.", alignment
        )
        self.aligned_failures = Counter(
            "container_aligned_compute_resources_failure_count", "Failures to align compute resources.", alignment
        )
        self.cpu_requests = Counter("cpu_manager_pinning_requests_total", "Allocations of exclusive CPUs asked for.")
        self.cpu_errors = Counter("cpu_manager_pinning_errors_total", "Allocations of exclusive CPUs that failed.")
        self.shared_pool = Gauge("cpu_manager_shared_pool_size_millicores", "The size of the shared CPU pool.")
        self.exclusive_cpus = Gauge("cpu_manager_exclusive_cpu_allocation_count", "CPUs allocated exclusively.")
        self.cpus_per_node = Gauge(
            "cpu_manager_allocation_per_numa", "CPUs allocated exclusively, by NUMA node.", ("numa_node",)
        )
        self.memory_requests = Counter("memory_manager_pinning_requests_total", "Memory allocations asked for.")
        self.memory_errors = Counter("memory_manager_pinning_errors_total", "Memory allocations that failed.")
        self.registrations = Counter(
            "device_plugin_registration_total", "Device plugin registrations.", ("resource_name",)
        )
        self.allocate_duration = Histogram(
            "device_plugin_alloc_duration_seconds",
            "Duration of a device plugin's Allocate call in seconds.",
            (0.005, 0.01, 0.025, 0.05, 0.1, 0.25, 0.5, 1, 2.5, 5, 10),
            ("resource_name",),
        )
        version = ("server_api_version",)
        self.pod_resources = Counter("pod_resources_endpoint_requests_total", "Requests to PodResources.", version)
        self.pod_resources_calls = {
            call: Counter(f"pod_resources_endpoint_requests_{call}", f"Requests to PodResources: {call}.", version)
            for call in ("list", "get", "get_allocatable")
        }
        self.pod_resources_errors = {
            call: Counter(f"pod_resources_endpoint_errors_{call}", f"Failed requests to PodResources: {call}.", version)
            for call in ("list", "get", "get_allocatable")
        }

    def text(self) -> str:
        """All samples, as a scraper reads them."""
        lines = []
        for metric in self._all():
            lines += [f"# HELP {metric.name} {metric.text}", f"# TYPE {metric.name} {metric.kind}", *metric.lines()]
        return "\n".join(lines) + "\n"

    def _all(self) -> list[Counter | Histogram]:
        found: list[Counter | Histogram] = []
        for value in vars(self).values():
            found += value.values() if isinstance(value, dict) else [value]
        return sorted(found, key=lambda metric: metric.name)
