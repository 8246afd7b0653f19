# SPDX-License-Identifier: MIT
"""Computes, while another thread writes log lines."""
import logging.handlers
import os
import queue

lines = queue.Queue()
logging.getLogger().addHandler(logging.handlers.QueueHandler(lines))
with open(os.devnull, "w") as file:
    listener = logging.handlers.QueueListener(lines, logging.StreamHandler(file))
    listener.start()
    for i in range(40):
        logging.warning("the sum is %d", sum(n * n for n in range(400_000)))
    listener.stop()
