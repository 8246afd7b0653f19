/* SPDX-License-Identifier: MIT */
/* Arguments that were told of calls which have not ended. What the program points to was read once,
 * in the kernel; what it says is foreign: texts are bounded, and so is how many different ones a
 * recording has. */
#include "probes.h"

#include "hash.h"
#include "trace.h"

#include <errno.h>
#include <stddef.h>
#include <string.h>

enum { ENTERED_MAX = 32768, TEXTS_MAX = 100000 };

struct call_id {
    uint64_t begin_ns;
    uint32_t function;
    int32_t pid, tid;
    uint32_t ends; /* of its end */
};

static struct call_id id_of(const struct sampler_head *head, uint32_t function, uint64_t begin_ns,
                            bool ends)
{
    return (struct call_id){begin_ns, function, head->pid, head->tid, ends};
}

static uint64_t key_of(const struct call_id *id)
{
    return hash_bytes(id, sizeof(*id)) | 1;
}

static const struct probe_args *list_of(const struct arg_lists *lists,
                                        const struct sampler_probed_args *record)
{
    return record->list < lists->all.count ? &lists->all.items[record->list] : NULL;
}

/* Records without texts are shorter. */
static void copy(struct sampler_probed_args *to, const struct sampler_probed_args *record)
{
    size_t size = record->head.size < sizeof(*to) ? record->head.size : sizeof(*to);
    memset(to, 0, sizeof(*to));
    memcpy(to, record, size);
}

int probe_args_take(struct entered_calls *entered, const struct arg_lists *lists,
                    const struct sampler_probed_args *record)
{
    static const struct sampler_probed_args empty;
    const struct probe_args *list = list_of(lists, record);
    uint32_t index = (uint32_t)entered->items.count;
    if (!list) {
        entered->lost++;
        return 0;
    }
    const struct call_id id =
        id_of(&record->head, record->function, record->head.time_ns, list->ends);
    if (entered->free.count > 0) {
        index = entered->free.items[--entered->free.count];
    } else if (index >= ENTERED_MAX) {
        entered->lost++;
        return 0;
    } else if (vec_push(&entered->items, empty) != 0 || vec_reserve(&entered->free, index + 1)) {
        return -ENOMEM;
    }
    copy(&entered->items.items[index], record);
    return map64_put(&entered->by_call, key_of(&id), index);
}

static int64_t add_unread(struct trace *trace)
{
    static const char unread[] = "(cannot be read)";
    return trace_string_add(trace, unread, sizeof(unread) - 1);
}

/* A text that cannot be read is no text. */
static int64_t add_text(struct entered_calls *entered, const struct sampler_probed_args *record,
                        uint32_t index, struct trace *trace)
{
    static const char beyond[] = "(too many different texts)";
    int32_t bytes = record->got[index];
    uint32_t before = trace_string_count(trace);
    if (record->values[index] == 0 && bytes != SAMPLER_ARG_LOST)
        return trace_string_add(trace, "NULL", 4);
    if (bytes <= 0 || bytes > SAMPLER_ARG_TEXT_SIZE)
        return add_unread(trace);
    if (entered->texts >= TEXTS_MAX) {
        entered->cut++;
        return trace_string_add(trace, beyond, sizeof(beyond) - 1);
    }
    int64_t text = trace_string_add(trace, record->texts[index], (size_t)bytes - 1);
    entered->texts += trace_string_count(trace) - before;
    return text;
}

static int64_t as_signed(uint64_t value, unsigned size)
{
    unsigned unused = size > 0 && size < 8 ? 64 - 8 * size : 0;
    return (int64_t)(value << unused) >> unused;
}

static uint64_t as_unsigned(uint64_t value, unsigned size)
{
    return size > 0 && size < 8 ? value & ((UINT64_C(1) << 8 * size) - 1) : value;
}

static double as_float(uint64_t value, unsigned size)
{
    float narrow;
    double wide;
    memcpy(&narrow, &value, sizeof(narrow));
    memcpy(&wide, &value, sizeof(wide));
    return size == sizeof(narrow) ? (double)narrow : wide;
}

/* The name of an enumeration's value, where it has one. */
static uint32_t choice_of(const struct arg_lists *lists, const struct probe_arg *told,
                          uint64_t value)
{
    for (uint32_t i = 0; i < told->choice_count; i++) {
        const struct arg_choice *choice = &lists->choices.items[told->first_choice + i];
        if (as_unsigned((uint64_t)choice->value, told->size) == as_unsigned(value, told->size))
            return choice->name;
    }
    return 0;
}

static struct arg number_of(const struct arg_lists *lists, const struct probe_arg *told,
                            uint64_t value)
{
    uint32_t choice = choice_of(lists, told, value);
    struct arg arg = {.kind = VALUE_UINT64, .value = {.uint64 = as_unsigned(value, told->size)}};
    if (choice)
        arg = (struct arg){.kind = VALUE_STRING, .value = {.string = choice}};
    else if (told->type == CODE_SIGNED)
        arg = (struct arg){.kind = VALUE_INT64, .value = {.int64 = as_signed(value, told->size)}};
    else if (told->type == CODE_FLOAT)
        arg = (struct arg){.kind = VALUE_DOUBLE, .value = {.float64 = as_float(value, told->size)}};
    else if (told->type == CODE_BOOL)
        arg.kind = VALUE_BOOL;
    return arg;
}

static int make_args(struct entered_calls *entered, const struct arg_lists *lists,
                     const struct sampler_probed_args *record, struct trace *trace,
                     struct arg *args)
{
    const struct probe_args *list = list_of(lists, record);
    uint32_t count = list ? list->count : 0;
    for (uint32_t i = 0; i < count; i++) {
        const struct probe_arg *told = &list->items[i];
        bool has_text = told->type == CODE_TEXT || told->type == CODE_COUNTED_TEXT;
        bool lost = record->got[i] < 0;
        int64_t text = told->text ? told->text
                       : has_text ? add_text(entered, record, i, trace)
                       : lost     ? add_unread(trace)
                                  : 0;
        if (text < 0)
            return (int)text;
        args[i] = number_of(lists, told, record->values[i]);
        if (told->text || has_text || lost)
            args[i] = (struct arg){.kind = VALUE_STRING, .value = {.string = (uint32_t)text}};
        args[i].key = told->key;
    }
    return (int)count;
}

static bool is_of(const struct sampler_probed_args *record, const struct sampler_probed *call)
{
    return record->function == call->function && record->head.pid == call->head.pid &&
           record->head.tid == call->head.tid && record->head.time_ns == call->begin_ns;
}

/* NULL: nothing is known. Stays until the next is taken. */
static const struct sampler_probed_args *find_record(struct entered_calls *entered,
                                                     const struct sampler_probed *call, bool ends)
{
    const struct call_id id = id_of(&call->head, call->function, call->begin_ns, ends);
    uint64_t index;
    if (!map64_take(&entered->by_call, key_of(&id), &index))
        return NULL;
    const struct sampler_probed_args *record = &entered->items.items[index];
    entered->free.items[entered->free.count++] = (uint32_t)index;
    if (is_of(record, call))
        return record;
    entered->lost++;
    return NULL;
}

/* What the end tells again. How many are left. */
static int without_known(const struct arg *known, int known_count, struct arg *args, int count)
{
    int kept = 0;
    for (int i = 0; i < count; i++) {
        bool is_known = false;
        for (int k = 0; k < known_count; k++)
            is_known |= known[k].key == args[i].key;
        if (!is_known)
            args[kept++] = args[i];
    }
    return kept;
}

int probe_args_end(struct entered_calls *entered, const struct arg_lists *lists,
                   const struct sampler_probed *call, struct trace *trace, struct arg *args)
{
    const struct sampler_probed_args *begin = find_record(entered, call, false);
    int begun = begin ? make_args(entered, lists, begin, trace, args) : 0;
    const struct sampler_probed_args *end = begun < 0 ? NULL : find_record(entered, call, true);
    int ended = end ? make_args(entered, lists, end, trace, args + begun) : 0;
    if (begun < 0 || ended < 0)
        return begun < 0 ? begun : ended;
    return begun + without_known(args, begun, args + begun, ended);
}

void entered_calls_fini(struct entered_calls *entered)
{
    map64_free(&entered->by_call);
    vec_free(&entered->items);
    vec_free(&entered->free);
}
