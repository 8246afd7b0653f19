# SPDX-License-Identifier: MIT
make_recording crowded c.annot
annot report c.annot
python3 - <<'END'
import marshal
work, leaf = ("/job/a.py", 1, "work"), ("/job/a.py", 9, "leaf")
many = (9999999999, 9999999999, 2.0, 2.0)
with open("calls.pstats", "wb") as file:
    marshal.dump({work: (12345678, 12345678, 0.5, 2.5, {}), leaf: (*many, {work: many})}, file)
END
annot import calls.pstats -o calls.annot
annot report calls.annot
