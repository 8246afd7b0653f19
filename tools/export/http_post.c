/* SPDX-License-Identifier: MIT */
/* Implements http_post.h. libcurl depends on two dozen libraries, so it is loaded when needed:
 * otherwise all commands would start some milliseconds later, and wheels would have to contain all
 * of them. */
#include "http_post.h"

#include "cmd.h"
#include "library.h"

#include <curl/curl.h>
#include <errno.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <time.h>

enum { FIRST_WAIT_MS = 500, WAIT_MAX_MS = 30000 };

struct http_client {
    CURL *curl;
    struct curl_slist *headers;
    int64_t timeout_ms;
    uint8_t body[HTTP_BODY_MAX];
    size_t body_size;
};

/* ---- The library ----------------------------------------------------------------------------- */

static struct {
    __typeof__(&curl_easy_init) init;
    __typeof__(&curl_easy_cleanup) cleanup;
    __typeof__(&curl_easy_setopt) set;
    __typeof__(&curl_easy_getinfo) get;
    __typeof__(&curl_easy_perform) perform;
    __typeof__(&curl_easy_strerror) explain;
    __typeof__(&curl_slist_append) append;
    __typeof__(&curl_slist_free_all) free_list;
} lib;

/* Never unloaded: its dependencies have threads and handlers. */
static bool load_library(void)
{
    static const char *const files[] = {"libcurl.so.4", "libcurl-gnutls.so.4", NULL};
    const struct library_function functions[] = {
        {"curl_easy_init", &lib.init},           {"curl_easy_cleanup", &lib.cleanup},
        {"curl_easy_setopt", &lib.set},          {"curl_easy_getinfo", &lib.get},
        {"curl_easy_strerror", &lib.explain},    {"curl_slist_append", &lib.append},
        {"curl_slist_free_all", &lib.free_list}, {"curl_easy_perform", &lib.perform},
    };

    return lib.perform || library_load(files, functions, sizeof(functions) / sizeof(*functions));
}

/* ---- Headers --------------------------------------------------------------------------------- */

/* Returns a copy of the text without surrounding blanks. */
static char *trimmed(const char *at, size_t size)
{
    while (size > 0 && (*at == ' ' || *at == '\t')) {
        at++;
        size--;
    }
    while (size > 0 && (at[size - 1] == ' ' || at[size - 1] == '\t'))
        size--;
    return strndup(at, size);
}

static int hex_digit(char digit)
{
    const char *digits = "0123456789abcdef0123456789ABCDEF";
    const char *at = digit ? strchr(digits, digit) : NULL;
    return at ? (int)((at - digits) % 16) : -1;
}

/* Decodes in place; a % without two hex digits stays. */
static void decode(char *text)
{
    unsigned char *to = (unsigned char *)text;
    for (const char *at = text; *at; at++, to++) {
        int high = *at == '%' ? hex_digit(at[1]) : -1;
        int low = high >= 0 ? hex_digit(at[2]) : -1;
        *to = (unsigned char)*at;
        if (low < 0)
            continue;
        *to = (unsigned char)(high << 4 | low);
        at += 2;
    }
    *to = 0;
}

/* A value with control characters could form several headers. */
static bool is_one_line(const char *text)
{
    for (; *text; text++)
        if ((unsigned char)*text < 0x20 || *text == 0x7f)
            return false;
    return true;
}

static int append_header(struct http_client *client, const char *line)
{
    struct curl_slist *list = lib.append(client->headers, line);
    if (!list)
        return -ENOMEM;
    client->headers = list;
    return 0;
}

/* "NAME=VALUE" */
static int add_pair(struct http_client *client, const char *pair, size_t size)
{
    const char *equals = memchr(pair, '=', size);
    size_t name_size = equals ? (size_t)(equals - pair) : size;
    char *name = trimmed(pair, name_size), *line = NULL;
    char *value = equals ? trimmed(equals + 1, size - name_size - 1) : NULL;
    int error = name && (value || !equals) ? 0 : -ENOMEM;
    if (!error && value)
        decode(value);
    if (!error && !value)
        error = *name ? -EINVAL : 0; /* empty between two commas */
    else if (!error && (!*name || strpbrk(name, ": \t") || !is_one_line(value)))
        error = -EINVAL;
    if (!error && value)
        error = asprintf(&line, "%s: %s", name, value) < 0 ? -ENOMEM : append_header(client, line);
    free(line);
    free(value);
    free(name);
    return error;
}

static int add_headers(struct http_client *client, const struct http_options *options)
{
    char type[128];
    snprintf(type, sizeof(type), "Content-Type: %s", options->content_type);
    int error = append_header(client, type);
    if (!error)
        error = append_header(client, "Expect:"); /* no round trip before the body */
    for (const char *at = options->headers; at && *at && !error;) {
        size_t size = strcspn(at, ",");
        error = add_pair(client, at, size);
        at += size + (at[size] == ',');
    }
    return error;
}

/* ---- The client ------------------------------------------------------------------------------ */

/* Drops bytes beyond HTTP_BODY_MAX. */
static size_t take_body(char *bytes, size_t one, size_t size, void *context)
{
    struct http_client *client = context;
    size_t room = sizeof(client->body) - client->body_size;
    size_t part = size < room ? size : room;
    memcpy(client->body + client->body_size, bytes, part);
    client->body_size += part;
    return one * size;
}

static void set_options(struct http_client *client, const struct http_options *options)
{
    CURL *curl = client->curl;
    lib.set(curl, CURLOPT_URL, options->url);
#if LIBCURL_VERSION_NUM >= 0x075500
    lib.set(curl, CURLOPT_PROTOCOLS_STR, "http,https");
#else
    lib.set(curl, CURLOPT_PROTOCOLS, (long)(CURLPROTO_HTTP | CURLPROTO_HTTPS));
#endif
    lib.set(curl, CURLOPT_USERAGENT, "annot/" ANNOT_VERSION);
    lib.set(curl, CURLOPT_HTTPHEADER, client->headers);
    lib.set(curl, CURLOPT_TIMEOUT_MS, (long)options->timeout_ms);
    lib.set(curl, CURLOPT_WRITEFUNCTION, take_body);
    lib.set(curl, CURLOPT_WRITEDATA, client);
    if (options->certificate)
        lib.set(curl, CURLOPT_CAINFO, options->certificate);
}

int http_client_open(const struct http_options *options, struct http_client **ret_client)
{
    if (!load_library())
        return -ELIBACC;
    struct http_client *client = calloc(1, sizeof(*client));
    if (!client)
        return -ENOMEM;
    client->timeout_ms = options->timeout_ms;
    client->curl = lib.init();
    int error = client->curl ? add_headers(client, options) : -ENOMEM;
    if (error) {
        http_client_close(client);
        return error;
    }
    set_options(client, options);
    *ret_client = client;
    return 0;
}

void http_client_close(struct http_client *client)
{
    if (!client)
        return;
    if (client->curl)
        lib.cleanup(client->curl);
    lib.free_list(client->headers);
    free(client);
}

/* ---- One attempt ----------------------------------------------------------------------------- */

/* Fixed messages, since those of libcurl differ by version. */
static void explain(struct http_client *client, CURLcode code, char reason[HTTP_REASON_SIZE])
{
    long number = 0;
    lib.get(client->curl, CURLINFO_OS_ERRNO, &number);
    switch (code) {
    case CURLE_URL_MALFORMAT:
    case CURLE_UNSUPPORTED_PROTOCOL:
        snprintf(reason, HTTP_REASON_SIZE, "this is no address of an HTTP server");
        break;
    case CURLE_COULDNT_RESOLVE_HOST:
        snprintf(reason, HTTP_REASON_SIZE, "there is no host of this name");
        break;
    case CURLE_COULDNT_CONNECT:
        snprintf(reason, HTTP_REASON_SIZE, "%s", number ? strerror((int)number) : "cannot connect");
        break;
    case CURLE_OPERATION_TIMEDOUT:
        snprintf(reason, HTTP_REASON_SIZE, "no answer within %.10g s",
                 (double)client->timeout_ms / 1000);
        break;
    case CURLE_GOT_NOTHING:
    case CURLE_PARTIAL_FILE:
    case CURLE_RECV_ERROR:
    case CURLE_SEND_ERROR:
        snprintf(reason, HTTP_REASON_SIZE, "the connection was cut");
        break;
    case CURLE_PEER_FAILED_VERIFICATION:
        snprintf(reason, HTTP_REASON_SIZE, "the certificate of the server is not trusted");
        break;
    default:
        snprintf(reason, HTTP_REASON_SIZE, "%s", lib.explain(code));
    }
}

static bool is_passing(CURLcode code, long status)
{
    if (code == CURLE_OK)
        return status == 429 || (status >= 502 && status <= 504);
    return code == CURLE_OPERATION_TIMEDOUT || code == CURLE_GOT_NOTHING ||
           code == CURLE_PARTIAL_FILE || code == CURLE_RECV_ERROR || code == CURLE_SEND_ERROR;
}

static CURLcode try_once(struct http_client *client, struct http_answer *answer)
{
    client->body_size = 0;
    *answer = (struct http_answer){.content_type = "", .body = client->body};
    CURLcode code = lib.perform(client->curl);
    if (code != CURLE_OK) {
        explain(client, code, answer->reason);
        return code;
    }
    char *type = NULL;
    lib.get(client->curl, CURLINFO_RESPONSE_CODE, &answer->status);
    lib.get(client->curl, CURLINFO_CONTENT_TYPE, &type);
    answer->content_type = type ? type : "";
    answer->size = client->body_size;
    snprintf(answer->reason, sizeof(answer->reason), "it answered %ld", answer->status);
    return code;
}

/* ---- All attempts ---------------------------------------------------------------------------- */

/* Returns the time until the next attempt; -1: the server demands more than WAIT_MAX_MS. */
static int64_t wait_before(struct http_client *client, unsigned tries)
{
    curl_off_t asked_s = 0;
    lib.get(client->curl, CURLINFO_RETRY_AFTER, &asked_s);
    if (asked_s > WAIT_MAX_MS / 1000)
        return -1;
    return asked_s > 0 ? (int64_t)asked_s * 1000 : (int64_t)FIRST_WAIT_MS << (tries - 1);
}

static void sleep_ms(int64_t ms)
{
    struct timespec left = {ms / 1000, ms % 1000 * 1000000};
    while (nanosleep(&left, &left) != 0 && errno == EINTR)
        ;
}

int http_client_post(struct http_client *client, const void *bytes, size_t size,
                     struct http_answer *ret_answer)
{
    lib.set(client->curl, CURLOPT_POSTFIELDSIZE_LARGE, (curl_off_t)size);
    lib.set(client->curl, CURLOPT_POSTFIELDS, bytes);
    for (unsigned tries = 1;; tries++) {
        CURLcode code = try_once(client, ret_answer);
        if (code == CURLE_OK && ret_answer->status / 100 == 2)
            return 0;
        int64_t wait_ms = wait_before(client, tries);
        if (tries == HTTP_TRIES_MAX || wait_ms < 0 || !is_passing(code, ret_answer->status))
            return code == CURLE_OK ? -EBADMSG : -ECOMM;
        cmd_note("%s; trying again in %.10g s", ret_answer->reason, (double)wait_ms / 1000);
        sleep_ms(wait_ms);
    }
}
