# SPDX-License-Identifier: MIT
for wrong in "" "-p" "-p x --once" "-p 0 --once" "1" "999999999 --once" "--all-processes 1 --once" \
    "1 --once --show everything" "1 --once --sort nothing" "1 --once --rate 0" \
    "--once --window 0s 1" "--once -- no-such-command" "--once -- nothing.py" "x.annot --once"; do
    annot top $wrong
    echo $?
done
ls
