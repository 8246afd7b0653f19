# SPDX-License-Identifier: MIT
"""Recordings that a program makes of itself and its children: start_recording, stop_recording.

The `annot` program makes the recording (`annot attach --asked` for this process). It runs detached,
in its own session: wait() and SIGCHLD ignore it, and if this process is killed, it completes the
recording. Two pipes connect both; docs/api.md describes the protocol. One recording at a time in a
process. Threads: any.
"""

import atexit
import os
import select
import signal
import sys
import threading
import time
from typing import Any, Dict, List, Optional, Sequence, Tuple, Union

from pyannot import _native, _program
from pyannot._errors import RecordingError

__all__ = ["RecordingError", "start_recording", "stop_recording"]

_Names = Union[str, Sequence[str]]

# Time for annot to start, load its sampler and report that it records.
START_SECONDS = 120.0
# Time for the recording to be complete at the interpreter's exit; annot then continues alone.
EXIT_SECONDS = 60.0

# Error of event times, which are converted from another clock.
CLOCK_ERROR_NS = 10_000


def _identity(fd: int) -> Optional[Tuple[int, int]]:
    """Identifies the open file: the same for as long as the file is the same."""
    try:
        status = os.fstat(fd)
    except OSError:
        return None
    return status.st_dev, status.st_ino


class _Descriptor:
    """One of our descriptors, until the program closes it: it may close all that it did not open
    (os.closerange), and the number may then be another file's."""

    def __init__(self, number: int = -1) -> None:
        self._number = number
        self._identity = _identity(number)

    def number(self) -> Optional[int]:
        """Returns its number; None once the file is closed."""
        is_ours = self._identity is not None and _identity(self._number) == self._identity
        return self._number if is_ours else None

    def close(self) -> None:
        number, self._identity = self.number(), None
        if number is not None:
            os.close(number)


def _write(number: int, text: bytes) -> None:
    """Writes into a pipe that may have no reader, without SIGPIPE, however the program handles
    that."""
    ours = {signal.SIGPIPE}
    before = signal.pthread_sigmask(signal.SIG_BLOCK, ours)
    try:
        os.write(number, text)
    except OSError:
        if signal.SIGPIPE not in before:
            signal.sigtimedwait(ours, 0)
    finally:
        signal.pthread_sigmask(signal.SIG_SETMASK, before)


class _Collector:
    """The annot process that records this one."""

    def __init__(self, path: str) -> None:
        self.path = path
        self.session = self.place = ""
        self.end_ns = 0  # end of the block: later events are not the program's; 0: not set
        self._rest = b""
        self._annot = 0
        self._messages = self._input = self._output = _Descriptor()

    def start(self, arguments: List[str]) -> None:
        """Starts annot. The caller must call abandon() if this raises."""
        from pyannot import _detach

        program = _program.find()
        if program is None:
            text, _, hint = _program.MISSING.partition("\nhint: ")
            raise RecordingError(f"cannot record into {self.path}: {text}", hint)
        messages = os.memfd_create("annot-messages")
        theirs_in, ours_in = os.pipe()
        ours_out, theirs_out = os.pipe()
        self._messages, self._input, self._output = map(
            _Descriptor, (messages, ours_in, ours_out))
        words = tuple(os.fsencode(word) for word in ("annot", "attach", "--asked", *arguments))
        variables = tuple(name + b"=" + value for name, value in os.environb.items())
        try:
            self._annot = _detach.start(os.fsencode(program), words, variables,
                                        (theirs_in, theirs_out, messages))
        except OSError as error:
            raise RecordingError(
                f"cannot record into {self.path}: cannot run {program}: {error.strerror}",
                "let the environment variable ANNOT name the annot program") from None
        finally:
            os.close(theirs_in)
            os.close(theirs_out)

    def _line(self, seconds: Optional[float]) -> Optional[str]:
        """Returns the next line from annot; "" if annot has ended, None if time is up."""
        until = None if seconds is None else time.monotonic() + seconds
        output = self._output.number()
        if output is None:
            return ""
        poll = select.poll()
        poll.register(output, select.POLLIN)
        while b"\n" not in self._rest:
            rest = None if until is None else max(0.0, until - time.monotonic()) * 1000
            if not poll.poll(rest):
                return None
            part = os.read(output, 4096)
            if not part:
                return ""
            self._rest += part
        line, _, self._rest = self._rest.partition(b"\n")
        return line.decode()

    def messages(self) -> str:
        """Returns annot's messages for humans."""
        messages = self._messages.number()
        if messages is None:
            return ""
        size = os.fstat(messages).st_size
        return os.pread(messages, min(size, 1 << 16), 0).decode(errors="replace").strip()

    def _failed(self, what: str) -> RecordingError:
        """Returns annot's messages as an error, without the prefix of each line."""
        texts: List[str] = []
        hints: List[str] = []
        for line in self.messages().splitlines():
            kind, _, rest = line.partition(": ")
            (hints if kind == "hint" else texts).append(rest or line)
        reason = "; ".join(texts) or "annot ended without a message"
        return RecordingError(f"{what} {self.path}: {reason}", "; ".join(hints))

    def wait_until_it_records(self) -> None:
        line = self._line(START_SECONDS)
        kind, _, rest = (line or "").partition(" ")
        self.session, _, self.place = rest.partition(" ")
        if kind == "recording":
            return
        if line is None:
            os.kill(self._annot, 9)
            raise RecordingError(f"cannot record into {self.path}: annot does not start",
                                 "annot doctor reports the cause")
        raise self._failed("cannot record into")

    def stop(self, seconds: Optional[float]) -> None:
        """Ends the recording and waits until the file is complete."""
        if not self._request_end():
            self._stop_by_signal(seconds)
            return
        line = self._line(seconds)
        if line == "complete":
            self._reap()
        elif line is None:
            raise RecordingError(f"{self.path} is not complete after {seconds:.0f} s",
                                 "annot continues to write it")
        else:
            error = self._failed("cannot complete")
            raise RecordingError(str(error), error.hint or "annot recover completes it")

    def send_begin(self) -> None:
        """Sends the start of the block: earlier events are not the program's."""
        number = self._input.number()
        if number is not None:
            _write(number, b"begin %d\n" % (time.monotonic_ns() - CLOCK_ERROR_NS))

    def _request_end(self) -> bool:
        """Requests the end. Returns true if both pipes are still open."""
        number = self._input.number()
        if number is not None:  # if annot has ended, its last lines can still be read
            _write(number, b"end %d\n" % self.end_ns if self.end_ns else b"\n")
        return number is not None and self._output.number() is not None

    def _lives(self) -> bool:
        """True if the process id is still that of this annot."""
        try:
            with open(f"/proc/{self._annot}/cmdline", "rb") as file:
                words = file.read().split(b"\0")
        except OSError:
            return False
        return b"--asked" in words and os.fsencode(self.path) in words

    def _stop_by_signal(self, seconds: Optional[float]) -> None:
        """Ends the recording by a signal, as Control-C does: the program has closed our pipes."""
        until = None if seconds is None else time.monotonic() + seconds
        if self._lives():
            os.kill(self._annot, signal.SIGTERM)
        while self._lives():
            if until is not None and time.monotonic() > until:
                raise RecordingError(f"{self.path} is not complete after {seconds:.0f} s",
                                     "annot continues to write it")
            time.sleep(0.005)
        self._reap()
        from pyannot._read import read

        if not read(self.path).complete:
            raise RecordingError(f"cannot complete {self.path}", "annot recover completes it")

    def _reap(self) -> None:
        """Waits for annot if it is our child: we may be the reaper of orphans (the first process of
        a container)."""
        try:
            with open(f"/proc/{self._annot}/stat", "rb") as file:
                parent = int(file.read().rpartition(b")")[2].split()[1])
            if parent == os.getpid():
                os.waitpid(self._annot, 0)
        except (OSError, IndexError, ValueError):
            pass

    def abandon(self) -> None:
        """Requests the end, and does not wait for it."""
        if not self._request_end() and self._lives():
            os.kill(self._annot, signal.SIGTERM)
        self.close()

    def close(self) -> None:
        self._input.close()
        self.leave_to_parent()

    def continue_in_child(self) -> None:
        """In a forked child: permits annot to read its memory too; the parent ends the
        recording."""
        from pyannot import _detach

        _detach.permit(self._annot)
        self.leave_to_parent()

    def leave_to_parent(self) -> None:
        """Keeps only the input pipe open, by which annot sees that a process is left."""
        self._messages.close()
        self._output.close()


class _State:
    """The recording that this process makes. `lock` is held only briefly."""

    def __init__(self) -> None:
        self.lock = threading.Lock()
        self.claim: Optional[_Collector] = None  # of the recording that runs, or is about to
        self.collector: Optional[_Collector] = None  # of the one that runs
        self.observes = False  # we started pyannot.observe
        self.environment: List[Tuple[str, str, Optional[str]]] = []  # name, ours, previous value


_state = _State()


def _after_fork_in_child() -> None:
    """A forked child belongs to its parent's recording, but does not end it."""
    global _state
    collector = _state.collector
    _state = _State()
    if collector is not None:
        collector.continue_in_child()


os.register_at_fork(after_in_child=_after_fork_in_child)


def _rules(option: str, names: _Names) -> List[str]:
    words = [names] if isinstance(names, str) else list(names)
    return [word for name in words for word in (f"--{option}", name)]


def _arguments(
    path: str,
    *,
    force: bool,
    sample: Optional[int],
    off_cpu: Optional[bool],
    enable: _Names,
    disable: _Names,
    duration: Optional[float],
    pool_size: Union[int, str, None],
    policy: Optional[str],
) -> List[str]:
    words = ["-p", str(os.getpid()), "-o", path]
    words += ["--rate", str(sample)] if sample else ["--sampling=none"]
    if force:
        words.append("--force")
    if off_cpu is not None:
        words.append("--off-cpu" if off_cpu else "--off-cpu=none")
    if duration is not None:
        words += ["--duration", f"{duration * 1e9:.0f}ns"]
    if pool_size is not None:
        words += ["--pool-size", str(pool_size)]
    if policy is not None:
        words += ["--policy", policy]
    return words + _rules("enable", enable) + _rules("disable", disable)


def _observer() -> Any:
    from pyannot import observe

    return observe


def _parts(observe: Union[str, bool]) -> Optional[str]:
    """Returns the parts to request from pyannot.observe, or None. Raises ValueError if they are
    unknown."""
    if observe is False or observe == "none":
        return None
    parts = "default" if observe is True else str(observe)
    wanted, _ = _observer().parse(parts)
    for name, (module, watched) in _observer().PARTS.items():
        if name in wanted and (not watched or any(map(sys.modules.__contains__, watched))):
            _load(module)
    return parts


def _load(module: str) -> None:
    """Imports a part before the recording starts, so that the import is not recorded. A failure is
    reported when the part starts."""
    try:
        __import__(f"pyannot.observe.{module}")
    except Exception:
        pass


def _observe(state: _State, parts: Optional[str]) -> None:
    """Starts pyannot.observe, unless a part of it is on already."""
    if parts is None:
        return
    observe = _observer()
    if any(state != "off" for state in observe.status().values()):
        return
    state.observes = True
    observe.start(parts)
    observe.arrive()


def _for_children(collector: _Collector, parts: Optional[str], preload: bool) -> Dict[str, str]:
    """Returns environment variables for children that run another program, as `annot record` sets
    them.

    The session and its place are always set: children may outlive the processes between, and may
    have another place. The others load pyannot into them. Without those, children are still
    recorded, and a note is added.
    """
    from pyannot._links import plain_path

    variables = {"ANNOT_SESSION": collector.session}
    if collector.place:
        variables["ANNOT_PLACE"] = collector.place
    if parts is None:
        return variables
    variables["ANNOT_PYTHON"] = parts
    folder = plain_path(os.path.dirname(os.path.dirname(os.path.abspath(__file__))))
    if folder is None:
        return variables
    variables["ANNOT_PYTHON_PATH"] = folder
    library = f"{folder}/pyannot/preload/libasan.so/../annot-preload.so"
    before = os.environ.get("LD_PRELOAD", "")
    if preload and os.path.exists(library) and library not in before:
        variables["LD_PRELOAD"] = f"{before}:{library}" if before else library
    return variables


def _note_children(variables: Dict[str, str], preload: bool) -> None:
    """Notes in the recording that other programs of children cannot be observed, and why."""
    if "ANNOT_PYTHON" not in variables:
        return
    reason = ""
    if "ANNOT_PYTHON_PATH" not in variables:
        reason = ("the path of its folder has characters that end a path in lists, and there is "
                  "no folder for a link")
    elif preload and "annot-preload.so" not in os.environ.get("LD_PRELOAD", ""):
        reason = "its library annot-preload.so is missing"
    if reason:
        _observer().report("note", "Other programs that this one starts load pyannot only where it "
                           f"is installed: {reason}.")


def _set_environment(state: _State, variables: Dict[str, str]) -> None:
    state.environment = [(name, value, os.environ.get(name)) for name, value in variables.items()]
    os.environ.update(variables)


def _restore_environment(state: _State) -> None:
    """Restores the environment, except for variables that the program has changed. May be
    interrupted, and called again."""
    while state.environment:
        name, value, before = state.environment[-1]
        if os.environ.get(name) == value:
            if before is None:
                del os.environ[name]
            else:
                os.environ[name] = before
        state.environment.pop()


def start_recording(
    path: "Union[str, os.PathLike[str]]",
    *,
    force: bool = False,
    sample: Optional[int] = 99,
    off_cpu: Optional[bool] = None,
    enable: _Names = (),
    disable: _Names = (),
    duration: Optional[float] = None,
    pool_size: Union[int, str, None] = None,
    policy: Optional[str] = None,
    observe: Union[str, bool] = True,
    preload: bool = True,
) -> None:
    """Records this process and its children into a file, until stop_recording() or its exit.

    The arguments are the options of `annot attach` of the same names: force replaces an existing
    file; sample is the number of samples of a busy thread per second (0: no sampling); off_cpu:
    records all waits (True) or no waits (False), by default those of a millisecond and longer;
    enable and disable choose domains and categories; duration is in seconds. observe: parts that
    are observed without a change of code, here and in children (True: the default of `annot record
    --python`; False: off; or a list). preload: loads a small library into children, which brings
    pyannot into Python; otherwise only interpreters with pyannot installed are observed.

    Returns when events are recorded. Raises RecordingError if a recording runs already, here or by
    `annot record`, if the file exists, or if annot is not found.
    """
    name = os.path.abspath(os.fspath(path))
    parts = _parts(observe)
    arguments = _arguments(name, force=force, sample=sample, off_cpu=off_cpu, enable=enable,
                           disable=disable, duration=duration, pool_size=pool_size, policy=policy)
    state = _state
    collector = _Collector(name)
    try:  # Control-C may come at any time
        _claim(state, collector)
        collector.start(arguments)
        collector.wait_until_it_records()
        _native.current()  # joins, so that a child forked before our first event does too
        variables = _for_children(collector, parts, preload)
        _set_environment(state, variables)
        _observe(state, parts)
        _note_children(variables, preload)
        atexit.register(_at_exit)
        state.collector = collector
        collector.send_begin()
    except BaseException:
        if state.claim is collector:
            state.collector = None
            _leave(state)
            collector.abandon()
            state.claim = None
        raise


def _claim(state: _State, collector: _Collector) -> None:
    with state.lock:
        if state.claim is not None:
            raise RecordingError(
                f"cannot record into {collector.path}: this program records into "
                f"{state.claim.path} already",
                "one recording at a time: pyannot.stop_recording() ends that one")
        state.claim = collector


def stop_recording() -> Optional[str]:
    """Ends the recording that start_recording() began, and returns its path when it is complete.

    Returns None if no recording runs here: it was stopped already, or this is a forked child of the
    recording process. Raises RecordingError if the recording could not be completed (disk full;
    annot was killed).
    """
    return _stop(None)


def _stop(seconds: Optional[float]) -> Optional[str]:
    state, now_ns = _state, time.monotonic_ns()
    with state.lock:
        collector, state.collector = state.collector, None
    if collector is None:
        return None
    collector.end_ns = now_ns + CLOCK_ERROR_NS
    try:
        _leave(state)
        collector.stop(seconds)
        _native.current()  # unmaps our part of it
    finally:
        _leave(state)  # if interrupted before
        collector.close()
        state.claim = None
    return collector.path


def _leave(state: _State) -> None:
    atexit.unregister(_at_exit)
    _restore_environment(state)
    if state.observes:
        state.observes = False
        _observer().leave()
        _observer().stop()


def _at_exit() -> None:
    """Stops last: multiprocessing waits for its children in a handler that may run after ours."""
    util = sys.modules.get("multiprocessing.util")
    if util is not None and not util.is_exiting():
        util.Finalize(None, _stop_at_exit, exitpriority=-1000000)
    else:
        _stop_at_exit()


def _stop_at_exit() -> None:
    try:
        _stop(EXIT_SECONDS)
    except RecordingError as error:
        sys.stderr.write(f"pyannot: {error}\n")
