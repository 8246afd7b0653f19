/* SPDX-License-Identifier: MIT */
/* The tree of calls and the sums of CPU time and waits, as columns. Only what has time is written,
 * with numbers of its own. */
#include "page_parts.h"

#include "code_owner.h"
#include "stacks.h"
#include "text.h"
#include "trace.h"

#include <errno.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

enum { NAME_SIZE = 1024 };

/* Numbers as they are written; PAGE_NONE: not at all. */
struct calls {
    const struct page *page;
    struct json_doc *doc;
    uint32_t *nodes, *functions, *paths;
    uint32_t path_count;
    const uint32_t *names; /* by path */
};

/* ---- Numbers --------------------------------------------------------------------------------- */

static uint32_t *new_numbers(size_t count)
{
    uint32_t *numbers = malloc((count + 1) * sizeof(*numbers));
    for (size_t i = 0; i <= count && numbers; i++)
        numbers[i] = PAGE_NONE;
    return numbers;
}

static void number(uint32_t *numbers, size_t count)
{
    uint32_t next = 0;
    for (size_t i = 0; i < count; i++)
        if (numbers[i] != PAGE_NONE)
            numbers[i] = next++;
}

/* What sums refer to, and what that lies in. */
static void find_used(struct calls *calls)
{
    const struct page_nodes *nodes = &calls->page->nodes;
    const struct stacks *stacks = trace_stacks_get(calls->page->trace);
    calls->nodes[0] = calls->paths[0] = 0;
    for (size_t i = 0; i < nodes->sums.items.count; i++) {
        const struct page_sum *sum = &nodes->sums.items.items[i];
        for (uint32_t at = sum->node; calls->nodes[at] == PAGE_NONE; at = nodes->parents.items[at])
            calls->nodes[at] = 0;
        for (uint32_t at = sum->path; calls->paths[at] == PAGE_NONE;
             at = stacks_get_path(stacks, at)->parent)
            calls->paths[at] = 0;
    }
    for (size_t i = 1; i < nodes->items.count; i++) {
        const struct page_node *node = &nodes->items.items[i];
        if (calls->nodes[i] == PAGE_NONE)
            continue;
        calls->functions[node->function] = 0;
        if (node->own != PAGE_NONE)
            calls->functions[node->own] = 0;
    }
    number(calls->nodes, nodes->items.count);
    number(calls->functions, nodes->functions.count);
    number(calls->paths, calls->path_count);
}

/* ---- Functions ------------------------------------------------------------------------------- */

/* Behind enum code_colour. */
enum { ROLE = COLOUR_COUNT, REST };

/* "json" of "json/decoder.py", "numpy" of "numpy/linalg/linalg.py", the library of native code. */
static void put_module(const struct calls *calls, const struct label *label, const char *file)
{
    const struct stacks *stacks = trace_stacks_get(calls->page->trace);
    const struct trace_string *path =
        trace_string(calls->page->trace, stacks_get_module(stacks, label->module)->path);
    char module[NAME_SIZE];
    if (label->kind != FRAME_PYTHON) {
        page_put_text(calls->page, calls->doc, NULL, text_base_name(path->bytes));
        return;
    }
    const char *end = file[0] == '/' ? NULL : strchr(file, '/');
    size_t length = end ? (size_t)(end - file) : strlen(text_base_name(file));
    const char *begin = end ? file : text_base_name(file);
    if (length > 3 && strncmp(begin + length - 3, ".py", 3) == 0)
        length -= 3;
    struct text text = text_init(module, sizeof(module));
    text_add(&text, begin, length);
    page_put_text(calls->page, calls->doc, NULL, module);
}

static void put_label(const struct calls *calls, uint32_t ordinal)
{
    static const char *const kinds[] = {
        [0] = "unknown",           [FRAME_NATIVE] = "native", [FRAME_PYTHON] = "python",
        [FRAME_KERNEL] = "kernel", [FRAME_JIT] = "jit",       [FRAME_COLLECTOR] = "gc",
        [FRAME_NOTE] = "note",
    };
    const struct trace *trace = calls->page->trace;
    const struct stacks *stacks = trace_stacks_get(trace);
    const struct label *label = stacks_get_label(stacks, ordinal);
    char name[NAME_SIZE + 64], file[NAME_SIZE + 64];
    code_name(trace, ordinal, name, sizeof(name));
    if (label->source)
        code_file_location(trace, stacks_get_source(stacks, label->source)->path, 0, file,
                           sizeof(file));
    else
        code_location(trace, ordinal, 0, file, sizeof(file));
    page_put_text(calls->page, calls->doc, NULL, name);
    page_put_text(calls->page, calls->doc, NULL, file);
    json_doc_int(calls->doc, NULL, label->first_line);
    json_doc_uint(calls->doc, NULL, code_colour_of(trace, ordinal));
    put_module(calls, label, file);
    json_doc_text(calls->doc, NULL,
                  kinds[label->kind < sizeof(kinds) / sizeof(*kinds) ? label->kind : 0]);
    json_doc_text(calls->doc, NULL, code_owner_name(code_owner_of(trace, ordinal)));
}

/* What is no function: a role, or what the time outside of own functions was for, called as in the
 * report. */
static void put_other(const struct calls *calls, const struct page_function *function)
{
    const struct page_nodes *nodes = &calls->page->nodes;
    bool role = function->kind == PAGE_ROLE, program = function->kind == PAGE_PROGRAM;
    char name[NAME_SIZE], shown[NAME_SIZE + 2];
    code_rest_name(nodes->trace, function->kind == PAGE_PURPOSE ? function->id : PURPOSE_NONE,
                   program ? function->id : 0, name, sizeof(name));
    snprintf(shown, sizeof(shown), function->kind == PAGE_PURPOSE && function->id ? "%s" : "(%s)",
             name);
    page_put_text(calls->page, calls->doc, NULL, role ? nodes->roles.items[function->id] : shown);
    json_doc_text(calls->doc, NULL, "");
    json_doc_int(calls->doc, NULL, 0);
    json_doc_uint(calls->doc, NULL, role ? ROLE : REST);
    json_doc_text(calls->doc, NULL, "");
    json_doc_text(calls->doc, NULL, role ? "role" : program ? "program" : "purpose");
    json_doc_text(calls->doc, NULL, "");
}

static void put_function(const struct calls *calls, const struct page_function *function)
{
    json_doc_array(calls->doc, NULL);
    if (function->kind == PAGE_FUNCTION)
        put_label(calls, function->id);
    else
        put_other(calls, function);
    json_doc_int(calls->doc, NULL, function->mine);
    json_doc_close(calls->doc);
}

static void put_functions(const struct calls *calls)
{
    const struct page_nodes *nodes = &calls->page->nodes;
    json_doc_array(calls->doc, "functions");
    for (size_t i = 0; i < nodes->functions.count; i++)
        if (calls->functions[i] != PAGE_NONE)
            put_function(calls, &nodes->functions.items[i]);
    json_doc_close(calls->doc);
}

/* ---- Nodes and paths ------------------------------------------------------------------------- */

enum node_column { NODE_PARENT, NODE_FUNCTION, NODE_LINE, NODE_OWN };

static void put_node_column(const struct calls *calls, const char *name, enum node_column column)
{
    const struct page_nodes *nodes = &calls->page->nodes;
    json_doc_array(calls->doc, name);
    json_doc_int(calls->doc, NULL, column == NODE_LINE ? 0 : -1); /* the root */
    for (size_t i = 1; i < nodes->items.count; i++) {
        const struct page_node *node = &nodes->items.items[i];
        if (calls->nodes[i] == PAGE_NONE)
            continue;
        int64_t value = node->line;
        if (column == NODE_PARENT)
            value = calls->nodes[nodes->parents.items[i]];
        else if (column == NODE_FUNCTION)
            value = calls->functions[node->function];
        else if (column == NODE_OWN)
            value = node->own == PAGE_NONE ? -1 : (int64_t)calls->functions[node->own];
        json_doc_int(calls->doc, NULL, value);
    }
    json_doc_close(calls->doc);
}

static void put_nodes(const struct calls *calls)
{
    json_doc_object(calls->doc, "nodes");
    put_node_column(calls, "parent", NODE_PARENT);
    put_node_column(calls, "function", NODE_FUNCTION);
    put_node_column(calls, "line", NODE_LINE);
    put_node_column(calls, "own", NODE_OWN);
    json_doc_close(calls->doc);
}

static void put_paths(const struct calls *calls)
{
    const struct page *page = calls->page;
    const struct stacks *stacks = trace_stacks_get(page->trace);
    static const char *const keys[] = {"parent", "name", "kind"};
    json_doc_object(calls->doc, "paths");
    for (unsigned column = 0; column < sizeof(keys) / sizeof(*keys); column++) {
        json_doc_array(calls->doc, keys[column]);
        for (uint32_t i = 0; i < calls->path_count; i++) {
            const struct range_path *path = stacks_get_path(stacks, i);
            int64_t none = column == 2 ? 0 : -1;
            if (calls->paths[i] == PAGE_NONE)
                continue;
            json_doc_int(calls->doc, NULL,
                         i == 0        ? none
                         : column == 0 ? (int64_t)calls->paths[path->parent]
                         : column == 1 ? page_use_name(&page->names, calls->names[i])
                                       : (int64_t)path->kind);
        }
        json_doc_close(calls->doc);
    }
    json_doc_close(calls->doc);
}

/* ---- Sums ------------------------------------------------------------------------------------ */

enum sum_column {
    SUM_SLOT,
    SUM_THREAD,
    SUM_NODE,
    SUM_PATH,
    SUM_LINE,
    SUM_CAUSE,
    SUM_IDLE,
    SUM_COUNT,
    SUM_TIME,
    SUM_MAX
};

static int64_t sum_value(const struct calls *calls, const struct page_sum *sum,
                         enum sum_column column)
{
    const struct page *page = calls->page;
    bool known = sum->thread < trace_thread_count(page->trace) &&
                 page->thread_index[sum->thread] != PAGE_NONE;
    switch (column) {
    case SUM_SLOT:
        return sum->slot >> page->nodes.sums.slot_shift;
    case SUM_THREAD:
        return known ? (int64_t)page->thread_index[sum->thread] : -1;
    case SUM_NODE:
        return calls->nodes[sum->node];
    case SUM_PATH:
        return calls->paths[sum->path];
    case SUM_LINE:
        return sum->line;
    case SUM_CAUSE:
        return sum->cause;
    case SUM_IDLE:
        return sum->idle;
    case SUM_COUNT:
        return (int64_t)sum->count;
    case SUM_TIME:
        return (int64_t)sum->time_ns;
    default:
        return (int64_t)sum->max_ns;
    }
}

static void put_sum_column(const struct calls *calls, const char *name, enum sum_column column,
                           bool cpu)
{
    const struct page_sums *sums = &calls->page->nodes.sums;
    json_doc_array(calls->doc, name);
    for (size_t i = 0; i < sums->items.count; i++)
        if ((sums->items.items[i].cause == PAGE_CPU) == cpu)
            json_doc_int(calls->doc, NULL, sum_value(calls, &sums->items.items[i], column));
    json_doc_close(calls->doc);
}

static void put_sums(const struct calls *calls, bool cpu)
{
    static const struct {
        const char *name;
        enum sum_column column;
        bool of_cpu;
    } columns[] = {
        {"slot", SUM_SLOT, true},  {"thread", SUM_THREAD, true}, {"node", SUM_NODE, true},
        {"path", SUM_PATH, true},  {"line", SUM_LINE, true},     {"cause", SUM_CAUSE, false},
        {"idle", SUM_IDLE, false}, {"count", SUM_COUNT, true},   {"ns", SUM_TIME, true},
        {"max", SUM_MAX, false},
    };

    bool lines = !calls->page->nodes.sums.no_lines;
    json_doc_object(calls->doc, cpu ? "cpu" : "off");
    for (size_t i = 0; i < sizeof(columns) / sizeof(*columns); i++)
        if ((!cpu || columns[i].of_cpu) && (columns[i].column != SUM_LINE || lines))
            put_sum_column(calls, columns[i].name, columns[i].column, cpu);
    json_doc_close(calls->doc);
}

int page_put_calls(struct page *page, struct json_doc *doc)
{
    struct calls calls = {.page = page, .doc = doc, .names = page->name_of_path};
    calls.path_count = page->path_count;
    calls.nodes = new_numbers(page->nodes.items.count + 1);
    calls.functions = new_numbers(page->nodes.functions.count);
    calls.paths = new_numbers((size_t)calls.path_count + 1);
    int error = calls.nodes && calls.functions && calls.paths ? 0 : -ENOMEM;
    if (!error) {
        page_sums_sort(&page->nodes.sums);
        find_used(&calls);
        put_functions(&calls);
        put_nodes(&calls);
        put_paths(&calls);
        page_put_lines(page, doc);
        json_doc_uint(doc, "slots", PAGE_SLOTS >> page->nodes.sums.slot_shift);
        put_sums(&calls, true);
        put_sums(&calls, false);
    }
    free(calls.nodes);
    free(calls.functions);
    free(calls.paths);
    return error;
}
