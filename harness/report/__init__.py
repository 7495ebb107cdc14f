"""What a run shows in the end: tables and files."""
