"""Replay of recorded decisions: reads the files and asks the family's replayer."""
