/* SPDX-License-Identifier: MIT */
/* A plugin that annotates; built with a static copy of libannot, with the shared one, and with a
 * static copy of a pretended other version. */
#include <annot/annot.h>

__attribute__((visibility("default"))) void plugin_run(int count);

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
    }
}
