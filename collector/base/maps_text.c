/* SPDX-License-Identifier: MIT */
/* Reads "begin-end perms offset major:minor inode    path". Thread-safety: pure. */
#include "maps_text.h"

#include <ctype.h>
#include <errno.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

/* A number at *at followed by `behind`; moves *at behind both. */
static bool take_number(char **at, int base, char behind, uint64_t *ret_value)
{
    if (!isxdigit((unsigned char)**at))
        return false;
    char *end;
    *ret_value = strtoull(*at, &end, base);
    if (*end != behind)
        return false;
    *at = end + 1;
    return true;
}

bool maps_line_parse(char *line, struct maps_line *ret_line)
{
    struct maps_line parsed = {0};
    uint64_t major, minor;
    char *at = line;
    at[strcspn(at, "\n")] = 0;
    if (!take_number(&at, 16, '-', &parsed.begin) || !take_number(&at, 16, ' ', &parsed.end) ||
        strcspn(at, " ") != 4)
        return false;
    parsed.executable = at[2] == 'x';
    at += 5 - (at[4] == 0);
    if (!take_number(&at, 16, ' ', &parsed.offset) || !take_number(&at, 16, ':', &major) ||
        !take_number(&at, 16, ' ', &minor))
        return false;
    char *end;
    parsed.inode = strtoull(at, &end, 10);
    if (end == at || (*end != ' ' && *end != 0))
        return false;
    parsed.path = end + strspn(end, " ");
    parsed.major = (uint32_t)major;
    parsed.minor = (uint32_t)minor;
    *ret_line = parsed;
    return parsed.begin < parsed.end;
}

int maps_each(int32_t pid, maps_take *take, void *context)
{
    char path[64], *text = NULL;
    size_t size = 0;
    int result = 0;
    snprintf(path, sizeof(path), "/proc/%d/maps", (int)(pid ? pid : getpid()));
    FILE *file = fopen(path, "re");
    if (!file)
        return errno == ENOENT ? -ESRCH : -errno;
    while (result == 0 && getline(&text, &size, file) > 0) {
        struct maps_line line;
        if (maps_line_parse(text, &line))
            result = take(context, &line);
    }
    free(text);
    fclose(file);
    return result;
}
