# SPDX-License-Identifier: MIT
"""The files that `meson install` puts into a stage are complete, are found in the usual places, and
are removed by `ninja uninstall`.

    test_install.py SOURCE BUILD
"""

import json
import os
import pathlib
import re
import shutil
import sys

from staged import Stage

PROGRAM = r"""
#include <annot/annot.h>
#include <stdio.h>

/* A name that the library uses inside, too. */
int directory_open(void)
{
    return 7;
}

int main(void)
{
    ANNOT_RANGE("installed");
    annot_mark("here");
    return printf("%d\n", directory_open()) > 0 ? 0 : 1;
}
"""
LINK = re.compile(r"\]\(([^)#:]+)(?:#[^)]*)?\)")
# Sources; their installed files are elsewhere.
ELSEWHERE = {"collector", "libannot", "pyannot", "tests", "tools"}
CASES = []


class Skip(Exception):
    """The machine lacks a requirement of the case."""


def case(function):
    CASES.append(function)
    return function


def need(*tools):
    for tool in tools:
        if not shutil.which(tool):
            raise Skip(f"no {tool}")


def record(stage, program):
    recording = stage.folder / (program.name + ".annot")
    out = stage.run(stage.path / "bin" / "annot", "record", "-o", recording, "--", program)
    assert out == "7\n", f"{program.name} wrote {out!r}"
    report = stage.run(stage.path / "bin" / "annot", "report", recording)
    assert "installed" in report and "here" in report, report


@case
def all_headers_pages_and_completions_are_there(stage, source):
    headers = sorted(path.name for path in (source / "libannot/include/annot").glob("*.h*"))
    found = sorted(path.name for path in (stage.path / "include/annot").iterdir())
    assert found == headers, f"{found}, not {headers}"
    if shutil.which("scdoc"):
        pages = sorted(path.stem for path in (source / "docs/man").glob("*.scd"))
        found = sorted(path.name for path in stage.one("annot.1").parent.iterdir())
        assert found == pages, f"{found}, not {pages}"
    for name in ("annotConfig.cmake", "annotConfigVersion.cmake", "libannot.a", "libannot.so",
                 "_annot", "annot.fish"):
        stage.one(name)
    outside = [path for path in stage.root.rglob("*")
               if path.is_file() and not path.is_relative_to(stage.path)]
    assert not outside, f"outside of the prefix: {outside}"


@case
def links_among_the_pages_lead_somewhere(stage, _source):
    pages = list(stage.one("NEWS.md").parent.rglob("*.md"))
    assert len(pages) > 5, pages
    links = [(page, link) for page in pages for link in LINK.findall(page.read_text())]
    dead = [f"{page.name}: {link}" for page, link in links
            if re.sub(r"^(\.\./)+", "", link).split("/")[0] not in ELSEWHERE
            and not (page.parent / link).exists()]
    assert not dead, dead


@case
def programs_link_with_both_libraries(stage, _source):
    need("pkg-config")
    program = stage.folder / "program.c"
    program.write_text(PROGRAM)
    shared, static = stage.folder / "shared-linked", stage.folder / "static-linked"
    flags = stage.run("pkg-config", "--cflags", "--libs", "annot").split()
    stage.run("cc", program, "-o", shared, *flags)
    flags = stage.run("pkg-config", "--static", "--cflags", "--libs", "annot").split()
    flags = [flag for flag in flags if flag != "-lannot"]
    stage.run("cc", program, "-o", static, stage.one("libannot.a"), *flags)
    for linked in (shared, static):
        record(stage, linked)
    linked = stage.run("ldd", static)
    assert "libannot" not in linked, linked


@case
def man_finds_the_pages(stage, _source):
    need("man", "scdoc")
    pages = stage.one("annot.1").parent.parent
    text = stage.run("man", "-M", pages, "annot-record", MANWIDTH="80", LC_ALL="C.UTF-8")
    if "minimized" in text:
        raise Skip("a man that shows nothing")
    assert "--pool-size SIZE" in text and "run a command and record" in text, text


def completed(stage, words):
    return set(words.split()) & {"export", "report", "record"} == {"export"}


@case
def fish_loads_its_completion(stage, _source):
    need("fish")
    script = "complete -C 'annot ex' | string replace -r '\\t.*' ''"
    out = stage.run("fish", "-c", script,
                    XDG_DATA_DIRS=f"{stage.path}/share:/usr/share", HOME=str(stage.folder),
                    XDG_CONFIG_HOME=str(stage.folder),
                    PATH=f"{stage.path}/bin:{os.environ['PATH']}")
    assert completed(stage, out), out


@case
def zsh_loads_its_completion(stage, _source):
    need("zsh")
    out = stage.run("zsh", "-f", "-c", f"fpath=({stage.one('_annot').parent} $fpath)\n"
                    "autoload -Uz compinit && compinit -D -u && print $_comps[annot] && "
                    "autoload +X _annot && whence -w _annot")
    assert out.split() == ["_annot", "_annot:", "function"], out


@case
def bash_loads_its_completion(stage, _source):
    library = pathlib.Path("/usr/share/bash-completion/bash_completion")
    if not library.exists():
        raise Skip("no bash-completion")
    out = stage.run("bash", "--norc", "-c", f"source {library}; _completion_loader annot\n"
                    "complete -p annot; COMP_WORDS=(annot ex) COMP_CWORD=1; _annot; "
                    "echo ${COMPREPLY[@]}", XDG_DATA_DIRS=f"{stage.path}/share")
    assert "complete -F _annot annot" in out, out
    assert completed(stage, out.splitlines()[-1]), out


@case
def python_imports_the_package(stage, _source):
    found = list(stage.root.rglob("pyannot/__init__.py"))
    if not found:
        raise Skip("built without Python")
    built = next(found[0].parent.glob("_native*.so")).name
    version = re.search(r"cpython-3(\d+)", built)[1]
    python = shutil.which(f"python3.{version}")
    if not python:
        raise Skip(f"no python3.{version}")
    recording = stage.folder / "python.annot"
    stage.run(stage.path / "bin" / "annot", "record", "-o", recording, "--", python, "-B", "-c",
              "import pyannot\nwith pyannot.annotate('installed'):\n    pass",
              PYTHONPATH=str(found[0].parent.parent))
    assert "installed" in stage.run(stage.path / "bin" / "annot", "report", recording)


@case
def the_table_that_is_installed_is_the_programs(stage, _source):
    """Completions and pages were made of this annot, not of an older one."""
    table = json.loads(stage.run(stage.path / "bin" / "annot", "help", "--json"))
    script = stage.one("_annot").read_text()
    for command in table["commands"]:
        for option in command["options"]:
            assert f"--{option['name']}" in script, f"{command['name']} --{option['name']}"


@case
def uninstall_leaves_nothing(stage, _source):
    stage.run("ninja", "-C", stage.build, "uninstall")
    left = [str(path) for path in stage.root.rglob("*")]
    assert not left, left


def main():
    source, build = (pathlib.Path(argument).resolve() for argument in sys.argv[1:3])
    stage = Stage(build)
    counts = {"passed": 0, "failed": 0, "skipped": 0}
    try:
        stage.find_here()
        for function in CASES:
            outcome = "passed"
            try:
                function(stage, source)
            except Skip as reason:
                outcome = "skipped"
                print(f"skipped: {function.__name__}: {reason}")
            except AssertionError as failure:
                outcome = "failed"
                print(f"FAILED {function.__name__}: {failure}")
            counts[outcome] += 1
    finally:
        stage.close()
    print(", ".join(f"{count} {outcome}" for outcome, count in counts.items()))
    sys.exit(1 if counts["failed"] else 0)


if __name__ == "__main__":
    main()
