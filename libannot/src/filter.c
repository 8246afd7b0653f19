/* SPDX-License-Identifier: MIT */
/* Masks from rules: see filter.h.
 *
 * Process and collector write the same bits. A concurrent change of the rules is detected by the
 * sequence; the collector corrects the rest when it checks again, which it does for all new
 * strings. */
#include "filter.h"

#include "control.h"
#include "proc.h"
#include "session.h"
#include "strings.h"
#include "testpoint.h"
#include "watched.h"

#include <annot_barrier.h>
#include <annot_filter.h>
#include <string.h>
#include <unistd.h>

enum { ATTEMPTS = 16 };

#define FILTER_UNKNOWN UINT32_MAX /* not a sequence of rules: those are even */

static const struct annot_filter_name default_domain = {
    .domain = ANNOT_FILTER_DEFAULT, .domain_length = sizeof(ANNOT_FILTER_DEFAULT) - 1};

/* A domain without a name is the default domain, of an observer. */
static void set_domain(struct annot_filter_name *name, const struct annot_string *string)
{
    if (string && string_length(string) == 0)
        return;
    name->domain = string ? string_bytes(string) : "";
    name->domain_length = string ? string_length(string) : 0;
}

/* Rules and their results, mostly in a scratch buffer. */
struct work {
    struct annot_filter_masks masks;
    struct session_filter filter;
    struct annot_filter_name name; /* the one under evaluation */
    uint32_t first, last;          /* numbers to evaluate */
    uint32_t next;                 /* the first that was not ready, or last + 1 */
};

_Static_assert(sizeof(struct work) <= SCRATCH_SIZE, "it fits a scratch");

static void name_of(uint32_t number, struct annot_filter_name *ret_name)
{
    const struct annot_string *string = number ? strings_by_number(number) : NULL;
    *ret_name = default_domain;
    if (string && string_kind(string) == ANNOT_STRING_CATEGORY) {
        ret_name->category = string_bytes(string);
        ret_name->category_length = string_length(string);
        if (string->parent)
            set_domain(ret_name, strings_by_number(string->parent));
    } else if (string) {
        set_domain(ret_name, string);
    }
}

static int is_ready(uint32_t number)
{
    return number == 0 || strings_by_number(number) != NULL;
}

/* Returns the first number from `first` to `last` that is not ready, or last + 1. */
static uint32_t skip_ready(uint32_t first, uint32_t last)
{
    while (first <= last && is_ready(first))
        first++;
    return first;
}

static APART void judge(struct work *work)
{
    work->masks = (struct annot_filter_masks){0};
    work->next = skip_ready(work->first, work->last);
    for (uint32_t number = work->first; number <= work->last; number++) {
        if (!is_ready(number))
            continue;
        name_of(number, &work->name);
        int level = annot_filter_level(work->filter.text, work->filter.size, &work->name);
        annot_filter_add(&work->masks, number, level);
    }
}

uint32_t filter_join(int directory_fd, struct session *session)
{
    struct work work = {.last = strings_last_number()};
    /* In doubt everything is wanted: the collector corrects it soon. */
    int is_known = session_read_filter(directory_fd, session->id, &work.filter) == 0;
    session->is_filtered = is_known && work.filter.size > 0;
    session->filter_sequence = is_known ? work.filter.sequence : FILTER_UNKNOWN;
    if (!session->is_filtered)
        return skip_ready(0, work.last);
    judge(&work);
    for (int level = 0; level < ANNOT_LEVELS; level++)
        session->category_mask[level] &= annot_filter_mask(&work.masks, level);
    return work.next;
}

/* Bits of numbers below 64 are new; a shared bit may only be set. */
static APART void apply(struct annot_control *control, const struct annot_filter_masks *masks,
                        uint32_t first)
{
    uint64_t fresh = first < 64 ? masks->used & UINT64_MAX << first : 0;
    /* Partner: the loads of each event, in any order. */
    for (int i = 0; i < ANNOT_LEVELS; i++) {
        annot_fetch_or_release(&control->category_mask[i], masks->wanted[i]);
        annot_fetch_and_release(&control->category_mask[i], ~(fresh & ~masks->wanted[i]));
    }
}

static void raise_next(struct segment *segment, uint32_t next)
{
    uint32_t old = annot_load_relaxed(&segment->filter_next);
    /* Partner: the load in process_emit_number. */
    while (old < next && !annot_cas_acq_rel(&segment->filter_next, &old, next))
        continue;
}

/* Applies the rules that were read last. Returns 1 if they and the numbers are still the same, or
 * if the rules cannot be read any longer. */
static APART int apply_once(int directory_fd, struct segment *segment, struct work *work)
{
    uint32_t sequence = work->filter.sequence;
    work->last = strings_last_number();
    judge(work);
    TESTPOINT("filter:evaluated");
    apply(&segment->header->control, &work->masks, work->first);
    return session_read_filter(directory_fd, segment->session_id, &work->filter) != 0 ||
           (work->filter.sequence == sequence && strings_last_number() == work->last);
}

/* Repeats as long as other threads make numbers or the rules change: a bit that was cleared late
 * may be one that they had set. Returns at once if the rules are those of the sequence `known`. */
static void apply_until_quiet(int directory_fd, struct segment *segment, uint32_t known,
                              struct work *work)
{
    work->next = work->first;
    int error = session_read_filter(directory_fd, segment->session_id, &work->filter);
    if (error == 0 && work->filter.sequence == known)
        return;
    for (int i = 0; i < ATTEMPTS && error == 0; i++)
        if (apply_once(directory_fd, segment, work))
            break;
    raise_next(segment, work->next);
}

/* Applies the rules to numbers from `first` on. */
static void apply_in_scratch(int directory_fd, struct segment *segment, uint32_t first,
                             uint32_t known)
{
    char *scratch = scratch_take();
    struct work *work = (void *)scratch;
    if (work) { /* else the collector does it */
        work->first = first;
        apply_until_quiet(directory_fd, segment, known, work);
    }
    scratch_give(scratch);
}

static APART int open_quietly(void)
{
    struct refusal ignored;
    return directory_open(&ignored);
}

void filter_numbers(struct segment *segment)
{
    uint32_t first = annot_load_relaxed(&segment->filter_next);
    /* Partner: the collector's store. If that comes later, it finds the new numbers itself. */
    if (annot_load_acquire(&segment->header->control.is_filtered) == 0) {
        raise_next(segment, skip_ready(first, strings_last_number()));
        return;
    }
    int directory_fd = open_quietly();
    if (directory_fd < 0)
        return;
    apply_in_scratch(directory_fd, segment, first, FILTER_UNKNOWN);
    close(directory_fd);
}

static APART void take_capture(int directory_fd, struct segment *segment)
{
    char text[ANNOT_CAPTURE_MAX + 1];
    session_read_capture(directory_fd, segment->session_id, text);
    watch_capture(segment, text);
}

void filter_check(int directory_fd, struct segment *segment, uint32_t sequence)
{
    take_capture(directory_fd, segment);
    process_notes_emit(directory_fd, segment->session_id);
    apply_in_scratch(directory_fd, segment, 0, sequence);
}
