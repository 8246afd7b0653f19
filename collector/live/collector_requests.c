/* SPDX-License-Identifier: MIT */
/* Requests in the session's file: rules of the filter, and functions that become ranges. For these
 * a requester writes one, the collector installs the probes and writes its answer there
 * (docs/wire-format.md, "Ranges").
 *
 * Texts of the file are foreign: only the user's own are trusted, so a collector with more rights
 * than the file's owner refuses them. */
#include "collector_requests.h"

#include "collector_places.h"
#include "collector_sampling.h"
#include "collector_sessions.h"

#include "annot_places.h"
#include "clock_now.h"
#include "file_io.h"
#include "intake.h"
#include "text.h"

#include <dirent.h>
#include <errno.h>
#include <fcntl.h>
#include <inttypes.h>
#include <limits.h>
#include <stdio.h>
#include <string.h>
#include <sys/stat.h>
#include <time.h>
#include <unistd.h>

/* ---- Rules of the filter --------------------------------------------------------------------- */

/* Unreadable rules of the session's file leave the current ones unchanged. */

static size_t size_of(const char *text)
{
    return text ? strlen(text) : 0;
}

int collector_filter_init(struct collector_filter *filter, struct annot_session *session,
                          const struct collector_options *options)
{
    size_t rules = size_of(options->filter), capture = size_of(options->capture);
    if (rules > sizeof(session->filter) || capture >= sizeof(session->capture))
        return -E2BIG;
    if (capture > 0)
        memcpy(session->capture, options->capture, capture);
    memcpy(filter->capture, session->capture, sizeof(filter->capture));
    filter->is_new = capture > 0;
    if (rules == 0)
        return 0;
    memcpy(session->filter, options->filter, rules);
    session->filter_size = (uint32_t)rules;
    session->filter_sequence = 2;
    return 0;
}

/* Writes the capture range in readable form before the rules; parsers of rules skip it. */
static void describe_capture(const char *capture, struct text *text)
{
    const char *domain = strchr(capture, '\x1f');
    if (!capture[0])
        return;
    text_format(text, "capture-range=%.*s", domain ? (int)(domain - capture) : INT_MAX, capture);
    if (domain)
        text_format(text, "@%s", domain + 1);
}

int collector_filter_take(struct collector_filter *filter, struct intake *intake,
                          struct trace *trace)
{
    struct filter_rules *rules = intake_filter(intake);
    char bytes[sizeof(filter->capture) + ANNOT_FILTER_MAX + 32];
    struct text text = text_init(bytes, sizeof(bytes));
    int changed =
        session_filter_poll(&filter->watch, filter->directory, filter->session->fd, rules);
    if (changed != 1 && !filter->is_new)
        return 0;
    filter->is_new = false;
    describe_capture(filter->capture, &text);
    if (text.length > 0 && rules->size > 0)
        text_add(&text, " ", 1);
    text_add(&text, rules->text, rules->size);
    int64_t string = trace_string_add(trace, text.buffer, text.length);
    const struct trace_filter entry = {clock_now_ns(), (uint32_t)string};
    return string < 0 || trace_filter_add(trace, &entry) < 0 ? -ENOMEM : 0;
}

void collector_filter_confirm(struct collector_filter *filter)
{
    if (filter->confirmed == filter->watch.sequence)
        return;
    filter->confirmed = filter->watch.sequence;
    session_filter_confirm(filter->session->fd, filter->confirmed);
}

/* ---- Functions that become ranges ------------------------------------------------------------ */

#define ANSWER_NS INT64_C(20000000000)

#define FIELD(name)                                                                                \
    offsetof(struct annot_session, range_request.name),                                            \
        sizeof(((struct annot_session *)0)->range_request.name)

static int read_field(int fd, size_t offset, size_t size, void *ret_bytes)
{
    ssize_t got = pread(fd, ret_bytes, size, (off_t)offset);
    return got < 0 ? -errno : (size_t)got == size ? 0 : -EBADMSG;
}

static int write_field(int fd, size_t offset, size_t size, const void *bytes)
{
    ssize_t written = pwrite(fd, bytes, size, (off_t)offset);
    return written < 0 ? -errno : (size_t)written == size ? 0 : -EIO;
}

/* ---- Collector ------------------------------------------------------------------------------- */

static bool is_trusted(int fd, struct sampler_range_result *result)
{
    struct stat status;
    bool is_own = fstat(fd, &status) == 0 && status.st_uid == geteuid();
    if (!is_own)
        snprintf(result->reason, sizeof(result->reason),
                 "its collector runs as another user than its programs, and takes no orders to "
                 "probe");
    return is_own;
}

static void explain(const struct sampling *sampling, int error, struct sampler_range_result *result)
{
    const struct trace_sampling *state = trace_sampling_get(sampling->trace);
    const char *reason = trace_string(sampling->trace, state->reason)->bytes;
    if (error == 0 || result->reason[0])
        return;
    if (!sampling->sampler)
        reason = "it has no sampler (--sampling none)";
    else if (error != -EOPNOTSUPP || !*reason)
        reason = error == -EOPNOTSUPP ? "its threads are not sampled with eBPF" : strerror(-error);
    snprintf(result->reason, sizeof(result->reason), "%s", reason);
    snprintf(result->hint, sizeof(result->hint), "%s",
             sampling->sampler ? trace_string(sampling->trace, state->hint)->bytes
                               : "annot record --probe has probes from the beginning");
}

static int answer(int fd, int error, const struct sampler_range_result *result, uint32_t sequence)
{
    struct annot_range_request request;
    const size_t at = offsetof(struct annot_range_request, error);
    _Static_assert(sizeof(request.reason) == sizeof(result->reason) &&
                       sizeof(request.hint) == sizeof(result->hint),
                   "texts fit");
    request.error = error;
    request.functions = result->functions;
    request.places = result->places;
    request.is_static = result->is_static;
    request.refused = result->refused;
    request.chosen = result->chosen;
    request.call_ns = (uint32_t)result->call_ns;
    memcpy(request.reason, result->reason, sizeof(request.reason));
    memcpy(request.hint, result->hint, sizeof(request.hint));
    int failed = write_field(fd, offsetof(struct annot_session, range_request) + at,
                             sizeof(request) - at, (const uint8_t *)&request + at);
    return failed != 0 ? failed : write_field(fd, FIELD(answered), &sequence);
}

int ranges_take(struct sampling *sampling, const struct session_file *session)
{
    char text[ANNOT_RANGE_REQUEST_MAX + 1];
    struct sampler_range_result result = {0};
    uint32_t sequence;
    if (read_field(session->fd, FIELD(sequence), &sequence) != 0 ||
        sequence == sampling->range_sequence)
        return 0;
    sampling->range_sequence = sequence;
    if (read_field(session->fd, FIELD(text), text) != 0)
        return 0;
    text[ANNOT_RANGE_REQUEST_MAX] = 0;
    int error = is_trusted(session->fd, &result) ? 0 : -EPERM;
    if (error == 0)
        error = sampling_add_range(sampling, &(struct sampler_range_request){.text = text, NULL},
                                   &result);
    explain(sampling, error, &result);
    (void)answer(session->fd, error, &result, sequence); /* else the requester times out */
    return error == -ENOMEM ? error : 0;
}

/* ---- Requester ------------------------------------------------------------------------------- */

/* Call with the lock held. */
static int write_wish(const struct directory *directory, const char *name, const char *text,
                      uint32_t *ret_sequence)
{
    struct annot_session session;
    char bytes[ANNOT_RANGE_REQUEST_MAX + 1] = {0};
    uint32_t answered = 0;
    int error = session_file_peek(directory, name, &session);
    if (error == 0 && !session_file_is_live(directory, name))
        error = -ENOENT;
    int fd = error == 0 ? file_open_regular(directory->fd, name, O_RDWR | O_NOFOLLOW, NULL) : error;
    if (fd < 0)
        return fd;
    snprintf(bytes, sizeof(bytes), "%s", text);
    *ret_sequence = session.range_request.sequence + 1;
    error = read_field(fd, FIELD(answered), &answered);
    if (error == 0 && answered != session.range_request.sequence)
        error = -EBUSY;
    if (error == 0)
        error = write_field(fd, FIELD(text), bytes);
    if (error == 0)
        error = write_field(fd, FIELD(sequence), ret_sequence);
    close(fd);
    return error;
}

static void take_answer(const struct annot_range_request *answer, struct sampler_range_result *ret)
{
    *ret = (struct sampler_range_result){.functions = answer->functions,
                                         .places = answer->places,
                                         .is_static = answer->is_static != 0,
                                         .refused = answer->refused,
                                         .chosen = answer->chosen,
                                         .call_ns = answer->call_ns};
    memcpy(ret->reason, answer->reason, sizeof(ret->reason) - 1);
    memcpy(ret->hint, answer->hint, sizeof(ret->hint) - 1);
}

/* Reading the symbols of a large file takes a while. */
static int wait_for_answer(const struct directory *directory, const char *name, uint32_t sequence,
                           struct sampler_range_result *ret_result)
{
    const struct timespec pause = {.tv_nsec = 2000000};
    int64_t end_ns = clock_now_ns() + ANSWER_NS;
    struct annot_session session = {0};
    int error = 0;
    while (error == 0 && session.range_request.answered != sequence && clock_now_ns() < end_ns) {
        nanosleep(&pause, NULL);
        error = session_file_peek(directory, name, &session);
        if (error == 0 && !session_file_is_live(directory, name))
            error = -ENOENT;
    }
    if (error != 0 || session.range_request.answered != sequence)
        return error != 0 ? error : -EINPROGRESS;
    take_answer(&session.range_request, ret_result);
    return session.range_request.error < 0 ? session.range_request.error : 0;
}

int collector_ask_range(int32_t pid, uint64_t id, const char *text,
                        struct sampler_range_result *ret_result)
{
    char name[SESSION_NAME_SIZE];
    struct directory opened;
    uint32_t sequence = 0;
    *ret_result = (struct sampler_range_result){0};
    if (strlen(text) > ANNOT_RANGE_REQUEST_MAX)
        return -E2BIG;
    int error = collector_place_open(pid, &opened);
    if (error != 0)
        return error;
    snprintf(name, sizeof(name), ANNOT_SESSION_PREFIX "%016" PRIx64, id);
    int lock_fd = directory_lock(&opened);
    error = lock_fd < 0 ? lock_fd : write_wish(&opened, name, text, &sequence);
    if (lock_fd >= 0)
        close(lock_fd);
    if (error == 0)
        error = wait_for_answer(&opened, name, sequence, ret_result);
    collector_place_close(&opened);
    return error;
}
