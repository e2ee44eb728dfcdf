"""Run the matrix: `python -m lab.matrix`."""

import sys

from lab.matrix.build import main

if __name__ == "__main__":
    sys.exit(main())
