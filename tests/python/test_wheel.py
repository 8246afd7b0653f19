# SPDX-License-Identifier: MIT
"""`pip install .` gives a package that works by itself, with `annot` as a real executable: without
the libraries that built it, without a compiler, and removed without a trace when uninstalled.

`./setup.sh wheel` makes the wheel, with tools from the network. It is tried in fresh environments,
and on a fresh machine. ANNOT_TEST_WHEEL names a wheel that is made already. With
ANNOT_TEST_WHEELS=all, a wheel is built and tried with each interpreter found, a minute each."""

import atexit
import ctypes
import functools
import os
import pathlib
import re
import shutil
import subprocess
import sys
import tempfile
import unittest
import venv
import zipfile

import harness
import interpreters
import pyannot
from harness import HERE, RecordingTest

ROOT = HERE.parent.parent
PROGRAM = "from pyannot import annotate\nwith annotate('from the wheel'):\n    pass\n"
POOL_PROGRAM = """
import multiprocessing, pyannot
def work(number):
    with pyannot.annotate("a task"):
        return number
if __name__ == "__main__":
    with multiprocessing.Pool(2) as pool:
        pool.map(work, range(40), chunksize=4)
"""
NVTX_PROGRAM = """
import nvtx
for _ in range(1000):
    with nvtx.annotate("of nvtx"):
        pass
"""
# The tests' own environment has pip; a system's Python often not.
PYTHON = os.environ.get("ANNOT_TEST_PYTHON", sys.executable)
PIP = [PYTHON, "-m", "pip", "--disable-pip-version-check"]
OFFLINE = re.compile("NewConnectionError|NameResolutionError|No matching distribution found")
# Libraries of every Linux with glibc and Python. All others must be inside.
SYSTEM_LIBRARIES = {"libc.so.6", "libm.so.6", "libpthread.so.0", "libdl.so.2", "librt.so.1",
                    "libgcc_s.so.1", "ld-linux-x86-64.so.2"}
# Programs and libraries of a machine that builds; a mount of /dev/null hides each.
BUILDERS = ["/usr/bin/*gcc*", "/usr/bin/*clang*", "/usr/bin/cc", "/usr/bin/c99", "/usr/bin/*-ld",
            "/usr/bin/ld", "/usr/bin/as", "/usr/bin/ninja", "/usr/bin/meson",
            "/usr/lib/*/libbpf.so.*", "/usr/lib/*/libelf.so.*", "/usr/lib/*/libelf-*.so",
            "/usr/lib/*/libdw.so.*", "/usr/lib/*/libdw-*.so", "/usr/lib/*/libzstd.so.*"]

# Only Python and pip: all other files come from the wheel. The demo's fresh machine lacks both; to
# install them there is faster than to make another machine.
FRESH = """
{{ apt-get update -qq && apt-get install -qq -y --no-install-recommends python3 python3-venv; }} \
    >/dev/null || {{ echo "skipped: no packages of Python"; exit 77; }}
python3 -c 'import sys; sys.exit(sys.version_info[:2] != ({version}))' ||
    {{ echo "skipped: another Python on the fresh machine"; exit 77; }}
command -v cc gcc clang ld && exit 1
set -eu
python3 -m venv /tmp/venv
/tmp/venv/bin/pip install --quiet --no-index ./{wheel}
PATH=/tmp/venv/bin:$PATH
annot record -o /tmp/run.annot -- python3 program.py
annot report /tmp/run.annot
"""


def pip_environment():
    """The environment without variables of the build under test."""
    left_out = ("PYTHONPATH", "ANNOT", "PYTHONHOME")
    return {name: value for name, value in os.environ.items() if name not in left_out}


def call(*command, **options):
    options.setdefault("env", pip_environment())
    command = [str(part) for part in command]
    return subprocess.run(command, capture_output=True, text=True, check=False, **options)


def temporary():
    folder = tempfile.mkdtemp(prefix="annot-test-")
    atexit.register(shutil.rmtree, folder, ignore_errors=True)
    return pathlib.Path(folder)


@functools.lru_cache(maxsize=None)
def source():
    """Copies the files under version control, like pip's input: without a build folder."""
    folder = temporary() / "source"
    names = call("git", "-C", ROOT, "ls-files", "-co", "--exclude-standard", "-z").stdout
    for name in filter(None, names.split("\0")):
        if (ROOT / name).is_file():
            (folder / name).parent.mkdir(parents=True, exist_ok=True)
            shutil.copy2(ROOT / name, folder / name)
    return folder


@functools.lru_cache(maxsize=None)
def made_wheel():
    """(output of `./setup.sh wheel`, the wheel for this interpreter or None); runs once."""
    if given := os.environ.get("ANNOT_TEST_WHEEL"):
        return subprocess.CompletedProcess([], 0, "", ""), pathlib.Path(given)
    folder = temporary()
    quickly = dict(pip_environment(), ANNOT_BUILD=str(folder), CFLAGS="-O1")  # speed is irrelevant
    result = call("./setup.sh", "wheel", PYTHON, cwd=source(), env=quickly)
    return result, next(folder.glob("wheels/pyannot-*.whl"), None)


def wheel():
    """The audited wheel for this interpreter; skips the test if its tools are unavailable."""
    result, path = made_wheel()
    said = result.stdout + result.stderr
    if OFFLINE.search(said):
        raise unittest.SkipTest(f"no network for the tools: {said[-300:]}")
    if result.returncode != 0 or path is None:
        raise AssertionError(said)
    return path


def has_library(name):
    try:
        ctypes.CDLL(name)
        return True
    except OSError:
        return False


def files_below(folder):
    """The files except the folders of man pages, which pip leaves empty."""
    return {str(path.relative_to(folder)) for path in folder.rglob("*")} - {"share", "share/man"}


def needed(path):
    """(libraries that a file needs, the newest symbol version that it needs of glibc)"""
    dynamic = harness.run(["readelf", "-Wd", str(path)]).stdout
    versions = harness.run(["readelf", "-WV", str(path)]).stdout
    glibc = re.findall(r"Name: GLIBC_(\d+)\.(\d+)", versions)
    newest = max((int(major), int(minor)) for major, minor in glibc)
    return set(re.findall(r"NEEDED.*\[(.+?)\]", dynamic)), newest


def without_builders(script):
    """A command that runs a shell script with compilers and the build's libraries hidden; None if
    this machine does not allow it."""
    hide = "for f in " + " ".join(BUILDERS) + "; do\n"
    hide += '  [ -f "$f" ] && mount --bind /dev/null "$(readlink -f "$f")" 2>/dev/null\ndone\n'
    hide += "! cc --version 2>/dev/null || exit 99\n"
    space = ["unshare", "--mount", *([] if os.geteuid() == 0 else ["--map-root-user"])]
    if shutil.which("unshare") and call(*space, "true").returncode == 0:
        return [*space, "sh", "-c", hide + script]
    return None


class WheelTest(RecordingTest):
    def setUp(self):
        super().setUp()
        self.environment = dict(pip_environment(), ANNOT_DIR=str(self.directory))
        self.venv = self.folder / "venv"
        self.scripts = self.venv / "bin"

    def call(self, *command, **options):
        return call(*command, env=self.environment, cwd=self.folder, **options)

    def pip(self, *arguments):
        result = self.call(*PIP, "--python", self.scripts / "python", *arguments)
        self.assertEqual(result.returncode, 0, result.stdout + result.stderr)

    def install(self, path):
        """Installs into a fresh environment only the wheel."""
        venv.create(self.venv, with_pip=False, symlinks=True)
        before = files_below(self.venv)
        self.pip("install", "--no-index", "--no-deps", path)
        return before

    def record_command(self, name="wheel.annot"):
        record = [self.scripts / "annot", "record", "-o", self.folder / name, "--"]
        return [str(part) for part in [*record, self.scripts / "python", self.script(PROGRAM)]]

    def assert_recorded(self, name="wheel.annot"):
        self.assert_directory_clean()
        report = self.call(self.scripts / "annot", "report", self.folder / name)
        self.assertIn("from the wheel", report.stdout, report.stderr)

    def counted(self, source, range_name):
        """How many ranges of this name a recorded program had."""
        path = self.folder / "counted.annot"
        recorded = self.call(self.scripts / "annot", "record", "--force", "-o", path, "--",
                             self.scripts / "python", self.script(source, "counted.py"))
        self.assertEqual(recorded.returncode, 0, recorded.stderr)
        self.assertIn("nothing lost", recorded.stderr)
        told = self.call(self.scripts / "annot", "query", "--csv", path,
                         f"select count(*) from ranges where name = '{range_name}'")
        return int(told.stdout.split()[-1])


class Wheel(WheelTest):
    def test_it_holds_the_whole_package_and_the_command(self):
        names = zipfile.ZipFile(wheel()).namelist()
        package = ROOT / "pyannot" / "pyannot"
        for path in package.rglob("*"):
            if path.suffix in (".py", ".pyi", ".typed"):
                self.assertIn(f"pyannot/{path.relative_to(package)}", names)
        built = pathlib.Path(pyannot.__file__).parent
        for path in filter(pathlib.Path.is_file, built.rglob("*")):
            name = path.relative_to(built)
            if path.suffix == ".h":  # generated by the build
                continue
            if not any(part == "__pycache__" or part.endswith(".p") for part in name.parts):
                self.assertIn(f"pyannot/{name}", names)
        programs = [name for name in names if name.endswith(".data/scripts/annot")]
        self.assertEqual(len(programs), 1, names)
        libraries = [n for n in names if "libannot.so" in n or ".mesonpy.libs" in n]
        self.assertEqual(libraries, [])
        for name in ("loaded/libannot-inject.so", "loaded/libannot-gpu.so"):
            self.assertIn(f"pyannot/{name}", names)
        self.assertTrue([name for name in names if name.endswith("/man1/annot-record.1")], names)
        self.assertIn(f"-{pyannot.__version__}-", wheel().name)

    def test_it_needs_only_what_every_linux_has(self):
        self.install(wheel())
        for path in [self.scripts / "annot", *self.venv.glob("lib/*/site-packages/pyannot/*.so")]:
            libraries, glibc = needed(path)
            print(f"  {path.name}: {' '.join(sorted(libraries))}, glibc {'%d.%d' % glibc}")
            self.assertLessEqual(libraries, SYSTEM_LIBRARIES, path)
            promised = re.search(r"manylinux_(\d+)_(\d+)_", wheel().name)
            self.assertTrue(promised, f"{wheel().name} is for this machine alone")
            self.assertLessEqual(glibc, tuple(map(int, promised.groups())), path)

    def test_a_wheel_of_debian_12_runs_with_the_glibc_that_the_readme_names(self):
        """hypot() and others have a new version in each glibc, and the old one did as well."""
        if os.confstr("CS_GNU_LIBC_VERSION") != "glibc 2.36":
            self.skipTest("this is not Debian 12")
        named = re.search(r"glibc (\d+)\.(\d+) or later", (ROOT / "README.md").read_text())
        self.assertIn("manylinux_%s_%s_" % named.groups(), wheel().name)

    def test_programs_with_the_nvtx_package_have_all_their_ranges(self):
        found = call(PYTHON, "-c", "import nvtx; print(nvtx.__path__[0])").stdout.strip()
        if not found:
            self.skipTest("no nvtx package; hint: pip install nvtx")
        self.install(wheel())
        self.environment["PYTHONPATH"] = str(pathlib.Path(found).parent)
        self.assertEqual(self.counted(NVTX_PROGRAM, "of nvtx"), 1000)

    def test_a_browser_is_served_where_the_library_is(self):
        """If the library is missing, annot names the package."""
        self.install(wheel())
        self.call(*self.record_command())
        words = [str(self.scripts / "annot"), "open", "--no-browser", self.folder / "wheel.annot"]
        with subprocess.Popen(words, stdout=subprocess.PIPE, stderr=subprocess.PIPE, text=True,
                              env=self.environment) as served:
            address, error = served.stdout.readline(), ""
            served.terminate()
            error = served.communicate()[1]
        if has_library("libmicrohttpd.so.12"):
            self.assertRegex(address, r"^http://127\.0\.0\.1:\d+/", error)
        else:
            self.assertIn("libmicrohttpd12", error)

    def test_it_records_and_goes_without_a_trace(self):
        before = self.install(wheel())
        with open(self.scripts / "annot", "rb") as file:
            self.assertEqual(file.read(4), b"\x7fELF")
        version = self.call(self.scripts / "annot", "--version")
        self.assertIn(pyannot.__version__, version.stdout, version.stderr)
        self.environment.pop("PYTHONDONTWRITEBYTECODE", None)  # its __pycache__ must go too
        result = self.call(*self.record_command())
        self.assertEqual(result.returncode, 0, result.stderr)
        self.assert_recorded()
        self.assert_entered()
        self.pip("uninstall", "--yes", "pyannot")
        self.assertEqual(files_below(self.venv) - before, set())

    def test_a_program_records_itself_and_reads_it(self):
        self.install(wheel())
        for name in ("ANNOT", "PYTHONPATH"):
            self.environment.pop(name, None)
        self.environment["PATH"] = "/usr/bin:/bin"
        script = self.script("""
            import pyannot
            with pyannot.record("inside.annot", sample=0), pyannot.annotate("from the wheel"):
                pass
            names = [row.name for row in pyannot.read("inside.annot").ranges]
            print([name for name in names if not name.startswith("gc ")])  # long ones are ranges
            """, "inside.py")
        result = self.call(self.scripts / "python", script)
        self.assertEqual(result.stdout, "['from the wheel']\n", result.stderr)
        version = self.call(self.scripts / "python", "-m", "pyannot", "--version")
        self.assertIn(pyannot.__version__, version.stdout, version.stderr)

    def assert_entered(self):
        """Checks interpreters without its site-packages on the path, and entry by the .pth."""
        entered = "import sys; print('pyannot.observe' in sys.modules)"
        self.environment["ANNOT_PYTHON"] = "default"
        for words in (["-I", "-S"], []):
            option = ["--no-preload"] if not words else []
            result = self.call(self.scripts / "annot", "record", "--force", *option,
                               "-o", self.folder / "entered.annot", "--",
                               self.scripts / "python", *words, "-c", entered)
            self.assertEqual(result.stdout, "True\n", result.stderr)

    def test_it_records_where_no_compiler_is(self):
        self.install(wheel())
        line = 'exec "$@"'
        command = without_builders(line)
        if command is None:
            self.skipTest("no mount namespace for tests here")
        result = self.call(*command, "sh", *self.record_command())
        self.assertEqual(result.returncode, 0, result.stderr)
        self.assert_recorded()

    def test_it_installs_and_records_on_a_fresh_machine(self):
        shutil.copy(wheel(), self.folder)
        (self.folder / "program.py").write_text(PROGRAM)
        version = "%d, %d" % sys.version_info[:2]
        (self.folder / "try.sh").write_text(FRESH.format(version=version, wheel=wheel().name))
        root = pathlib.Path(harness.ANNOT).resolve().parents[1] / "fresh" / "wheel"
        result = call(ROOT / "tests" / "fresh_machine.sh", "-b", root.with_name("root.base"),
                      "-c", self.folder, root, "sh", "try.sh")
        if result.returncode == 77:
            self.skipTest(result.stdout.strip())
        self.assertEqual(result.returncode, 0, result.stdout + result.stderr)
        self.assertIn("from the wheel", result.stdout, result.stderr)


class EveryInterpreter(WheelTest):
    """The whole way, `pip install .` in a clean environment, of each interpreter; then programs
    with pools and with the nvtx package have all their ranges."""

    def setUp(self):
        if os.environ.get("ANNOT_TEST_WHEELS") != "all":
            self.skipTest("ANNOT_TEST_WHEELS is not all")
        super().setUp()

    def install_source(self, interpreter):
        made = self.call(interpreter.command, "-m", "venv", "--without-pip", self.venv)
        self.assertEqual(made.returncode, 0, made.stderr)
        before = files_below(self.venv)
        self.pip("install", "--no-deps", source())
        return before

    def test_pip_install(self):
        for number, interpreter in enumerate(interpreters.find()):
            with self.subTest(interpreter=str(interpreter)):
                before = self.install_source(interpreter)
                name = f"{number}.annot"
                result = self.call(*self.record_command(name))
                self.assertEqual(result.returncode, 0, result.stderr)
                self.assert_recorded(name)
                self.assertEqual(self.counted(POOL_PROGRAM, "a task"), 40)
                self.pip("uninstall", "--yes", "pyannot")
                self.assertEqual(files_below(self.venv) - before, set())
                self.pip("install", "--no-deps", source(), "nvtx")
                self.assertEqual(self.counted(NVTX_PROGRAM, "of nvtx"), 1000)
                shutil.rmtree(self.venv)


if __name__ == "__main__":
    harness.main()
