# SPDX-License-Identifier: MIT
from collections.abc import Callable
from types import TracebackType
from typing import Any, Generic, Optional, SupportsFloat, SupportsIndex, TypeVar, Union, final

_F = TypeVar("_F", bound=Callable[..., Any])
_Number = Union[SupportsIndex, SupportsFloat]
_Payload = Union[str, SupportsIndex, SupportsFloat, None]
_Color = Union[str, int, None]

@final
class annotate:
    def __new__(
        cls,
        name: str,
        *,
        domain: Optional[str] = None,
        category: Optional[str] = None,
        color: _Color = None,
        payload: _Payload = None,
        level: int = 0,
    ) -> annotate: ...
    @property
    def name(self) -> str: ...
    def __enter__(self) -> annotate: ...
    @staticmethod
    def __exit__(
        kind: Optional[type[BaseException]] = None,
        error: Optional[BaseException] = None,
        traceback: Optional[TracebackType] = None,
        /,
    ) -> None: ...
    def __call__(self, function: _F) -> _F: ...

@final
class annotated_function(Generic[_F]):
    def __new__(cls, annotation: annotate, function: _F) -> annotated_function[_F]: ...
    def __call__(self, *args: Any, **kwargs: Any) -> Any: ...

def push(
    name: str,
    *,
    domain: Optional[str] = None,
    category: Optional[str] = None,
    color: _Color = None,
    payload: _Payload = None,
    level: int = 0,
) -> None: ...
def pop() -> None: ...
def mark(
    name: str,
    *,
    domain: Optional[str] = None,
    category: Optional[str] = None,
    color: _Color = None,
    payload: _Payload = None,
    level: int = 0,
) -> None: ...
def counter(
    name: str,
    value: _Number,
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
) -> int: ...
def end(range: int, /) -> None: ...
def name_process(name: str, /) -> None: ...
def name_thread(name: str, /) -> None: ...
def enabled() -> bool: ...
def status() -> str: ...
