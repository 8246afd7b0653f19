#!/usr/bin/env python3
# SPDX-License-Identifier: MIT
"""Enforces the limits of the style: sizes, nesting, include directions, names, words of prose.

    tidy.py [ROOT]        checks the tree; prints PATH:LINE: RULE: details; exit 0 or 1
    tidy.py --self-test   plants one violation per rule and fails unless each is found

Sizes and nesting are read from text laid out by clang-format, not from a parser: the start of a
block is the first text of its line, at four columns per level.
"""

import ast
import re
import subprocess
import sys
import tempfile
from pathlib import Path

import words

FILE_LINES = 1000
FUNCTION_LINES = 70
COLUMNS = 100
PARAMETERS = 5
NESTING = 3

# Accepted violations: (path, rule) -> reason. An entry without a violation is itself a violation,
# so the list stays current.
ITT = "functions of ITT have as many"
CALLBACK = "a callback of SQLite has as many as that calls it with"
EXCEPTIONS = {("tools/open/file_server.c", "parameters"): "a callback of libmicrohttpd",
              ("libannot/inject/nvtx/nvtx_payload.c", "parameters"): "a callback of NVTX",
              ("collector/analysis/query/query.c", "parameters"): CALLBACK,
              ("collector/analysis/query/query_tables.c", "parameters"): CALLBACK,
              ("libannot/inject/itt/itt_metadata.c", "parameters"): ITT,
              ("libannot/inject/itt/itt_spans.c", "parameters"): ITT,
              ("libannot/inject/itt/itt_tasks.c", "parameters"): ITT,
              ("tests/itt/itt_tool.c", "parameters"): ITT,
              ("tests/system/target_typed.c", "parameters"): "more than registers hold"}

# The folders from which a folder's files may include, besides itself. Headers included by an
# allowed header are allowed as well, so base is implied by model. Wings point down only: ground
# (base, model), then recording and machine, live, analysis, formats, page, tools.
GROUND = ["collector/base", "collector/model"]
RECORDING = ["collector/recording/" + name for name in ("store", "read", "rows")]
MACHINE = ["collector/machine/" + name for name in ("elf", "unwind", "symbol", "python")]
SESSION = ["collector/live/" + name for name in ("lives", "intake", "sample", "heaps")]
LIVE = ["libannot/wire", *GROUND, *RECORDING, *MACHINE, *SESSION]
INCLUDES = {
    "libannot/include/annot": [],
    "libannot/wire": [],
    "libannot/src": ["libannot/wire", "libannot/include/annot"],
    "libannot/inject": ["libannot/include/annot", "libannot/src", "libannot/wire"],
    "libannot/gpu": ["libannot/include/annot"],
    "libannot/heap": ["libannot/wire", "collector/machine/python", *GROUND],
    # The interpreter's layout at compile time, for the sampler.
    # And the reader of recordings, for pyannot.read.
    "pyannot": ["libannot/include/annot", "collector/machine/python", "collector/analysis/profile",
                "collector/analysis/report", *RECORDING, *GROUND],
    "examples": ["libannot/include/annot"],
    "collector/base": [],
    "collector/model": ["collector/base"],
    "collector/recording/store": GROUND,
    "collector/recording/read": ["collector/recording/store", *GROUND],
    "collector/recording/rows": ["collector/recording/store", "collector/recording/read", *GROUND],
    "collector/machine/elf": ["collector/base"],
    "collector/machine/unwind": ["collector/machine/elf", *GROUND],
    "collector/machine/symbol": ["collector/machine/elf", "collector/base"],
    "collector/machine/python": ["collector/machine/elf", "collector/machine/unwind", *GROUND],
    "collector/live/lives": ["libannot/wire", *GROUND],
    "collector/live/intake": ["libannot/wire", "collector/live/lives", *GROUND],
    "collector/live/sample": ["libannot/wire", "collector/live/lives", "collector/live/sample/bpf",
                              *MACHINE, *GROUND],
    "collector/live/sample/bpf": ["libannot/wire", "collector/live/sample",
                                  "collector/machine/unwind", "collector/machine/python",
                                  "collector/model"],
    "collector/live/heaps": LIVE,
    "collector/live/look": LIVE,
    "collector/live": LIVE,
    "collector/analysis/profile": [*RECORDING, *GROUND],
    "collector/analysis/report": ["collector/analysis/profile", *RECORDING, *GROUND],
    "collector/analysis/compare": ["collector/analysis/profile", "collector/analysis/report",
                                   *RECORDING, *GROUND],
    "collector/analysis/query": ["collector/analysis/profile", "collector/analysis/report",
                                 *RECORDING, *GROUND],
    "collector/formats": ["collector/analysis/profile", *RECORDING, *GROUND],
    "collector/page": ["collector/analysis/profile", "collector/analysis/report", *RECORDING,
                       *GROUND],
    "tools": ["libannot/gpu", "collector/live", "collector/live/look", "collector/live/sample",
              "collector/formats", "collector/page",
              *("collector/analysis/" + name for name in ("profile", "report", "compare", "query")),
              *RECORDING, *GROUND],
}

# Each function is declared in the header of its file: x.c in x.h, or foo_bar.c in foo.h, which is
# the header of at most DOOR_FILES files. Public headers are by theme.
DOOR_FILES = 3
PUBLIC = "libannot/include/annot"
# The largest number of files in a call cycle.
CYCLE_FILES = 8

# Folders and pages within the budget of words.py.
PLAIN = ["CONTRIBUTING.md", "NEWS.md", "README.md", "collector", "docs", "examples", "libannot",
         "pyannot", "tests/bench", "tests/first_screen", "tests/fuzz", "tests/gpu", "tests/headers",
         "tests/itt", "tests/nvtx", "tests/proof", "tests/system", "tests/unit", "tests/viewers",
         "tools"]

# The entries of the top folder; output of runs belongs elsewhere.
TOP = {"libannot", "pyannot", "collector", "tools", "examples", "docs", "tests", ".ci",
       "meson.build", "meson_options.txt", "pyproject.toml", "setup.sh", "README.md",
       "CONTRIBUTING.md", "NEWS.md", "LICENSE", ".gitignore", ".clang-format", ".clang-tidy",
       ".editorconfig"}
# Output of programs is committed only where tests compare with it.
OUTPUTS = {".a", ".annot", ".csv", ".folded", ".gz", ".html", ".log", ".o", ".pftrace", ".pprof",
           ".prof", ".pyc", ".sqlite", ".so", ".svg", ".whl", ".xz", ".zip", ".zst"}
OUTPUT_FOLDERS = ("tests/golden/", "tests/cli/cases/", "tests/fuzz/corpus/",
                  "tests/gpu/recorded/", "tests/oracle/corpus/", "tests/oracle/expected/")

C_FILES = {".c", ".h", ".hpp", ".cpp"}
CODE_FILES = C_FILES | {".py", ".pyi", ".sh", ".build", ".js", ".css"}
TEXT_FILES = CODE_FILES | {".md", ".scd", ".toml", ".txt", ".in", ".map", ".stdout", ".stderr"}
MACHINE_PATH = re.compile(r"(?<![\w.}$])/(?:work|home(?!/(?:me|you|user)\b)|root|Users)/[\w.-]+")
UNFINISHED = re.compile(r"\b(TO" r"DO|FIX" r"ME|XX" r"X|HA" r"CK)\b(?:\((\w+)\))?")
C_HEAD = re.compile(r"^[A-Za-z_].*\(", re.S)
C_CONTROL = re.compile(r"^( *)(?:\} )?(?:if|for|while|switch|do|else)\b")
SYSTEM = re.compile(r'^\s*#\s*include\s+([<"])([^>"]+)[>"]')
INCLUDE = re.compile(r'^\s*#\s*include\s+(?:"([^"]+)"|<(annot/[^>]+)>)')


class Tree:
    """The files to check, and the violations found."""

    def __init__(self, root):
        self.root = Path(root)
        self.found = []
        self.files = sorted(path for path in self.list_files("-co") if path.suffix in TEXT_FILES)
        self.committed = sorted(self.list_files("-c"))
        self.folder_of = {}
        self.path_of = {}
        news = self.root / "NEWS.md"
        self.news = news.read_text() if news.exists() else ""

    def list_files(self, kinds):
        """"-c": files under version control, "-co": also files that are not ignored."""
        try:
            names = subprocess.run(
                ["git", "-C", str(self.root), "ls-files", "-z", kinds, "--exclude-standard"],
                capture_output=True, check=True).stdout.decode().split("\0")
        except (OSError, subprocess.CalledProcessError):
            names = [str(path.relative_to(self.root)) for path in self.root.rglob("*")
                     if not path.relative_to(self.root).parts[0].startswith(("build", "."))]
        return [Path(name) for name in names if name and (self.root / name).is_file()]

    def report(self, path, line, rule, what):
        self.found.append((str(path), line, rule, what))


def check_text(tree, path, lines):
    """Rules for every text: length, width, licence, unfinished places, paths of machines."""
    code = path.suffix in CODE_FILES
    if code and len(lines) > FILE_LINES:
        tree.report(path, len(lines), "file-lines", f"{len(lines)} lines, limit {FILE_LINES}")
    head = lines[1:2] if lines and lines[0].startswith("#!") else lines[:1]
    if code and not (head and "SPDX-License-Identifier: MIT" in head[0]):
        tree.report(path, 1, "spdx", "the first line names no licence")
    for number, line in enumerate(lines, 1):
        if code and len(line) > COLUMNS:
            tree.report(path, number, "columns", f"{len(line)} columns, limit {COLUMNS}")
        match = UNFINISHED.search(line)
        if code and match and not (match.group(2) and match.group(2) in tree.news):
            tree.report(path, number, "unfinished", f"{match.group(1)} without a line in NEWS.md")
        match = MACHINE_PATH.search(line)
        if match:
            tree.report(path, number, "machine-path", match.group(0))


def strip_c(text):
    """Comments, strings and character constants blanked, line structure kept."""
    def blank(match):
        return re.sub(r"[^\n]", " ", match.group(0))
    return re.sub(r'/\*.*?\*/|//[^\n]*|"(?:\\.|[^"\\\n])*"|\'(?:\\.|[^\'\\\n])*\'', blank, text,
                  flags=re.S)


def count_parameters(head):
    """Parameters of the last parenthesised list of a function's head."""
    depth, commas, inside, start = 0, 0, "", None
    for position, character in enumerate(head):
        if character == "(":
            depth += 1
            if depth == 1:
                commas, start = 0, position
        elif character == ")":
            depth -= 1
            if depth == 0:
                inside = head[start + 1:position].strip()
        elif character == "," and depth == 1:
            commas += 1
    return 0 if inside in ("", "void") else commas + 1


def c_functions(lines):
    """(first line of the head, line of '{', line of '}') of each function, counted from 0."""
    start = None
    for number, line in enumerate(lines):
        if line and not line[0].isspace() and line[0] not in "#{}/":
            if number == 0 or not lines[number - 1].strip() or lines[number - 1][0] in "}#;/" \
                    or lines[number - 1].rstrip().endswith(("}", ";")):
                start = number
        if line.startswith("{") and start is not None:
            head = " ".join(lines[start:number])
            if C_HEAD.match(head) and "=" not in head.split("(")[0]:
                end = next((i for i in range(number, len(lines)) if lines[i].startswith("}")),
                           len(lines) - 1)
                yield start, number, end
            start = None


def check_c(tree, path, lines):
    clean = strip_c("\n".join(lines)).split("\n")
    for start, opening, end in c_functions(clean):
        head = " ".join(clean[start:opening])
        words = re.findall(r"(\w+)\s*\(", head)
        name = words[-1] if words and words[0].startswith("__") else (words or ["?"])[0]
        if end - start + 1 > FUNCTION_LINES:
            tree.report(path, start + 1, "function-lines",
                        f"{name}: {end - start + 1} lines, limit {FUNCTION_LINES}")
        if count_parameters(head) > PARAMETERS:
            tree.report(path, start + 1, "parameters",
                        f"{name}: {count_parameters(head)}, limit {PARAMETERS}")
        for number in range(opening + 1, end):
            match = C_CONTROL.match(clean[number])
            if match and len(match.group(1)) // 4 > NESTING:
                tree.report(path, number + 1, "nesting",
                            f"{name}: {len(match.group(1)) // 4} levels, limit {NESTING}")
    if len(lines) < 2 or not lines[1].startswith(("/*", "//")):
        tree.report(path, 2, "file-comment", "no comment says what the file is for")


def python_depth(node, depth=0):
    blocks = (ast.If, ast.For, ast.While, ast.With, ast.Try, ast.AsyncFor, ast.AsyncWith)
    deepest = depth
    for child in ast.iter_child_nodes(node):
        if isinstance(child, (ast.FunctionDef, ast.AsyncFunctionDef, ast.Lambda)):
            continue
        chained = isinstance(node, ast.If) and isinstance(child, ast.If) and \
            node.orelse == [child] and child.col_offset == node.col_offset
        inner = depth + (isinstance(child, blocks) and not chained)
        deepest = max(deepest, python_depth(child, inner))
    return deepest


def check_python(tree, path, text):
    try:
        module = ast.parse(text)
    except SyntaxError as error:
        tree.report(path, error.lineno or 1, "python-syntax", str(error))
        return
    for node in ast.walk(module):
        if not isinstance(node, (ast.FunctionDef, ast.AsyncFunctionDef)):
            continue
        length = node.end_lineno - node.lineno + 1
        # Keyword-only parameters are not counted: their names appear at every call.
        names = [argument.arg for argument in node.args.posonlyargs + node.args.args]
        count = len([name for name in names if name not in ("self", "cls")])
        depth = python_depth(node)
        if length > FUNCTION_LINES:
            tree.report(path, node.lineno, "function-lines",
                        f"{node.name}: {length} lines, limit {FUNCTION_LINES}")
        if count > PARAMETERS and path.suffix != ".pyi":
            tree.report(path, node.lineno, "parameters",
                        f"{node.name}: {count}, limit {PARAMETERS}")
        if depth > NESTING:
            tree.report(path, node.lineno, "nesting",
                        f"{node.name}: {depth} levels, limit {NESTING}")


def layer_of(path):
    """The row of INCLUDES that a file belongs to, or None: tests may include anything."""
    for folder in (path.parent, *path.parent.parents):
        if str(folder) in INCLUDES:
            return str(folder)
    return None


def check_includes(tree, path, lines):
    layer = layer_of(path)
    if layer is None:
        return
    for number, line in enumerate(lines, 1):
        match = INCLUDE.match(line)
        if not match:
            continue
        name = Path(match.group(1) or match.group(2)).name
        target = tree.folder_of.get(name)
        if target and target != layer and target not in INCLUDES[layer]:
            tree.report(path, number, "include", f"{layer} may not use {name} of {target}")


def system_headers(tree, path, seen):
    """Names of system headers in the order in which the file includes them."""
    for line in (tree.root / path).read_text(errors="replace").splitlines():
        match = SYSTEM.match(line)
        if not match:
            continue
        ours = tree.path_of.get(Path(match.group(2)).name)
        if match.group(1) == "<" and not match.group(2).startswith("annot/"):
            yield match.group(2)
        elif ours is not None and ours not in seen:
            seen.add(ours)
            yield from system_headers(tree, ours, seen)


ATTRIBUTE = re.compile(r"__attribute__\(\((?:[^()]|\([^()]*\))*\)\)")
DECLARED = re.compile(r"^(?!static|typedef|return|#)[A-Za-z_][\w \t\n*]*?\b(\w+)\([^;{}]*\)"
                      r"[^;{}()]*;", re.M)


def leads_to(path, header):
    """Returns true if the name of a source leads to the header."""
    return path.stem == header.stem or path.stem.startswith(header.stem + "_")


def functions_of(clean):
    """Names of the functions of a text that other files can call."""
    lines = clean.split("\n")
    heads = (ATTRIBUTE.sub("", " ".join(lines[start:opening])).strip()
             for start, opening, _ in c_functions(lines))
    return [re.search(r"(\w+)\s*\(", head).group(1) for head in heads
            if not head.startswith("static")]


def check_doors(tree):
    """Each function is declared where the name of its file leads."""
    doors = {}
    clean = {path: strip_c((tree.root / path).read_text(errors="replace")) for path in tree.files
             if path.suffix in C_FILES and path.parts[0] != "tests" and str(path.parent) != PUBLIC}
    sources = [path for path in clean if path.suffix == ".c"
               and not path.stem.endswith("_none")]  # replaces others in some builds
    definers = {name: path for path in sources for name in functions_of(clean[path])}
    for header, text in clean.items():
        names = DECLARED.findall(ATTRIBUTE.sub("", text)) if header.suffix == ".h" else []
        files = {definers[name]: name for name in names if name in definers
                 and definers[name].parts[0] == header.parts[0]}
        doors[header] = len(files)
        for path, name in files.items():
            if not leads_to(path, header):
                tree.report(header, 1, "door", f"{name} is of {path.name}")
    for header, count in doors.items():
        if count > DOOR_FILES:
            tree.report(header, 1, "door", f"of {count} files, limit {DOOR_FILES}")


def reachable(uses, start):
    """All files that `start` reaches through calls."""
    found, waiting = set(), [start]
    while waiting:
        for other in uses[waiting.pop()] - found:
            found.add(other)
            waiting.append(other)
    return found


def calls(tree):
    """Maps each file to the files with functions it calls, by name, where it may include their
    headers."""
    clean = {path: strip_c((tree.root / path).read_text(errors="replace")) for path in tree.files
             if path.suffix == ".c" and layer_of(path)}
    definers = {name: path for path, text in clean.items() for name in functions_of(text)
                if name != "main"}
    uses = {}
    for path, text in clean.items():
        layer = layer_of(path)
        own = set(re.findall(r"^static\b[^;=({]*?\b(\w+)\(", text, re.M))
        called = set(re.findall(r"\b\w+\b", text)) & definers.keys() - own
        uses[path] = {definers[name] for name in called
                      if layer_of(definers[name]) in (layer, *INCLUDES[layer])} - {path}
    return uses


def check_cycles(tree):
    """Reports large cycles of files that call each other."""
    uses = calls(tree)
    reach = {path: reachable(uses, path) for path in uses}
    known = set()
    for path in uses:
        circle = {other for other in reach[path] if path in reach[other]}
        if len(circle) > CYCLE_FILES and path not in known:
            names = " ".join(sorted(other.name for other in circle))
            tree.report(max(circle), 1, "cycle", f"of {len(circle)} files: {names}")
        known |= circle


def check_python_first(tree, path):
    """Python.h defines macros that the C library's headers test."""
    headers = list(system_headers(tree, path, set()))
    if "Python.h" in headers and headers[0] != "Python.h":
        tree.report(path, 1, "python-first", f"{headers[0]} comes before Python.h")


def check_names(tree):
    first = {}
    for path in tree.files:
        if path.suffix not in C_FILES:
            continue
        if path.name in first:
            tree.report(path, 1, "file-name", f"also the name of {first[path.name]}")
        first.setdefault(path.name, path)
        if path.suffix in (".h", ".hpp"):
            tree.folder_of[path.name] = layer_of(path)
            tree.path_of[path.name] = path


def check_words(tree):
    """Counts the words of a folder's files together."""
    for folder in PLAIN:
        texts = [words.prose(path, (tree.root / path).read_text(errors="replace"))
                 for path in tree.files if folder in (str(path), *map(str, path.parents))]
        for word, count, allowed in words.over_budget("\n".join(texts)):
            tree.report(folder, 1, "words", f"{count} times {word}, limit {allowed}: words.py -v")


def check_outputs(tree):
    """Rejects output of runs under version control."""
    for path in tree.committed:
        if path.parts[0] not in TOP:
            tree.report(path, 1, "output", "not among what lies at the top (TOP in tidy.py)")
        elif path.suffix in OUTPUTS and not str(path).startswith(OUTPUT_FOLDERS):
            tree.report(path, 1, "output", f"{path.suffix} is what a run leaves")


def check(root, exceptions):
    """All violations outside the exceptions, and unused exceptions."""
    tree = Tree(root)
    check_names(tree)
    check_outputs(tree)
    check_doors(tree)
    check_cycles(tree)
    check_words(tree)
    for path in tree.files:
        text = (tree.root / path).read_text(errors="replace")
        lines = text.split("\n")
        if lines and not lines[-1]:
            lines.pop()
        check_text(tree, path, lines)
        if path.suffix in C_FILES:
            check_c(tree, path, lines)
            check_includes(tree, path, lines)
            check_python_first(tree, path)
        elif path.suffix in (".py", ".pyi"):
            check_python(tree, path, text)
    used = {(path, rule) for path, _, rule, _ in tree.found}
    left = [entry for entry in tree.found if (entry[0], entry[2]) not in exceptions]
    left += [(path, 1, "exception", f"{rule}: listed in tidy.py, but not needed")
             for path, rule in exceptions if (path, rule) not in used]
    return sorted(left)


C_START = "/* SPDX-License-Identifier: MIT */\n/* A file. */\n"
GOOD = C_START + """
static int sum(int a, int b)
{
    for (int i = 0; i < b; i++) {
        if (a > 3) {
            while (a--)
                b++; /* "if (" in a comment or a string is no level */
        }
    }
    return a + b;
}
"""
DEEP = GOOD.replace("            while (a--)\n                b++;",
                    "            while (a--) {\n                if (b)\n                    b++;\n"
                    "            }\n           ")
PYTHON_START = "# SPDX-License-Identifier: MIT\n"
PLANTED = [
    ("file-lines", "tools/a.c", GOOD + "int x;\n" * FILE_LINES),
    ("columns", "tools/a.c", GOOD + "int " + "x" * 100 + ";\n"),
    ("spdx", "tools/a.c", "/* no licence */\n/* A file. */\n"),
    ("file-comment", "tools/a.c", "/* SPDX-License-Identifier: MIT */\nint x;\n"),
    ("unfinished", "tools/a.c", GOOD + "/* TO" "DO: finish */\n"),
    ("machine-path", "docs/a.md", "see /" + "home/somebody/annot\n"),
    ("function-lines", "tools/a.c", C_START + "int f(void)\n{\n" + "    f();\n" * 70 + "}\n"),
    ("parameters", "tools/a.c",
     C_START + "int f(int a, int b, int c, int d, int e,\n      int (*g)(int, int))\n{\n}\n"),
    ("nesting", "tools/a.c", DEEP),
    ("include", "collector/model/a.c", C_START + '#include "base.h"\n#include "shape.h"\n'),
    ("include", "pyannot/src/a.c", C_START + "#include \"shape.h\"\n"),
    ("file-name", "collector/model/shape.h", C_START),
    ("door", "collector/machine/unwind/other.h", C_START + "int once_more(int a);\n"),
    ("cycle", f"tools/ring{CYCLE_FILES}.c",
     C_START + f"int ring{CYCLE_FILES}(void)\n{{\n    return ring0();\n}}\n"),
    ("python-first", "pyannot/src/a.c", C_START + '#include <stdio.h>\n\n#include "python.h"\n'),
    ("words", "README.md", "What it records is what it reports.\n"),
    ("output", "pipeline-report/report.txt", "1 files\n"),
    ("output", "hello.svg", "<svg/>\n"),
    ("output", "examples/pipeline/files.csv", "path,bytes\n"),
    ("output", "tests/system/run.annot", "ANNOT"),
    ("function-lines", "tests/a.py", PYTHON_START + "def f():\n" + "    f()\n" * 70),
    ("parameters", "tests/a.py", PYTHON_START + "def f(a, b, c, d, e, g):\n    pass\n"),
    ("nesting", "tests/a.py", PYTHON_START + "def f():\n    if 1:\n        for x in f():\n"
     "            while x:\n                if x:\n                    pass\n"),
]
CLEAN = {
    "tools/good.c": GOOD,
    "collector/base/base.h": C_START,
    "collector/model/good_model.c": C_START + '#include "base.h"\n',
    "tests/golden/export/a.csv": "path,bytes\n",
    "pyannot/src/python.h": C_START + "#include <Python.h>\n#include <stdlib.h>\n",
    "pyannot/src/good_module.c": C_START + '#include "python.h"\n\n#include <stdio.h>\n',
    "pyannot/src/other_module.c": C_START + '#include "python.h"\n',
    "collector/formats/shape.h": C_START,
    **{f"tools/ring{i}.c": C_START + f"int ring{i}(void)\n{{\n    return ring{i + 1}();\n}}\n"
       for i in range(CYCLE_FILES)},
    "collector/machine/unwind/once.h": C_START + "struct once *once_make(int a,\n    int b);\n",
    "collector/machine/unwind/once_more.c": C_START + '#include "once.h"\n\nint once_more(int a)\n'
    "{\n}\n\nstruct once *once_make(int a, int b)\n{\n}\n\nstatic int own(void)\n{\n}\n",
    "collector/formats/export_x.c": C_START + '#include "base.h"\n#include "shape.h"\n',
    "collector/formats/export_y.c": C_START + '#include "shape.h"\n',
    "tests/good.py": PYTHON_START + "def f(a):\n    if a:\n        pass\n    elif f(a):\n"
    "        pass\n    elif f(1):\n        pass\n    elif f(2):\n        pass\n",
}


def check_planted(files):
    with tempfile.TemporaryDirectory() as root:
        for name, text in files.items():
            path = Path(root) / name
            path.parent.mkdir(parents=True, exist_ok=True)
            path.write_text(text)
        return check(root, {})


def self_test():
    failures = [f"clean tree: {entry}" for entry in check_planted(CLEAN)]
    for rule, name, text in PLANTED:
        found = check_planted({**CLEAN, name: text})
        if [entry[2] for entry in found if entry[0] == name] != [rule] * len(found) or not found:
            failures.append(f"{rule} planted in {name}, found {found}")
    with tempfile.TemporaryDirectory() as root:
        if [entry[2] for entry in check(root, {("a.c", "nesting"): "gone"})] != ["exception"]:
            failures.append("an exception that nothing needs went unnoticed")
    for failure in failures:
        print(failure)
    print(f"{len(PLANTED) + 2 - len(failures)} of {len(PLANTED) + 2} planted cases behave")
    return 1 if failures else 0


def main():
    if sys.argv[1:] == ["--self-test"]:
        return self_test()
    root = sys.argv[1] if len(sys.argv) > 1 else Path(__file__).resolve().parent.parent
    violations = check(root, EXCEPTIONS)
    for path, line, rule, what in violations:
        print(f"{path}:{line}: {rule}: {what}")
    print(f"{len(violations)} violations")
    return 1 if violations else 0


if __name__ == "__main__":
    sys.exit(main())
