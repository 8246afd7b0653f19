/* SPDX-License-Identifier: MIT */
/* Mailbox in which another process (`annot set`, with ptrace) writes Python code for this one to
 * run, and reads the result: collector/live/look/look_python.c. This module does not touch it. */
#include "compat.h"

#include <stdint.h>

struct mail {
    uint32_t state, reserved;
    char answer[512];
    char script[16384 - 512 - 8];
};

__attribute__((visibility("default"), used)) struct mail annot_python_mail;
