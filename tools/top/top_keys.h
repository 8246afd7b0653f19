/* SPDX-License-Identifier: MIT */
/* Keys, and the state of the screen that they change. Main thread only. */
#ifndef ANNOT_TOP_KEYS_H
#define ANNOT_TOP_KEYS_H

#include "top.h"

#include <stdbool.h>
#include <stddef.h>

/* What one looks at. */
struct top_state {
    struct top_view view;
    bool frozen, help, ended;
    bool typing;      /* a filter */
    bool quit, stop;  /* stop: the key that suspends */
    bool reset;       /* was asked for */
    bool chosen;      /* the selected row is to be the only one */
    size_t selected;  /* row */
    size_t first;     /* row that is shown */
    size_t row_count; /* of the table, and how many are seen at once */
    size_t page;
    char message[128];
};

/* Keys as they come from a terminal. Incomplete ones wait in `pending`. */
struct top_keys {
    char pending[8];
    size_t count;
};

void top_keys_take(struct top_keys *keys, struct top_state *state, const char *bytes, size_t size);
/* Nothing follows: a lone escape is a key. */
void top_keys_end(struct top_keys *keys, struct top_state *state);
bool top_keys_wait(const struct top_keys *keys);
/* Lines of help, NULL ends them. */
extern const char *const top_help[];

#endif
