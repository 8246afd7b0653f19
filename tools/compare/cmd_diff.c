/* SPDX-License-Identifier: MIT */
/* `annot diff`: compares two recordings, or two sets of them (compare/compare.h). */
#include "cmd.h"
#include "compare_facts.h"
#include "compare_print.h"
#include "compare_test.h"
#include "flame_diff.h"
#include "flame_svg.h"
#include "operands.h"
#include "options.h"
#include "out_stream.h"
#include "reader.h"
#include "recording.h"
#include "term.h"
#include "text.h"

#include <dirent.h>
#include <errno.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/stat.h>

struct diff_values {
    struct compare_values compare;
    const char *flame;
    bool force;
};

/* The recordings of the sides; the texts are owned. */
struct diff {
    const struct diff_values *values;
    char *paths[COMPARE_SIDES][COMPARE_RUNS_MAX];
    size_t counts[COMPARE_SIDES];
    uint32_t damaged;
};

/* ---- Choosing recordings --------------------------------------------------------------------- */

static int add_path(struct diff *diff, enum compare_side side, const char *path)
{
    if (diff->counts[side] == COMPARE_RUNS_MAX)
        return cmd_fail(CMD_MISUSE, "more than %d recordings a side\nfewer give the same answer",
                        COMPARE_RUNS_MAX);
    char *copy = strdup(path);
    if (!copy)
        return cmd_fail(CMD_FAILED, "out of memory");
    diff->paths[side][diff->counts[side]++] = copy;
    return CMD_OK;
}

/* The first volume of a recording stands for all: of "x.annot" and "x.1.annot" only the former is
 * taken. */
static int is_recording(const struct dirent *entry)
{
    return entry->d_name[0] != '.' && text_ends_with(entry->d_name, ".annot");
}

static bool is_volume(const struct dirent *const *entries, int count, const char *name)
{
    char first[NAME_MAX + 1];
    size_t stem = strlen(name) - strlen(".annot"), digits = stem;
    while (digits > 0 && name[digits - 1] >= '0' && name[digits - 1] <= '9')
        digits--;
    if (digits == stem || digits < 2 || name[digits - 1] != '.')
        return false;
    snprintf(first, sizeof(first), "%.*s.annot", (int)digits - 1, name);
    for (int i = 0; i < count; i++)
        if (strcmp(entries[i]->d_name, first) == 0)
            return true;
    return false;
}

static int add_folder(struct diff *diff, enum compare_side side, const char *folder)
{
    struct dirent **entries = NULL;
    int count = scandir(folder, &entries, is_recording, versionsort), status = CMD_OK;
    if (count < 0)
        return cmd_fail(CMD_FAILED, "cannot read %s: %s", folder, strerror(errno));
    if (count == 0)
        status = cmd_fail(CMD_FAILED,
                          "there is no recording (*.annot) in %s\n"
                          "annot stat -o DIR -- COMMAND makes some",
                          folder);
    for (int i = 0; i < count && status == CMD_OK; i++) {
        char path[PATH_MAX];
        bool volume = is_volume((const struct dirent *const *)entries, count, entries[i]->d_name);
        snprintf(path, sizeof(path), "%s/%s", folder, entries[i]->d_name);
        if (!volume)
            status = add_path(diff, side, path);
    }
    for (int i = 0; i < count; i++)
        free(entries[i]);
    free(entries);
    return status;
}

static int add_operand(struct diff *diff, enum compare_side side, const char *operand)
{
    struct stat status;
    bool folder = stat(operand, &status) == 0 && S_ISDIR(status.st_mode);
    return folder ? add_folder(diff, side, operand) : add_path(diff, side, operand);
}

/* Two operands are the two sides; among more, "vs" separates the sides. */
static int choose(struct diff *diff, const struct cmd_call *call)
{
    enum compare_side side = COMPARE_A;
    bool parted = false;
    for (int i = 0; i < call->operand_count; i++)
        parted = parted || strcmp(call->operands[i], "vs") == 0;
    if (!parted && call->operand_count != 2)
        return cmd_fail(CMD_MISUSE, "which recordings are A, and which B?\n"
                                    "annot diff A.annot B.annot, annot diff A1 A2 vs B1 B2, or "
                                    "two folders of recordings");
    for (int i = 0; i < call->operand_count; i++) {
        if (strcmp(call->operands[i], "vs") == 0 && side == COMPARE_B)
            return cmd_fail(CMD_MISUSE, "\"vs\" is given twice\n"
                                        "a file of that name is ./vs");
        if (strcmp(call->operands[i], "vs") == 0) {
            side = COMPARE_B;
            continue;
        }
        int status = add_operand(diff, side, call->operands[i]);
        if (status != CMD_OK)
            return status;
        side = parted ? side : COMPARE_B;
    }
    if (diff->counts[COMPARE_A] == 0 || diff->counts[COMPARE_B] == 0)
        return cmd_fail(CMD_MISUSE, "no recording %s \"vs\"\nannot diff A1 A2 vs B1 B2",
                        diff->counts[COMPARE_A] == 0 ? "before" : "after");
    return CMD_OK;
}

/* ---- Reading --------------------------------------------------------------------------------- */

static int read_one(struct diff *diff, struct compare *compare, enum compare_side side,
                    const char *path)
{
    struct store_reader *reader = recording_open(path);
    if (!reader)
        return CMD_FAILED;
    int rc = compare_add(compare, side, reader, path);
    if (rc == 0)
        diff->damaged += recording_note_damage(reader, path);
    store_reader_close(reader);
    return rc < 0 ? recording_fail(path, rc) : CMD_OK;
}

static int read_all(struct diff *diff, struct compare *compare)
{
    int status = CMD_OK;
    for (int side = 0; side < COMPARE_SIDES; side++)
        for (size_t i = 0; i < diff->counts[side] && status == CMD_OK; i++)
            status = read_one(diff, compare, (enum compare_side)side, diff->paths[side][i]);
    return status;
}

/* ---- The picture ----------------------------------------------------------------------------- */

static int draw_sides(const struct diff *diff, struct flame_diff *flame)
{
    for (unsigned side = 0; side < COMPARE_SIDES; side++)
        for (size_t i = 0; i < diff->counts[side]; i++) {
            const char *path = diff->paths[side][i];
            struct store_reader *reader = recording_open(path);
            int rc = reader ? flame_diff_add(flame, side, reader) : 0;
            store_reader_close(reader);
            if (!reader || rc < 0)
                return rc < 0 ? recording_fail(path, rc) : CMD_FAILED;
        }
    return CMD_OK;
}

static int write_picture(const struct diff *diff, struct flame_diff *flame)
{
    const char *output = diff->values->flame;
    const struct out_stream_options options = {.overwrite = diff->values->force};
    char title[512];
    struct out_stream *out;
    snprintf(title, sizeof(title), "B, %s, against A, %s", diff->paths[COMPARE_B][0],
             diff->paths[COMPARE_A][0]);
    int rc = out_stream_open(output, &options, &out);
    if (rc < 0)
        return recording_fail_output(output, rc);
    rc = flame_diff_write(flame, title, out);
    if (rc < 0)
        out_stream_abandon(out);
    else
        rc = out_stream_close(out);
    if (rc == -ENODATA)
        return cmd_fail(CMD_FAILED, "no samples to draw, neither of A nor of B\n"
                                    "annot info says how threads were sampled");
    return rc < 0 ? recording_fail_output(output, rc) : CMD_OK;
}

static int draw(const struct diff *diff)
{
    if (!diff->values->flame)
        return CMD_OK;
    struct flame_diff *flame = flame_diff_create(diff->counts[COMPARE_A], diff->counts[COMPARE_B]);
    int status = flame ? draw_sides(diff, flame) : cmd_fail(CMD_FAILED, "out of memory");
    if (status == CMD_OK)
        status = write_picture(diff, flame);
    flame_diff_destroy(flame);
    return status;
}

/* ---- The command ----------------------------------------------------------------------------- */

static int compare_sides(struct diff *diff, struct compare *compare,
                         const struct compare_limits *limits)
{
    int status = read_all(diff, compare);
    if (status != CMD_OK)
        return status;
    const char *nothing = compare_nothing(compare);
    if (nothing)
        return cmd_fail(
            CMD_FAILED,
            "%s has no time in it: there is nothing to compare\nannot info says what it "
            "has",
            nothing);
    if (compare_finish(compare) < 0)
        return cmd_fail(CMD_FAILED, "out of memory");
    int drawn = draw(diff);
    status = compare_print(&compare, 1, &diff->values->compare, limits, NULL);
    status = status == CMD_OK ? drawn : status;
    return status == CMD_OK && diff->damaged > 0 ? CMD_FAILED : status;
}

static int run_diff(const struct cmd_call *call)
{
    struct compare_limits *limits = calloc(1, sizeof(*limits));
    struct diff *diff = calloc(1, sizeof(*diff));
    struct compare *compare = NULL;
    if (!limits || !diff) {
        free(limits);
        free(diff);
        return cmd_fail(CMD_FAILED, "out of memory");
    }
    diff->values = call->values;
    int status = compare_check(&diff->values->compare, limits);
    if (status == CMD_OK && diff->values->flame)
        status = output_check(diff->values->flame, "svg", CMD_MISUSE);
    if (status == CMD_OK)
        status = choose(diff, call);
    if (status == CMD_OK) {
        compare = compare_create(diff->counts[COMPARE_A], diff->counts[COMPARE_B]);
        status =
            compare ? compare_sides(diff, compare, limits) : cmd_fail(CMD_FAILED, "out of memory");
    }
    compare_destroy(compare);
    for (int side = 0; side < COMPARE_SIDES; side++)
        for (size_t i = 0; i < diff->counts[side]; i++)
            free(diff->paths[side][i]);
    free(diff);
    free(limits);
    return status;
}

static const struct option_spec diff_options[] = {
    OPTIONS_GROUP("limits, rows and columns"),
    COMPARE_OPTIONS(offsetof(struct diff_values, compare), 'n'),
    OPTIONS_GROUP("a picture"),
    {"flame", 'f', OPTION_TEXT, offsetof(struct diff_values, flame), "FILE",
     "also write a flame graph of both: blue-green where B has less, red-brown where it has "
     "more",
     NULL},
    {"force", 0, OPTION_FLAG, offsetof(struct diff_values, force), NULL, "replace an existing file",
     NULL},
    {0},
};

static const char diff_details[] =
    "A and B are recordings or folders of recordings, of any commands. Several of a side without\n"
    "a folder: annot diff A1 A2 A3 vs B1 B2 B3. Ten a side resolve changes of a few percent.\n\n"
    "exit status: 0; 1 if a --fail-if is surely so, or a recording could not be read or is damaged;"
    "\n2 wrong command line; 3 with --undecided, if a --fail-if may be so\n";

const struct cmd cmd_diff = {
    .name = "diff",
    .summary = "compare recordings: what changed, and how sure that is",
    .usage = "[OPTIONS] RECORDING... [vs] RECORDING...",
    .details = diff_details,
    .examples = "  annot diff before.annot after.annot\n"
                "  annot diff --all --flame diff.html before.annot after.annot\n"
                "  annot diff --fail-if 'load > +5%' before.annot after.annot\n",
    .options = diff_options,
    .values_size = sizeof(struct diff_values),
    .operands_min = 2,
    .operands_max = -1,
    .run = run_diff,
};
