# SPDX-License-Identifier: MIT
"""Call graphs: shares of functions and arrows are those of the collapsed stacks; Graphviz draws."""

import collections
import re
import shutil
import subprocess

from recordings import cpu_of, export

NODE = re.compile(r'^  (f\d+) \[label="(?:[^"\\]|\\.)*" fillcolor="[\d. ]+" '
                  r'tooltip="total (\d+), self (\d+): ((?:[^"\\]|\\.)*)"\];$')
EDGE = re.compile(r'^  (f\d+) -> (f\d+) \[label="[\d.]+ %" penwidth=[\d.]+ '
                  r'tooltip="total (\d+)"\];$')
ALL = ("--native", "--strip-prefix", "/", "--min-share", "1e-9", "--min-edge", "1e-9")


def lines_of(path):
    """Splits at line feeds only: Python's splitlines() accepts other characters, too."""
    return path.read_bytes().decode().split("\n")[:-1]


def read(path):
    """(name, total, self) of each function, and {(caller, callee): total}."""
    lines = lines_of(path)
    assert lines[0] == "digraph calls {" and lines[-1] == "}", lines
    names, nodes, edges = {}, [], {}
    for line in lines[4:-1]:
        node, edge = NODE.match(line), EDGE.match(line)
        if node:
            name = re.sub(r"\\(.)", r"\1", node[4]).replace("&amp;", "&").replace(";", ",")
            names[node[1]] = name
            nodes.append((name, int(node[2]), int(node[3])))
        else:
            assert edge, line
            edges[names[edge[1]], names[edge[2]]] = int(edge[3])
    return nodes, edges


def sums_of(stacks):
    """The same sums from collapsed stacks, in microseconds."""
    own, total, pairs = collections.Counter(), collections.Counter(), collections.Counter()
    for line in stacks:
        stack, weight = line.rsplit(" ", 1)
        frames = [frame.removesuffix("_[k]") for frame in stack.split(";")]
        own[frames[-1]] += int(weight)
        for frame in set(frames):
            total[frame] += int(weight)
        for pair in set(zip(frames, frames[1:])):
            pairs[pair] += int(weight)
    return own, total, pairs


def check_drawing(path, nodes):
    if not shutil.which("dot"):
        return "Graphviz's dot"
    picture = subprocess.run(["dot", "-Tsvg", path], check=True, text=True,
                             stdout=subprocess.PIPE).stdout
    assert picture.count('class="node"') == len(nodes), path
    return None


def check(recording):
    path, stacks = recording.with_suffix(".dot"), recording.with_suffix(".dot.folded")
    export(recording, path, *ALL)
    export(recording, stacks, "--strip-prefix", "/")
    nodes, edges = read(path)
    lines = lines_of(stacks)
    own, total, pairs = sums_of(lines)
    near = len(lines) + 1  # each is rounded
    whole = cpu_of(recording)[1]
    assert sum(node[2] for node in nodes) == whole, recording
    often = collections.Counter(node[0] for node in nodes)  # functions with the same name
    assert not {name for name, us in total.items() if us > near} - often.keys(), recording
    for name, total_ns, own_ns in nodes:
        if often[name] == 1:
            assert abs(total_ns / 1000 - total[name]) <= near, (recording, name, total_ns)
            assert abs(own_ns / 1000 - own[name]) <= near, (recording, name, own_ns)
    for pair in edges.keys() | pairs.keys():
        if often[pair[0]] == often[pair[1]] == 1:
            assert abs(edges.get(pair, 0) / 1000 - pairs[pair]) <= near, (recording, pair)
    part = recording.with_suffix(".share.dot")
    export(recording, part, "--min-share", "10")
    few = read(part)[0]
    assert all(node[1] * 10 >= whole for node in few), (recording, few)
    if recording.stem.startswith("made"):  # graphs of real programs take long to draw
        return check_drawing(path, nodes) if nodes else None
    return check_drawing(part, few) if few else None


def check_parts(recording):
    path = recording.with_suffix(".part.dot")
    choice = ("--from", "5ms", "--to", "20ms")
    export(recording, path, *ALL, *choice)
    assert sum(node[2] for node in read(path)[0]) == cpu_of(recording, *choice)[1]
