/* SPDX-License-Identifier: MIT */
/* Where another process (`annot set`, with ptrace) writes Python code that this one is to run, and
 * reads what came of it: collector/live/look/look_python.c. Nothing here touches it. */
#include "compat.h"

#include <stdint.h>

struct mail {
    uint32_t state, reserved;
    char answer[512];
    char script[16384 - 512 - 8];
};

__attribute__((visibility("default"), used)) struct mail annot_python_mail;
