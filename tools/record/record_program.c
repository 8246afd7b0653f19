/* SPDX-License-Identifier: MIT */
/* Implements record_program.h. Names are untrusted: cmd_fail escapes them. */
#include "record_program.h"

#include "child.h"
#include "cmd.h"
#include "options.h"
#include "text.h"

#include <dirent.h>
#include <errno.h>
#include <fcntl.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/stat.h>
#include <unistd.h>

/* ---- Suggestions ----------------------------------------------------------------------------- */

/* Finds the Python file with the most similar name in the folder; "": all differ too much. */
static void find_near(const char *path, char *near, size_t size)
{
    const char *name = text_base_name(path);
    char folder[PATH_MAX];
    struct dirent *entry;
    unsigned best = options_near_limit(name);
    snprintf(folder, sizeof(folder), "%.*s", (int)(name - path), path);
    near[0] = 0;
    DIR *directory = opendir(folder[0] ? folder : ".");
    while (directory && (entry = readdir(directory))) {
        unsigned distance = options_distance(name, entry->d_name);
        if (!text_ends_with(entry->d_name, ".py") || distance >= best)
            continue;
        best = distance;
        snprintf(near, size, "%s%s", folder, entry->d_name);
    }
    if (directory)
        closedir(directory);
}

static int fail_script(const char *command)
{
    char near[2 * PATH_MAX], quoted[4 * PATH_MAX];
    find_near(command, near, sizeof(near));
    cmd_quote(near, quoted, sizeof(quoted));
    if (near[0])
        return cmd_fail(PROGRAM_NOT_FOUND, "%s: no such file\ndid you mean \"annot %s %s\"?",
                        command, cmd_name(), quoted);
    return cmd_fail(PROGRAM_NOT_FOUND, "%s: no such file\nis the path right?", command);
}

/* Returns true for a word with blanks that begins with a command: a whole line in quotes. */
static bool is_quoted_line(const char *command)
{
    char first[PATH_MAX];
    size_t length = strcspn(command, " ");
    if (length == 0 || !command[length] || length >= sizeof(first))
        return false;
    memcpy(first, command, length);
    first[length] = 0;
    return child_check(first) == 0 || text_ends_with(first, ".py");
}

static int fail_missing(const char *command)
{
    size_t digits = strspn(command, "0123456789");
    if (text_ends_with(command, ".py"))
        return fail_script(command);
    if (digits > 0 && command[digits] == 0)
        return cmd_fail(PROGRAM_NOT_FOUND,
                        "%s: command not found\nto record a running process: annot attach %s",
                        command, command);
    if (text_ends_with(command, ".annot"))
        return cmd_fail(PROGRAM_NOT_FOUND,
                        "%s: command not found\nto show a recording: annot report; to write one: "
                        "annot record -o %s COMMAND",
                        command, command);
    if (is_quoted_line(command))
        return cmd_fail(PROGRAM_NOT_FOUND, "\"%s\": command not found\nwithout quotes: annot %s %s",
                        command, cmd_name(), command);
    if (strchr(command, '/'))
        return cmd_fail(PROGRAM_NOT_FOUND, "%s: command not found\nis the path right?", command);
    return cmd_fail(PROGRAM_NOT_FOUND,
                    "%s: command not found\nis it installed and in PATH? For a file here, say "
                    "./NAME; for a Python module: -m NAME",
                    command);
}

int program_fail(const char *command, int error)
{
    if (error == -ENOENT)
        return fail_missing(command);
    if (error == -EISDIR)
        return cmd_fail(PROGRAM_NOT_EXECUTABLE, "%s: is a directory\nname a program", command);
    return cmd_fail(PROGRAM_NOT_EXECUTABLE,
                    "%s: cannot be executed: %s\n\"chmod +x\" makes a "
                    "script executable, or name its interpreter",
                    command, strerror(-error));
}

/* ---- Python ---------------------------------------------------------------------------------- */

/* An activated environment is also in PATH, but some tools only set the variable. */
static const char *find_python(struct program *program)
{
    const char *environment = getenv("VIRTUAL_ENV");
    if (environment && *environment &&
        (size_t)snprintf(program->python, sizeof(program->python), "%s/bin/python3", environment) <
            sizeof(program->python) &&
        child_check(program->python) == 0)
        return program->python;
    static const char *const names[] = {"python3", "python", NULL};
    for (const char *const *name = names; *name; name++)
        if (child_check(*name) == 0)
            return *name;
    return NULL;
}

/* Runs python3 with `words` (ends with NULL), then the operands after the first. */
static int run_python(struct program *program, const char *const words[3], char **operands)
{
    size_t count = 0, used = 0;
    const char *python = find_python(program);
    if (!python)
        return cmd_fail(PROGRAM_NOT_FOUND,
                        "there is no python3 in PATH to run %s\nname the interpreter: annot record "
                        "/PATH/TO/python3 ...",
                        operands[0]);
    while (operands[count])
        count++;
    program->made = calloc(count + 4, sizeof(char *));
    if (!program->made)
        return cmd_fail(PROGRAM_NOT_EXECUTABLE, "out of memory");
    program->made[used++] = (char *)python;
    for (size_t i = 0; i < 2 && words[i]; i++)
        program->made[used++] = (char *)words[i];
    memcpy(program->made + used, operands + 1, (count - 1) * sizeof(char *));
    program->argv = program->made;
    return 0;
}

/* "-m", "-mNAME", "--module", "--module=NAME", and the same for -c. */
static int run_option(struct program *program, char **operands)
{
    const char *word = operands[0];
    bool is_long = word[1] == '-', is_code = word[is_long ? 2 : 1] == 'c';
    const char *rest = is_long ? strchr(word, '=') : word + 2;
    const char *value = rest && *rest ? rest + is_long : NULL;
    program->name = is_code ? "python3" : value ? value : operands[1];
    return run_python(program, (const char *const[]){is_code ? "-c" : "-m", value, NULL}, operands);
}

static bool has_interpreter(const char *path)
{
    char begin[2] = "";
    int fd = open(path, O_RDONLY | O_CLOEXEC | O_NONBLOCK);
    bool found = fd >= 0 && access(path, X_OK) == 0 && read(fd, begin, 2) == 2 &&
                 memcmp(begin, "#!", 2) == 0;
    if (fd >= 0)
        close(fd);
    return found;
}

static bool is_script(const char *word)
{
    struct stat status;
    return text_ends_with(word, ".py") && stat(word, &status) == 0 && S_ISREG(status.st_mode) &&
           (strchr(word, '/') || child_check(word) != 0);
}

static int run_script(struct program *program, char **operands)
{
    const char *word = operands[0];
    if (!has_interpreter(word))
        return run_python(program, (const char *const[]){word, NULL, NULL}, operands);
    snprintf(program->script, sizeof(program->script), "%s%s", strchr(word, '/') ? "" : "./", word);
    operands[0] = program->script;
    return 0;
}

/* ---- The program ----------------------------------------------------------------------------- */

int program_choose(struct program *program, char **operands)
{
    *program = (struct program){.argv = operands, .name = operands[0]};
    if (operands[0][0] == '-' && strchr("-mc", operands[0][1]))
        return run_option(program, operands);
    if (is_script(operands[0]))
        return run_script(program, operands);
    int error = child_check(operands[0]);
    return error == 0 ? 0 : program_fail(operands[0], error);
}

/* The value of annot's -o or --output in the word, or in the next one; NULL: another word. */
static const char *output_of(char *const *word)
{
    static const char joined[] = "--output=";
    if (strcmp(word[0], "-o") == 0 || strcmp(word[0], "--output") == 0)
        return word[1];
    return strncmp(word[0], joined, sizeof(joined) - 1) == 0 ? word[0] + sizeof(joined) - 1 : NULL;
}

/* Other programs never write the first extension, and write the others unless they failed. */
static bool is_of_annot(const char *output, bool well)
{
    static const char *const endings[] = {".pftrace", ".svg", ".json"};
    for (size_t i = 0; i < sizeof(endings) / sizeof(*endings); i++)
        if (well && text_ends_with(output, endings[i]))
            return true;
    return text_ends_with(output, ".annot");
}

void program_note_options(const struct program *program, bool well)
{
    for (char *const *word = program->argv + 1; word[-1] && *word; word++) {
        const char *output = output_of(word);
        char quoted[4 * PATH_MAX];
        if (!output || !is_of_annot(output, well) || access(output, F_OK) == 0)
            continue;
        cmd_quote(output, quoted, sizeof(quoted));
        cmd_note("the command had the option -o %s, and did not write it\n"
                 "options of annot come before the command: annot record -o %s COMMAND",
                 quoted, quoted);
        return;
    }
}

void program_fini(struct program *program)
{
    free(program->made);
    program->made = NULL;
}
