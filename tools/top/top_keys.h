/* SPDX-License-Identifier: MIT */
/* Keys, and the screen state that they change. Main thread only. */
#ifndef ANNOT_TOP_KEYS_H
#define ANNOT_TOP_KEYS_H

#include "top.h"

#include <stdbool.h>
#include <stddef.h>

/* State of the screen. */
struct top_state {
    struct top_view view;
    bool frozen, help, ended;
    bool typing;      /* a filter is being typed */
    bool quit, stop;  /* stop: the key that suspends */
    bool reset;       /* requested by a key */
    bool chosen;      /* limit the view to the selected row */
    size_t selected;  /* row */
    size_t first;     /* first visible row */
    size_t row_count; /* rows of the table, and per page */
    size_t page;
    char message[128];
};

/* Input bytes from the terminal. Incomplete sequences wait in `pending`. */
struct top_keys {
    char pending[8];
    size_t count;
};

void top_keys_take(struct top_keys *keys, struct top_state *state, const char *bytes, size_t size);
/* Call when no byte follows: a lone escape counts as a key. */
void top_keys_end(struct top_keys *keys, struct top_state *state);
bool top_keys_wait(const struct top_keys *keys);
/* Lines of help, terminated by NULL. */
extern const char *const top_help[];

#endif
