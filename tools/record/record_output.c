/* SPDX-License-Identifier: MIT */
/* "-o x.svg": records to x.annot, then runs the command that writes such files. */
#include "record_output.h"

#include "cmd.h"
#include "export.h"
#include "operands.h"
#include "text.h"

#include <errno.h>
#include <fcntl.h>
#include <stdio.h>
#include <string.h>
#include <sys/stat.h>
#include <unistd.h>

/* The command that writes a file from the recording. `exporter` NULL: pages. */
struct writer {
    const struct cmd *cmd;
    const struct exporter *exporter;
    const char *extension;
};

/* Returns false for the name of a recording. */
static bool find_writer(const char *name, struct writer *ret)
{
    if (text_ends_with(name, ".flame.html"))
        *ret = (struct writer){&cmd_flame, NULL, ".flame.html"};
    else if (text_ends_with(name, ".html"))
        *ret = (struct writer){&cmd_html, NULL, ".html"};
    else
        *ret = (struct writer){&cmd_export, exporter_by_path(name), NULL};
    if (ret->exporter == &export_svg)
        ret->cmd = &cmd_flame;
    if (ret->exporter)
        ret->extension = ret->exporter->extension;
    return ret->extension != NULL;
}

/* The length of "dir/x" in "dir/x.json.gz". */
static size_t stem_length(const char *name, const char *extension)
{
    size_t length = strlen(name);
    while (length > 1 && name[length - 1] == '/') /* added by the shell's completion of folders */
        length--;
    if (text_ends_with(name, ".gz") && !text_ends_with(name, extension))
        length -= strlen(".gz");
    size_t size = strlen(extension);
    if (length > size && memcmp(name + length - size, extension, size) == 0)
        return length - size;
    while (length > 1 && name[length - 1] != '.') /* another extension of the format */
        length--;
    return length - 1;
}

int record_output_choose(const char *name, bool force, int status, struct record_output *ret)
{
    struct writer writer;
    bool writes = find_writer(name, &writer);
    size_t length = strlen(name);
    ret->also = writes ? name : NULL;
    ret->exporter = writer.exporter;
    if (length + sizeof("-999.annot") > sizeof(ret->recording))
        return cmd_fail(status, "%s: %s", name, strerror(ENAMETOOLONG));
    if (!writes) {
        snprintf(ret->recording, sizeof(ret->recording), "%s", name);
        return output_check(name, "annot", status);
    }
    length = stem_length(name, writer.extension);
    snprintf(ret->recording, sizeof(ret->recording), "%.*s.annot", (int)length, name);
    for (int i = 2; !force && access(ret->recording, F_OK) == 0 && i < 1000; i++)
        snprintf(ret->recording, sizeof(ret->recording), "%.*s-%d.annot", (int)length, name, i);
    return force || access(name, F_OK) != 0
               ? 0
               : cmd_fail(status,
                          "cannot write %s: File exists\nchoose another name with -o, or "
                          "overwrite it with --force",
                          name);
}

int record_output_wait(const struct record_output *output, bool force)
{
    struct stat status;
    if (!force || stat(output->recording, &status) != 0 || !S_ISFIFO(status.st_mode))
        return -1;
    return open(output->recording, O_WRONLY | O_CLOEXEC);
}

int record_output_write(const struct record_output *output, const struct picture_values *picture)
{
    struct writer writer;
    (void)find_writer(output->also, &writer);
    bool is_flame = writer.exporter == &export_svg;
    char option[] = "-o", force[] = "--force", gil[] = "--gil", idle[] = "--idle";
    char *words[7] = {(char *)output->recording, option, (char *)output->also, force};
    int count = 4;
    if (picture->gil)
        words[count++] = gil;
    if (picture->idle && is_flame) /* timelines always show waits */
        words[count++] = idle;
    return cmd_run(writer.cmd, count, words);
}

void record_output_note(const struct record_output *output, const struct picture_values *picture)
{
    char name[4 * PATH_MAX];
    cmd_quote(output->recording, name, sizeof(name));
    if (picture->idle)
        cmd_note("option --idle: everything is recorded; a picture shows it\n"
                 "annot flame --idle %s",
                 name);
    if (picture->gil)
        cmd_note("option --gil: everything is recorded; a report or a picture chooses\n"
                 "annot report --gil %s, or annot flame --gil %s",
                 name, name);
}
