# SPDX-License-Identifier: MIT
"""The two ways through the code in docs/architecture match the code and keep their length.

    test_ways.py SOURCE

A step is a numbered item: `NAME` in [file](link) (clauses): text. The file must define NAME, and
the file of the step before must name it. Clauses replace the latter:

    from N               the file of step N names it
    from N through `X`   the files of step N and of this step both name X (shared data, callbacks)
    entry                a loop or main calls it

Items with a dash are side roads: the same, but each has a clause for its start, and they do not
count.
"""

import pathlib
import re
import sys

# Page -> the most distinct files in its steps.
PAGES = {"range.md": 20, "sample.md": 25}
ITEM = re.compile(r"^(?:(\d+)\.|-) (.+?)(?=\n(?:\d+\.|-|#|\n)|\Z)", re.MULTILINE | re.DOTALL)
STEP = re.compile(r"`(?:struct )?(\w+)` in \[([^\]]+)\]\(([^)]+)\)(?: \(([^)]*)\))?:")
CLAUSE = re.compile(r"(?:and )?from (\d+)(?: through `(\w+)`)?|entry")


def code(path):
    """A file without comments and string literals."""
    text = path.read_text(encoding="utf-8")
    return re.sub(r'/\*.*?\*/|//[^\n]*|"(?:\\.|[^"\\\n])*"', " ", text, flags=re.DOTALL)


def names(text, name):
    return re.search(rf"\b{name}\b", text) is not None


def defines(text, name):
    """True for a function with a body that begins in the first column, or a struct with members."""
    function = rf"^(?![ \t#]|struct {name}\b)[^;{{}}=]*?\b{name}\([^;{{}}]*\)\s*\{{"
    return re.search(rf"{function}|^struct {name}\s*\{{", text, re.MULTILINE) is not None


class Way:
    """The steps of one page, and their errors."""

    def __init__(self, page, limit):
        self.page = page
        self.limit = limit
        self.steps = []
        self.wrong = []

    def check_clause(self, clause, here, name):
        match = CLAUSE.fullmatch(clause.strip())
        if not match:
            return f"cannot read the clause {clause!r}"
        if match[0] == "entry":
            return None
        number, through = int(match[1]), match[2]
        if not 0 < number <= len(self.steps):
            return f"there is no step {number} before it"
        there = self.steps[number - 1]
        if through:
            good = names(here, through) and names(there, through)
            return None if good else f"it and step {number} do not both name {through}"
        return None if names(there, name) else f"the file of step {number} does not name {name}"

    def check(self, number, text):
        match = STEP.match(" ".join(text.split()))
        if not match:
            self.wrong.append(f"cannot read {text.splitlines()[0]!r}")
            self.steps += [""] if number else []
            return None
        name, label, link, clauses = match.groups()
        path = (self.page.parent / link).resolve()
        here = code(path) if path.is_file() else ""
        if not here:
            self.wrong.append(f"{name}: there is no {link}")
        elif path.name != label:
            self.wrong.append(f"{name}: {label} is a link to {path.name}")
        elif not defines(here, name):
            self.wrong.append(f"{label} does not define {name}")
        if number and int(number) != len(self.steps) + 1:
            self.wrong.append(f"{name}: step {number} stands in place {len(self.steps) + 1}")
        if not clauses and self.steps:
            clauses = f"from {len(self.steps)}"
        for clause in clauses.split(",") if clauses else []:
            problem = self.check_clause(clause, here, name)
            self.wrong += [f"{name} in {label}: {problem}"] if problem else []
        self.steps += [here] if number else []
        return path if number else None

    def run(self, text):
        files = {self.check(number, item) for number, item in ITEM.findall(text)} - {None}
        if not files:
            self.wrong.append("no steps")
        if len(files) > self.limit:
            self.wrong.append(f"{len(files)} files, at most {self.limit}")
        return len(files)


def problems(page, limit, text):
    way = Way(page, limit)
    count = way.run(text)
    return count, way.wrong


def check_the_check(page, limit, text):
    """Each kind of mistake is found."""
    step = ITEM.search(text)
    match = STEP.match(" ".join(step[2].split()))
    name, label = match[1], match[2]
    planted = {
        "a function that is gone": text.replace(f"`{name}`", "`gone_away`", 1),
        "a file that is gone": text.replace(label, "gone_away.c"),
        "a limit": text,
        "a step that nothing calls": text.replace("(entry)", ""),
        "a wrong number": re.sub(r"^2\.", "7.", text, count=1, flags=re.MULTILINE),
        "a step before its time": re.sub(r"\(from \d+", "(from 99", text, count=1),
        "data that is not shared": re.sub(r"through\s+`\w+`", "through `gone_away`", text, count=1),
    }
    before = len(problems(page, limit, text)[1])
    for what, wrong in planted.items():
        found = problems(page, 1 if what == "a limit" else limit, wrong)[1]
        assert len(found) > before, f"{page.name}: {what} that was planted goes unnoticed"


def main():
    root = pathlib.Path(sys.argv[1])
    failed = 0
    for name, limit in PAGES.items():
        page = root / "docs" / "architecture" / name
        text = page.read_text(encoding="utf-8")
        check_the_check(page, limit, text)
        count, wrong = problems(page, limit, text)
        for problem in wrong:
            print(f"docs/architecture/{name}: {problem}")
        print(f"docs/architecture/{name}: {count} files, at most {limit}")
        failed += bool(wrong)
    print(f"{len(PAGES) - failed} passed, {failed} failed, 0 skipped")
    return 1 if failed else 0


if __name__ == "__main__":
    sys.exit(main())
