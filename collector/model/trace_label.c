/* SPDX-License-Identifier: MIT */
/* Display names of processes, threads and functions; labels, and the names that stand for them.
 *
 * A command line becomes the program, or for interpreters program and script. A forked child is
 * "(worker N)" of the program it was forked from, counted by start among similar siblings; a worker
 * of a worker is "(worker N.M)". Foreign recordings may hold cycles: every walk upwards is bounded.
 * Thread-safety: the trace's owner. */
#include "trace_parts.h"

#include "text.h"

#include <errno.h>
#include <stdlib.h>
#include <string.h>

enum { WORD_SIZE = 4096, WORDS_MAX = 64, GENERATIONS_MAX = 8, PLACE_SIZE = 512 };

/* Origin of a process, as far as its label needs it. */
enum role {
    ROLE_PROGRAM,
    ROLE_FORKED,     /* runs its parent's program */
    ROLE_SPAWNED,    /* multiprocessing, start method spawn */
    ROLE_FORKSERVER, /* multiprocessing's server of forks */
    ROLE_TRACKER,    /* multiprocessing's resource tracker */
};

/* The next word of a command line as a shell would split it; false at the end. */
static bool next_word(const char **at, char *word, size_t size)
{
    const char *p = *at;
    char quote = '\0';
    struct text text = text_init(word, size);
    while (*p == ' ')
        p++;
    if (*p == '\0')
        return false;
    for (; *p != '\0' && (quote || *p != ' '); p++) {
        if (quote ? *p == quote : *p == '\'' || *p == '"')
            quote = (char)(quote ? '\0' : *p);
        else if (*p == '\\' && quote != '\'' && p[1] != '\0')
            text_add(&text, ++p, 1);
        else
            text_add(&text, p, 1);
    }
    word[utf8_whole(word, text.length)] = '\0';
    *at = p;
    return true;
}

static bool is_interpreter(const char *program)
{
    static const char *const names[] = {"python", "pypy", "perl", "ruby", "node", "bash", "dash"};
    for (size_t i = 0; i < sizeof(names) / sizeof(*names); i++)
        if (strncmp(program, names[i], strlen(names[i])) == 0)
            return true;
    return strcmp(program, "sh") == 0;
}

static bool is_python(const char *program)
{
    return strncmp(program, "python", 6) == 0 || strncmp(program, "pypy", 4) == 0;
}

/* Adds the argument that identifies the script: "script.py", "-m module", "-c", or no text. */
static void add_script(struct text *text, const char *rest, bool python)
{
    char word[WORD_SIZE];
    for (int i = 0; i < WORDS_MAX && next_word(&rest, word, sizeof(word)); i++) {
        if (word[0] != '-') {
            text_format(text, " %s", text_base_name(word));
            return;
        }
        if (strcmp(word, "-c") == 0 || strcmp(word, "-e") == 0) {
            text_format(text, " %s", word);
            return;
        }
        if (python && strcmp(word, "-m") == 0) {
            if (next_word(&rest, word, sizeof(word)))
                text_format(text, " -m %s", word);
            return;
        }
        if (python && (strcmp(word, "-X") == 0 || strcmp(word, "-W") == 0))
            next_word(&rest, word, sizeof(word));
    }
}

static const char *string_of(const struct trace *trace, uint32_t ordinal)
{
    return trace_string(trace, ordinal)->bytes;
}

/* Adds the program without the arguments of multiprocessing. */
static void add_program(struct text *text, const struct trace *trace,
                        const struct trace_process *process, enum role role)
{
    char program[WORD_SIZE];
    const char *rest = string_of(trace, process->cmdline);
    if (process->cmdline && next_word(&rest, program, sizeof(program))) {
        const char *name = text_base_name(program);
        name += name[0] == '-' && name[1]; /* a login shell */
        text_format(text, "%s", name);
        if (role == ROLE_PROGRAM && is_interpreter(name))
            add_script(text, rest, is_python(name));
    } else if (process->comm) {
        text_format(text, "%s", string_of(trace, process->comm));
    } else {
        text_format(text, "process %d", process->pid);
    }
}

static const struct trace_process *parent_of(const struct trace *trace,
                                             const struct trace_process *process)
{
    return process->parent < 0 ? NULL : trace_process_get(trace, (uint32_t)process->parent);
}

static enum role role_of(const struct trace *trace, const struct trace_process *process)
{
    const struct trace_process *parent = parent_of(trace, process);
    if (process->forked && parent && (process->cmdline == 0 || process->cmdline == parent->cmdline))
        return ROLE_FORKED;
    const char *cmdline = string_of(trace, process->cmdline);
    if (strstr(cmdline, "from multiprocessing.spawn import spawn_main"))
        return ROLE_SPAWNED;
    if (strstr(cmdline, "from multiprocessing.forkserver import main"))
        return ROLE_FORKSERVER;
    if (strstr(cmdline, "from multiprocessing.resource_tracker import main"))
        return ROLE_TRACKER;
    return ROLE_PROGRAM;
}

static int64_t start_of(const struct trace_process *process)
{
    return process->fork_ns ? process->fork_ns : process->start_ns;
}

/* 1 + the earlier unnamed children of the same parent with the same role. */
static uint32_t number_among_siblings(const struct trace *trace, uint32_t ordinal, enum role role)
{
    const struct trace_process *self = trace_process_get(trace, ordinal);
    uint32_t number = 1;
    for (uint32_t i = 0; i < trace_process_count(trace); i++) {
        const struct trace_process *other = trace_process_get(trace, i);
        if (other->parent != self->parent || other->name || i == ordinal)
            continue;
        bool before =
            start_of(other) != start_of(self) ? start_of(other) < start_of(self) : i < ordinal;
        number += before && role_of(trace, other) == role;
    }
    return number;
}

/* The chain of forked unnamed processes from `ordinal` up; it ends with their origin. */
static uint32_t fork_chain(const struct trace *trace, uint32_t ordinal, uint32_t *chain)
{
    uint32_t length = 0;
    chain[0] = ordinal;
    while (length + 1 < GENERATIONS_MAX) {
        const struct trace_process *process = trace_process_get(trace, chain[length]);
        if (process->name || role_of(trace, process) != ROLE_FORKED)
            break;
        chain[++length] = (uint32_t)process->parent;
    }
    return length;
}

/* Adds the program that the user started: the parent's, for processes that multiprocessing
 * starts. */
static void add_base(struct text *text, const struct trace *trace,
                     const struct trace_process *process)
{
    const struct trace_process *parent = parent_of(trace, process);
    enum role role = role_of(trace, process);
    bool by_parent =
        role > ROLE_FORKED && parent && !process->name && role_of(trace, parent) == ROLE_PROGRAM;
    const struct trace_process *named = by_parent ? parent : process;
    if (named->name)
        text_format(text, "%s", string_of(trace, named->name));
    else
        add_program(text, trace, named, by_parent ? ROLE_PROGRAM : role);
}

static bool has_children(const struct trace *trace, uint32_t ordinal)
{
    for (uint32_t i = 0; i < trace_process_count(trace); i++)
        if (trace_process_get(trace, i)->parent == (int32_t)ordinal)
            return true;
    return false;
}

/* If only its workers are annotated, the server itself is missing, and they look like it. */
static bool is_servers_orphan(const struct trace *trace, uint32_t ordinal)
{
    return !parent_of(trace, trace_process_get(trace, ordinal)) && !has_children(trace, ordinal);
}

static void add_role(struct text *text, const struct trace *trace, uint32_t ordinal)
{
    const struct trace_process *process = trace_process_get(trace, ordinal);
    enum role role = role_of(trace, process);
    if (process->name)
        return;
    if (role == ROLE_SPAWNED && parent_of(trace, process))
        text_format(text, " (spawned worker %u)", number_among_siblings(trace, ordinal, role));
    else if (role == ROLE_SPAWNED)
        text_format(text, " (spawned worker)");
    else if (role == ROLE_FORKSERVER && is_servers_orphan(trace, ordinal))
        text_format(text, " (forkserver worker %u)", number_among_siblings(trace, ordinal, role));
    else if (role == ROLE_FORKSERVER)
        text_format(text, " (forkserver)");
    else if (role == ROLE_TRACKER)
        text_format(text, " (resource tracker)");
}

size_t trace_process_label(const struct trace *trace, uint32_t process, char *buffer, size_t size)
{
    struct text text = text_init(buffer, size);
    uint32_t chain[GENERATIONS_MAX];
    if (!trace_process_get(trace, process)) {
        text_format(&text, "unknown process");
        return text.length;
    }
    uint32_t length = fork_chain(trace, process, chain);
    const struct trace_process *origin = trace_process_get(trace, chain[length]);
    add_base(&text, trace, origin);
    bool served = length > 0 && !origin->name && role_of(trace, origin) == ROLE_FORKSERVER;
    if (!served)
        add_role(&text, trace, chain[length]);
    if (length > 0)
        text_format(&text, served ? " (forkserver worker " : " (worker ");
    for (uint32_t i = length; i-- > 0;)
        text_format(&text, "%u%s", number_among_siblings(trace, chain[i], ROLE_FORKED),
                    i == 0 ? ")" : ".");
    return text.length;
}

static void add_signal(struct text *text, int number)
{
    const char *name = NULL;
#if defined(__GLIBC__)
    name = sigabbrev_np(number);
#endif
    if (name)
        text_format(text, "killed by SIG%s", name);
    else
        text_format(text, "killed by signal %d", number);
}

size_t trace_process_end_label(const struct trace *trace, uint32_t ordinal, char *buffer,
                               size_t size)
{
    const struct trace_process *process = trace_process_get(trace, ordinal);
    struct text text = text_init(buffer, size);
    switch (process ? (enum process_end)process->end : PROCESS_VANISHED) {
    case PROCESS_RUNNING:
        text_format(&text, "still running");
        break;
    case PROCESS_EXITED:
        text_format(&text, "exit %d", process->end_value);
        break;
    case PROCESS_SIGNALED:
        add_signal(&text, process->end_value);
        break;
    case PROCESS_EXITED_ORDERLY:
        text_format(&text, "exited");
        break;
    case PROCESS_EXEC:
        text_format(&text, "exec");
        break;
    case PROCESS_UNRECORDED:
        text_format(&text, "not recorded");
        break;
    case PROCESS_VANISHED:
    default:
        text_format(&text, "ended, status unknown");
        break;
    }
    return text.length;
}

size_t trace_thread_label(const struct trace *trace, uint32_t ordinal, char *buffer, size_t size)
{
    struct text text = text_init(buffer, size);
    const struct trace_thread *thread = trace_thread_get(trace, ordinal);
    const struct trace_process *process = thread ? trace_process_get(trace, thread->process) : NULL;
    if (!thread)
        text_format(&text, "unknown thread");
    else if (thread->name)
        text_format(&text, "%s", string_of(trace, thread->name));
    else if (process && thread->tid == process->ns_pid && thread->tid != 0)
        text_format(&text, "main");
    else if (thread->comm && (!process || thread->comm != process->comm))
        text_format(&text, "%s", string_of(trace, thread->comm));
    else if (thread->tid)
        text_format(&text, "thread %d", thread->tid);
    else
        text_format(&text, "thread #%u", thread->serial);
    return text.length;
}

static void add_track(const struct trace *trace, uint32_t ordinal, struct text *text)
{
    const struct trace_lane *track = trace_lane_get(trace, ordinal);
    if (!track)
        text_format(text, "unknown track");
    else if (track->name)
        text_format(text, "%s", string_of(trace, track->name));
    else if (track->id)
        text_format(text, "track 0x%llx", (unsigned long long)track->id);
    else
        text_format(text, "track #%u", ordinal);
}

size_t trace_lane_label(const struct trace *trace, uint32_t ordinal, char *buffer, size_t size)
{
    struct text text = text_init(buffer, size);
    add_track(trace, ordinal, &text);
    return text.length;
}

size_t trace_lane_path(const struct trace *trace, uint32_t ordinal, char *buffer, size_t size)
{
    struct text text = text_init(buffer, size);
    uint32_t path[TRACE_LANE_LEVELS], count = 0;
    const struct trace_lane *track = trace_lane_get(trace, ordinal);
    for (path[count++] = ordinal; track && track->parent && count < TRACE_LANE_LEVELS;) {
        path[count++] = track->parent - 1;
        track = trace_lane_get(trace, track->parent - 1);
    }
    while (count-- > 0) {
        add_track(trace, path[count], &text);
        if (count > 0)
            text_format(&text, "/");
    }
    return text.length;
}

size_t trace_range_label(const struct trace *trace, uint32_t path, char *buffer, size_t size)
{
    const struct range_path *range = stacks_get_path(trace_stacks_get(trace), path);
    const struct trace_string *name = trace_string(trace, range->name);
    struct text text = text_init(buffer, size);
    uint32_t domain = trace_scope_domain(trace, range->scope);
    if (domain)
        text_format(&text, "%s:", trace_string(trace, domain)->bytes);
    text_format(&text, "%s", name->length ? name->bytes : "(no name)");
    return text.length;
}

/* ---- Functions ---- */

int64_t trace_label_add(struct trace *trace, const struct label *like, const char *text)
{
    int64_t string = trace_string_add(trace, text, strlen(text));
    struct label label = *like;
    if (string < 0 || (string == 0 && label.source == 0))
        return string;
    label.text = (uint32_t)string;
    return stacks_label(trace_stacks(trace), &label);
}

int64_t trace_python_label(struct trace *trace, uint32_t text, uint32_t path, int32_t first_line)
{
    struct stacks *stacks = trace_stacks(trace);
    int64_t source = path ? stacks_source(stacks, &(struct source){.path = path}) : 0;
    const struct label label = {.text = text,
                                .source = source < 0 ? 0 : (uint32_t)source,
                                .first_line = first_line,
                                .kind = FRAME_PYTHON};
    if (source < 0 || (text == 0 && path == 0))
        return source;
    return stacks_label(stacks, &label);
}

int64_t trace_python_frame(struct trace *trace, const char *function, const char *file,
                           const struct source_place *place, int32_t first_line)
{
    int64_t text = trace_string_add(trace, function, strlen(function));
    int64_t path = trace_string_add(trace, file, strlen(file));
    if (text < 0 || path < 0)
        return -ENOMEM;
    int64_t label = trace_python_label(trace, (uint32_t)text, (uint32_t)path, first_line);
    const struct frame frame = {.kind = FRAME_PYTHON,
                                .label = label < 0 ? 0 : (uint32_t)label,
                                .line = place->line,
                                .column = place->column,
                                .end_column = place->end_column};
    return label < 0 ? label : stacks_frame(trace_stacks(trace), &frame);
}

/* Code without a file gets the sampler's text for unknown code. */
size_t trace_frame_place(const struct trace *trace, uint32_t ordinal, char *buffer, size_t size)
{
    const struct frame *frame = stacks_get_frame(trace_stacks_get(trace), ordinal);
    struct text text = text_init(buffer, size);
    uint32_t path = stacks_get_module(trace_stacks_get(trace), frame->module)->path;
    if (frame->kind == FRAME_KERNEL)
        text_format(&text, "[kernel]");
    else if (frame->kind == FRAME_JIT)
        text_format(&text, "[anonymous code]");
    else if (frame->kind != FRAME_NATIVE)
        text_format(&text, "[unknown]");
    else
        text_format(&text, "%s+0x%llx", text_base_name(trace_string(trace, path)->bytes),
                    (unsigned long long)frame->address);
    return text.length;
}

int trace_name_places(struct trace *trace)
{
    struct stacks *stacks = trace_stacks(trace);
    for (uint32_t i = 1; i < stacks_frame_count(stacks); i++) {
        const struct frame *frame = stacks_get_frame(stacks, i);
        char place[PLACE_SIZE];
        if (frame->label != 0)
            continue;
        trace_frame_place(trace, i, place, PLACE_SIZE);
        const struct label like = {
            .module = frame->module, .kind = frame->kind, .flags = LABEL_PLACE};
        int64_t label = trace_label_add(trace, &like, place);
        if (label < 0)
            return (int)label;
        stacks_place_frame(stacks, i, (uint32_t)label);
    }
    return 0;
}

static const char *name_of(const struct trace *trace, uint32_t name, const char *kind,
                           unsigned number, char buffer[16])
{
    struct text text = text_init(buffer, 16);
    if (name)
        return trace_string(trace, name)->bytes;
    text_format(&text, "%s %u", kind, number);
    return buffer;
}

const char *trace_set_name(const struct trace *trace, unsigned set, char buffer[16])
{
    const char *fixed = sample_set_fixed_name(set);
    uint32_t name = sample_set_get(trace_sets_get(trace), set)->name;
    return fixed && set ? fixed : name_of(trace, name, "set", set, buffer);
}

const char *trace_value_name(const struct trace *trace, unsigned type, char buffer[16])
{
    const char *fixed = value_type_fixed_name(type);
    uint32_t name = value_type_get(trace_sets_get(trace), type)->name;
    return fixed && type ? fixed : name_of(trace, name, "value", type, buffer);
}

const char *trace_value_unit(const struct trace *trace, unsigned type)
{
    const char *fixed = value_type_fixed_unit(type);
    return fixed ? fixed
                 : trace_string(trace, value_type_get(trace_sets_get(trace), type)->unit)->bytes;
}

/* ---- Order of processes ---------------------------------------------------------------------- */

/* Display order of processes: trees from their roots, siblings by start, each process followed by
 * its own children. Foreign recordings may hold cycles of parents; each process appears exactly
 * once. No recursion. Thread-safety: reads the trace only. */

struct node {
    int64_t start_ns;
    uint32_t process;
    uint32_t first_child, next_sibling; /* process + 1; 0 = end of the list */
    bool placed;
};

static int compare_start(const void *left, const void *right)
{
    const struct node *a = left, *b = right;
    if (a->start_ns != b->start_ns)
        return a->start_ns < b->start_ns ? -1 : 1;
    return a->process < b->process ? -1 : a->process > b->process;
}

/* Links children to parents; later ones first, so that each list is sorted by start. */
static void link_children(const struct trace *trace, const struct node *by_start,
                          struct node *nodes, uint32_t count)
{
    for (uint32_t i = count; i-- > 0;) {
        uint32_t process = by_start[i].process;
        int32_t parent = trace_process_get(trace, process)->parent;
        if (parent < 0 || (uint32_t)parent >= count || (uint32_t)parent == process)
            continue;
        nodes[process].next_sibling = nodes[parent].first_child;
        nodes[parent].first_child = process + 1;
    }
}

/* Appends a process and its descendants. `stack` holds the siblings to visit. */
static uint32_t place_tree(struct node *nodes, uint32_t root, uint32_t *order, uint32_t placed,
                           uint32_t *stack)
{
    uint32_t depth = 0;
    for (uint32_t at = root + 1; at != 0 || depth > 0;) {
        if (at == 0) {
            at = stack[--depth];
            continue;
        }
        struct node *node = &nodes[at - 1];
        uint32_t sibling = at - 1 == root ? 0 : node->next_sibling;
        if (node->placed) {
            at = sibling;
            continue;
        }
        node->placed = true;
        order[placed++] = at - 1;
        if (sibling)
            stack[depth++] = sibling;
        at = node->first_child;
    }
    return placed;
}

static bool is_root(const struct trace *trace, uint32_t process)
{
    int32_t parent = trace_process_get(trace, process)->parent;
    return parent < 0 || !trace_process_get(trace, (uint32_t)parent);
}

int trace_process_order(const struct trace *trace, uint32_t *order)
{
    uint32_t count = trace_process_count(trace), placed = 0;
    struct node *by_start = calloc(count + 1, sizeof(*by_start));
    struct node *nodes = calloc(count + 1, sizeof(*nodes));
    uint32_t *stack = calloc(count + 1, sizeof(*stack));
    int error = by_start && nodes && stack ? 0 : -ENOMEM;
    if (error)
        goto out;
    for (uint32_t i = 0; i < count; i++)
        by_start[i] =
            (struct node){.process = i, .start_ns = trace_process_get(trace, i)->start_ns};
    qsort(by_start, count, sizeof(*by_start), compare_start);
    link_children(trace, by_start, nodes, count);
    for (uint32_t i = 0; i < count; i++)
        if (is_root(trace, by_start[i].process))
            placed = place_tree(nodes, by_start[i].process, order, placed, stack);
    for (uint32_t i = 0; i < count; i++) /* cycles */
        if (!nodes[by_start[i].process].placed)
            placed = place_tree(nodes, by_start[i].process, order, placed, stack);
out:
    free(by_start);
    free(nodes);
    free(stack);
    return error;
}

/* ---- Observers ---- */

const char *observer_name(unsigned observer)
{
    static const char *const names[] = {
        [OBSERVER_PROGRAM] = "program",
        [OBSERVER_SELFTEST] = "selftest",
        [OBSERVER_NATIVE_CALLS] = "native calls",
        [OBSERVER_PYTHON_CALLS] = "python calls",
        [OBSERVER_GC] = "gc",
        [OBSERVER_IMPORT] = "import",
        [OBSERVER_POOL] = "pool",
        [OBSERVER_ASYNCIO] = "asyncio",
        [OBSERVER_SUBPROCESS] = "subprocess",
        [OBSERVER_LOG] = "log",
        [OBSERVER_PROBE] = "probe",
        [OBSERVER_NVTX] = "nvtx",
        [OBSERVER_ITT] = "itt",
        [OBSERVER_CUPTI] = "cupti",
        [OBSERVER_IMPORTER] = "importer",
        [OBSERVER_INHERITED] = "inherited",
        [OBSERVER_MEMORY] = "memory",
    };
    return observer < sizeof(names) / sizeof(*names) ? names[observer] : "unknown";
}

/* ---- Names that stand for labels --------------------------------------------------------------
 *
 * Invariant: both exist, so users that follow a name to its label need no check. */

enum { CONTEXT_MAX = 4096 }; /* bytes of a name: no string of a program is longer */

static uint32_t number_at(const ordinal_vec *numbers, uint32_t index)
{
    return index < numbers->count ? numbers->items[index] : 0;
}

/* Extends `numbers` to `index`. 0 or -ENOMEM. */
static int reach(ordinal_vec *numbers, uint32_t index)
{
    while (numbers->count <= index)
        if (vec_push(numbers, 0) != 0)
            return -ENOMEM;
    return 0;
}

/* trace_label_name returns the first name of a label. */
static int link_name(struct trace *trace, const struct trace_label_name *name)
{
    if (reach(&trace->names_by_label, name->label) != 0 ||
        reach(&trace->labels_by_name, name->string) != 0 ||
        vec_push(&trace->label_names, *name) != 0)
        return -ENOMEM;
    uint32_t *known = &trace->names_by_label.items[name->label];
    *known = *known ? *known : name->string;
    trace->labels_by_name.items[name->string] = name->label;
    return 0;
}

int64_t trace_label_name(struct trace *trace, uint32_t label)
{
    uint32_t known = number_at(&trace->names_by_label, label);
    if (known || label == 0 || label >= stacks_label_count(trace->stacks))
        return known;
    const struct trace_string *text =
        trace_string(trace, stacks_get_label(trace->stacks, label)->text);
    int64_t string = trace_string_append(trace, text->bytes, text->length);
    const struct trace_label_name name = {(uint32_t)string, label};
    return string < 0 || link_name(trace, &name) != 0 ? -ENOMEM : string;
}

uint32_t trace_name_label(const struct trace *trace, uint32_t string)
{
    return number_at(&trace->labels_by_name, string);
}

int64_t trace_context_label(struct trace *trace, uint8_t flag, const char *name, size_t length)
{
    char bytes[CONTEXT_MAX + sizeof(LABEL_TASK_PREFIX)] = LABEL_TASK_PREFIX;
    const char *text = name;
    if (flag == LABEL_TASK) {
        size_t prefix = strlen(LABEL_TASK_PREFIX);
        length = length < CONTEXT_MAX ? length : CONTEXT_MAX;
        memcpy(bytes + prefix, name, length);
        length += prefix;
        text = bytes;
    }
    int64_t string = trace_string_add(trace, text, length);
    const struct label label = {.text = (uint32_t)string, .kind = FRAME_NOTE, .flags = flag};
    return string < 0 ? string : stacks_label(trace->stacks, &label);
}

int trace_label_name_append(struct trace *trace, const struct trace_label_name *name)
{
    static const struct trace_label_name empty;
    bool known = name->string != 0 && name->string < trace_string_count(trace) &&
                 name->label != 0 && name->label < stacks_label_count(trace->stacks);
    if (known)
        return link_name(trace, name);
    return vec_push(&trace->label_names, empty) != 0 ? -ENOMEM : 0;
}

uint32_t trace_label_name_count(const struct trace *trace)
{
    return (uint32_t)trace->label_names.count;
}

const struct trace_label_name *trace_label_name_get(const struct trace *trace, uint32_t index)
{
    static const struct trace_label_name empty;
    return index < trace->label_names.count ? &trace->label_names.items[index] : &empty;
}
