#!/usr/bin/env python3
# SPDX-License-Identifier: MIT
"""Every wrong use ends with one line about the failure and one about the remedy.

`record` fails with 125 before the command runs, 126 if it cannot be executed, 127 if it is not
there; the other commands fail with 1, or 2 for a wrong command line."""

import contextlib
import mmap
import os
import resource
import struct
import subprocess

from harness import ANNOT, Skip, case, check, equal, main, needs_root, program

UNTOUCHED = "the command ran although annot had refused"


def refused(home, result, status, *words):
    result.complains(status, *words)
    check(not (home.work / "ran").exists(), UNTOUCHED)


def touch(home):
    return ["touch", str(home.work / "ran")]


@case
def no_command(home):
    for arguments in (["record"], ["record", "--"], ["record", "-o", "x.annot"]):
        home.annot(*arguments).complains(125, "missing")
    equal(os.listdir(home.work), [], "files")


@case
def unknown_options(home):
    refused(home, home.annot("record", "--dealy", "1s", "--", *touch(home)), 125, "--delay")
    refused(home, home.annot("record", "--delay", "soon", "--", *touch(home)), 125, "soon")
    refused(home, home.annot("record", "--delay", "-3s", "--", *touch(home)), 125, "-3s")
    refused(home, home.annot("record", "-o"), 125, "-o")
    home.annot("report", "--colour", "x.annot").complains(2, "--colour")
    home.annot("exprot", "x").complains(2, "export")
    alone = home.annot()
    equal(alone.status, 2, "status of annot alone")
    check(b"record" in alone.out, "annot alone does not say what there is")
    equal(os.listdir(home.work), [], "files")


@case
def command_not_found(home):
    result = home.record("no-such-program-here").complains(127, "no-such-program-here")
    check(not result.path.exists(), "a recording of nothing was left")
    home.record(home.work / "nowhere" / "program").complains(127, "nowhere")


@case
def command_not_executable(home):
    plain = home.work / "plain-file"
    plain.write_text("no program")
    result = home.record(plain).complains(126, "plain-file")
    check(not result.path.exists(), "a recording of nothing was left")
    home.record(home.work).complains(126)
    script = home.work / "no-interpreter"
    script.write_text("#!/no/such/interpreter\n")
    script.chmod(0o755)
    home.record(script).complains(127, "no-interpreter")


@case
def output_not_writable(home):
    refused(home, home.annot("record", "-o", "/proc/x.annot", "--", *touch(home)), 125, "/proc")
    missing = home.work / "missing" / "x.annot"
    refused(home, home.annot("record", "-o", missing, "--", *touch(home)), 125, "missing")


@case
def output_exists(home):
    path = home.work / "x.annot"
    path.write_text("precious")
    refused(home, home.annot("record", "-o", path, "--", *touch(home)), 125, "--force")
    equal(path.read_text(), "precious", "the existing file")
    home.annot("record", "--force", "-o", path, "--", "true").ok()
    home.annot("info", path).ok()
    out = home.work / "x.json"
    out.write_text("precious")
    home.annot("export", path, "-o", out).complains(1, "--force")
    equal(out.read_text(), "precious", "the existing trace")
    home.annot("export", "--force", path, "-o", out).ok()


@case
def output_is_a_directory(home):
    for force in ([], ["--force"]):
        refused(home, home.annot("record", *force, "-o", home.work, "--", *touch(home)), 125,
                "directory")


@contextlib.contextmanager
def small_disk(home, size="256k"):
    """A file system that fills up soon."""
    place = home.work / "disk"
    place.mkdir()
    done = subprocess.run(["mount", "-t", "tmpfs", "-o", f"size={size}", "tmpfs", place],
                          capture_output=True, check=False)
    if done.returncode:
        raise Skip(f"cannot mount: {done.stderr.decode().strip()}")
    try:
        yield place
    finally:
        subprocess.run(["umount", "-l", place], check=True)


def told_incomplete(result, *words):
    """The command's own end is returned; that the recording is not whole is said."""
    text = result.err_text
    check(any(word in text for word in words), f"nothing of {words} in:\n{text}")
    check("hint:" in text, f"no hint in:\n{text}")


@case
@needs_root
def disk_full_at_the_end(home):
    """Only the last part does not fit, or not even the first: neither recording is complete."""
    with small_disk(home, "4k") as disk:
        for count in (2000, 100_000):
            path = disk / f"{count}.annot"
            result = home.annot("record", "-o", path, "--sampling=none", "--",
                                program("emit_names"), count, 300_000)
            told_incomplete(result, "No space left")
            check("not all of it could be written\n" in result.err_text and
                  "nothing lost" not in result.err_text and
                  "0 annotated events" not in result.err_text, f"the summary:\n{result.err_text}")
            subprocess.run(["mount", "-o", "remount,size=64m", disk], check=True)
            home.annot("recover").ok()
            path.unlink()
            subprocess.run(["mount", "-o", "remount,size=4k", disk], check=True)


@case
@needs_root
def disk_full_while_recording(home):
    """The command goes on to its own end; the file is readable; the rest is counted."""
    with small_disk(home) as disk:
        path = disk / "x.annot"
        result = home.annot("record", "-o", path, "--", program("emit_names"), 300_000, 300_000)
        told_incomplete(result, "No space left", "full")
        check(result.status in (0, 1, 125), f"status {result.status}")
        info = home.annot("info", path)
        check(info.status in (0, 1), f"info of the partial recording: {info.err_text}")
        check(path.stat().st_size > 100_000, "most of the disk is unused")
        check("annot recover" in result.err_text, f"no way on is shown:\n{result.err_text}")
        check("not all of it could be written\n" in result.err_text and
              "nothing lost" not in result.err_text, f"the summary claims all:\n{result.err_text}")
        before = len(home.dump(path).kind("push"))
        subprocess.run(["mount", "-o", "remount,size=64m", disk], check=True)
        home.annot("recover").ok()
        dump = home.dump(path)
        equal((dump.damage, dump.session["complete"]), ([], True), "damage, end mark")
        names = [event["name"] for event in dump.kind("push")]
        check(len(names) > before, f"nothing was added to {before} ranges")
        expected = [f"request {i} of a user" for i in range(len(names))]
        check(names == expected, "a range is missing, doubled or out of order")
        # Events that its pool could not hold while the disk was full are counted.
        equal(len(names) + len(dump.kind("pop")) + dump.lost(), 600_000, "events and losses")


@case
@needs_root
def disk_full_while_exporting(home):
    recording = home.record(program("emit_names"), 20_000, 300_000).ok().path
    with small_disk(home) as disk:
        for extension in ("json", "pftrace"):
            home.annot("export", recording, "-o", disk / f"x.{extension}").complains(1, "space")
        equal(os.listdir(disk), [], "half a trace")
        with open("/dev/full", "wb") as full:
            process = home.start(ANNOT, "report", recording, stdout=full, stderr=subprocess.PIPE)
            _, err = process.communicate(timeout=60)
        equal(process.returncode, 1, f"status of a report to a full device ({err})")


@case
def file_size_limit(home):
    """RLIMIT_FSIZE kills programs that ignore it; annot reports it and lives."""
    def limit():
        resource.setrlimit(resource.RLIMIT_FSIZE, (64 << 10, 64 << 10))
    result = home.record(program("emit_names"), 20_000, 200_000, preexec_fn=limit)
    check(result.status >= 0, f"annot died of signal {-result.status}")
    text = result.err_text
    check("annot" in text and "ulimit -f" in text, f"nothing said about the limit:\n{text}")


@case
@needs_root
def read_only_shared_memory(home):
    with small_disk(home) as disk:
        subprocess.run(["mount", "-o", "remount,ro", disk], check=True)
        environment = dict(home.environment, ANNOT_DIR=str(disk / "annot"))
        refused(home, home.annot("record", "-o", home.work / "x.annot", "--", *touch(home),
                                 env=environment), 125, "Read-only")


@case
def directory_of_the_wrong_kind(home):
    for mode in (0o755, 0o777):
        home.directory.mkdir()
        home.directory.chmod(mode)
        refused(home, home.record(*touch(home)), 125, "0700")
        home.directory.rmdir()
    home.directory.write_text("a file")
    refused(home, home.record(*touch(home)), 125)
    home.directory.unlink()
    home.directory.symlink_to(home.work)
    refused(home, home.record(*touch(home)), 125)
    equal(os.listdir(home.work), [], "files behind the link")
    home.directory.unlink()


# Magic numbers and versions of pages and sessions that another version made: a later major one, and
# a draft of this one, whose losses would be read as others.
OTHERS = [(b"2", 2, 0), (b"1", 1, 11)]


def foreign_wake(home, generation, last, major, minor):
    page = struct.pack("<QQ8sII", generation, generation, b"ANNWAKE" + last, major, minor)
    page = page.ljust(4096, b"\0")
    home.directory.mkdir(mode=0o700, exist_ok=True)
    (home.directory / "wake").write_bytes(page)
    return page


@case
def another_version_of_the_wake_page(home):
    """It is refused while a process maps it, and replaced if it is left over."""
    for other in OTHERS:
        page = foreign_wake(home, 0, *other)
        with open(home.directory / "wake", "rb") as file:
            with mmap.mmap(file.fileno(), 4096, prot=mmap.PROT_READ):
                refused(home, home.record(*touch(home)), 125, "another version of annot uses it")
        equal((home.directory / "wake").read_bytes(), page, "the page of the other version")
        result = home.record(program("emit_shapes"), "underflow").ok()
        equal(len(home.dump(result.path).whole().events), 8, "events")


@case
def a_session_of_another_version_is_left_alone(home):
    """Another version's session file is neither joined nor removed, and does no harm."""
    home.directory.mkdir(mode=0o700)
    name = "session-00000000000000ff"
    for last, major, minor in OTHERS:
        foreign = struct.pack("<8sIIQ", b"ANNSSES" + last, major, minor, 0xff).ljust(8192, b"\0")
        (home.directory / name).write_bytes(foreign)
        result = home.record(program("emit_shapes"), "underflow").ok()
        equal(len(home.dump(result.path).whole().events), 8, "events")
        equal((home.directory / name).read_bytes(), foreign, "the other version's session file")
    home.left = {name, "wake"}


@case
def a_program_meets_another_version(home):
    """The program stays off, quietly, and runs to its end."""
    for other in OTHERS:
        foreign_wake(home, 7, *other)
        result = home.run(program("emit_ticks"), 50).ok()
        equal(result.err, b"", "standard error of the program")
        equal(os.listdir(home.directory), ["wake"], "files")
    home.left = {"wake"}


@case
def wrong_files(home):
    text = home.work / "x.annot"
    text.write_text("This is a letter.\n" * 100)
    empty = home.work / "empty.annot"
    empty.write_bytes(b"")
    for command in (["report"], ["info"], ["export", "-f", "chrome", "-o", "-"]):
        home.annot(command[0], text, *command[1:]).complains(1, "x.annot")
        home.annot(command[0], empty, *command[1:]).complains(1, "empty.annot")
        home.annot(command[0], home.work / "none", *command[1:]).complains(1, "none")
        home.annot(command[0], home.work, *command[1:]).complains(1)
    good = home.record("true").ok().path
    home.annot("export", good, "-o", home.work / "trace.doc").complains(2, "-f")
    home.annot("export", "-f", "gif", good, "-o", "-").complains(2, "gif")
    home.annot("report", "--sort", "beauty", good).complains(2, "beauty")
    home.annot("report", good, good).complains(2)


def crc32c(data):
    """Castagnoli, as docs/recording-format.md names it for headers."""
    crc = 0xffffffff
    for byte in data:
        crc ^= byte
        for _ in range(8):
            crc = crc >> 1 ^ (0x82f63b78 if crc & 1 else 0)
    return crc ^ 0xffffffff


@case
def newer_recording(home):
    """A recording of a later major version is refused by name, not misread."""
    good = home.record("true").ok().path
    header = good.read_bytes()[:64]
    equal(struct.unpack("<I", header[60:])[0], crc32c(header[:60]), "the header's checksum")
    later = header[:8] + struct.pack("<HH", 2, 0) + header[12:60]
    newer = home.work / "newer.annot"
    newer.write_bytes(later + struct.pack("<I", crc32c(later)) + good.read_bytes()[64:])
    for command in (["report"], ["info"], ["export", "-f", "chrome", "-o", "-"]):
        home.annot(command[0], newer, *command[1:]).complains(1, "newer")


if __name__ == "__main__":
    main()
