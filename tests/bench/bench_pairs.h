/* SPDX-License-Identifier: MIT */
/* Loops of pairs, as programs write them. */
#ifndef ANNOT_BENCH_PAIRS_H
#define ANNOT_BENCH_PAIRS_H

#include <annot/annot.h>

static void run_macro(int pairs)
{
    for (int i = 0; i < pairs; i++) {
        ANNOT_PUSH("bench");
        ANNOT_POP();
    }
}

static void run_text(int pairs)
{
    for (int i = 0; i < pairs; i++) {
        annot_push("bench by text");
        annot_pop();
    }
}

#endif
