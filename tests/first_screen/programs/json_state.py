# SPDX-License-Identifier: MIT
# function: save_state
# kind: cpu
# words: save_state, json
"""Writes its whole state as JSON after each of its steps."""
import json
import os
import tempfile


def save_state(state, path):
    with open(path, "w") as file:
        json.dump(state, file, indent=1)  # CAUSE


def step(state, number):
    state["orders"].append({"id": number, "items": list(range(20)), "paid": number % 3 == 0})
    state["total"] += number


def main():
    state = {"orders": [], "total": 0}
    with tempfile.TemporaryDirectory() as folder:
        for number in range(420):
            step(state, number)
            save_state(state, os.path.join(folder, "state.json"))
    print(state["total"])


if __name__ == "__main__":
    main()
