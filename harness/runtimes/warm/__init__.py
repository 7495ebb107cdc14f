"""Warm processes, which programs are forked from: a launcher whose programs start in milliseconds."""
