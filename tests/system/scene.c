/* SPDX-License-Identifier: MIT */
/* Helpers of the system tests. */
#include "scene.h"

#include "reader.h"
#include "test.h"

#include <fcntl.h>
#include <stdio.h>
#include <stdlib.h>
#include <sys/mman.h>
#include <sys/prctl.h>
#include <sys/wait.h>
#include <unistd.h>

enum { ARGUMENTS_MAX = 16 };

const char *scene_path(const char *name)
{
    static char paths[8][512];
    static unsigned next;
    char *path = paths[next++ % 8];
    snprintf(path, sizeof(paths[0]), "%s/%s", test_directory(), name);
    return path;
}

void scene_begin(struct scene *scene)
{
    snprintf(scene->directory, sizeof(scene->directory), "/dev/shm/annot-test-%d", (int)getpid());
    setenv("ANNOT_DIR", scene->directory, 1);
    unsetenv("ANNOT_SESSION");
    prctl(PR_SET_CHILD_SUBREAPER, 1); /* programs of a killed annot stay ours */
    snprintf(scene->counts_path, sizeof(scene->counts_path), "%s", scene_path("counts"));
    setenv("KILL_COUNTS", scene->counts_path, 1);
    int fd = open(scene->counts_path, O_RDWR | O_CREAT | O_TRUNC, 0666);
    CHECK(fd >= 0 && ftruncate(fd, sizeof(*scene->counts)) == 0);
    scene->counts = mmap(NULL, sizeof(*scene->counts), PROT_READ | PROT_WRITE, MAP_SHARED, fd, 0);
    CHECK(scene->counts != MAP_FAILED);
    close(fd);
}

void scene_end(struct scene *scene)
{
    while (waitpid(-1, NULL, 0) > 0)
        continue;
    /* Programs that outlived their annot, or a machine that was stopped, leave it to the next. */
    const char *const recover[] = {"recover", NULL};
    /* On a busy machine the search for processes that map the wake page may run out of time. */
    for (int i = 0; i < 10 && access(scene->directory, F_OK) == 0; i++) {
        usleep(i * 100000);
        scene_run(recover);
    }
    if (access(scene->directory, F_OK) == 0)
        test_fail(__FILE__, __LINE__, "%s is still there", scene->directory);
    munmap(scene->counts, sizeof(*scene->counts));
}

pid_t scene_annot(const char *const *arguments)
{
    const char *argv[ARGUMENTS_MAX] = {getenv("ANNOT")};
    for (int i = 0; arguments[i] && i + 2 < ARGUMENTS_MAX; i++)
        argv[i + 1] = arguments[i];
    CHECK(argv[0] != NULL);
    fflush(NULL);
    pid_t pid = fork();
    if (pid == 0) {
        execv(argv[0], (char *const *)argv);
        _exit(98);
    }
    CHECK(pid > 0);
    return pid;
}

int scene_wait(pid_t pid)
{
    int status = -1;
    CHECK_INT(waitpid(pid, &status, 0), pid);
    return status;
}

int scene_run(const char *const *arguments)
{
    return scene_wait(scene_annot(arguments));
}

pid_t scene_record(const char *file, const char *mode, const char *end)
{
    /* Annotations only: sampled processes and threads would add to the counts. */
    const char *arguments[] = {
        "record", "--sampling=none", "-o", file, "--", getenv("KILL_TARGET"), mode, end, NULL};
    return scene_annot(arguments);
}

void scene_await(const struct scene *scene, uint32_t count)
{
    while (__atomic_load_n(&scene->counts->holding, __ATOMIC_SEQ_CST) < count)
        usleep(1000);
}

void scene_go_on(struct scene *scene)
{
    __atomic_store_n(&scene->counts->go_on, 1, __ATOMIC_SEQ_CST);
}

uint64_t scene_committed(const struct scene *scene)
{
    uint64_t total = 0;
    for (int i = 0; i < KILL_SLOTS; i++)
        total += scene->counts->calls[i];
    return total;
}

static void count_batch(struct scene_recording *recording, const struct event_batch *batch)
{
    for (uint32_t i = 0; i < batch->count; i++) {
        const struct event *event = &batch->events[i];
        if (event->kind == EVENT_LOST)
            recording->lost_count += event->value.uint64;
        else if (event->kind != EVENT_EDGE)
            recording->record_count++;
    }
}

struct scene_recording scene_read(const char *path)
{
    struct scene_recording recording = {0};
    struct store_reader *reader;
    struct event_batch batch;
    struct store_info info;
    int error = store_reader_open(path, &reader);
    if (error != 0)
        test_fail(__FILE__, __LINE__, "%s: %s", path, strerror(-error));
    while ((error = store_reader_next(reader, &batch)) == 1)
        count_batch(&recording, &batch);
    CHECK_INT(error, 0);
    const struct trace *trace = store_reader_trace(reader);
    recording.process_count = trace_process_count(trace);
    recording.thread_count = trace_thread_count(trace);
    recording.refusal_count = trace_refusal_count(trace);
    for (uint32_t i = 0; i < recording.process_count; i++) {
        const struct trace_process *process = trace_process_get(trace, i);
        recording.ends[process->end & 7]++;
        for (int cause = 0; cause < LOSS_COUNT; cause++)
            recording.told_count += process->lost[cause];
        recording.other_pid_count += process->pid != process->ns_pid;
        recording.orphan_count += process->parent < 0;
    }
    snprintf(recording.nested, sizeof(recording.nested), "%s",
             trace_string(trace, trace_session_get(trace)->nested)->bytes);
    store_reader_info(reader, &info);
    recording.complete = info.complete;
    store_reader_close(reader);
    return recording;
}

uint64_t scene_read_some(const char *path, const uint64_t *identities, unsigned count)
{
    struct store_reader *reader;
    uint64_t total = 0;
    CHECK_INT(store_reader_open(path, &reader), 0);
    const struct trace *trace = store_reader_trace(reader);
    for (uint32_t i = 0; i < trace_process_count(trace); i++)
        for (unsigned k = 0; k < count; k++)
            if (trace_process_get(trace, i)->identity == identities[k])
                total += trace_process_get(trace, i)->event_count;
    store_reader_close(reader);
    return total;
}
