# SPDX-License-Identifier: MIT
annot set
annot set --enable io
annot set -p 1 a.annot
annot set -p 1,2 --reset
annot set a b
annot set -p 0
annot set --gpu-window yes
annot set --gpu-window on
annot record --enable , -- true
annot record --enable io:8 -- true
annot record --enable :3 -- true
annot record --disable io:2 -- true
annot record --enable "$(printf 'io%0240d' 1)" -- true
annot record $(seq -f '--enable=d%g' 33) -- true
annot record --sampling=none -o a.annot -- sh -c '
    annot set b.annot; annot set 0123456789abcdef --reset
    annot set --enable io:17; annot set' 2>&1 |
    sed 's/^session .*/session/;s/^recording .*\//recording /'
annot set --trace-functions=none
annot set --trace-functions=off,c-calls
annot set --trace-select a.py
annot set --trace-functions
annot set --trace-return
