"""Replay of recorded decisions: reads the files and asks the kind's replayer."""
