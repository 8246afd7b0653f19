# SPDX-License-Identifier: MIT
from typing import Tuple

def start(
    path: bytes,
    arguments: Tuple[bytes, ...],
    environment: Tuple[bytes, ...],
    descriptors: Tuple[int, int, int],
    /,
) -> int: ...
def permit(pid: int, /) -> None: ...
