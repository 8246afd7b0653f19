/* SPDX-License-Identifier: MIT */
/* Implements hints.h, with words of perf, py-spy, pyinstrument, viztracer, nsys, cProfile, gprof
 * and strace. */
#include "hints.h"

#include "cmd.h"
#include "options.h"
#include "text.h"

#include <ctype.h>
#include <stdbool.h>
#include <stdio.h>
#include <string.h>

/* The most wrong letters in a word, and its least length. */
enum { NEAR_MAX = 2, NEAR_LENGTH = 6 };

const struct hint hint_table[] = {
    /* ---- Commands ---- */
    {NULL, "watch|live|htop|monitor",
     "annot top PID shows it live; annot dump PID shows what each thread does now"},
    {NULL, "summary|analyze|analyse",
     "annot report FILE lists times and counts; annot info FILE describes the recording"},
    {NULL, "cprofile|profile.py|pstats|yappi|hotshot",
     "annot record --trace-functions COMMAND records calls; annot report out.prof reads "
     "pstats"},
    {NULL, "line-profiler|lprun|lineprofiler",
     "annot record --trace-lines LIST COMMAND counts lines; annot kernprof takes kernprof's "
     "options"},
    {NULL, "viztracer|functrace|hunter",
     "annot record --trace-functions COMMAND records calls; annot export writes them for "
     "ui.perfetto.dev"},
    {NULL, "pyinstrument|austin|samply|gprof|gprofng|vtune|pyflame",
     "annot record COMMAND samples a program; annot report shows where its time went"},
    {NULL, "py-spy|pyspy",
     "annot record COMMAND, annot attach PID, annot top PID, annot dump PID do what py-spy does"},
    {NULL, "scalene", "annot record COMMAND samples a program; annot report --lines lists lines"},
    {NULL, "perf|sample|sampling",
     "annot record COMMAND samples a program; annot top PID, annot stat COMMAND, annot report "
     "FILE"},
    {NULL, "nsys|nsight|nvprof|ncu",
     "annot record --gpu COMMAND records NVTX ranges and the work of GPUs; annot report shows "
     "both"},
    {NULL, "memray|tracemalloc|heaptrack|massif|filprofiler|memory-profiler|mprof",
     "annot record --memory COMMAND records memory; annot report FILE reads memray's speedscope "
     "files"},
    {NULL, "strace|ltrace|offcputime",
     "annot record --off-cpu COMMAND records every wait and its reason, not each system call"},
    {NULL, "snakeviz|gprof2dot|tuna|kcachegrind", "annot html FILE writes a page of a recording"},
    {NULL, "start|launch|profile|exec|collect|python|python3|spy",
     "annot record COMMAND runs a command and records it"},
    {NULL, "view|show|ui|vizviewer|timeline",
     "annot report FILE prints it; annot export FILE -o x.pftrace is for ui.perfetto.dev"},
    {NULL, "trace|perfetto|chrome|convert",
     "annot export FILE -o x.pftrace (or x.json) writes a timeline for ui.perfetto.dev"},
    {NULL, "flamegraph|flames|svg|graph|speedscope",
     "annot flame FILE writes flame graphs; annot export FILE -o x.folded their stacks"},
    {NULL, "page|web", "annot html FILE writes a page"},
    {NULL, "json|csv", "annot report FILE --json, or --csv, prints tables for programs"},
    {NULL, "stats|time|bench|benchmark|hyperfine",
     "annot stat COMMAND runs it ten times; --vs compares two"},
    {NULL, "compare|difference", "annot diff A B compares recordings"},
    {NULL, "script|print|events|log", "annot cat FILE prints every event, --samples samples too"},
    {NULL, "annotate|lines|source",
     "annot report FILE --lines lists the hottest lines, --source shows them in their source"},
    {NULL, "list|ps|sessions", "annot ls lists programs that have annotations"},
    {NULL, "stop|end|shutdown", "Ctrl-C ends annot attach; -d 10 ends it after 10 seconds"},
    {NULL, "pid|process", "annot attach PID records a process; annot dump PID shows its stacks"},
    {NULL, "stack|stacks|pstack|backtrace|bt|threads", "annot dump PID prints the stacks"},
    {NULL, "check|config|status|selftest", "annot doctor checks what this machine permits"},
    {NULL, "save", "annot snapshot saves what a flight recorder holds"},
    {NULL, "symbols|addr2line", "annot symbolize FILE adds names of functions"},
    {NULL, "archive|join|combine", "annot merge FILE FILE puts recordings together"},

    /* ---- Options of commands that record ---- */
    {"record|run|env|attach", "gpu-nodes|gpu-events|gpu-unified-memory|gpu-pc",
     "--gpu=nodes, --gpu=events, --gpu=unified-memory and --gpu=pc record these"},
    {"record|run|env|attach", "gpu-api",
     "--gpu=driver also records calls of the driver API, --gpu=-runtime no calls of the runtime"},
    {"record|run|env|attach", "gpu-stacks",
     "--gpu=all-stacks records the stacks of all launches, --gpu=-stacks none"},
    {"record|run|env|attach", "gpu-budget|gpu-pc-period",
     "--gpu=budget=PERCENT limits the cost, --gpu=pc-period=N sets the period of samples"},
    {"record|run|env|attach", "no-gpu-counters|gpu-counters",
     "--gpu records counters of GPUs, --gpu=-counters leaves them out"},
    {"run|env", "no-gpu", "--gpu=off loads nothing into programs that use CUDA"},
    {"record|attach|set", "trace-args|trace-return|trace-exceptions|trace-ranges|c-calls",
     "it is a part of --trace-functions: --trace-functions=exact,args,return,exceptions,c-calls"},
    {"record|attach|set", "trace-stdlib|trace-depth|min-duration",
     "it is a part of --trace-functions: --trace-functions=stdlib-entry,depth=N,min=TIME"},
    {"record|attach|top", "no-off-cpu|off-cpu-threshold|off-cpu-rate",
     "it is a part of --off-cpu: --off-cpu=none, or --off-cpu=min=100us,rate=N"},
    {"report|query|cat|tail|html|flame|export", "pid",
     "-p TEXT (--process) chooses processes by number or label"},
    {"report", "functions", "--function-rows N sets the rows of tables of functions"},
    {"tail", "lines", "-n N (--limit) shows N earlier lines"},
    {"symbolize", "source", "--add-source keeps the text of source files"},
    {"set", "gpu", "--gpu-window on, off or window switches the recording of GPUs"},
    {"top", "all", "-a (--all-processes) looks at all processes"},
    {"top", "v|view", "--show lines shows the table of lines first; others: waits, threads, gil"},
    {"record|attach|set", "range|range-budget",
     "--probe FILE:FUNCTION makes calls of a function ranges; annot report -r NAME selects ranges"},
    {"record|attach|stat", "no-sample|no-samples", "--sampling none records annotations only"},
    {"record", "p|pid|attach", "annot attach PID records a process that runs"},
    {"record|attach", "F|freq|frequency|hz|sample|sampling-rate|samples-per-second",
     "-r 99 (--rate) sets the samples per second"},
    {"record|attach", "interval|period|sampling-interval",
     "-r 1000 (--rate) samples every millisecond"},
    {"record|attach", "time|timeout|seconds|sleep",
     "-d 10 (--duration) ends the recording after 10 seconds"},
    {"record|attach", "g|call-graph|callgraph|stacks",
     "stacks are always recorded; no option is needed"},
    {"record|attach", "native|n|all-user|mixed",
     "native frames are always recorded; annot report --native lists native functions"},
    {"record|attach", "s|subprocesses|trace-fork-before-exec|children|inherit|follow-forks|multi",
     "child processes are always recorded; no option is needed"},
    {"record", "t|trace",
     "NVTX and waits are always recorded, GPUs with --gpu; annot report -t TEXT chooses threads"},
    {"attach", "t",
     "all threads are recorded; annot report -t TEXT "
     "chooses some"},
    {"record|attach", "threads|thread|per-thread",
     "all threads are recorded; annot report -t TEXT "
     "chooses some"},
    {"record|attach", "w|show-output", "the output of the command is not touched"},
    {"record|attach", "b|backtrace|cpuctxsw|cudabacktrace",
     "stacks and waits are always recorded; no option is needed"},
    {"record", "gpu-metrics-device|gpu-metrics-devices|cuda-graph-trace|cuda",
     "--gpu records GPUs with their counters, --gpu=nodes each kernel of a graph"},
    {"record", "stop-on-exit|x|kill",
     "a recording ends with the command, or after -d SECONDS (--duration)"},
    {"record|attach", "y",
     "--force replaces an existing recording; annot record --delay TIME is the delay of nsys"},
    {"record|attach", "f|format|output-format|file-format|renderer|svg|flamegraph|flame",
     "the name says the format: -o x.svg, -o x.json, -o x.pftrace"},
    {"record|attach", "html", "annot html FILE writes a page of a recording"},
    {"record|attach", "out|outfile|output-file|output_file|O",
     "-o FILE (--output) names the recording"},
    {"record|attach", "overwrite|force-overwrite", "--force replaces an existing recording"},
    {"record|attach", "nonblocking|no-pause", "annot never pauses a program"},
    {"record|attach", "i|show-all|wall|async-mode",
     "waits are always recorded; annot flame --idle shows them beside the CPU time"},
    {"record|attach", "function|functions-only",
     "annot report and annot flame --python-only show "
     "functions"},
    {"record|attach", "a|all|all-cpus|system-wide",
     "annot records a command (annot record) or processes (annot attach PID)"},
    {"record|attach", "e|event|events", "--enable and --disable choose events"},
    {"record", "log_async", "asyncio tasks are recorded: --python LIST chooses"},
    {"record|attach", "tracer_entries|mmap-pages|buffer-size|cuda-memory-usage",
     "--pool-size 64M enlarges the buffer of each process"},
    {"record|attach", "delay-start|start-delay|D",
     "annot record --delay TIME starts the recording later"},
    {"record|attach", "user|u|uid", "annot attach PID,PID records processes by their numbers"},
    {"record|attach", "sort|limit|python-only",
     "that is chosen when it is shown: annot report -s "
     "self, -n 20"},

    /* ---- Options of commands that print or export ---- */
    {"report|flame|export|cat|info", "i|input|input-file|file",
     "the file needs no option: annot report FILE"},
    {"report", "stdio|tui|text|no-pager|stats", "annot report prints text; no option is needed"},
    {"report|cat", "f|format|output-format|renderer",
     "--json prints for programs; annot export FILE -o x.pftrace writes other formats"},
    {"report", "html", "annot html FILE writes a page"},
    {"report", "o|output|outfile",
     "send it to a file: annot report FILE > x.txt; annot html FILE writes a page"},
    {"cat", "o|output|outfile",
     "send it to a file with > x.txt; annot export FILE -o x.json writes other formats"},
    {"report|flame|export", "wall|off|offcpu",
     "annot flame --idle shows CPU time and waits, --off-cpu waits alone"},
    {"report", "idle", "annot flame --idle draws CPU time and waits; annot report has both"},
    {"report|flame|export", "comm|cmd|pids", "-p TEXT (--process) chooses processes"},
    {"report|flame|export", "tid|tids", "-t TID (--thread) chooses threads"},
    {"report|flame|export", "top|max|rows|count|max-rows|percent-limit",
     "annot report -n 20 (--limit) sets the rows of a table"},
    {"report|flame|export", "start|begin|since|end|until|time",
     "--from TIME and --to TIME choose a part"},
    {"report", "no-children|call-graph|G|callees|caller",
     "--callers NAME shows callers and callees"},
    {"report|flame", "line|by-line|l|annotate", "--lines shows lines"},
    {"report|cat|tail|flame|export", "py|python", "--python-only shows Python functions alone"},
    {"report", "sort-by|order|order-by|S|key", "-s self (--sort) sorts by a column"},
    {"report", "show-all|full", "--all shows all rows of all tables"},
    {"flame", "inverse|invert|icicle|reverse|flip", "--inverted puts the root at the bottom"},
    {"flame|export", "overwrite|y", "--force replaces an existing file"},
    {"flame", "F", "annot export FILE writes formats other than .html and .svg"},

    /* ---- Formats, by the names of other programs and their files ---- */
    {"export format", "json|catapult|trace|trace-event|chrome-json|chrometrace|viztracer",
     "--format chrome writes .json for chrome://tracing; jsonl has rows; speedscope, firefox and "
     "otlp-json are JSON, too"},
    {"export format", "pftrace|perfetto-trace|proto|protobuf|ui.perfetto.dev",
     "--format perfetto writes .pftrace for ui.perfetto.dev"},
    {"export format", "prof|pstat|profile|cprofile|snakeviz",
     "--format pstats writes cProfile's file; --format pprof that of Go's pprof"},
    {"export format", "pb|pb.gz|gperftools|go|google", "--format pprof writes .pb.gz"},
    {"export format", "html|htm|page|web",
     "annot html FILE writes a page; annot flame FILE a page with a flame graph"},
    {"export format", "flamegraph|flame|picture|png|pdf",
     "--format svg draws a flame graph; annot flame FILE writes a page with one"},
    {"export format", "collapsed|stacks|stackcollapse|raw|perf",
     "--format folded writes a line per stack, for flamegraph.pl and others"},
    {"export format", "txt|text|ascii|table",
     "--format folded has stacks; annot report FILE prints tables, annot cat FILE events"},
    {"export format", "tsv|xls|xlsx|excel|pandas", "--format csv has rows; so have parquet, arrow"},
    {"export format", "ndjson|jsonlines|json-lines", "--format jsonl has an object per line"},
    {"export format", "feather|ipc|arrows", "--format arrow writes .arrow; parquet has the same"},
    {"export format", "sqlite|sqlite3|db|sql|nsight|nsys-rep|qdrep",
     "--format nsys writes .sqlite as nsys export does; annot query FILE answers SQL"},
    {"export format", "gecko|firefox-profiler|profiler.firefox.com|samply",
     "--format firefox writes a file for profiler.firefox.com"},
    {"export format", "cachegrind|kcachegrind|qcachegrind|valgrind",
     "--format callgrind writes a file for KCachegrind"},
    {"export format", "gv|graphviz|gprof2dot", "--format dot writes a graph of calls for Graphviz"},
    {"export format", "line-profiler|lineprofiler|kernprof",
     "--format lprof writes line_profiler's file"},
    {"export format", "otel|opentelemetry|otlp-proto|otlp-grpc|jaeger|zipkin",
     "--format otlp writes spans of OpenTelemetry; otlp-json is the same as JSON"},
    {"export format", "lttng|babeltrace|ctf2|barectf",
     "--format ctf writes a folder for babeltrace2 and Trace Compass"},

    /* ---- Options of other commands ---- */
    {"dump", "l|local|variables", "--locals shows local variables"},
    {"dump", "C|mixed|m", "--native shows native frames"},
    {"dump", "n|nonblocking", "no process is paused; no option is needed"},
    {"dump", "F|full|all|a|subprocesses|s", "name all processes: annot dump PID PID"},
    {"*", "V|version", "annot version prints the version"},
    {"*", "v|debug", "annot record and annot attach have --verbose"},
    {"*", "usage|H", "--help lists the options"},
};
const size_t hint_count = sizeof(hint_table) / sizeof(hint_table[0]);

/* Names of tools have several spellings: cProfile, line_profiler. */
static char plain(char letter)
{
    if (letter == '_')
        return '-';
    return (char)tolower((unsigned char)letter);
}

/* Case matters only in one-letter options. */
static bool is_same(const char *known, const char *word, size_t length)
{
    for (size_t i = 0; i < length; i++)
        if (length == 1 ? known[i] != word[i] : plain(known[i]) != plain(word[i]))
            return false;
    return true;
}

/* Returns true if `word` is one of "a|b|c". */
static bool is_among(const char *words, const char *word)
{
    size_t length = strlen(word);
    for (; *words; words += strcspn(words, "|"), words += *words == '|')
        if (strcspn(words, "|") == length && is_same(words, word, length))
            return true;
    return false;
}

/* Returns true if `word` is a misspelling of one of "a|b|c". */
static bool is_near(const char *words, const char *word)
{
    char known[32];
    for (; *words; words += strcspn(words, "|"), words += *words == '|') {
        snprintf(known, sizeof(known), "%.*s", (int)strcspn(words, "|"), words);
        if (strlen(known) >= NEAR_LENGTH && options_distance(known, word) <= NEAR_MAX)
            return true;
    }
    return false;
}

static bool applies(const struct hint *hint, const char *command)
{
    if (!command || !hint->command)
        return !command && !hint->command;
    bool any = strcmp(hint->command, "*") == 0 && !strchr(command, ' ');
    return any || is_among(hint->command, command);
}

const char *hint_find_near(const char *command, const char *word)
{
    word += strspn(word, "-");
    for (size_t i = 0; i < hint_count; i++)
        if (applies(&hint_table[i], command) && is_near(hint_table[i].words, word))
            return hint_table[i].text;
    return NULL;
}

const char *hint_find(const char *command, const char *word)
{
    word += strspn(word, "-");
    for (size_t i = 0; i < hint_count; i++) {
        const struct hint *hint = &hint_table[i];
        if (applies(hint, command) && is_among(hint->words, word))
            return hint->text;
    }
    return NULL;
}

const char *hint_find_choice(const char *command, const char *choice)
{
    char option[64];
    size_t length = strcspn(choice, "=");
    snprintf(option, sizeof(option), "%s %.*s", command, (int)length, choice);
    return choice[length] ? hint_find(option, choice + length + 1) : NULL;
}

const char *hint_for_operand(const char *word, char *buffer, size_t size)
{
    char quoted[512];
    size_t digits = strspn(word, "0123456789");
    cmd_quote(word, quoted, sizeof(quoted));
    if (digits > 0 && word[digits] == 0)
        snprintf(buffer, size,
                 "\"annot attach %s\" records that process, \"annot dump %s\" shows "
                 "its stacks",
                 word, word);
    else if (text_ends_with(word, ".annot"))
        snprintf(buffer, size, "\"annot report %s\" shows a recording", quoted);
    else if (text_ends_with(word, ".py") || strchr(word, '/') || strcmp(word, "-m") == 0 ||
             strcmp(word, "-c") == 0)
        snprintf(buffer, size, "\"annot record %s\" runs and records it", quoted);
    else if (strcmp(word, "-p") == 0 || strcmp(word, "--pid") == 0)
        snprintf(buffer, size,
                 "\"annot attach PID\" records a process, \"annot dump PID\" shows "
                 "its stacks");
    else if (strcmp(word, "-o") == 0 || strcmp(word, "--output") == 0)
        snprintf(buffer, size, "the command comes first: \"annot record -o FILE COMMAND\"");
    else
        return NULL;
    return buffer;
}
