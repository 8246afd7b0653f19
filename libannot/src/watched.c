/* SPDX-License-Identifier: MIT */
/* Watched ranges: see watched.h. */
#include "watched.h"

#include "api.h"
#include "clock.h"
#include "proc.h"
#include "process.h"
#include "strings.h"

#include <annot_barrier.h>
#include <annot_filter.h>
#include <errno.h>
#include <string.h>

struct watch {
    annot_watch_fn *fn;
    void *context;
    uint32_t name, domain; /* string ids; domain 0: any */
};

uint32_t watch_set;
static struct watch watches[ANNOT_WATCHES_MAX]; /* W: the thread that reserved it, before its bit */
static uint32_t watches_taken;                  /* W: all, atomic */

/* ---- Matching ranges ------------------------------------------------------------------------- */

static int fits(uint32_t wanted, const char *bytes, uint32_t length)
{
    const struct annot_string *pattern = strings_known(wanted);
    const struct annot_filter_rule rule = {string_bytes(pattern), string_length(pattern), 0};
    const struct annot_filter_name name = {.domain = bytes, .domain_length = length};
    return annot_filter_fits(&rule, &name);
}

static int fits_name(uint32_t wanted, const struct emission *emission)
{
    const char *text = emission->text ? emission->text : "(null)";
    if (emission->name == wanted)
        return 1;
    if (emission->name == 0)
        return fits(wanted, text, (uint32_t)strnlen(text, ANNOT_STRING_MAX));
    const struct annot_string *name = strings_get(emission->name);
    return name && fits(wanted, string_bytes(name), string_length(name));
}

static const struct annot_string *domain_of(const struct emission *emission)
{
    const struct annot_string *category;
    if (emission->domain)
        return strings_by_number(emission->domain);
    category = emission->category ? strings_by_number(emission->category) : NULL;
    return category && category->parent ? strings_by_number(category->parent) : NULL;
}

static int fits_domain(uint32_t wanted, const struct emission *emission)
{
    const struct annot_string *domain;
    if (wanted == 0)
        return 1;
    domain = domain_of(emission);
    if (!domain || string_length(domain) == 0)
        return fits(wanted, ANNOT_FILTER_DEFAULT, sizeof(ANNOT_FILTER_DEFAULT) - 1);
    return fits(wanted, string_bytes(domain), string_length(domain));
}

static int is_watched(uint32_t name, uint32_t domain, const struct emission *emission)
{
    return fits_name(name, emission) && fits_domain(domain, emission);
}

static uint32_t find_watches(const struct control *control, const struct emission *emission)
{
    const struct segment *segment = control->segment;
    uint32_t set = annot_load_acquire(&watch_set); /* partner: annot_watch_range */
    uint32_t bits = 0;
    for (uint32_t i = 0; set >> (i + 1) != 0; i++)
        if (set >> (i + 1) & 1 && is_watched(watches[i].name, watches[i].domain, emission))
            bits |= 2U << i;
    if (segment->is_capture && segment->capture_name &&
        is_watched(segment->capture_name, segment->capture_domain, emission))
        bits |= WATCH_CAPTURE;
    return bits;
}

/* ---- The session's range --------------------------------------------------------------------- */

static void capture_add(struct segment *segment, uint32_t bits)
{
    if (bits & WATCH_CAPTURE)
        annot_fetch_add_relaxed(&segment->capture_open, 1U); /* partner: watch_records */
}

/* A range that was ended twice counts once. */
static void capture_take(struct segment *segment, uint32_t bits)
{
    uint32_t open = annot_load_relaxed(&segment->capture_open);
    while (bits & WATCH_CAPTURE && open > 0)
        if (annot_cas_acq_rel(&segment->capture_open, &open, open - 1)) /* partner: itself */
            return;
}

void watch_capture(struct segment *segment, const char *text)
{
    const char *domain = strchr(text, '\x1f');
    size_t length = domain ? (size_t)(domain - text) : strlen(text);
    struct string_key key = {.bytes = text, .length = (uint16_t)length, .kind = ANNOT_STRING_NAME};
    segment->is_capture = length > 0;
    segment->capture_name = length > 0 ? process_intern(&key) : 0;
    segment->capture_domain = 0;
    segment->capture_open = 0;
    if (!domain || !segment->is_capture)
        return;
    string_key_init(&key, domain + 1, ANNOT_STRING_NAME);
    segment->capture_domain = process_intern(&key);
    if (segment->capture_domain == 0)
        segment->capture_name = 0;
}

/* ---- Events ---------------------------------------------------------------------------------- */

/* Identified by an id that this process issued. */
static void see_end(struct control *control, const struct emission *emission,
                    struct watch_news *news)
{
    const uint64_t counter = (UINT64_C(1) << RANGE_COUNTER_BITS) - 1;
    uint32_t bits = (uint32_t)((emission->id & WATCH_ID_BITS) >> WATCH_ID_SHIFT);
    uint64_t number = emission->id & (RANGE_DROPPED - 1) & ~WATCH_ID_BITS;
    if (bits == 0 || (emission->id & ~counter) != process_nonce())
        return;
    for (uint32_t i = 0; i < WATCH_BITS; i++)
        news->ended[i] += bits >> i & 1;
    if (number > control->segment->first_range || number == 0)
        capture_take(control->segment, bits);
}

APART void watch_see(struct control *control, struct emission *emission, struct watch_news *news)
{
    if (emission->kind == ANNOT_REC_RANGE_END)
        see_end(control, emission, news);
    if (emission->is_call || emission->is_code ||
        (emission->kind != ANNOT_REC_PUSH && emission->kind != ANNOT_REC_RANGE_START))
        return;
    news->begun = (uint8_t)find_watches(control, emission);
    capture_add(control->segment, news->begun);
}

static void note_push(struct control *control, uint32_t own, struct watch_news *news)
{
    struct keep *keep = control->keep;
    if (control_own(control) == own + 1 && keep->watched_count < WATCHED_MAX) {
        keep->watched[keep->watched_count++] = (struct watched){own, news->begun};
        return;
    }
    capture_take(control->segment, news->begun);
    news->begun = 0;
}

APART void watch_note(struct control *control, struct emission *emission, uint32_t own,
                      struct watch_news *news)
{
    struct keep *keep = control->keep;
    if (news->begun && emission->kind == ANNOT_REC_PUSH)
        note_push(control, own, news);
    else if (news->begun)
        emission->id = (emission->id ? emission->id : process_nonce()) | (uint64_t)news->begun
                                                                             << WATCH_ID_SHIFT;
    uint32_t told = news->begun;
    for (uint32_t i = 0; i < WATCH_BITS; i++) {
        news->ended[i] += keep->watched_ended[i];
        keep->watched_ended[i] = 0;
        told |= news->ended[i];
    }
    if (news->time == 0 || told == 0)
        news->time = told ? clock_now() : 0;
}

void watch_popped(struct control *control)
{
    struct keep *keep = control->keep;
    uint32_t own = control_own(control);
    while (keep->watched_count && keep->watched[keep->watched_count - 1].around >= own) {
        uint32_t bits = keep->watched[--keep->watched_count].bits;
        for (uint32_t i = 0; i < WATCH_BITS; i++)
            keep->watched_ended[i] += bits >> i & 1;
        capture_take(control->segment, bits);
    }
}

/* Ends first: new ranges begin after them. */
APART void watch_emit(const struct watch_news *news)
{
    for (uint32_t i = 0; i < ANNOT_WATCHES_MAX; i++)
        for (uint32_t left = news->ended[i + 1]; left > 0; left--)
            watches[i].fn(watches[i].context, 0, news->time);
    for (uint32_t i = 0; i < ANNOT_WATCHES_MAX; i++)
        if (news->begun >> (i + 1) & 1)
            watches[i].fn(watches[i].context, 1, news->time);
}

/* ---- Threads --------------------------------------------------------------------------------- */

/* Of a parent's ranges only the session's continue to count. */
void watch_attach(struct control *control, int is_forked)
{
    struct keep *keep = control->keep;
    uint32_t count = is_forked && control->segment->is_capture ? keep->watched_count : 0;
    keep->watched_count = 0;
    memset(keep->watched_ended, 0, sizeof(keep->watched_ended));
    for (uint32_t i = 0; i < count; i++) {
        uint32_t bits = keep->watched[i].bits & WATCH_CAPTURE;
        if (bits)
            keep->watched[keep->watched_count++] = (struct watched){keep->watched[i].around, bits};
        capture_add(control->segment, bits);
    }
}

/* A shadow's ranges are the parent's. */
APART void watch_detach(struct control *control)
{
    struct watch_news news = {.time = 0};
    struct keep *keep = control->keep;
    if (control->shadow)
        return;
    while (keep->watched_count) {
        uint32_t bits = keep->watched[--keep->watched_count].bits;
        for (uint32_t i = 0; i < WATCH_BITS; i++)
            news.ended[i] += bits >> i & 1;
        capture_take(control->segment, bits);
        news.time = 1;
    }
    if (news.time == 0)
        return;
    news.time = clock_now();
    watch_emit(&news);
}

/* ---- Watches --------------------------------------------------------------------------------- */

static void send_around(struct control *control, void *context)
{
    (void)context;
    /* Partner: the thread's own loads; it stores only in record_limit. */
    annot_store_relaxed(&control->limit, 0U);
    annot_store_relaxed(&control->quick_limit, 0U);
}

static int take_place(uint32_t *ret_index)
{
    uint32_t taken = annot_load_relaxed(&watches_taken);
    while (taken < ANNOT_WATCHES_MAX)
        if (annot_cas_acq_rel(&watches_taken, &taken, taken + 1)) { /* partner: itself */
            *ret_index = taken;
            return 1;
        }
    return 0;
}

static uint32_t intern_text(const char *text)
{
    struct string_key key;
    string_key_init(&key, text, ANNOT_STRING_NAME);
    return process_intern(&key);
}

int annot_watch_range(const char *name, const char *domain, annot_watch_fn *fn, void *context)
{
    uint32_t index;
    FORWARD_VALUE(watch_range, -ENOSYS, name, domain, fn, context);
    if (!name || !name[0] || !fn)
        return -EINVAL;
    struct watch watch = {fn, context, intern_text(name), domain ? intern_text(domain) : 0};
    if (!watch.name || (domain && !watch.domain))
        return -ENOMEM;
    if (!take_place(&index))
        return -ENOSPC;
    watches[index] = watch;
    annot_fetch_or_release(&watch_set, 2U << index); /* partner: watch_is_on, find_watches */
    annot_fence_full();                              /* partner: record_limit */
    control_each(send_around, NULL);
    return 0;
}

OWN(annot_watch_range);
