# SPDX-License-Identifier: MIT
"""The tables for annot.bash.in: functions of one case each."""


def function(name, cases):
    lines = [f"{name}() {{", "    case $1 in"]
    lines += [f"    {pattern}) REPLY='{value}' ;;" for pattern, value in cases]
    return "\n".join(lines + ["    *) return 1 ;;", "    esac", "}"])


def values(commands):
    for command in commands:
        for option in command.options:
            if option.kind:
                pattern = "|".join(f"{command.name}:{spelling}" for spelling in option.spellings)
                yield pattern, " ".join([option.kind, *option.words])


def write(commands):
    names = " ".join(command.name for command in commands)
    options = ((command.name, " ".join(spelling for option in command.options
                                       for spelling in option.spellings))
               for command in commands)
    operands = ((command.name, " ".join(command.operands)) for command in commands
                if command.operands)
    return "\n\n".join([f"_annot_commands='{names}'",
                        "# All options of a command.\n" + function("_annot_options", options),
                        "# What the value of COMMAND:OPTION is; 1: it takes none.\n"
                        + function("_annot_value", values(commands)),
                        "# What the operands of a command are.\n"
                        + function("_annot_operands", operands)])
