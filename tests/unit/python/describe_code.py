# SPDX-License-Identifier: MIT
"""Prints the running interpreter's view of lines and strings, for comparison with the decoders.

Prints `version N HEADER` (size of an object header in bytes), then per code object `code FIRST_LINE
TABLE` and its ranges `range BEGIN END LINE COLUMN END_COLUMN` (from 1; 0: unknown), then per string
`text OBJECT UTF-8`; bytes as hexadecimal.
"""
import ctypes
import dis
import importlib.util
import itertools
import sys
import types

MODULES = ("argparse", "ast", "asyncio.base_events", "collections", "dataclasses", "_pydecimal",
           "difflib", "email.message", "functools", "inspect", "json.decoder", "pickle",
           "tarfile", "threading", "typing", "unittest.mock")
TEXTS = ("", "a", "plain ascii", "latin \u00e9\u00ff", "two bytes \u0416\u20ac", "four \U0001f40d",
         "x" * 300, "\u00e9" * 300, "\u0416" * 200, "Outer.<locals>.inner", "nul \0 in it",
         "lone \ud800 surrogate")


def all_codes(code):
    yield code
    for constant in code.co_consts:
        if isinstance(constant, types.CodeType):
            yield from all_codes(constant)


def columns(line, end_line, column, end_column):
    if column is None or column >= 65535:
        return line, 0, 0
    told = end_line == line and end_column is not None and end_column < 65535
    return line, column + 1, end_column + 1 if told else 0


def told_ranges(code):
    if hasattr(code, "co_positions"):
        begin = end = 0
        for place, same in itertools.groupby(code.co_positions()):
            begin, end = end, end + 2 * len(list(same))
            yield (begin, end) + columns(*place)
        return
    if hasattr(code, "co_lines"):
        yield from ((begin, end, line, 0, 0) for begin, end, line in code.co_lines())
        return
    starts = list(dis.findlinestarts(code)) + [(len(code.co_code), 0)]
    for (begin, line), (end, _) in zip(starts, starts[1:]):
        yield begin, end, line, 0, 0


def ranges(code):
    """Code without a line inherits that of the preceding code."""
    last = code.co_firstlineno
    for begin, end, line, *rest in told_ranges(code):
        last = last if line is None else line
        yield (begin, end, last, *rest)


def tell_code(code):
    table = code.co_linetable if hasattr(code, "co_linetable") else code.co_lnotab
    print("code", code.co_firstlineno, table.hex() or "-")
    for found in ranges(code):
        if found[1] > found[0]:
            print("range", *found)


def main():
    print("version", sys.hexversion >> 16, object.__basicsize__)
    for name in MODULES:
        path = importlib.util.find_spec(name).origin
        with open(path, encoding="utf-8") as file:
            module = compile(file.read(), path, "exec")
        for code in all_codes(module):
            tell_code(code)
    for text in TEXTS:
        size = sys.getsizeof(text)
        utf8 = text.encode("utf-8", "surrogatepass").replace(b"\0", "\ufffd".encode())
        utf8 = utf8.replace(b"\xed\xa0\x80", "\ufffd".encode())
        print("text", ctypes.string_at(id(text), size).hex(), utf8.hex() or "-")


main()
