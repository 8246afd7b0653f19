# SPDX-License-Identifier: MIT
"""The program shown by all pages: one thread fetches, parses and measures files, another writes."""

import ast
import pathlib
import queue
import sysconfig
import threading
import time
import zlib

from pyannot import annotate

FILES = 120


def choose():
    folder = pathlib.Path(sysconfig.get_path("stdlib"))
    return sorted(folder.glob("*.py"))[:FILES]


@annotate("fetch")
def fetch(path):
    time.sleep(0.004)  # a server far away
    return path.read_text(errors="replace")


@annotate("measure")
def measure(source):
    tree = ast.parse(source)
    return longest_names(tree), branches(tree)


def longest_names(tree):
    names = {node.id for node in ast.walk(tree) if isinstance(node, ast.Name)}
    return sorted(names, key=len)[-3:]


def branches(tree):
    return sum(isinstance(node, (ast.If, ast.For, ast.While)) for node in ast.walk(tree))


def pack(rows):
    while (row := rows.get()) is not None:
        with annotate("pack"):
            zlib.compress(row.encode() * 3, 9)


@annotate("all files")
def main():
    rows = queue.Queue()
    writer = threading.Thread(target=pack, args=(rows,), name="writer")
    writer.start()
    for path in choose():
        with annotate("file"):
            source = fetch(path)
            names, count = measure(source)
            rows.put(f"{path.name} {names} {count}\n{source}")
    rows.put(None)
    writer.join()


if __name__ == "__main__":
    main()
