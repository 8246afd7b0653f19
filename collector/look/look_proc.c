/* SPDX-License-Identifier: MIT */
/* Reading /proc/PID/task/TID. Texts are foreign. Thread-safety: pure functions. */
#include "look_parts.h"

#include "file_io.h"
#include "proc_info.h"
#include "vec.h"

#include <dirent.h>
#include <errno.h>
#include <inttypes.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/stat.h>

static bool read_thread(pid_t pid, int32_t tid, struct look_thread *thread)
{
    char path[64], text[4096];
    *thread = (struct look_thread){.tid = tid, .ns_tid = tid, .syscall = -1};
    snprintf(path, sizeof(path), "/proc/%d/task/%d/status", (int)pid, (int)tid);
    if (file_read_text(path, text, sizeof(text)) <= 0)
        return false;
    const char *state = strstr(text, "\nState:\t");
    thread->state = '?';
    if (state)
        thread->state = state[strlen("\nState:\t")];
    thread->running = thread->state == 'R';
    int32_t inside = proc_innermost(text);
    if (inside)
        thread->ns_tid = inside;
    snprintf(path, sizeof(path), "/proc/%d/task/%d/comm", (int)pid, (int)tid);
    if (file_read_text(path, text, sizeof(text)) > 0)
        snprintf(thread->comm, sizeof(thread->comm), "%.*s", (int)strcspn(text, "\n"), text);
    return true;
}

struct look_thread *look_proc_threads(pid_t pid, uint32_t *ret_count)
{
    VEC(struct look_thread) threads = {0};
    char path[64];
    struct dirent *entry;
    snprintf(path, sizeof(path), "/proc/%d/task", (int)pid);
    DIR *directory = opendir(path);
    if (!directory)
        return NULL;
    while ((entry = readdir(directory))) {
        struct look_thread thread;
        int32_t tid = (int32_t)strtol(entry->d_name, NULL, 10);
        if (tid <= 0 || !read_thread(pid, tid, &thread))
            continue;
        if (vec_push(&threads, thread) != 0)
            break;
    }
    closedir(directory);
    if (threads.count == 0)
        errno = ESRCH;
    *ret_count = (uint32_t)threads.count;
    return threads.items;
}

void look_proc_call(pid_t pid, int32_t tid, struct look_call *ret_call)
{
    char path[64], text[512];
    uint64_t *a = ret_call->arguments;
    *ret_call = (struct look_call){.number = -1};
    snprintf(path, sizeof(path), "/proc/%d/task/%d/syscall", (int)pid, (int)tid);
    if (file_read_text(path, text, sizeof(text)) <= 0)
        return; /* denied, or gone */
    int number, got = sscanf(text,
                             "%d %" SCNx64 " %" SCNx64 " %" SCNx64 " %" SCNx64 " %" SCNx64
                             " %" SCNx64 " %" SCNx64 " %" SCNx64,
                             &number, &a[0], &a[1], &a[2], &a[3], &a[4], &a[5], &ret_call->sp,
                             &ret_call->pc);
    if (got == 3) { /* "-1 sp pc": a page fault */
        ret_call->sp = a[0];
        ret_call->pc = a[1];
    }
    ret_call->known = got == 9 || got == 3;
    ret_call->number = ret_call->known && number >= 0 ? number : -1;
}

uint32_t look_proc_file_mode(pid_t pid, uint64_t descriptor)
{
    char path[64];
    struct stat status;
    if (descriptor > INT32_MAX)
        return 0;
    snprintf(path, sizeof(path), "/proc/%d/fd/%d", (int)pid, (int)descriptor);
    return stat(path, &status) == 0 ? status.st_mode : 0;
}
