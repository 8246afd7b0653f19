# SPDX-License-Identifier: MIT
"""What the running interpreter knows of lines and strings, for the decoders to agree with.

Prints `version N HEADER` (bytes of an object's own header), then per code object `code FIRST_LINE
TABLE` and its ranges `range BEGIN END LINE` (line 0: none), then per string `text OBJECT UTF-8`;
bytes as hexadecimal.
"""
import ctypes
import dis
import importlib.util
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


def ranges(code):
    if hasattr(code, "co_lines"):
        yield from ((begin, end, line or 0) for begin, end, line in code.co_lines())
        return
    starts = list(dis.findlinestarts(code)) + [(len(code.co_code), 0)]
    for (begin, line), (end, _) in zip(starts, starts[1:]):
        yield begin, end, line


def tell_code(code):
    table = code.co_linetable if hasattr(code, "co_linetable") else code.co_lnotab
    print("code", code.co_firstlineno, table.hex() or "-")
    for begin, end, line in ranges(code):
        if end > begin:
            print("range", begin, end, line)


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
