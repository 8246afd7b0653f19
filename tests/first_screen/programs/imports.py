# SPDX-License-Identifier: MIT
# function: pandas
# kind: imports
# words: imports, pandas
# needs: pandas
"""A small table with a large package: importing it takes nearly all the time."""


def average(rows):
    import pandas  # CAUSE

    return pandas.DataFrame(rows).mean().to_dict()


if __name__ == "__main__":
    print(average([{"a": 1, "b": 2}, {"a": 3, "b": 5}]))
