# SPDX-License-Identifier: MIT
"""Exports that do not fit: wherever the writing fails, one line says so, the status is 1, and no
file is left, neither under the final name nor beside it.

Besides the harness's environment: ANNOT_MAKE_RECORDING. A limit on the size of files stands for a
full disk, because it fails at any chosen byte.
"""

import os
import resource
import shutil

from harness import ANNOT, case, check, equal, main, program

MAKE = os.environ["ANNOT_MAKE_RECORDING"]
BUFFER = 256 << 10  # size of one write


def recordings_of(home):
    """A recording with data for each format; large enough for several writes, if cheap."""
    paths = {"ranges": home.work / "ranges.annot"}
    home.run(program("make_trace"), "random", paths["ranges"], 6000, 600).ok()
    for shape in ("called-sums", "lined", "heap"):
        paths[shape] = home.work / f"{shape}.annot"
        home.run(MAKE, shape, paths[shape]).ok()
    lines = home.annot("export", "--list").ok().out.decode().splitlines()[1:]
    own = {"pstats": "called-sums", "callgrind": "called-sums", "lprof": "lined",
           "massif": "heap"}
    return {name: paths[own.get(name, "ranges")] for name in (line.split()[0] for line in lines)}


def size_of(out):
    """Of a folder, its largest file."""
    return max(path.stat().st_size for path in (out.iterdir() if out.is_dir() else [out]))


def remove(out):
    if out.is_dir():
        shutil.rmtree(out)
    else:
        out.unlink()


def files(home):
    return sorted(entry.name for entry in home.work.iterdir())


@case
def what_does_not_fit_leaves_nothing(home):
    flushed = 0
    for name, recording in recordings_of(home).items():
        out = home.work / f"out.{name}"
        words = ("export", "--force", "-f", name, "-o", out, recording)
        home.annot(*words).ok()
        size = size_of(out)
        remove(out)
        before = files(home)
        flushed += size > BUFFER
        for most in sorted({0, 1, size // 2, min(BUFFER, size - 1), size - 1}):
            home.annot(*words, preexec_fn=lambda most=most: resource.setrlimit(
                resource.RLIMIT_FSIZE, (most, most))).complains(1, "cannot write", "too large")
            equal(files(home), before, f"files after {most} of {size} bytes of {name}")
    check(flushed >= 5, f"only {flushed} formats write more than once")


@case
def what_was_there_stays(home):
    """--force replaces a file only when the new one is whole."""
    for name, recording in recordings_of(home).items():
        out = home.work / f"out.{name}"
        out.write_text("mine")
        home.annot("export", "--force", "-f", name, "-o", out, recording,
                   preexec_fn=lambda: resource.setrlimit(resource.RLIMIT_FSIZE, (9, 9))
                   ).complains(1, "cannot write")
        equal(out.read_text(), "mine", f"the file of {name}")


@case
def a_full_device_is_told(home):
    for name, recording in recordings_of(home).items():
        if name == "ctf":  # a folder
            continue
        with open("/dev/full", "wb") as full:
            process = home.start(ANNOT, "export", "-f", name, "-o", "-", recording,
                                 stdout=full, stderr=-1)
            said = process.communicate(timeout=60)[1].decode()
        equal(process.returncode, 1, f"status of {name}: {said}")
        check("No space left" in said and len(said.splitlines()) == 2, f"{name}: {said}")


if __name__ == "__main__":
    main()
