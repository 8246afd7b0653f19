/* SPDX-License-Identifier: MIT */
/* The user's browser. Main thread only. */
#ifndef ANNOT_OPEN_BROWSER_H
#define ANNOT_OPEN_BROWSER_H

#include <stdbool.h>

/* Starts the user's browser on an address: $BROWSER, else xdg-open on a desktop. Returns false if
 * neither is available or it cannot be started. Does not wait for it. */
bool browser_start(const char *url);

#endif
