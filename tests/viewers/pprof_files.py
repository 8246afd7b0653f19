# SPDX-License-Identifier: MIT
"""pprof's files, decoded here; and read by pprof itself where Go is installed."""

import collections
import gzip
import re
import shutil
import subprocess

from recordings import cpu_of, export, query, waits_of


def varint(data, at):
    value = shift = 0
    while True:
        byte = data[at]
        value |= (byte & 0x7f) << shift
        at, shift = at + 1, shift + 7
        if byte < 0x80:
            return value, at


def fields(data):
    """Yields (number, value) of each field; values are integers or bytes."""
    at = 0
    while at < len(data):
        key, at = varint(data, at)
        value, at = varint(data, at)
        assert key & 7 in (0, 2), key
        if key & 7 == 2:
            value, at = data[at:at + value], at + value
            assert at <= len(data)
        yield key >> 3, value


def message(data):
    """The last value of each field."""
    return dict(fields(data))


def packed(data):
    at, values = 0, []
    while at < len(data):
        value, at = varint(data, at)
        values.append(value)
    return values


class Profile:
    """types: ["cpu/nanoseconds"]; samples: (names from the leaf, values, labels)"""

    def __init__(self, data):
        parts = collections.defaultdict(list)
        for number, value in fields(gzip.decompress(data)):
            parts[number].append(value)
        texts = [text.decode() for text in parts[6]]
        assert texts[0] == "" and len(set(texts)) == len(texts)
        types = [message(part) for part in parts[1]]
        self.types = [f"{texts[kind[1]]}/{texts[kind[2]]}" for kind in types]
        functions = {part[1]: part for part in map(message, parts[5])}
        modules = {message(part)[1] for part in parts[3]}
        self.names = {number: texts[part[2]] for number, part in functions.items()}
        self.files = {number: texts[part.get(4, 0)] for number, part in functions.items()}
        locations = {}
        for part in map(message, parts[4]):
            assert part.get(2, 0) in modules | {0}, part
            locations[part[1]] = self.names[message(part[4])[1]]
        assert len(locations) == len(parts[4]) and len(functions) == len(parts[5])
        self.samples = []
        for part in parts[2]:
            labels = [message(value) for number, value in fields(part) if number == 3]
            values = packed(message(part)[2])
            assert len(values) == len(self.types)
            self.samples.append(([locations[at] for at in packed(message(part)[1])], values,
                                 {texts[label[1]]: texts[label[2]] for label in labels}))

    def column(self, kind):
        return [values[self.types.index(kind)] for _, values, _ in self.samples]


def check_sums(profile, recording, *options):
    count, cpu_ns = cpu_of(recording, *options)
    off_ns = sum(waits_of(recording, *options).values())
    assert sum(profile.column("samples/count")) == count, recording
    assert sum(profile.column("cpu/nanoseconds")) == cpu_ns, recording
    assert sum(profile.column("off-cpu/nanoseconds")) == off_ns, recording
    assert sum(profile.column("wall/nanoseconds")) == cpu_ns + off_ns, recording


def check_labels(profile, recording):
    """Compares CPU time by paths of ranges, and by threads."""
    for label, sql in (("range", "select path as label, sum(cpu_ns) as ns from samples group by 1"),
                       ("thread", """select t.label || ' ' || t.tid as label, sum(cpu_ns) as ns
                        from samples s join threads t on t.id = s.thread group by t.id""")):
        sums, told = collections.Counter(), collections.Counter()
        for row in query(recording, sql):
            sums[row["label"]] += row["ns"]
        for (_, _, labels), ns in zip(profile.samples, profile.column("cpu/nanoseconds")):
            told[labels.get(label)] += ns
        assert +sums == +told, (recording, label, sums, told)


def check_reader(path, recording, program=("go", "tool", "pprof")):
    """pprof's printed numbers have the same sum."""
    def ask(*words):
        return subprocess.run([*program, *words, path], check=True, stdout=subprocess.PIPE,
                              stderr=subprocess.PIPE).stdout.decode()

    if not shutil.which(program[0]):
        return "go tool pprof"
    rows = [[int(word) for word in match.split()] for match in
            re.findall(r"^ +(\d+(?: +\d+)+): [\d ]+$", ask("-raw"), re.M)]
    waited = sum(waits_of(recording).values())
    for column, whole in ((0, cpu_of(recording)[0]), (1, cpu_of(recording)[1]), (3, waited)):
        assert sum(row[column] for row in rows) == whole, (recording, column, rows)
    top = ask("-top", "-sample_index=off-cpu")
    assert "Type: off-cpu" in top and "flat%" in top, top
    return None


MEMORY = ("alloc_objects/count", "alloc_space/bytes", "inuse_objects/count", "inuse_space/bytes")


def check_memory(profile, recording):
    """Compares allocated bytes and blocks, and what is left of them, by function and thread."""
    told, sums = collections.Counter(), collections.Counter()
    for row in query(recording, """select own_function as name, t.label || ' ' || t.tid as thread,
            sum(sample_values ->> 'alloc-objects') as objects,
            sum(sample_values ->> 'alloc-bytes') as bytes,
            sum(sample_values ->> 'free-objects') as freed,
            sum(sample_values ->> 'free-bytes') as freed_bytes
            from samples s join threads t on t.id = s.thread
            where sample_set in ('heap', 'heap-freed', 'alloc') group by 1, 2"""):
        key = row["name"], row["thread"]
        objects, size = row["objects"] or 0, row["bytes"] or 0
        sums.update({(*key, 0): objects, (*key, 1): size,
                     (*key, 2): objects - (row["freed"] or 0),
                     (*key, 3): size - (row["freed_bytes"] or 0)})
    for index, kind in enumerate(MEMORY):
        for (names, _, labels), value in zip(profile.samples, profile.column(kind)):
            told[(names[0], labels["thread"], index)] += value
    assert sums and +sums == +told, (recording, sums, told)


def check_default(path, kind):
    """pprof itself shows this kind of value if it is asked for none."""
    if shutil.which("go"):
        top = subprocess.run(["go", "tool", "pprof", "-top", path], check=True,
                             capture_output=True, text=True).stdout
        assert f"Type: {kind}" in top, top


def check(recording):
    path = recording.with_suffix(".pb.gz")
    export(recording, path)
    profile = Profile(path.read_bytes())
    check_sums(profile, recording)
    check_labels(profile, recording)
    if recording.stem in ("made-sets", "made-heap"):
        check_memory(profile, recording)
        check_default(path, "inuse_space")
    if recording.stem == "made-heap":
        assert sum(profile.column("inuse_space/bytes")) == 50 << 20, profile.samples
        assert sum(profile.column("peak_space/bytes")) == 72 << 20, profile.samples
        assert sum(profile.column("peak_objects/count")) == 40960 + 5120 + 10 + 16
        export(recording, path, "--from", "8ms")  # without blocks from before
        later = Profile(path.read_bytes())
        held = collections.Counter()
        for (names, _, _), value in zip(later.samples, later.column("inuse_space/bytes")):
            held[names[0]] += value
        assert +held == {"hold": 12 << 20, "work": 10 << 20}, held
        export(recording, path)
    if recording.stem == "made-sampled":
        check_default(path, "cpu")
    return check_reader(path, recording) if recording.stem == "made-sampled" else None


def check_parts(recording):
    path = recording.with_suffix(".part.pb.gz")
    for choice in (["--from", "5ms", "--to", "20ms"], ["--range", "request"]):
        export(recording, path, *choice)
        check_sums(Profile(path.read_bytes()), recording, *choice)
