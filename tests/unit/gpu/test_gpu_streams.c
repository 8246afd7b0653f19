/* SPDX-License-Identifier: MIT */
/* Streams, their names and numbers. */
#include "gpu_library.h"
#include "gpu_streams.h"
#include "test.h"

#include <pthread.h>
#include <signal.h>
#include <sys/wait.h>
#include <unistd.h>

enum { STREAM = 14, HANDLE = 0x1000 };

struct cupti cupti;
static uint32_t is_asked, may_answer; /* atomic */

/* Replaces that of libannot-inject, with a delay. */
__attribute__((visibility("default"))) const char *annot_inject_object(uint32_t kind,
                                                                       uint64_t value);

const char *annot_inject_object(uint32_t kind, uint64_t value)
{
    (void)kind;
    __atomic_store_n(&is_asked, 1, __ATOMIC_RELEASE);
    while (!__atomic_load_n(&may_answer, __ATOMIC_ACQUIRE))
        usleep(1000);
    return value == HANDLE ? "loader" : NULL;
}

static CUptiResult CUPTIAPI stream_id(CUcontext context, CUstream stream, uint8_t per_thread,
                                      uint32_t *id)
{
    (void)context;
    (void)stream;
    (void)per_thread;
    *id = STREAM;
    return CUPTI_SUCCESS;
}

static void launch(void)
{
    cuLaunchKernel_params words = {.hStream = (CUstream)(uintptr_t)HANDLE};
    const CUpti_CallbackData call = {
        .context = (CUcontext)(uintptr_t)1, .contextUid = 1, .functionParams = &words};
    cupti.get_stream_id = stream_id;
    gpu_stream_met(CUPTI_DRIVER_TRACE_CBID_cuLaunchKernel, &call);
}

static void *ask_for_name(void *text)
{
    gpu_stream_text(1, STREAM, text, 64);
    return NULL;
}

TEST(a_child_that_is_forked_while_a_name_is_asked_for_goes_on)
{
    pthread_t thread;
    char text[64];
    int status;
    launch();
    CHECK_INT(pthread_create(&thread, NULL, ask_for_name, text), 0);
    while (!__atomic_load_n(&is_asked, __ATOMIC_ACQUIRE))
        usleep(1000);
    pid_t child = fork();
    if (child == 0) {
        alarm(10);
        gpu_streams_forget();
        may_answer = 1;
        gpu_stream_gone((CUstream)(uintptr_t)HANDLE);
        _exit(0);
    }
    CHECK_INT(waitpid(child, &status, 0), child);
    CHECK_INT(status, 0);
    __atomic_store_n(&may_answer, 1, __ATOMIC_RELEASE);
    CHECK_INT(pthread_join(thread, NULL), 0);
    CHECK_STR(text, "loader (stream 14)");
}
