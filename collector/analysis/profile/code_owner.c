/* SPDX-License-Identifier: MIT */
/* Classifies code by where its file lies; names and places of functions. */
#include "code_owner.h"

#include "call_label.h"
#include "text.h"

#include <string.h>

const char *code_owner_name(unsigned owner)
{
    static const char *const names[CODE_OWNERS] = {
        [CODE_UNKNOWN] = "unknown", [CODE_OWN] = "own",       [CODE_LIBRARY] = "library",
        [CODE_STDLIB] = "stdlib",   [CODE_KERNEL] = "kernel", [CODE_INTERPRETER] = "interpreter",
        [CODE_ANNOT] = "annot",
    };
    return names[owner < CODE_OWNERS ? owner : CODE_UNKNOWN];
}

const char *code_purpose_name(unsigned purpose)
{
    static const char *const names[PURPOSE_COUNT] = {
        [PURPOSE_NONE] = "",
        [PURPOSE_GC] = "garbage collector",
        [PURPOSE_THREADS] = "threads",
        [PURPOSE_LOOP] = "event loop",
        [PURPOSE_POOL] = "pools",
        [PURPOSE_IMPORT] = "imports",
        [PURPOSE_START_UP] = "start-up",
        [PURPOSE_LAUNCH] = "start of the command",
    };
    return names[purpose < PURPOSE_COUNT ? purpose : PURPOSE_NONE];
}

static bool begins(const char *text, const char *with)
{
    return strncmp(text, with, strlen(with)) == 0;
}

/* ---- Python ---------------------------------------------------------------------------------- */

/* Returns the part after the folder of installed modules: "json/decoder.py"; NULL elsewhere. */
static const char *after_installed(const char *path)
{
    const char *rest = call_short_path(path, CALL_STRIP_LIBRARIES);
    return rest == path ? NULL : rest;
}

static bool is_in_packages(const char *path)
{
    return strstr(path, "/site-packages/") || strstr(path, "/dist-packages/");
}

/* True for a file of pyannot, wherever it was installed: FOLDER/pyannot/observe/names.py. The
 * folder alone is not enough, as a program may have one of that name. */
static bool is_annot(const char *path)
{
    static const char name[] = "/pyannot/";
    const char *file = NULL;
    for (const char *at = strstr(path, name); at; at = strstr(at + 1, name))
        file = at + strlen(name);
    return file && (file[0] == '_' || begins(file, "observe/") || begins(file, "nvtx/") ||
                    begins(file, "preload/"));
}

static const char *source_of(const struct trace *trace, const struct label *label)
{
    const struct stacks *stacks = trace_stacks_get(trace);
    return trace_string(trace, stacks_get_source(stacks, label->source)->path)->bytes;
}

static bool names_python(const char *command)
{
    for (const char *at = command; *at; at += strspn(at, " ")) {
        size_t size = strcspn(at, " "), folder = size;
        while (folder > 0 && at[folder - 1] != '/')
            folder--;
        if (strncmp(at + folder, "python", strlen("python")) == 0)
            return true;
        at += size;
    }
    return false;
}

/* True if the program used multiprocessing's spawn, which starts new interpreters with -c. */
static bool has_spawned(const struct trace *trace)
{
    const struct stacks *stacks = trace_stacks_get(trace);
    uint32_t count = stacks_source_count(stacks);
    for (uint32_t i = 1; i < count; i++)
        if (strstr(trace_string(trace, stacks_get_source(stacks, i)->path)->bytes,
                   "/multiprocessing/spawn.py"))
            return true;
    return false;
}

/* "<stdin>", cells of notebooks and tests in docstrings are typed by the user. So are functions of
 * "<string>", text given to exec, except the methods of data classes and named tuples. The module
 * code of such a text counts as the user's after -c and in a program that embeds Python; otherwise
 * it belongs to its caller, or is a line of a .pth file. */
static bool is_made_of_text(const struct trace *trace, const struct label *label)
{
    const char *command = trace_string(trace, trace_session_get(trace)->command)->bytes;
    const char *name = trace_string(trace, label->text)->bytes, *end = strrchr(name, '.');
    if (strcmp(source_of(trace, label), "<string>") != 0)
        return false;
    if (strcmp(name, "<module>") == 0)
        return *command && !strstr(command, " -c ") &&
               (names_python(command) || has_spawned(trace));
    return begins(end ? end + 1 : name, "__") || begins(name, "__create_fn__") ||
           strcmp(name, "<lambda>") == 0;
}

static bool is_frozen(const char *path)
{
    return begins(path, "<frozen ") || begins(path, "<__array_function__") ||
           begins(path, "<attrs generated") || begins(path, "<decorator-gen");
}

/* True for venv/bin/black, a script that installers make for a package's main function, in an
 * environment: some source lies below venv/lib/python3.12/. */
static bool is_start_script(const struct trace *trace, const char *path)
{
    const struct stacks *stacks = trace_stacks_get(trace);
    const char *name = text_base_name(path);
    uint32_t count = stacks_source_count(stacks);
    if (name - path < 5 || strncmp(name - 5, "/bin/", 5) != 0 || strchr(name, '.'))
        return false;
    size_t folder = (size_t)(name - path) - strlen("bin/");
    for (uint32_t i = 1; i < count; i++) {
        const char *other = trace_string(trace, stacks_get_source(stacks, i)->path)->bytes;
        if (strncmp(other, path, folder) == 0 && begins(other + folder, "lib/python"))
            return true;
    }
    return false;
}

static enum code_owner python_owner(const struct trace *trace, const struct label *label)
{
    const char *path = source_of(trace, label);
    if (is_annot(path))
        return CODE_ANNOT;
    if (is_frozen(path) || is_made_of_text(trace, label))
        return CODE_STDLIB;
    if (is_in_packages(path) || is_start_script(trace, path))
        return CODE_LIBRARY;
    return after_installed(path) ? CODE_STDLIB : CODE_OWN;
}

static enum code_purpose python_purpose(const char *path)
{
    static const struct {
        const char *begin;
        enum code_purpose purpose;
    } modules[] = {
        {"importlib/", PURPOSE_IMPORT},
        {"multiprocessing/", PURPOSE_POOL},
        {"concurrent/futures/", PURPOSE_POOL},
        {"joblib/externals/loky/", PURPOSE_POOL},
        {"joblib/parallel.py", PURPOSE_POOL},
        {"joblib/_parallel_backends.py", PURPOSE_POOL},
        {"joblib/executor.py", PURPOSE_POOL},
        {"joblib/pool.py", PURPOSE_POOL},
        {"loky/", PURPOSE_POOL},
        {"asyncio/", PURPOSE_LOOP},
        {"uvloop/", PURPOSE_LOOP},
        {"anyio/", PURPOSE_LOOP},
        {"trio/", PURPOSE_LOOP},
        {"threading.py", PURPOSE_THREADS},
        {"runpy.py", PURPOSE_START_UP},
        {"site.py", PURPOSE_START_UP},
        {"encodings/", PURPOSE_START_UP},
    };

    const char *rest = after_installed(path);
    if (begins(path, "<frozen importlib") || begins(path, "<frozen zipimport"))
        return PURPOSE_IMPORT;
    if (begins(path, "<frozen runpy") || begins(path, "<frozen site>") ||
        begins(path, "<frozen getpath>"))
        return PURPOSE_START_UP;
    for (size_t i = 0; rest && i < sizeof(modules) / sizeof(*modules); i++)
        if (begins(rest, modules[i].begin))
            return modules[i].purpose;
    return PURPOSE_NONE;
}

/* ---- Native ---------------------------------------------------------------------------------- */

static bool is_interpreter(const char *name)
{
    const char *version = begins(name, "libpython") ? name + strlen("libpython")
                          : begins(name, "python")  ? name + strlen("python")
                                                    : "no";
    return version[strspn(version, "0123456789.t")] == '\0' || begins(version, "3.") ||
           begins(version, "2.");
}

static bool is_of_system(const char *path)
{
    static const char *const folders[] = {"/usr/",  "/lib/", "/lib64/", "/bin/",
                                          "/sbin/", "/opt/", "/snap/",  "/nix/store/"};
    for (size_t i = 0; i < sizeof(folders) / sizeof(*folders); i++)
        if (begins(path, folders[i]))
            return true;
    return path[0] != '/'; /* [vdso] */
}

/* A library among the user's files is the user's own, unless it belongs to an environment. */
static enum code_owner native_owner(const char *path)
{
    const char *name = text_base_name(path);
    bool shared = strstr(name, ".so") != NULL;
    if (begins(name, "libannot") || begins(name, "annot-preload") || is_annot(path))
        return CODE_ANNOT;
    if (is_interpreter(name))
        return CODE_INTERPRETER;
    if (is_in_packages(path) || is_of_system(path))
        return CODE_LIBRARY;
    if (after_installed(path))
        return CODE_STDLIB;
    return shared && strstr(path, "/lib/") ? CODE_LIBRARY : CODE_OWN;
}

/* The entry point of a program, before its main(). */
static bool is_entry(const char *function)
{
    return strcmp(function, "_start") == 0;
}

/* ---- Both ------------------------------------------------------------------------------------ */

static const char *module_of(const struct trace *trace, const struct label *label)
{
    const struct stacks *stacks = trace_stacks_get(trace);
    return trace_string(trace, stacks_get_module(stacks, label->module)->path)->bytes;
}

enum code_owner code_owner_of(const struct trace *trace, uint32_t ordinal)
{
    const struct label *label = stacks_get_label(trace_stacks_get(trace), ordinal);
    switch (label->kind) {
    case FRAME_PYTHON:
        return python_owner(trace, label);
    case FRAME_NATIVE:
        if (begins(trace_string(trace, label->text)->bytes, "annot_")) /* linked statically */
            return CODE_ANNOT;
        if (label->module == 0 || is_entry(trace_string(trace, label->text)->bytes))
            return CODE_LIBRARY;
        return native_owner(module_of(trace, label));
    case FRAME_JIT:
        return label->flags & LABEL_PLACE ? CODE_LIBRARY : CODE_OWN;
    case FRAME_KERNEL:
        return CODE_KERNEL;
    case FRAME_COLLECTOR:
        return CODE_INTERPRETER;
    default:
        return CODE_UNKNOWN;
    }
}

enum code_colour code_colour_of(const struct trace *trace, uint32_t ordinal)
{
    static const uint8_t colours[CODE_OWNERS] = {
        [CODE_UNKNOWN] = COLOUR_NATIVE,    [CODE_OWN] = COLOUR_OWN,
        [CODE_LIBRARY] = COLOUR_LIBRARY,   [CODE_STDLIB] = COLOUR_LIBRARY,
        [CODE_KERNEL] = COLOUR_KERNEL,     [CODE_INTERPRETER] = COLOUR_INTERPRETER,
        [CODE_ANNOT] = COLOUR_INTERPRETER,
    };
    uint8_t kind = stacks_get_label(trace_stacks_get(trace), ordinal)->kind;
    enum code_owner owner = code_owner_of(trace, ordinal);
    if (kind == FRAME_COLLECTOR)
        return COLOUR_COLLECTOR;
    if (stacks_get_label(trace_stacks_get(trace), ordinal)->flags & LABEL_WORK)
        return COLOUR_KERNEL;
    if (kind == FRAME_NATIVE && (owner == CODE_LIBRARY || owner == CODE_STDLIB))
        return COLOUR_NATIVE;
    return (enum code_colour)colours[owner];
}

uint32_t code_beginner(const struct trace *trace, uint32_t stack)
{
    const struct stacks *stacks = trace_stacks_get(trace);
    uint32_t found = 0;
    for (; stack != 0; stack = stacks_get_stack(stacks, stack)->parent) {
        const struct frame *frame =
            stacks_get_frame(stacks, stacks_get_stack(stacks, stack)->frame);
        uint32_t path = stacks_get_module(stacks, frame->module)->path;
        const char *name = text_base_name(trace_string(trace, path)->bytes);
        bool is_system = begins(name, "libc.") || begins(name, "libpthread") ||
                         begins(name, "ld-linux") || name[0] == '[';
        if (frame->kind == FRAME_NATIVE && name[0] && !is_system)
            found = path;
    }
    return found;
}

enum code_purpose code_purpose_of(const struct trace *trace, uint32_t ordinal)
{
    const struct label *label = stacks_get_label(trace_stacks_get(trace), ordinal);
    return label->kind == FRAME_PYTHON ? python_purpose(source_of(trace, label)) : PURPOSE_NONE;
}

enum code_begins code_begins(const struct trace *trace, uint32_t ordinal)
{
    const struct label *label = stacks_get_label(trace_stacks_get(trace), ordinal);
    if (label->kind != FRAME_PYTHON)
        return BEGINS_NOTHING;
    if (strcmp(trace_string(trace, label->text)->bytes, "<module>") == 0)
        return BEGINS_MODULE;
    const char *path = source_of(trace, label);
    bool is_runpy = begins(path, "<frozen runpy") || strcmp(text_base_name(path), "runpy.py") == 0;
    return is_runpy ? BEGINS_MAIN : BEGINS_NOTHING;
}

bool code_is_extension(const struct trace *trace, uint32_t ordinal)
{
    const struct label *label = stacks_get_label(trace_stacks_get(trace), ordinal);
    const char *path = module_of(trace, label);
    return label->kind == FRAME_NATIVE &&
           (is_in_packages(path) ||
            (after_installed(path) && !is_interpreter(text_base_name(path))));
}

bool code_is_start_up(const struct trace *trace, uint32_t ordinal)
{
    static const char *const names[] = {"_start",
                                        "__libc_start_main",
                                        "__libc_start_main_impl",
                                        "__libc_start_call_main",
                                        "clone",
                                        "clone3",
                                        "__clone",
                                        "__clone3",
                                        "start_thread"};
    const struct label *label = stacks_get_label(trace_stacks_get(trace), ordinal);
    const char *name = trace_string(trace, label->text)->bytes;
    for (size_t i = 0; i < sizeof(names) / sizeof(*names); i++)
        if (strcmp(name, names[i]) == 0)
            return true;
    return false;
}

bool code_is_bootstrap(const struct trace *trace, uint32_t ordinal)
{
    const struct label *label = stacks_get_label(trace_stacks_get(trace), ordinal);
    const char *name = trace_string(trace, label->text)->bytes;
    const char *end = strrchr(name, '.');
    if (label->kind != FRAME_PYTHON || strcmp(end ? end + 1 : name, "_bootstrap") != 0)
        return false;
    const char *rest = after_installed(source_of(trace, label));
    return begins(rest ? rest : "", "multiprocessing/") || begins(rest ? rest : "", "threading.py");
}

#define LOCALS ".<locals>."

size_t code_name(const struct trace *trace, uint32_t ordinal, char *buffer, size_t size)
{
    const struct label *label = stacks_get_label(trace_stacks_get(trace), ordinal);
    const struct trace_string *name = trace_string(trace, label->text);
    struct text text = text_init(buffer, size);
    const char *local;
    const char *at = name->bytes;
    /* An inner function by its own name; "outer.<genexpr>" has no such name. */
    while (label->kind == FRAME_PYTHON && (local = strstr(at, LOCALS))) {
        if (local[strlen(LOCALS)] == '<')
            break;
        at = local + strlen(LOCALS);
    }
    local = strstr(at, LOCALS);
    if (label->kind == FRAME_PYTHON && local)
        text_format(&text, "%.*s.%s", (int)(local - at), at, local + strlen(LOCALS));
    else
        text_add(&text, at, name->length - (size_t)(at - name->bytes));
    return text.length;
}

size_t code_rest_name(const struct trace *trace, unsigned purpose, uint32_t program, char *buffer,
                      size_t size)
{
    struct text text = text_init(buffer, size);
    const char *name = program ? text_base_name(trace_string(trace, program)->bytes) : "other code";
    text_format(&text, "%s", purpose ? code_purpose_name(purpose) : name);
    return text.length;
}

/* Returns the part of `path` below the folder of a script that the command names: "python3
 * /srv/app/main.py". NULL: not below one. */
static const char *after_script(const char *command, const char *path)
{
    for (const char *at = command; *at; at += strspn(at, " ")) {
        size_t size = strcspn(at, " "), folder = size;
        while (folder > 0 && at[folder - 1] != '/')
            folder--;
        if (folder > 1 && size > 3 && strncmp(at + size - 3, ".py", 3) == 0 &&
            strncmp(path, at, folder) == 0)
            return path + folder;
        at += size;
    }
    return NULL;
}

/* Makes a path relative to the working directory, the script's folder or a library folder; other
 * paths stay absolute. */
static const char *relative(const struct trace *trace, const char *path)
{
    const struct trace_session *session = trace_session_get(trace);
    const char *rest = call_short_path(path, CALL_STRIP_LIBRARIES);
    const char *script = NULL;
    if (rest == path)
        rest = call_short_path(path, trace_string(trace, session->directory)->bytes);
    if (rest == path)
        script = after_script(trace_string(trace, session->command)->bytes, path);
    rest = script ? script : rest;
    return begins(rest, "./") ? rest + 2 : rest;
}

/* "_csv.cpython-311-x86_64-linux-gnu.so" is "_csv". */
static void add_module_name(struct text *text, const char *name)
{
    const char *tag = strstr(name, ".cpython-");
    text_add(text, name, tag ? (size_t)(tag - name) : strlen(name));
}

size_t code_location(const struct trace *trace, uint32_t ordinal, int32_t line, char *buffer,
                     size_t size)
{
    const struct label *label = stacks_get_label(trace_stacks_get(trace), ordinal);
    const char *source = source_of(trace, label);
    struct text text = text_init(buffer, size);
    line = line > 0 ? line : label->first_line;
    if (!*source)
        add_module_name(&text, text_base_name(module_of(trace, label)));
    else
        text_format(&text, line > 0 ? "%s:%d" : "%s", relative(trace, source), line);
    return text.length;
}

size_t code_file_location(const struct trace *trace, uint32_t file, int32_t line, char *buffer,
                          size_t size)
{
    const char *path = trace_string(trace, file)->bytes;
    struct text text = text_init(buffer, size);
    if (*path)
        text_format(&text, line > 0 ? "%s:%d" : "%s", relative(trace, path), line);
    return text.length;
}
