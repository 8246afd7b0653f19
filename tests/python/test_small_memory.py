# SPDX-License-Identifier: MIT
"""A pool of 12 with 64 MiB of shared memory, as in a container: it completes, and the recorded
calls plus the counted losses equal the calls of the workers."""

import os
import subprocess
import sys

import harness
from harness import ANNOT, Recording, RecordingTest

POOL = """
    import multiprocessing
    from pyannot import annotate

    CALLS = 20000

    def task(number):
        for _ in range(CALLS):
            with annotate("call"):
                pass
        return CALLS

    if __name__ == "__main__":
        with multiprocessing.Pool(12) as pool:
            total = sum(pool.imap_unordered(task, range(24)))
        assert total == 24 * CALLS
        print(total)
"""


def namespaces():
    """The command that runs the rest in mount and pid namespaces with a /dev/shm of 64 MiB."""
    inside = 'mount -t tmpfs -o size=64m,mode=1777 tmpfs /dev/shm && exec "$@"'
    unshare = ["unshare", "--mount", "--pid", "--fork", "--mount-proc"]
    return [*unshare, "sh", "-c", inside, "sh"]


def why_not():
    if os.geteuid() != 0:
        return "needs root for unshare"
    try:
        subprocess.run([*namespaces(), "true"], check=True, capture_output=True, timeout=20)
    except (OSError, subprocess.CalledProcessError) as error:
        return f"no namespaces here: {getattr(error, 'stderr', error)}"
    return None


class SmallMemory(RecordingTest):
    def setUp(self):
        if (reason := why_not()) is not None:
            self.skipTest(reason)
        super().setUp()
        del self.environment["ANNOT_DIR"]  # /dev/shm is private there: uses the default

    def test_a_pool_of_twelve_completes_and_its_books_balance(self):
        result = subprocess.run(
            [*namespaces(), *self.command(self.script(POOL))],
            capture_output=True,
            text=True,
            timeout=harness.TIMEOUT_SECONDS,
            check=False,
            env=self.environment,
        )
        self.assertEqual(result.returncode, 0, result.stderr)
        total = int(result.stdout)
        recording = Recording(self.folder / "out.annot")
        begins = recording.count("ranges")["call"]
        # A lost begin loses its end too; a lost end leaves its begin.
        self.assertLessEqual(begins, total)
        self.assertLessEqual(total - begins, recording.lost())
        if recording.lost() == 0:
            self.assertEqual(begins, total)
        print(f"{total} calls, {begins} recorded, {recording.lost()} records lost", file=sys.stderr)


if __name__ == "__main__":
    harness.main()
