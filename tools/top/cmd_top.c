/* SPDX-License-Identifier: MIT */
/* `annot top`: shows where running programs spend their time at present. See top.h. */
#include "out_stream.h"
#include "report_data.h"
#include "report_text.h"
#include "top.h"
#include "top_draw.h"
#include "top_screen.h"

#include "clock_now.h"
#include "cmd.h"
#include "term.h"

#include <ctype.h>
#include <errno.h>
#include <poll.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

#define ONCE_NS INT64_C(3000000000)

/* ---- Printing once --------------------------------------------------------------------------- */

struct tables {
    struct top_view views[TOP_KINDS];
    struct top_data data[TOP_KINDS];
    struct table tables[TOP_KINDS];
    struct table head;
    unsigned count;
    struct report_tables all; /* the head, if wanted, and `tables` */
};

static int make_table(const struct top_session *session, const struct top_view *view, int64_t to_ns,
                      struct tables *tables)
{
    unsigned at = tables->count++;
    tables->views[at] = *view;
    int error = top_data_make(session, &tables->views[at], to_ns, &tables->data[at]);
    if (!error)
        error = top_table_make(&tables->data[at], &tables->tables[at]);
    return error;
}

static void free_tables(struct tables *tables)
{
    table_fini(&tables->head);
    for (unsigned i = 0; i < tables->count; i++) {
        table_fini(&tables->tables[i]);
        top_data_free(&tables->data[i]);
    }
    free(tables);
}

static int print_json(struct tables *tables)
{
    const struct out_stream_options options = {0};
    struct out_stream *out;
    top_head_table(&tables->data[0], &tables->head);
    tables->all.items[tables->all.count++] = &tables->head;
    for (unsigned i = 0; i < tables->count; i++)
        tables->all.items[tables->all.count++] = &tables->tables[i];
    int error = out_stream_open("-", &options, &out);
    if (!error)
        error = report_json(&tables->all, out);
    int closed = error ? 0 : out_stream_close(out);
    return error ? error : closed;
}

static int print_text(const struct top_session *session, const struct tables *tables)
{
    static char lines[TOP_HEAD_LINES][TOP_HEAD_SIZE];
    const struct report_options options = {0};
    const struct report_view view = {.options = &options,
                                     .width = term_width(STDOUT_FILENO),
                                     .color = term_color(STDOUT_FILENO, NULL)};
    top_head_make(session, &tables->data[0], lines);
    for (int i = 0; i < TOP_HEAD_LINES; i++)
        if (lines[i][0])
            term_wrap(stdout, lines[i], view.width ? view.width : 100, 0, 2);
    if (tables->tables[0].row_count == 0)
        printf("\n%s: %s\n", tables->tables[0].name, top_nothing_text(&tables->data[0]));
    return report_text_table(&tables->tables[0], &view);
}

static int print(const struct top_session *session, const struct top_view *view, int64_t to_ns)
{
    struct tables *tables = calloc(1, sizeof(*tables));
    int error = tables ? 0 : -ENOMEM;
    bool json = session->values->json;
    struct top_view each = *view;
    for (int kind = 0; kind < TOP_KINDS && tables && !error; kind++) {
        each.kind = (enum top_kind)kind;
        each.sort = each.kind == view->kind ? view->sort : -1;
        if (json || each.kind == view->kind)
            error = make_table(session, &each, to_ns, tables);
    }
    if (!error && !json)
        tables->tables[0].limit = session->values->limit;
    if (!error)
        error = json ? print_json(tables) : print_text(session, tables);
    if (tables)
        free_tables(tables);
    return error ? cmd_fail(CMD_FAILED, "cannot print: %s", strerror(-error)) : CMD_OK;
}

/* SIGINT and SIGTERM end the observation; the table is printed all the same. */
static bool take_signals(struct top_session *session)
{
    struct signal_sent sent;
    bool over = false;
    while (signals_take(&session->signals, &sent)) {
        if (signals_is_end(sent.number))
            over = true;
        else
            top_session_take_signal(session, &sent);
    }
    return over;
}

static int run_once(struct top_session *session, const struct top_view *view, int64_t end_ns)
{
    int64_t now = clock_now_ns();
    bool over = false;
    int error = 0;
    while (!over && !error && now < end_ns && !top_session_is_over(session)) {
        struct pollfd fds[] = {{.fd = top_session_fd(session), .events = POLLIN},
                               {.fd = session->signals.fd, .events = POLLIN}};
        int64_t rest = (end_ns - now) / 1000000 + 1;
        int timeout = top_session_timeout_ms(session);
        poll(fds, 2, rest < timeout ? (int)rest : timeout);
        error = top_session_step(session);
        over = take_signals(session);
        now = clock_now_ns();
    }
    if (!error)
        error = top_session_complete(session, now < end_ns ? now : end_ns);
    if (error)
        return cmd_fail(CMD_FAILED, "cannot go on: %s", strerror(-error));
    return print(session, view, now < end_ns ? now : end_ns);
}

/* ---- The command ----------------------------------------------------------------------------- */

static bool is_pid(const char *word)
{
    return word[0] && strspn(word, "0123456789,") == strlen(word);
}

/* 0, or the exit status after a printed message. */
static int choose_view(const struct top_values *values, struct top_view *view)
{
    *view = (struct top_view){.kind = top_kind_of(values->view),
                              .sort = -1,
                              .total = values->total,
                              .window_ns = values->window_ns};
    snprintf(view->filter, sizeof(view->filter), "%s", values->filter ? values->filter : "");
    if (!values->sort)
        return 0;
    view->sort = top_column_of(view->kind, values->sort);
    if (view->sort >= 0)
        return 0;
    return cmd_fail(CMD_MISUSE, "the view %s has no column \"%s\"\nit has: %s, %s, ...",
                    top_kind_name(view->kind), values->sort,
                    top_column_title(view->kind, top_sort_column(view->kind, 0)),
                    top_column_title(view->kind, top_sort_column(view->kind, 1)));
}

static int check(const struct top_values *values, const struct cmd_call *call, bool once)
{
    int status = sampling_check(&values->sampling, CMD_MISUSE);
    if (status == 0)
        status = memory_check(&values->memory, CMD_FAILED);
    if (status == 0)
        status = python_check(&values->python, CMD_MISUSE);
    if (status == 0 && values->all && (call->operand_count > 0 || values->pids))
        return cmd_fail(
            CMD_MISUSE,
            "--all-processes looks at all processes\nname some, or use --all-processes");
    if (status == 0 && !values->all && !values->pids && call->operand_count == 0)
        return cmd_fail(CMD_MISUSE,
                        "which process?\nannot top PID, annot top --all-processes, or annot top "
                        "-- COMMAND");
    if (status == 0 && (values->interval_ns <= 0 || values->window_ns <= 0))
        return cmd_fail(CMD_MISUSE, "--interval and --window must be above 0");
    if (status == 0 && !once && (!isatty(STDOUT_FILENO) || !getenv("TERM")))
        return cmd_fail(CMD_MISUSE, "standard output is no terminal\nannot top --once prints one "
                                    "table, --json all of them");
    return status;
}

static int look(struct top_session *session, struct top_view *view, char **command, bool once)
{
    const struct top_values *values = session->values;
    int64_t length_ns = values->duration_ns > 0 ? values->duration_ns : once ? ONCE_NS : 0;
    int status = top_session_begin(session, command, !once);
    if (status != 0)
        return status;
    int64_t end_ns = length_ns > 0 ? session->begin_ns + length_ns : 0;
    if (once) {
        view->window_ns = length_ns < view->window_ns || !view->total ? length_ns : view->window_ns;
        return run_once(session, view, end_ns);
    }
    return top_screen_run(session, view, end_ns);
}

static int run_top(const struct cmd_call *call)
{
    const struct top_values *values = call->values;
    bool once = values->once || values->json;
    struct top_view view;
    int status = check(values, call, once);
    bool pids = values->pids || (call->operand_count > 0 && is_pid(call->operands[0]));
    bool blocks = !pids && !values->all;
    if (status == 0 && values->memory.on)
        top_show_memory(blocks);
    if (status == 0)
        status = choose_view(values, &view);
    if (status != 0)
        return status;
    struct top_session *session = calloc(1, sizeof(*session));
    if (!session)
        return cmd_fail(CMD_FAILED, "out of memory");
    session->values = values;
    session->all = values->all;
    if (pids)
        status = pid_list_parse(values->pids, call->operands, &session->pids);
    if (status == 0)
        status = look(session, &view, pids || session->all ? NULL : call->operands, once);
    top_session_end(session);
    free(session);
    return status;
}

static const struct option_spec top_options[] = {
    OPTIONS_GROUP("which programs"),
    {"pid", 'p', OPTION_TEXT, offsetof(struct top_values, pids), "PID[,PID...]",
     "the processes, instead of operands", NULL},
    {"all-processes", 'a', OPTION_FLAG, offsetof(struct top_values, all), NULL,
     "look at all processes", NULL},
    OPTIONS_GROUP("what to show"),
    {"show", 0, OPTION_CHOICE, offsetof(struct top_values, view), TOP_KIND_WORDS,
     "what is shown first", "functions"},
    {"window", 'w', OPTION_TIME, offsetof(struct top_values, window_ns), "TIME",
     "numbers are of the last TIME, a minute at most", "10s"},
    {"total", 't', OPTION_FLAG, offsetof(struct top_values, total), NULL,
     "numbers are of all since the start", NULL},
    {"sort", 's', OPTION_TEXT, offsetof(struct top_values, sort), "COLUMN",
     "sort by this column, as it is called in the table", NULL},
    {"filter", 'f', OPTION_TEXT, offsetof(struct top_values, filter), "TEXT",
     "show only rows with this text", NULL},
    {"interval", 'i', OPTION_TIME, offsetof(struct top_values, interval_ns), "TIME",
     "draw anew after TIME", "1s"},
    OPTIONS_GROUP("a table instead of the screen"),
    {"once", 0, OPTION_FLAG, offsetof(struct top_values, once), NULL,
     "print one table after --duration, and end", NULL},
    {"json", 0, OPTION_FLAG, offsetof(struct top_values, json), NULL,
     "print all tables as JSON after --duration, and end", NULL},
    {"duration", 'd', OPTION_TIME, offsetof(struct top_values, duration_ns), "TIME",
     "end after TIME; with --once and --json 3 s unless given", NULL},
    {"limit", 'n', OPTION_COUNT, offsetof(struct top_values, limit), "N", "with --once: rows",
     "20"},
    OPTIONS_GROUP("samples and waits"),
    MEMORY_OPTIONS(offsetof(struct top_values, memory)),
    RATE_OPTION(offsetof(struct top_values, sampling)),
    OFF_CPU_OPTION(offsetof(struct top_values, sampling)),
    {"sampling", 0, OPTION_CHOICE, offsetof(struct top_values, sampling.rung), "bpf|remote",
     "the best way of sampling to try: eBPF, or reading memory from outside (remote)", "bpf"},
    OPTIONS_MORE_GROUP("sampling and Python details"),
    OFF_CPU_DETAIL_OPTIONS(offsetof(struct top_values, sampling)),
    {"stacks", 0, OPTION_COUNT, offsetof(struct top_values, stacks), "N",
     "begin anew once more than N different stacks were seen", "262144"},
    PYTHON_OPTIONS(offsetof(struct top_values, python)),
    INJECT_OPTIONS(offsetof(struct top_values, inject)),
    {0},
};

const struct cmd cmd_top = {
    .name = "top",
    .summary = "show live what running programs do",
    .usage = "[OPTIONS] PID...|--all-processes|-- COMMAND [ARGUMENT...]",
    .details =
        "Views: functions, lines, ranges, processes, threads, waits, the GIL. In it, ? shows the\n"
        "keys, q quits. Percents are of one processor, or of one thread's time. A command that\n"
        "was started here ends with it; while the screen is shown its output is dropped.\n"
        "\n"
        "exit status: 0; 1 if there was nothing to look at; 2 wrong command line\n",
    .examples = "  annot top 4711\n"
                "  annot top --show waits -- ./service --port 8080\n"
                "  annot top --all-processes --once -d 5s\n",
    .options = top_options,
    .values_size = sizeof(struct top_values),
    .operands_min = 0,
    .operands_max = -1,
    .run = run_top,
};
