/* SPDX-License-Identifier: MIT */
/* A name that says what was recorded and when, and hurts in no shell. */
#include "output_name.h"

#include "text.h"

#include <ctype.h>
#include <stdio.h>
#include <string.h>
#include <time.h>
#include <unistd.h>

void output_name(const char *name, char *buffer, size_t size)
{
    char stem[128] = "", stamp[32];
    time_t now = time(NULL);
    struct tm local;
    size_t length = 0;
    for (const char *base = text_base_name(name); *base && length < 64; base++) {
        stem[length] = *base;
        if (!isalnum((unsigned char)*base) && !strchr("_+.-", *base))
            stem[length] = '_';
        length++;
    }
    if (length == 0 || stem[0] == '-' || stem[0] == '.')
        stem[0] = '_';
    localtime_r(&now, &local);
    strftime(stamp, sizeof(stamp), "%Y%m%d-%H%M%S", &local);
    snprintf(buffer, size, "%s-%s.annot", stem, stamp);
    for (int i = 2; access(buffer, F_OK) == 0 && i < 1000; i++)
        snprintf(buffer, size, "%s-%s-%d.annot", stem, stamp, i);
}
