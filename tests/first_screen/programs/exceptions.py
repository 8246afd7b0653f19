# SPDX-License-Identifier: MIT
# function: to_number
# kind: cpu
# words: to_number
"""Distinguishes numbers from words by the exception that a word raises."""


def to_number(text):
    try:
        return float(text)  # CAUSE
    except ValueError as error:  # CAUSE
        raise KeyError(text) from error  # CAUSE


def clean(fields):
    total = 0.0
    for field in fields:
        try:
            total += to_number(field)
        except KeyError:
            pass
    return total


def main():
    fields = [f"name{number}" if number % 4 else str(number) for number in range(1200000)]
    print(clean(fields))


if __name__ == "__main__":
    main()
