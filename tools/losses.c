/* SPDX-License-Identifier: MIT */
/* Implements losses.h. */
#include "losses.h"

#include "cmd.h"
#include "missing.h"
#include "term.h"

#include <string.h>

/* ---- Samples, stacks, waits ------------------------------------------------------------------ */

/* OF_EXECS: stacks; each exec may cost one, which is never significant. */
enum whole { OF_NOTHING, OF_SAMPLES, OF_STRETCHES, OF_STACKS, OF_EXECS };

struct meaning {
    const char *begins; /* prefix of the fact's name; the first match counts */
    enum whole whole;
    const char *means;
};

static const char waits_missing[] =
    "These waits are in no table; inside ranges their time counts as running.";

static const struct meaning meanings[] = {
    {"samples: ", OF_SAMPLES, "CPU times are too low by that much."},
    {"stretches off the CPU: ", OF_STRETCHES, waits_missing},
    {"context switches: ", OF_STRETCHES, waits_missing},
    {"stacks: taken during an exec", OF_EXECS, "Their time counts, but for no function."},
    {"stacks: cut, ", OF_STACKS, "Their time counts; the outer functions are missing."},
    {"stacks: ", OF_STACKS, "Their time counts; some or all of their functions are missing."},
    {"names of Python functions: ", OF_NOTHING, "They appear as [python code not read]."},
    {"ranges of samples: ", OF_STACKS, "Their time counts as outside all ranges."},
    {"starts and ends of processes: ", OF_NOTHING,
     "Some processes may lack their name, their parent or their end."},
    {"processes: their start was not told", OF_NOTHING, "They may lack their name and parent."},
    {TRACE_FACT_UNWATCHED, OF_NOTHING, "What they did after that is missing and was not counted."},
    {"processes: ended before", OF_NOTHING, "Their functions have no names."},
    {"processes: became another user's", OF_NOTHING, "What they did after that is missing."},
    {"processes: reached late", OF_NOTHING,
     "What they emitted before is missing; annot info says when each was reached."},
    {"processes: in other annot directories", OF_NOTHING, "What they emitted is missing."},
    {"processes: more than", OF_NOTHING, "The others were not sampled."},
    {"mappings of processes: ", OF_NOTHING, "Some of their stacks end early."},
    {"texts: ", OF_NOTHING, "They appear as \"(too many different texts)\"."},
    {"unwind ", OF_NOTHING, "Stacks through some libraries end early."},
};

static const struct meaning *meaning_of(const char *name)
{
    static const struct meaning unknown = {"", OF_NOTHING, NULL};
    for (size_t i = 0; i < sizeof(meanings) / sizeof(*meanings); i++)
        if (strncmp(name, meanings[i].begins, strlen(meanings[i].begins)) == 0)
            return &meanings[i];
    return &unknown;
}

/* The total that the loss is part of, including it; 0: unknown. */
static uint64_t whole_of(const struct trace_fact *fact, enum whole whole,
                         const struct sample_wholes *wholes)
{
    switch (whole) {
    case OF_SAMPLES:
        return wholes->samples + fact->value;
    case OF_STRETCHES:
        return wholes->stretches + fact->value;
    case OF_STACKS:
    case OF_EXECS:
        return wholes->samples + wholes->stretches;
    case OF_NOTHING:
    default:
        return 0;
    }
}

static bool is_loss(const struct trace_fact *fact)
{
    return fact->kind == FACT_LOSS && fact->value != 0;
}

bool sample_loss_any(const struct trace *trace)
{
    for (uint32_t i = 0; i < trace_fact_count(trace); i++)
        if (is_loss(trace_fact_get(trace, i)))
            return true;
    return false;
}

bool sample_loss_counts(const struct trace *trace, const struct sample_wholes *wholes)
{
    for (uint32_t i = 0; i < trace_fact_count(trace); i++) {
        const struct trace_fact *fact = trace_fact_get(trace, i);
        const struct meaning *meaning = meaning_of(trace_string(trace, fact->name)->bytes);
        if (is_loss(fact) && meaning->whole != OF_EXECS &&
            fact->value * 100 >= whole_of(fact, meaning->whole, wholes))
            return true;
    }
    return false;
}

/* "13 of 7,731 stretches off the CPU", then the cause between around[0] and around[1]. */
static void print_loss(const struct trace *trace, const struct trace_fact *fact,
                       const struct sample_wholes *wholes, const char *const around[2],
                       FILE *stream)
{
    const char *name = trace_string(trace, fact->name)->bytes;
    size_t length = strcspn(name, ":");
    char count[NUMBER_TEXT_SIZE], of[NUMBER_TEXT_SIZE];
    uint64_t whole = whole_of(fact, meaning_of(name)->whole, wholes);
    fputs(number_count(fact->value, count), stream);
    if (whole >= fact->value)
        fprintf(stream, " of %s", number_count(whole, of));
    fputs(" ", stream);
    term_write(stream, name, length);
    if (!name[length])
        return;
    name += length + 1;
    name += strspn(name, " ");
    fputs(around[0], stream);
    term_write(stream, name, strlen(name));
    fputs(around[1], stream);
}

void sample_loss_print(const struct trace *trace, const struct sample_wholes *wholes, FILE *stream)
{
    static const char *const around[2] = {": ", ""};
    for (uint32_t i = 0; i < trace_fact_count(trace); i++) {
        const struct trace_fact *fact = trace_fact_get(trace, i);
        const char *means = meaning_of(trace_string(trace, fact->name)->bytes)->means;
        if (!is_loss(fact))
            continue;
        fputs("  ", stream);
        print_loss(trace, fact, wholes, around, stream);
        fprintf(stream, means ? "\n      %s\n" : "\n", means);
    }
}

void sample_loss_print_short(const struct trace *trace, const struct sample_wholes *wholes,
                             FILE *stream)
{
    static const char *const around[2] = {" (", ")"};
    const char *separator = "";
    for (uint32_t i = 0; i < trace_fact_count(trace); i++) {
        const struct trace_fact *fact = trace_fact_get(trace, i);
        if (!is_loss(fact))
            continue;
        fputs(separator, stream);
        print_loss(trace, fact, wholes, around, stream);
        separator = ", ";
    }
}

static void put_queued(void *context, const struct missing *missing)
{
    char number[NUMBER_TEXT_SIZE];
    if (missing->kind == MISSING_QUEUED)
        fprintf(context, "  %s %s\n", number_count(missing->count, number), missing->what);
}

void queue_loss_print(const struct trace *trace, FILE *stream)
{
    missing_each(trace, NULL, put_queued, stream);
}

/* ---- Records --------------------------------------------------------------------------------- */

void loss_print(const uint64_t *lost)
{
    char text[NUMBER_TEXT_SIZE];
    const char *separator = "";
    for (unsigned cause = 0; cause < LOSS_COUNT; cause++) {
        if (!lost[cause])
            continue;
        printf("%s%s %s", separator, number_count(lost[cause], text), loss_name((enum loss)cause));
        separator = ", ";
    }
    printf("\n");
}

/* ---- Standard error -------------------------------------------------------------------------- */

/* All entries of one kind on one line. */
struct line {
    enum missing_kind kind;
    const char *before;
    bool begun;
};

static void put(void *context, const struct missing *missing)
{
    struct line *line = context;
    char number[NUMBER_TEXT_SIZE];
    if (missing->kind != line->kind)
        return;
    fputs(line->begun ? ", " : line->before, stderr);
    number_count(missing->count, number);
    if (line->kind == MISSING_RECORDS)
        fprintf(stderr, "%s (%s)", number, missing->what);
    else
        fprintf(stderr, "%s %s", number, missing->what);
    line->begun = true;
}

static void print_line(const struct trace *trace, enum missing_kind kind, const char *before)
{
    struct line line = {.kind = kind, .before = before};
    missing_each(trace, NULL, put, &line);
    if (line.begun)
        fputs("\n", stderr);
}

void loss_note_records(const struct trace *trace)
{
    print_line(trace, MISSING_RECORDS, "annot: LOST records: ");
}

void loss_note_samples(const struct trace *trace, const struct sample_wholes *wholes)
{
    if (!sample_loss_any(trace))
        return;
    fputs(sample_loss_counts(trace, wholes) ? "annot: LOST: " : "annot: missing: ", stderr);
    sample_loss_print_short(trace, wholes, stderr);
    fputs("\n", stderr);
}

void loss_note_queues(const struct trace *trace)
{
    print_line(trace, MISSING_QUEUED, "annot: MISSING: ");
}

void loss_note_calls(const struct trace *trace)
{
    print_line(trace, MISSING_CALLS, "annot: remarkable calls: ");
}

void loss_note(const struct trace *trace, const struct sample_wholes *wholes)
{
    char number[NUMBER_TEXT_SIZE];
    uint32_t refused = trace_refusal_count(trace);
    loss_note_records(trace);
    loss_note_samples(trace, wholes);
    loss_note_queues(trace);
    if (refused)
        cmd_note("%s %s could not take part\nannot info says why", number_count(refused, number),
                 refused == 1 ? "process" : "processes");
    loss_note_calls(trace);
}

/* ---- JSON members ---------------------------------------------------------------------------- */

void missing_json_lost(struct json_doc *doc, const char *key, const uint64_t *lost)
{
    json_doc_object(doc, key);
    for (unsigned cause = 0; cause < LOSS_COUNT; cause++)
        if (lost[cause])
            json_doc_uint(doc, loss_name((enum loss)cause), lost[cause]);
    json_doc_close(doc);
}

void missing_json_facts(struct json_doc *doc, const struct trace *trace, enum fact_kind kind,
                        const char *key)
{
    json_doc_object(doc, key);
    for (uint32_t i = 0; i < trace_fact_count(trace); i++) {
        const struct trace_fact *fact = trace_fact_get(trace, i);
        const struct trace_string *name = trace_string(trace, fact->name);
        if (fact->kind != kind || !fact->value)
            continue;
        json_doc_key(doc, name->bytes, name->length, "");
        json_doc_uint(doc, NULL, fact->value);
    }
    json_doc_close(doc);
}

void missing_json_calls(struct json_doc *doc, const struct trace *trace)
{
    static const char *const keys[MISUSE_COUNT] = {
        [MISUSE_POP_EMPTY] = "pop_without_push", [MISUSE_END_FOREIGN] = "end_of_unknown_range",
        [MISUSE_NAME_CUT] = "name_cut",          [MISUSE_NAME_INLINE] = "name_in_full",
        [MISUSE_PAYLOAD_CUT] = "key_values_cut", [MISUSE_SCHEMA] = "struct_not_as_its_schema",
        [MISUSE_NAME_LEFT] = "name_left_out",
    };
    uint64_t counts[MISUSE_COUNT];
    misuse_sums(trace, counts);
    json_doc_object(doc, "remarkable_calls");
    for (unsigned kind = 0; kind < MISUSE_COUNT; kind++)
        if (counts[kind])
            json_doc_uint(doc, keys[kind], counts[kind]);
    json_doc_close(doc);
}

void missing_json_refused(struct json_doc *doc, const struct trace *trace)
{
    json_doc_array(doc, "refused");
    for (uint32_t i = 0; i < trace_refusal_count(trace); i++) {
        const struct trace_refusal *refusal = trace_refusal_get(trace, i);
        json_doc_object(doc, NULL);
        json_doc_int(doc, "pid", refusal->pid);
        json_doc_text(doc, "name", trace_string(trace, refusal->comm)->bytes);
        json_doc_text(doc, "reason", trace_string(trace, refusal->reason)->bytes);
        json_doc_close(doc);
    }
    json_doc_close(doc);
}
