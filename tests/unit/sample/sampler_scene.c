/* SPDX-License-Identifier: MIT */
/* Runs samplers for tests. Thread-safety: one thread. */
#include "sampler_scene.h"

#include "clock_now.h"
#include "names.h"
#include "vec.h"

#include <errno.h>
#include <poll.h>
#include <stdio.h>
#include <stdlib.h>
#include <sys/wait.h>
#include <unistd.h>

enum { DEPTH = 1200 };

static int take(void *context, const struct sample *samples, size_t count)
{
    struct session *session = context;
    for (size_t i = 0; i < count; i++) {
        struct sample kept = samples[i];
        CHECK_INT(value_pool_keep(&session->values, &kept), 0);
        CHECK_INT(vec_push(&session->samples, kept), 0);
    }
    return 0;
}

struct session *session_open(struct sampler_options *options)
{
    struct session *session = calloc(1, sizeof(*session));
    session->trace = trace_create();
    session->lives = lives_create(session->trace);
    options->trace = session->trace;
    options->lives = session->lives;
    options->sink = take;
    options->context = session;
    if (!options->cache_directory)
        options->cache_directory = test_directory();
    CHECK_INT(sampler_create(options, &session->sampler), 0);
    const struct trace_sampling *sampling = trace_sampling_get(session->trace);
    if (sampling->rung != SAMPLING_BPF && options->rung_max == 0)
        test_skip("no BPF here: %s", trace_string(session->trace, sampling->reason)->bytes);
    return session;
}

static struct session_child start(struct session *session, int (*work)(void *), void *context,
                                  unsigned flags)
{
    int gate[2];
    char byte;
    CHECK_INT(pipe(gate), 0);
    pid_t pid = fork();
    if (pid == 0) {
        close(gate[1]);
        if (read(gate[0], &byte, 1) != 1)
            _exit(126);
        close(gate[0]);
        _exit(work(context));
    }
    close(gate[0]);
    CHECK(pid > 0);
    CHECK_INT(sampler_track(session->sampler, pid, flags), 0);
    return (struct session_child){pid, gate[1]};
}

static int become(void *context)
{
    char *const *argv = context;
    execvp(argv[0], argv);
    return 127;
}

struct session_child session_start(struct session *session, char *const argv[])
{
    return start(session, become, (void *)argv, SAMPLER_TRACK_WAIT_EXEC);
}

struct session_child session_fork(struct session *session, int (*work)(void *context),
                                  void *context)
{
    return start(session, work, context, 0);
}

void session_go(const struct session_child *child)
{
    CHECK_INT(write(child->gate, "", 1), 1);
    close(child->gate);
}

static void step(struct session *session, int limit_ms)
{
    struct pollfd fd = {.fd = sampler_fd(session->sampler), .events = POLLIN};
    int timeout = sampler_timeout_ms(session->sampler);
    if (timeout < 0 || timeout > limit_ms)
        timeout = limit_ms;
    poll(&fd, 1, timeout);
    CHECK_INT(sampler_step(session->sampler), 0);
}

int session_wait(struct session *session, pid_t pid)
{
    int status = 0;
    while (waitpid(pid, &status, WNOHANG) == 0)
        step(session, 50);
    return status;
}

int session_run(struct session *session, char *const argv[])
{
    struct session_child child = session_start(session, argv);
    session_go(&child);
    return session_wait(session, child.pid);
}

void session_steps(struct session *session, int milliseconds)
{
    int64_t end = clock_now_ns() / 1000000 + milliseconds;
    for (int64_t left; (left = end - clock_now_ns() / 1000000) > 0;)
        step(session, (int)left);
}

void session_finish(struct session *session)
{
    CHECK_INT(sampler_finish(session->sampler), 0);
}

void session_close(struct session *session)
{
    sampler_destroy(session->sampler);
    lives_destroy(session->lives);
    trace_destroy(session->trace);
    vec_free(&session->samples);
    value_pool_free(&session->values);
    free(session);
}

struct image *session_serve(struct session *session, pid_t pid, int64_t tls_offset,
                            const char *letter)
{
    struct image *image;
    char text[32];
    int64_t now_ns = clock_now_ns();
    struct names *names = calloc(1, sizeof(*names));
    names->page_count = 1;
    names->pages = calloc(1, sizeof(*names->pages));
    names->pages[0] = calloc(1024, sizeof(*names->pages[0]));
    for (uint32_t id = 1; id <= 100; id++) {
        int length = snprintf(text, sizeof(text), "%s%u", letter, id);
        names->pages[0][id] = (uint32_t)trace_string_add(session->trace, text, (size_t)length) + 1;
    }
    CHECK(lives_claim_process(session->lives, pid, 0, now_ns, &image) >= 0);
    image->served_ns = now_ns;
    image->tls_offset = tls_offset;
    image->names = names;
    lives_serve(session->lives, image);
    return image;
}

const char *frame_function(const struct session *session, const struct frame *frame)
{
    const struct stacks *stacks = trace_stacks_get(session->trace);
    return trace_string(session->trace, stacks_get_label(stacks, frame->label)->text)->bytes;
}

const char *frame_file(const struct session *session, const struct frame *frame)
{
    const struct stacks *stacks = trace_stacks_get(session->trace);
    uint32_t source = stacks_get_label(stacks, frame->label)->source;
    return trace_string(session->trace, stacks_get_source(stacks, source)->path)->bytes;
}

static const char *function_of(const struct session *session, uint32_t frame)
{
    return frame_function(session, stacks_get_frame(trace_stacks_get(session->trace), frame));
}

bool session_has(const struct session *session, const struct sample *sample, const char *function)
{
    uint32_t frames[DEPTH];
    uint32_t count = stacks_frames(trace_stacks_get(session->trace), sample->stack, frames, DEPTH);
    for (uint32_t i = 0; i < count; i++)
        if (strcmp(function_of(session, frames[i]), function) == 0)
            return true;
    return false;
}

const char *session_leaf(const struct session *session, const struct sample *sample)
{
    const struct stacks *stacks = trace_stacks_get(session->trace);
    return sample->stack ? function_of(session, stacks_get_stack(stacks, sample->stack)->frame)
                         : "";
}

const char *session_path(const struct session *session, const struct sample *sample)
{
    static char text[4096];
    uint32_t names[256];
    const struct stacks *stacks = trace_stacks_get(session->trace);
    uint32_t count = stacks_names(stacks, sample->path, names, 256);
    size_t length = 0;
    text[0] = 0;
    for (uint32_t i = 0; i < count && length < sizeof(text); i++)
        length += (size_t)snprintf(text + length, sizeof(text) - length, "%s%s", i ? "/" : "",
                                   trace_string(session->trace, names[i])->bytes);
    return text;
}

size_t session_count(const struct session *session, const char *function)
{
    size_t count = 0;
    for (size_t i = 0; i < session->samples.count; i++)
        count += session->samples.items[i].set == SAMPLE_SET_CPU &&
                 session_has(session, &session->samples.items[i], function);
    return count;
}

unsigned session_complete(const struct session *session)
{
    size_t complete = 0;
    for (size_t i = 0; i < session->samples.count; i++)
        complete += session->samples.items[i].native_end <= STACK_COMPLETE;
    return session->samples.count ? (unsigned)(complete * 1000 / session->samples.count) : 0;
}

uint64_t session_fact(const struct session *session, const char *name)
{
    for (uint32_t i = 0; i < trace_fact_count(session->trace); i++) {
        const struct trace_fact *fact = trace_fact_get(session->trace, i);
        if (strcmp(trace_string(session->trace, fact->name)->bytes, name) == 0)
            return fact->value;
    }
    return 0;
}

void session_print(const struct session *session, size_t count)
{
    uint32_t frames[DEPTH];
    for (size_t i = 0; i < session->samples.count && i < count; i++) {
        const struct sample *sample = &session->samples.items[i];
        uint32_t depth =
            stacks_frames(trace_stacks_get(session->trace), sample->stack, frames, DEPTH);
        fprintf(stderr, "thread %u %s/%s:", sample->thread, stack_end_name(sample->native_end),
                stack_end_name(sample->python_end));
        for (uint32_t f = 0; f < depth; f++)
            fprintf(stderr, "%s%s", f ? ";" : " ", function_of(session, frames[f]));
        fprintf(stderr, "\n");
    }
}
