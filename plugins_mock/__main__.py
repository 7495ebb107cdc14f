"""`python -m plugins_mock`."""

import sys

from plugins_mock.program import main

sys.exit(main())
