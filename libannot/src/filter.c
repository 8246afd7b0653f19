/* SPDX-License-Identifier: MIT */
/* Masks from rules: see filter.h.
 *
 * Process and collector write the same bits. A change of the rules that comes in between is noticed
 * by the sequence, and the rest is put right by the collector, which looks again whenever there are
 * new strings. */
#include "filter.h"

#include "scratch.h"
#include "strings.h"
#include "testpoint.h"

#include <annot_barrier.h>
#include <annot_filter.h>
#include <string.h>
#include <unistd.h>

enum { ATTEMPTS = 16 };

#define FILTER_UNKNOWN UINT32_MAX /* no sequence of rules: those are even */

static const struct annot_filter_name default_domain = {
    .domain = ANNOT_FILTER_DEFAULT, .domain_length = sizeof(ANNOT_FILTER_DEFAULT) - 1};

static void set_domain(struct annot_filter_name *name, const struct annot_string *string)
{
    name->domain = string ? string_bytes(string) : "";
    name->domain_length = string ? string_length(string) : 0;
}

/* 1, or 0: the number's name is not ready. */
static int name_of(uint32_t number, struct annot_filter_name *ret_name)
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
    return number == 0 || string;
}

static int level_of(const struct session_filter *filter, const struct annot_filter_name *name)
{
    return annot_filter_level(filter->text, filter->size, name);
}

/* Numbers from `first` to `last`. Returns the first that was not ready, or the one behind the last;
 * without rules, that alone. */
static uint32_t evaluate(const struct session_filter *filter, uint32_t first, uint32_t last,
                         struct annot_filter_masks *masks)
{
    struct annot_filter_name name;
    uint32_t next = first;
    for (uint32_t number = first; number <= last; number++) {
        int is_ready = name_of(number, &name);
        if (is_ready && filter)
            annot_filter_add(masks, number, level_of(filter, &name));
        next += is_ready && next == number;
    }
    return next;
}

uint32_t filter_join(int directory_fd, struct session *session)
{
    struct session_filter filter;
    struct annot_filter_masks masks = {0};
    /* In doubt everything is wanted: the collector knows better soon. */
    int is_known = session_read_filter(directory_fd, session->id, &filter) == 0;
    int is_filtered = is_known && filter.size > 0;
    uint32_t next = evaluate(is_filtered ? &filter : NULL, 0, strings_last_number(), &masks);
    session->is_filtered = (uint32_t)is_filtered;
    session->filter_sequence = is_known ? filter.sequence : FILTER_UNKNOWN;
    for (int level = 0; level < ANNOT_LEVELS && is_filtered; level++)
        session->category_mask[level] &= annot_filter_mask(&masks, level);
    return next;
}

/* Bits of numbers below 64 are new; what shares a bit with others may only add. */
static void apply(struct annot_control *control, const struct annot_filter_masks *masks,
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
    /* Partner: the load in process_tell_number. */
    while (old < next && !annot_cas_acq_rel(&segment->filter_next, &old, next))
        continue;
}

/* Rules and what they say, in a scratch. */
struct work {
    struct annot_filter_masks masks;
    struct session_filter filter;
};

_Static_assert(sizeof(struct work) <= SCRATCH_SIZE, "it fits a scratch");

/* Again, as long as others made numbers or the rules changed meanwhile: a bit that was cleared late
 * may be one that they had set. Nothing to do if the rules are those of the sequence `known`. */
static void apply_until_quiet(int directory_fd, struct segment *segment, uint32_t first,
                              uint32_t known, char *scratch)
{
    struct work *work = (void *)scratch;
    struct session_filter *filter = &work->filter;
    uint32_t next = first;
    int error = session_read_filter(directory_fd, segment->session_id, filter);
    if (error == 0 && filter->sequence == known)
        return;
    for (int i = 0; i < ATTEMPTS && error == 0; i++) {
        uint32_t last = strings_last_number(), sequence = filter->sequence;
        work->masks = (struct annot_filter_masks){0};
        next = evaluate(filter, first, last, &work->masks);
        TESTPOINT("filter:evaluated");
        apply(&segment->header->control, &work->masks, first);
        error = session_read_filter(directory_fd, segment->session_id, filter);
        if (error == 0 && filter->sequence == sequence && strings_last_number() == last)
            break;
    }
    raise_next(segment, next);
}

void filter_numbers(struct segment *segment)
{
    struct refusal ignored;
    uint32_t first = annot_load_relaxed(&segment->filter_next);
    /* Partner: the collector's store. If that comes later, it finds the new numbers itself. */
    if (annot_load_acquire(&segment->header->control.is_filtered) == 0) {
        raise_next(segment, evaluate(NULL, first, strings_last_number(), NULL));
        return;
    }
    int directory_fd = directory_open(&ignored);
    if (directory_fd < 0)
        return;
    char *scratch = scratch_take();
    if (scratch) /* else the collector does it */
        apply_until_quiet(directory_fd, segment, first, FILTER_UNKNOWN, scratch);
    scratch_give(scratch);
    close(directory_fd);
}

void filter_check(int directory_fd, struct segment *segment, uint32_t sequence)
{
    char *scratch = scratch_take();
    if (scratch) /* else the collector does it */
        apply_until_quiet(directory_fd, segment, 0, sequence, scratch);
    scratch_give(scratch);
}
