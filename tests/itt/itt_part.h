/* SPDX-License-Identifier: MIT */
/* A minimal program's side of ITT: pointers, their table, and the first call, which loads the
 * library in INTEL_LIBITTNOTIFY64. With ITT_REAL, that of an installed ITT.
 *
 * Every source that includes this has its own tables, like every image linked with the static part
 * of ITT. Written from the contract (see itt_wire.h for its source). */
#ifndef ANNOT_TEST_ITT_PART_H
#define ANNOT_TEST_ITT_PART_H

#ifdef ITT_REAL
#define INTEL_ITTNOTIFY_API_PRIVATE /* stitched stacks, tasks with times */
#include <ittnotify.h>
#else

#include "itt_wire.h"

#include <dlfcn.h>
#include <stdlib.h>
#include <string.h>

typedef struct itt_domain __itt_domain;
typedef struct itt_string __itt_string_handle;
typedef struct itt_id __itt_id;
typedef struct itt_counter_info *__itt_counter;
typedef struct itt_clock __itt_clock_domain;
typedef struct itt_context __itt_context_metadata;
typedef void *__itt_caller;
typedef int __itt_event;
typedef unsigned long long __itt_timestamp;

static const __itt_id __itt_null = {0, 0, 0};

static inline __itt_id __itt_id_make(const void *address, unsigned long long extra)
{
    return (__itt_id){(uintptr_t)address, extra, 0};
}

enum {
    __itt_metadata_u64 = ITT_TYPE_U64,
    __itt_metadata_s64 = ITT_TYPE_S64,
    __itt_metadata_u32 = ITT_TYPE_U32,
    __itt_metadata_s32 = ITT_TYPE_S32,
    __itt_metadata_u16 = ITT_TYPE_U16,
    __itt_metadata_s16 = ITT_TYPE_S16,
    __itt_metadata_float = ITT_TYPE_FLOAT,
    __itt_metadata_double = ITT_TYPE_DOUBLE,
    __itt_scope_global = ITT_SCOPE_GLOBAL,
    __itt_scope_track_group = ITT_SCOPE_PROCESS,
    __itt_scope_track = ITT_SCOPE_THREAD,
    __itt_scope_task = ITT_SCOPE_TASK,
    __itt_scope_marker = ITT_SCOPE_MARKER,
    __itt_relation_is_dependent_on = 1,
    __itt_relation_is_child_of = 5,
    __itt_relation_is_predecessor_to = 7,
    __itt_collection_scope_host = 1,
    __itt_collection_scope_offload = 2,
    __itt_context_unitsA = ITT_CONTEXT_UNITS,
};

#define __itt_timestamp_none ITT_TIMESTAMP_NONE

/* X(result, name, parameters, groups) */
#define DOMAIN               const __itt_domain *
#define NAME                 __itt_string_handle *
#define CLOCK                __itt_clock_domain *, unsigned long long
#define ITT_FUNCTIONS(X)                                                                           \
    X(__itt_domain *, domain_create, (const char *), 1 << 12)                                      \
    X(NAME, string_handle_create, (const char *), 1 << 12)                                         \
    X(__itt_counter, counter_create, (const char *, const char *), 1 << 8)                         \
    X(__itt_counter, counter_create_typed, (const char *, const char *, int), 1 << 8)              \
    X(__itt_counter, counter_create_v3, (DOMAIN, const char *, int), 1 << 8)                       \
    X(void, pause, (void), 1)                                                                      \
    X(void, resume, (void), 1)                                                                     \
    X(void, pause_scoped, (int), 1)                                                                \
    X(void, resume_scoped, (int), 1)                                                               \
    X(void, detach, (void), 1)                                                                     \
    X(void, thread_set_name, (const char *), 1 << 2)                                               \
    X(void, thread_ignore, (void), 1 << 2)                                                         \
    X(void, sync_create, (void *, const char *, const char *, int), 1 << 4 | 1 << 5)               \
    X(void, sync_rename, (void *, const char *), 1 << 4 | 1 << 5)                                  \
    X(void, sync_destroy, (void *), 1 << 4 | 1 << 5)                                               \
    X(void, sync_prepare, (void *), 1 << 4)                                                        \
    X(void, sync_cancel, (void *), 1 << 4)                                                         \
    X(void, sync_acquired, (void *), 1 << 4)                                                       \
    X(void, sync_releasing, (void *), 1 << 4)                                                      \
    X(void, suppress_push, (unsigned), 1 << 13)                                                    \
    X(void, suppress_pop, (void), 1 << 13)                                                         \
    X(void *, heap_function_create, (const char *, const char *), 1 << 11)                         \
    X(void, heap_allocate_begin, (void *, size_t, int), 1 << 11)                                   \
    X(void, id_create, (DOMAIN, __itt_id), 1 << 12)                                                \
    X(void, id_destroy, (DOMAIN, __itt_id), 1 << 12)                                               \
    X(void, id_create_ex, (DOMAIN, CLOCK, __itt_id), 1 << 12)                                      \
    X(void, id_destroy_ex, (DOMAIN, CLOCK, __itt_id), 1 << 12)                                     \
    X(__itt_timestamp, get_timestamp, (void), 1 << 12)                                             \
    X(void, region_begin, (DOMAIN, __itt_id, __itt_id, NAME), 1 << 12)                             \
    X(void, region_end, (DOMAIN, __itt_id), 1 << 12)                                               \
    X(void, frame_begin_v3, (DOMAIN, __itt_id *), 1 << 12)                                         \
    X(void, frame_end_v3, (DOMAIN, __itt_id *), 1 << 12)                                           \
    X(void, frame_submit_v3, (DOMAIN, __itt_id *, __itt_timestamp, __itt_timestamp), 1 << 12)      \
    X(void, task_group, (DOMAIN, __itt_id, __itt_id, NAME), 1 << 12)                               \
    X(void, task_begin, (DOMAIN, __itt_id, __itt_id, NAME), 1 << 12)                               \
    X(void, task_begin_fn, (DOMAIN, __itt_id, __itt_id, void *), 1 << 12)                          \
    X(void, task_end, (DOMAIN), 1 << 12)                                                           \
    X(void, task_begin_ex, (DOMAIN, CLOCK, __itt_id, __itt_id, NAME), 1 << 12)                     \
    X(void, task_begin_fn_ex, (DOMAIN, CLOCK, __itt_id, __itt_id, void *), 1 << 12)                \
    X(void, task_end_ex, (DOMAIN, CLOCK), 1 << 12)                                                 \
    X(void, task_begin_overlapped, (DOMAIN, __itt_id, __itt_id, NAME), 1 << 12)                    \
    X(void, task_end_overlapped, (DOMAIN, __itt_id), 1 << 12)                                      \
    X(void, task_begin_overlapped_ex, (DOMAIN, CLOCK, __itt_id, __itt_id, NAME), 1 << 12)          \
    X(void, task_end_overlapped_ex, (DOMAIN, CLOCK, __itt_id), 1 << 12)                            \
    X(void, marker, (DOMAIN, __itt_id, NAME, int), 1 << 12)                                        \
    X(void, marker_ex, (DOMAIN, CLOCK, __itt_id, NAME, int), 1 << 12)                              \
    X(void, formatted_metadata_add, (DOMAIN, NAME, ...), 1 << 12)                                  \
    X(void, formatted_metadata_add_overlapped, (DOMAIN, __itt_id, NAME, ...), 1 << 12)             \
    X(void, metadata_add, (DOMAIN, __itt_id, NAME, int, size_t, void *), 1 << 12)                  \
    X(void, metadata_str_add, (DOMAIN, __itt_id, NAME, const char *, size_t), 1 << 12)             \
    X(void, metadata_add_with_scope, (DOMAIN, int, NAME, int, size_t, void *), 1 << 12)            \
    X(void, metadata_str_add_with_scope, (DOMAIN, int, NAME, const char *, size_t), 1 << 12)       \
    X(void, relation_add_to_current, (DOMAIN, int, __itt_id), 1 << 12)                             \
    X(void, relation_add, (DOMAIN, __itt_id, int, __itt_id), 1 << 12)                              \
    X(void, relation_add_to_current_ex, (DOMAIN, CLOCK, int, __itt_id), 1 << 12)                   \
    X(void, relation_add_ex, (DOMAIN, CLOCK, __itt_id, int, __itt_id), 1 << 12)                    \
    X(void, counter_inc_v3, (DOMAIN, NAME), 1 << 12)                                               \
    X(void, counter_inc_delta_v3, (DOMAIN, NAME, unsigned long long), 1 << 12)                     \
    X(void, counter_dec_v3, (DOMAIN, NAME), 1 << 12)                                               \
    X(void, counter_dec_delta_v3, (DOMAIN, NAME, unsigned long long), 1 << 12)                     \
    X(void, counter_inc, (__itt_counter), 1 << 8)                                                  \
    X(void, counter_inc_delta, (__itt_counter, unsigned long long), 1 << 8)                        \
    X(void, counter_dec, (__itt_counter), 1 << 8)                                                  \
    X(void, counter_dec_delta, (__itt_counter, unsigned long long), 1 << 8)                        \
    X(void, counter_set_value, (__itt_counter, void *), 1 << 8)                                    \
    X(void, counter_set_value_ex, (__itt_counter, CLOCK, void *), 1 << 8)                          \
    X(void, counter_set_value_v3, (__itt_counter, void *), 1 << 8)                                 \
    X(void, counter_destroy, (__itt_counter), 1 << 8)                                              \
    X(void, bind_context_metadata_to_counter, (__itt_counter, size_t, __itt_context_metadata *),   \
      1 << 12)                                                                                     \
    X(__itt_event, event_create, (const char *, int), 1 << 3)                                      \
    X(int, event_start, (__itt_event), 1 << 3)                                                     \
    X(int, event_end, (__itt_event), 1 << 3)                                                       \
    X(__itt_clock_domain *, clock_domain_create, (void (*)(__itt_clock_domain *, void *), void *), \
      1 << 12)                                                                                     \
    X(void, clock_domain_reset, (void), 1 << 12)                                                   \
    X(__itt_caller, stack_caller_create, (void), 1 << 10)                                          \
    X(void, stack_caller_destroy, (__itt_caller), 1 << 10)                                         \
    X(void, stack_callee_enter, (__itt_caller), 1 << 10)                                           \
    X(void, stack_callee_leave, (__itt_caller), 1 << 10)                                           \
    X(void, fsync_prepare, (void *), 1 << 5)

struct itt_part {
#define X(result, name, parameters, groups) result(*name) parameters;
    ITT_FUNCTIONS(X)
#undef X
};

static struct itt_part itt_part;

#ifdef ITT_INSIDE
void __itt_api_init(struct itt_global *image, int groups);
#endif

static void itt_part_init(void)
{
    static struct itt_api apis[] = {
#define X(result, name, parameters, groups)                                                        \
    {"__itt_" #name, (void **)(void *)&itt_part.name, NULL, NULL, groups},
        ITT_FUNCTIONS(X)
#undef X
            {NULL, NULL, NULL, NULL, 0}};
    static struct itt_global image = {.magic = {0xED, 0xAB, 0xAB, 0xEC, 0x0D, 0xEE, 0xDA, 0x30},
                                      .version_major = 3,
                                      .version_build = 20250807,
                                      .apis = apis};
    void (*init)(struct itt_global *, int) = NULL;
#ifdef ITT_INSIDE /* the library is a part of the program */
    init = __itt_api_init;
#else
    const char *path = getenv("INTEL_LIBITTNOTIFY64");
    if (path && (image.library = dlopen(path, RTLD_LAZY)))
        *(void **)&init = dlsym(image.library, "__itt_api_init");
#endif
    if (init)
        init(&image, -1);
    image.is_initialized = 1;
}

/* Runs at the first call of an image. An event of a domain with flags 0 is ignored. */
static inline struct itt_part *itt_call(void)
{
    static pthread_once_t once = PTHREAD_ONCE_INIT;
    pthread_once(&once, itt_part_init);
    return &itt_part;
}

#define ITT_CALL(name, ...)  (itt_call()->name ? itt_part.name(__VA_ARGS__) : (void)0)
#define ITT_VALUE(name, ...) (itt_call()->name ? itt_part.name(__VA_ARGS__) : 0)
#define ITT_IN(d, name, ...) ((d) && (d)->flags ? ITT_CALL(name, d, ##__VA_ARGS__) : (void)0)

#define __itt_domain_create(...)        ITT_VALUE(domain_create, __VA_ARGS__)
#define __itt_string_handle_create(...) ITT_VALUE(string_handle_create, __VA_ARGS__)
#define __itt_counter_create(...)       ITT_VALUE(counter_create, __VA_ARGS__)
#define __itt_counter_create_typed(...) ITT_VALUE(counter_create_typed, __VA_ARGS__)
#define __itt_counter_create_v3(...)    ITT_VALUE(counter_create_v3, __VA_ARGS__)
#define __itt_pause()                   ITT_CALL(pause)
#define __itt_resume()                  ITT_CALL(resume)
#define __itt_pause_scoped(...)         ITT_CALL(pause_scoped, __VA_ARGS__)
#define __itt_resume_scoped(...)        ITT_CALL(resume_scoped, __VA_ARGS__)
#define __itt_detach()                  ITT_CALL(detach)
#define __itt_thread_set_name(...)      ITT_CALL(thread_set_name, __VA_ARGS__)
#define __itt_thread_ignore()           ITT_CALL(thread_ignore)
#define __itt_sync_create(...)          ITT_CALL(sync_create, __VA_ARGS__)
#define __itt_sync_rename(...)          ITT_CALL(sync_rename, __VA_ARGS__)
#define __itt_sync_destroy(...)         ITT_CALL(sync_destroy, __VA_ARGS__)
#define __itt_sync_prepare(...)         ITT_CALL(sync_prepare, __VA_ARGS__)
#define __itt_sync_cancel(...)          ITT_CALL(sync_cancel, __VA_ARGS__)
#define __itt_sync_acquired(...)        ITT_CALL(sync_acquired, __VA_ARGS__)
#define __itt_sync_releasing(...)       ITT_CALL(sync_releasing, __VA_ARGS__)
#define __itt_fsync_prepare(...)        ITT_CALL(fsync_prepare, __VA_ARGS__)
#define __itt_suppress_push(...)        ITT_CALL(suppress_push, __VA_ARGS__)
#define __itt_suppress_pop()            ITT_CALL(suppress_pop)
#define __itt_heap_function_create(...) ITT_VALUE(heap_function_create, __VA_ARGS__)
#define __itt_heap_allocate_begin(...)  ITT_CALL(heap_allocate_begin, __VA_ARGS__)
#define __itt_get_timestamp()           ITT_VALUE(get_timestamp)
#define __itt_event_create(...)         ITT_VALUE(event_create, __VA_ARGS__)
#define __itt_event_start(...)          ITT_VALUE(event_start, __VA_ARGS__)
#define __itt_event_end(...)            ITT_VALUE(event_end, __VA_ARGS__)
#define __itt_clock_domain_create(...)  ITT_VALUE(clock_domain_create, __VA_ARGS__)
#define __itt_clock_domain_reset()      ITT_CALL(clock_domain_reset)
#define __itt_stack_caller_create()     ITT_VALUE(stack_caller_create)
#define __itt_stack_caller_destroy(...) ITT_CALL(stack_caller_destroy, __VA_ARGS__)
#define __itt_stack_callee_enter(...)   ITT_CALL(stack_callee_enter, __VA_ARGS__)
#define __itt_stack_callee_leave(...)   ITT_CALL(stack_callee_leave, __VA_ARGS__)
#define __itt_counter_inc(...)          ITT_CALL(counter_inc, __VA_ARGS__)
#define __itt_counter_inc_delta(...)    ITT_CALL(counter_inc_delta, __VA_ARGS__)
#define __itt_counter_dec(...)          ITT_CALL(counter_dec, __VA_ARGS__)
#define __itt_counter_dec_delta(...)    ITT_CALL(counter_dec_delta, __VA_ARGS__)
#define __itt_counter_set_value(...)    ITT_CALL(counter_set_value, __VA_ARGS__)
#define __itt_counter_set_value_ex(...) ITT_CALL(counter_set_value_ex, __VA_ARGS__)
#define __itt_counter_set_value_v3(...) ITT_CALL(counter_set_value_v3, __VA_ARGS__)
#define __itt_counter_destroy(...)      ITT_CALL(counter_destroy, __VA_ARGS__)
#define __itt_bind_context_metadata_to_counter(...)                                                \
    ITT_CALL(bind_context_metadata_to_counter, __VA_ARGS__)

#define __itt_id_create(d, ...)                ITT_IN(d, id_create, __VA_ARGS__)
#define __itt_id_destroy(d, ...)               ITT_IN(d, id_destroy, __VA_ARGS__)
#define __itt_id_create_ex(d, ...)             ITT_IN(d, id_create_ex, __VA_ARGS__)
#define __itt_id_destroy_ex(d, ...)            ITT_IN(d, id_destroy_ex, __VA_ARGS__)
#define __itt_region_begin(d, ...)             ITT_IN(d, region_begin, __VA_ARGS__)
#define __itt_region_end(d, ...)               ITT_IN(d, region_end, __VA_ARGS__)
#define __itt_frame_begin_v3(d, ...)           ITT_IN(d, frame_begin_v3, __VA_ARGS__)
#define __itt_frame_end_v3(d, ...)             ITT_IN(d, frame_end_v3, __VA_ARGS__)
#define __itt_frame_submit_v3(d, ...)          ITT_IN(d, frame_submit_v3, __VA_ARGS__)
#define __itt_task_group(d, ...)               ITT_IN(d, task_group, __VA_ARGS__)
#define __itt_task_begin(d, ...)               ITT_IN(d, task_begin, __VA_ARGS__)
#define __itt_task_begin_fn(d, ...)            ITT_IN(d, task_begin_fn, __VA_ARGS__)
#define __itt_task_end(d)                      ITT_IN(d, task_end)
#define __itt_task_begin_ex(d, ...)            ITT_IN(d, task_begin_ex, __VA_ARGS__)
#define __itt_task_begin_fn_ex(d, ...)         ITT_IN(d, task_begin_fn_ex, __VA_ARGS__)
#define __itt_task_end_ex(d, ...)              ITT_IN(d, task_end_ex, __VA_ARGS__)
#define __itt_task_begin_overlapped(d, ...)    ITT_IN(d, task_begin_overlapped, __VA_ARGS__)
#define __itt_task_end_overlapped(d, ...)      ITT_IN(d, task_end_overlapped, __VA_ARGS__)
#define __itt_task_begin_overlapped_ex(d, ...) ITT_IN(d, task_begin_overlapped_ex, __VA_ARGS__)
#define __itt_task_end_overlapped_ex(d, ...)   ITT_IN(d, task_end_overlapped_ex, __VA_ARGS__)
#define __itt_marker(d, ...)                   ITT_IN(d, marker, __VA_ARGS__)
#define __itt_marker_ex(d, ...)                ITT_IN(d, marker_ex, __VA_ARGS__)
#define __itt_formatted_metadata_add(d, ...)   ITT_IN(d, formatted_metadata_add, __VA_ARGS__)
#define __itt_formatted_metadata_add_overlapped(d, ...)                                            \
    ITT_IN(d, formatted_metadata_add_overlapped, __VA_ARGS__)
#define __itt_metadata_add(d, ...)            ITT_IN(d, metadata_add, __VA_ARGS__)
#define __itt_metadata_str_add(d, ...)        ITT_IN(d, metadata_str_add, __VA_ARGS__)
#define __itt_metadata_add_with_scope(d, ...) ITT_IN(d, metadata_add_with_scope, __VA_ARGS__)
#define __itt_metadata_str_add_with_scope(d, ...)                                                  \
    ITT_IN(d, metadata_str_add_with_scope, __VA_ARGS__)
#define __itt_relation_add_to_current(d, ...)    ITT_IN(d, relation_add_to_current, __VA_ARGS__)
#define __itt_relation_add(d, ...)               ITT_IN(d, relation_add, __VA_ARGS__)
#define __itt_relation_add_to_current_ex(d, ...) ITT_IN(d, relation_add_to_current_ex, __VA_ARGS__)
#define __itt_relation_add_ex(d, ...)            ITT_IN(d, relation_add_ex, __VA_ARGS__)
#define __itt_counter_inc_v3(d, ...)             ITT_IN(d, counter_inc_v3, __VA_ARGS__)
#define __itt_counter_inc_delta_v3(d, ...)       ITT_IN(d, counter_inc_delta_v3, __VA_ARGS__)
#define __itt_counter_dec_v3(d, ...)             ITT_IN(d, counter_dec_v3, __VA_ARGS__)
#define __itt_counter_dec_delta_v3(d, ...)       ITT_IN(d, counter_dec_delta_v3, __VA_ARGS__)

#endif
#endif
