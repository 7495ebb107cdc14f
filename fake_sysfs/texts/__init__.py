"""Machines as tools and people tell them: `numactl -H`, `lscpu`, lstopo's XML, or a few words."""
