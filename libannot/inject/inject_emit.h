/* SPDX-License-Identifier: MIT */
/* The functions that callbacks call most, of the serving copy of libannot: if another library
 * loaded one first, without the indirection through this library's copy. */
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
