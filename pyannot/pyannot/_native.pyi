# SPDX-License-Identifier: MIT
from collections.abc import Awaitable, Callable
from types import CodeType, TracebackType
from typing import Any, Generic, Optional, SupportsFloat, SupportsIndex, TypeVar, Union, final
from typing import overload

_F = TypeVar("_F", bound=Callable[..., Any])
_H = TypeVar("_H", bound="annotation_holder")
_Number = Union[SupportsIndex, SupportsFloat]
_Item = Union[str, SupportsIndex, SupportsFloat]
_Payload = Union[_Item, dict[str, Any], None]
_Color = Union[str, int, None]
_Kind = Optional[type[BaseException]]
_Error = Optional[BaseException]
_Traceback = Optional[TracebackType]

@final
class annotate:
    @overload
    def __new__(cls, function: _F, /) -> _F: ...  # type: ignore[misc] # @annotate
    @overload
    def __new__(
        cls,
        name: Optional[str] = None,
        *,
        domain: Optional[str] = None,
        category: Optional[str] = None,
        color: _Color = None,
        payload: _Payload = None,
        level: int = 0,
        **items: _Item,
    ) -> annotate: ...
    @property
    def name(self) -> Optional[str]: ...
    def __enter__(self) -> annotate: ...
    @staticmethod
    def __exit__(
        kind: _Kind = None, error: _Error = None, traceback: _Traceback = None, /
    ) -> None: ...
    def __aenter__(self) -> Awaitable[annotate]: ...
    def __aexit__(
        self, kind: _Kind = None, error: _Error = None, traceback: _Traceback = None, /
    ) -> Awaitable[None]: ...
    def __call__(self, function: _F, /) -> _F: ...

class annotation_holder:
    def __new__(cls: type[_H], *args: Any, **kwargs: Any) -> _H: ...
    def hold(self, annotation: annotate, keep: bool, /) -> None: ...
    @classmethod
    def quick_calls(cls) -> None: ...
    def __enter__(self: _H) -> _H: ...

@final
class annotated_function(Generic[_F]):
    def __new__(cls, annotation: annotate, function: _F) -> annotated_function[_F]: ...
    def __call__(self, *args: Any, **kwargs: Any) -> Any: ...

@final
class free_range:
    def __new__(cls, annotation: annotate, in_coroutine: bool = False, /) -> free_range: ...
    def __enter__(self) -> free_range: ...
    def __exit__(
        self, kind: _Kind = None, error: _Error = None, traceback: _Traceback = None, /
    ) -> None: ...

@final
class flow:
    def __new__(
        cls, name: Optional[str] = None, number: Optional[int] = None, *, id: Optional[int] = None
    ) -> flow: ...
    @property
    def id(self) -> int: ...
    @property
    def name(self) -> Optional[str]: ...
    def begin(self) -> None: ...
    def step(self) -> None: ...
    def end(self) -> None: ...

@final
class track:
    def __new__(
        cls, name: str, parent: Optional[track] = None, *, id: Optional[int] = None
    ) -> track: ...
    @property
    def id(self) -> int: ...
    @property
    def name(self) -> str: ...
    @property
    def parent(self) -> Optional[track]: ...
    def begin(
        self,
        name: str,
        *,
        domain: Optional[str] = None,
        category: Optional[str] = None,
        color: _Color = None,
        payload: _Payload = None,
        level: int = 0,
        **items: _Item,
    ) -> None: ...
    def end(self) -> None: ...
    def mark(
        self,
        name: str,
        *,
        domain: Optional[str] = None,
        category: Optional[str] = None,
        color: _Color = None,
        payload: _Payload = None,
        level: int = 0,
        **items: _Item,
    ) -> None: ...
    def annotate(
        self,
        name: str,
        *,
        domain: Optional[str] = None,
        category: Optional[str] = None,
        color: _Color = None,
        payload: _Payload = None,
        level: int = 0,
        **items: _Item,
    ) -> track_range: ...

@final
class track_range:
    def __enter__(self) -> track_range: ...
    def __exit__(
        self, kind: _Kind = None, error: _Error = None, traceback: _Traceback = None, /
    ) -> None: ...
    def __aenter__(self) -> Awaitable[track_range]: ...
    def __aexit__(
        self, kind: _Kind = None, error: _Error = None, traceback: _Traceback = None, /
    ) -> Awaitable[None]: ...
    def __call__(self, function: _F, /) -> _F: ...

_Annotate = annotate
_Flow = flow
_Track = track

@final
class domain:
    def __new__(cls, name: str) -> domain: ...
    @property
    def name(self) -> str: ...
    @overload
    def annotate(self, function: _F, /) -> _F: ...
    @overload
    def annotate(
        self,
        name: Optional[str] = None,
        *,
        category: Optional[str] = None,
        color: _Color = None,
        payload: _Payload = None,
        level: int = 0,
        **items: _Item,
    ) -> _Annotate: ...
    def push(
        self,
        name: str,
        *,
        category: Optional[str] = None,
        color: _Color = None,
        payload: _Payload = None,
        level: int = 0,
        **items: _Item,
    ) -> None: ...
    def pop(self) -> None: ...
    def mark(
        self,
        name: str,
        *,
        category: Optional[str] = None,
        color: _Color = None,
        payload: _Payload = None,
        level: int = 0,
        **items: _Item,
    ) -> None: ...
    def counter(
        self,
        name: str,
        value: Union[_Number, dict[str, Any]],
        *,
        category: Optional[str] = None,
        color: _Color = None,
        level: int = 0,
    ) -> None: ...
    def start(
        self,
        name: str,
        *,
        category: Optional[str] = None,
        color: _Color = None,
        payload: _Payload = None,
        level: int = 0,
        **items: _Item,
    ) -> int: ...
    def end(self, range: int, /) -> None: ...
    def track(
        self, name: str, parent: Optional[_Track] = None, *, id: Optional[int] = None
    ) -> _Track: ...
    def flow(
        self, name: Optional[str] = None, number: Optional[int] = None, *, id: Optional[int] = None
    ) -> _Flow: ...

def push(
    name: Union[str, annotate],
    *,
    domain: Optional[str] = None,
    category: Optional[str] = None,
    color: _Color = None,
    payload: _Payload = None,
    level: int = 0,
    **items: _Item,
) -> None: ...
def pop() -> None: ...
def mark(
    name: Union[str, annotate],
    *,
    domain: Optional[str] = None,
    category: Optional[str] = None,
    color: _Color = None,
    payload: _Payload = None,
    level: int = 0,
    **items: _Item,
) -> None: ...
def counter(
    name: str,
    value: Union[_Number, dict[str, Any]],
    *,
    domain: Optional[str] = None,
    category: Optional[str] = None,
    color: _Color = None,
    level: int = 0,
) -> None: ...
def start(
    name: Union[str, annotate],
    *,
    domain: Optional[str] = None,
    category: Optional[str] = None,
    color: _Color = None,
    payload: _Payload = None,
    level: int = 0,
    **items: _Item,
) -> int: ...
def end(range: int, /) -> None: ...
def set_process_name(name: str, /) -> None: ...
def set_thread_name(name: str, /) -> None: ...
def enabled() -> bool: ...
def current() -> int: ...
def status() -> str: ...

@final
class pool_side:
    """One side of a pool of workers; used by pyannot.observe. The hooks stand in for callables."""

    hook_type: type
    def __new__(
        cls,
        scope: str,
        label: str,
        stars: tuple[Any, ...],
        chunkers: tuple[Any, ...],
        local: bool = False,
        workers: int = 0,
        /,
    ) -> pool_side: ...
    def hook(self, kind: str, function: Any, owner: Any = None, /) -> Any: ...
    def submitted(self, job: int, tasks: int, chunk: int, workers: int, method: str, /) -> None: ...
    def made(self, label: str, kind: str, workers: int, start_method: str, /) -> None: ...
    def joined(self) -> None: ...
    def call(self, method: str, chunk: int, /) -> None: ...
    def initializing(self, function: Any, /) -> None: ...
    def pending(self, tasks: dict[int, Any], /) -> None: ...
    def offer(self) -> object: ...
    def take(self, task: object, item: Any, /) -> None: ...
    def done(self, task: object, error: Any, /) -> None: ...
    def run(self, task: object, function: Any, /, *args: Any, **kwargs: Any) -> Any: ...

@final
class observed:
    """Stands in the place of a function and calls it; used by pyannot.observe."""

    def __new__(
        cls, kind: str, function: Any, before: Any = None, after: Any = None, /
    ) -> observed: ...
    def __call__(self, *args: Any, **kwargs: Any) -> Any: ...
    def __get__(self, object: Any, type: Any = None, /) -> Any: ...
    @property
    def __wrapped__(self) -> Any: ...

def collected(phase: str, info: dict[str, Any], /) -> None: ...
def offer_process_name(name: str, /) -> None: ...
def offer_thread_name(name: str, /) -> None: ...
def tell_thread_name(number: int, name: str, /) -> None: ...
def starts_watch(on: bool, /) -> None: ...
def starts_before_fork() -> None: ...
def starts_after_fork_in_parent() -> None: ...
def starts_after_fork_in_child() -> None: ...
def starts_arrived() -> None: ...
def tasks_watch(get_running_loop: Callable[[], Any], current_task: Any, /) -> None: ...
def tasks_unwatch() -> None: ...
def tasks_types(types: tuple[type, ...], steps: bool, /) -> None: ...
def tasks_libraries(folders: tuple[str, ...], /) -> None: ...
def tasks_slow_threshold(nanoseconds: int, /) -> None: ...
def tasks_blocked_threshold(nanoseconds: int, /) -> None: ...
def tasks_slow_turns() -> list[tuple[int, int, int, float, Optional[str]]]: ...
def tasks_slow_endless(nanoseconds: int, /) -> list[tuple[int, int, int, float, Optional[str]]]: ...
def tasks_slow_stack(place: int, number: int, text: str, /) -> bool: ...
def trace_begin(
    mode: int,
    library: int,
    c_calls: bool,
    max_depth: int,
    select: str,
    lines: str,
    library_folder: str,
    own_folder: str,
    chosen: bool,
    values: int,
    least_ns: int,
    /,
) -> str: ...
def trace_choose(code: Any, least_ns: int = 0, /) -> None: ...
def trace_end() -> None: ...
def trace_greenlets(settrace: Any, gettrace: Any, /) -> tuple[Any, Any]: ...
def trace_switched(is_on: bool, /) -> None: ...
def observed_domain(name: str, observer: int, role: int, /) -> domain: ...
def trace_choose_lines(code: CodeType, /) -> None: ...
