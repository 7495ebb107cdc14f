"""`python -m numaproof`: the `numaproof` command."""

import sys

from numaproof.harness.cli import main

if __name__ == "__main__":
    sys.exit(main())
