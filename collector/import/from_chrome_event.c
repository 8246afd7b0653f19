/* SPDX-License-Identifier: MIT */
/* The members of one event of a Chrome trace, in whatever order they stand. */
#include "from_chrome_parts.h"

#include "hash.h"

#include <errno.h>
#include <string.h>

/* ---- Values ---------------------------------------------------------------------------------- */

const struct from_chrome_key_name from_chrome_keys[CHROME_KEYS] = {
    [CHROME_KEY_GRID] = {"grid", QUEUE_KEY_GRID},
    [CHROME_KEY_BLOCK] = {"block", QUEUE_KEY_BLOCK},
    [CHROME_KEY_REGISTERS] = {"registers per thread", QUEUE_KEY_REGISTERS},
    [CHROME_KEY_SHARED] = {"shared memory", QUEUE_KEY_SHARED},
    [CHROME_KEY_OCCUPANCY] = {"est. achieved occupancy %", QUEUE_KEY_OCCUPANCY},
    [CHROME_KEY_BYTES] = {"bytes", QUEUE_KEY_BYTES},
    [CHROME_KEY_EXTERNAL] = {"External id", "external id"},
};

/* A scalar. False: it is none, or none that can be kept. */
static bool take_scalar(struct from_chrome_reader *reader, const struct json_token *token,
                        struct arg *arg)
{
    int64_t number;
    switch (token->kind) {
    case JSON_STRING:
        arg->kind = VALUE_STRING;
        arg->value.string = import_string(reader->sink, token->text, token->length);
        return true;
    case JSON_TRUE:
    case JSON_FALSE:
        arg->kind = VALUE_BOOL;
        arg->value.uint64 = token->kind == JSON_TRUE;
        return true;
    case JSON_NUMBER:
        if (json_int(token, &number)) {
            arg->kind = VALUE_INT64;
            arg->value.int64 = number;
            return true;
        }
        arg->kind = VALUE_DOUBLE;
        return json_double(token, &arg->value.float64);
    default:
        return false;
    }
}

/* "[64,1,1]" as "64,1,1". */
static uint32_t text_without_brackets(struct from_chrome_reader *reader, const struct text *text)
{
    size_t inner = text->length >= 2 && text->buffer[0] == '[' ? 1 : 0;
    return import_string(reader->sink, text->buffer + inner, text->length - 2 * inner);
}

static bool is_dimensions(const struct from_chrome_reader *reader, uint32_t key)
{
    return key == reader->keys[CHROME_KEY_GRID] || key == reader->keys[CHROME_KEY_BLOCK];
}

static int take_value(struct from_chrome_reader *reader, const struct json_token *token,
                      struct arg *arg)
{
    bool nested = token->kind == JSON_OBJECT || token->kind == JSON_ARRAY;
    struct text text = text_init(reader->copy, sizeof(reader->copy));
    if (!nested)
        return take_scalar(reader, token, arg);
    int error = json_copy(&reader->json, token, &text);
    if (error)
        return error;
    arg->kind = VALUE_STRING;
    if (text.length + 1 >= text.size)
        reader->sink->left[LEFT_VALUES]++;
    arg->value.string = is_dimensions(reader, arg->key)
                            ? text_without_brackets(reader, &text)
                            : import_string(reader->sink, text.buffer, text.length);
    return 1;
}

static void note_int(const struct arg *arg, int64_t *ret_value, bool *ret_has)
{
    *ret_has = arg->kind == VALUE_INT64;
    *ret_value = *ret_has ? arg->value.int64 : 0;
}

/* What else a value is; `text` is its key. */
static void note_known(struct from_chrome_reader *reader, const char *text, const struct arg *arg)
{
    struct from_chrome_event *event = &reader->event;
    struct from_chrome_known *known = &event->known;
    bool ignored;
    if (strcmp(text, "correlation") == 0 || strcmp(text, "correlation_id") == 0)
        note_int(arg, &known->correlation, &known->has_correlation);
    else if (strcmp(text, "device") == 0)
        note_int(arg, &known->device, &known->has_device);
    else if (strcmp(text, "stream") == 0)
        note_int(arg, &known->stream, &known->has_stream);
    else if (strcmp(text, "context") == 0)
        note_int(arg, &known->context, &known->has_context);
    else if (strcmp(text, "line") == 0)
        note_int(arg, &known->line, &ignored);
    else if (strcmp(text, "file") == 0 && arg->kind == VALUE_STRING)
        known->file = arg->value.string;
    else if ((strcmp(text, "name") == 0 || strcmp(text, "labels") == 0) &&
             arg->kind == VALUE_STRING)
        event->meta = arg->value.string;
}

static void note_key(struct from_chrome_reader *reader, uint32_t key, const char *text)
{
    for (unsigned i = 0; i < CHROME_KEYS; i++)
        if (!reader->keys[i] && strcmp(from_chrome_keys[i].text, text) == 0)
            reader->keys[i] = key;
}

static int read_arg(struct from_chrome_reader *reader, const struct json_token *key)
{
    struct json_token token;
    struct arg arg = {.key = import_string(reader->sink, key->text, key->length)};
    const char *text = trace_string(reader->sink->trace, arg.key)->bytes;
    note_key(reader, arg.key, text);
    int more = json_next(&reader->json, &token);
    if (more < 0)
        return more;
    int kept = take_value(reader, &token, &arg);
    if (kept < 0)
        return kept;
    note_known(reader, text, &arg);
    if (token.kind == JSON_NULL)
        return 0;
    if (!kept || reader->args.count >= SINK_ARGS_MAX) {
        reader->sink->left[LEFT_VALUES]++;
        return 0;
    }
    return vec_push(&reader->args, arg);
}

static int read_args(struct from_chrome_reader *reader, const struct json_token *first)
{
    struct json_token token;
    if (first->kind != JSON_OBJECT)
        return json_skip(&reader->json, first);
    for (;;) {
        int more = json_next(&reader->json, &token);
        if (more < 0)
            return more;
        if (token.kind == JSON_OBJECT_END)
            return 0;
        int error = read_arg(reader, &token);
        if (error)
            return error;
    }
}

/* ---- Members --------------------------------------------------------------------------------- */

static void take_id(struct from_chrome_reader *reader, const struct json_token *token,
                    struct import_id *id, bool *ret_has)
{
    *ret_has = token->kind == JSON_NUMBER || token->kind == JSON_STRING;
    *id = (struct import_id){0};
    if (*ret_has && !json_int(token, &id->number))
        id->text = import_string(reader->sink, token->text, token->length);
}

/* Numbers and texts: 12 and "12" are one, "0xc" and "12" are not. */
static void take_pair_id(struct from_chrome_event *event, const struct json_token *token,
                         bool local)
{
    if (token->kind != JSON_NUMBER && token->kind != JSON_STRING)
        return;
    event->has_id = true;
    event->id_local = local;
    event->id = hash_bytes(token->text, token->length);
}

static int read_id2(struct from_chrome_reader *reader, const struct json_token *first)
{
    struct json_token token;
    if (first->kind != JSON_OBJECT)
        return json_skip(&reader->json, first);
    for (;;) {
        int more = json_next(&reader->json, &token);
        if (more < 0 || token.kind == JSON_OBJECT_END)
            return more < 0 ? more : 0;
        bool local = token.length == strlen("local") && memcmp(token.text, "local", 5) == 0;
        more = json_next(&reader->json, &token);
        if (more < 0)
            return more;
        take_pair_id(&reader->event, &token, local);
        int error = json_skip(&reader->json, &token);
        if (error)
            return error;
    }
}

enum member {
    MEMBER_OTHER,
    MEMBER_PHASE,
    MEMBER_NAME,
    MEMBER_CATEGORY,
    MEMBER_PID,
    MEMBER_TID,
    MEMBER_TS,
    MEMBER_DUR,
    MEMBER_ID,
    MEMBER_ID2,
    MEMBER_ARGS,
};

static enum member member_of(const struct json_token *key)
{
    static const struct {
        const char text[8];
        uint8_t length, member;
    } members[] = {
        {"ph", 2, MEMBER_PHASE}, {"name", 4, MEMBER_NAME}, {"cat", 3, MEMBER_CATEGORY},
        {"pid", 3, MEMBER_PID},  {"tid", 3, MEMBER_TID},   {"ts", 2, MEMBER_TS},
        {"dur", 3, MEMBER_DUR},  {"args", 4, MEMBER_ARGS}, {"id", 2, MEMBER_ID},
        {"id2", 3, MEMBER_ID2},
    };

    for (size_t i = 0; i < sizeof(members) / sizeof(*members); i++)
        if (key->length == members[i].length &&
            memcmp(key->text, members[i].text, key->length) == 0)
            return (enum member)members[i].member;
    return MEMBER_OTHER;
}

static void take_text(struct from_chrome_reader *reader, const struct json_token *token,
                      uint32_t *ret_text)
{
    if (token->kind == JSON_STRING || token->kind == JSON_NUMBER)
        *ret_text = import_string(reader->sink, token->text, token->length);
}

static int take_member(struct from_chrome_reader *reader, enum member member,
                       const struct json_token *token)
{
    struct from_chrome_event *event = &reader->event;
    switch (member) {
    case MEMBER_PHASE:
        if (token->kind == JSON_STRING && token->length == 1)
            event->phase = token->text[0];
        break;
    case MEMBER_NAME:
        take_text(reader, token, &event->name);
        break;
    case MEMBER_CATEGORY:
        take_text(reader, token, &event->category);
        break;
    case MEMBER_PID:
        take_id(reader, token, &event->pid, &event->has_pid);
        break;
    case MEMBER_TID:
        take_id(reader, token, &event->tid, &event->has_tid);
        break;
    case MEMBER_TS:
        event->has_ts = json_time(token, 1000, &event->ts_ns);
        break;
    case MEMBER_DUR:
        event->has_dur = json_time(token, 1000, &event->dur_ns);
        break;
    case MEMBER_ID:
        take_pair_id(event, token, false);
        break;
    case MEMBER_ID2:
        return read_id2(reader, token);
    case MEMBER_ARGS:
        return read_args(reader, token);
    default:
        break;
    }
    return json_skip(&reader->json, token);
}

int from_chrome_event_read(struct from_chrome_reader *reader)
{
    struct json_token token;
    reader->event = (struct from_chrome_event){0};
    reader->args.count = 0;
    for (;;) {
        int more = json_next(&reader->json, &token);
        if (more < 0 || token.kind == JSON_OBJECT_END)
            return more < 0 ? more : reader->sink->error;
        enum member member = member_of(&token);
        more = json_next(&reader->json, &token);
        int error = more < 0 ? more : take_member(reader, member, &token);
        if (error)
            return error;
    }
}
