/* SPDX-License-Identifier: MIT */
/* `annot set`: changes the settings of a running recording; without a change, prints them. Rules
 * reach programs through the collector; tracing is switched in each program. */
#include "cmd.h"
#include "collector.h"
#include "collector_sessions.h"
#include "operands.h"
#include "proc_info.h"
#include "range_options.h"
#include "record_options.h"
#include "term.h"
#include "text.h"
#include "trace_ask.h"
#include "tracing_options.h"

#include <errno.h>
#include <inttypes.h>
#include <limits.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

struct set_values {
    struct option_list filter, ranges;
    bool reset;
    const char *pid, *gpu;
    struct tracing_values trace;
};

enum { ID_DIGITS = 16 };

/* ---- Choosing the session -------------------------------------------------------------------- */

struct search {
    const char *wanted;               /* id or path, as typed; NULL: any */
    char path[PATH_MAX];              /* of the recording */
    int32_t pid;                      /* the process named by the user, or 0 */
    uint64_t id;                      /* 0: not named by its id */
    uint32_t found, running;          /* sessions */
    struct collector_session session; /* the last one found */
};

static uint64_t parse_id(const char *text)
{
    char *end;
    if (strlen(text) != ID_DIGITS || strspn(text, "0123456789abcdefABCDEF") != ID_DIGITS)
        return 0;
    return strtoull(text, &end, 16);
}

static int consider(void *context, const struct collector_session *session)
{
    struct search *search = context;
    bool is_it = search->id ? session->id == search->id
                            : !search->wanted || strcmp(session->recording, search->path) == 0;
    search->running++;
    search->found += is_it;
    if (is_it)
        search->session = *session;
    return 0;
}

static int fail_sessions(int error)
{
    if (error == -EACCES)
        return cmd_fail(CMD_FAILED, "the directory that programs and annot share cannot be "
                                    "used\nannot doctor says why; ANNOT_DIR names another one");
    return cmd_fail(CMD_FAILED, "cannot look for recordings: %s", strerror(-error));
}

static int fail_none(const struct search *search)
{
    if (search->running == 0)
        return cmd_fail(CMD_FAILED, "nothing is being recorded\nrecord with \"annot record -- "
                                    "PROGRAM\" or \"annot attach PID\"");
    if (search->found == 0)
        return cmd_fail(CMD_FAILED, "%s is not being recorded\n\"annot set\" alone lists what is",
                        search->wanted);
    return cmd_fail(CMD_FAILED, "%u recordings are in progress\nname one: annot set %s",
                    search->found, search->session.recording);
}

static int find_pid(const char *text, struct search *search)
{
    struct pid_list pids;
    int status = pid_list_parse(text, (char *const[]){NULL}, &pids);
    if (status != 0)
        return status;
    if (pids.count != 1)
        return cmd_fail(CMD_MISUSE,
                        "option --pid: one process, not %u\nall processes of a recording "
                        "have one filter",
                        pids.count);
    search->pid = pids.items[0];
    int error = collector_session_of(search->pid, &search->session);
    search->found = search->running = 1;
    if (error == -ESRCH)
        return cmd_fail(CMD_FAILED,
                        "process %d takes part in no recording\nannot attach %d records "
                        "it",
                        (int)pids.items[0], (int)pids.items[0]);
    return error == 0 ? 0 : fail_sessions(error);
}

/* Fills `search` from the command line. */
static int search_begin(const struct cmd_call *call, struct search *search)
{
    const struct set_values *values = call->values;
    if (values->pid && call->operand_count > 0)
        return cmd_fail(CMD_MISUSE,
                        "\"%s\" and option --pid both name a recording\nuse one of them",
                        call->operands[0]);
    if (values->pid) {
        search->wanted = values->pid;
        return find_pid(values->pid, search);
    }
    if (call->operand_count > 0) {
        search->wanted = call->operands[0];
        search->id = parse_id(search->wanted);
        if (!realpath(search->wanted, search->path))
            snprintf(search->path, sizeof(search->path), "%s", search->wanted);
    }
    return 0;
}

/* ---- Printing and changing ------------------------------------------------------------------- */

static void print_session(const struct collector_session *session, const char *filter,
                          uint32_t wishes)
{
    printf("session    %016" PRIx64 "\n", session->id);
    if (session->recording[0]) {
        printf("recording  ");
        term_print(session->recording);
        putchar('\n');
    }
    printf("filter     ");
    term_print(filter[0] ? filter : "none: everything is recorded");
    putchar('\n');
    if (wishes & (COLLECTOR_QUEUES_OFF | COLLECTOR_QUEUES_ON))
        printf("GPUs       %s\n", wishes & COLLECTOR_QUEUES_OFF ? "off" : "on");
}

struct listing {
    const struct search *search;
    uint32_t count;
};

static int print_one(void *context, const struct collector_session *session)
{
    struct listing *listing = context;
    struct search again = *listing->search;
    again.found = 0;
    consider(&again, session);
    if (again.found == 0)
        return 0;
    if (listing->count++ > 0)
        putchar('\n');
    print_session(session, session->filter, session->wishes);
    return 0;
}

struct change {
    const struct set_values *values;
    struct collector_rules rules; /* current rules */
    int status;
};

_Static_assert((int)FILTER_TEXT_SIZE == (int)COLLECTOR_FILTER_SIZE, "texts fit");

static uint32_t wishes_of(const char *word)
{
    return strcmp(word, "off") == 0  ? COLLECTOR_QUEUES_OFF
           : strcmp(word, "on") == 0 ? COLLECTOR_QUEUES_ON
                                     : 0;
}

static int edit(void *context, struct collector_rules *rules)
{
    struct change *change = context;
    if (change->values->reset)
        rules->filter[0] = '\0';
    if (change->values->gpu)
        rules->wishes = wishes_of(change->values->gpu);
    change->status = filter_options_add(&change->values->filter, CMD_MISUSE, rules->filter);
    change->rules = *rules;
    return change->status == 0 ? 0 : -ECANCELED;
}

static int set_rules(const struct set_values *values, const struct search *search)
{
    struct change change = {.values = values};
    int error = collector_set_rules(search->pid, search->session.id, edit, &change);
    if (change.status != 0)
        return change.status;
    if (error == -ENOENT)
        return cmd_fail(CMD_FAILED, "the recording has just ended");
    if (error == -EINPROGRESS)
        return cmd_fail(CMD_FAILED, "the programs do not have the new rules yet\nif annot is "
                                    "stopped, they get it when it runs again");
    if (error != 0)
        return cmd_fail(CMD_FAILED, "cannot change session %016" PRIx64 ": %s", search->session.id,
                        strerror(-error));
    print_session(&search->session, change.rules.filter, change.rules.wishes);
    return CMD_OK;
}

/* ---- Tracing --------------------------------------------------------------------------------- */

struct asking {
    struct trace_ask ask; /* the request; its pid is set for each process */
    uint64_t id;          /* of the session */
    uint32_t asked;
    int status;
};

static bool takes_part(int32_t pid, uint64_t id)
{
    struct target target;
    struct directory directory;
    struct annot_session session = {0};
    if (target_look(pid, &target) != 0 || target.state != TARGET_READY ||
        target_open_directory(&target, &directory) != 0)
        return false;
    bool found = target_find_session(&directory, &target, &session) == 1;
    directory_close(&directory);
    return found && session.id == id;
}

static void ask_one(void *context, pid_t pid, uid_t uid)
{
    struct asking *asking = context;
    struct trace_ask ask = asking->ask;
    ask.pid = pid;
    if ((geteuid() != 0 && uid != geteuid()) || pid == getpid() || !takes_part(pid, asking->id))
        return;
    int status = trace_ask(&ask);
    asking->asked += status == 0;
    if (status != 0)
        asking->status = status;
}

/* Sets tracing in all programs of the recording that have pyannot, or in the named one. */
static int set_tracing(const struct set_values *values, const struct search *search,
                       const char *ranges)
{
    struct tracing_values trace = values->trace;
    struct asking asking = {.ask = {.values = &trace, .ranges = ranges}, .id = search->session.id};
    trace.captured = search->session.captures;
    asking.ask.pid = search->pid;
    if (values->pid)
        return trace_ask(&asking.ask);
    proc_each(ask_one, &asking);
    if (asking.status == 0 && asking.asked == 0)
        return cmd_fail(CMD_FAILED, "no program of this recording has pyannot\n"
                                    "annot ls lists what takes part");
    return asking.status;
}

/* ---- The command ----------------------------------------------------------------------------- */

/* The requested changes. */
struct changes {
    char ranges[RANGE_PATTERNS_SIZE]; /* Python functions to record as ranges */
    bool rules, traces, any;
};

static void find_changes(const struct set_values *values, struct changes *changes)
{
    struct text patterns = text_init(changes->ranges, sizeof(changes->ranges));
    range_of_python(&values->ranges, NULL, &patterns);
    changes->rules = values->reset || values->gpu || values->filter.count > 0;
    changes->traces = trace_ask_wanted(&values->trace) || patterns.length > 0;
    changes->any = changes->rules || changes->traces || values->ranges.count > 0;
}

static int make_changes(const struct set_values *values, const struct search *search,
                        const struct changes *changes)
{
    int status = changes->traces
                     ? tracing_check_capture(&values->trace, search->session.captures ? "" : NULL,
                                             CMD_FAILED)
                     : 0;
    if (status == 0 && changes->rules)
        status = set_rules(values, search);
    if (status == 0)
        status = range_ask(&values->ranges, search->pid, search->session.id);
    if (status == 0 && changes->traces)
        status = set_tracing(values, search, changes->ranges);
    return status;
}

static int run_set(const struct cmd_call *call)
{
    const struct set_values *values = call->values;
    static struct search search;
    static struct changes changes;
    find_changes(values, &changes);
    int status = range_check_names(&values->ranges, CMD_MISUSE);
    if (status == 0 && trace_ask_wanted(&values->trace))
        status = trace_ask_check(&values->trace, CMD_MISUSE);
    if (status == 0)
        status = search_begin(call, &search);
    if (status != 0)
        return status;
    int error = values->pid ? 0 : collector_sessions(NULL, consider, &search);
    if (error != 0)
        return fail_sessions(error);
    if (search.found == 0 || (changes.any && search.found > 1))
        return fail_none(&search);
    if (changes.any)
        return make_changes(values, &search, &changes);
    struct listing listing = {.search = &search};
    if (values->pid)
        print_session(&search.session, search.session.filter, search.session.wishes);
    else
        error = collector_sessions(NULL, print_one, &listing);
    return error == 0 ? CMD_OK : fail_sessions(error);
}

static const struct option_spec options[] = {
    OPTIONS_GROUP("which recording"),
    {"pid", 'p', OPTION_TEXT, offsetof(struct set_values, pid), "PID",
     "the recording of this process; tracing is switched in this process only", NULL},
    OPTIONS_GROUP("which events"),
    FILTER_OPTIONS(offsetof(struct set_values, filter)),
    {"reset", 0, OPTION_FLAG, offsetof(struct set_values, reset), NULL,
     "remove all rules first, so that everything is recorded", NULL},
    RANGE_OPTION(offsetof(struct set_values, ranges)),
    {"gpu-window", 0, OPTION_CHOICE, offsetof(struct set_values, gpu), "on|off|window",
     "when to record GPUs: from now on, not at all, or in the window of annot record", NULL},
    OPTIONS_GROUP("Python"),
    TRACING_OPTIONS(offsetof(struct set_values, trace)),
    OPTIONS_MORE_GROUP("Python tracing details"),
    TRACING_FLAG(offsetof(struct set_values, trace), "off", off, "stop recording calls"),
    TRACING_DETAIL_OPTIONS(offsetof(struct set_values, trace)),
    {0},
};

const struct cmd cmd_set = {
    .name = "set",
    .summary = "change what a recording in progress records: filter, GPUs, ranges, calls",
    .usage = "[OPTIONS] [RECORDING|SESSION]",
    .details =
        "Without a name, the only recording in progress is used. Without an option that changes\n"
        "something, the rules in force are printed.\n",
    .examples = "  annot set --enable io --disable io/noise\n"
                "  annot set --probe ./server:handle_request\n"
                "  annot set -p 4711 --trace-functions=aggregate\n",
    .options = options,
    .values_size = sizeof(struct set_values),
    .operands_min = 0,
    .operands_max = 1,
    .run = run_set,
};
