# SPDX-License-Identifier: MIT
"""The tables for annot.fish.in: one `complete` for each option and operand."""

LISTS = {
    "recordings": "(__annot_recordings)",
    "directories": "(__fish_complete_directories (commandline -ct))",
    "pids": "(__fish_complete_list , __annot_pids)",
    "sessions": "(__annot_sessions)",
    "commands": "(__annot_commands)",
    "command": "(__annot_complete_command)",
}


def quoted(text):
    return "'" + text.replace("\\", "\\\\").replace("'", "\\'") + "'"


def value(option):
    if not option.kind:
        return ""
    if option.kind == "words":
        return " -x -a " + quoted(" ".join(option.words))
    if option.kind == "files":
        return " -r -F"
    return " -x -a " + quoted(LISTS[option.kind]) if option.kind in LISTS else " -x"


def lines(command):
    begin = f"complete -c annot -n '__annot_is {command.name}'"
    for option in command.options:
        letter = f" -s {option.letter}" if option.letter else ""
        yield f"{begin}{letter} -l {option.name}{value(option)} -d {quoted(option.summary)}"
    if command.is_followed:
        begin = f"complete -c annot -n '__annot_runs {command.name}'"
    for kind in command.operands:
        yield f"{begin} -a {quoted(LISTS[kind])}"


def write(commands):
    with_value = [spelling for command in commands for option in command.options if option.kind
                  for spelling in option.spellings if command.is_followed]
    followed = [command.name for command in commands if command.is_followed]
    names = [f"    printf '%s\\t%s\\n' {command.name} {quoted(command.summary)}"
             for command in commands]
    return "\n".join(["function __annot_commands", *names, "end", "",
                      "# Their operands are a command line; options of theirs that take a value.",
                      f"set -g __annot_followed {' '.join(followed)}",
                      f"set -g __annot_with_value {' '.join(with_value)}", "",
                      *(line for command in commands for line in lines(command))])
