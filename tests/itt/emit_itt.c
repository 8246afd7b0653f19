/* SPDX-License-Identifier: MIT */
/* A program that calls every function of ITT once or a few times. test_itt.py has the expected
 * contents of the recording. */
#include "itt_part.h"

#include <stdint.h>
#include <stdio.h>

static __itt_domain *domain;
static int object_a, object_b;

static __itt_string_handle *name(const char *text)
{
    return __itt_string_handle_create(text);
}

static void __attribute__((noinline)) worker(void)
{
    __asm__ volatile("");
}

static void emit_tasks(void)
{
    __itt_id parent = __itt_id_make(&object_a, 1), child = __itt_id_make(&object_b, 2);
    __itt_task_begin(domain, __itt_null, __itt_null, name("outer"));
    __itt_task_begin(domain, parent, __itt_null, name("with id"));
    __itt_relation_add_to_current(domain, __itt_relation_is_predecessor_to, child);
    __itt_task_end(domain);
    __itt_task_begin(domain, child, parent, name("child"));
    __itt_relation_add_to_current_ex(domain, NULL, 0, __itt_relation_is_dependent_on, parent);
    __itt_task_end(domain);
    __itt_task_begin_fn(domain, __itt_null, __itt_null, (void *)worker);
    __itt_task_end(domain);
    __itt_task_begin_ex(domain, NULL, 77, __itt_null, __itt_null, name("timed"));
    __itt_task_end_ex(domain, NULL, 78);
    __itt_task_begin_fn_ex(domain, NULL, 0, __itt_null, __itt_null, (void *)worker);
    __itt_task_end_ex(domain, NULL, 0);
    __itt_relation_add(domain, parent, __itt_relation_is_child_of, child);
    __itt_relation_add_ex(domain, NULL, 0, parent, 99, child);
    __itt_id_create(domain, parent);
    __itt_id_create_ex(domain, NULL, 0, child);
    __itt_id_destroy(domain, parent);
    __itt_id_destroy_ex(domain, NULL, 0, child);
    __itt_task_group(domain, parent, __itt_null, name("group"));
    __itt_task_end(domain);
}

static void emit_spans(void)
{
    __itt_id one = __itt_id_make(&object_a, 11), two = __itt_id_make(&object_a, 12);
    __itt_task_begin_overlapped(domain, one, __itt_null, name("first"));
    __itt_task_begin_overlapped_ex(domain, NULL, 99, two, one, name("second"));
    __itt_task_end_overlapped(domain, one);
    __itt_task_end_overlapped_ex(domain, NULL, 0, two);
    __itt_task_end_overlapped(domain, two); /* it does not exist */
    __itt_region_begin(domain, one, __itt_null, name("region"));
    __itt_region_begin(domain, one, __itt_null, name("ignored"));
    __itt_region_end(domain, one);
    __itt_region_end(domain, one);
    __itt_frame_begin_v3(domain, NULL);
    __itt_frame_begin_v3(domain, &one);
    __itt_frame_begin_v3(domain, &one);
    __itt_frame_end_v3(domain, NULL);
    __itt_frame_end_v3(domain, &one);
    __itt_timestamp now = __itt_get_timestamp();
    __itt_frame_submit_v3(domain, NULL, now - 5000, now - 2000);
    __itt_event event = __itt_event_create("event and more", 5);
    __itt_event_start(event);
    __itt_event_end(event);
    __itt_event_end(event);
}

static void emit_counters(void)
{
    static const int types[] = {__itt_metadata_u64,   __itt_metadata_s64,   __itt_metadata_u32,
                                __itt_metadata_s32,   __itt_metadata_u16,   __itt_metadata_s16,
                                __itt_metadata_float, __itt_metadata_double};

    union {
        unsigned long long u64;
        long long s64;
        unsigned u32;
        int s32;
        unsigned short u16;
        short s16;
        float single;
        double real;
    } values[8] = {{.u64 = ~0ull}, {.s64 = -5}, {.u32 = 4000000000u}, {.s32 = -7},
                   {.u16 = 65535}, {.s16 = -9}, {.single = 0.5f},     {.real = -2.25}};

    __itt_counter counter = __itt_counter_create("count", "itt.counters");
    __itt_counter_inc(counter);
    __itt_counter_inc_delta(counter, 10);
    __itt_counter_dec(counter);
    __itt_counter_dec_delta(counter, 4);
    for (int i = 0; i < 8; i++) {
        char text[16];
        snprintf(text, sizeof(text), "type %d", types[i]);
        __itt_counter_set_value(__itt_counter_create_typed(text, NULL, types[i]), &values[i]);
    }
    counter = __itt_counter_create_v3(domain, "third", __itt_metadata_s32);
    __itt_counter_set_value_v3(counter, &values[3]);
    __itt_counter_set_value_ex(counter, NULL, 5, &values[3]);
    __itt_context_metadata unit = {__itt_context_unitsA, (void *)(uintptr_t) "furlongs"};
    __itt_bind_context_metadata_to_counter(counter, 1, &unit);
    __itt_counter_destroy(counter);
    __itt_counter_inc_v3(domain, name("by name"));
    __itt_counter_inc_delta_v3(domain, name("by name"), 6);
    __itt_counter_dec_v3(domain, name("by name"));
    __itt_counter_dec_delta_v3(domain, name("by name"), 9);
}

static void emit_metadata(void)
{
    int numbers[3] = {1, -2, 3};
    double real = 0.5;
    __itt_id id = __itt_id_make(&object_b, 21);
    __itt_task_begin(domain, __itt_null, __itt_null, name("described"));
    __itt_metadata_add(domain, __itt_null, name("one"), __itt_metadata_s32, 1, numbers + 1);
    __itt_task_begin(domain, id, __itt_null, name("inner"));
    __itt_metadata_add_with_scope(domain, __itt_scope_task, name("real"), __itt_metadata_double, 1,
                                  &real);
    __itt_metadata_str_add(domain, id, name("text"), "of the task", 6);
    __itt_task_end(domain);
    __itt_metadata_add(domain, __itt_null, name("three"), __itt_metadata_s32, 3, numbers);
    __itt_metadata_add(domain, __itt_null, name("none"), __itt_metadata_s32, 0, numbers);
    __itt_metadata_str_add_with_scope(domain, __itt_scope_global, name("scoped"), "whole", -1);
    __itt_formatted_metadata_add(domain, name("%d of %s"), 5, "six");
    __itt_task_end(domain);
    __itt_task_begin_overlapped(domain, id, __itt_null, name("far"));
    __itt_metadata_str_add(domain, id, name("text"), "of the span", (size_t)-1);
    __itt_formatted_metadata_add_overlapped(domain, id, name("%d%%"), 50);
    __itt_task_end_overlapped(domain, id);
    __itt_metadata_add(domain, __itt_null, name("alone"), __itt_metadata_double, 1, &real);
}

static void emit_sync(void)
{
    __itt_sync_create(&object_a, "lock", "of a", 0);
    __itt_sync_prepare(&object_a);
    __itt_sync_acquired(&object_a);
    __itt_sync_releasing(&object_a);
    __itt_sync_rename(&object_a, "renamed");
    __itt_sync_prepare(&object_a);
    __itt_sync_cancel(&object_a);
    __itt_sync_acquired(&object_a); /* without a wait */
    __itt_sync_destroy(&object_a);
    __itt_sync_releasing(&object_a);
    __itt_fsync_prepare(&object_b); /* for lock checkers */
}

static void emit_pauses(void)
{
    __itt_pause_scoped(__itt_collection_scope_offload);
    __itt_marker(domain, __itt_null, name("not paused"), 0);
    __itt_pause_scoped(__itt_collection_scope_host);
    __itt_task_begin(domain, __itt_null, __itt_null, name("hidden"));
    __itt_marker(domain, __itt_null, name("hidden"), __itt_scope_global);
    __itt_resume_scoped(__itt_collection_scope_host);
    __itt_task_begin(domain, __itt_null, __itt_null, name("shown"));
    __itt_pause();
    __itt_pause();
    __itt_task_end(domain); /* of the visible one */
    __itt_task_end(domain); /* of the hidden one */
    __itt_resume();
    __itt_resume();
    __itt_detach();
    __itt_resume();
    __itt_marker(domain, __itt_null, name("detached"), 0);
}

#ifdef ITT_REAL
static void read_clock(__itt_clock_info *clock, void *data)
{
    clock->clock_freq = *(unsigned *)data;
}
#else
static void read_clock(__itt_clock_domain *clock, void *data)
{
    clock->frequency = *(unsigned *)data;
}
#endif

static void emit_others(void)
{
    unsigned frequency = 1000;
    __itt_marker(domain, __itt_null, name("everywhere"), __itt_scope_global);
    __itt_clock_domain *clock = __itt_clock_domain_create(read_clock, &frequency);
    __itt_clock_domain_reset();
    __itt_marker_ex(domain, clock, 5, __itt_null, name("here"), __itt_scope_track);
    __itt_task_begin(domain, __itt_null, __itt_null, name("stitched"));
    __itt_caller caller = __itt_stack_caller_create();
    __itt_stack_callee_enter(caller);
    __itt_stack_callee_leave(caller);
    __itt_stack_caller_destroy(caller);
    __itt_task_end(domain);
    __itt_suppress_push(1);
    __itt_suppress_pop();
    __itt_thread_ignore();
    __itt_heap_allocate_begin(__itt_heap_function_create("malloc", "heap"), 8, 0);
    __itt_domain *off = __itt_domain_create("switched off");
    if (off)
        off->flags = 0; /* by the program */
    __itt_task_begin(off, __itt_null, __itt_null, name("never"));
    __itt_task_end(off);
}

int main(void)
{
    domain = __itt_domain_create("itt.test");
    __itt_thread_set_name("named by itt");
    emit_tasks();
    emit_spans();
    emit_counters();
    emit_metadata();
    emit_sync();
    emit_others();
    emit_pauses();
    return 0;
}
