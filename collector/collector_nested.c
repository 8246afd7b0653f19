/* SPDX-License-Identifier: MIT */
/* See collector_parts.h. */
#include "collector_parts.h"

#include <errno.h>
#include <limits.h>
#include <stdio.h>
#include <string.h>

/* Once each. */
static void note(struct nested *nested, const struct annot_session *session)
{
    struct trace_session *entry = trace_session(nested->trace);
    const char *before = trace_string(nested->trace, entry->nested)->bytes;
    const char *path = (const char *)session->recording_path;
    char text[2 * PATH_MAX] = "";
    if (path[0] == 0 || (entry->nested != 0 && strstr(before, path)))
        return;
    if (entry->nested != 0 && strlen(before) < PATH_MAX)
        snprintf(text, sizeof(text), "%s\n", before);
    snprintf(text + strlen(text), sizeof(text) - strlen(text), "%s", path);
    int64_t ordinal = trace_string_add(nested->trace, text, strlen(text));
    entry->nested = ordinal > 0 ? (uint32_t)ordinal : 0;
    entry->revision++;
}

void nested_seen(struct nested *nested, const char *name)
{
    struct annot_session session;
    uint64_t id;
    if (!session_name_parse(name, &id) || id == nested->session->id)
        return;
    int error = session_file_peek(nested->directory, name, &session);
    if (error == -EAGAIN && nested->unread_count < NESTED_UNREAD_MAX)
        memcpy(nested->unread[nested->unread_count++], name, strlen(name) + 1);
    if (error == 0 && session.parent_id == nested->session->id)
        note(nested, &session);
}

void nested_read_unread(struct nested *nested)
{
    unsigned count = nested->unread_count;
    char names[NESTED_UNREAD_MAX][SESSION_NAME_SIZE];
    memcpy(names, nested->unread, sizeof(names));
    nested->unread_count = 0;
    for (unsigned i = 0; i < count; i++)
        nested_seen(nested, names[i]);
}
