# SPDX-License-Identifier: MIT
# function: handle
# kind: cpu
# words: handle, logging
"""Handles small events, and writes a line to a log for each."""
import io
import logging

log = logging.getLogger("shop")


def handle(event):
    log.info("event %d of customer %s: %.2f", event, event % 99, event / 7)  # CAUSE
    return event % 3


def main():
    sink = io.StringIO()
    logging.basicConfig(stream=sink, level=logging.INFO,
                        format="%(asctime)s %(levelname)s %(name)s %(message)s")
    print(sum(handle(event) for event in range(200000)), len(sink.getvalue()))


if __name__ == "__main__":
    main()
