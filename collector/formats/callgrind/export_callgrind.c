/* SPDX-License-Identifier: MIT */
/* Writes the callgrind format, text for callgrind_annotate and KCacheGrind: each function's own
 * cost and the inclusive cost of its calls.
 *
 * The only cost is wall time in nanoseconds. The recording has no line for a call, so all cost of a
 * function is put on its first line. Each file and function name is written once, with a number.
 * Thread-safety: none. */
#include "call_keys.h"
#include "export.h"
#include "json_writer.h"

#include <errno.h>
#include <stdlib.h>
#include <string.h>

/* ---- Pieces ---------------------------------------------------------------------------------- */

static void put_number(struct out_stream *out, uint64_t number, char separator)
{
    uint8_t *at = out_reserve(out, JSON_INTEGER_MAX + 1), *first = at;
    at = json_put_uint(at, number);
    *at++ = (uint8_t)separator;
    out_advance(out, (size_t)(at - first));
}

/* Writes a name. Characters that would end the line become blanks. An empty name, or one with a
 * leading blank (which readers strip) or parenthesis, gets a leading "_". */
static void put_name(struct out_stream *out, const char *name, const char *ending)
{
    if (!*name || *name == ' ' || *name == '(')
        out_write(out, "_", 1);
    for (const char *at = name; *at;) {
        size_t plain = strcspn(at, "\n\r\t\v\f");
        out_write(out, at, plain);
        at += plain;
        if (*at) {
            out_write(out, " ", 1);
            at++;
        }
    }
    out_text(out, ending);
}

/* State by key. A file or function name is written in full only at its first use. */
struct writing {
    struct out_stream *out;
    const struct call_keys *keys;
    uint32_t *file_of_key; /* the first key of the same file */
    bool *named, *filed;
};

static void put_file(struct writing *w, const char *before, uint32_t key)
{
    uint32_t file = w->file_of_key[key];
    const char *path = w->keys->keys[key].file;
    out_text(w->out, before);
    put_number(w->out, file + 1, ')');
    if (!w->filed[file]) {
        out_text(w->out, " ");
        put_name(w->out, path ? path : "???", "");
    }
    w->filed[file] = true;
    out_text(w->out, "\n");
}

static void put_function(struct writing *w, const char *before, uint32_t key)
{
    const struct call_key *named = &w->keys->keys[key];
    out_text(w->out, before);
    put_number(w->out, key + 1, ')');
    if (!w->named[key]) {
        out_text(w->out, " ");
        put_name(w->out, named->name, named->estimated ? CALL_KEY_ESTIMATED : "");
    }
    w->named[key] = true;
    out_text(w->out, "\n");
}

static uint64_t line_of(const struct call_key *key)
{
    return key->line > 0 ? (uint64_t)key->line : 0;
}

/* ---- The file -------------------------------------------------------------------------------- */

static uint32_t put_key(struct writing *w, uint32_t key, uint32_t at)
{
    const struct call_keys *keys = w->keys;
    out_text(w->out, "\n");
    put_file(w, "fl=(", key);
    put_function(w, "fn=(", key);
    put_number(w->out, line_of(&keys->keys[key]), ' ');
    put_number(w->out, keys->keys[key].sum.own_ns, '\n');
    for (; at < keys->edge_count && keys->edges[at].caller == key; at++) {
        const struct call_edge *edge = &keys->edges[at];
        put_file(w, "cfi=(", edge->callee);
        put_function(w, "cfn=(", edge->callee);
        out_text(w->out, "calls=");
        put_number(w->out, edge->sum.calls, ' ');
        put_number(w->out, line_of(&keys->keys[edge->callee]), '\n');
        put_number(w->out, line_of(&keys->keys[key]), ' ');
        put_number(w->out, edge->sum.total_ns, '\n');
    }
    return at;
}

static void put_head(const struct writing *w, const struct trace *trace)
{
    uint64_t sum_ns = 0;
    const struct trace_session *session = trace_session_get(trace);
    for (uint32_t i = 0; i < w->keys->key_count; i++)
        sum_ns += w->keys->keys[i].sum.own_ns;
    out_text(w->out, "# callgrind format\nversion: 1\ncreator: annot ");
    put_name(w->out, trace_string(trace, session->annot_version)->bytes, "\ncmd: ");
    put_name(w->out, trace_string(trace, session->command)->bytes, "\npart: 1\n");
    out_text(w->out, "positions: line\nevents: Wall_ns\nsummary: ");
    put_number(w->out, sum_ns, '\n');
}

/* Keys are sorted by file. */
static void put_all(struct writing *w, const struct trace *trace)
{
    uint32_t at = 0;
    const struct call_keys *keys = w->keys;
    for (uint32_t i = 0; i < keys->key_count; i++) {
        const char *file = keys->keys[i].file, *last = i ? keys->keys[i - 1].file : NULL;
        bool same = i > 0 && (file && last ? strcmp(file, last) == 0 : file == last);
        w->file_of_key[i] = same ? w->file_of_key[i - 1] : i;
    }
    put_head(w, trace);
    for (uint32_t i = 0; i < keys->key_count; i++)
        at = put_key(w, i, at);
}

static int write_file(const struct calls_export *s, const struct call_keys *keys)
{
    struct writing w = {s->job->out, keys, calloc((size_t)keys->key_count + 1, sizeof(uint32_t)),
                        calloc((size_t)keys->key_count + 1, sizeof(bool)),
                        calloc((size_t)keys->key_count + 1, sizeof(bool))};
    bool made = w.file_of_key && w.named && w.filed;
    if (made)
        put_all(&w, s->job->source->trace);
    free(w.file_of_key);
    free(w.named);
    free(w.filed);
    return made ? 0 : -ENOMEM;
}

static int end(void *state)
{
    struct calls_export *s = state;
    struct call_keys keys;
    int error = calls_export_finish(s, false, &keys);
    if (!error)
        error = write_file(s, &keys);
    call_keys_fini(&keys);
    return error;
}

extern const struct exporter export_callgrind;
const struct exporter export_callgrind = {
    .name = "callgrind",
    .extension = ".callgrind",
    .summary = "counts of calls, for KCacheGrind and callgrind_annotate",
    .carries = "counts and times of calls, with callees",
    .viewer = "with KCacheGrind or callgrind_annotate",
    .counts_calls = true,
    .wants = WANT_EVENTS | WANT_SAMPLES | WANT_PATHS,
    .state_size = sizeof(struct calls_export),
    .begin = calls_export_begin,
    .take = calls_export_take,
    .end = end,
    .destroy = calls_export_destroy,
};
