# SPDX-License-Identifier: MIT
# Calls of Python: conflicting options are reported before the command runs.
annot record --no-sample --c-calls -- echo ran
annot record --no-sample --trace-select x -- echo ran
annot record --no-sample --trace-functions=every -- echo ran
annot record --no-sample --trace-functions --python none -- echo ran
annot record --no-sample --trace-functions --trace-stdlib none -- echo ran
annot record --no-sample --force --trace-functions -o a.annot -- echo ran 2>/dev/null
annot record --capture-range step --trace-functions=aggregate -- echo ran
annot record --capture-range step --trace-lines a.py -- echo ran
