/* SPDX-License-Identifier: MIT */
/* This copy's table of functions, for later copies: see runtime.h. */
#include "api.h"

#include <annot/observers.h>

#define OWNED(name) extern __typeof__(name) own_##name __attribute__((visibility("hidden")))

OWNED(annot_status);
OWNED(annot_name_intern);
OWNED(annot_domain_create);
OWNED(annot_category_create);
OWNED(annot_name_process);
OWNED(annot_name_thread);
OWNED(annot_emit_push);
OWNED(annot_emit_push_name);
OWNED(annot_emit_push_event);
OWNED(annot_emit_pop);
OWNED(annot_emit_start);
OWNED(annot_emit_start_event);
OWNED(annot_emit_end);
OWNED(annot_emit_mark);
OWNED(annot_emit_mark_name);
OWNED(annot_emit_mark_event);
OWNED(annot_emit_counter);
OWNED(annot_emit_counter_name);
OWNED(annot_emit_counter_int);
OWNED(annot_emit_counter_event);
OWNED(annot_schema_create);
OWNED(annot_counter_unit);
OWNED(annot_emit_counters);
OWNED(annot_emit_flow);
OWNED(annot_flow_new);
OWNED(annot_emit_track_begin);
OWNED(annot_emit_track_begin_event);
OWNED(annot_emit_track_end);
OWNED(annot_emit_track_mark_event);
OWNED(annot_track_create);
OWNED(push_formatted);
OWNED(mark_formatted);
OWNED(annot_emit_log);
OWNED(annot_abort_note);
OWNED(annot_current);
OWNED(annot_trace_context);
OWNED(annot_trace_context_adopt);
OWNED(annot_function_name);
OWNED(annot_emit_call);
OWNED(annot_emit_return);
OWNED(annot_emit_pop_values);
OWNED(annot_emit_end_values);
OWNED(annot_emit_track_end_values);
OWNED(annot_emit_show);
OWNED(annot_emit_hide);
OWNED(annot_emit_wants);
OWNED(annot_recording);
OWNED(annot_name_thread_of);
OWNED(annot_domain_observed);
OWNED(annot_category_observed);
OWNED(annot_open_ranges);
OWNED(annot_emit_push_in);
OWNED(annot_emit_mark_in);
OWNED(annot_queue_create);
OWNED(annot_queue_label);
OWNED(annot_clock_create);
OWNED(annot_clock_anchor);
OWNED(annot_queue_time);
OWNED(annot_origin_here);
OWNED(annot_emit_spans);
OWNED(annot_queue_count);
OWNED(annot_watch_range);
OWNED(annot_process_note);
OWNED(annot_queue_wishes);
OWNED(annot_code_name);
OWNED(annot_code_enter);
OWNED(annot_code_leave);
OWNED(annot_code_wanted);
OWNED(annot_code_enter_values);
OWNED(annot_code_leave_values);
OWNED(annot_sums_begin);
OWNED(annot_sums_are_current);
OWNED(annot_sums_add);
OWNED(annot_sums_end);
OWNED(annot_code_name_least);
OWNED(annot_emit_pop_empty);
OWNED(annot_name_text);

const struct runtime_table runtime_own = {
    .size = sizeof(struct runtime_table),
    .version = ANNOT_VERSION_MAJOR << 16 | ANNOT_VERSION_MINOR << 8 | ANNOT_VERSION_PATCH,
    .status = own_annot_status,
    .name_intern = own_annot_name_intern,
    .domain_create = own_annot_domain_create,
    .category_create = own_annot_category_create,
    .name_process = own_annot_name_process,
    .name_thread = own_annot_name_thread,
    .push = own_annot_emit_push,
    .push_name = own_annot_emit_push_name,
    .push_event = own_annot_emit_push_event,
    .pop = own_annot_emit_pop,
    .start = own_annot_emit_start,
    .start_event = own_annot_emit_start_event,
    .end = own_annot_emit_end,
    .mark = own_annot_emit_mark,
    .mark_name = own_annot_emit_mark_name,
    .mark_event = own_annot_emit_mark_event,
    .counter = own_annot_emit_counter,
    .counter_name = own_annot_emit_counter_name,
    .counter_int = own_annot_emit_counter_int,
    .counter_event = own_annot_emit_counter_event,
    .schema_create = own_annot_schema_create,
    .counter_unit = own_annot_counter_unit,
    .counters = own_annot_emit_counters,
    .flow = own_annot_emit_flow,
    .flow_new = own_annot_flow_new,
    .track_begin = own_annot_emit_track_begin,
    .track_begin_event = own_annot_emit_track_begin_event,
    .track_end = own_annot_emit_track_end,
    .track_mark_event = own_annot_emit_track_mark_event,
    .track_create = own_annot_track_create,
    .push_formatted = own_push_formatted,
    .mark_formatted = own_mark_formatted,
    .log = own_annot_emit_log,
    .abort_note = own_annot_abort_note,
    .current = own_annot_current,
    .trace_context = own_annot_trace_context,
    .trace_context_adopt = own_annot_trace_context_adopt,
    .function_name = own_annot_function_name,
    .call = own_annot_emit_call,
    .return_ = own_annot_emit_return,
    .pop_values = own_annot_emit_pop_values,
    .end_values = own_annot_emit_end_values,
    .track_end_values = own_annot_emit_track_end_values,
    .show = own_annot_emit_show,
    .hide = own_annot_emit_hide,
    .wants = own_annot_emit_wants,
    .recording = own_annot_recording,
    .name_thread_of = own_annot_name_thread_of,
    .domain_observed = own_annot_domain_observed,
    .category_observed = own_annot_category_observed,
    .open_ranges = own_annot_open_ranges,
    .push_in = own_annot_emit_push_in,
    .mark_in = own_annot_emit_mark_in,
    .queue_create = own_annot_queue_create,
    .queue_label = own_annot_queue_label,
    .clock_create = own_annot_clock_create,
    .clock_anchor = own_annot_clock_anchor,
    .queue_time = own_annot_queue_time,
    .origin_here = own_annot_origin_here,
    .emit_spans = own_annot_emit_spans,
    .queue_count = own_annot_queue_count,
    .watch_range = own_annot_watch_range,
    .process_note = own_annot_process_note,
    .queue_wishes = own_annot_queue_wishes,
    .code_name = own_annot_code_name,
    .code_enter = own_annot_code_enter,
    .code_leave = own_annot_code_leave,
    .code_wanted = own_annot_code_wanted,
    .code_enter_values = own_annot_code_enter_values,
    .code_leave_values = own_annot_code_leave_values,
    .sums_begin = own_annot_sums_begin,
    .sums_are_current = own_annot_sums_are_current,
    .sums_add = own_annot_sums_add,
    .sums_end = own_annot_sums_end,
    .code_name_least = own_annot_code_name_least,
    .pop_empty = own_annot_emit_pop_empty,
    .name_text = own_annot_name_text,
};
