# SPDX-License-Identifier: MIT
"""How each tool of bench_rivals.py is found, compiled, run and read.

A tool is a class: `here(place)` finds and compiles it or raises Missing with the reason;
`start(recorded)` gives the command and its environment, `stop` ends the processes started beside
it, `size` returns (bytes, events) of the last recorded run.
"""

import os
import pathlib
import re
import shutil
import socket
import struct
import subprocess
import threading
import time

HERE = pathlib.Path(__file__).resolve().parent
FLAGS = ["-O2", "-DNDEBUG", "-w"]
KEEP_ALIVE = 4096  # bytes in half a second below which Tracy is idle


class Missing(Exception):
    """Why a tool, or one value of it, cannot be had here."""


def run(*command, **environment):
    done = subprocess.run([str(word) for word in command], env=dict(os.environ, **environment),
                          stdin=subprocess.DEVNULL, capture_output=True, check=False)
    if done.returncode:
        raise Missing(f"{pathlib.Path(command[0]).name} ended with {done.returncode}: "
                      f"{done.stderr.decode(errors='replace').strip()[-300:]}")
    return done.stdout.decode(errors="replace")


def tree_size(path):
    path = pathlib.Path(path)
    files = path.rglob("*") if path.is_dir() else [path]
    return sum(file.stat().st_size for file in files if file.is_file())


class Tool:
    """Common parts: programs of driver.c, the tool's loops, and the libraries that these need."""
    name = linker = ""
    on = True  # can be recorded here

    def __init__(self, build, sources, place):
        self.build, self.sources, self.place = build, sources, place
        self.program = build / "bench-rivals" / f"rival-{self.name}"
        self.trace = place / f"{self.name}.trace"

    def source(self, name, package):
        found = sorted(self.sources.rglob(name)) if self.sources else []
        if not found:
            raise Missing(f"no {name} under --sources: see README.md for {package}")
        return found[0]

    def object_of(self, source, *flags):
        """Compiled once for a build folder: these are large."""
        path = self.program.parent / f"{source.stem}.o"
        if not path.exists() or path.stat().st_mtime < source.stat().st_mtime:
            run("g++", "-std=c++17", *FLAGS, *flags, "-c", source, "-o", path)
        return path

    def compile(self, *flags, linker="gcc"):
        objects = []
        for source in (HERE / "driver.c", HERE / f"rival_{self.name}.c"):
            objects.append(self.program.parent / f"{self.name}-{source.stem}.o")
            include = [flag for flag in flags if str(flag)[:2] in ("-I", "-D")]
            run("gcc", "-std=gnu17", *FLAGS, f"-I{HERE}", *include, "-c", source, "-o",
                objects[-1])
        run(linker, *objects, *flags, "-o", self.program, "-pthread", "-ldl")

    def start(self, recorded):
        return [str(self.program)] + ([str(self.trace)] if recorded else []), {}

    def begun(self):
        """The program runs, but may wait for something."""

    def stop(self):
        """After the program has ended."""


class Annot(Tool):
    name = "annot"

    def here(self):
        source = HERE.parents[2] / "libannot/include"
        library = self.build / "libannot"
        self.compile(f"-I{source}", f"-L{library}", "-lannot", f"-Wl,-rpath,{library}",
                     "-Wl,--export-dynamic-symbol=annot_anchor_v1")

    def start(self, recorded):
        command, environment = [str(self.program)], {"ANNOT_DIR": str(self.place / "annot")}
        if recorded:
            command = [str(self.build / "tools/annot"), "record", "--sampling=none", "--force",
                       "-o", str(self.trace), "--", *command]
        return command, environment

    def size(self):
        info = run(self.build / "tools/annot", "info", self.trace)
        count = re.search(r"^records\s+([\d,]+)", info, re.M).group(1)
        return tree_size(self.trace), int(count.replace(",", ""))


class Nvtx(Tool):
    name, on = "nvtx", False

    def here(self):
        header = self.source("nvToolsExt.h", "NVTX")
        self.compile(f"-I{header.parents[1]}")


class Lttng(Tool):
    name = "lttng"

    def here(self):
        for command in ("lttng-sessiond", "lttng", "babeltrace2"):
            if not shutil.which(command):
                raise Missing(f"{command} is not installed: see README.md")
        self.compile(*run("pkg-config", "--cflags", "--libs", "lttng-ust").split())
        self.home = {"LTTNG_HOME": str(self.place), "HOME": str(self.place)}
        self.daemon, self.recorded = None, False

    def start(self, recorded):
        self.recorded = recorded
        if recorded:
            # One daemon for the run; stopped in `stop`.
            self.daemon = subprocess.Popen(
                ["lttng-sessiond", "--no-kernel"], env=dict(os.environ, **self.home),
                stdin=subprocess.DEVNULL, stdout=subprocess.DEVNULL, stderr=subprocess.DEVNULL)
            self.wait_for_daemon()
            shutil.rmtree(self.trace, ignore_errors=True)
            for order in (["create", "rivals", f"--output={self.trace}"],
                          ["enable-channel", "-u", "c", "--subbuf-size=1M", "--num-subbuf=8"],
                          ["enable-event", "-u", "-c", "c", "rival:*"], ["start"]):
                run("lttng", *order, **self.home)
        return [str(self.program)], dict(self.home, LTTNG_UST_REGISTER_TIMEOUT="5000")

    def wait_for_daemon(self):
        for _ in range(100):
            try:
                run("lttng", "list", **self.home)
                return
            except Missing:
                time.sleep(0.1)
        raise Missing("lttng-sessiond did not answer within 10 s")

    def stop(self):
        if not self.recorded:
            return
        try:
            run("lttng", "destroy", "rivals", **self.home)
        finally:
            self.daemon.terminate()
            self.daemon.wait()
            self.recorded = False

    def size(self):
        return tree_size(self.trace), run("babeltrace2", self.trace).count("\n")


class Perfetto(Tool):
    name = "perfetto"

    def here(self):
        source = self.source("perfetto_c.cc", "the Perfetto SDK")
        self.compile(f"-I{source.parent}", self.object_of(source), linker="g++")

    def size(self):
        """Packets with a track event (field 11), as the wire format of protobuf has them."""
        data = self.trace.read_bytes()
        packets = (data[begin:end] for number, begin, end in fields(data) if number == 1)
        return len(data), sum(any(field[0] == 11 for field in fields(packet))
                              for packet in packets)


def varint(data, at):
    value = shift = 0
    while True:
        byte = data[at]
        value |= (byte & 127) << shift
        at, shift = at + 1, shift + 7
        if byte < 128:
            return value, at


def fields(data):
    """(number, begin, end) of each field of a protobuf message."""
    at = 0
    while at < len(data):
        key, at = varint(data, at)
        begin = at
        if key & 7 == 2:
            length, begin = varint(data, at)
            at = begin + length
        elif key & 7 == 0:
            at = varint(data, at)[1]
        else:
            at += 8 if key & 7 == 1 else 4
        yield key >> 3, begin, at


class Tracy(Tool):
    name = "tracy"

    def here(self):
        source = self.source("TracyClient.cpp", "Tracy")
        flags = ["-DTRACY_ENABLE", "-DTRACY_ON_DEMAND", "-DTRACY_NO_SYSTEM_TRACING",
                 "-DTRACY_NO_SAMPLING", "-DTRACY_NO_CRASH_HANDLER", "-DTRACY_ONLY_LOCALHOST",
                 "-DTRACY_NO_BROADCAST"]
        protocol = (source.parent / "common/TracyProtocol.hpp").read_text()
        self.version = int(re.search(r"ProtocolVersion = (\d+)", protocol).group(1))
        self.compile(f"-I{source.parent}", *flags, self.object_of(source, *flags), linker="g++")
        self.viewer, self.got, self.reader, self.recorded = None, 0, None, False

    def start(self, recorded):
        with socket.socket() as probe:
            probe.bind(("127.0.0.1", 0))
            self.port = probe.getsockname()[1]
        self.recorded, self.got = recorded, 0
        command = [str(self.program)] + (["viewer"] if recorded else [])
        return command, {"TRACY_PORT": str(self.port)}

    def begun(self):
        """Play the viewer: connect, and take the data."""
        for _ in range(100 if self.recorded else 0):
            try:
                self.viewer = socket.create_connection(("127.0.0.1", self.port))
                break
            except OSError:
                time.sleep(0.1)
        if self.viewer:
            self.viewer.sendall(b"TracyPrf" + struct.pack("<I", self.version))
            self.reader = threading.Thread(target=self.read)
            self.reader.start()

    def read(self):
        try:
            while piece := self.viewer.recv(1 << 20):
                self.got += len(piece)
        except OSError:
            pass

    def quit(self):
        """All queued data arrives first; then the viewer disconnects, because the program waits for
        it."""
        before = -KEEP_ALIVE
        while self.viewer and self.got - before >= KEEP_ALIVE:
            before = self.got
            time.sleep(0.5)
        if self.viewer:
            self.viewer.shutdown(socket.SHUT_RDWR)
            self.reader.join()
            self.viewer.close()
            self.viewer = None

    def size(self):
        return self.got, None  # events are not dropped: they wait in the program's memory


TOOLS = [Annot, Nvtx, Lttng, Perfetto, Tracy]
