# SPDX-License-Identifier: MIT
"""Outputs in a comparable form, without the parts that may change without a change of meaning.

Those are sizes and versions of the file, the order of an export's events, and numbers that only
link them. Everything else stays as printed.
"""

import collections
import json
import re

import perfetto_lines

# Fields of `annot info` that describe the file, not its content.
INFO_LINES = re.compile(r"^(volume|size|format) {2,}.*\n", re.M)
INFO_DAMAGE = re.compile(r"\b(?:at byte|at|from byte|offset) [\d,]+\b")
FILE_KEYS = {"file_bytes", "uncompressed_bytes", "chunk_count", "format", "volumes"}


def plain(data):
    return data.decode(errors="backslashreplace").split("\n")[:-1] if data else []


def info(data):
    text = data.decode(errors="backslashreplace")
    return INFO_DAMAGE.sub("at N", INFO_LINES.sub("", text)).split("\n")


def rows_of(value, path=""):
    """A document as one line per value; each row of a table is one line, in an order that is
    independent of the order of ties."""
    if isinstance(value, dict) and value:
        for key in value:
            yield from rows_of(value[key], f"{path}.{key}")
    elif isinstance(value, list) and value:
        yield from sorted(f"{path}[] {json.dumps(part, ensure_ascii=False, sort_keys=True)}"
                          for part in value)
    else:
        yield f"{path} {json.dumps(value, ensure_ascii=False)}"


def flat_json(data):
    """Omits empty tables, so that a new table changes only recordings with rows in it."""
    if not data:
        return []
    document = json.loads(data)
    return list(rows_of({key: value for key, value in document.items() if value != []}))


def info_json(data):
    document = json.loads(data) if data else {}
    for key in FILE_KEYS:
        document.pop(key, None)
    for damage in document.get("damage", []):
        damage.pop("offset_bytes", None)
        damage.pop("length_bytes", None)
    return list(rows_of(document))


def folded(data):
    return sorted(plain(data))


def svg(data):
    """Omits the style, which is derived from the page's."""
    text = data.decode(errors="backslashreplace")
    return re.sub(r"<style\b.*?</style>", "<style/>", text, flags=re.S).split("\n")


def perfetto(data):
    return perfetto_lines.lines(data)


# ---- Chrome's JSON ----

def nest(slices):
    """The path of each complete event of one thread, as viewers nest them."""
    stack = []
    order = sorted(range(len(slices)), key=lambda i: (slices[i][0], -slices[i][1], i))
    for begin, duration, event in (slices[i] for i in order):
        while stack and stack[-1][0] <= begin and (duration or stack[-1][0] < begin):
            stack.pop()
        path = (stack[-1][1] + "/" if stack else "") + event["name"]
        stack.append((begin + duration, path))
        event["path"] = path


def thousandths(number):
    whole, _, part = str(number).partition(".")
    return int(whole + part.ljust(3, "0"))


class Number(str):
    """A number with a fraction, as spelled in the file."""


def pair(rows):
    """Converts begins and ends of rows to complete events; returns the other events."""
    left, open_rows = [], collections.defaultdict(list)
    for event in rows:
        place = (event["pid"], event["tid"]) if event["ph"] in "BE" else None
        if event["ph"] == "E":
            begin = open_rows[place].pop()
            begin["ph"], begin["depth"] = "slice", len(open_rows[place])
            begin["until"] = event["ts"]
            continue
        if event["ph"] == "B":
            open_rows[place].append(event)
        left.append(event)
    return left


def tie_key(event):
    if "id2" in event:
        return ("async", event["pid"], event.get("cat"), str(event["id2"]))
    if "id" in event:
        return ("flow", event.get("cat"), str(event["id"]))
    return None


def chrome(data):
    if not data:
        return []
    document = json.loads(data, parse_float=Number)
    events = pair(document.pop("traceEvents"))
    complete, ties = collections.defaultdict(list), {}
    for event in events:
        if event["ph"] == "X":
            complete[event["pid"], event["tid"]].append(
                (thousandths(event["ts"]), thousandths(event["dur"]), event))
        key = tie_key(event)
        if key:
            place = (thousandths(event["ts"]), event["name"])
            ties[key] = min(ties.get(key, place), place)
    for slices in complete.values():
        nest(slices)
    for event in events:
        key = tie_key(event)
        if key:
            event.pop("id", None)
            event.pop("id2", None)
            event["tie"] = [key[0], *map(str, ties[key])]
    lines = sorted(json.dumps(event, sort_keys=True, ensure_ascii=False) for event in events)
    return lines + list(rows_of(document))
