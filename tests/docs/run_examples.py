#!/usr/bin/env python3
# SPDX-License-Identifier: MIT
"""Run the `sh` blocks of a Markdown page, top to bottom, as one shell session.

    run_examples.py PAGE SOURCE BUILD

The page's commands name the source folder by $PWD and the build folder "build"; here they run in
a scratch folder of links, so that the source stays unchanged. The first command that fails
ends the run and the test.
"""

import os
import pathlib
import re
import subprocess
import sys
import tempfile

BLOCK = re.compile(r"^```sh\n(.*?)^```$", re.MULTILINE | re.DOTALL)


def main() -> int:
    page, source, build = (pathlib.Path(argument).resolve() for argument in sys.argv[1:4])
    blocks = BLOCK.findall(page.read_text(encoding="utf-8"))
    if not blocks:
        sys.exit(f"{page}: no ```sh block")
    script = "set -eux\n" + "\n".join(blocks)
    with tempfile.TemporaryDirectory(dir="/dev/shm") as scratch:
        for entry in source.iterdir():
            os.symlink(entry, pathlib.Path(scratch, entry.name)) if entry.name != "build" else None
        os.symlink(build, pathlib.Path(scratch, "build"))
        environment = dict(os.environ, ANNOT_DIR=f"{scratch}/annot", PWD=scratch)
        done = subprocess.run(["bash", "-c", script], cwd=scratch, env=environment, check=False)
    print(f"{len(blocks)} blocks of {page.name}, exit status {done.returncode}")
    return done.returncode


if __name__ == "__main__":
    sys.exit(main())
