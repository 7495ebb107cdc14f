"""A node under test and its plugins, started for a scenario; what real tools and workloads see there."""
