"""The kinds of step that a scenario may take, one file each; `kinds.py` lists them."""
