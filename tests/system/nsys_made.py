# SPDX-License-Identifier: MIT
"""A database as `nsys export --type sqlite` writes it, of a small program made up for tests."""

import sqlite3

PID, MAIN, WORKER = 4000, 4000, 4001
SCHEMA = """
CREATE TABLE StringIds (id INTEGER NOT NULL PRIMARY KEY, value TEXT NOT NULL);
CREATE TABLE ThreadNames (nameId INTEGER NOT NULL, priority INTEGER, globalTid INTEGER);
CREATE TABLE PROCESSES (globalPid INTEGER, pid INTEGER, name TEXT);
CREATE TABLE TARGET_INFO_SESSION_START_TIME (utcEpochNs INTEGER, utcTime TEXT);
CREATE TABLE TARGET_INFO_GPU (vmId INTEGER, id INTEGER, name TEXT, cuDevice INTEGER);
CREATE TABLE NVTX_EVENTS (start INTEGER NOT NULL, end INTEGER, eventType INTEGER NOT NULL,
    rangeId INTEGER, category INTEGER, color INTEGER, text TEXT, globalTid INTEGER,
    endGlobalTid INTEGER, textId INTEGER, domainId INTEGER, int64Value INTEGER,
    doubleValue REAL);
CREATE TABLE OSRT_API (start INTEGER NOT NULL, end INTEGER NOT NULL, eventClass INTEGER,
    globalTid INTEGER, correlationId INTEGER, nameId INTEGER NOT NULL, returnValue INTEGER);
CREATE TABLE CUPTI_ACTIVITY_KIND_RUNTIME (start INTEGER NOT NULL, end INTEGER NOT NULL,
    eventClass INTEGER, globalTid INTEGER, correlationId INTEGER, nameId INTEGER NOT NULL);
CREATE TABLE CUPTI_ACTIVITY_KIND_KERNEL (start INTEGER NOT NULL, end INTEGER NOT NULL,
    deviceId INTEGER, contextId INTEGER, streamId INTEGER, correlationId INTEGER,
    globalPid INTEGER, demangledName INTEGER, shortName INTEGER, gridX INTEGER, gridY INTEGER,
    gridZ INTEGER, blockX INTEGER, blockY INTEGER, blockZ INTEGER, registersPerThread INTEGER);
CREATE TABLE CUPTI_ACTIVITY_KIND_MEMCPY (start INTEGER NOT NULL, end INTEGER NOT NULL,
    deviceId INTEGER, contextId INTEGER, streamId INTEGER, correlationId INTEGER,
    globalPid INTEGER, bytes INTEGER, copyKind INTEGER);
"""
# Tables that only some reports have.
MORE = """
CREATE TABLE COMPOSITE_EVENTS (id INTEGER NOT NULL PRIMARY KEY, start INTEGER NOT NULL,
    cpu INTEGER, threadState INTEGER, globalTid INTEGER, cpuCycles INTEGER NOT NULL);
CREATE TABLE SAMPLING_CALLCHAINS (id INTEGER NOT NULL, symbol INTEGER NOT NULL,
    module INTEGER NOT NULL, kernelMode INTEGER, thumbCode INTEGER, unresolved INTEGER,
    specialEntry INTEGER, originalIP INTEGER, unwindMethod INTEGER, stackDepth INTEGER NOT NULL,
    PRIMARY KEY (id, stackDepth));
ALTER TABLE NVTX_EVENTS ADD uint64Value INTEGER;
ALTER TABLE NVTX_EVENTS ADD jsonText TEXT;
"""

# The scheduler, memory of GPUs, and the profiler itself.
USAGE = """
CREATE TABLE SCHED_EVENTS (start INTEGER NOT NULL, cpu INTEGER NOT NULL,
    isSchedIn INTEGER NOT NULL, globalTid INTEGER, threadState INTEGER, threadBlock INTEGER);
CREATE TABLE CUDA_GPU_MEMORY_USAGE_EVENTS (start INTEGER NOT NULL, globalPid INTEGER NOT NULL,
    deviceId INTEGER NOT NULL, contextId INTEGER NOT NULL, address INTEGER NOT NULL,
    pc INTEGER NOT NULL, bytes INTEGER NOT NULL, memKind INTEGER NOT NULL,
    memoryOperationType INTEGER NOT NULL, name TEXT, correlationId INTEGER, streamId INTEGER);
CREATE TABLE PROFILER_OVERHEAD (start INTEGER NOT NULL, end INTEGER NOT NULL, globalTid INTEGER,
    nameId INTEGER NOT NULL, returnValue INTEGER);
"""


def of_thread(tid):
    return 0x100 << 48 | PID << 24 | tid


class Made:
    """Rows by table; `rows()` of each kind are the expected results of a reader."""

    def __init__(self, path):
        path.unlink(missing_ok=True)
        self.connection = sqlite3.connect(path)
        self.connection.executescript(SCHEMA)
        self.texts = {}

    def add_sample(self, number, start, *functions):
        """Innermost first: function and module."""
        self.add("COMPOSITE_EVENTS", id=number, start=start, cpu=1, threadState=1,
                 globalTid=of_thread(WORKER), cpuCycles=2000000)
        for depth, (function, module) in enumerate(functions):
            self.add("SAMPLING_CALLCHAINS", id=number, symbol=self.text(function),
                     module=self.text(module), kernelMode=module == "[kernel.kallsyms]",
                     stackDepth=depth)

    def text(self, value):
        if value not in self.texts:
            self.texts[value] = len(self.texts) + 1
            self.add("StringIds", id=self.texts[value], value=value)
        return self.texts[value]

    def add(self, table, **columns):
        names = ", ".join(columns)
        marks = ", ".join("?" * len(columns))
        self.connection.execute(f"INSERT INTO {table} ({names}) VALUES ({marks})",
                                tuple(columns.values()))

    def end(self):
        self.connection.commit()
        self.connection.close()


def make_more(path):
    """Samples with and without a stack; a range with a category, a payload and key-values."""
    made = Made(path)
    worker = of_thread(WORKER)
    made.connection.executescript(MORE)
    made.add("NVTX_EVENTS", start=0, eventType=33, text="input", globalTid=worker, domainId=0,
             category=5)
    made.add("NVTX_EVENTS", start=1000, end=9000, eventType=59, text="read", globalTid=worker,
             domainId=0, category=5, uint64Value=7,
             jsonText='{"rows": 3, "name": "a\\"b", "shape": [2, 4], "ratio": 0.5, "last": true}')
    made.add("NVTX_EVENTS", start=1500, eventType=34, text="odd", globalTid=worker, domainId=0,
             jsonText="{no JSON")
    made.add_sample(1, 2000, ("read", "/lib/libc.so.6"), ("load", "/opt/app/load.py"),
                    ("main", "/opt/app/main.py"))
    made.add_sample(2, 3000, ("vfs_read", "[kernel.kallsyms]"), ("read", "/lib/libc.so.6"))
    made.add_sample(3, 4000)
    made.end()


def make(path, steps=3):
    """A main thread with `steps` ranges "step", each of which launches a kernel and a copy; a
    worker whose range ends on the main thread; calls of the operating system."""
    made = Made(path)
    main, worker = of_thread(MAIN), of_thread(WORKER)
    made.add("TARGET_INFO_SESSION_START_TIME", utcEpochNs=1_700_000_000_000_000_000)
    made.add("TARGET_INFO_GPU", id=0, name="NVIDIA H100", cuDevice=0)
    made.add("PROCESSES", globalPid=of_thread(0), pid=PID, name="/opt/train.py")
    made.add("ThreadNames", nameId=made.text("loader"), globalTid=worker)
    made.add("NVTX_EVENTS", start=0, eventType=75, text="lib", globalTid=main, domainId=3)
    for step in range(steps):
        at = 1000 + 10000 * step
        made.add("NVTX_EVENTS", start=at, end=at + 8000, eventType=59, text="step", globalTid=main,
                 domainId=3, int64Value=step, color=0xff00ff00)
        for name, begin, number in (("cudaLaunchKernel", at + 100, 2 * step + 1),
                                    ("cudaMemcpyAsync", at + 500, 2 * step + 2)):
            made.add("CUPTI_ACTIVITY_KIND_RUNTIME", start=begin, end=begin + 200, globalTid=main,
                     correlationId=number, nameId=made.text(name))
        made.add("CUPTI_ACTIVITY_KIND_KERNEL", start=at + 1000, end=at + 4000, deviceId=0,
                 contextId=1, streamId=7, correlationId=2 * step + 1, globalPid=of_thread(0),
                 demangledName=made.text("gemm<float>(int)"), shortName=made.text("gemm"),
                 gridX=64, gridY=8, gridZ=1, blockX=256, blockY=1, blockZ=1,
                 registersPerThread=40)
        made.add("CUPTI_ACTIVITY_KIND_MEMCPY", start=at + 4000, end=at + 5000, deviceId=0,
                 contextId=1, streamId=7, correlationId=2 * step + 2, globalPid=of_thread(0),
                 bytes=4096, copyKind=1)
    made.add("NVTX_EVENTS", start=1500, end=2500, eventType=60, textId=made.text("fetch"),
             globalTid=worker, endGlobalTid=main, domainId=0)
    made.add("NVTX_EVENTS", start=1600, eventType=34, text="ready", globalTid=worker, domainId=0,
             doubleValue=0.5)
    made.add("OSRT_API", start=2000, end=2400, globalTid=worker, nameId=made.text("poll"))
    made.end()


def make_usage(path):
    """Both threads leave CPUs and return; memory is allocated and freed, by a call and without one;
    the profiler sets itself up."""
    made = Made(path)
    main, worker = of_thread(MAIN), of_thread(WORKER)
    made.connection.executescript(USAGE)
    made.add("TARGET_INFO_GPU", id=0, name="NVIDIA H100", cuDevice=0)
    made.add("NVTX_EVENTS", start=1000, end=30000, eventType=59, text="step", globalTid=main)
    for start, comes, thread, state in (
            (1000, 1, main, 1), (2000, 0, main, 2), (4500, 1, worker, 1), (5000, 1, main, 1),
            (6000, 0, worker, 1), (6500, 1, worker, 1), (7000, 0, main, 3), (9000, 0, worker, 2)):
        made.add("SCHED_EVENTS", start=start, cpu=1, isSchedIn=comes, globalTid=thread,
                 threadState=state)
    made.add("CUPTI_ACTIVITY_KIND_RUNTIME", start=10000, end=12000, globalTid=main,
             correlationId=5, nameId=made.text("cudaMalloc"))
    for start, takes, size, kind, address, name, call in (
            (11000, 0, 1 << 20, 2, 4096, None, 5), (13000, 0, 4096, 5, 8192, "table", None),
            (14000, 1, 1 << 20, 2, 4096, None, None), (15000, 7, 1, 2, 1, None, None)):
        made.add("CUDA_GPU_MEMORY_USAGE_EVENTS", start=start, globalPid=of_thread(0), deviceId=0,
                 contextId=1, address=address, pc=0, bytes=size, memKind=kind,
                 memoryOperationType=takes, name=name, correlationId=call)
    made.add("PROFILER_OVERHEAD", start=2000, end=2500, globalTid=worker,
             nameId=made.text("CUDA profiling initialization"), returnValue=0)
    made.end()
