/* SPDX-License-Identifier: MIT */
/* Samples of Nsight Systems, and what annot export -f nsys makes of waits. */
#include "from_nsys_parts.h"

#include "nsys_shape.h"
#include "number.h"
#include "stacks.h"

#include <errno.h>
#include <stdio.h>
#include <string.h>

/* Nsight Systems takes 1,000 a second, if nobody says otherwise. */
#define SAMPLE_NS INT64_C(1000000)

enum { QUERY_SIZE = 2048, REASON_SIZE = 64 };

/* Columns of the queries; those of a frame follow. */
enum { AT_NUMBER, AT_START, AT_TID, AT_CPU, AT_VALUE, AT_NAME, AT_SYMBOL };

/* An event with its callchain, a row for each frame, the outermost first. */
struct nsys_chained {
    const char *table, *number, *value, *name; /* columns */
    const char *chains, *chain;                /* table, and the column that leads there */
    bool (*begin)(struct nsys *nsys, sqlite3_stmt *row, struct sample *sample);
};

/* ---- Frames ---------------------------------------------------------------------------------- */

static bool ends_with(const char *text, const char *ending)
{
    size_t length = strlen(text), size = strlen(ending);
    return length >= size && strcmp(text + length - size, ending) == 0;
}

static uint32_t string_at(struct nsys *nsys, sqlite3_stmt *row, int column)
{
    const char *text = (const char *)sqlite3_column_text(row, column);
    int size = sqlite3_column_bytes(row, column);
    return text && size > 0 ? import_string(nsys->sink, text, (size_t)size) : 0;
}

/* The sample's stack gets the row's frame as its leaf. */
static void take_frame(struct nsys *nsys, sqlite3_stmt *row, struct sample *sample)
{
    const char *module = (const char *)sqlite3_column_text(row, AT_SYMBOL + 1);
    struct import_frame frame = {.function = string_at(nsys, row, AT_SYMBOL), .kind = FRAME_NATIVE};
    uint32_t file = string_at(nsys, row, AT_SYMBOL + 1);
    if (!frame.function)
        return;
    if (sqlite3_column_int(row, AT_SYMBOL + 3))
        frame.kind = FRAME_NOTE;
    else if (sqlite3_column_int(row, AT_SYMBOL + 2))
        frame.kind = FRAME_KERNEL;
    else if (module && ends_with(module, ".py"))
        frame.kind = FRAME_PYTHON;
    if (frame.kind == FRAME_PYTHON)
        frame.file = file;
    else
        frame.module = file;
    uint32_t ordinal = import_frame(nsys->sink, &frame);
    sample->stack = import_stack(nsys->sink, sample->stack, ordinal);
}

/* ---- Events ---------------------------------------------------------------------------------- */

static bool begin_sample(struct nsys *nsys, sqlite3_stmt *row, struct sample *sample)
{
    int64_t unit_ns = nsys->sink->options->unit_ns ? nsys->sink->options->unit_ns : SAMPLE_NS;
    nsys->values[0] = nsys->is_ours ? sqlite3_column_int64(row, AT_VALUE) : unit_ns;
    sample->set = SAMPLE_SET_CPU;
    sample->cpu = (uint16_t)sqlite3_column_int(row, AT_CPU);
    sample->value_count = 1;
    nsys->guessed = nsys->guessed || !nsys->is_ours;
    return nsys->values[0] >= 0;
}

static bool begin_wait(struct nsys *nsys, sqlite3_stmt *row, struct sample *sample)
{
    const char *name = (const char *)sqlite3_column_text(row, AT_NAME);
    char text[REASON_SIZE];
    unsigned reason = 0;
    if (!nsys->is_ours || !name || name[0] != '[')
        return false;
    bool ready = strcmp(name, NSYS_READY) == 0; /* without a wait before it */
    if (ready)
        reason = WAIT_PREEMPTED;
    for (; !ready && reason < WAIT_REASON_COUNT; reason++) {
        snprintf(text, sizeof(text), "[%s]", wait_reason_name((enum wait_reason)reason));
        if (strcmp(text, name) == 0)
            break;
    }
    sample->set = SAMPLE_SET_OFF_CPU;
    sample->end_ns = sqlite3_column_int64(row, AT_VALUE);
    sample->reason = reason < WAIT_REASON_COUNT ? (uint8_t)reason : WAIT_UNKNOWN;
    sample->value_count = 2;
    nsys->values[ready] = sample->end_ns - sample->time_ns;
    nsys->values[!ready] = 0;
    return nsys->values[ready] >= 0;
}

/* Behind its wait a thread could have gone on: one stretch. */
static bool extends_wait(struct nsys *nsys, sqlite3_stmt *row, struct sample *sample)
{
    const char *name = (const char *)sqlite3_column_text(row, AT_NAME);
    int64_t end_ns = sqlite3_column_int64(row, AT_VALUE);
    if (!name || strcmp(name, NSYS_READY) != 0 || sample->set != SAMPLE_SET_OFF_CPU ||
        sqlite3_column_int64(row, AT_START) != sample->end_ns || nsys->values[1] > 0 ||
        end_ns < sample->end_ns || end_ns > IMPORT_TIME_MAX ||
        nsys_thread_of(nsys, sqlite3_column_int64(row, AT_TID)) != sample->thread)
        return false;
    nsys->values[1] = end_ns - sample->end_ns;
    sample->end_ns = end_ns;
    return true;
}

static bool begin(struct nsys *nsys, const struct nsys_chained *chained, sqlite3_stmt *row,
                  struct sample *sample)
{
    int64_t time_ns = sqlite3_column_int64(row, AT_START);
    bool good = time_ns >= -IMPORT_TIME_MAX && time_ns <= IMPORT_TIME_MAX;
    *sample = (struct sample){.time_ns = time_ns, .values = nsys->values};
    if (good && chained->begin(nsys, row, sample)) {
        sample->thread = nsys_thread_of(nsys, sqlite3_column_int64(row, AT_TID));
        return true;
    }
    nsys->sink->left[LEFT_MALFORMED] += !good;
    return false;
}

static int read_rows(struct nsys *nsys, const struct nsys_chained *chained, sqlite3_stmt *row)
{
    struct sample sample;
    int64_t number = 0;
    int status, error = 0;
    bool wanted = false, any = false, extends = false;
    while (!error && (status = sqlite3_step(row)) == SQLITE_ROW) {
        int64_t next = sqlite3_column_int64(row, AT_NUMBER);
        if (!any || next != number)
            extends = wanted && extends_wait(nsys, row, &sample);
        if ((!any || next != number) && !extends) {
            error = wanted ? import_sample(nsys->sink, &sample) : 0;
            wanted = begin(nsys, chained, row, &sample);
        }
        any = true;
        number = next;
        if (wanted && !extends)
            take_frame(nsys, row, &sample);
        error = error ? error : nsys->sink->error;
    }
    if (!error && wanted)
        error = import_sample(nsys->sink, &sample);
    return error ? error : status == SQLITE_DONE ? 0 : status == SQLITE_NOMEM ? -ENOMEM : -EBADMSG;
}

/* ---- Tables ---------------------------------------------------------------------------------- */

static const struct nsys_chained chained_tables[] = {
    {.table = NSYS_SAMPLES,
     .number = "e.id",
     .value = "e.cpuCycles",
     .name = "NULL",
     .chains = NSYS_CHAINS,
     .chain = "e.id",
     .begin = begin_sample},
    {.table = NSYS_OSRT,
     .number = "e.rowid",
     .value = "e.end",
     .name = "(SELECT value FROM " NSYS_STRINGS " WHERE id = e.nameId)",
     .chains = NSYS_OSRT_CHAINS,
     .chain = "e.callchainId",
     .begin = begin_wait},
};

static void make_query(struct nsys *nsys, const struct nsys_chained *chained, struct text *query)
{
    bool chains = nsys_has_table(nsys, chained->chains) && nsys->has_texts;
    text_format(query, "SELECT %s, e.start, e.globalTid, %s, %s, %s, ", chained->number,
                chained->begin == begin_sample ? "e.cpu" : "NULL", chained->value, chained->name);
    if (chains)
        text_format(query,
                    "(SELECT value FROM " NSYS_STRINGS " WHERE id = c.symbol), "
                    "(SELECT value FROM " NSYS_STRINGS " WHERE id = c.module), "
                    "c.kernelMode, c.specialEntry FROM %s e LEFT JOIN %s c ON c.id = %s "
                    "ORDER BY 1, c.stackDepth DESC",
                    chained->table, chained->chains, chained->chain);
    else
        text_format(query, "NULL, NULL, NULL, NULL FROM %s e ORDER BY 1", chained->table);
}

int nsys_read_samples(struct nsys *nsys)
{
    int error = 0;
    for (size_t i = 0; i < sizeof(chained_tables) / sizeof(*chained_tables) && !error; i++) {
        const struct nsys_chained *chained = &chained_tables[i];
        char bytes[QUERY_SIZE];
        struct text query = text_init(bytes, sizeof(bytes));
        sqlite3_stmt *row = NULL;
        if (!nsys_has_table(nsys, chained->table) ||
            (chained->begin == begin_wait && !nsys->is_ours))
            continue;
        nsys->any = true;
        make_query(nsys, chained, &query);
        /* Versions that lack one of these columns have nothing that could be read. */
        if (sqlite3_prepare_v2(nsys->database, bytes, -1, &row, NULL) == SQLITE_OK)
            error = read_rows(nsys, chained, row);
        sqlite3_finalize(row);
    }
    return error;
}

void nsys_tell_guess(struct nsys *nsys)
{
    char text[160], unit[NUMBER_TEXT_SIZE];
    int64_t unit_ns = nsys->sink->options->unit_ns ? nsys->sink->options->unit_ns : SAMPLE_NS;
    snprintf(text, sizeof(text), "samples stand for %s of CPU time each (--unit)",
             number_time_short((uint64_t)unit_ns, unit));
    if (nsys->guessed)
        import_note(nsys->sink, text);
    if (nsys->waits)
        import_note(nsys->sink, "waits have no stacks, and last until the thread ran again");
    snprintf(text, sizeof(text), "left out: waits without an end: %s",
             number_count(nsys->endless, unit));
    if (nsys->endless)
        import_note(nsys->sink, text);
}
