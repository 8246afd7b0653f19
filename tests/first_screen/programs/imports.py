# SPDX-License-Identifier: MIT
# function: pandas
# kind: imports
# words: imports, pandas
# needs: pandas
"""A small table by means of a large package: to import it takes nearly all the time."""


def average(rows):
    import pandas  # CAUSE

    return pandas.DataFrame(rows).mean().to_dict()


if __name__ == "__main__":
    print(average([{"a": 1, "b": 2}, {"a": 3, "b": 5}]))
