# SPDX-License-Identifier: MIT
# function: distances
# kind: cpu
# words: distances
# needs: numpy
"""Distances of points from each other, row by row with temporary arrays."""
import numpy


def distances(points, row):
    apart = points - points[row]  # CAUSE
    return numpy.sqrt((apart * apart).sum(axis=1))  # CAUSE


def main():
    points = numpy.random.default_rng(1).random((20000, 8))
    nearest = [numpy.partition(distances(points, row), 1)[1] for row in range(900)]
    print(sum(nearest))


if __name__ == "__main__":
    main()
