/* SPDX-License-Identifier: MIT */
/* Tasks: nested ranges of a thread, and the arrows between those that have ids.
 *
 * A task with an id begins an arrow; it arrives at a task of another thread that names it as its
 * parent, or at a relation that names it. */
#include "itt.h"

#include "function_place.h"
#include "inject_emit.h"
#include "itt_names.h"
#include "itt_open.h"
#include "itt_thread.h"

#include <annot/function_calls.h>
#include <errno.h>
#include <string.h>

static int has_id(const struct itt_id *id)
{
    return (id->d1 | id->d2 | id->d3) != 0;
}

/* ---- Arrows ---------------------------------------------------------------------------------- */

#define ARROW_NAME "itt"

static struct itt_key arrow_key(const struct itt_id *id)
{
    return (struct itt_key){.kind = ITT_ARROW, .id = *id};
}

/* Begins the arrow of a task with an id, on this thread. */
static void leave_from(const struct itt_id *id)
{
    struct itt_key key = arrow_key(id);
    struct itt_open known;
    if (itt_open_find(&key, &known) && known.thread == 0)
        annot_emit_flow(ANNOT_FLOW_END, known.number, NULL); /* a relation came first */
    annot_flow flow = annot_flow_new();
    annot_emit_flow(ANNOT_FLOW_BEGIN, flow, ARROW_NAME);
    itt_open_set(&key, flow, itt_thread_number());
}

/* `is_any`: also from a task of this thread, where nesting shows the relation already. */
static int arrive_from(const struct itt_id *id, int is_any)
{
    struct itt_key key = arrow_key(id);
    struct itt_open known;
    if (!itt_open_find(&key, &known))
        return 0;
    if (is_any || known.thread != itt_thread_number())
        annot_emit_flow(ANNOT_FLOW_STEP, known.number, NULL);
    return 1;
}

static void id_create(const struct itt_domain *domain, struct itt_id id)
{
    (void)domain;
    (void)id;
}

static void id_destroy(const struct itt_domain *domain, struct itt_id id)
{
    struct itt_key key = arrow_key(&id);
    struct itt_open ended;
    (void)domain;
    itt_open_take(&key, &ended);
}

static void id_create_ex(const struct itt_domain *domain, struct itt_clock *clock,
                         unsigned long long time, struct itt_id id)
{
    (void)clock;
    (void)time;
    id_create(domain, id);
}

static void id_destroy_ex(const struct itt_domain *domain, struct itt_clock *clock,
                          unsigned long long time, struct itt_id id)
{
    (void)clock;
    (void)time;
    id_destroy(domain, id);
}

/* ---- Relations ------------------------------------------------------------------------------- */

static void relation_add_to_current(const struct itt_domain *domain, int relation,
                                    struct itt_id tail)
{
    (void)domain;
    (void)relation;
    if (!itt_is_wanted() || !has_id(&tail) || arrive_from(&tail, 1))
        return;
    struct itt_key key = arrow_key(&tail); /* to a task that has not begun */
    annot_flow flow = annot_flow_new();
    annot_emit_flow(ANNOT_FLOW_BEGIN, flow, ARROW_NAME);
    itt_open_set(&key, flow, 0);
}

static void relation_add_to_current_ex(const struct itt_domain *domain, struct itt_clock *clock,
                                       unsigned long long time, int relation, struct itt_id tail)
{
    (void)clock;
    (void)time;
    relation_add_to_current(domain, relation, tail);
}

static const char *relation_text(int relation)
{
    static const char *const texts[] = {"is related to",   "is dependent on",    "is sibling of",
                                        "is parent of",    "is continuation of", "is child of",
                                        "is continued by", "is predecessor to"};
    const int count = (int)(sizeof(texts) / sizeof(*texts));
    return texts[relation > 0 && relation < count ? relation : 0];
}

/* For two tasks that need not be the thread's own: an arrow is not possible, so it is a mark. */
static void relation_add(const struct itt_domain *domain, struct itt_id head, int relation,
                         struct itt_id tail)
{
    if (!itt_is_wanted())
        return;
    const struct annot_value values[] = {annot_value_uint64("head", head.d1),
                                         annot_value_uint64("tail", tail.d1)};
    const struct annot_event event = {.text = relation_text(relation),
                                      .domain = itt_domain_number(domain),
                                      .values = values,
                                      .value_count = 2};
    annot_emit_mark_event(&event);
}

static void relation_add_ex(const struct itt_domain *domain, struct itt_clock *clock,
                            unsigned long long time, struct itt_id head, int relation,
                            struct itt_id tail)
{
    (void)clock;
    (void)time;
    relation_add(domain, head, relation, tail);
}

/* ---- Nested tasks ---------------------------------------------------------------------------- */

static void set_skipped(struct itt_thread *thread, int is_skipped)
{
    uint64_t *word = &thread->skipped[itt_depth % ITT_DEPTH_MAX / 64];
    uint64_t bit = UINT64_C(1) << itt_depth % 64;
    *word = is_skipped ? *word | bit : *word & ~bit;
}

static int is_skipped(const struct itt_thread *thread)
{
    return (int)(thread->skipped[itt_depth % ITT_DEPTH_MAX / 64] >> itt_depth % 64 & 1);
}

/* The rare cases of begin(). */
static __attribute__((noinline)) void
begin_slowly(const struct annot_event *event, const struct itt_id *id, const struct itt_id *parent)
{
    int is_paused = annot_load_relaxed(&itt_is_paused);
    itt_depth_check();
    struct itt_thread *thread = is_paused || itt_self ? itt_thread_own() : NULL;
    if (thread)
        set_skipped(thread, is_paused);
    if (is_paused) {
        itt_emit_pause();
        itt_depth++;
        return;
    }
    itt_push(event);
    if (has_id(parent))
        arrive_from(parent, 0);
    if (has_id(id))
        leave_from(id);
}

static inline void begin(const struct annot_event *event, const struct itt_id *id,
                         const struct itt_id *parent)
{
    int is_rare = annot_load_relaxed(&itt_is_paused) || itt_self || has_id(id) || has_id(parent);
    if (ITT_RARELY(is_rare))
        begin_slowly(event, id, parent);
    else
        itt_push(event);
}

static __attribute__((noinline)) void end_slowly(void)
{
    const struct itt_thread *thread = itt_thread_own();
    itt_depth_check();
    uint32_t depth = itt_depth;
    if (depth > 0 && thread) {
        itt_depth--;
        if (is_skipped(thread))
            return;
        itt_depth = depth;
    }
    itt_pop();
}

static __attribute__((noinline)) void task_begin_slowly(const struct itt_domain *domain,
                                                        const struct itt_string *name,
                                                        const struct itt_id *id,
                                                        const struct itt_id *parent)
{
    const struct annot_event event = itt_event(domain, name);
    begin(&event, id, parent);
}

/* Outside of recordings: a load, a test and a return. */
static void task_begin(const struct itt_domain *domain, struct itt_id id, struct itt_id parent,
                       struct itt_string *name)
{
    if (!ITT_RARELY(annot_enabled()))
        return;
    /* Partner of both: itt_domain_find, itt_name_find; the values never change. */
    int number = domain ? annot_load_relaxed(&domain->extra1) : 0;
    int known = name ? annot_load_relaxed(&name->extra1) : 0;
    if (ITT_RARELY(!number || !known || annot_load_relaxed(&itt_is_paused) || itt_self ||
                   has_id(&id) || has_id(&parent))) {
        task_begin_slowly(domain, name, &id, &parent);
        return;
    }
    itt_depth_check();
    itt_depth++;
    inject_emit.push_in((annot_domain)number, (annot_name)known, NULL);
}

static void task_end(const struct itt_domain *domain)
{
    (void)domain;
    if (!ITT_RARELY(annot_enabled()))
        return;
    if (ITT_RARELY(itt_self)) {
        end_slowly();
        return;
    }
    itt_depth_check();
    if (ITT_RARELY(itt_depth == 0)) { /* open ranges are not ITT's */
        annot_emit_pop_empty();
        return;
    }
    itt_depth--;
    inject_emit.pop();
}

/* ---- Tasks that are named by their function -------------------------------------------------- */

static annot_name place_name(void *function)
{
    static struct function_place place; /* under the lock: too large for a stack */
    annot_name name = 0;
    if (!itt_lock())
        return 0;
    int error = errno;
    if (function_place_find((uintptr_t)function, 0, &place)) {
        uint64_t offset = (uint64_t)(uintptr_t)function - place.begin + place.offset;
        name = annot_function_name(place.path, offset, place.inode);
    }
    errno = error;
    itt_unlock();
    return name ? name : annot_name_intern("function");
}

static annot_name code_name(void *function)
{
    const struct itt_key key = {.kind = ITT_CODE, .id = {(uintptr_t)function, 0, 0}};
    struct itt_open known;
    if (itt_open_find(&key, &known))
        return (annot_name)known.number;
    annot_name name = place_name(function);
    itt_open_put(&key, name);
    return name;
}

static void task_begin_fn(const struct itt_domain *domain, struct itt_id id, struct itt_id parent,
                          void *function)
{
    if (!ITT_RARELY(annot_enabled()))
        return;
    const struct annot_event event = {.name = code_name(function),
                                      .domain = itt_domain_number(domain)};
    begin(&event, &id, &parent);
}

/* ---- Tasks with explicit times --------------------------------------------------------------- */

/* Ranges of a thread begin and end at the time of the call; the program's time is a key-value. */
static void begin_at(struct annot_event event, unsigned long long time, const struct itt_id *id,
                     const struct itt_id *parent)
{
    const struct annot_value value = annot_value_uint64("timestamp", time);
    if (time) {
        event.values = &value;
        event.value_count = 1;
    }
    begin(&event, id, parent);
}

static void task_begin_ex(const struct itt_domain *domain, struct itt_clock *clock,
                          unsigned long long time, struct itt_id id, struct itt_id parent,
                          struct itt_string *name)
{
    (void)clock;
    if (!ITT_RARELY(annot_enabled()))
        return;
    begin_at(itt_event(domain, name), time, &id, &parent);
}

static void task_begin_fn_ex(const struct itt_domain *domain, struct itt_clock *clock,
                             unsigned long long time, struct itt_id id, struct itt_id parent,
                             void *function)
{
    (void)clock;
    if (!ITT_RARELY(annot_enabled()))
        return;
    const struct annot_event event = {.name = code_name(function),
                                      .domain = itt_domain_number(domain)};
    begin_at(event, time, &id, &parent);
}

static void task_end_ex(const struct itt_domain *domain, struct itt_clock *clock,
                        unsigned long long time)
{
    (void)clock;
    (void)time;
    task_end(domain);
}

const struct itt_entry itt_entries_tasks[] = {
    {"id_create", id_create},
    {"id_create_ex", id_create_ex},
    {"id_destroy", id_destroy},
    {"id_destroy_ex", id_destroy_ex},
    {"relation_add", relation_add},
    {"relation_add_ex", relation_add_ex},
    {"relation_add_to_current", relation_add_to_current},
    {"relation_add_to_current_ex", relation_add_to_current_ex},
    {"task_begin", task_begin},
    {"task_begin_ex", task_begin_ex},
    {"task_begin_fn", task_begin_fn},
    {"task_begin_fn_ex", task_begin_fn_ex},
    {"task_end", task_end},
    {"task_end_ex", task_end_ex},
    {NULL, NULL},
};
