# SPDX-License-Identifier: MIT
# function: version_of
# kind: child
# words: version_of, child process
"""Runs a command for each tool, and reads its output."""
import subprocess


def version_of(tool):
    command = f"sleep 0.3; echo {tool} 1.2"
    done = subprocess.run(["sh", "-c", command], capture_output=True, check=True)  # CAUSE
    return done.stdout.decode()


def main():
    print([version_of(tool) for tool in ("cc", "ld", "ar", "nm", "ranlib")])


if __name__ == "__main__":
    main()
