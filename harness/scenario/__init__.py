"""Scenarios: stories of pods on a node, as data; read, sized to a machine, driven, and judged."""
