# SPDX-License-Identifier: MIT
# Rules are printed, changed, and refused if they have no meaning.
run() {
    annot record --sampling=none --force -o a.annot "$@" 2>/dev/null
}
of_filter='s/^session .*/session/;s/^recording .*\//recording /'
run -- sh -c 'annot set --disable noise; annot set --enable noise; annot set --reset' |
    sed "$of_filter"
run --disable log --enable 'log/error:1' -- \
    sh -c 'annot set --enable io,io/disk:2; annot set --disable io/disk a.annot' |
    sed "$of_filter"
run -- sh -c 'annot set --gpu-window off; annot set --gpu-window on --enable io
    annot set; annot set --gpu-window window' | sed "$of_filter"
run --enable io -- sh -c 'annot set; annot set -p $PPID --enable "*"' | sed "$of_filter"
annot info a.annot | sed -n 's/ (from .*//;/^filter/p'
