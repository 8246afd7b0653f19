# SPDX-License-Identifier: MIT
"""nsys itself, unpacked from Debian's packages without installation: its reports of exported
databases equal annot query. Its exit status is always 0, so its messages are checked."""

import csv
import io
import pathlib
import subprocess
import sys

import nsys_files
from recordings import ANNOT, export, query

SUITES = ("bookworm", "trixie", "experimental")
OLD_NAMES = {"nvtx_sum": "nvtxsum", "nvtx_pushpop_trace": "nvtxpptrace", "osrt_sum": "osrtsum",
             "cuda_gpu_kern_sum": "gpukernsum", "cuda_api_sum": "cudaapisum",
             "cuda_gpu_mem_time_sum": "gpumemtimesum", "nvtx_kern_sum": "nvtxkernsum",
             "nvtx_gpu_proj_sum": "nvtxgpuproj"}
RULES = ("cuda_api_sync", "cuda_memcpy_async", "cuda_memcpy_sync", "cuda_memset_sync", "gpu_gaps",
         "gpu_time_util")
OLD_RULES = ("cuda-sync-api", "cuda-async-memcpy", "cuda-sync-memcpy", "cuda-sync-memset",
             "gpu-starv", "gpu-low-util")
GPU = pathlib.Path(ANNOT).resolve().parents[1] / "tests/gpu/fake"
COPIES = {"copy host to device": "HtoD", "copy device to host": "DtoH",
          "copy device to device": "DtoD", "set": "set"}
# Ranges that are only in the table NVTX_EVENTS.
OWN = """(domain is not 'CUDA' or category not in
    ('kernel', 'copy', 'set', 'wait', 'graph', 'call', 'overhead', 'memory'))"""
WORDS = {"Host-to-Device": "HtoD", "Device-to-Host": "DtoH", "Device-to-Device": "DtoD"}


class Nsys:
    """One version. `program`: nsys."""

    def __init__(self, folder, suite):
        self.folder = folder / suite
        self.unpack(suite)
        self.program = self.folder / "usr/lib/nsight-systems/bin/nsys"
        said = subprocess.run([self.program, "--version"], check=True, text=True,
                              stdout=subprocess.PIPE).stdout
        self.version = said.split("version ")[1].split("-")[0].strip()
        self.is_old = self.version.startswith("2022")

    def unpack(self, suite):
        """Uses separate lists and a separate cache, so the system's packages stay unchanged."""
        for name in ("lists/partial", "archives/partial"):
            (self.folder / name).mkdir(parents=True)
        sources = self.folder / "sources.list"
        keys = "/usr/share/keyrings/debian-archive-keyring.gpg"
        sources.write_text(f"deb [signed-by={keys}] http://deb.debian.org/debian {suite} "
                           "non-free\n")
        options = [f"-oDir::Etc::SourceList={sources}", "-oDir::Etc::SourceParts=/dev/null",
                   f"-oDir::State::Lists={self.folder}/lists", f"-oDir::Cache={self.folder}"]
        for words in (["update"], ["download", f"nsight-systems/{suite}",
                                   f"nsight-systems-target/{suite}"]):
            subprocess.run(["apt-get", "-q", *options, *words], check=True, cwd=self.folder,
                           stdout=subprocess.DEVNULL, stderr=subprocess.DEVNULL)
        for package in self.folder.glob("*.deb"):
            subprocess.run(["dpkg-deb", "-x", package, self.folder], check=True)

    def run(self, *words):
        done = subprocess.run([self.program, *map(str, words)], text=True, stdout=subprocess.PIPE,
                              stderr=subprocess.STDOUT, timeout=120)
        for wrong in ("ERROR", "could not be opened", "Traceback", "internal error"):
            assert wrong not in done.stdout, (words, done.stdout)
        return done.stdout

    def report(self, name, path):
        """The rows of a report; an empty list if nsys has no data for it."""
        name = OLD_NAMES[name] if self.is_old else name
        said = self.run("stats", "--force-export=false", "--format", "csv", "--report", name,
                        "--output", "-", path)
        if "SKIPPED" in said:
            return []
        lines = said.splitlines()
        first = next((i for i, line in enumerate(lines) if line.count(",") > 4), len(lines))
        return list(csv.DictReader(io.StringIO("\n".join(lines[first:]))))


def sums(rows, name, count):
    """{name: (number, nanoseconds)}"""
    found = {}
    for row in rows:
        known = found.get(row[name].lstrip(":"), (0, 0))
        found[row[name].lstrip(":")] = (known[0] + int(row[count]),
                                        known[1] + int(row["Total Time (ns)"]))
    return found


def check_ranges(nsys, recording, path):
    """Skips names with a line feed, which breaks nsys's tables."""
    told = sums([row for row in nsys.report("nvtx_sum", path) if row["Range"]], "Range",
                "Instances")
    rows = query(recording, f"""select coalesce(nullif(domain, '') || ':', '') ||
        coalesce(name, '(unnamed)') as name, count(*) as n, sum(duration_ns) as ns from ranges
        where {OWN} group by 1""")
    wanted = {row["name"]: (row["n"], row["ns"]) for row in rows if "\n" not in row["name"]}
    assert {name: told.get(name) for name in wanted} == wanted, (nsys.version, told, wanted)
    rows = [row for row in nsys.report("nvtx_pushpop_trace", path) if row["NameTree"]]
    row = query(recording, f"""select count(*) as n, coalesce(sum(duration_ns), 0) as ns
        from ranges where kind = 'pushed' and {OWN}
        and instr(coalesce(name, ''), char(10)) = 0""")[0]
    told = len(rows), sum(int(each["Duration (ns)"]) for each in rows)
    assert told == (row["n"], row["ns"]), (recording, nsys.version, told, row)


def check_waits(nsys, recording, path):
    told = sums(nsys.report("osrt_sum", path), "Name", "Num Calls")
    assert {name: ns for name, (_, ns) in told.items()} == nsys_files.blocked_of(recording), told


def work_of(recording, category):
    rows = query(recording, f"""select name, count(*) as n, sum(duration_ns) as ns from ranges
        where domain = 'CUDA' and category = '{category}' group by 1""")
    return {row["name"]: (row["n"], row["ns"]) for row in rows}


def check_gpu(nsys, recording, path):
    told = sums(nsys.report("cuda_gpu_kern_sum", path), "Name", "Instances")
    assert told == work_of(recording, "kernel"), (recording, nsys.version, told)
    told = sums(nsys.report("cuda_api_sum", path), "Name", "Num Calls")
    told.pop("launch", None)
    assert told == work_of(recording, "call"), (recording, nsys.version, told)
    told = sums(nsys.report("cuda_gpu_mem_time_sum", path), "Operation", "Count")
    moved = {**work_of(recording, "copy"), **work_of(recording, "set")}
    wanted = {COPIES[name]: value for name, value in moved.items()}
    found = {}
    for name, value in told.items():
        word = "set" if "memset" in name else name.split("memcpy ")[1].rstrip("]")
        found[WORDS.get(word, word)] = value
    assert found == wanted, (recording, nsys.version, told, moved)


def check_launched(nsys, recording, path):
    """Compares GPU work by the outermost range that launched it."""
    launched = """from (select *, substr(launch_path || '/', 1, instr(launch_path || '/', '/') - 1)
        as launch from ranges where domain = 'CUDA' and launch_path is not null)"""
    rows = query(recording, f"""select launch, name, count(*) as n, sum(duration_ns) as ns
        {launched} where category = 'kernel' group by 1, 2""")
    told = {(row["NVTX Range"].lstrip(":"), row["Kernel Name"]):
            (int(row["Kern Inst"]), int(row["Total Time (ns)"]))
            for row in nsys.report("nvtx_kern_sum", path)}
    assert told == {(row["launch"], row["name"]): (row["n"], row["ns"]) for row in rows}, \
        (nsys.version, told, rows)
    rows = query(recording, f"""select launch, max(end_ns) - min(begin_ns) as ns {launched}
        where category in ('kernel', 'copy', 'set') group by 1""")
    name, ns = ("Name", "Projected Duration (ns)") if nsys.is_old else \
        ("Range", "Total Proj Time (ns)")
    told = {row[name].lstrip(":"): int(row[ns]) for row in nsys.report("nvtx_gpu_proj_sum", path)}
    assert told == {row["launch"]: row["ns"] for row in rows}, (nsys.version, told, rows)


def record_gpu(folder):
    """Records replayed scenes of a real GPU."""
    sys.path.insert(0, str(pathlib.Path(__file__).resolve().parents[1] / "gpu/fake"))
    import replay
    fake = next(GPU.glob("libcupti-fake.so"))
    environment = {"ANNOT_CUPTI": str(fake), "FAKE_CUPTI": str(fake), "PATH": "/usr/bin:/bin",
                   "ANNOT_DIR": str(folder)}
    for scene, *options in (("streams",), ("copies",), ("contexts",), ("graph-nodes",
                                                                       "--gpu=nodes"),
                            ("streams", "--gpu=driver,-runtime")):
        path = folder / f"gpu-{scene}{len(options) // 2}.annot"
        subprocess.run([ANNOT, "record", "--sampling=none", "--gpu", *options, "-o", path, "--",
                        GPU / "fake_program", replay.file_of(scene), "none"], env=environment,
                       check=True, stdout=subprocess.DEVNULL, stderr=subprocess.PIPE)
        yield path


def check(nsys, recording):
    path = recording.with_suffix(".sqlite")
    if not path.exists():
        export(recording, path)
    check_ranges(nsys, recording, path)
    check_waits(nsys, recording, path)
    if not recording.stem.startswith("gpu"):
        return
    check_gpu(nsys, recording, path)
    if not work_of(recording, "call"):  # replayed calls lie outside this program's ranges
        check_launched(nsys, recording, path)
    rules = ",".join(OLD_RULES if nsys.is_old else RULES)
    nsys.run("analyze", "--force-export=false", "--rule", rules, "--format", "csv", path)
