# SPDX-License-Identifier: MIT
"""Goes through memory of 120 pages that another process brings, 10 ms each (userfaultfd)."""
import ctypes
import fcntl
import mmap
import os
import struct
import sys
import time

USERFAULTFD, USER_MODE_ONLY, OF_MISSING_PAGES = 323, 1, 1
API, REGISTER, COPY = 0xC018AA3F, 0xC020AA00, 0xC028AA03  # UFFDIO_...
PAGE = mmap.PAGESIZE
PAGES = 120


def bring(faults, page):
    while True:
        address = struct.unpack_from("16xQ", os.read(faults, 32))[0]
        time.sleep(0.01)
        fcntl.ioctl(faults, COPY, struct.pack("QQQQq", address // PAGE * PAGE, page, PAGE, 0, 0))


def address_of(memory):
    return ctypes.addressof(ctypes.c_char.from_buffer(memory))


def go_through(memory):
    return sum(memory[at] for at in range(0, PAGES * PAGE, PAGE))


page, memory = mmap.mmap(-1, PAGE), mmap.mmap(-1, PAGES * PAGE)
page[:] = b"\1" * PAGE
faults = ctypes.CDLL(None).syscall(USERFAULTFD, USER_MODE_ONLY)
if faults < 0:
    sys.exit(77)
fcntl.ioctl(faults, API, struct.pack("QQQ", 0xAA, 0, 0))
fcntl.ioctl(faults, REGISTER, struct.pack("QQQQ", address_of(memory), PAGES * PAGE,
                                          OF_MISSING_PAGES, 0))
helper = os.fork()
if helper == 0:
    bring(faults, address_of(page))
os.close(faults)
go_through(memory)
os.kill(helper, 9)
os.wait()
