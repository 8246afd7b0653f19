/* SPDX-License-Identifier: MIT */
/* Arguments of functions that are ranges. What the program points to is read once, at the entry, in
 * the kernel; what it says is foreign: texts are bounded, and so is how many different ones a
 * recording has. */
#include "probes.h"

#include "hash.h"
#include "trace.h"

#include <ctype.h>
#include <errno.h>
#include <stdio.h>
#include <string.h>

/* Measured where a call took 5.5 us: at most so much more. */
enum { ARGS_NS = 100, TEXT_NS = 50 };

enum { REGISTER_ARGS = 6, ENTERED_MAX = 65536, TEXTS_MAX = 100000 };

static const struct {
    const char *word;
    enum sampler_arg_kind kind;
} kinds[] = {
    {"int", SAMPLER_ARG_INT},     {"uint", SAMPLER_ARG_UINT}, {"long", SAMPLER_ARG_LONG},
    {"ulong", SAMPLER_ARG_ULONG}, {"str", SAMPLER_ARG_STR},
};

/* Of a word that ends at a comma or with the text. Its length; 0: it is none. */
static size_t parse_kind(const char *text, uint8_t *ret_kind)
{
    size_t length = strcspn(text, ",");
    for (size_t i = 0; i < sizeof(kinds) / sizeof(*kinds); i++)
        if (strlen(kinds[i].word) == length && strncmp(text, kinds[i].word, length) == 0) {
            *ret_kind = (uint8_t)kinds[i].kind;
            return length;
        }
    return 0;
}

bool probe_args_parse(const char *text, struct sampler_args *ret_args)
{
    /* rdi, rsi, rdx, rcx, r8, r9 */
    static const uint8_t registers[REGISTER_ARGS] = {7, 6, 2, 1, 8, 9};
    struct sampler_args args = {0};
    for (;;) {
        unsigned number = (unsigned)(*text - '1');
        size_t length = 0;
        if (number >= REGISTER_ARGS || args.count == SAMPLER_ARGS_MAX)
            return false;
        args.numbers[args.count] = (uint8_t)(number + 1);
        args.registers[args.count] = registers[number];
        args.kinds[args.count] = SAMPLER_ARG_INT;
        text++;
        if (*text == '=' && (length = parse_kind(text + 1, &args.kinds[args.count])) == 0)
            return false;
        text += length ? length + 1 : 0;
        args.count++;
        if (*text == '\0')
            break;
        if (*text++ != ',')
            return false;
    }
    *ret_args = args;
    return true;
}

uint64_t probe_args_ns(const struct sampler_args *args)
{
    uint64_t sum_ns = args->count ? ARGS_NS : 0;
    for (uint32_t i = 0; i < args->count; i++)
        sum_ns += args->kinds[i] == SAMPLER_ARG_STR ? TEXT_NS : 0;
    return sum_ns;
}

/* ---- Calls that have not ended --------------------------------------------------------------- */

static uint64_t key_of(const struct sampler_head *head, uint32_t function, uint64_t begin_ns)
{
    const uint64_t parts[3] = {begin_ns, function, (uint32_t)head->pid};
    return hash_bytes(parts, sizeof(parts)) | 1;
}

int probe_args_take(struct entered_calls *entered, const struct sampler_probed_args *record)
{
    uint64_t key = key_of(&record->head, record->function, record->head.time_ns);
    uint32_t index = (uint32_t)entered->items.count;
    if (entered->free.count > 0) {
        index = entered->free.items[--entered->free.count];
    } else if (index >= ENTERED_MAX) {
        entered->lost++;
        return 0;
    } else if (vec_push(&entered->items, *record) != 0 || vec_reserve(&entered->free, index + 1)) {
        return -ENOMEM;
    }
    entered->items.items[index] = *record;
    return map64_put(&entered->by_call, key, index);
}

static bool is_of(const struct sampler_probed_args *record, const struct sampler_probed *call)
{
    return record->function == call->function && record->head.pid == call->head.pid &&
           record->head.time_ns == call->begin_ns;
}

/* A text that cannot be read is no text. */
static int64_t add_text(struct entered_calls *entered, const struct sampler_probed_args *record,
                        uint32_t index, struct trace *trace)
{
    static const char unread[] = "(cannot be read)", beyond[] = "(too many different texts)";
    int32_t bytes = record->text_bytes[index];
    uint32_t before = trace_string_count(trace);
    if (record->values[index] == 0)
        return trace_string_add(trace, "NULL", 4);
    if (bytes <= 0 || bytes > SAMPLER_ARG_TEXT_SIZE)
        return trace_string_add(trace, unread, sizeof(unread) - 1);
    if (entered->texts >= TEXTS_MAX) {
        entered->cut++;
        return trace_string_add(trace, beyond, sizeof(beyond) - 1);
    }
    int64_t text = trace_string_add(trace, record->texts[index], (size_t)bytes - 1);
    entered->texts += trace_string_count(trace) - before;
    return text;
}

static struct arg number_of(uint64_t value, enum sampler_arg_kind kind)
{
    switch (kind) {
    case SAMPLER_ARG_INT:
        return (struct arg){.kind = VALUE_INT64, .value = {.int64 = (int32_t)value}};
    case SAMPLER_ARG_LONG:
        return (struct arg){.kind = VALUE_INT64, .value = {.int64 = (int64_t)value}};
    case SAMPLER_ARG_UINT:
        return (struct arg){.kind = VALUE_UINT64, .value = {.uint64 = (uint32_t)value}};
    default:
        return (struct arg){.kind = VALUE_UINT64, .value = {.uint64 = value}};
    }
}

static int name_arg(struct trace *trace, unsigned number, struct arg *arg)
{
    char name[16];
    int length = snprintf(name, sizeof(name), "arg%u", number);
    int64_t key = trace_string_add(trace, name, (size_t)length);
    arg->key = key > 0 ? (uint32_t)key : 0;
    return key < 0 ? (int)key : 0;
}

static int make_args(struct entered_calls *entered, const struct sampler_probed_args *record,
                     const struct sampler_args *wanted, struct trace *trace, struct arg *args)
{
    int error = 0;
    for (uint32_t i = 0; i < wanted->count && error == 0; i++) {
        args[i] = number_of(record->values[i], wanted->kinds[i]);
        if (wanted->kinds[i] == SAMPLER_ARG_STR) {
            int64_t text = add_text(entered, record, i, trace);
            args[i] = (struct arg){.kind = VALUE_STRING,
                                   .value = {.string = text > 0 ? (uint32_t)text : 0}};
            error = text < 0 ? (int)text : 0;
        }
        if (error == 0)
            error = name_arg(trace, wanted->numbers[i], &args[i]);
    }
    return error ? error : (int)wanted->count;
}

int probe_args_end(struct entered_calls *entered, const struct sampler_probed *call,
                   const struct sampler_args *wanted, struct trace *trace, struct arg *args)
{
    uint64_t index, key = key_of(&call->head, call->function, call->begin_ns);
    if (!map64_take(&entered->by_call, key, &index))
        return 0;
    const struct sampler_probed_args *record = &entered->items.items[index];
    entered->free.items[entered->free.count++] = (uint32_t)index;
    if (is_of(record, call))
        return make_args(entered, record, wanted, trace, args);
    entered->lost++;
    return 0;
}

void entered_calls_fini(struct entered_calls *entered)
{
    map64_free(&entered->by_call);
    vec_free(&entered->items);
    vec_free(&entered->free);
}
