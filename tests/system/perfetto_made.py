# SPDX-License-Identifier: MIT
"""Perfetto traces, made by hand."""

import zlib


def number(field, value):
    """A field of a protocol buffer; negative numbers as it writes them."""
    out = b""
    for part in (field << 3, value % 2**64):
        while part >= 128:
            out += bytes([part % 128 + 128])
            part //= 128
        out += bytes([part])
    return out


def message(field, *parts):
    content = b"".join(part if isinstance(part, bytes) else part.encode() for part in parts)
    head = number(field << 3 | 2, 0)[1:] if field > 15 else bytes([field << 3 | 2])
    if field > 15:
        tag = field << 3 | 2
        head = bytes([tag % 128 + 128, tag // 128])
    length = number(1, len(content))[1:]
    return head + length + content


def packet(*parts, sequence=1):
    return message(1, *parts, number(10, sequence))


def event(kind, track, *parts):
    return message(11, number(9, kind), number(11, track), *parts)


def made_trace():
    names = message(12, message(2, number(1, 1), message(2, "load")),
                    message(1, number(1, 1), message(2, "io")),
                    message(3, number(1, 1), message(2, "size")),
                    message(5, number(1, 1), message(2, "leaf")),
                    message(5, number(1, 2), message(2, "main")),
                    message(6, number(1, 1), number(2, 1), number(3, 1)),
                    message(6, number(1, 2), number(2, 2), number(3, 1)),
                    message(7, number(1, 1), number(2, 2), number(2, 1)),
                    message(17, number(1, 1), message(2, "/usr/lib/libx.so")),
                    message(19, number(1, 1), number(7, 1)))
    clocks = message(6, message(1, number(1, 6), number(2, 5 * 10**9)),
                     message(1, number(1, 64), number(2, 1000), number(3, 1), number(4, 1000)))
    late = message(60, number(1, 12), message(2, "requests"), number(5, 10))
    return b"".join([
        packet(clocks, number(13, 1)),
        packet(message(60, number(1, 10), message(3, number(1, 77), message(6, "demo")))),
        packet(message(60, number(1, 11), message(4, number(1, 77), number(2, 78),
                                                  message(5, "worker")))),
        packet(message(60, number(1, 13), number(5, 10), message(2, "heap"),
                       message(8, message(6, "MiB")))),
        packet(names, number(13, 2), number(8, 10), number(58, 64),  # 5 s and 10 us
               event(1, 11, number(10, 1), number(3, 1),
                     message(4, number(1, 1), number(4, 7)))),
        packet(number(8, 5), number(58, 64), event(1, 11, message(23, "parse"))),
        packet(number(8, 5), number(58, 64), event(3, 11, message(23, "now"))),
        packet(number(8, 0), number(58, 64), event(4, 13, number(30, 12))),
        packet(number(8, 5), number(58, 64), event(2, 11)),
        packet(number(8, 5), number(58, 64), event(2, 11)),
        packet(number(8, 5_000_050_000), event(1, 12, message(23, "GET")), sequence=2),
        packet(number(8, 5_000_090_000), event(2, 12), sequence=2),
        packet(number(8, 5_000_100_000), event(2, 11), sequence=2),
        packet(late, sequence=2),
        packet(number(8, 5_000_060_000), message(66, number(1, 3), number(2, 77), number(3, 78),
                                                 number(4, 1))),
        packet(message(1, number(1, 0)), sequence=3),
    ])


def packed(*packets):
    """Packets that a producer or the service compresses."""
    return message(1, message(50, zlib.compress(b"".join(packets))))


def legacy(time_us, phase, name, *parts, annotations=(), more=b"", category="c"):
    """An event of Chrome's macros on its sequence's thread; parts are fields of LegacyEvent."""
    return packet(number(8, 1000 * time_us),
                  message(11, message(22, category), message(23, name), *annotations,
                          message(6, number(2, ord(phase)), *parts), more))


def annotation(name, field, value):
    return message(4, message(10, name), number(field, value) if isinstance(value, int)
                   else message(field, value))


def made_legacy():
    """A sequence of a thread, as Chrome wrote it, with each phase."""
    thread = packet(message(44, number(1, 7), number(2, 8), message(5, "io"), number(6, 0)),
                    number(13, 1))
    scope = message(7, "s")
    return b"".join([
        thread,
        legacy(10, "B", "outer", number(8, 99), number(13, 2)),
        legacy(11, "X", "whole", number(3, 5)),
        legacy(12, "i", "instant"),
        legacy(13, "C", "heap", annotations=[annotation("used", 4, 3), annotation("free", 4, 4)]),
        legacy(14, "C", "level", annotations=[annotation("value", 4, 9)]),
        legacy(15, "b", "load", number(6, 1), scope),
        legacy(16, "n", "step", number(6, 1), scope),
        legacy(17, "S", "old", number(11, 2)),
        legacy(18, "F", "old", number(11, 2)),
        legacy(19, "e", "load", number(6, 1), scope),
        legacy(20, "s", "arrow", number(6, 5)),
        legacy(21, "f", "arrow", number(6, 5), number(19, 9)),
        legacy(22, "X", "other", number(3, 1), number(8, 99), number(13, 1), number(18, 70),
               number(19, 71)),
        legacy(23, "M", "thread_name", number(18, 70), number(19, 71),
               annotations=[annotation("name", 6, "elsewhere")]),
        legacy(24, "b", "no id"),
        *[legacy(25, phase, "left out", number(6, 1)) for phase in "NODPvV()c?"],
        packet(message(11, message(22, "c"), message(23, "delta"), number(1, 26),
                       message(6, number(2, ord("X")), number(3, 1)))),
        legacy(30, "E", ""),
    ])
