#!/usr/bin/env python3
# SPDX-License-Identifier: MIT
"""Counts words of prose that make sentences hard to read, against a budget per 10,000 words.

    words.py [-v] PATH...   a line for each file or folder; -v also prints the lines with the words

Prose is the comments of C, Python, shell and meson, docstrings, and the text of Markdown and of man
pages without code. A plainer expression replaces each word of the budget: a noun instead of "what",
a verb of the field instead of "tells", the case that exists instead of "none".
"""

import io
import math
import re
import subprocess
import sys
import tokenize
from pathlib import Path

# Occurrences per 10,000 words; one is always allowed.
BUDGET = {"what": 20, "tells?|told|telling": 3, "none|nobody|nothing": 20, "behind": 1,
          "whose|whom|theirs": 5}
C_COMMENT = re.compile(r'"(?:[^"\\\n]|\\.)*"|\'(?:[^\'\\\n]|\\.)*\'|/\*(.*?)\*/|//([^\n]*)', re.S)
HASH_COMMENT = re.compile(r"^[^\"'#\n]*#(?!!)(.*)$", re.M)
DOCSTRING = re.compile(r'[rR]?("""|\'\'\')(.*?)\1', re.S)
CODE = re.compile(r"^```.*?^```|^(?: {4}|\t)[^\n]*$|`[^`\n]*`", re.S | re.M)


def python_prose(text):
    found = [match.group(2) for match in DOCSTRING.finditer(text)]
    try:
        tokens = list(tokenize.generate_tokens(io.StringIO(text).readline))
    except (tokenize.TokenError, SyntaxError):
        return found
    return found + [token.string[1:] for token in tokens if token.type == tokenize.COMMENT]


def prose(path, text):
    """The sentences of one file, without code; "" for other kinds of files."""
    if path.suffix in (".c", ".h", ".cpp", ".hpp", ".js", ".css", ".bt"):
        found = [match.group(1) or match.group(2) or "" for match in C_COMMENT.finditer(text)]
        return "\n".join(line.lstrip(" *") for part in found for line in part.split("\n"))
    if path.suffix in (".py", ".pyi"):
        return "\n".join(python_prose(text))
    if path.suffix in (".sh", ".build"):
        return "\n".join(HASH_COMMENT.findall(text))
    if path.suffix in (".md", ".scd"):
        return CODE.sub("", text)
    return ""


def over_budget(text):
    """(word, occurrences, limit) for each word above its limit."""
    words = len(re.findall(r"[A-Za-z']+", text))
    for word, limit in BUDGET.items():
        count = len(re.findall(rf"\b(?:{word})\b", text, re.I))
        allowed = math.ceil(limit * words / 10000)
        if count > allowed:
            yield word, count, allowed


def files_of(path):
    if path.is_file():
        return [path]
    listed = subprocess.run(["git", "ls-files", "-z", "."], cwd=path, stdout=subprocess.PIPE,
                            check=True)
    return [path / name for name in listed.stdout.decode().split("\0") if name]


def prose_of(path):
    texts = [prose(file, file.read_text(errors="replace")) for file in files_of(path)
             if file.is_file()]
    return "\n".join(texts)


def print_sentences(path):
    every = re.compile(rf"\b(?:{'|'.join(BUDGET)})\b", re.I)
    for file in files_of(path):
        text = prose(file, file.read_text(errors="replace")) if file.is_file() else ""
        for line in text.split("\n"):
            if every.search(line):
                print(f"{file}: {line.strip()}")


def main(arguments):
    verbose = arguments[:1] == ["-v"]
    for name in arguments[verbose:]:
        path = Path(name)
        text = prose_of(path)
        words = len(re.findall(r"[A-Za-z']+", text))
        rates = [10000 * len(re.findall(rf"\b(?:{word})\b", text, re.I)) / max(words, 1)
                 for word in BUDGET]
        told = ", ".join(f"{word.split('|')[0].rstrip('?')} {rate:.0f}/{limit}"
                         for (word, limit), rate in zip(BUDGET.items(), rates))
        print(f"{name}: {words} words; per 10,000: {told}")
        if verbose:
            print_sentences(path)


if __name__ == "__main__":
    main(sys.argv[1:] or ["."])
