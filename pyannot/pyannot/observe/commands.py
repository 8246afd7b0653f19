# SPDX-License-Identifier: MIT
"""Records commands that subprocess runs: "start ls" on the thread that starts one, while it does;
then "run ls", with the command line and the process id, until the exit status is fetched. A mark
"end of ls" then has the status.

subprocess.Popen serves run(), call(), check_output() and os.popen(), and asyncio, which fetches the
status by itself. Three functions are wrapped, in C, without a further frame in tracebacks. Not
seen: os.system, os.exec*, os.posix_spawn, multiprocessing.

Threads: any.
"""
import os
import subprocess

from pyannot import end, pop
from pyannot._native import observed_domain
from pyannot.observe import forget, when_imported
from pyannot.observe import COMMAND_END, COMMAND_RUN, COMMAND_START
from pyannot.observe.patches import Patches

COMMAND_CHARS_MAX = 1000
_START = observed_domain("python", *COMMAND_START)
_RUN = observed_domain("python", *COMMAND_RUN)
_END = observed_domain("python", *COMMAND_END)
_KEY = "_annot_range"  # among a Popen's attributes while the command runs

_patches = Patches()
_is_installed = False


def install():
    """Observes each command from now on."""
    global _is_installed
    if _is_installed:
        return
    _is_installed = True
    _patches.around(subprocess.Popen, "__init__", ("self", "args"), _starts, _started)
    _patches.around(subprocess.Popen, "_handle_exitstatus", ("self", "sts"), _same, _ended)
    when_imported("asyncio.base_subprocess", _patch_asyncio)


def remove():
    """Stops observing."""
    global _is_installed
    _is_installed = False
    forget("asyncio.base_subprocess", _patch_asyncio)
    _patches.undo()


def status():
    """Returns the functions left alone because they differ from the known ones, or ""."""
    return _patches.status()


def _patch_asyncio(module):
    _patches.around(module.BaseSubprocessTransport, "_process_exited", ("self", "returncode"),
                    _ended_in_asyncio, _same)


def _starts(self, args=(), *positional, shell=False, executable=None, **_keywords):
    shell = positional[6] if len(positional) > 6 else shell
    words = _words(args, positional[1] if len(positional) > 1 else executable)
    first = words[0].split(None, 1)[0] if shell else words[0]
    program = os.path.basename(first) or first
    _START.push(f"start {program}", category="process")
    command = " ".join(words)
    return program, command[:COMMAND_CHARS_MAX]


def _words(args, executable):
    """Returns the words of the command; an iterator, which reading would consume, is left alone."""
    if isinstance(args, (str, bytes, os.PathLike)):
        args = [args]
    elif not isinstance(args, (list, tuple)):
        args = [executable or "?"]
    return [os.fsdecode(word) for word in args]


def _started(what, self, _result, error):
    pop()
    if error is None:
        program, command = what
        running = _RUN.start(f"run {program}", category="process", pid=self.pid, command=command)
        vars(self)[_KEY] = running, program


def _same(*_arguments):
    return True


def _ended(_token, self, _result, _error):
    _end(self)


def _ended_in_asyncio(transport, returncode):
    _end(transport._proc, returncode)


def _end(popen, returncode=None):
    running, program = vars(popen).pop(_KEY, (0, ""))
    if running:
        returncode = popen.returncode if returncode is None else returncode
        _END.mark(f"end of {program}", category="process", payload=returncode)
        end(running)
