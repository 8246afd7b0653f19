#!/usr/bin/env python3
# SPDX-License-Identifier: MIT
"""Compares every output of a build on every recording of the corpus with what the oracle holds.

compare.py BUILD [NAME...]                       exit 0: all agree
compare.py BUILD --update [--reason TEXT] [NAME...]
                                                 takes the build's outputs as the oracle's; where
                                                 that changes what is there, TEXT says why, and is
                                                 written down in differences.md
compare.py BUILD --show NAME OUTPUT              prints one output as it is compared
compare.py --builds OLD NEW RECORDING...         compares two builds on recordings: files (.annot),
                                                 texts (.txt, .txt.xz), or names of the corpus

--only OUTPUT       only outputs whose name begins so; may be given several times
--python PROGRAM    the interpreter that pyannot of the build is made for (default: this one)

README.md says what the corpus is made of.
"""

import argparse
import concurrent.futures
import difflib
import hashlib
import lzma
import math
import subprocess
import sys
import tempfile
from pathlib import Path

import outputs
import rare

HERE = Path(__file__).resolve().parent
CORPUS, EXPECTED = HERE / "corpus", HERE / "expected"
DIFFERENCES = HERE / "differences.md"
WORKERS = 2
WHOLE_BYTES = 20 << 10  # an output up to this size is kept as text
BLOCKS = 500  # a larger one as so many checksums at most
GENERATED_BLOCKS = 100  # of recordings that are made anew
SHOWN = 30  # lines of a difference

# Too large for the repository: made anew by programs of the build, always the same.
GENERATED = {
    "random-ranges": ["tests/system/make_trace", "random", "FILE", "6000"],
    "random-scheduler": ["tests/system/make_samples", "FILE", "2000", "7"],
    "random-toolkit": ["tests/oracle/oracle_make", "random", "FILE", "6000"],
}
RARE = {f"rare-{seed}": (seed, 250 * seed) for seed in range(1, 6)}  # of rare.py


# ---- What is kept of an output ----

class Kept:
    """Lines, or checksums of equal parts of them."""

    def __init__(self, size, block, lines):
        self.size, self.block, self.lines = size, block, lines

    @staticmethod
    def of(lines, blocks=0):
        """`blocks`: 0 keeps any size as text."""
        size = sum(len(line) + 1 for line in lines)
        if blocks == 0 or size <= WHOLE_BYTES:
            return Kept(len(lines), 0, lines)
        block = max(1, math.ceil(len(lines) / blocks))
        return Kept(len(lines), block, [
            hashlib.sha256("\n".join(lines[at:at + block]).encode(errors="surrogateescape"))
            .hexdigest()[:8] for at in range(0, len(lines), block)])

    def __eq__(self, other):
        return (self.size, self.block, self.lines) == (other.size, other.block, other.lines)


def key_of(output):
    """The name of an output's file, which keeps that output of all recordings."""
    return output.replace(" ", "-")


def read_kept(path):
    """Recordings by name, of a file: "== LINES BLOCK COUNT NAME", then COUNT lines."""
    found = {}
    if not path.exists():
        return found
    text = lzma.decompress(path.read_bytes()).decode(errors="surrogateescape").split("\n")
    at = 0
    while at < len(text) and text[at]:
        _, size, block, count, name = text[at].split(" ", 4)
        found[name] = Kept(int(size), int(block), text[at + 1:at + 1 + int(count)])
        at += 1 + int(count)
    return found


def write_kept(path, kept):
    parts = []
    for name in sorted(kept):
        entry = kept[name]
        parts.append(f"== {entry.size} {entry.block} {len(entry.lines)} {name}")
        parts += entry.lines
    data = ("\n".join(parts) + "\n").encode(errors="surrogateescape")
    path.parent.mkdir(exist_ok=True)
    if parts:
        path.write_bytes(compress(data))
    else:
        path.unlink(missing_ok=True)


def read_all_kept():
    """By output (key_of), then by recording."""
    return {path.stem: read_kept(path) for path in sorted(EXPECTED.glob("*.xz"))}


def compress(data):
    return lzma.compress(data, preset=9 | lzma.PRESET_EXTREME)


def differences(name, old, new, lines):
    """Where an output differs, for people. `lines`: all of the new one."""
    if old.block == 0 and new.block == 0:
        found = list(difflib.unified_diff(old.lines, new.lines, "before", "now", lineterm="", n=1))
    else:
        found = [f"{old.size} lines were kept as checksums, {new.size} there now; "
                 "--builds OLD NEW shows both sides"]
        kept = set(old.lines)
        for index, digest in enumerate(new.lines if old.block == new.block else []):
            if digest not in kept:
                begin = index * new.block
                found += [f"+{number + 1}: {lines[number]}"
                          for number in range(begin, min(begin + new.block, len(lines)))]
    found = [line if len(line) <= 400 else line[:400] + "..." for line in found]
    rest = [f"... and {len(found) - SHOWN} lines more"] if len(found) > SHOWN else []
    return [f"  {name}"] + [f"    {line}" for line in found[:SHOWN] + rest]


# ---- Recordings ----

def names_of(words):
    names = sorted([path.name[:-len(".txt.xz")] for path in CORPUS.glob("*.txt.xz")]
                   + list(GENERATED) + list(RARE))
    unknown = [word for word in words if word not in names]
    if unknown:
        sys.exit(f"compare.py: no recording of the corpus: {' '.join(unknown)}")
    return [name for name in names if not words or name in words]


def text_of(name, folder, build):
    """The text of a recording: of the corpus, made now, or of a file."""
    path = Path(name)
    if name in RARE:
        outputs.load(outputs.build_of(build, None), rare.made(*RARE[name]), folder)
        return outputs.dump(outputs.build_of(build, None), folder / outputs.FILE)
    if name in GENERATED:
        made = Path(build) / GENERATED[name][0]
        file = folder / "made.annot"
        subprocess.run([str(made), *[str(file) if word == "FILE" else word
                                     for word in GENERATED[name][1:]]],
                       check=True, stdout=subprocess.DEVNULL)
        return outputs.dump(outputs.build_of(build, None), file)
    if path.suffix == ".annot":
        return outputs.dump(outputs.build_of(build, None), path.resolve())
    if path.name.endswith(".txt"):
        return path.read_text(encoding="utf-8", newline="\n")
    if not path.name.endswith(".xz"):
        path = CORPUS / f"{name}.txt.xz"
    return lzma.decompress(path.read_bytes()).decode()


def lines_of(build, name, only, texts_build=None):
    """Every output of one recording by one build; the text itself as "text"."""
    with tempfile.TemporaryDirectory(prefix="annot-oracle-") as work:
        folder = Path(work)
        text = text_of(name, folder, texts_build or build.folder)
        found = outputs.all_lines(build, text, folder, only)
    found["text"] = text.split("\n")
    return found


def compare_one(build, name, only, old):
    """(name, lines to print, count of outputs, kept outputs, names of those that changed).
    `old` and the kept outputs are by key_of."""
    try:
        found = lines_of(build, name, only)
    except (ValueError, OSError, subprocess.CalledProcessError) as error:
        return name, [f"  {error}"], 1, None, ["all"]
    text = found.pop("text")
    new, printed, changed = {}, [], []
    is_kept = name not in GENERATED and name not in RARE
    if is_kept and "dump" in found:  # the text is its own oracle
        dumped = Kept.of(found.pop("dump"))
        if dumped != Kept.of(text):
            changed.append("dump")
            printed += differences("dump", Kept.of(text), dumped, dumped.lines)
    for output, lines in found.items():
        output = key_of(output)
        new[output] = Kept.of(lines, GENERATED_BLOCKS if name in GENERATED else BLOCKS)
        if output not in old:
            changed.append(output)
            printed.append(f"  {output}: not in the oracle")
        elif old[output] != new[output]:
            changed.append(output)
            printed += differences(output, old[output], new[output], lines)
    gone = [] if only else [output for output in old if output not in new
                            and (output != "pyannot.read" or build.python)]
    printed += [f"  {output}: in the oracle, not made any more" for output in gone]
    for output in old:
        if output not in new and output not in gone:
            new[output] = old[output]  # not looked at
    return name, printed, len(found) + len(gone), new, changed + gone


def each(build, names, only, kept):
    """compare_one of each recording, in order."""
    with concurrent.futures.ProcessPoolExecutor(WORKERS) as pool:
        jobs = [pool.submit(compare_one, build, name, only, {
            output: recordings[name] for output, recordings in kept.items() if name in recordings})
            for name in names]
        for job in jobs:
            yield job.result()


def update_kept(kept, updates):
    """`updates`: all outputs of some recordings. Writes the files that change."""
    outputs_now = {*kept, *(output for new in updates.values() for output in new)}
    for output in sorted(outputs_now):
        before = kept.get(output, {})
        now = {name: entry for name, entry in before.items() if name not in updates}
        now.update((name, new[output]) for name, new in updates.items() if output in new)
        if now != before:
            write_kept(EXPECTED / f"{output}.xz", now)


def note_reason(reason, changes):
    """What was taken over, for differences.md."""
    by_output = {}
    for name, outputs_changed in changes.items():
        for output in outputs_changed:
            by_output.setdefault(output, []).append(name)
    with DIFFERENCES.open("a", encoding="utf-8") as file:
        file.write(f"\n## {reason}\n\n")
        for output in sorted(by_output):
            file.write(f"- `{output}`: {', '.join(by_output[output])}\n")


def compare(build, names, options):
    count = failed = 0
    kept, changes, updates = read_all_kept(), {}, {}
    existing = {name for recordings in kept.values() for name in recordings}
    for name, printed, total, new, changed in each(build, names, options.only, kept):
        count, failed = count + total, failed + len(changed)
        existed = name in existing
        if options.update and new is not None:
            updates[name] = new
            if existed and changed:
                changes[name] = changed
        print(f"{'ok   ' if not changed else 'DIFF '} {name}: {total} outputs")
        if printed and (existed or not options.update):
            print("\n".join(printed), flush=True)
    if changes and not options.reason:
        sys.exit("compare.py: nothing written: --reason TEXT must say why these changed")
    update_kept(kept, updates)
    if changes:
        note_reason(options.reason, changes)
    if options.update:
        failed = sum("dump" in changed or "all" in changed for changed in changes.values())
    if not build.python:
        print("skipped: pyannot.read: pyannot is not part of this build")
    print(f"{count - failed} passed, {failed} failed, {0 if build.python else 1} skipped")
    return 1 if failed or not count else 0


def compare_builds(old, new, names, only):
    failed = count = 0
    for name in names:
        before = lines_of(old, name, only, old.folder)
        after = lines_of(new, name, only, old.folder)
        for output in before:
            count += 1
            if before[output] != after.get(output):
                failed += 1
                print("\n".join(differences(
                    f"{name}: {output}", Kept.of(before[output]),
                    Kept.of(after.get(output, [])), after.get(output))), flush=True)
    print(f"{count - failed} passed, {failed} failed, 0 skipped")
    return 1 if failed or not count else 0


def arguments():
    parser = argparse.ArgumentParser(usage=__doc__)
    parser.add_argument("words", nargs="*")
    parser.add_argument("--update", action="store_true")
    parser.add_argument("--reason")
    parser.add_argument("--show", nargs=2)
    parser.add_argument("--builds", nargs=2)
    parser.add_argument("--only", action="append", default=[])
    parser.add_argument("--python", default=sys.executable)
    options = parser.parse_intermixed_args()
    if not options.builds and not options.words:
        parser.error("no build folder")
    return options


def main():
    options = arguments()
    if options.builds:
        old, new = (outputs.build_of(folder, options.python) for folder in options.builds)
        return compare_builds(old, new, options.words, options.only)
    build = outputs.build_of(options.words[0], options.python)
    if options.show:
        print("\n".join(lines_of(build, options.show[0], [options.show[1]])[options.show[1]]))
        return 0
    return compare(build, names_of(options.words[1:]), options)


if __name__ == "__main__":
    sys.exit(main())
