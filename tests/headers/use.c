/* SPDX-License-Identifier: MIT */
/* Every public name and macro once, with no other includes. There is no recording while it runs. */
#include <annot/annot.h>

static int nested(int value)
{
#if defined(__GNUC__)
    ANNOT_RANGE("nested");
    ANNOT_RANGE("again");
#endif
    return value + 1;
}

static int use_values(struct annot_event *event)
{
    static const struct annot_field fields[] = {
        {"size", "bytes", 0, 1, ANNOT_FIELD_UINT32, {0, 0, 0}}};
    uint32_t bytes = 1;
    struct annot_value values[6];
    annot_schema schema = annot_schema_create("struct", sizeof(bytes), fields, 1);
    values[0] = annot_value_int64("a", -1);
    values[1] = annot_value_uint64("b", 1);
    values[2] = annot_value_double("c", 1.0);
    values[3] = annot_value_bool("d", 1);
    values[4] = annot_value_string("e", "text");
    values[5] = annot_value_struct(schema, &bytes, sizeof(bytes));
    event->values = values;
    event->value_count = 6;
    annot_mark_event(event);
    annot_counter_unit(event->domain, "c", "bytes");
    annot_counters("c", values, 3);
    annot_pop_values(values, 3);
    annot_end_values(annot_start("r"), values, 3);
    event->values = NULL;
    event->value_count = 0;
    return schema == 0;
}

static int use_tracks(const struct annot_event *event)
{
    struct annot_track track = annot_track_create("track", NULL);
    struct annot_track below = annot_track_create("below", &track);
    annot_flow_begin(annot_flow_new(), "flow");
    annot_flow_step(annot_flow_id("scope", 1));
    annot_flow_end(annot_flow_id("scope", 1));
    annot_track_begin(&track, "t");
    annot_track_begin_event(&below, event);
    annot_track_mark_event(&below, event);
    if (annot_track_wants(event) && annot_track_show(annot_name_intern("t"), 0, 1))
        annot_track_hide(0, 1);
    annot_track_end(&below);
    annot_track_end_values(&track, event->values, event->value_count);
    return below.parent != track.id;
}

static int use_logs(void)
{
    char text[ANNOT_TRACE_CONTEXT_SIZE];
    annot_push_format("%d", 1);
    annot_mark_format("text");
    annot_pop();
    annot_log(ANNOT_SEVERITY_DEBUG, "l");
    annot_log_format(ANNOT_SEVERITY_FATAL, "%s", "l");
    annot_abort_note("n");
    return annot_current() != 0 || annot_recording() != 0 || annot_trace_context(text) ||
           annot_trace_context_adopt(NULL);
}

int main(void)
{
    struct annot_event event = {0};
    annot_range range;
    annot_domain domain = annot_domain_create("headers");
    event.text = "event";
    event.name = annot_name_intern("event");
    event.domain = domain;
    event.category = annot_category_create(domain, "tests");
    event.payload_kind = ANNOT_PAYLOAD_DOUBLE;
    event.payload.float64 = 1.5;
    annot_name_process("header test");
    annot_name_thread("main");
    annot_name_thread_of(1, "main");
    annot_push("a");
    annot_push_name(event.name);
    annot_push_event(&event);
    ANNOT_PUSH("b");
    ANNOT_POP();
    annot_pop();
    range = annot_start("range");
    annot_end(range);
    annot_end(annot_start_event(&event));
    annot_mark("m");
    annot_mark_event(&event);
    ANNOT_MARK("m");
    annot_counter("c", 1.0);
    annot_counter_event(&event);
    ANNOT_COUNTER("c", 2);
    if (use_values(&event) || use_tracks(&event) || use_logs())
        return 2;
    return annot_enabled() || annot_status() == NULL || nested(0) != 1;
}
