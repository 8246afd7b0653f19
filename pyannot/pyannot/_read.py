# SPDX-License-Identifier: MIT
"""Reads recordings: pyannot.read.

    recording = pyannot.read("out.annot")
    for range in recording.ranges:               # streams: memory does not grow
        print(range.name, range.duration_ns)
    columns = recording.ranges.columns()         # all of them, as columns of numbers

Times are integers, nanoseconds since the recording began; None if unknown. Every iteration is a
separate pass over the file, so passes may be nested and run in several threads. Parts of a cut or
damaged file that cannot be read are left out; `complete` and `damage` report them.
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

_growing = threading.Lock()  # held while the lists of a Recording grow

# The type of payloads and of the values of keys.
Value = Union[None, bool, int, float, str]

Row = Dict[str, Any]
Report = Dict[str, Any]

_GROUPINGS = ("path", "name", "process", "thread")


class Process:
    """One program image in a process; an exec starts another."""

    __slots__ = ("index", "pid", "parent_pid", "parent", "name", "command", "begin_ns", "end_ns",
                 "end", "last_word", "forked", "event_count", "lost", "comm", "threads")

    def __init__(self, facts: Tuple[Any, ...]) -> None:
        self.index: int
        self.pid: int
        self.parent_pid: int  # 0: unknown
        self.parent: Optional[Process] = None  # if it is recorded too
        self.name: str  # the name in all outputs
        self.command: str
        self.begin_ns: Optional[int]
        self.end_ns: Optional[int]
        self.end: str  # "exit 0", "SIGKILL", "still running", "not recorded" (imported), ...
        self.last_word: Optional[str]
        self.forked: bool  # without an exec
        self.event_count: int
        self.lost: Dict[str, int]  # lost records, by cause
        self.comm: str  # the kernel's name
        self.threads: List[Thread] = []
        (self.index, self.pid, self.parent_pid, _, self.name, self.command, self.begin_ns,
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
    """A timeline of ranges that belong to no thread: a task, a request."""

    __slots__ = ("index", "name", "path", "id", "process", "parent")

    def __init__(self, facts: Tuple[Any, ...], process: Optional[Process]) -> None:
        self.index: int
        self.name: str
        self.path: str  # starts with the names of its parents
        self.id: int
        self.process = process  # the first process that used it
        self.parent: Optional[Track] = None
        self.index, self.name, self.path, self.id, _, _ = facts

    def __repr__(self) -> str:
        return f"<Track {self.path!r}>"


class Range(NamedTuple):
    """A range that has ended, itself or with the thread or range that contained it.

    kind: "pushed" on its thread, "overlapping" (start and end), "track". path: the names of the
    ranges around it, outermost first, and its own, as reports print them ("domain:name"). self_ns:
    its time without the ranges directly inside it. observer: the source of the range, "program" or
    one of annot/observers.h ("nvtx", "pool", "log"); role: the observer's own number for it.
    Observer "inherited": the range is open on another thread, for which this one works; it counts
    there, not here. id: of a pushed range, the value of current() in it, of an overlapping range,
    its token; 0 is unknown. unfinished: it was never ended; end_lost: its end fell into a gap.
    """

    name: str
    begin_ns: int
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
    args: Mapping[str, Value]
    id: int
    end_thread: Thread
    unfinished: bool
    end_lost: bool

    @property
    def duration_ns(self) -> int:
        return self.end_ns - self.begin_ns

    @property
    def process(self) -> Process:
        return self.thread.process


class Mark(NamedTuple):
    """An instant of a thread or track."""

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
    args: Mapping[str, Value]

    @property
    def process(self) -> Process:
        return self.thread.process


class Counter(NamedTuple):
    """A value of a counter, valid from time_ns on."""

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
    """A point of a flow: "begin", "step" or "end". Points of one id belong together."""

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
    """Records that a thread could not hand over, and the cause."""

    begin_ns: int
    end_ns: int
    lost_count: int
    cause: str
    thread: Thread

    @property
    def process(self) -> Process:
        return self.thread.process


class Sample(NamedTuple):
    """A thread at an instant on a CPU ("cpu"), or in a stretch off it ("off_cpu").

    In other sets of samples (Recording.sample_sets), kind is the name of the set. sample_values:
    the values of the set by name, in their units. id: the address of a block in sets of the heap;
    else 0. ranges: the names of the open ranges ("domain:name" if they have a domain), outermost
    first; inherited: they were open in the parent when the process was forked, and it has opened
    no others. stack: functions, outermost first, named as in all outputs. cpu_ns: the CPU time that
    an instant stands for. reason: the cause of a stretch; in runnable_ns at its end the thread
    waited only for a CPU. unfinished: it lasted longer than the recording or the thread.
    """

    kind: str
    time_ns: int
    end_ns: int
    thread: Thread
    ranges: Tuple[str, ...]
    stack: Tuple[str, ...]
    cpu: int
    cpu_ns: int
    reason: Optional[str]
    runnable_ns: int
    in_kernel: bool
    collecting: bool
    holds_gil: bool
    unfinished: bool
    inherited: bool
    id: int
    sample_values: Mapping[str, int]

    @property
    def process(self) -> Process:
        return self.thread.process


class SampleValue(NamedTuple):
    """A value of the samples of a set. adds_up is False for a level, such as a temperature."""

    name: str
    unit: str  # "ns", "bytes", "" for a number
    adds_up: bool


class SampleSet(NamedTuple):
    """Samples with the same values. exact: a sample stands for itself only. stretch: its values are
    parts of the time from time_ns to end_ns. heap: samples have the address of a block. interval:
    values were counted from time_ns to end_ns. period: the amount that a sample stands for; 0: not
    constant."""

    name: str
    values: Tuple[SampleValue, ...]
    exact: bool
    stretch: bool
    heap: bool
    interval: bool
    period: int


class SampleColumns(NamedTuple):
    """Samples of one set in order of time, stretches by their end.

    sample_values: a column for each value of the set, by name. stack indexes `stacks`, tuples
    of functions with the outermost first; ranges indexes `paths`, tuples of open ranges; reason
    indexes `strings`. -1 means absent. See RangeColumns and Sample.
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
    sample_values: Dict[str, Column]
    stacks: Tuple[Tuple[str, ...], ...]
    paths: Tuple[Tuple[str, ...], ...]
    strings: Tuple[str, ...]


_Row = TypeVar("_Row")
_Columns = TypeVar("_Columns")


class Table(Generic[_Row, _Columns]):
    """All rows of one kind in a recording: iterate over them, or get them as columns."""

    def __init__(self, recording: "Recording", kind: int, row: Type[_Row],
                 columns: Type[_Columns]) -> None:
        self._recording = recording
        self._kind = kind
        self._row = row
        self._columns = columns

    def __iter__(self) -> Iterator[_Row]:
        """Yields ranges in order of their end, other rows in order of time."""
        reader = self._recording._open()
        rows = reader.rows(self._kind, self._recording.threads, self._recording.tracks)
        yield from self._recording._pass(reader, rows, self._row)

    def columns(self) -> _Columns:
        """Returns all rows as columns, which support the buffer protocol: memoryview(column),
        numpy.asarray(column)."""
        reader = self._recording._open()
        columns = reader.columns(self._kind)
        self._recording._note_damage(reader)
        fields = self._columns._fields  # type: ignore[attr-defined]
        return self._columns(**{field: columns[field] for field in fields})


class SampleTable:
    """All samples: iterate over those of every set, or get one set as columns."""

    def __init__(self, recording: "Recording") -> None:
        self._recording = recording

    def __iter__(self) -> Iterator[Sample]:
        """Yields samples in order of time, stretches off the CPU by their end."""
        reader = self._recording._open()
        rows = reader.samples(self._recording.threads)
        yield from self._recording._pass(reader, rows, Sample)

    def columns(self, set: str = "cpu") -> SampleColumns:
        """Returns the set of that name as columns: "cpu", "off-cpu", or one that the recording
        defines."""
        reader = self._recording._open()
        numbers = {facts[1]: facts[0] for facts in reader.sample_sets()}
        if set not in numbers:
            raise ValueError(f"no set is called {set!r}; there are: {', '.join(numbers)}")
        columns = reader.sample_columns(numbers[set])
        self._recording._note_damage(reader)
        return SampleColumns(**columns)


class Damage(NamedTuple):
    """An unreadable part of a file, in bytes; a length of 0 stands for missing volumes."""

    offset: int
    length: int
    reason: str


class Recording(Results):
    """A recording, as pyannot.read() returns it. Keeps no file open."""

    def __init__(self, path: "Union[str, os.PathLike[str]]") -> None:
        self.path = os.path.abspath(os.fspath(path))
        self._identity: Optional[Tuple[int, int]] = None
        self._damage: Dict[Tuple[int, int, str], Damage] = {}
        self.processes: List[Process] = []
        self.threads: List[Thread] = []
        self.tracks: List[Track] = []
        self._open()

    # Contents: each iteration is a pass over the file.

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
        """The sets of samples: those that every recording may have, then its own."""
        return [SampleSet(name, tuple(SampleValue(*value) for value in values),
                          *(bool(flags & 1 << bit) for bit in range(4)), period)
                for _, name, flags, period, values in self._open().sample_sets()]

    def report(self, *, by: str = "path", inside: Optional[str] = None,
               value: Optional[str] = None) -> Report:
        """Returns the tables of `annot report --json`: {table: rows}, each row a dict; "recording"
        and "sampling" are one dict of facts. Fields that end in _ns are nanoseconds.

        by: groups ranges by "path", by "name", or by path within each "process" or "thread".
        inside: limits functions and waits to samples inside ranges of that name (*, ? and [] as in
        a shell). value: weighs samples of ranges and functions by this value, as `annot report
        --value` does ("alloc:bytes"), in fields called value_self, ... instead of CPU time. Every
        table adds up: a row with "rest" holds the remainder. The whole recording is read before
        this returns.
        """
        if by not in _GROUPINGS:
            raise ValueError(f"by must be one of {', '.join(_GROUPINGS)}, not {by!r}")
        reader = self._open()
        tables = reader.report(_GROUPINGS.index(by), inside, value)
        self._note_damage(reader)
        return tables

    def table(self, name: str, *, by: str = "path", inside: Optional[str] = None,
              value: Optional[str] = None) -> List[Row]:
        """Returns the rows of one table of report(): "ranges", "functions", "waits", ..."""
        tables = self.report(by=by, inside=inside, value=value)
        if name not in tables:
            raise KeyError(f"there is no table {name!r}, but {', '.join(tables)}")
        rows = tables[name]
        return [rows] if isinstance(rows, dict) else rows

    @property
    def lost(self) -> Dict[str, int]:
        """Lost records by cause; {} if complete. Records in damaged parts are not counted."""
        sums: Dict[str, int] = {}
        for process in self.processes:
            for cause, count in process.lost.items():
                sums[cause] = sums.get(cause, 0) + count
        return sums

    @property
    def complete(self) -> bool:
        """True if the recording was closed properly, and no damage was found so far."""
        return self._ended and not self._damage

    @property
    def damage(self) -> List[Damage]:
        """Unreadable parts found so far; complete after a pass over the file."""
        return list(self._damage.values())

    def __repr__(self) -> str:
        return f"<Recording {self.path!r}: {len(self.processes)} processes>"

    def _file(self) -> str:
        return self.path

    # If the recording is still being written, each pass may find more.

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
         self.begin_realtime_ns, self.end_ns, status, self.recovered, self.facts, self.refusals,
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
    """Opens a recording, including one that is being written, or was cut or damaged.

    Raises OSError if the file cannot be opened, RecordingError if it is not a recording.
    """
    return Recording(path)
