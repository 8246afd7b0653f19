/* SPDX-License-Identifier: MIT */
/* Names that appear in the directory: those that are there, then those that come. A name may be
 * told twice. Thread-safety: one thread per object. */
#ifndef ANNOT_INTAKE_DISCOVER_H
#define ANNOT_INTAKE_DISCOVER_H

#include "intake_directory.h"

struct discover {
    int watch;
    int fd; /* inotify; readable when something came; -1: no instance is left, so it scans */
    bool rescan;
    int64_t next_scan_ns; /* without inotify */
    int64_t told_ns;      /* all names are told that were there by then */
    const struct directory *directory;
};

/* 0 or -errno. That the user has all inotify instances or watches in use is no error. */
int discover_open(struct discover *discover, const struct directory *directory);
void discover_close(struct discover *discover);
/* Nothing is asked for any more. The kernel takes 15 ms to forget a watch and closing waits for
 * that: told early, it does so beside other work. */
void discover_stop(struct discover *discover);

/* Calls back for each new name; the first time for each name that is there. A nonzero result ends
 * it and is returned. */
int discover_poll(struct discover *discover, int (*call)(void *context, const char *name),
                  void *context);

#endif
