/* SPDX-License-Identifier: MIT */
/* The options of annot export and annot flame: their own, and those of the exporters, with the
 * formats that accept each in its help. Main thread only. */
#include "export_options.h"

#include "operands.h"
#include "text.h"

#include <stdio.h>
#include <string.h>

const char *export_list_formats(const char *between, bool extensions,
                                char buffer[EXPORT_FORMATS_SIZE])
{
    struct text text = text_init(buffer, EXPORT_FORMATS_SIZE);
    for (const struct exporter *const *at = exporters; *at; at++)
        text_format(&text, "%s%s", text.length ? between : "",
                    extensions ? (*at)->extension : (*at)->name);
    return buffer;
}

const char *export_formats_of(const char *option, char buffer[EXPORT_FORMATS_SIZE])
{
    struct text text = text_init(buffer, EXPORT_FORMATS_SIZE);
    for (const struct exporter *const *at = exporters; *at; at++)
        for (const struct option_spec *spec = (*at)->options; spec && spec->name; spec++)
            if (strcmp(spec->name, option) == 0)
                text_format(&text, "%s%s", text.length ? ", " : "", (*at)->name);
    return buffer;
}

#define AT(field) offsetof(struct export_values, field)

enum { SPECS_MAX = 64, HELP_SIZE = EXPORT_FORMATS_SIZE + 256 };

/* Built once. */
struct spec_list {
    struct option_spec specs[SPECS_MAX];
    unsigned count;
    char helps[SPECS_MAX][HELP_SIZE];
    char formats[EXPORT_FORMATS_SIZE];
};

static const struct option_spec write_group = OPTIONS_GROUP("what to write");
static const struct option_spec draw_group = OPTIONS_GROUP("what to draw");
static const struct option_spec format_group = OPTIONS_MORE_GROUP("options of single formats");

static const struct option_spec formats_only[] = {
    {"output", 'o', OPTION_TEXT, AT(output), "FILE",
     "write to FILE (ctf: a folder), compressed if it ends in .gz; \"-\" is standard output; "
     "http://HOST:PORT or "
     "https://... pushes otlp or pprof to a server (default: the recording's name with the "
     "format's extension)",
     NULL},
    {"force", 0, OPTION_FLAG, AT(force), NULL, "replace an existing file", NULL},
    {"list", 0, OPTION_FLAG, AT(list), NULL,
     "list the formats: extension, what they carry, what opens them", NULL},
    {0},
};

static const struct option_spec flame_only[] = {
    OPTIONS_GROUP("what to write"),
    {"format", 'f', OPTION_CHOICE, AT(format), "html|svg",
     "a page, or a picture (default: by the extension of the output, else html; svg if an "
     "option applies to pictures only)",
     NULL},
    {"output", 'o', OPTION_TEXT, AT(output), "FILE",
     "write to FILE; \"-\" is standard output (default: the recording's name with .flame.html "
     "or .svg)",
     NULL},
    {"force", 0, OPTION_FLAG, AT(force), NULL, "replace an existing file", NULL},
    {0},
};

static const struct option_spec all_formats[] = {
    OPTIONS_GROUP("of which part"),
    SELECTION_RANGE(AT(selection)),
    SELECTION_PROCESS(AT(selection)),
    SELECTION_THREAD(AT(selection)),
    SELECTION_GIL(AT(selection)),
    SELECTION_TIMES(AT(selection)),
    {0},
};

static void append(struct spec_list *list, const struct option_spec *specs)
{
    for (; specs->name && list->count + 1 < SPECS_MAX; specs++)
        list->specs[list->count++] = *specs;
}

static bool has(const struct spec_list *list, const char *name)
{
    for (unsigned i = 0; i < list->count; i++)
        if (strcmp(list->specs[i].name, name) == 0)
            return true;
    return false;
}

/* Appends an exporter's options. Their defaults depend on the format, so the exporter holds
 * them. */
static void append_own(struct spec_list *list, const struct exporter *exporter, bool one)
{
    char formats[EXPORT_FORMATS_SIZE];
    for (const struct option_spec *spec = exporter->options; spec && spec->name; spec++) {
        if (has(list, spec->name) || list->count + 1 >= SPECS_MAX)
            continue;
        struct option_spec *mine = &list->specs[list->count];
        *mine = *spec;
        mine->offset += AT(wanted);
        if (!one)
            mine->fallback = NULL;
        if (!one && spec->help) { /* else it is not in the help */
            struct text help = text_init(list->helps[list->count], HELP_SIZE);
            text_format(&help, "%s: %s", export_formats_of(spec->name, formats), spec->help);
            mine->help = list->helps[list->count];
        }
        list->count++;
    }
}

const struct option_spec *export_options_of_all(void)
{
    static struct spec_list list;
    if (list.count > 0)
        return list.specs;
    export_list_formats("|", false, list.formats);
    list.specs[list.count++] = write_group;
    list.specs[list.count++] = (struct option_spec){
        "format",      'f',
        OPTION_CHOICE, AT(format),
        list.formats,  "the format (default: by the extension of the output, else perfetto)",
        NULL};
    append(&list, formats_only);
    append(&list, all_formats);
    list.specs[list.count++] = format_group;
    for (const struct exporter *const *at = exporters; *at; at++)
        append_own(&list, *at, false);
    return list.specs;
}

const struct option_spec *export_options_of_flame(void)
{
    static struct spec_list list;
    if (list.count > 0)
        return list.specs;
    append(&list, flame_only);
    list.specs[list.count++] = draw_group;
    append_own(&list, &export_svg, true);
    append(&list, all_formats);
    return list.specs;
}
