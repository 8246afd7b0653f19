# SPDX-License-Identifier: MIT
"""Calls work() four times on a thread, while the main thread waits: open_call_program.py FOLDER.
Call N writes the file in-N, and lasts until the file go-N appears. See test_switching.py."""

import os
import sys
import threading
import time

CALLS = 4
folder = sys.argv[1]


def work(index):
    open(f"{folder}/in-{index}", "w").close()
    while not os.path.exists(f"{folder}/go-{index}"):
        time.sleep(0.002)


def run():
    for index in range(CALLS):
        work(index)


thread = threading.Thread(target=run)
thread.start()
thread.join()
