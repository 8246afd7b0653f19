# SPDX-License-Identifier: MIT
"""Recordings, read: pyannot.read.

    recording = pyannot.read("out.annot")
    for range in recording.ranges:               # streams: memory does not grow
        print(range.name, range.duration_ns)
    columns = recording.ranges.columns()         # all of them, as columns of numbers

Times are integers, nanoseconds since the recording began; None where they are not known. Every
iteration is a pass of its own over the file, so passes may be nested and run in several threads.
What a file cannot tell, because it is cut or damaged, is left out; `complete` and `damage` say so.
"""

import functools
import os
import threading
from typing import (Any, Dict, Generic, Iterator, List, Mapping, NamedTuple, Optional, Tuple, Type,
                    TypeVar, Union, cast)

from pyannot import _reader
from pyannot._columns import RangeColumns, MarkColumns, CounterColumns, FlowColumns, LossColumns
from pyannot._errors import RecordingError, status_of_file, unreadable
from pyannot._reader import Column
from pyannot._results import Results

_growing = threading.Lock()  # held where the lists of a Recording get longer

Value = Union[None, bool, int, float, str]
"""What a payload or a key's value can be."""

Row = Dict[str, Any]
Report = Dict[str, Any]

_GROUPINGS = ("path", "name", "process", "thread")


class Process:
    """One image of a process: an exec begins another."""

    __slots__ = ("index", "pid", "parent_pid", "parent", "name", "command", "start_ns", "end_ns",
                 "end", "last_word", "forked", "event_count", "lost", "comm", "threads")

    def __init__(self, facts: Tuple[Any, ...]) -> None:
        self.index: int
        self.pid: int
        self.parent_pid: int  # 0: not known
        self.parent: Optional[Process] = None  # if it is recorded too
        self.name: str  # as all outputs call it
        self.command: str
        self.start_ns: Optional[int]
        self.end_ns: Optional[int]
        self.end: str  # "exit 0", "SIGKILL", "still running", ...
        self.last_word: Optional[str]
        self.forked: bool  # without an exec
        self.event_count: int
        self.lost: Dict[str, int]  # records, by cause
        self.comm: str  # the kernel's name
        self.threads: List[Thread] = []
        (self.index, self.pid, self.parent_pid, _, self.name, self.command, self.start_ns,
         self.end_ns, self.end, self.last_word, self.forked, self.event_count, self.lost,
         self.comm) = facts

    def __repr__(self) -> str:
        return f"<Process {self.pid} {self.name!r}>"


class Thread:
    __slots__ = ("index", "name", "tid", "process", "first_ns", "last_ns", "event_count", "lost")

    def __init__(self, facts: Tuple[Any, ...], process: Process) -> None:
        self.index: int
        self.name: str
        self.tid: int
        self.process = process
        self.first_ns: Optional[int]  # its first and last event
        self.last_ns: Optional[int]
        self.event_count: int
        self.lost: Dict[str, int]
        (self.index, self.name, self.tid, _, self.first_ns, self.last_ns, self.event_count,
         self.lost) = facts

    def __repr__(self) -> str:
        return f"<Thread {self.tid} {self.name!r} of {self.process.pid}>"


class Track:
    """A line of ranges that belong to no thread: a task, a request."""

    __slots__ = ("index", "name", "path", "id", "process", "parent")

    def __init__(self, facts: Tuple[Any, ...], process: Optional[Process]) -> None:
        self.index: int
        self.name: str
        self.path: str  # with the names of those above it
        self.id: int
        self.process = process  # the first that used it
        self.parent: Optional[Track] = None
        self.index, self.name, self.path, self.id, _, _ = facts

    def __repr__(self) -> str:
        return f"<Track {self.path!r}>"


class Range(NamedTuple):
    """A range that has ended, by itself or with what it was in.

    kind: "pushed" on its thread, "overlapping" (start and end), "track". path: what reports call
    the ranges around it, outermost first, and itself ("domain:name"). self_ns: without the ranges
    directly inside of it. observer: who told it, "program" or one of annot/observers.h ("nvtx",
    "pool", "log"); role: as what, an observer's own number. Of "inherited": another thread has it
    open, for which this one works inside of it; it counts there, not here.
    id: of a pushed range what current() was in it, of an overlapping one its token; 0 is unknown.
    unfinished: nobody ended it; end_lost: its end fell into a gap.
    """

    name: str
    start_ns: int
    end_ns: int
    thread: Thread
    path: Tuple[str, ...]
    depth: int
    self_ns: int
    kind: str
    track: Optional[Track]
    category: Optional[str]
    domain: Optional[str]
    observer: str
    role: int
    level: int
    color: Optional[int]
    payload: Value
    values: Mapping[str, Value]
    id: int
    end_thread: Thread
    unfinished: bool
    end_lost: bool

    @property
    def duration_ns(self) -> int:
        return self.end_ns - self.start_ns

    @property
    def process(self) -> Process:
        return self.thread.process


class Mark(NamedTuple):
    """An instant, of a thread or on a track."""

    name: str
    time_ns: int
    thread: Thread
    track: Optional[Track]
    category: Optional[str]
    domain: Optional[str]
    observer: str
    role: int
    level: int
    color: Optional[int]
    payload: Value
    values: Mapping[str, Value]

    @property
    def process(self) -> Process:
        return self.thread.process


class Counter(NamedTuple):
    """A value of a counter, from then on."""

    name: str
    time_ns: int
    value: Union[int, float]
    thread: Thread
    domain: Optional[str]
    observer: str
    role: int
    unit: Optional[str]

    @property
    def process(self) -> Process:
        return self.thread.process


class Flow(NamedTuple):
    """A point of an arrow: "begin", "step" or "end". Those of one id belong together."""

    kind: str
    time_ns: int
    id: int
    name: Optional[str]
    thread: Thread
    domain: Optional[str]
    observer: str
    role: int

    @property
    def process(self) -> Process:
        return self.thread.process


class Loss(NamedTuple):
    """Records that a thread could not hand over, and why."""

    start_ns: int
    end_ns: int
    records: int
    cause: str
    thread: Thread

    @property
    def process(self) -> Process:
        return self.thread.process


class Sample(NamedTuple):
    """What a thread did at an instant on a CPU ("cpu"), or in a stretch off it ("off_cpu").

    Of any other set of samples (Recording.sample_sets), kind is its name. values: those of its set,
    by name, in their units. id: of a set of the heap the address of a block; else 0.
    ranges: the names of those that were open ("domain:name" if they have one), outermost first;
    inherited: they were open in the parent when the process was forked, and none is its own.
    stack: functions, outermost first, as all outputs call them. weight_ns: the CPU time that an
    instant stands for. reason: what a stretch waited for; in runnable_ns at its end it waited
    for a CPU only. unfinished: it lasted longer than the recording or the thread.
    """

    kind: str
    time_ns: int
    end_ns: int
    thread: Thread
    ranges: Tuple[str, ...]
    stack: Tuple[str, ...]
    cpu: int
    weight_ns: int
    reason: Optional[str]
    runnable_ns: int
    in_kernel: bool
    collecting: bool
    holds_gil: bool
    unfinished: bool
    inherited: bool
    id: int
    values: Mapping[str, int]

    @property
    def process(self) -> Process:
        return self.thread.process


class SampleValue(NamedTuple):
    """What samples of a set measure: adds_up is False of a level, such as a temperature."""

    name: str
    unit: str  # "ns", "bytes", "" of a number
    adds_up: bool


class SampleSet(NamedTuple):
    """Samples with the same values. exact: each counts for itself. stretch: its values are parts of
    the time from time_ns to end_ns. heap: they have the address of a block. interval: values were
    counted from time_ns to end_ns. period: what one stands for; 0: not constant."""

    name: str
    values: Tuple[SampleValue, ...]
    exact: bool
    stretch: bool
    heap: bool
    interval: bool
    period: int


class SampleColumns(NamedTuple):
    """Samples of one set in order of time, stretches by their end.

    values: a column for each value of the set, by name. stack is a number of `stacks`, tuples of
    functions with the outermost first; ranges one of `paths`, tuples of open ranges; reason one of
    `strings`. -1 is none. See RangeColumns and Sample.
    """

    time_ns: Column
    end_ns: Column
    process: Column
    thread: Column
    cpu: Column
    stack: Column
    ranges: Column
    id: Column
    reason: Column
    in_kernel: Column
    collecting: Column
    holds_gil: Column
    unfinished: Column
    values: Dict[str, Column]
    stacks: Tuple[Tuple[str, ...], ...]
    paths: Tuple[Tuple[str, ...], ...]
    strings: Tuple[str, ...]


_Row = TypeVar("_Row")
_Columns = TypeVar("_Columns")


class Table(Generic[_Row, _Columns]):
    """All things of one kind in a recording: iterate, or take them as columns."""

    def __init__(self, recording: "Recording", kind: int, row: Type[_Row],
                 columns: Type[_Columns]) -> None:
        self._recording = recording
        self._kind = kind
        self._row = row
        self._columns = columns

    def __iter__(self) -> Iterator[_Row]:
        """One after the other; ranges when they end, all else as it happened."""
        reader = self._recording._open()
        rows = reader.rows(self._kind, self._recording.threads, self._recording.tracks)
        yield from self._recording._pass(reader, rows, self._row)

    def columns(self) -> _Columns:
        """All of them. The columns lend their memory: memoryview(column), numpy.asarray(column)."""
        reader = self._recording._open()
        columns = reader.columns(self._kind)
        self._recording._note_damage(reader)
        fields = self._columns._fields  # type: ignore[attr-defined]
        return self._columns(**{field: columns[field] for field in fields})


class SampleTable:
    """All samples: iterate over those of every set, or take one set as columns."""

    def __init__(self, recording: "Recording") -> None:
        self._recording = recording

    def __iter__(self) -> Iterator[Sample]:
        """One after the other in order of time, stretches off the CPU by their end."""
        reader = self._recording._open()
        rows = reader.samples(self._recording.threads)
        yield from self._recording._pass(reader, rows, Sample)

    def columns(self, set: str = "cpu") -> SampleColumns:
        """All of the set with that name: "cpu", "off-cpu", or one that the recording defines."""
        reader = self._recording._open()
        numbers = {facts[1]: facts[0] for facts in reader.sample_sets()}
        if set not in numbers:
            raise ValueError(f"no set is called {set!r}; there are: {', '.join(numbers)}")
        columns = reader.sample_columns(numbers[set])
        self._recording._note_damage(reader)
        return SampleColumns(**columns)


class Damage(NamedTuple):
    """A part of a file that cannot be read, in bytes; or volumes that are missing: 0 bytes."""

    offset: int
    length: int
    reason: str


class Recording(Results):
    """A recording, as pyannot.read() returns it. Holds no file open."""

    def __init__(self, path: "Union[str, os.PathLike[str]]") -> None:
        self.path = os.path.abspath(os.fspath(path))
        self._identity: Optional[Tuple[int, int]] = None
        self._damage: Dict[Tuple[int, int, str], Damage] = {}
        self.processes: List[Process] = []
        self.threads: List[Thread] = []
        self.tracks: List[Track] = []
        self._open()

    # What is in it: each a pass over the file.

    @property
    def ranges(self) -> Table[Range, RangeColumns]:
        return Table(self, 0, Range, RangeColumns)

    @property
    def marks(self) -> Table[Mark, MarkColumns]:
        return Table(self, 1, Mark, MarkColumns)

    @property
    def counters(self) -> Table[Counter, CounterColumns]:
        return Table(self, 2, Counter, CounterColumns)

    @property
    def flows(self) -> Table[Flow, FlowColumns]:
        return Table(self, 3, Flow, FlowColumns)

    @property
    def losses(self) -> Table[Loss, LossColumns]:
        return Table(self, 4, Loss, LossColumns)

    @property
    def samples(self) -> SampleTable:
        return SampleTable(self)

    @property
    def sample_sets(self) -> List[SampleSet]:
        """What samples measure: the sets that every recording may have, then its own."""
        return [SampleSet(name, tuple(SampleValue(*value) for value in values),
                          *(bool(flags & 1 << bit) for bit in range(4)), period)
                for _, name, flags, period, values in self._open().sample_sets()]

    def report(self, *, by: str = "path", inside: Optional[str] = None,
               value: Optional[str] = None) -> Report:
        """What `annot report --json` prints: {table: rows}, each row a dict; of "recording" and
        "sampling" one dict of facts. Times are in nanoseconds, as names that end in _ns say.

        by: one row of ranges for each "path", "name", or path within a "process" or "thread".
        inside: functions and waits of samples inside ranges of that name only (*, ? and [] as in
        a shell). value: what samples of ranges and functions count for, as `annot report --value`
        takes it ("alloc:bytes"), in fields called value_self, ... in place of CPU time. Every
        table adds up: a row with "rest" has what is in none of the others. All of it is read
        before this returns.
        """
        if by not in _GROUPINGS:
            raise ValueError(f"by must be one of {', '.join(_GROUPINGS)}, not {by!r}")
        reader = self._open()
        tables = reader.report(_GROUPINGS.index(by), inside, value)
        self._note_damage(reader)
        return tables

    def table(self, name: str, *, by: str = "path", inside: Optional[str] = None,
              value: Optional[str] = None) -> List[Row]:
        """The rows of one table of report(): "ranges", "functions", "waits", "threads", ..."""
        tables = self.report(by=by, inside=inside, value=value)
        if name not in tables:
            raise KeyError(f"there is no table {name!r}, but {', '.join(tables)}")
        rows = tables[name]
        return [rows] if isinstance(rows, dict) else rows

    @property
    def lost(self) -> Dict[str, int]:
        """Records that are missing, by cause; {}: none. What damage took is not among them."""
        sums: Dict[str, int] = {}
        for process in self.processes:
            for cause, count in process.lost.items():
                sums[cause] = sums.get(cause, 0) + count
        return sums

    @property
    def complete(self) -> bool:
        """It was ended in order, and no damage was met so far."""
        return self._ended and not self._damage

    @property
    def damage(self) -> List[Damage]:
        """What cannot be read, as far as it was met: all of it after a pass."""
        return list(self._damage.values())

    def __repr__(self) -> str:
        return f"<Recording {self.path!r}: {len(self.processes)} processes>"

    def _file(self) -> str:
        return self.path

    # Of one that is still being written, each pass may find more.

    def _open(self) -> _reader.Reader:
        status = status_of_file(self.path)
        try:
            reader = _reader.Reader(self.path)
        except OSError as error:
            raise unreadable(error, self.path) from None
        identity = (status.st_dev, status.st_ino)
        if self._identity not in (None, identity):
            raise RecordingError(f"{self.path} is another file than when it was opened",
                                 "call pyannot.read() again")
        self._identity = identity
        self._note_damage(reader)
        self._take_session(reader)
        self._take_lists(reader)
        return reader

    def _pass(self, reader: _reader.Reader, rows: _reader.Reader,
              row: Type[_Row]) -> Iterator[_Row]:
        try:
            yield from map(functools.partial(tuple.__new__, cast(Any, row)), rows)
        finally:
            self._note_damage(reader)

    def _take_session(self, reader: _reader.Reader) -> None:
        (self.command, self.hostname, self.kernel, self.annot_version, self.begin_monotonic_ns,
         self.begin_time_ns, self.end_ns, status, self.recovered, self.facts, self.refusals,
         self.remarkable_calls
         ) = cast("Tuple[str, str, str, str, int, int, Optional[int], int, bool, "
                  "List[Tuple[int, str, int]], List[Tuple[int, str, str]], Dict[str, int]]",
                  reader.session())
        self.command_status: Optional[int] = None if status < 0 else status

    def _take_lists(self, reader: _reader.Reader) -> None:
        processes, threads, tracks = reader.processes(), reader.threads(), reader.tracks()
        with _growing:
            _extend_processes(self.processes, processes)
            _extend_threads(self.threads, threads, self.processes)
            _extend_tracks(self.tracks, tracks, self.processes)

    def _note_damage(self, reader: _reader.Reader) -> None:
        self._ended, self.file_bytes, self.event_count, self.sample_count, damage = reader.file()
        for offset, length, reason in damage:
            self._damage[offset, length, reason] = Damage(offset, length, reason)


def _extend_processes(processes: List[Process], facts: List[Tuple[Any, ...]]) -> None:
    known = len(processes)
    processes.extend(Process(fact) for fact in facts[known:])
    for process, fact in zip(processes[known:], facts[known:]):
        process.parent = processes[fact[3]] if fact[3] is not None else None


def _extend_threads(threads: List[Thread], facts: List[Tuple[Any, ...]],
                    processes: List[Process]) -> None:
    for fact in facts[len(threads):]:
        thread = Thread(fact, processes[fact[3]])
        threads.append(thread)
        thread.process.threads.append(thread)


def _extend_tracks(tracks: List[Track], facts: List[Tuple[Any, ...]],
                   processes: List[Process]) -> None:
    known = len(tracks)
    for fact in facts[known:]:
        process = processes[fact[4]] if fact[4] < len(processes) else None
        tracks.append(Track(fact, process))
    for track, fact in zip(tracks[known:], facts[known:]):
        track.parent = tracks[fact[5]] if fact[5] is not None else None


def read(path: "Union[str, os.PathLike[str]]") -> Recording:
    """Opens a recording, also one that is being written, or was cut or damaged.

    Raises OSError if the file cannot be opened, RecordingError if it is no recording.
    """
    return Recording(path)
