# SPDX-License-Identifier: MIT
"""What pyannot's own ranges and marks are, for category=: the category's name, the number of who
tells it and that of its role (annot/observers.h). So reports know them without looking at texts."""

SELFTEST = ("selftest", 1, 0)
POOL_START_UP = ("pool", 6, 6)
POOL_START = ("pool", 6, 7)
ASYNCIO_BLOCKED = ("asyncio", 7, 2)
COMMAND_START = ("process", 8, 1)
COMMAND_RUN = ("process", 8, 2)
COMMAND_END = ("process", 8, 3)
