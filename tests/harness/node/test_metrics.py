"""The metrics' text, judged by the parser of Prometheus' own client."""

from prometheus_client.parser import text_string_to_metric_families

from numaproof.harness.node.metrics import Counter, Gauge, Histogram, Metrics
from numaproof.plugins_mock import MockPlugin
from tests.harness.node.running import GPU, STATIC, devices, listed_plugins, pod, running_node

Samples = dict[tuple[str, frozenset[tuple[str, str]]], float]


def samples(text: str) -> Samples:
    """Every sample that the parser finds, by its name and labels; one that is there twice is an error."""
    found: Samples = {}
    for family in text_string_to_metric_families(text):
        for sample in family.samples:
            key = (sample.name, frozenset(sample.labels.items()))
            assert key not in found, key
            found[key] = sample.value
    return found


def sample(name: str, **labels: str) -> tuple[str, frozenset[tuple[str, str]]]:
    return f"kubelet_{name}", frozenset(labels.items())


def test_samples_are_read_back_as_they_were_counted() -> None:
    counter, gauge, histogram = Counter("a_total", "A.", ("x",)), Gauge("b", "B."), Histogram("c", "C.", (1, 10))
    counter.add('q"\\\n')
    counter.add("z", by=2)
    gauge.set(to=1.5)
    for value in (0.5, 1, 5, 50):
        histogram.observe(value=value)
    text = "".join(f"{line}\n" for metric in (counter, gauge, histogram) for line in metric.lines())
    assert samples(text) == {
        sample("a_total", x='q"\\\n'): 1,
        sample("a_total", x="z"): 2,
        sample("b"): 1.5,
        sample("c_bucket", le="1"): 2,
        sample("c_bucket", le="10"): 3,
        sample("c_bucket", le="+Inf"): 4,
        sample("c_sum"): 56.5,
        sample("c_count"): 4,
    }


# The kubelet's names; those with labels have samples only when something happened.
NAMES = """
topology_manager_admission_requests_total topology_manager_admission_errors_total topology_manager_admission_duration_ms
container_aligned_compute_resources_count container_aligned_compute_resources_failure_count
cpu_manager_pinning_requests_total cpu_manager_pinning_errors_total cpu_manager_shared_pool_size_millicores
cpu_manager_exclusive_cpu_allocation_count cpu_manager_allocation_per_numa memory_manager_pinning_requests_total
memory_manager_pinning_errors_total device_plugin_registration_total device_plugin_alloc_duration_seconds
pod_resources_endpoint_requests_total pod_resources_endpoint_requests_list pod_resources_endpoint_requests_get
pod_resources_endpoint_requests_get_allocatable pod_resources_endpoint_errors_list pod_resources_endpoint_errors_get
pod_resources_endpoint_errors_get_allocatable
"""


def test_every_metric_of_the_kubelet_is_there_and_zero_at_first() -> None:
    text = Metrics().text()
    expected = sorted(f"kubelet_{name}" for name in NAMES.split())
    assert sorted(line.split()[2] for line in text.splitlines() if line.startswith("# TYPE")) == expected
    families = list(text_string_to_metric_families(text))
    # The parser takes the ending off a counter's name.
    assert sorted(one.name for one in families) == sorted(name.removesuffix("_total") for name in expected)
    assert all(one.documentation and one.type in ("counter", "gauge", "histogram") for one in families)
    assert set(samples(text).values()) == {0}


def test_a_nodes_text_is_read_and_says_whose_allocation_failed() -> None:
    config = STATIC | {"topologyManagerPolicy": "best-effort", "cpuManagerPolicyOptions": {"full-pcpus-only": "true"}}
    with (
        running_node(config) as node,
        listed_plugins(node, MockPlugin(GPU, devices("gpu", 2), node.device_plugins)),
    ):
        before = samples(node.metrics())

        def counted(name: str, **labels: str) -> float:
            key = sample(name, **labels)
            return samples(node.metrics()).get(key, 0) - before.get(key, 0)

        assert node.admit(pod("good", {"cpu": 2, "memory": "1Gi", GPU: 1})).admitted
        assert counted("topology_manager_admission_requests_total") == 1
        assert counted("cpu_manager_pinning_requests_total") == 1
        assert counted("memory_manager_pinning_requests_total") == 1
        assert counted("device_plugin_alloc_duration_seconds_count", resource_name=GPU) == 1
        assert counted("cpu_manager_exclusive_cpu_allocation_count") == 2

        assert node.admit(pod("odd", {"cpu": 3, "memory": "1Gi"})).reason == "SMTAlignmentError"
        assert counted("topology_manager_admission_errors_total") == 1
        assert counted("cpu_manager_pinning_errors_total") == 1
        failures = "container_aligned_compute_resources_failure_count_total"  # the parser adds the ending to counters
        assert counted(failures, scope="container", boundary="physical_cpu") == 1

        assert node.admit(pod("huge", {"cpu": 2, "memory": "1Ti"})).reason == "UnexpectedAdmissionError"
        assert counted("topology_manager_admission_errors_total") == 2
        assert counted("cpu_manager_pinning_errors_total") == 1
        assert counted("memory_manager_pinning_errors_total") == 1

        assert not node.admit(pod("many", {"cpu": 2, "memory": "1Gi", GPU: 2})).admitted
        assert counted("topology_manager_admission_errors_total") == 3
        assert counted("cpu_manager_pinning_errors_total") == 1
        assert counted("memory_manager_pinning_errors_total") == 1
