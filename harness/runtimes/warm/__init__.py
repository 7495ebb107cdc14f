"""Warm processes, which programs are forked from."""
