# SPDX-License-Identifier: MIT
# Calls of Python: conflicting options are reported before the command runs.
annot record --sampling=none --c-calls -- echo ran
annot record --sampling=none --trace-select x -- echo ran
annot record --sampling=none --trace-functions=every -- echo ran
annot record --sampling=none --trace-functions --python none -- echo ran
annot record --sampling=none --trace-functions --trace-stdlib none -- echo ran
annot record --sampling=none --force --trace-functions -o a.annot -- echo ran 2>/dev/null
annot record --capture-range step --trace-functions=aggregate -- echo ran
annot record --capture-range step --trace-lines a.py -- echo ran
printf '#!/bin/sh\necho ran >&2\n' > pypy3 && chmod +x pypy3
annot record --sampling=none --trace-functions -o pypy.annot -- ./pypy3 2>&1 | sed -n '1,2p'
