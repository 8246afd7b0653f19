# SPDX-License-Identifier: MIT
"""The output of all benches: rows of one measured value with its unit and, if there is one, its
budget.

A row is a dictionary: what, value, unit, budget (None: only reported), at ("most" or "least"),
against (the reference value, or how it was measured).
"""

import json
import pathlib
import sys


def row(what, value, unit, *, most=None, least=None, against=""):
    budget, side = (least, "least") if least is not None else (most, "most")
    return {"what": what, "value": value, "unit": unit, "budget": budget, "at": side,
            "against": against}


def is_met(entry):
    """None without a budget."""
    if entry["budget"] is None:
        return None
    if entry["at"] == "least":
        return entry["value"] >= entry["budget"]
    return entry["value"] <= entry["budget"]


def number(value):
    if value == int(value) and abs(value) < 1e15:
        return f"{int(value):,}"
    return f"{value:.3g}" if abs(value) < 100 else f"{value:,.0f}"


def print_table(title, entries):
    print(f"\n{title}")
    for entry in entries:
        met = is_met(entry)
        limit = "" if met is None else f"at {entry['at']} {number(entry['budget'])}"
        verdict = {None: "", True: "met", False: "MISSED"}[met]
        print(f"  {entry['what']:<46} {number(entry['value']):>14} {entry['unit']:<12} "
              f"{limit:<16} {verdict:<7} {entry['against']}".rstrip())
    sys.stdout.flush()


def finish(name, entries):
    """The end of a bench that runs by itself: a table, and JSON with --json FILE."""
    print_table(name, entries)
    if "--json" in sys.argv:
        path = pathlib.Path(sys.argv[sys.argv.index("--json") + 1])
        path.write_text(json.dumps(entries, indent=1) + "\n")
