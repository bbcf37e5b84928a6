"""The command `gnc`, also as `python -m gnc.scenarios` in a checkout that is not installed."""

import gc
import os
import sys

ONE_THREAD = ("OMP_NUM_THREADS", "OPENBLAS_NUM_THREADS", "MKL_NUM_THREADS")
LOOK_AFTER = 20_000  # new objects for garbage: most live to the end, and looking took a tenth of a short flight


def main() -> int:
    """Run one command; matrices here are small, and threads of BLAS would take twice the time for them."""
    for name in ONE_THREAD:
        os.environ.setdefault(name, "1")
    gc.set_threshold(LOOK_AFTER, 10, 10)
    from gnc.scenarios import cli  # loads NumPy, which reads the above once
    from gnc.shared_state import end_at_once

    code = cli.main()
    end_at_once(code)
    return code


if __name__ == "__main__":
    sys.exit(main())
