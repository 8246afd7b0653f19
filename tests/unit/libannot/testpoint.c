/* SPDX-License-Identifier: MIT */
/* The hook that libannot calls when built with test points. */
#include "testpoint.h"

#include <stddef.h>

void (*annot_testpoint_hook)(const char *name) = NULL;
enum planted_bug annot_planted_bug = BUG_NONE;
