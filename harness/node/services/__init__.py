"""What the node serves: PodResources, its control service, /metrics and /pods."""
