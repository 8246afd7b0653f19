/* SPDX-License-Identifier: MIT */
/* Files that assign sessions to programs, with several collectors attaching and leaving at once. */
#include "session_file.h"
#include "target.h"
#include "test.h"

#include <stdbool.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/wait.h>
#include <unistd.h>

static struct directory directory;
static struct target target;
static char name[TARGET_NAME_SIZE];

static void open_place(char *path)
{
    CHECK(mkdtemp(path) != NULL);
    CHECK_INT(directory_open(path, &directory), 0);
    CHECK(directory_wake(&directory) > 0);
    CHECK_INT(target_look(getpid(), &target), 0);
    target_name(&target, name);
}

/* ---- Another collector attaches while a file is removed ---- */

int __real_unlinkat(int directory_fd, const char *path, int flags);
int __wrap_unlinkat(int directory_fd, const char *path, int flags);

static bool is_watched;
static pid_t newcomer;

static int start[2];

static void claim_for_the_second(void)
{
    struct annot_session other;
    char byte;
    _exit(read(start[0], &byte, 1) == 1 && target_claim(&directory, &target, 2, &other) == 0 ? 0
                                                                                             : 1);
}

/* The newcomer has finished by then, or waits for permission. */
int __wrap_unlinkat(int directory_fd, const char *path, int flags)
{
    siginfo_t ended = {0};
    if (!is_watched || strcmp(path, name) != 0)
        return __real_unlinkat(directory_fd, path, flags);
    is_watched = false;
    CHECK_INT(write(start[1], "x", 1), 1);
    for (int i = 0; i < 250 && ended.si_pid == 0; i++) {
        usleep(1000);
        waitid(P_PID, (id_t)newcomer, &ended, WEXITED | WNOHANG | WNOWAIT);
    }
    return __real_unlinkat(directory_fd, path, flags);
}

TEST(who_leaves_takes_only_its_own_file)
{
    char path[] = "/dev/shm/annot-test-targets-XXXXXX";
    struct annot_session session = {.magic = ANNOT_SESSION_MAGIC,
                                    .major = ANNOT_WIRE_MAJOR,
                                    .minor = ANNOT_WIRE_MINOR,
                                    .id = 2};
    struct annot_session found;
    struct session_file file;
    int status;
    open_place(path);
    CHECK_INT(session_file_create(&directory, &session, &file), 0);
    CHECK_INT(target_claim(&directory, &target, 1, &found), 0); /* of a session that ends */
    CHECK_INT(pipe(start), 0);
    newcomer = fork();
    if (newcomer == 0)
        claim_for_the_second();
    is_watched = true;
    target_release(&directory, name, 1);
    CHECK(!is_watched);
    CHECK_INT(waitpid(newcomer, &status, 0), newcomer);
    CHECK_INT(status, 0);
    CHECK_INT(target_find_session(&directory, &target, &found), 1);
    CHECK_INT(found.id, 2);
    target_release(&directory, name, 2);
    close(start[0]);
    close(start[1]);
    session_file_remove(&directory, &file);
    target_sweep(&directory);
    directory.made = true;
    CHECK_INT(directory_remove_unused(&directory), 1);
    directory_close(&directory);
}
