# SPDX-License-Identifier: MIT
"""Commands that a program runs are ranges with their command line and exit status, and subprocess
behaves as before."""

import harness
from observed_lines import ObservedTest


class Commands(ObservedTest):
    def runs(self):
        """[(name, payload)] of the ranges of commands."""
        return [(line["name"], line.get("args") or line.get("payload"))
                for line in self.of_category("process", "begin") if line["kind"] == "overlapping"]

    def statuses(self):
        return {line["name"]: line["payload"] for line in self.of_category("process", "mark")}

    def test_a_command_is_a_range_until_its_status_is_fetched(self):
        self.observe("subprocess", """
            import subprocess, time
            assert subprocess.run(["true", "one", "two words"]).returncode == 0
            assert subprocess.call("exit 3", shell=True) == 3
            assert subprocess.check_output(["echo", "text"]) == b"text\\n"
            sleeper = subprocess.Popen(["sleep", "1000"])
            mark("pid", payload=sleeper.pid)
            sleeper.kill()
            assert sleeper.wait() == -9
        """)
        runs = self.runs()
        pid = self.marks("pid")[0]["payload"]
        self.assertEqual([name for name, _ in runs],
                         ["run true", "run exit", "run echo", "run sleep"])
        self.assertEqual(runs[0][1]["command"], "true one two words")
        self.assertEqual(runs[3][1], {"pid": pid, "command": "sleep 1000"})
        self.assertEqual(self.statuses(), {"end of true": 0, "end of exit": 3, "end of echo": 0,
                                           "end of sleep": -9})
        self.assertEqual(len(self.ended({name for name, _ in runs})), 4)
        starts = [line["name"] for line in self.of_category("process", "begin")
                  if line["kind"] != "overlapping"]
        self.assertEqual(starts, ["start true", "start exit", "start echo", "start sleep"])

    def test_what_is_never_waited_for_is_open_at_the_end(self):
        self.observe("subprocess", """
            import subprocess
            left = subprocess.Popen(["sleep", "0.2"])
        """)
        self.assertEqual(len(self.runs()), 1)
        self.assertEqual(self.statuses(), {})

    def test_a_command_of_asyncio_is_seen_to_its_end(self):
        self.observe("subprocess", """
            import asyncio

            async def main():
                process = await asyncio.create_subprocess_exec("sh", "-c", "exit 5")
                assert await process.wait() == 5

            asyncio.run(main())
        """)
        self.assertEqual([name for name, _ in self.runs()], ["run sh"])
        self.assertEqual(self.statuses(), {"end of sh": 5})

    def test_failures_and_odd_arguments_are_as_ever(self):
        self.observe("subprocess", """
            import inspect, pathlib, pickle, re, subprocess, traceback

            class Own(subprocess.Popen):
                def __init__(self, *args, **options):
                    super().__init__(*args, **options)
                    self.own = True

            def attempt(function):
                try:
                    return function()
                except BaseException:
                    return re.sub("0x[0-9a-f]+|after [0-9.]+", "0x", traceback.format_exc())

            def all_of_it():
                run = subprocess.run
                with Own(["true"]) as own:
                    pass
                return [
                    attempt(lambda: run(["/does/not/exist"])),
                    attempt(lambda: run([])),
                    attempt(lambda: run(17)),
                    attempt(lambda: run()),
                    attempt(lambda: run(["sleep", "9"], timeout=0.05)),
                    attempt(lambda: run(b"true").returncode),
                    attempt(lambda: run(pathlib.Path("/bin/true")).returncode),
                    attempt(lambda: run([b"sh", "-c", "exit 2"]).returncode),
                    attempt(lambda: run(["x"], executable="/bin/true").returncode),
                    attempt(lambda: subprocess.check_call("exit 4", shell=True)),
                    attempt(lambda: run(["true"], cwd="/does/not/exist")),
                    attempt(lambda: subprocess.Popen(["true"], -1, None, bufsize=3)),
                    own.returncode, own.own,
                    str(inspect.signature(subprocess.Popen)),
                    subprocess.Popen.__init__.__qualname__,
                    subprocess.Popen.__init__.__code__.co_name,
                    subprocess.Popen.__init__.__doc__,
                    sorted(key for key in vars(own) if key != "pid"),
                ]

            observed = all_of_it()
            observe.stop()
            plain = all_of_it()
            assert observed == plain, "\\n".join(
                f"{a}\\n{b}" for a, b in zip(observed, plain) if a != b)
        """)
        self.assertIn(("run x"), [name for name, _ in self.runs()])

    def test_the_words_of_an_iterator_are_left_to_the_command(self):
        self.observe("subprocess", """
            import subprocess
            for words in map(str, ["echo", "a", 3]), (word for word in ["echo", "a", "3"]):
                assert subprocess.check_output(words) == b"a 3\\n"
            subprocess.run(iter(["x"]), executable="/bin/true")
        """)
        self.assertEqual([name for name, _ in self.runs()], ["run ?", "run ?", "run true"])

    def test_what_a_signal_handler_raises_meanwhile_is_raised(self):
        """The handler may run inside a function of pyannot, whose own errors must not reach the
        program."""
        self.observe("none", """
            import os, signal
            from pyannot._native import observed

            def handled(error):
                def handler(*_):
                    raise error
                def call(*_):
                    signal.signal(signal.SIGUSR1, handler)
                    os.kill(os.getpid(), signal.SIGUSR1)
                    return True
                return call

            def raises(error):
                def call(*_):
                    raise error
                return call

            def says(function):
                try:
                    return function(1)
                except BaseException as error:
                    return type(error)

            true = lambda *_: True
            assert pyannot.enabled()
            for error in KeyboardInterrupt, SystemExit, TimeoutError, TypeError:
                assert says(observed("call", abs, handled(error), true)) is error
                assert says(observed("call", abs, true, handled(error))) is error
                assert says(observed("call", raises(KeyError), true, handled(error))) is error
            for error in TimeoutError, TypeError, UnicodeError, IndexError:
                assert says(observed("call", abs, raises(error), true)) == 1
                assert says(observed("call", abs, true, raises(error))) == 1
                assert says(observed("call", raises(OSError), true, raises(error))) is OSError
        """)

    def test_nothing_is_left_after_remove(self):
        self.observe("none", """
            import asyncio.base_subprocess, subprocess
            places = [(subprocess.Popen, "__init__"), (subprocess.Popen, "_handle_exitstatus"),
                      (asyncio.base_subprocess.BaseSubprocessTransport, "_process_exited")]
            def standing():
                return [vars(owner)[name] for owner, name in places]
            plain = standing()
            observe.start("subprocess")
            assert all(a is not b for a, b in zip(plain, standing())), standing()
            assert observe.status()["subprocess"] == "on", observe.status()
            running = subprocess.Popen(["true"])
            observe.stop()
            assert all(a is b for a, b in zip(plain, standing())), standing()
            running.wait()
        """)


if __name__ == "__main__":
    harness.main()
