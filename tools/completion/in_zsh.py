# SPDX-License-Identifier: MIT
"""The tables for annot.zsh.in: arguments of _arguments."""

ACTIONS = {
    "files": "_files",
    "recordings": "_annot_recordings",
    "directories": "_files -/",
    "pids": "_annot_pids",
    "sessions": "_annot_sessions",
    "commands": "_annot_commands",
    "none": " ",
}


def quoted(text):
    return "'" + text.replace("'", "'\\''") + "'"


def description(text):
    for letter in "\\[]:":
        text = text.replace(letter, "\\" + letter)
    return text


def spec(option):
    has_value = bool(option.kind)
    names = [f"-{option.letter}" + "+" * has_value] if option.letter else []
    names.append(f"--{option.name}" + "=" * has_value)
    text = f"[{description(option.summary)}]"
    if option.kind == "words":
        text += f":word:({' '.join(option.words)})"
    elif has_value:
        text += f":{description(option.value.split('[')[0])}:{ACTIONS[option.kind]}"
    # An option with a value may be repeated.
    first = "*" if has_value else "(" + " ".join(option.spellings) + ")"
    return [quoted(first + name + text) for name in names]


def operands(command):
    if command.is_followed:
        return ["'(-)1:command:_command_names -e'", "'*::argument:_normal'"]
    if len(command.operands) == 1:
        return [quoted(f"*:{command.operands[0]}:{ACTIONS[command.operands[0]]}")]
    if command.operands:
        choices = " ".join(f'"{kind}:{kind}:{ACTIONS[kind]}"' for kind in command.operands)
        return [quoted(f"*: :_alternative {choices}")]
    return []


def case(command):
    specs = [text for option in command.options for text in spec(option)] + operands(command)
    return f"    {command.name})\n        _arguments -s -S \\\n            " + \
        " \\\n            ".join(specs) + "\n        ;;"


def write(commands):
    names = "\n".join("        " + quoted(command.name + ":" + description(command.summary))
                      for command in commands)
    return "\n".join(["_annot_commands() {", "    local -a commands=(", names, "    )",
                      "    _describe -t commands 'annot command' commands", "}", "",
                      "_annot_arguments() {", "    case $1 in",
                      *(case(command) for command in commands), "    esac", "}"])
