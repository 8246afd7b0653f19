/* SPDX-License-Identifier: MIT */
/* A plugin with annotations; built with a static copy of libannot, with the shared one, and with a
 * static copy that claims another version. */
#include <annot/annot.h>
#include <annot/watch.h>

__attribute__((visibility("default"))) void plugin_run(int count);
__attribute__((visibility("default"))) int plugin_watch(annot_watch_fn *fn, void *context);

int plugin_watch(annot_watch_fn *fn, void *context)
{
    return annot_watch_range("watched", NULL, fn, context);
}

/* Calls functions added after the first version. */
static void run_later(void)
{
    static const struct annot_field field = {.name = "f", .kind = ANNOT_FIELD_INT32};
    char text[ANNOT_TRACE_CONTEXT_SIZE];
    int32_t number = 5;
    annot_schema schema = annot_schema_create("plugin struct", sizeof(number), &field, 1);
    const struct annot_value values[] = {annot_value_int64("plugin key", 1),
                                         annot_value_struct(schema, &number, sizeof(number))};
    struct annot_event event = {.text = "plugin event", .values = values, .value_count = 2};
    struct annot_track track = annot_track_create("plugin track", NULL);
    annot_counter_unit(0, "plugin counter", "things");
    annot_track_begin(&track, "plugin task");
    annot_track_begin_event(&track, &event);
    annot_track_mark_event(&track, &event);
    annot_track_end(&track);
    annot_track_end_values(&track, values, 1);
    annot_counters("plugin counters", values, 1);
    annot_flow_begin(annot_flow_new(), "plugin flow");
    annot_flow_end(annot_flow_id("plugin", 7));
    annot_push_format("plugin %d", 1);
    annot_mark_format("plugin %d", 2);
    annot_log(ANNOT_SEVERITY_INFO, "plugin log");
    annot_log_format(ANNOT_SEVERITY_INFO, "plugin %d", 3);
    annot_trace_context(text);
    annot_trace_context_adopt(annot_current() ? text : "no range is open");
    annot_pop_values(values, 2);
    annot_abort_note("plugin");
}

void plugin_run(int count)
{
    annot_domain domain = annot_domain_create("plugin");
    struct annot_event event = {.text = "plugin event", .domain = domain};
    for (int i = 0; i < count; i++) {
        ANNOT_PUSH("plugin macro");
        annot_push("plugin text");
        annot_push_event(&event);
        annot_range range = annot_start("plugin range");
        annot_mark("plugin mark");
        ANNOT_COUNTER("plugin counter", i);
        annot_end(range);
        annot_pop();
        annot_pop();
        ANNOT_POP();
        run_later();
    }
}
