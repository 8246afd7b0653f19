#!/usr/bin/env python3
# SPDX-License-Identifier: MIT
"""Fills what the program's tables know into the man pages.

    fill_pages.py TABLE OUT_FOLDER PAGE...

TABLE is what `annot help --json` prints. In a page, the line `@options@` becomes the options of its
command, `@commands@` all commands. Prose for one of them follows the line, headed by its name, and
is put behind what the table says:

    @options@

    *--pid*
    	Threads of other users ...

Prose for what the table has not is an error, so pages cannot outlive an option.
"""

import json
import pathlib
import re
import sys

MARKER = re.compile(r"^@(options|commands)@\n", re.M)
SECTION = re.compile(r"^# ", re.M)
ENTRY = re.compile(r"^\*(?:--)?([\w-]+)\*\n((?:\t.*\n|\n)*)", re.M)
ABOUT = re.compile(r"(?:--)?[a-z-]+(?:, [a-z-]+)*: ")


def plain(text):
    """Text as scdoc shows it unchanged."""
    return re.sub(r"([\\*_~\[\]<>#|])", r"\\\1", text)


def value(text):
    """The placeholders of "DIR[:DIR...]" underlined."""
    return re.sub(r"[A-Z][A-Z0-9]*", r"_\g<0>_", text.replace("...", "…")).replace("…", "...")


def sentence(text):
    """A phrase as one; that it is about "folded: ..." only stays as one types it."""
    return (text if ABOUT.match(text) else text[0].upper() + text[1:]) + "."


def option_head(option):
    head = f"*-{option['letter']}*, " if "letter" in option else ""
    head += f"*--{option['name']}*"
    if option["kind"] == "choice":
        return head + " _WORD_"
    if option["kind"] == "parts":
        return head + "[=_PART_,...]"
    return head + (" " + value(option["value"]) if "value" in option else "")


def option_text(option):
    text = sentence(plain(option["help"]))
    if "choices" in option:
        text = f"{text[:-1]}: *" + "*, *".join(map(plain, option["choices"])) + "*."
    for part in option.get("parts", []):
        head = f"*{plain(part['name'])}*" + (f"=_{part['value']}_" if "value" in part else "")
        text += f"\n\n\t{head}: {option_text(part)}"
    if "default" in option:
        text += f" The default is {plain(option['default'])}."
    return text


def entries(items, prose):
    """(name, head, text, group) of all, each with the prose of its name, below their groups."""
    lines, last = [], None
    for name, head, text, group in items:
        if group != last:
            lines.append(f"## {group[0].upper()}{group[1:]}\n")
            last = group
        more = prose.pop(name, "").strip("\n")
        between = "\n" if "\n\n" in text else ""  # a list of parts is a paragraph of its own
        lines.append(f"{head}\n\t{text}\n" + (f"{between}{more}\n" if more else ""))
    return "\n".join(lines)


def command_items(table, pages):
    for command in table["commands"]:
        name, head = command["name"], f"*{command['name']}*"
        page = f": *annot-{name}*(1)" if f"annot-{name}.1.scd" in pages else ""
        yield name, head, sentence(plain(command["summary"]) + page), None


def option_items(table, page):
    name = page.removeprefix("annot-").removesuffix(".1.scd")
    for command in table["commands"]:
        if command["name"] == name:
            for option in command["options"]:
                yield option["name"], option_head(option), option_text(option), option.get("group")
            return
    sys.exit(f"{page}: no command {name}")


def fill(table, path, pages):
    page = path.read_text()
    marker = MARKER.search(page)
    if not marker:
        return page
    behind = SECTION.search(page, marker.end())
    end = behind.start() if behind else len(page)
    own = page[marker.end():end]
    prose = dict(ENTRY.findall(own))
    rest = ENTRY.sub("", own).strip("\n")
    if rest:
        sys.exit(f"{path.name}: below @{marker[1]}@ prose is headed by a name alone, as *--limit*: "
                 f"{rest.splitlines()[0]}")
    items = (command_items(table, pages) if marker[1] == "commands"
             else option_items(table, path.name))
    filled = entries(items, prose)
    if prose:
        sys.exit(f"{path.name}: the program has no " + ", ".join(prose))
    return page[:marker.start()] + filled + "\n" + page[end:]


def main():
    table = json.loads(pathlib.Path(sys.argv[1]).read_text())
    out, pages = pathlib.Path(sys.argv[2]), [pathlib.Path(path) for path in sys.argv[3:]]
    names = {page.name for page in pages}
    for page in pages:
        (out / page.name).write_text(fill(table, page, names))


if __name__ == "__main__":
    main()
