/* SPDX-License-Identifier: MIT */
/* `annot doctor`: prints the capabilities of this machine, and commands that add missing ones. */
#include "cmd.h"

#include "doctor.h"
#include "doctor_machine.h"
#include "doctor_python.h"
#include "json_writer.h"
#include "ladder.h"
#include "term.h"

#include <inttypes.h>
#include <stdio.h>
#include <string.h>
#include <unistd.h>

struct doctor_values {
    bool json;
};

static size_t count_missing(const struct doctor *doctor)
{
    size_t count = 0;
    for (size_t i = 0; i < doctor->findings.count; i++)
        count += doctor->findings.items[i].state == DOCTOR_MISSING;
    return count;
}

static void print_line(const struct doctor_finding *it, bool color)
{
    static const char *const marks[] = {"yes", "no ", " - "};
    static const char *const colors[] = {"\033[32m", "\033[31m", ""};
    const char *tint = color ? colors[it->state] : "", *plain = color && *tint ? "\033[0m" : "";
    printf("  %s%s%s  %-12s  ", tint, marks[it->state], plain, it->name);
    term_print(it->text);
    putchar('\n');
    if (!it->hint[0])
        return;
    printf("                     hint: ");
    term_print(it->hint);
    putchar('\n');
}

static void print_text(const struct doctor *doctor)
{
    static const char *const titles[] = {"machine\n", "\nsampling\n", "\nPython\n", "\nGPU\n"};
    bool color = term_color(STDOUT_FILENO, NULL);
    size_t missing = count_missing(doctor);
    for (size_t i = 0; i < doctor->findings.count; i++) {
        const struct doctor_finding *it = &doctor->findings.items[i];
        if (i == 0 || it->group != it[-1].group)
            fputs(titles[it->group], stdout);
        print_line(it, color);
    }
    if (missing)
        printf("\n%zu of these %s missing\n", missing, missing == 1 ? "is" : "are");
    else
        printf("\nnothing is missing\n");
}

static void put_member(struct out_stream *out, const char *key, const char *text)
{
    out_text(out, key);
    json_string(out, text, strlen(text));
}

static void write_facts(const struct doctor_finding *finding, struct out_stream *out)
{
    char number[32];
    out_text(out, ", \"facts\": {");
    for (size_t i = 0; i < DOCTOR_FACTS_MAX && finding->facts[i].key; i++) {
        const struct doctor_fact *fact = &finding->facts[i];
        put_member(out, i ? ", " : "", fact->key);
        snprintf(number, sizeof(number), "%" PRId64, fact->number);
        out_text(out, ": ");
        if (fact->is_text)
            put_member(out, "", fact->text);
        else
            out_text(out, fact->number == DOCTOR_NO_NUMBER ? "null" : number);
    }
    out_text(out, "}");
}

static void write_findings(const struct doctor *doctor, struct out_stream *out)
{
    static const char *const groups[] = {"machine", "sampling", "python", "gpu"};
    static const char *const states[] = {"ok", "missing", "note"};
    for (size_t i = 0; i < doctor->findings.count; i++) {
        const struct doctor_finding *it = &doctor->findings.items[i];
        put_member(out, i ? ",\n  {\"group\": " : "\n  {\"group\": ", groups[it->group]);
        put_member(out, ", \"name\": ", it->name);
        put_member(out, ", \"state\": ", states[it->state]);
        put_member(out, ", \"text\": ", it->text);
        if (it->hint[0])
            put_member(out, ", \"hint\": ", it->hint);
        write_facts(it, out);
        out_text(out, "}");
    }
}

static int print_json(const struct doctor *doctor)
{
    struct out_stream *out;
    struct out_stream_options options = {0};
    int error = out_stream_open("-", &options, &out);
    if (error)
        return error;
    put_member(out, "{\"version\": ", ANNOT_VERSION);
    put_member(out, ",\n \"sampling\": ", doctor->rung);
    out_text(out, count_missing(doctor) ? ",\n \"complete\": false" : ",\n \"complete\": true");
    out_text(out, ",\n \"findings\": [");
    write_findings(doctor, out);
    out_text(out, "\n ]}\n");
    return out_stream_close(out);
}

static int run_doctor(const struct cmd_call *call)
{
    const struct doctor_values *values = call->values;
    struct doctor doctor = {0};
    struct host_facts facts;
    int status = CMD_OK;
    host_facts_read(&facts);
    doctor_look_at_machine(&doctor, &facts);
    doctor_look_at_memory(&doctor, &facts);
    doctor_look_at_limits(&doctor, &facts);
    doctor_look_at_sampling(&doctor);
    doctor_look_at_injection(&doctor);
    doctor_look_at_pythons(&doctor);
    doctor_look_at_gpu(&doctor, &facts);
    int error = 0;
    if (values->json)
        error = print_json(&doctor);
    else
        print_text(&doctor);
    if (error)
        status = cmd_fail(CMD_FAILED, "cannot write to standard output: %s", strerror(-error));
    else if (doctor.error)
        status = cmd_fail(CMD_FAILED, "out of memory");
    else if (count_missing(&doctor))
        status = CMD_FAILED;
    vec_free(&doctor.findings);
    return status;
}

static const struct option_spec doctor_options[] = {
    {"json", 0, OPTION_FLAG, offsetof(struct doctor_values, json), NULL,
     "print it as JSON, for programs", NULL},
    {0},
};

const struct cmd cmd_doctor = {
    .name = "doctor",
    .summary = "check what this machine permits, and how to permit more",
    .usage = "[OPTIONS]",
    .details = "yes: works; no: does not, and the hint says what helps; -: not needed here\n\n"
               "exit status: 0 nothing is missing; 1 something is; 2 wrong command line\n",
    .options = doctor_options,
    .values_size = sizeof(struct doctor_values),
    .run = run_doctor,
};
