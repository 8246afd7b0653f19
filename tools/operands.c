/* SPDX-License-Identifier: MIT */
/* Process numbers from the command line; default names of outputs, safe in any shell, from the
 * command and the time; and a check for misleading extensions of outputs. */
#include "operands.h"

#include "cmd.h"
#include "export.h"
#include "file_io.h"
#include "text.h"

#include <ctype.h>
#include <errno.h>
#include <fcntl.h>
#include <limits.h>
#include <stdbool.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <strings.h>
#include <sys/stat.h>
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

/* Prints a message for a word in the list that is not a number. */
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

bool output_any(const char *path)
{
    (void)path;
    return true;
}

char *output_default(const char *stem, size_t length, const char *extension,
                     bool (*may_replace)(const char *path))
{
    char *output = NULL, number[16] = "";
    for (int i = 2; i < 1000; i++) {
        if (asprintf(&output, "%.*s%s%s", (int)length, stem, number, extension) < 0)
            return NULL;
        if (access(output, F_OK) != 0 || (may_replace && may_replace(output)))
            break;
        free(output);
        output = NULL;
        snprintf(number, sizeof(number), "-%d", i);
    }
    return output;
}

static const char to_export[] = "annot export writes it, of a recording (.annot)";

/* Hints for extensions of other formats. */
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
