/* SPDX-License-Identifier: MIT */
/* See live_recording.h. */
#include "live_recording.h"

#include "cmd.h"
#include "collector_set.h"
#include "vec.h"

#include <inttypes.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

struct sessions {
    VEC(struct collector_session) items;
};

static int keep(void *context, const struct collector_session *session)
{
    struct sessions *sessions = context;
    return vec_push(&sessions->items, *session);
}

static bool is_number(const char *text, uint64_t *ret_id)
{
    char *end;
    *ret_id = strtoull(text, &end, 16);
    return strlen(text) == 16 && !*end;
}

/* One line that names up to three of them. */
static void fail_several(const struct cmd_call *call, const struct sessions *sessions)
{
    char names[1024] = "";
    size_t used = 0;
    for (size_t i = 0; i < sessions->items.count && i < 3 && used < sizeof(names); i++)
        used += (size_t)snprintf(names + used, sizeof(names) - used, "%s%s", i ? ", " : "",
                                 sessions->items.items[i].recording);
    cmd_fail(0, "more than one recording is in progress: %s%s\nname one: annot %s FILE", names,
             sessions->items.count > 3 ? ", ..." : "", call->cmd->name);
}

static bool choose(const struct cmd_call *call, const struct sessions *sessions,
                   char path[PATH_MAX])
{
    const char *operand = call->operand_count ? call->operands[0] : NULL;
    uint64_t id;
    bool number = operand && is_number(operand, &id);
    for (size_t i = 0; number && i < sessions->items.count; i++) {
        if (sessions->items.items[i].id != id)
            continue;
        snprintf(path, PATH_MAX, "%s", sessions->items.items[i].recording);
        return true;
    }
    if (operand) {
        snprintf(path, PATH_MAX, "%s", operand);
        return true;
    }
    if (sessions->items.count > 1) {
        fail_several(call, sessions);
        return false;
    }
    if (sessions->items.count == 1) {
        snprintf(path, PATH_MAX, "%s", sessions->items.items[0].recording);
        return true;
    }
    cmd_fail(0, "nothing is being recorded\n\"annot record -- COMMAND\" records; annot cat reads "
                "what is finished");
    return false;
}

bool live_recording_choose(const struct cmd_call *call, char path[PATH_MAX])
{
    struct sessions sessions = {0};
    bool named = call->operand_count && access(call->operands[0], F_OK) == 0;
    if (!named)
        collector_sessions(NULL, keep, &sessions);
    bool chosen = choose(call, &sessions, path);
    vec_free(&sessions.items);
    return chosen;
}

bool live_recording_is(const char *path)
{
    struct sessions sessions = {0};
    char *real = realpath(path, NULL);
    bool found = false;
    collector_sessions(NULL, keep, &sessions);
    for (size_t i = 0; real && !found && i < sessions.items.count; i++)
        found = strcmp(sessions.items.items[i].recording, real) == 0;
    vec_free(&sessions.items);
    free(real);
    return found;
}
