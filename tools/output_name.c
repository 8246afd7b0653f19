/* SPDX-License-Identifier: MIT */
/* A name that says what was recorded and when, and hurts in no shell; and names that say something
 * that is not so. */
#include "output_name.h"

#include "cmd.h"
#include "text.h"

#include <ctype.h>
#include <stdio.h>
#include <string.h>
#include <strings.h>
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

static const char to_export[] = "annot export writes it, of a recording (.annot)";

/* What people want when they give such a name. */
static const struct {
    const char *extension, *hint;
} other_formats[] = {
    {"annot", "annot record and annot attach write it"},
    {"svg", "annot flame writes it, of a recording (.annot)"},
    {"pftrace", to_export},
    {"perfetto-trace", to_export},
    {"json", to_export},
    {"folded", to_export},
    {"gz", to_export},
    {"csv", "annot report --csv prints it, of a recording (.annot)"},
    {"txt", "annot report prints text, of a recording (.annot)"},
    {"png", "annot flame writes .svg; a browser makes other pictures of it"},
    {"jpg", "annot flame writes .svg; a browser makes other pictures of it"},
    {"pdf", "annot flame writes .svg; a browser prints it into a file"},
    {"html", "annot flame writes .svg, which browsers open"},
};

int output_check(const char *output, const char *mine, int status)
{
    const char *dot = output ? strrchr(text_base_name(output), '.') : NULL;
    if (!dot || strcasecmp(dot + 1, mine) == 0)
        return 0;
    for (size_t i = 0; i < sizeof(other_formats) / sizeof(*other_formats); i++)
        if (strcasecmp(dot + 1, other_formats[i].extension) == 0)
            return cmd_fail(status, "this command writes .%s files, not %s\n%s", mine, dot,
                            other_formats[i].hint);
    return 0;
}
