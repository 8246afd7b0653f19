# SPDX-License-Identifier: MIT
"""Needs a file that another program has locked for 1.2 s."""
# says: waits for a lock in take
import fcntl
import subprocess
import tempfile


def take(file):
    fcntl.flock(file, fcntl.LOCK_EX)


with tempfile.NamedTemporaryFile() as file:
    command = f"exec 9<'{file.name}'; flock -x 9; echo held; exec sleep 1.2"
    holder = subprocess.Popen(["sh", "-c", command], stdout=subprocess.PIPE)
    holder.stdout.readline()
    take(file)
    holder.wait()
