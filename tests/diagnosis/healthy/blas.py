# SPDX-License-Identifier: MIT
"""Multiplies matrices with a BLAS that has a thread for each processor."""
# needs: numpy
import time

import numpy

matrix = numpy.full((1500, 1500), 0.5)
end = time.monotonic() + 1.5
while time.monotonic() < end:
    matrix = matrix @ matrix / 750
