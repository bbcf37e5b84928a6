"""The command `gnc`, also as `python -m gnc.scenarios` in a checkout that is not installed."""

import os
import sys

ONE_THREAD = ("OMP_NUM_THREADS", "OPENBLAS_NUM_THREADS", "MKL_NUM_THREADS")


def main() -> int:
    """Run one command; matrices here are small, and threads of BLAS would take twice the time for them."""
    for name in ONE_THREAD:
        os.environ.setdefault(name, "1")
    from gnc.scenarios import cli  # loads NumPy, which reads the above once
    from gnc.shared_state import end_at_once

    code = cli.main()
    end_at_once(code)
    return code


if __name__ == "__main__":
    sys.exit(main())
