/* SPDX-License-Identifier: MIT */
/* Markers, the older marks, and frames of the first version. */
#include "itt_parts.h"

static const char *scope_text(int scope)
{
    static const char *const texts[] = {NULL, "global", "process", "thread", "task", "marker"};
    return scope > 0 && scope <= ITT_SCOPE_MARKER ? texts[scope] : NULL;
}

static void mark(struct annot_event event, int scope, unsigned long long time)
{
    const char *text = scope_text(scope);
    struct annot_value values[2];
    event.values = values;
    if (text)
        values[event.value_count++] = annot_value_string("scope", text);
    if (time)
        values[event.value_count++] = annot_value_uint64("timestamp", time);
    annot_emit_mark_event(&event);
}

static void marker(const struct itt_domain *domain, struct itt_id id, struct itt_string *name,
                   int scope)
{
    (void)id;
    if (!itt_is_wanted())
        return;
    mark(itt_event(domain, name), scope, 0);
}

static void marker_ex(const struct itt_domain *domain, struct itt_clock *clock,
                      unsigned long long time, struct itt_id id, struct itt_string *name, int scope)
{
    (void)clock;
    (void)id;
    if (!itt_is_wanted())
        return;
    mark(itt_event(domain, name), scope, time);
}

static void task_group(const struct itt_domain *domain, struct itt_id id, struct itt_id parent,
                       struct itt_string *name)
{
    (void)parent;
    marker(domain, id, name, 0);
}

/* ---- Marks of the first version: a type is the number of its name -----------------------------
 */

static int mark_create(const char *name)
{
    return name ? (int)annot_name_intern(name) : 0;
}

static int mark_with(int type, const char *parameter, const char *scope)
{
    struct annot_value values[2];
    struct annot_event event = {
        .name = (annot_name)type, .domain = itt_domain_find(NULL), .values = values};
    if (parameter)
        values[event.value_count++] = annot_value_string("parameter", parameter);
    if (scope)
        values[event.value_count++] = annot_value_string("scope", scope);
    annot_emit_mark_event(&event);
    return 0;
}

static int mark_here(int type, const char *parameter)
{
    return type > 0 && itt_is_wanted() ? mark_with(type, parameter, NULL) : 0;
}

static int mark_global(int type, const char *parameter)
{
    return type > 0 && itt_is_wanted() ? mark_with(type, parameter, "global") : 0;
}

const struct itt_entry itt_entries_marks[] = {
    {"mark", mark_here}, {"mark_create", mark_create}, {"mark_global", mark_global},
    {"marker", marker},  {"marker_ex", marker_ex},     {"task_group", task_group},
    {NULL, NULL},
};
