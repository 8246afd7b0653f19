/* SPDX-License-Identifier: MIT */
/* See policy_option.h. */
#include "policy_option.h"

#include <string.h>

enum collector_policy policy_of(const char *word)
{
    if (word && strcmp(word, "overwrite") == 0)
        return COLLECTOR_OVERWRITE;
    if (word && strcmp(word, "wait") == 0)
        return COLLECTOR_WAIT;
    return COLLECTOR_DROP;
}
