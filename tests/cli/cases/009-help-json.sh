# SPDX-License-Identifier: MIT
# One command as JSON; the whole table is JSON; other output is not.
annot help --json info && annot help --json | python3 -c '
import json, sys
table = json.load(sys.stdin)
names = [command["name"] for command in table["commands"]]
print(len(names) == len(set(names)), "record" in names, "help" in names)
for command in table["commands"]:
    for option in command["options"]:
        assert option["kind"] in ("flag", "text", "count", "time", "size", "choice", "list",
                                  "number", "command", "parts"), option
        assert ("value" in option) != (option["kind"] in ("flag", "choice")), option
        assert ("parts" in option) == (option["kind"] == "parts") and option.get("parts") != []
'
annot help --json nothing
