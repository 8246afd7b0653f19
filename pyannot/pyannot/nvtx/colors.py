# SPDX-License-Identifier: MIT
"""Colours by the names of the nvtx package, and by those of matplotlib where it is installed."""

import functools

_NVTX_COLORS = {
    None: 0x0000FF,
    "blue": 0x0000FF,
    "cyan": 0x00FFFF,
    "darkgreen": 0x006400,
    "green": 0x008000,
    "orange": 0xFFA500,
    "purple": 0x800080,
    "rapids": 0x7400FF,
    "red": 0xFF0000,
    "white": 0xFFFFFF,
    "yellow": 0xFFFF00,
}


@functools.lru_cache
def color_to_hex(color=None):
    """Returns the number 0xRRGGBB or 0xAARRGGBB of a colour."""
    if isinstance(color, int):
        return color
    if color in _NVTX_COLORS:
        return _NVTX_COLORS[color]
    try:
        from matplotlib import colors
    except ImportError as error:
        raise TypeError(f"color must be one of {', '.join(sorted(filter(None, _NVTX_COLORS)))} or "
                        f"a number, not {color!r}; matplotlib, if installed, knows more") from error
    red, green, blue, alpha = (round(255 * part) for part in colors.to_rgba(color))
    return alpha << 24 | red << 16 | green << 8 | blue


def color_of_event(color):
    """Returns the colour for pyannot; None leaves it to the viewer."""
    if color is None:
        return None
    number = color_to_hex(color)
    if not 0 <= number <= 0xFFFFFFFF:
        raise OverflowError("color must be between 0 and 0xffffffff")
    return int(number)
