# SPDX-License-Identifier: MIT
# function: read_tree
# kind: gc
# words: read_tree, garbage
"""Keeps many small objects that refer to each other: the garbage collector visits all of them."""


class Node:
    def __init__(self, parent, name):
        self.parent = parent
        self.name = name
        self.children = []


def read_tree(count):
    nodes = [Node(None, "root")]
    for number in range(1, count):
        node = Node(nodes[number // 4], {"text": [number]})  # CAUSE
        node.parent.children.append(node)
        nodes.append(node)
    return nodes


if __name__ == "__main__":
    print(len(read_tree(250000)))
