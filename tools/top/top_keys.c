/* SPDX-License-Identifier: MIT */
/* Handles keys. A terminal sends arrow keys as several bytes, which may arrive separately. See
 * top.h. */
#include "top_keys.h"
#include "top.h"

#include <stdio.h>
#include <string.h>

const char *const top_help[] = {
    "1 - 7     functions, lines, ranges, processes, threads, waits, the GIL",
    "tab       the next of them",
    "t         numbers of the last seconds, or of all since the start",
    "+ -       longer or shorter: 1, 2, 5, 10, 20, 30, 60 s",
    "r         start counting anew",
    "space     freeze, go on",
    "s S       sort by the next column, by the one before",
    "/         show only rows with a text; return keeps it, escape drops it",
    "return    processes and threads: all is of the chosen one only",
    "escape    of all processes and threads again, and all rows",
    "arrows    choose a row; page up, page down, home, end",
    "h ?       this help",
    "q         quit; so does Ctrl-C",
    NULL,
};

enum { ESCAPE = 27, CONTROL_C = 3, CONTROL_Z = 26, BACKSPACE = 127 };

enum key {
    KEY_UP = 256,
    KEY_DOWN,
    KEY_PAGE_UP,
    KEY_PAGE_DOWN,
    KEY_HOME,
    KEY_END,
    KEY_BACK_TAB,
    KEY_UNKNOWN,
};

/* ---- Actions --------------------------------------------------------------------------------- */

static void choose_kind(struct top_state *state, int kind)
{
    state->view.kind = (enum top_kind)((kind + TOP_KINDS) % TOP_KINDS);
    state->view.sort = -1;
    state->selected = state->first = 0;
}

/* Moves to the next or previous column, wrapping around. */
static void choose_sort(struct top_state *state, int step)
{
    int count = 0, present = -1;
    while (top_sort_column(state->view.kind, count) >= 0) {
        int column = top_sort_column(state->view.kind, count);
        bool is_it = state->view.sort >= 0 ? column == state->view.sort
                                           : strcmp(top_column_title(state->view.kind, column),
                                                    top_column_title(state->view.kind, -1)) == 0;
        present = is_it ? count : present;
        count++;
    }
    if (count > 0)
        state->view.sort = top_sort_column(state->view.kind, (present + step + count) % count);
}

static void choose_window(struct top_state *state, int step)
{
    static const int64_t seconds[] = {1, 2, 5, 10, 20, 30, 60};

    int count = (int)(sizeof(seconds) / sizeof(seconds[0])), at = 0;
    while (at + 1 < count && seconds[at] * 1000000000 < state->view.window_ns)
        at++;
    at += step;
    at = at < 0 ? 0 : at >= count ? count - 1 : at;
    state->view.window_ns = seconds[at] * 1000000000;
    state->view.total = false;
}

static void move(struct top_state *state, int64_t by)
{
    int64_t at = (int64_t)state->selected + by, last = (int64_t)state->row_count - 1;
    at = at > last ? last : at;
    state->selected = at < 0 ? 0 : (size_t)at;
}

static void choose_all(struct top_state *state)
{
    state->view.one_process = state->view.one_thread = false;
    state->view.filter[0] = '\0';
}

static void type(struct top_state *state, int key)
{
    size_t length = strlen(state->view.filter);
    if (key == '\r' || key == '\n') {
        state->typing = false;
    } else if (key == ESCAPE) {
        state->typing = false;
        state->view.filter[0] = '\0';
    } else if (key == BACKSPACE || key == '\b') {
        while (length > 0 && (state->view.filter[length - 1] & 0xc0) == 0x80)
            length--; /* the other bytes of a character */
        state->view.filter[length > 0 ? length - 1 : 0] = '\0';
    } else if (key >= ' ' && key < 256 && length + 1 < sizeof(state->view.filter)) {
        state->view.filter[length] = (char)key;
        state->view.filter[length + 1] = '\0';
    }
    state->selected = state->first = 0;
}

static bool act_on_move(struct top_state *state, int key)
{
    int64_t page = state->page > 1 ? (int64_t)state->page - 1 : 1;
    switch (key) {
    case KEY_UP:
    case 'k':
        move(state, -1);
        return true;
    case KEY_DOWN:
    case 'j':
        move(state, 1);
        return true;
    case KEY_PAGE_UP:
        move(state, -page);
        return true;
    case KEY_PAGE_DOWN:
        move(state, page);
        return true;
    case KEY_HOME:
        state->selected = 0;
        return true;
    case KEY_END:
        move(state, (int64_t)state->row_count);
        return true;
    }
    return false;
}

static void act(struct top_state *state, int key)
{
    switch (key) {
    case '\t':
        choose_kind(state, (int)state->view.kind + 1);
        break;
    case KEY_BACK_TAB:
        choose_kind(state, (int)state->view.kind - 1);
        break;
    case 't':
        state->view.total = !state->view.total;
        break;
    case '+':
    case '=':
        choose_window(state, 1);
        break;
    case '-':
        choose_window(state, -1);
        break;
    case 'r':
        state->reset = true;
        break;
    case ' ':
        state->frozen = !state->frozen;
        break;
    case 's':
        choose_sort(state, 1);
        break;
    case 'S':
        choose_sort(state, -1);
        break;
    case '/':
        state->typing = true;
        break;
    case '\r':
    case '\n':
        state->chosen = true;
        break;
    case ESCAPE:
        choose_all(state);
        break;
    case 'h':
    case '?':
        state->help = true;
        break;
    case 'q':
    case 'Q':
        state->quit = true;
        break;
    default:
        if (key >= '1' && key < '1' + TOP_KINDS)
            choose_kind(state, key - '1');
    }
}

static void take_key(struct top_state *state, int key)
{
    state->message[0] = '\0';
    if (key == CONTROL_C)
        state->quit = true;
    else if (key == CONTROL_Z)
        state->stop = true;
    else if (state->help)
        state->help = false, state->quit = key == 'q';
    else if (state->typing)
        type(state, key);
    else if (!act_on_move(state, key))
        act(state, key);
}

/* ---- Bytes ----------------------------------------------------------------------------------- */

/* Decodes ESC [ A, ESC O A, ESC [ 5 ~. Returns the key, and in *ret_size its length in bytes; 0
 * while incomplete. */
static int escaped(const char *bytes, size_t size, size_t *ret_size)
{
    static const struct {
        const char *bytes;
        int key;
    } keys[] = {
        {"[A", KEY_UP},       {"[B", KEY_DOWN},       {"OA", KEY_UP},   {"OB", KEY_DOWN},
        {"[5~", KEY_PAGE_UP}, {"[6~", KEY_PAGE_DOWN}, {"[H", KEY_HOME}, {"[F", KEY_END},
        {"[1~", KEY_HOME},    {"[4~", KEY_END},       {"OH", KEY_HOME}, {"OF", KEY_END},
        {"[Z", KEY_BACK_TAB},
    };

    *ret_size = 0;
    if (size < 2)
        return KEY_UNKNOWN;
    if (bytes[1] != '[' && bytes[1] != 'O') {
        *ret_size = 1;
        return ESCAPE;
    }
    for (size_t i = 0; i < sizeof(keys) / sizeof(keys[0]); i++) {
        size_t length = strlen(keys[i].bytes);
        if (size >= length + 1 && memcmp(bytes + 1, keys[i].bytes, length) == 0) {
            *ret_size = length + 1;
            return keys[i].key;
        }
    }
    for (size_t i = 2; i < size && *ret_size == 0; i++)
        if (bytes[i] >= 0x40 && bytes[i] < 0x7f) /* a final byte */
            *ret_size = i + 1;
    return KEY_UNKNOWN;
}

bool top_keys_wait(const struct top_keys *keys)
{
    return keys->count > 0;
}

void top_keys_end(struct top_keys *keys, struct top_state *state)
{
    if (keys->count == 1)
        take_key(state, ESCAPE);
    keys->count = 0;
}

static void take_pending(struct top_keys *keys, struct top_state *state)
{
    size_t size = 1;
    int key = (unsigned char)keys->pending[0];
    if (key == ESCAPE)
        key = escaped(keys->pending, keys->count, &size);
    if (size == 0 && keys->count < sizeof(keys->pending))
        return;
    if (size == 0) /* unknown sequence */
        size = keys->count;
    keys->count -= size;
    memmove(keys->pending, keys->pending + size, keys->count);
    if (key != KEY_UNKNOWN)
        take_key(state, key);
    if (keys->count > 0)
        take_pending(keys, state);
}

void top_keys_take(struct top_keys *keys, struct top_state *state, const char *bytes, size_t size)
{
    for (size_t i = 0; i < size; i++) {
        keys->pending[keys->count++] = bytes[i];
        take_pending(keys, state);
    }
}
