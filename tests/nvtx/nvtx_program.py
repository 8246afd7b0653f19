# SPDX-License-Identifier: MIT
"""A program that uses the calls of the nvtx package in two threads and a child, and keeps a ledger
in the format of nvtx_ledger.h."""

import os
import sys
import threading

import nvtx


def ledger(what, domain, name, category=""):
    line = "\t".join([str(os.getpid()), str(threading.get_native_id()), what, domain, name,
                      category])
    with open(os.environ["NVTX_LEDGER"], "a", encoding="utf-8") as file:
        file.write(line + "\n")


@nvtx.annotate("decorated", color="blue", domain="python", category="calls")
def decorated():
    return 1


def module_level():
    ledger("pushed", "python", "decorated", "calls")
    decorated()
    ledger("pushed", "", "with")
    with nvtx.annotate("with", color="red", payload=3):
        ledger("mark", "", "mark")
        nvtx.mark("mark", color="green")
    ledger("pushed", "python", "pushed")
    nvtx.push_range("pushed", domain="python")
    ledger("pushed", "other", "pushed")
    nvtx.push_range("pushed", domain="other")
    nvtx.pop_range(domain="other")
    nvtx.pop_range(domain="python")
    ledger("started", "python", "started")
    nvtx.end_range(nvtx.start_range("started", domain="python"))


def objects():
    domain = nvtx.get_domain("objects")
    assert type(domain).__name__ == "Domain", "the domain is not enabled"
    attributes = domain.get_event_attributes(message="object", color="blue", category="kept",
                                             payload=2.5)
    for _ in range(10):
        ledger("pushed", "objects", "object", "kept")
        domain.push_range(attributes)
        ledger("mark", "objects", "object", "kept")
        domain.mark(attributes)
        domain.pop_range()
    ledger("started", "objects", "object", "kept")
    domain.end_range(domain.start_range(attributes))


def everything():
    module_level()
    objects()


def main():
    everything()
    thread = threading.Thread(target=everything)
    thread.start()
    thread.join()
    pid = os.fork()
    if pid == 0:
        everything()
        os._exit(0)
    sys.exit(os.waitpid(pid, 0)[1])


if __name__ == "__main__":
    main()
