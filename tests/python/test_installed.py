# SPDX-License-Identifier: MIT
"""Reports of a program are the same wherever pyannot is installed: in the build, in the
site-packages of an environment, in pip's --target folder."""

import json
import sys

import harness
import module_build
from harness import ANNOT, RecordingTest

PROGRAM = """
    import json, sys, time

    def work(number):
        return json.loads(json.dumps(list(range(number))))

    def count(number):
        total = 0
        for each in range(number):
            total += each % 7
        return total

    def imports():
        for name in list(sys.modules):
            if name.startswith(("email", "xml", "wave")):
                del sys.modules[name]
        import email.mime.text, wave, xml.dom.minidom

    def main():
        end = time.thread_time() + 0.3
        while time.thread_time() < end:
            imports()
            work(50)
            count(1000)

    main()
"""
FOLDERS = ("venv/lib/python{0}.{1}/site-packages", "deps")
OPTIONS = ((), ("--trace-functions=exact", "--trace-lines=count"))


def is_below(folder, row):
    return (row["module"] or "").startswith(folder)


class Installed(RecordingTest):
    def test_functions_of_annot_stand_in_no_table_of_the_program(self):
        script = str(self.script(PROGRAM))
        path = str(self.folder / "out.annot")
        for name in FOLDERS:
            folder = self.folder / name.format(*sys.version_info)
            (folder / "pyannot").mkdir(parents=True)
            module_build.copy_package(module_build.PACKAGE, folder / "pyannot", True)
            self.environment["PYTHONPATH"] = str(folder)
            for options in OPTIONS:
                with self.subTest(name, options=options):
                    harness.run([ANNOT, "record", "--force", "--rate=999", "--python=default",
                                 *options, "-o", path, "--", sys.executable, script],
                                env=self.environment)
                    self.check(json.loads(harness.run([ANNOT, "report", "--json", path]).stdout),
                               str(folder))

    def check(self, told, folder):
        annots = [row for row in told["functions"] if is_below(folder, row)]
        if not annots:
            self.skipTest("no native stacks here")
        self.assertEqual({row["owner"] for row in annots}, {"annot"})
        for table in ("own_functions", "call_tree", "wait_places", "calls"):
            rows = told[table]
            self.assertEqual([row["name"] for row in rows if row["owner"] == "annot"], [], table)
            self.assertFalse([row for row in rows if is_below(folder, row)], table)
        names = {row["name"] for row in told["call_tree"]}
        self.assertTrue(names >= {"main", "imports"}, names)


if __name__ == "__main__":
    harness.main()
