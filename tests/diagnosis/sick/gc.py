# SPDX-License-Identifier: MIT
"""Makes many objects that refer to each other, while as many live."""


class Node:
    def __init__(self, before):
        self.before = before


kept = [Node(None) for _ in range(400_000)]
for _ in range(60):
    chain = None
    for _ in range(10_000):
        chain = Node([chain])
    kept.append(chain)
