/* SPDX-License-Identifier: MIT */
/* The functions that callbacks call most, of the copy of libannot that serves this process: where
 * another library brought one first, without the detour by this library's own. */
#ifndef ANNOT_INJECT_EMIT_H
#define ANNOT_INJECT_EMIT_H

#include <annot/observers.h>

struct inject_emit {
    void (*push_in)(annot_domain domain, annot_name name, const char *text);
    void (*mark_in)(annot_domain domain, annot_name name, const char *text);
    void (*push_event)(const struct annot_event *event);
    void (*mark_event)(const struct annot_event *event);
    void (*pop)(void);
};

/* Set before any callback can be called, constant afterwards. */
extern struct inject_emit inject_emit __attribute__((visibility("hidden")));

#endif
