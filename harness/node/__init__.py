"""The reference node: what a kubelet does when a pod with devices, CPUs and memory arrives."""
