# SPDX-License-Identifier: MIT
"""The option tables for completions: each value and operand has the kinds, of KINDS, that it
accepts."""

import dataclasses
import json
import pathlib
import re

# words: the choices; command: a command line; none: free text.
KINDS = ("words", "files", "recordings", "directories", "pids", "sessions", "commands", "command",
         "none")

BY_NAME = {"FILE": "files", "DIR": "directories", "PID": "pids", "RECORDING": "recordings",
           "SESSION": "sessions", "COMMAND": "commands"}


@dataclasses.dataclass
class Option:
    name: str
    letter: str
    summary: str
    kind: str  # "": without a value
    value: str
    words: list

    @property
    def spellings(self):
        return ([f"-{self.letter}"] if self.letter else []) + [f"--{self.name}"]


@dataclasses.dataclass
class Command:
    name: str
    summary: str
    options: list
    operands: list  # kinds

    @property
    def is_followed(self):
        """True if the operands are a command line."""
        return self.operands == ["command"]


def brief(text):
    """The text up to its first semicolon."""
    return text.split("; ")[0].removesuffix("; one of")


def kind_of_value(option):
    if option["kind"] in ("flag", "parts"):
        return ""
    if option["kind"] == "choice":
        return "words"
    value = option.get("value", "")
    # "PID|TEXT" is a process in a recording, not a running one.
    return BY_NAME.get(re.match(r"[A-Z]*", value)[0], "none") if "|" not in value else "none"


def kinds_of_operands(command):
    if command["command_follows"]:
        return ["command"]
    usage = command["usage"].replace("[OPTIONS]", "")
    usage = re.sub(r"(?<![\w-])--?[a-z-]+[ =]\S+", "", usage)  # a required option
    kinds = []
    for word in re.findall(r"[A-Z]+", usage):
        kind = BY_NAME.get(word, "recordings" if len(word) == 1 else "none")  # diff A B
        kind = "recordings" if kind == "files" else kind
        if kind not in kinds + ["none"]:
            kinds.append(kind)
    return kinds


def load(path):
    commands = []
    for command in json.loads(pathlib.Path(path).read_text())["commands"]:
        options = [Option(option["name"], option.get("letter", ""), brief(option["help"]),
                          kind_of_value(option), option.get("value", "WORD"),
                          option.get("choices", []))
                   for option in command["options"]]
        commands.append(Command(command["name"], command["summary"], options,
                                kinds_of_operands(command)))
    return commands
