/* SPDX-License-Identifier: MIT */
/* Exports to a server: spans to one that accepts OTLP over HTTP, one message per request; a profile
 * to one that accepts pprof as Pyroscope does. Main thread only. */
#include "export_push.h"

#include "cmd.h"
#include "export_facts.h"
#include "export_options.h"
#include "http_post.h"
#include "text.h"
#include "varint.h"

#include <errno.h>
#include <inttypes.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

enum { SHOWN_SIZE = 512, SAID_SIZE = 256, DEFAULT_TIMEOUT_MS = 10000 };

struct export_push {
    bool otlp;
    struct http_client *client;
    struct http_answer answer;
    char shown[SHOWN_SIZE]; /* the address without parts that may be secret */
    char said[SAID_SIZE];   /* the last reason that the server gave */
    uint64_t requests, bytes;
    uint64_t rejected; /* spans */
};

/* ---- Addresses ------------------------------------------------------------------------------- */

bool export_is_address(const char *output)
{
    return output && (strncmp(output, "http://", 7) == 0 || strncmp(output, "https://", 8) == 0);
}

/* Returns the part after host and port. */
static const char *path_of(const char *url)
{
    const char *host = strstr(url, "://") + 3;
    return host + strcspn(host, "/?#");
}

const struct exporter *exporter_by_address(const char *url)
{
    const char *path = path_of(url);
    size_t length = strcspn(path, "?#");
    if (memmem(path, length, "/v1/traces", strlen("/v1/traces")))
        return &export_otlp;
    return memmem(path, length, "/ingest", strlen("/ingest")) ? &export_pprof : NULL;
}

static void show_address(const char *url, char shown[SHOWN_SIZE])
{
    const char *host = strstr(url, "://") + 3; /* the login may contain slashes */
    const char *login = memrchr(host, '@', strcspn(host, "?#"));
    struct text text = text_init(shown, SHOWN_SIZE);
    text_add(&text, url, (size_t)(host - url));
    host = login ? login + 1 : host;
    text_add(&text, host, strcspn(host, "?#"));
}

/* Replaces characters with a meaning in Pyroscope, such as braces, which enclose labels. */
static char *plain_name(const struct export_job *job)
{
    char *name = export_service(job);
    for (char *at = name; at && *at; at++)
        if (!strchr("abcdefghijklmnopqrstuvwxyzABCDEFGHIJKLMNOPQRSTUVWXYZ0123456789._-", *at))
            *at = '_';
    return name;
}

/* Times are whole seconds since the Unix epoch. */
static char *profile_query(const struct export_job *job)
{
    const struct trace *trace = job->source->trace;
    const struct trace_session *session = trace_session_get(trace);
    int64_t from_ns = session->begin_realtime_ns, second_ns = 1000000000;
    int64_t lasted_ns = session_end_ns(trace) - session->begin_ns;
    int64_t until_ns = from_ns + (lasted_ns > 0 ? lasted_ns : 0);
    char *name = plain_name(job), *query = NULL;
    if (name && asprintf(&query, "name=%s&from=%" PRId64 "&until=%" PRId64 "&format=pprof", name,
                         from_ns / second_ns, until_ns / second_ns + 1) < 0)
        query = NULL;
    free(name);
    return query;
}

/* Completes the address; the path may be omitted. NULL: out of memory. */
static char *whole_address(const char *url, const struct exporter *exporter,
                           const struct export_job *job)
{
    bool otlp = exporter == &export_otlp;
    const char *path = path_of(url), *query = path + strcspn(path, "?#");
    const char *own = query > path + 1 ? "" : otlp ? "/v1/traces" : "/ingest";
    int length = (int)((*own ? path : query) - url), query_length = (int)strcspn(query, "#");
    char *more = otlp ? strdup("") : profile_query(job), *whole = NULL;
    const char *between = !more || !*more ? "" : query_length ? "&" : "?";
    int made = !more ? -1
                     : asprintf(&whole, "%.*s%s%.*s%s%s", length, url, own, query_length, query,
                                between, more);
    free(more);
    return made < 0 ? NULL : whole;
}

/* ---- Responses of the server ----------------------------------------------------------------- */

/* Finds a field of a message; false: missing. The bytes are untrusted. */
static bool find_field(struct varint_reader in, uint32_t field, struct varint_reader *ret_bytes,
                       uint64_t *ret_number)
{
    while (in.at && in.at < in.end) {
        uint64_t key = varint_get(&in);
        uint64_t value = (key & 7) == 0 || (key & 7) == 2 ? varint_get(&in) : 0;
        bool sized = (key & 7) == 2;
        if (!in.at || (!sized && (key & 7) != 0) || (sized && value > (uint64_t)(in.end - in.at)))
            return false;
        if (key >> 3 == field) {
            *ret_number = value;
            *ret_bytes = (struct varint_reader){in.at, sized ? in.at + value : in.at};
            return true;
        }
        in.at += sized ? value : 0;
    }
    return false;
}

static bool is_message(const struct http_answer *answer)
{
    return strncmp(answer->content_type, "application/x-protobuf", 22) == 0;
}

/* Keeps one line of text. */
static void keep_said(struct export_push *push, const char *bytes, size_t size)
{
    char repaired[3 * SAID_SIZE];
    size_t line = 0;
    while (line < size && line < SAID_SIZE && bytes[line] != '\n' && bytes[line] != '\r')
        line++;
    struct text text = text_init(push->said, sizeof(push->said));
    text_add(&text, repaired, utf8_repair(bytes, line, repaired));
}

/* The body is a google.rpc.Status, or any text. */
static void read_refusal(struct export_push *push)
{
    const struct http_answer *answer = &push->answer;
    struct varint_reader body = {answer->body, answer->body + answer->size}, text;
    uint64_t number;
    push->said[0] = 0;
    if (!is_message(answer))
        keep_said(push, (const char *)body.at, answer->size);
    else if (find_field(body, 2, &text, &number))
        keep_said(push, (const char *)text.at, (size_t)(text.end - text.at));
}

/* The body is an ExportTraceServiceResponse. */
static void read_acceptance(struct export_push *push)
{
    const struct http_answer *answer = &push->answer;
    struct varint_reader body = {answer->body, answer->body + answer->size}, partial, text;
    uint64_t number = 0, rejected = 0;
    if (!push->otlp || !is_message(answer) || !find_field(body, 1, &partial, &number))
        return;
    if (find_field(partial, 1, &text, &rejected))
        push->rejected += rejected;
    if (find_field(partial, 2, &text, &number))
        keep_said(push, (const char *)text.at, (size_t)(text.end - text.at));
}

static int post(void *context, const void *bytes, size_t size)
{
    struct export_push *push = context;
    int error = http_client_post(push->client, bytes, size, &push->answer);
    if (error == -EBADMSG)
        read_refusal(push);
    if (error)
        return error;
    push->requests++;
    push->bytes += size;
    read_acceptance(push);
    return 0;
}

/* ---- Pushing --------------------------------------------------------------------------------- */

/* Reads a variable of the environment: that for traces, else that for all of OTLP. */
static const char *otlp_setting(const char *traces, const char *all)
{
    const char *value = getenv(traces);
    value = value && *value ? value : getenv(all);
    return value && *value ? value : NULL;
}

static struct http_options options_of(bool otlp, const char *url)
{
    struct http_options options = {.url = url, .timeout_ms = DEFAULT_TIMEOUT_MS};
    const char *timeout =
        otlp_setting("OTEL_EXPORTER_OTLP_TRACES_TIMEOUT", "OTEL_EXPORTER_OTLP_TIMEOUT");
    uint64_t timeout_ms;
    options.content_type = otlp ? "application/x-protobuf" : "application/octet-stream";
    options.headers =
        otlp ? otlp_setting("OTEL_EXPORTER_OTLP_TRACES_HEADERS", "OTEL_EXPORTER_OTLP_HEADERS")
             : getenv("ANNOT_PUSH_HEADERS");
    options.certificate =
        otlp_setting("OTEL_EXPORTER_OTLP_TRACES_CERTIFICATE", "OTEL_EXPORTER_OTLP_CERTIFICATE");
    if (timeout && options_parse_count(timeout, &timeout_ms) == 0 && timeout_ms > 0 &&
        timeout_ms <= INT32_MAX)
        options.timeout_ms = (int64_t)timeout_ms;
    return options;
}

static int fail_open(const struct export_push *push, int error)
{
    if (error == -ENOSYS)
        return cmd_fail(CMD_FAILED, "annot was built without pushes to a server\ninstall "
                                    "libcurl4-openssl-dev, then " ANNOT_REBUILD);
    if (error == -ELIBACC)
        return cmd_fail(CMD_FAILED, "cannot push: this machine has no libcurl.so.4\ninstall it "
                                    "(Debian: libcurl4), or write a file and let curl push that");
    if (error == -EINVAL)
        return cmd_fail(CMD_MISUSE,
                        "the headers in %s are wrong\nthey are NAME=VALUE, with commas "
                        "between them; what is special in a value is %%XX",
                        push->otlp ? "OTEL_EXPORTER_OTLP_HEADERS" : "ANNOT_PUSH_HEADERS");
    return cmd_fail(CMD_FAILED, "out of memory");
}

int export_push_open(const char *url, const struct exporter *exporter, struct export_job *job,
                     struct export_push **ret_push)
{
    struct export_push *push = calloc(1, sizeof(*push));
    char *whole = whole_address(url, exporter, job);
    const struct out_taker taker = {post, push};
    const struct out_stream_options stream = {.gzip = exporter->compressed,
                                              .gzip_level = EXPORT_GZIP_LEVEL};
    int error = push && whole ? 0 : -ENOMEM;
    if (!error) {
        push->otlp = exporter == &export_otlp;
        show_address(whole, push->shown);
        const struct http_options options = options_of(push->otlp, whole);
        error = http_client_open(&options, &push->client);
    }
    if (!error)
        error = out_stream_pieces(&taker, &stream, &job->out);
    free(whole);
    *ret_push = push;
    return error ? fail_open(push, error) : CMD_OK;
}

void export_push_close(struct export_push *push)
{
    if (push)
        http_client_close(push->client);
    free(push);
}

const char *export_push_shown(const struct export_push *push)
{
    return push->shown;
}

int export_push_fail(const struct export_push *push, int error)
{
    char before[64] = "";
    const char *reason =
        error == -EBADMSG || error == -ECOMM ? push->answer.reason : strerror(-error);
    if (push->requests)
        snprintf(before, sizeof(before), " (it has taken %" PRIu64 " requests before)",
                 push->requests);
    if (error == -EBADMSG)
        return cmd_fail(CMD_FAILED, "cannot push to %s%s: %s%s%s", push->shown, before, reason,
                        push->said[0] ? ": " : "", push->said);
    return cmd_fail(CMD_FAILED, "cannot push to %s%s: %s\nis a server there that takes %s?",
                    push->shown, before, reason, push->otlp ? "OTLP over HTTP" : "profiles");
}

int export_push_end(const struct export_push *push)
{
    if (push->rejected)
        return cmd_fail(CMD_FAILED, "%s has rejected %" PRIu64 " spans%s%s", push->shown,
                        push->rejected, push->said[0] ? ": " : "", push->said);
    if (push->said[0])
        cmd_note("%s warns: %s", push->shown, push->said);
    cmd_note("pushed to %s: %" PRIu64 " bytes in %" PRIu64 " requests", push->shown, push->bytes,
             push->requests);
    return CMD_OK;
}
