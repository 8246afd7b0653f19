/* SPDX-License-Identifier: MIT */
/* Exports the format of cProfile: a dict of functions with their numbers and callers, in Python's
 * marshal format (version 2, which every Python 3 reads). pstats.Stats(FILE), snakeviz and
 * gprof2dot open it.
 *
 * {(file, line, name): (primitive calls, calls, own, total, callers)}, where callers is {(file,
 * line, name): (calls, primitive calls, own, total)}, times in seconds. As in cProfile, functions
 * not written in Python have the file "~" and line 0. Thread-safety: none. */
#include "call_keys.h"
#include "export.h"

#include <errno.h>
#include <string.h>

/* ---- marshal --------------------------------------------------------------------------------- */

static void put_word(struct out_stream *out, char type, uint32_t word)
{
    uint8_t *at = out_reserve(out, 5);
    at[0] = (uint8_t)type;
    for (int i = 0; i < 4; i++)
        at[1 + i] = (uint8_t)(word >> 8 * i);
    out_advance(out, 5);
}

/* A long has digits of 15 bits. */
static void put_integer(struct out_stream *out, uint64_t value)
{
    uint32_t digits = 0;
    if (value <= INT32_MAX) {
        put_word(out, 'i', (uint32_t)value);
        return;
    }
    for (uint64_t rest = value; rest > 0; rest >>= 15)
        digits++;
    put_word(out, 'l', digits);
    for (; value > 0; value >>= 15) {
        const uint8_t digit[] = {(uint8_t)value, (uint8_t)(value >> 8 & 0x7f)};
        out_write(out, digit, sizeof(digit));
    }
}

static void put_seconds(struct out_stream *out, uint64_t time_ns)
{
    double seconds = (double)time_ns / 1e9;
    uint64_t bits;
    uint8_t bytes[8];
    memcpy(&bits, &seconds, sizeof(bits));
    for (int i = 0; i < 8; i++)
        bytes[i] = (uint8_t)(bits >> 8 * i);
    out_write(out, "g", 1);
    out_write(out, bytes, sizeof(bytes));
}

static void put_string(struct out_stream *out, const char *text, const char *ending)
{
    size_t size = strnlen(text, INT32_MAX / 2), more = strlen(ending);
    put_word(out, 'u', (uint32_t)(size + more));
    out_write(out, text, size);
    out_write(out, ending, more);
}

static void put_key(struct out_stream *out, const struct call_key *key)
{
    put_word(out, '(', 3);
    put_string(out, key->file ? key->file : "~", "");
    put_integer(out, key->file && key->line > 0 ? (uint64_t)key->line : 0);
    put_string(out, key->name, key->estimated ? CALL_KEY_ESTIMATED : "");
}

static void put_times(struct out_stream *out, const struct call_numbers *sum)
{
    put_seconds(out, sum->own_ns);
    put_seconds(out, sum->total_ns);
}

/* ---- The file -------------------------------------------------------------------------------- */

/* Writes the edges of the callee, starting at `at`. Returns the first edge of the next callee. */
static uint32_t put_callers(struct out_stream *out, const struct call_keys *keys, uint32_t callee,
                            uint32_t at)
{
    out_write(out, "{", 1);
    for (; at < keys->edge_count && keys->edges[at].callee == callee; at++) {
        const struct call_numbers *sum = &keys->edges[at].sum;
        put_key(out, &keys->keys[keys->edges[at].caller]);
        put_word(out, '(', 4);
        put_integer(out, sum->calls);
        put_integer(out, sum->primitive);
        put_times(out, sum);
    }
    out_write(out, "0", 1);
    return at;
}

static void put_all(struct out_stream *out, const struct call_keys *keys)
{
    uint32_t at = 0;
    out_write(out, "{", 1);
    for (uint32_t i = 0; i < keys->key_count; i++) {
        const struct call_key *key = &keys->keys[i];
        put_key(out, key);
        put_word(out, '(', 5);
        put_integer(out, key->sum.primitive);
        put_integer(out, key->sum.calls);
        put_times(out, &key->sum);
        at = put_callers(out, keys, i, at);
    }
    out_write(out, "0", 1);
}

static int end(void *state)
{
    struct calls_export *s = state;
    struct call_keys keys;
    int error = calls_export_finish(s, true, &keys);
    if (!error)
        put_all(s->job->out, &keys);
    call_keys_fini(&keys);
    return error;
}

extern const struct exporter export_pstats;
const struct exporter export_pstats = {
    .name = "pstats",
    .extension = ".pstats",
    .summary = "counts of calls, as cProfile writes them: for pstats, snakeviz, gprof2dot",
    .carries = "counts and times of calls, with callers",
    .viewer = "with python3 -m pstats",
    .binary = true,
    .counts_calls = true,
    .wants = WANT_EVENTS | WANT_SAMPLES | WANT_PATHS,
    .state_size = sizeof(struct calls_export),
    .begin = calls_export_begin,
    .take = calls_export_take,
    .end = end,
    .destroy = calls_export_destroy,
};
