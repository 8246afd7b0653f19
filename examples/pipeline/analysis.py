# SPDX-License-Identifier: MIT
"""Measurements of one source file for the pipeline. Each step is one decorated function."""

import ast
import collections
import dataclasses
import keyword

from pyannot import annotate

BRANCHES = (
    ast.If,
    ast.IfExp,
    ast.For,
    ast.AsyncFor,
    ast.While,
    ast.ExceptHandler,
    ast.Assert,
    ast.comprehension,
)
FUNCTIONS = (ast.FunctionDef, ast.AsyncFunctionDef)


@dataclasses.dataclass
class Measures:
    """The result for one file."""

    functions: list = dataclasses.field(default_factory=list)  # (complexity, name, line)
    imports: set = dataclasses.field(default_factory=set)
    identifiers: collections.Counter = dataclasses.field(default_factory=collections.Counter)


@annotate("analyse", category="compute", color="green")
def analyse(tree):
    return Measures(complexities(tree), imports(tree), identifiers(tree))


@annotate("complexity", category="compute")
def complexities(tree):
    """Cyclomatic complexity of each function: one path, and one more at every branch."""
    found = []
    for function in ast.walk(tree):
        if isinstance(function, FUNCTIONS):
            paths = 1 + sum(map(branches, ast.walk(function)))
            found.append((paths, function.name, function.lineno))
    return found


def branches(node):
    if isinstance(node, ast.BoolOp):
        return len(node.values) - 1
    return isinstance(node, BRANCHES)


@annotate("imports", category="compute")
def imports(tree):
    """The packages that a file imports, by their first name."""
    found = set()
    for node in ast.walk(tree):
        if isinstance(node, ast.Import):
            found.update(alias.name.partition(".")[0] for alias in node.names)
        elif isinstance(node, ast.ImportFrom) and node.level == 0:
            found.add(node.module.partition(".")[0])
    return found


@annotate("identifiers", category="compute")
def identifiers(tree):
    """How often each name is used, attributes and parameters included."""
    counts = collections.Counter()
    for node in ast.walk(tree):
        if isinstance(node, ast.Name):
            counts[node.id] += 1
        elif isinstance(node, ast.Attribute):
            counts[node.attr] += 1
        elif isinstance(node, ast.arg):
            counts[node.arg] += 1
    return collections.Counter({n: c for n, c in counts.items() if not keyword.iskeyword(n)})
