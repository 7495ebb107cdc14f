"""A private Docker engine."""
