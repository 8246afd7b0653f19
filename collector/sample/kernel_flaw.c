/* SPDX-License-Identifier: MIT */
/* By version, for want of anything to see it by. Debian's release hides the stable release, its
 * version tells it. */
#include "kernel_flaw.h"

#include <stdio.h>
#include <string.h>

enum {
    FLAW_SINCE = 5 << 8 | 18,
    FLAW_UNTIL = 6 << 8 | 4,
    FLAW_LONG_TERM = 6 << 8 | 1,
    FLAW_LONG_TERM_UNTIL = 176, /* the oldest one whose code was seen to be mended */
};

bool kernel_flaw_freezes(const char *release, const char *version)
{
    const char *debian = strstr(version, "Debian ");
    unsigned major = 0, minor = 0, patch = 0, number;

    if (sscanf(debian ? debian + strlen("Debian ") : release, "%u.%u.%u", &major, &minor, &patch) <
        2)
        return false;
    number = major << 8 | minor;
    if (number < FLAW_SINCE || number >= FLAW_UNTIL)
        return false;
    return number != FLAW_LONG_TERM || patch < FLAW_LONG_TERM_UNTIL;
}
