/* SPDX-License-Identifier: MIT */
/* Runs code in an interpreter of CPython 3.14 or later through its interface for debuggers.
 *
 * The path of a file is written into the state of its main thread, and a bit signals it; the thread
 * runs the file between two of its instructions. Source: PEP 768; "Remote debugging attachment
 * protocol" in CPython's documentation. The process is not stopped. A waiting thread does not run
 * the file: then the request is withdrawn. Renaming a file, which only one side can do, decides
 * this, and that it runs once. The folder belongs to the user of the process, inside its root. */
#include "look_debugger.h"

#include "look_enter.h"
#include "look_place.h"
#include "look_python.h"
#include "python_runtime.h"

#include "clock_now.h"
#include "file_io.h"
#include "proc_info.h"
#include "text.h"

#include <errno.h>
#include <fcntl.h>
#include <limits.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/stat.h>
#include <sys/uio.h>
#include <time.h>
#include <unistd.h>

enum {
    INTERPRETERS_MAX = 1024,
    PAUSE_NS = 1000000,
    TAKEN_NS = 100000000, /* then it is withdrawn */
    DONE_NS = 2000000000,
    LATE_NS = 20000000, /* it may have read the path just before */
};

struct debugger {
    const struct look_python *run;
    struct python_debugger at;
    uint64_t thread;
    int folder;                         /* -1: not created */
    char inside[64], outside[PATH_MAX]; /* its path in the process's view, and in ours */
};

/* ---- Its memory ------------------------------------------------------------------------------ */

static bool get(const struct debugger *debugger, uint64_t address, void *bytes, size_t size)
{
    return proc_read_memory(debugger->run->pid, address, bytes, size) == (int64_t)size;
}

static bool put(const struct debugger *debugger, uint64_t address, const void *bytes, size_t size)
{
    const struct iovec from = {(void *)bytes, size};
    const struct iovec to = {(void *)(uintptr_t)address, size};
    return process_vm_writev(debugger->run->pid, &from, 1, &to, 1, 0) == (ssize_t)size;
}

/* The main interpreter has id 0. */
static uint64_t find_interpreter(const struct debugger *debugger, uint64_t runtime)
{
    uint64_t interpreter = 0;
    int64_t id = -1;
    if (!get(debugger, runtime + debugger->at.runtime_interpreters_head, &interpreter, 8))
        return 0;
    for (int i = 0; i < INTERPRETERS_MAX && interpreter; i++) {
        if (!get(debugger, interpreter + debugger->at.interp_id, &id, sizeof(id)))
            return 0;
        if (id == 0)
            return interpreter;
        if (!get(debugger, interpreter + debugger->at.interp_next, &interpreter, 8))
            return 0;
    }
    return 0;
}

/* Finds the main thread; false: it has no such interface, or another request is pending. */
static bool find_thread(struct debugger *debugger, const struct python_location *location)
{
    uint8_t bytes[PYTHON_DEBUG_OFFSETS_SIZE];
    int32_t enabled = 0, pending = 1;
    uint64_t runtime = location->image.runtime + location->bias;
    if (location->image.runtime == 0 || !get(debugger, runtime, bytes, sizeof(bytes)) ||
        python_offsets_debugger(bytes, sizeof(bytes), &debugger->at) != 0)
        return false;
    uint64_t interpreter = find_interpreter(debugger, runtime);
    return interpreter &&
           get(debugger, interpreter + debugger->at.interp_enabled, &enabled, sizeof(enabled)) &&
           enabled == 1 &&
           get(debugger, interpreter + debugger->at.interp_main_thread, &debugger->thread, 8) &&
           debugger->thread &&
           get(debugger, debugger->thread + debugger->at.tstate_pending, &pending,
               sizeof(pending)) &&
           pending == 0;
}

/* Writes the path, then the pending flag, then the bit that makes the thread look. Of the last word
 * only its lowest byte, as other threads change the rest. */
static bool emit_thread(const struct debugger *debugger, const char *path)
{
    const int32_t pending = 1;
    uint64_t breaker_at = debugger->thread + debugger->at.tstate_breaker;
    uint8_t breaker;
    if (!put(debugger, debugger->thread + debugger->at.tstate_path, path, strlen(path) + 1) ||
        !put(debugger, debugger->thread + debugger->at.tstate_pending, &pending, sizeof(pending)) ||
        !get(debugger, breaker_at, &breaker, 1))
        return false;
    breaker |= PYTHON_PLEASE_STOP;
    return put(debugger, breaker_at, &breaker, 1);
}

/* ---- The folder ------------------------------------------------------------------------------ */

static const char *const names[] = {"run.py",    "asked",      "taken",
                                    "withdrawn", "answer.new", "answer"};

static void remove_folder(struct debugger *debugger)
{
    if (debugger->folder < 0)
        return;
    for (size_t i = 0; i < sizeof(names) / sizeof(names[0]); i++)
        unlinkat(debugger->folder, names[i], 0);
    close(debugger->folder);
    rmdir(debugger->outside);
    debugger->folder = -1;
}

static int make_folder(struct debugger *debugger)
{
    static const char *const places[] = {"/tmp", "/dev/shm", "/var/tmp"};
    for (size_t i = 0; i < sizeof(places) / sizeof(places[0]) && debugger->folder < 0; i++) {
        snprintf(debugger->outside, sizeof(debugger->outside), "/proc/%d/root%s/annot-ask-XXXXXX",
                 (int)debugger->run->pid, places[i]);
        if (!mkdtemp(debugger->outside))
            continue;
        snprintf(debugger->inside, sizeof(debugger->inside), "%s%s", places[i],
                 strrchr(debugger->outside, '/'));
        debugger->folder = open(debugger->outside, O_RDONLY | O_DIRECTORY | O_NOFOLLOW | O_CLOEXEC);
        if (debugger->folder < 0)
            rmdir(debugger->outside);
    }
    return debugger->folder < 0 ? -EACCES : 0;
}

static int make_file(const struct debugger *debugger, const char *name, const struct text *text,
                     const struct stat *owner)
{
    int fd = openat(debugger->folder, name, O_WRONLY | O_CREAT | O_EXCL | O_CLOEXEC, 0600);
    int error = fd < 0 ? -errno : 0;
    if (error == 0 && text)
        error = file_write_all(fd, text->buffer, text->length);
    if (error == 0 && owner->st_uid != geteuid() && fchown(fd, owner->st_uid, owner->st_gid) != 0)
        error = -errno;
    if (fd >= 0)
        close(fd);
    return error;
}

static int fill_folder(const struct debugger *debugger)
{
    static char bytes[LOOK_MAIL_SIZE];
    char take[256], answer[512], path[64];
    struct text script = text_init(bytes, sizeof(bytes));
    struct stat owner;
    const char *in = debugger->inside;
    snprintf(take, sizeof(take), " os.rename('%s/asked', '%s/taken')\n", in, in);
    snprintf(answer, sizeof(answer),
             " with open('%s/answer.new', 'wb') as f:\n  f.write(answer)\n"
             " os.rename('%s/answer.new', '%s/answer')\n",
             in, in, in);
    int error = look_python_compose(debugger->run, &(struct look_mail){take, answer}, &script);
    snprintf(path, sizeof(path), "/proc/%d", (int)debugger->run->pid);
    if (error == 0 && stat(path, &owner) != 0)
        error = -errno;
    if (error == 0)
        error = make_file(debugger, "run.py", &script, &owner);
    if (error == 0)
        error = make_file(debugger, "asked", NULL, &owner);
    if (error == 0 && owner.st_uid != geteuid() &&
        fchown(debugger->folder, owner.st_uid, owner.st_gid) != 0)
        error = -errno;
    return error;
}

/* ---- Requests -------------------------------------------------------------------------------- */

static bool exists(const struct debugger *debugger, const char *name)
{
    return faccessat(debugger->folder, name, F_OK, AT_SYMLINK_NOFOLLOW) == 0;
}

static bool wait_for(const struct debugger *debugger, const char *name, int64_t patience_ns)
{
    const struct timespec pause = {0, PAUSE_NS};
    int64_t end_ns = clock_now_ns() + patience_ns;
    while (!exists(debugger, name) && clock_now_ns() < end_ns)
        nanosleep(&pause, NULL);
    return exists(debugger, name);
}

/* True if the file was not taken, and will not be run. */
static bool withdraw(const struct debugger *debugger)
{
    const int32_t pending = 0;
    const struct timespec late = {0, LATE_NS};
    if (renameat(debugger->folder, "asked", debugger->folder, "withdrawn") != 0)
        return false;
    (void)put(debugger, debugger->thread + debugger->at.tstate_pending, &pending, sizeof(pending));
    nanosleep(&late, NULL);
    return true;
}

static int take_answer(const struct debugger *debugger, char answer[LOOK_ANSWER_SIZE],
                       struct look_reason *reason)
{
    int fd = file_open_regular(debugger->folder, "answer", O_RDONLY, NULL);
    ssize_t size = fd < 0 ? fd : file_read_at(fd, answer, LOOK_ANSWER_SIZE - 1, 0);
    if (fd >= 0)
        close(fd);
    if (size <= 0)
        return look_refuse(reason, "its answer cannot be read");
    answer[size] = 0;
    return look_python_answer(answer, reason);
}

static int ask(struct debugger *debugger, char answer[LOOK_ANSWER_SIZE], struct look_reason *reason)
{
    char path[sizeof(debugger->inside) + 8];
    snprintf(path, sizeof(path), "%s/run.py", debugger->inside);
    if (strlen(path) >= debugger->at.path_size || !emit_thread(debugger, path))
        return LOOK_NOT_TAKEN;
    if (!wait_for(debugger, "taken", TAKEN_NS) && withdraw(debugger))
        return LOOK_NOT_TAKEN;
    if (wait_for(debugger, "answer", DONE_NS))
        return take_answer(debugger, answer, reason);
    look_refuse(reason, "it is busy with what it was asked");
    return -EINPROGRESS;
}

int look_debugger_run(const struct look_python *run, char answer[LOOK_ANSWER_SIZE],
                      struct look_reason *ret_reason)
{
    static struct debugger debugger;
    struct python_location location;
    debugger = (struct debugger){.run = run, .folder = -1};
    if (python_locate(run->pid, &location) != 0 || !find_thread(&debugger, &location))
        return LOOK_NOT_TAKEN;
    if (!location.published && !run->enters) {
        look_refuse(ret_reason, "pyannot is not in it");
        return -ENOENT;
    }
    int error = make_folder(&debugger);
    if (error == 0)
        error = fill_folder(&debugger);
    error = error ? LOOK_NOT_TAKEN : ask(&debugger, answer, ret_reason);
    remove_folder(&debugger);
    return error;
}
