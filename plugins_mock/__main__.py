"""`python -m numaproof.plugins_mock`."""

import sys

from numaproof.plugins_mock.program import main

sys.exit(main())
