# SPDX-License-Identifier: MIT
# The findings depend on the machine; the help does not.
annot doctor --help
annot doctor --jason
annot doctor extra
annot=$(command -v annot)
env PATH=/nonexistent HOME=/nonexistent PYENV_ROOT=/nonexistent "$annot" doctor --json >json
grep -o '"group": "[^"]*", "name": "[^"]*"' json
grep -o '^ *"[a-z]*":' json
annot doctor | sed -n '/^[a-zA-Z][a-zA-Z]*$/p'
