"""`python -m gnc.scenarios` is the command `gnc`, for a checkout that is not installed."""

import sys

from gnc.scenarios.cli import main

sys.exit(main())
