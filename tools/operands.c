/* SPDX-License-Identifier: MIT */
/* Process numbers as people type them; names of outputs that say what was recorded and when, and
 * hurt in no shell; and names that say something that is not so. */
#include "operands.h"

#include "cmd.h"
#include "export.h"
#include "file_io.h"
#include "text.h"

#include <ctype.h>
#include <errno.h>
#include <limits.h>
#include <stdbool.h>
#include <stdio.h>
#include <string.h>
#include <strings.h>
#include <time.h>
#include <unistd.h>

/* ---- Processes ------------------------------------------------------------------------------- */

static bool is_there(const struct pid_list *list, int32_t pid)
{
    for (uint32_t i = 0; i < list->count; i++)
        if (list->items[i] == pid)
            return true;
    return false;
}

/* The words of a list that is no number. */
static int fail_pid(const char *text, size_t length)
{
    char word[PATH_MAX], quoted[2 * PATH_MAX];
    snprintf(word, sizeof(word), "%.*s", (int)(length < PATH_MAX ? length : PATH_MAX - 1), text);
    cmd_quote(word, quoted, sizeof(quoted));
    if (text_ends_with(word, ".annot"))
        return cmd_fail(CMD_MISUSE,
                        "\"%s\" is not a process number\nto show a recording: annot "
                        "report %s",
                        word, quoted);
    if (strchr(word, '/') || text_ends_with(word, ".py"))
        return cmd_fail(CMD_MISUSE,
                        "\"%s\" is not a process number\nto run and record a program: "
                        "annot record %s",
                        word, quoted);
    if (isalpha((unsigned char)word[0]))
        return cmd_fail(CMD_MISUSE, "\"%s\" is not a process number\n\"pgrep -a %s\" finds it",
                        word, quoted);
    return cmd_fail(CMD_MISUSE, "\"%s\" is not a process number\na number, or several: 12 34",
                    word);
}

static int add_pids(struct pid_list *list, const char *text)
{
    while (true) {
        char word[12] = "";
        uint64_t pid = 0;
        size_t length = strcspn(text, ",");
        if (length < sizeof(word))
            memcpy(word, text, length);
        if (options_parse_count(word, &pid) != 0 || pid == 0 || pid > INT32_MAX)
            return fail_pid(text, length);
        if (list->count == PID_LIST_MAX)
            return cmd_fail(CMD_MISUSE, "too many processes: at most %d", PID_LIST_MAX);
        if (!is_there(list, (int32_t)pid))
            list->items[list->count++] = (int32_t)pid;
        if (text[length] == 0)
            return 0;
        text += length + 1;
    }
}

int pid_list_parse(const char *option, char *const *operands, struct pid_list *ret_list)
{
    *ret_list = (struct pid_list){.count = 0};
    int status = option ? add_pids(ret_list, option) : 0;
    for (; status == 0 && *operands; operands++)
        status = add_pids(ret_list, *operands);
    if (status == 0 && ret_list->count == 0)
        return cmd_fail(CMD_MISUSE, "the process is missing\ngive its number; \"pgrep -a NAME\" "
                                    "finds it");
    return status;
}

const char *pid_list_text(const struct pid_list *list, char buffer[PID_LIST_TEXT_SIZE])
{
    struct text text = text_init(buffer, PID_LIST_TEXT_SIZE);
    for (uint32_t i = 0; i < list->count; i++)
        text_format(&text, "%s%d", i ? " " : "", (int)list->items[i]);
    return buffer;
}

const char *pid_list_comm(int32_t pid, char *buffer)
{
    char path[32];
    snprintf(path, sizeof(path), "/proc/%d/comm", (int)pid);
    if (file_read_text(path, buffer, PID_COMM_SIZE) <= 0)
        snprintf(buffer, PID_COMM_SIZE, "process");
    buffer[strcspn(buffer, "\n")] = 0;
    return buffer;
}

/* ---- Outputs --------------------------------------------------------------------------------- */

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

static const char *extension_of(const struct exporter *exporter, const char *name)
{
    return text_ends_with(name, ".perfetto-trace") ? ".perfetto-trace" : exporter->extension;
}

int record_output_choose(const char *name, bool force, int status, struct record_output *ret)
{
    const struct exporter *exporter = exporter_by_path(name);
    size_t length = strlen(name);
    ret->also = exporter ? name : NULL;
    if (length + sizeof("-999.annot") > sizeof(ret->recording))
        return cmd_fail(status, "%s: %s", name, strerror(ENAMETOOLONG));
    if (!exporter) {
        snprintf(ret->recording, sizeof(ret->recording), "%s", name);
        return output_check(name, "annot", status);
    }
    const char *extension = extension_of(exporter, name);
    while (name[length - 1] == '/') /* as shells complete folders */
        length--;
    if (text_ends_with(name, ".gz") && !text_ends_with(name, extension))
        length -= strlen(".gz");
    length -= strlen(extension);
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

int record_output_write(const struct record_output *output, const struct picture_values *picture)
{
    bool is_flame = exporter_by_path(output->also) == &export_svg;
    char option[] = "-o", force[] = "--force", gil[] = "--gil", idle[] = "--idle";
    char *words[7] = {(char *)output->recording, option, (char *)output->also, force};
    int count = 4;
    if (picture->gil)
        words[count++] = gil;
    if (picture->idle && is_flame) /* timelines show waits anyway */
        words[count++] = idle;
    return cmd_run(is_flame ? &cmd_flame : &cmd_export, count, words);
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
    {"csv", "annot export -f csv writes ranges, annot report --csv prints tables, of a recording "
            "(.annot)"},
    {"txt", "annot report prints text, of a recording (.annot)"},
    {"png", "annot flame writes .svg; a browser makes other pictures of it"},
    {"jpg", "annot flame writes .svg; a browser makes other pictures of it"},
    {"pdf", "annot flame writes .svg; a browser prints it into a file"},
    {"html", "annot html writes it, of a recording (.annot)"},
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
