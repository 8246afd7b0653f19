# SPDX-License-Identifier: MIT
"""The machine's file system, in memory: every file has the same path as on the host, so that
compiled-in paths are valid. Its init runs each step and prints `STEP name` before and `END name
status` after it."""

import pathlib
import shlex
import shutil
import subprocess
import sys
import sysconfig

TESTS = ("bpf-native", "bpf-life", "bpf-python", "bpf-sleepers", "bpf-fields")
RECORD_HZ = 499

# A function that computes and one that sleeps, for the report.
PROGRAM = """
import time

def burn():
    end = time.process_time() + 3
    while time.process_time() < end:
        sum(range(1000))

def rest():
    for _ in range(20):
        time.sleep(0.02)

burn()
rest()
"""

INIT = """#!/bin/busybox sh
/bin/busybox --install -s /bin
export PATH=/bin:/usr/bin HOME=/root TERM=dumb ANNOT_PYTHONS={python} ANNOT_TEST_TRUTH={truth}
mount -t proc proc /proc
mount -t sysfs sys /sys
mount -t devtmpfs dev /dev
mkdir -p /dev/shm /tmp /root
mount -t tmpfs tmpfs /dev/shm
mount -t tmpfs tmpfs /tmp
ip link set lo up
cd /tmp
run() {{
    name=$1
    shift
    echo "STEP $name"
    timeout {step_s} "$@" 2>&1
    echo "END $name $?"
}}
uname -r
{steps}
echo "STEP over"
poweroff -f
"""
STEP_S = 150


def libraries(program):
    """Return the shared libraries that a program loads, including its dynamic loader."""
    lines = subprocess.run(["ldd", str(program)], check=False, capture_output=True, text=True)
    return [word for line in lines.stdout.splitlines() for word in line.split()
            if word.startswith("/")]


def place_file(root, path):
    target = root / str(path).lstrip("/")
    if not target.exists():
        target.parent.mkdir(parents=True, exist_ok=True)
        shutil.copy2(path, target)


def place_program(root, path):
    for file in (path, *libraries(path)):
        place_file(root, file)


def place_python(root):
    """Copy the current interpreter with its library, and return its path."""
    python = pathlib.Path(sys.executable).resolve()
    library = pathlib.Path(sysconfig.get_path("stdlib"))
    place_program(root, python)
    for extension in library.glob("lib-dynload/*.so"):
        place_program(root, extension)
    shutil.copytree(library, root / str(library).lstrip("/"), dirs_exist_ok=True,
                    ignore=shutil.ignore_patterns("test", "tests", "idlelib", "ensurepip", "*.a",
                                                  "site-packages", "dist-packages", "config-*",
                                                  "__pycache__", "tkinter", "lib2to3"))
    return python


def steps(build, python, tests):
    annot = str(build / "tools/annot")
    found = {"doctor": [annot, "doctor"]}
    found["record"] = [annot, "record", "--rate", str(RECORD_HZ), "--off-cpu", "-o", "a.annot",
                       "--", str(python), "-c", PROGRAM]
    found["info"] = [annot, "info", "a.annot"]
    found["report"] = [annot, "report", "a.annot"]
    found.update({test: [str(build / "tests/unit/sample" / f"test-{test}")] for test in tests})
    return found


def make_initramfs(build, place, tests):
    """Return the archive that a kernel boots from."""
    root = place / "root"
    for folder in ("bin", "proc", "sys", "dev", "tmp", "root", "etc"):
        (root / folder).mkdir(parents=True)
    shutil.copy2(shutil.which("busybox"), root / "bin/busybox")
    (root / "etc/passwd").write_text("root:x:0:0:root:/root:/bin/sh\n"
                                     "nobody:x:65534:65534:nobody:/:/bin/sh\n")
    python = place_python(root)
    todo = steps(build, python, tests)
    for command in todo.values():
        place_program(root, command[0])
    truth = pathlib.Path(__file__).resolve().parents[1] / "unit/sample/python_truth.py"
    place_file(root, truth)
    init = root / "init"
    init.write_text(INIT.format(python=python, truth=truth, step_s=STEP_S, steps="\n".join(
        f"run {name} {shlex.join(command)}" for name, command in todo.items())))
    init.chmod(0o755)
    archive = place / "initramfs"
    names = "\0".join(str(path.relative_to(root)) for path in sorted(root.rglob("*")))
    with archive.open("wb") as output:
        subprocess.run(["cpio", "--null", "-o", "-H", "newc", "--quiet"], cwd=root, check=True,
                       input=names.encode(), stdout=output)
    return archive
