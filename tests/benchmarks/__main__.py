"""`python -m benchmarks NAME` from the folder of the tests; the same as `footnote bench NAME`."""

import sys

from bots.cli import main

sys.exit(main(["bench", *sys.argv[1:]]))
