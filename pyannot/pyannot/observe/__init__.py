# SPDX-License-Identifier: MIT
"""What pyannot sees of a program without a line of it being touched.

It comes in parts, each a module here with install() and remove(). Both may be called at any time
and twice; neither raises into the program; after remove() nothing is left. A part is imported when
the first of the modules that it watches is, so that a program without pools pays nothing for them.

    start("default,-gc,asyncio-slow=100ms")
    status()    # {"pools": "waits for multiprocessing", "asyncio": "on", "gc": "off", ...}
    stop()

Threads: any, one at a time.
"""
import sys

from pyannot.observe import when_imported as _imports

# What it is called: (the module here, the modules whose import brings it in; none: at once).
PARTS = {
    "names": ("names", ()),
    "pools": ("pools", ("multiprocessing", "concurrent.futures", "joblib", "loky")),
    "asyncio": ("tasks", ("asyncio",)),
    "gc": ("collections", ()),
    "imports": ("imports", ()),
    "subprocess": ("commands", ("subprocess",)),
}
DEFAULT = ("names", "pools", "asyncio", "gc", "imports", "subprocess")

# On request only: what it is called, and the part that it belongs to and brings along.
OPTIONS = {"asyncio-steps": "asyncio", "asyncio-slow": "asyncio"}

options: dict[str, str] = {}  # of OPTIONS, those that were asked for, with what follows "="

_states: dict[str, str] = {}  # of the parts that were asked for
_starters: dict[str, object] = {}  # of those that wait for a module


def parse(text):
    """The parts and options that a list asks for: ({name}, {option: value}).

    A list that begins with "default" or "-NAME" changes the default; any other names all that is
    wanted. "none" is nothing. Raises ValueError for what is not known.
    """
    words = [word.strip() for word in text.split(",") if word.strip()]
    parts = set(DEFAULT) if not words or words[0][0] == "-" else set()
    asked = {}
    for word in words:
        name, _, value = word.partition("=")
        if word == "default":
            parts.update(DEFAULT)
        elif word == "none":
            parts.clear()
        elif name in OPTIONS:
            asked[name] = value
            parts.add(OPTIONS[name])
        elif name.lstrip("-") not in PARTS or value:
            known = ", ".join((*PARTS, *OPTIONS))
            raise ValueError(f"{word!r} is no part of what pyannot observes: {known}, none")
        elif name[0] == "-":
            parts.discard(name[1:])
        else:
            parts.add(name)
    return parts, asked


def start(parts=""):
    """Observes what the list names ("": the default), and no longer what it does not."""
    wanted, asked = parse(parts if isinstance(parts, str) else ",".join(parts))
    stop()
    options.update(asked)
    for name, (_, modules) in PARTS.items():
        if name not in wanted:
            continue
        if not modules or any(module in sys.modules for module in modules):
            _install(name)
        else:
            _wait(name, modules)


def stop():
    """Takes all of it away."""
    for name in reversed(list(PARTS)):
        starter = _starters.pop(name, None)
        for module in PARTS[name][1] if starter else ():
            _imports.forget(module, starter)
        if _states.pop(name, "") == "on":
            _try(name, "remove")
    options.clear()


def status():
    """What became of each part: "on", "off", "waits for ...", or why it is not on.

    A part may say more of itself (its status(): what of the standard library it left alone).
    """
    told = dict.fromkeys(PARTS, "off")
    told.update(_states)
    for name, state in _states.items():
        module = sys.modules.get(f"{__name__}.{PARTS[name][0]}")
        more = module.status() if state == "on" and hasattr(module, "status") else ""
        if more:
            told[name] = f"on; {more}"
    return told


def _wait(name, modules):
    def starter(_module):
        if _starters.pop(name, None) is starter:
            _install(name)

    _starters[name] = starter
    _states[name] = f"waits for {' or '.join(modules)}"
    for module in modules:
        _imports.when_imported(module, starter)


def _install(name):
    _states[name] = _try(name, "install")
    arrival = sys.modules.get(f"{__name__}.arrival")
    if arrival is not None:
        arrival.part(name, _states[name])


def _try(name, what):
    """Calls a function of a part. "on", or why that could not be done."""
    full_name = f"{__name__}.{PARTS[name][0]}"
    try:
        __import__(full_name)
        getattr(sys.modules[full_name], what)()
    except Exception as error:
        return f"{type(error).__name__}: {error}"
    return "on"
