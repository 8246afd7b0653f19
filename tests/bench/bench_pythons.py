#!/usr/bin/env python3
# SPDX-License-Identifier: MIT
"""The Python benches with every interpreter found: one table, a column for each.

    bench_pythons.py BUILD [--only 3.9,3.14] [--benches python,tasks,...] [--json FILE]

pyannot is built for each as the tests do (tests/python/module_build.py), in a folder that looks
like a build folder, in which the interpreter itself runs run.py. The table has the rows with a
budget; `!` marks those that missed it. JSON has every row.
"""

import argparse
import json
import os
import pathlib
import subprocess
import sys
import tempfile

HERE = pathlib.Path(__file__).resolve().parent
BENCHES = "python,tasks,pool,nvtx,python-life"


def look_alike(build, interpreter, folder):
    """A folder with the files that run.py takes from a build, with modules for the interpreter."""
    import module_build

    for name in ("tools", "libannot"):
        (folder / name).symlink_to(build / name)
    module_build.build(interpreter, folder / "pyannot")
    manager = next((build / "tests/bench").glob("empty_manager.*.so"))
    made = module_build.Module(manager, interpreter, folder / "objects", []).build()
    (folder / "tests/bench").mkdir(parents=True)
    os.rename(made, folder / "tests/bench" / f"empty_manager{interpreter.suffix}")
    return folder


def measure(build, command, benches):
    """{bench: rows} of one interpreter."""
    subprocess.run([command, HERE / "run.py", build, *benches], check=False,
                   stdout=subprocess.DEVNULL)
    return {name: json.loads((build / "bench" / f"{name}.json").read_text())["rows"]
            for name in benches if (build / "bench" / f"{name}.json").exists()}


def entry_text(entry):
    if entry is None:
        return "-"
    met = entry["value"] <= entry["budget"] if entry["at"] == "most" else \
        entry["value"] >= entry["budget"]
    return f"{entry['value']:.3g}{'' if met else ' !'}"


def print_table(found):
    columns = {python: {(bench, entry["what"]): entry for bench, rows in benches.items()
                        for entry in rows if entry["budget"] is not None}
               for python, benches in found.items()}
    lines = {key: entry for column in columns.values() for key, entry in column.items()}
    print(f"| what | budget | {' | '.join(columns)} |")
    print("|---|---|" + "---|" * len(columns))
    for (bench, what), entry in lines.items():
        texts = [entry_text(column.get((bench, what))) for column in columns.values()]
        sign = "<=" if entry["at"] == "most" else ">="
        print(f"| {bench}: {what} | {sign} {entry['budget']:g} {entry['unit']} | "
              f"{' | '.join(texts)} |")


def main():
    parser = argparse.ArgumentParser(description=__doc__.partition("\n")[0])
    parser.add_argument("build", type=pathlib.Path)
    parser.add_argument("--only", default="", help="versions, by comma")
    parser.add_argument("--benches", default=BENCHES)
    parser.add_argument("--json", type=pathlib.Path)
    options = parser.parse_args()
    build, benches = options.build.resolve(), options.benches.split(",")
    sys.path[:0] = [str(build / "pyannot"), str(HERE.parent / "python")]
    os.environ["ANNOT"] = str(build / "tools/annot")
    import interpreters

    wanted = tuple(filter(None, options.only.split(",")))
    found = {}
    for interpreter in [interpreters.ask(sys.executable), *interpreters.find()]:
        if not interpreter.can_build() or not str(interpreter).startswith(wanted or ""):
            continue
        with tempfile.TemporaryDirectory(prefix="annot-bench-") as place:
            folder = look_alike(build, interpreter, pathlib.Path(place))
            found[str(interpreter)] = measure(folder, interpreter.command, benches)
    print_table(found)
    if options.json:
        options.json.write_text(json.dumps(found, indent=1) + "\n")


if __name__ == "__main__":
    main()
