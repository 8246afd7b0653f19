/* SPDX-License-Identifier: MIT */
/* See gpu_settings.h. */
#include "gpu_settings.h"

#include <string.h>

struct gpu_settings gpu_settings;

bool gpu_has_word(const char *words, const char *word)
{
    size_t length = strlen(word);
    for (const char *at = strstr(words, word); at; at = strstr(at + 1, word))
        if ((at == words || at[-1] == ',') && (at[length] == 0 || at[length] == ','))
            return true;
    return false;
}
