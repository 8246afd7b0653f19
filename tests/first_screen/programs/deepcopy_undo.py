# SPDX-License-Identifier: MIT
# function: remember
# kind: cpu
# words: remember, copy
"""An editor that copies the whole document for its undo."""
import copy


def remember(history, document):
    history.append(copy.deepcopy(document))  # CAUSE
    del history[:-5]


def edit(document, number):
    document["lines"][number % 200]["text"] = f"changed {number}"


def main():
    document = {"lines": [{"text": str(number), "marks": [1, 2, [3]]} for number in range(400)]}
    history = []
    for number in range(1000):
        remember(history, document)
        edit(document, number)
    print(len(history))


if __name__ == "__main__":
    main()
