# SPDX-License-Identifier: MIT
"""Recordings that a program makes of itself and its children: start_recording, stop_recording.

The recording is made by the `annot` program (`annot attach --asked` for this process), which runs
as nobody's child, in a session of its own: wait() and SIGCHLD do not know it, and if this process
is killed, it completes the recording. Two pipes lead to it, docs/api.md says what goes through. One
recording at a time in a process. Threads: any.
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

# Until annot says that it records: it has to start, and to load its sampler.
START_SECONDS = 120.0
# At the interpreter's exit, for the recording to be complete; annot goes on alone.
EXIT_SECONDS = 60.0

# Times of events are read from another clock, and converted.
CLOCK_ERROR_NS = 10_000


def _identity(fd: int) -> Optional[Tuple[int, int]]:
    """What is open there: the same for as long as it is the same."""
    try:
        status = os.fstat(fd)
    except OSError:
        return None
    return status.st_dev, status.st_ino


class _Descriptor:
    """One of ours, until the program closes it: it may close all that it does not know
    (os.closerange), and the number may be another file's by now."""

    def __init__(self, number: int = -1) -> None:
        self._number = number
        self._identity = _identity(number)

    def number(self) -> Optional[int]:
        """None: it is gone, or there never was one."""
        is_ours = self._identity is not None and _identity(self._number) == self._identity
        return self._number if is_ours else None

    def close(self) -> None:
        number, self._identity = self.number(), None
        if number is not None:
            os.close(number)


def _write(number: int, text: bytes) -> None:
    """Into a pipe of which nobody may be left to read: no signal, whatever the program does with
    SIGPIPE."""
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
    """The annot that records us."""

    def __init__(self, path: str) -> None:
        self.path = path
        self.session = self.place = ""
        self.end_ns = 0  # of the block: what comes then is not the program's; 0: not told
        self._rest = b""
        self._annot = 0
        self._messages = self._input = self._output = _Descriptor()

    def start(self, arguments: List[str]) -> None:
        """Whatever this raises, abandon() is to follow."""
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
        """The next line that annot says. "": it has ended; None: not in that time."""
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
        """What annot said for humans."""
        messages = self._messages.number()
        if messages is None:
            return ""
        size = os.fstat(messages).st_size
        return os.pread(messages, min(size, 1 << 16), 0).decode(errors="replace").strip()

    def _failed(self, what: str) -> RecordingError:
        """annot's own words, without those that say who speaks."""
        said: List[str] = []
        hints: List[str] = []
        for line in self.messages().splitlines():
            kind, _, rest = line.partition(": ")
            (hints if kind == "hint" else said).append(rest or line)
        reason = "; ".join(said) or "annot ended without a word"
        return RecordingError(f"{what} {self.path}: {reason}", "; ".join(hints))

    def wait_until_it_records(self) -> None:
        line = self._line(START_SECONDS)
        kind, _, rest = (line or "").partition(" ")
        self.session, _, self.place = rest.partition(" ")
        if kind == "recording":
            return
        if line is None:
            os.kill(self._annot, 9)
            raise RecordingError(f"cannot record into {self.path}: annot does not begin",
                                 "annot doctor says what is wrong")
        raise self._failed("cannot record into")

    def stop(self, seconds: Optional[float]) -> None:
        """Ends the recording and waits until the file is complete."""
        if not self._ask_for_end():
            self._stop_by_signal(seconds)
            return
        line = self._line(seconds)
        if line == "complete":
            self._reap()
        elif line is None:
            raise RecordingError(f"{self.path} is not complete after {seconds:.0f} s",
                                 "annot goes on with it alone")
        else:
            error = self._failed("cannot complete")
            raise RecordingError(str(error), error.hint or "annot recover completes it")

    def tell_begin(self) -> None:
        """Of the block: what was before is not the program's."""
        number = self._input.number()
        if number is not None:
            _write(number, b"begin %d\n" % (time.monotonic_ns() - CLOCK_ERROR_NS))

    def _ask_for_end(self) -> bool:
        """Whether we can still talk to it."""
        number = self._input.number()
        if number is not None:  # if it has ended: its last words are still there
            _write(number, b"end %d\n" % self.end_ns if self.end_ns else b"\n")
        return number is not None and self._output.number() is not None

    def _lives(self) -> bool:
        """Whether its number is still its own."""
        try:
            with open(f"/proc/{self._annot}/cmdline", "rb") as file:
                words = file.read().split(b"\0")
        except OSError:
            return False
        return b"--asked" in words and os.fsencode(self.path) in words

    def _stop_by_signal(self, seconds: Optional[float]) -> None:
        """The program has closed our pipes. Ends the recording as Control-C does."""
        until = None if seconds is None else time.monotonic() + seconds
        if self._lives():
            os.kill(self._annot, signal.SIGTERM)
        while self._lives():
            if until is not None and time.monotonic() > until:
                raise RecordingError(f"{self.path} is not complete after {seconds:.0f} s",
                                     "annot goes on with it alone")
            time.sleep(0.005)
        self._reap()
        from pyannot._read import read

        if not read(self.path).complete:
            raise RecordingError(f"cannot complete {self.path}", "annot recover completes it")

    def _reap(self) -> None:
        """Where we are the reaper of orphans (the first process of a container) it is our child."""
        try:
            with open(f"/proc/{self._annot}/stat", "rb") as file:
                parent = int(file.read().rpartition(b")")[2].split()[1])
            if parent == os.getpid():
                os.waitpid(self._annot, 0)
        except (OSError, IndexError, ValueError):
            pass

    def abandon(self) -> None:
        """It ends when it comes to it; nobody waits."""
        if not self._ask_for_end() and self._lives():
            os.kill(self._annot, signal.SIGTERM)
        self.close()

    def close(self) -> None:
        self._input.close()
        self.leave_to_parent()

    def continue_in_child(self) -> None:
        """In a forked child: annot may read its memory too; it does not stop the recording."""
        from pyannot import _detach

        _detach.permit(self._annot)
        self.leave_to_parent()

    def leave_to_parent(self) -> None:
        """What stays open tells annot that somebody is left."""
        self._messages.close()
        self._output.close()


class _State:
    """What this process records. `lock` is held for moments only."""

    def __init__(self) -> None:
        self.lock = threading.Lock()
        self.claim: Optional[_Collector] = None  # of the recording that runs, or is about to
        self.collector: Optional[_Collector] = None  # of the one that runs
        self.observes = False  # pyannot.observe was started by us
        self.environment: List[Tuple[str, str, Optional[str]]] = []  # name, ours, before


_state = _State()


def _after_fork_in_child() -> None:
    """The recording is the parent's: we are in it, but do not end it."""
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
    words += ["--rate", str(sample)] if sample else ["--no-sample"]
    if force:
        words.append("--force")
    if off_cpu is not None:
        words.append("--off-cpu" if off_cpu else "--no-off-cpu")
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
    """What pyannot.observe is to be asked for. None: nothing. Raises ValueError for nonsense."""
    if observe is False or observe == "none":
        return None
    parts = "default" if observe is True else str(observe)
    wanted, _ = _observer().parse(parts)
    for name, (module, watched) in _observer().PARTS.items():
        if name in wanted and (not watched or any(map(sys.modules.__contains__, watched))):
            _load(module)
    return parts


def _load(module: str) -> None:
    """Before it records: the import would be in the recording. Whether it fails is told later."""
    try:
        __import__(f"pyannot.observe.{module}")
    except Exception:
        pass


def _observe(state: _State, parts: Optional[str]) -> None:
    """Starts what is seen without touching the code, unless somebody has already."""
    if parts is None:
        return
    observe = _observer()
    if any(told != "off" for told in observe.status().values()):
        return
    state.observes = True
    observe.start(parts)
    observe.arrive()


def _for_children(collector: _Collector, parts: Optional[str], preload: bool) -> Dict[str, str]:
    """What children that run another program find in their environment, as `annot record` has it.

    The session and its place: they may outlive those between us and them, and may have another
    place. The rest brings pyannot into them. Without it they are still recorded; a note says so.
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
    """In the recording, where other programs that children run cannot be observed."""
    if "ANNOT_PYTHON" not in variables:
        return
    reason = ""
    if "ANNOT_PYTHON_PATH" not in variables:
        reason = ("the path of its folder has characters that end a path in lists, and no folder "
                  "is there for a link")
    elif preload and "annot-preload.so" not in os.environ.get("LD_PRELOAD", ""):
        reason = "its library annot-preload.so is not there"
    if reason:
        _observer().tell("note", "Other programs that this one starts load no pyannot, only those "
                         f"in which it is installed: {reason}.")


def _set_environment(state: _State, variables: Dict[str, str]) -> None:
    state.environment = [(name, value, os.environ.get(name)) for name, value in variables.items()]
    os.environ.update(variables)


def _restore_environment(state: _State) -> None:
    """As it was, but for what the program has changed. May be interrupted, and called again."""
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
    """Records this process and its children into a file, until stop_recording() or its end.

    What the options of `annot attach` of these names mean: force replaces a file that is there;
    sample is how often a second busy threads are looked at, 0 not at all; off_cpu: all waits (True)
    or none (False), else those of a millisecond and longer;
    enable and disable choose domains and categories; duration is in seconds. observe: what is seen
    without touching the code, here and in children (True: the default of `annot record --python`;
    False: nothing; or a list). preload: load a small library into children, which brings pyannot
    into Python; else only those in which it is installed are observed.

    Returns when events are recorded. Raises RecordingError where that cannot be: a recording runs
    already, here or by `annot record`; the file is there; annot is not found.
    """
    name = os.path.abspath(os.fspath(path))
    parts = _parts(observe)
    arguments = _arguments(name, force=force, sample=sample, off_cpu=off_cpu, enable=enable,
                           disable=disable, duration=duration, pool_size=pool_size, policy=policy)
    state = _state
    collector = _Collector(name)
    try:  # Control-C comes at any time
        _claim(state, collector)
        collector.start(arguments)
        collector.wait_until_it_records()
        _native.current()  # joins, so that a child forked before our first event knows of it
        variables = _for_children(collector, parts, preload)
        _set_environment(state, variables)
        _observe(state, parts)
        _note_children(variables, preload)
        atexit.register(_at_exit)
        state.collector = collector
        collector.tell_begin()
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

    None if there is none: it has been stopped already, or this is a forked child, whose parent
    records. Raises RecordingError if the recording could not be completed (a full disk; annot was
    killed).
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
        _native.current()  # unmaps what we had for it
    finally:
        _leave(state)  # if it was interrupted
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
    """Stops last: multiprocessing waits for its children in a handler that may come after ours."""
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
