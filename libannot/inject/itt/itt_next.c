/* SPDX-License-Identifier: MIT */
/* The tool that was set before annot keeps working: it is loaded, gets separate tables, and each
 * call is forwarded to it after annot. It has its own domains, names and counters, so those of the
 * program are translated.
 *
 * With such a tool, images get the functions below; without it, these cost nothing. Not forwarded:
 * metadata made by printf, frames with times, counters of handles of domains and their metadata,
 * clocks, stitched stacks. */
#include "itt_next.h"

#include "inject_next.h"
#include "itt_open.h"

#include <annot_barrier.h>
#include <dlfcn.h>
#include <stdlib.h>
#include <string.h>

/* annot's function and that of the next tool. */
struct link {
    void *own, *next;
};

/* ---- Translation: by address, made when first needed ----------------------------------------- */

static struct link domain_create_link, string_handle_create_link, counter_create_typed_link,
    counter_create_link, event_create_link;

static uint64_t other_of(const void *ours)
{
    const struct itt_key key = {.kind = ITT_OTHER, .id = {(uintptr_t)ours, 0, 0}};
    struct itt_open known;
    return itt_open_find(&key, &known) ? known.number : 0;
}

static void keep(const void *ours, uint64_t theirs)
{
    const struct itt_key key = {.kind = ITT_OTHER, .id = {(uintptr_t)ours, 0, 0}};
    itt_open_put(&key, theirs);
}

static struct itt_domain *other_domain(const struct itt_domain *domain)
{
    struct itt_domain *(*create)(const char *) = domain_create_link.next;
    struct itt_domain *other = domain ? (void *)(uintptr_t)other_of(domain) : NULL;
    if (!domain || other || !create)
        return other;
    other = create(domain->name);
    keep(domain, (uintptr_t)other);
    return other;
}

static struct itt_string *other_name(const struct itt_string *name)
{
    struct itt_string *(*create)(const char *) = string_handle_create_link.next;
    struct itt_string *other = name ? (void *)(uintptr_t)other_of(name) : NULL;
    if (!name || other || !create)
        return other;
    other = create(name->text);
    keep(name, (uintptr_t)other);
    return other;
}

/* ---- Functions ------------------------------------------------------------------------------- */

#define OWN(name, type)  ((type *)name##_link.own)
#define NEXT(name, type) ((type *)name##_link.next)

/* NOLINTBEGIN(bugprone-macro-parentheses): arguments are parenthesized lists */

/* Calls with a domain, which the next tool may have switched off. */
#define IN_DOMAIN(name, parameters, own_arguments, next_arguments)                                 \
    static struct link name##_link;                                                                \
    static void name##_both parameters                                                             \
    {                                                                                              \
        typedef void function parameters;                                                          \
        OWN(name, function) own_arguments;                                                         \
        struct itt_domain *other = other_domain(domain);                                           \
        if (other && other->flags && name##_link.next)                                             \
            NEXT(name, function) next_arguments;                                                   \
    }

#define PLAIN(name, parameters, own_arguments, next_arguments)                                     \
    static struct link name##_link;                                                                \
    static void name##_both parameters                                                             \
    {                                                                                              \
        typedef void function parameters;                                                          \
        OWN(name, function) own_arguments;                                                         \
        if (name##_link.next)                                                                      \
            NEXT(name, function) next_arguments;                                                   \
    }

#define DOMAIN const struct itt_domain *domain
#define CLOCK  struct itt_clock *clock, unsigned long long time
#define NAME   struct itt_string *name
#define ID     struct itt_id

#define NAMED(function)                                                                            \
    IN_DOMAIN(function, (DOMAIN, ID id, ID parent, NAME), (domain, id, parent, name),              \
              (other, id, parent, other_name(name)))
NAMED(task_begin)
NAMED(task_begin_overlapped)
NAMED(region_begin)
NAMED(task_group)

#define NAMED_AT(function)                                                                         \
    IN_DOMAIN(function, (DOMAIN, CLOCK, ID id, ID parent, NAME),                                   \
              (domain, clock, time, id, parent, name),                                             \
              (other, NULL, time, id, parent, other_name(name)))
NAMED_AT(task_begin_ex)
NAMED_AT(task_begin_overlapped_ex)

IN_DOMAIN(task_begin_fn, (DOMAIN, ID id, ID parent, void *code), (domain, id, parent, code),
          (other, id, parent, code))
IN_DOMAIN(task_begin_fn_ex, (DOMAIN, CLOCK, ID id, ID parent, void *code),
          (domain, clock, time, id, parent, code), (other, NULL, time, id, parent, code))
IN_DOMAIN(task_end, (DOMAIN), (domain), (other))
IN_DOMAIN(task_end_ex, (DOMAIN, CLOCK), (domain, clock, time), (other, NULL, time))

#define OF_ID(function) IN_DOMAIN(function, (DOMAIN, ID id), (domain, id), (other, id))
OF_ID(task_end_overlapped)
OF_ID(region_end)
OF_ID(id_create)
OF_ID(id_destroy)

#define OF_ID_AT(function)                                                                         \
    IN_DOMAIN(function, (DOMAIN, CLOCK, ID id), (domain, clock, time, id), (other, NULL, time, id))
OF_ID_AT(task_end_overlapped_ex)
OF_ID_AT(id_create_ex)
OF_ID_AT(id_destroy_ex)

IN_DOMAIN(frame_begin_v3, (DOMAIN, ID *id), (domain, id), (other, id))
IN_DOMAIN(frame_end_v3, (DOMAIN, ID *id), (domain, id), (other, id))
IN_DOMAIN(marker, (DOMAIN, ID id, NAME, int scope), (domain, id, name, scope),
          (other, id, other_name(name), scope))
IN_DOMAIN(marker_ex, (DOMAIN, CLOCK, ID id, NAME, int scope),
          (domain, clock, time, id, name, scope), (other, NULL, time, id, other_name(name), scope))
IN_DOMAIN(metadata_add, (DOMAIN, ID id, NAME, int type, size_t count, void *data),
          (domain, id, name, type, count, data), (other, id, other_name(name), type, count, data))
IN_DOMAIN(metadata_add_with_scope, (DOMAIN, int scope, NAME, int type, size_t count, void *data),
          (domain, scope, name, type, count, data),
          (other, scope, other_name(name), type, count, data))
IN_DOMAIN(metadata_str_add, (DOMAIN, ID id, NAME, const char *text, size_t length),
          (domain, id, name, text, length), (other, id, other_name(name), text, length))
IN_DOMAIN(metadata_str_add_with_scope, (DOMAIN, int scope, NAME, const char *text, size_t length),
          (domain, scope, name, text, length), (other, scope, other_name(name), text, length))
IN_DOMAIN(relation_add_to_current, (DOMAIN, int relation, ID tail), (domain, relation, tail),
          (other, relation, tail))
IN_DOMAIN(relation_add, (DOMAIN, ID head, int relation, ID tail), (domain, head, relation, tail),
          (other, head, relation, tail))
IN_DOMAIN(relation_add_to_current_ex, (DOMAIN, CLOCK, int relation, ID tail),
          (domain, clock, time, relation, tail), (other, NULL, time, relation, tail))
IN_DOMAIN(relation_add_ex, (DOMAIN, CLOCK, ID head, int relation, ID tail),
          (domain, clock, time, head, relation, tail), (other, NULL, time, head, relation, tail))

#define BY_NAME(function)                                                                          \
    IN_DOMAIN(function, (DOMAIN, NAME), (domain, name), (other, other_name(name)))
BY_NAME(counter_inc_v3)
BY_NAME(counter_dec_v3)

#define BY_NAME_DELTA(function)                                                                    \
    IN_DOMAIN(function, (DOMAIN, NAME, unsigned long long delta), (domain, name, delta),           \
              (other, other_name(name), delta))
BY_NAME_DELTA(counter_inc_delta_v3)
BY_NAME_DELTA(counter_dec_delta_v3)

PLAIN(pause, (void), (), ())
PLAIN(resume, (void), (), ())
PLAIN(detach, (void), (), ())
PLAIN(pause_scoped, (int scope), (scope), (scope))
PLAIN(resume_scoped, (int scope), (scope), (scope))
PLAIN(thread_set_name, (const char *name), (name), (name))
PLAIN(sync_create, (void *at, const char *type, const char *name, int attribute),
      (at, type, name, attribute), (at, type, name, attribute))
PLAIN(sync_rename, (void *at, const char *name), (at, name), (at, name))
PLAIN(sync_destroy, (void *at), (at), (at))
PLAIN(sync_prepare, (void *at), (at), (at))
PLAIN(sync_acquired, (void *at), (at), (at))
PLAIN(sync_cancel, (void *at), (at), (at))
PLAIN(sync_releasing, (void *at), (at), (at))

/* ---- Counters and events --------------------------------------------------------------------- */

/* Returns the next tool's counter; NULL if it was made before the next tool was loaded. */
static void *other_counter(const struct itt_counter_info *counter)
{
    return counter ? (void *)(uintptr_t)other_of(counter) : NULL;
}

static struct itt_counter_info *counter_create_typed_both(const char *name, const char *domain,
                                                          int type)
{
    typedef struct itt_counter_info *function(const char *, const char *, int);
    struct itt_counter_info *ours = OWN(counter_create_typed, function)(name, domain, type);
    if (ours && counter_create_typed_link.next && !other_counter(ours))
        keep(ours, (uintptr_t)NEXT(counter_create_typed, function)(name, domain, type));
    return ours;
}

static struct itt_counter_info *counter_create_both(const char *name, const char *domain)
{
    return counter_create_typed_both(name, domain, ITT_TYPE_U64);
}

#define COUNTER const struct itt_counter_info *counter
#define OF_COUNTER(name, parameters, own_arguments, next_arguments)                                \
    static struct link name##_link;                                                                \
    static void name##_both parameters                                                             \
    {                                                                                              \
        typedef void function parameters;                                                          \
        OWN(name, function) own_arguments;                                                         \
        const struct itt_counter_info *other = other_counter(counter);                             \
        if (other && name##_link.next)                                                             \
            NEXT(name, function) next_arguments;                                                   \
    }
OF_COUNTER(counter_inc, (COUNTER), (counter), (other))
OF_COUNTER(counter_dec, (COUNTER), (counter), (other))
OF_COUNTER(counter_inc_delta, (COUNTER, unsigned long long delta), (counter, delta), (other, delta))
OF_COUNTER(counter_dec_delta, (COUNTER, unsigned long long delta), (counter, delta), (other, delta))
OF_COUNTER(counter_set_value, (COUNTER, void *value), (counter, value), (other, value))

/* NOLINTEND(bugprone-macro-parentheses) */

/* Numbers of events are annot's: small, never addresses. */
static const void *event_address(int event)
{
    return (const void *)(uintptr_t)(unsigned)event;
}

static int event_create_both(const char *name, int length)
{
    typedef int function(const char *, int);
    int ours = OWN(event_create, function)(name, length);
    if (ours && event_create_link.next && !other_of(event_address(ours)))
        keep(event_address(ours), (unsigned)NEXT(event_create, function)(name, length));
    return ours;
}

#define OF_EVENT(name)                                                                             \
    static struct link name##_link;                                                                \
    static int name##_both(int event)                                                              \
    {                                                                                              \
        typedef int function(int);                                                                 \
        int result = OWN(name, function)(event), other = (int)other_of(event_address(event));      \
        if (other && name##_link.next)                                                             \
            NEXT(name, function)(other);                                                           \
        return result;                                                                             \
    }
OF_EVENT(event_start)
OF_EVENT(event_end)

/* ---- Loading --------------------------------------------------------------------------------- */

static struct chained {
    const char *name; /* with "__itt_" */
    struct link *link;
    void *both; /* NULL: annot's own suffices */
} chained[] = {

#define LINK(name)                                                                                 \
    {                                                                                              \
        "__itt_" #name, &name##_link, name##_both                                                  \
    }
#define MAKER(name)                                                                                \
    {                                                                                              \
        "__itt_" #name, &name##_link, NULL                                                         \
    }
    MAKER(domain_create),
    MAKER(string_handle_create),
    LINK(counter_create),
    LINK(counter_create_typed),
    LINK(counter_dec),
    LINK(counter_dec_delta),
    LINK(counter_dec_delta_v3),
    LINK(counter_dec_v3),
    LINK(counter_inc),
    LINK(counter_inc_delta),
    LINK(counter_inc_delta_v3),
    LINK(counter_inc_v3),
    LINK(counter_set_value),
    LINK(detach),
    LINK(event_create),
    LINK(event_end),
    LINK(event_start),
    LINK(frame_begin_v3),
    LINK(frame_end_v3),
    LINK(id_create),
    LINK(id_create_ex),
    LINK(id_destroy),
    LINK(id_destroy_ex),
    LINK(marker),
    LINK(marker_ex),
    LINK(metadata_add),
    LINK(metadata_add_with_scope),
    LINK(metadata_str_add),
    LINK(metadata_str_add_with_scope),
    LINK(pause),
    LINK(pause_scoped),
    LINK(region_begin),
    LINK(region_end),
    LINK(relation_add),
    LINK(relation_add_ex),
    LINK(relation_add_to_current),
    LINK(relation_add_to_current_ex),
    LINK(resume),
    LINK(resume_scoped),
    LINK(sync_acquired),
    LINK(sync_cancel),
    LINK(sync_create),
    LINK(sync_destroy),
    LINK(sync_prepare),
    LINK(sync_releasing),
    LINK(sync_rename),
    LINK(task_begin),
    LINK(task_begin_ex),
    LINK(task_begin_fn),
    LINK(task_begin_fn_ex),
    LINK(task_begin_overlapped),
    LINK(task_begin_overlapped_ex),
    LINK(task_end),
    LINK(task_end_ex),
    LINK(task_end_overlapped),
    LINK(task_end_overlapped_ex),
    LINK(task_group),
    LINK(thread_set_name),
};

enum { CHAINED = sizeof(chained) / sizeof(*chained) };

/* No lock is held while it is loaded and initialised: other threads come here inside of dlopen, and
 * it may wait for dlopen's lock. Their images get both functions at once; the next tool receives
 * their calls as soon as it is loaded. */
enum { NOT_LOADED, LOADING, LOADED };

static int next_state; /* W: swapped by the loading thread; then that thread */
/* Set to skip images that the next tool itself loads. */
static __thread int is_loading __attribute__((tls_model("initial-exec")));

/* Passes the tables of a fake image for the next tool to fill. */
static void give_tables(void (*init)(struct itt_global *, int), const struct itt_global *image)
{
    static struct itt_api apis[CHAINED + 1];
    static struct itt_global shadow = {.version_major = 3,
                                       .version_build = ITT_API_BUILD,
                                       .is_mutex_initialized = 1,
                                       .mutex = PTHREAD_RECURSIVE_MUTEX_INITIALIZER_NP,
                                       .state = ITT_INITIALIZED,
                                       .apis = apis};
    memcpy(shadow.magic, image->magic, sizeof(shadow.magic));
    shadow.version_minor = image->version_minor;
    shadow.library = dlopen(secure_getenv(INJECT_ITT_NEXT), RTLD_LAZY | RTLD_NOLOAD);
    for (int i = 0; i < CHAINED; i++)
        apis[i] = (struct itt_api){chained[i].name, &chained[i].link->next, NULL, NULL, -1};
    init(&shadow, -1);
}

static void load(const struct itt_global *image)
{
    void (*init)(struct itt_global *, int);
    *(void **)&init = inject_next_function(INJECT_ITT_NEXT, "__itt_api_init", 1);
    if (init)
        give_tables(init, image);
}

/* On the first image of any thread: annot's own functions are set before an image gets `both`. */
void itt_next_load(const struct itt_global *image, void *(*find)(const char *name))
{
    int state = NOT_LOADED;
    const char *path = secure_getenv(INJECT_ITT_NEXT);
    if (!path || !*path)
        return;
    for (int i = 0; i < CHAINED; i++)
        annot_store_relaxed(&chained[i].link->own, find(chained[i].name)); /* always the same */
    /* Partner: itself. */
    if (!annot_cas_acq_rel(&next_state, &state, LOADING))
        return;
    is_loading = 1;
    load(image);
    is_loading = 0;
    annot_store_release(&next_state, LOADED); /* partner: itt_next_function */
}

void *itt_next_function(const char *name)
{
    /* Partner: itt_next_load. */
    if (annot_load_acquire(&next_state) == NOT_LOADED || is_loading)
        return NULL;
    for (int i = 0; i < CHAINED; i++)
        if (strcmp(chained[i].name, name) == 0)
            return chained[i].both;
    return NULL;
}
