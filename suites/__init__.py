"""The suites: scenarios as data, a folder a theme. Nothing imports them; `numaproof run` finds them."""
