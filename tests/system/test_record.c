/* SPDX-License-Identifier: MIT */
/* `annot record` from the view of its command and its user: streams, signals, terminal, time,
 * disk. */
#include "scene.h"
#include "test.h"

#include <poll.h>
#include <pty.h>
#include <sched.h>
#include <signal.h>
#include <stdio.h>
#include <stdlib.h>
#include <sys/mount.h>
#include <sys/stat.h>
#include <sys/wait.h>
#include <time.h>
#include <unistd.h>

static double now(void)
{
    struct timespec time;
    clock_gettime(CLOCK_MONOTONIC, &time);
    return (double)time.tv_sec + (double)time.tv_nsec / 1e9;
}

/* Runs a shell line; its exit status. */
static int shell(const char *line)
{
    fflush(NULL);
    int status = system(line);
    CHECK(WIFEXITED(status));
    return WEXITSTATUS(status);
}

TEST(standard_streams_are_the_commands)
{
    struct scene scene;
    char line[1024];
    scene_begin(&scene);
    snprintf(line, sizeof(line),
             "cd %s && head -c 300000 /dev/urandom >in && "
             "$ANNOT record -o s.annot -- sh -c 'cat; echo oops >&2' <in >out 2>err && "
             "cmp in out && head -1 err | grep -qx oops",
             test_directory());
    CHECK_INT(shell(line), 0);
    scene_end(&scene);
}

TEST(default_name_is_made_of_command_and_time_and_never_taken_twice)
{
    struct scene scene;
    char line[1024];
    scene_begin(&scene);
    snprintf(line, sizeof(line),
             "cd %s && for i in 1 2 3; do $ANNOT record -- true || exit 1; done 2>/dev/null; "
             "test $(ls | grep -cE '^true-[0-9]{8}-[0-9]{6}(-[0-9]+)?\\.annot$') = 3",
             test_directory());
    CHECK_INT(shell(line), 0);
    scene_end(&scene);
}

TEST(termination_goes_to_the_command_and_the_recording_is_completed)
{
    struct scene scene;
    scene_begin(&scene);
    pid_t annot = scene_record(scene_path("t.annot"), "main", "hold");
    scene_await(&scene, 1);
    kill(annot, SIGTERM);
    int status = scene_wait(annot);
    CHECK(WIFSIGNALED(status) && WTERMSIG(status) == SIGTERM);
    struct scene_recording recording = scene_read(scene_path("t.annot"));
    CHECK(recording.complete);
    CHECK_INT(recording.record_count, scene_committed(&scene));
    scene_end(&scene);
}

TEST(time_options_cut_out_a_part)
{
    struct scene scene;
    scene_begin(&scene);
    const char *const delayed[] = {"record", "-o", scene_path("d.annot"), "--delay",
                                   "60s",    "--", getenv("KILL_TARGET"), "main",
                                   "return", NULL};
    CHECK_INT(scene_run(delayed), 0);
    CHECK_INT(scene_read(scene_path("d.annot")).record_count, 0);
    const char *const cut[] = {"record", "-o", scene_path("c.annot"), "--duration",
                               "1s",     "--", getenv("KILL_TARGET"), "main",
                               "hold",   NULL};
    double begin = now();
    uint64_t before = scene_committed(&scene);
    pid_t annot = scene_annot(cut);
    scene_await(&scene, 1);
    struct scene_recording recording = {0};
    while (!recording.complete && now() - begin < 20) { /* while the command runs */
        usleep(100000);
        recording = scene_read(scene_path("c.annot"));
    }
    CHECK(recording.complete);
    CHECK_INT(recording.record_count, scene_committed(&scene) - before);
    CHECK_INT(recording.ends[PROCESS_RUNNING], 1);
    scene_go_on(&scene);
    CHECK_INT(scene_wait(annot), 0);
    CHECK(now() - begin >= 1);
    scene_end(&scene);
}

TEST(survivors_of_the_command_are_still_running)
{
    struct scene scene;
    char line[1024];
    scene_begin(&scene);
    snprintf(line, sizeof(line),
             "$ANNOT record -o %s -- sh -c '$KILL_TARGET main hold & sleep 0.2'",
             scene_path("s.annot"));
    CHECK_INT(shell(line), 0);
    struct scene_recording recording = scene_read(scene_path("s.annot"));
    CHECK_INT(recording.ends[PROCESS_RUNNING], 1);
    CHECK_INT(recording.record_count, scene_committed(&scene));
    scene_go_on(&scene);
    while (waitpid(-1, NULL, 0) > 0)
        continue;
    rmdir(scene.directory); /* its page was still mapped when the session ended */
    unlink(scene_path("x"));
    shell("rm -rf $ANNOT_DIR");
    scene_end(&scene);
}

TEST(exec_ends_one_program_and_begins_another)
{
    struct scene scene;
    char line[1024];
    scene_begin(&scene);
    snprintf(line, sizeof(line), "$ANNOT record --sampling=none -o %s -- $KILL_TARGET exec exec",
             scene_path("x.annot"));
    CHECK_INT(shell(line), 0);
    struct scene_recording recording = scene_read(scene_path("x.annot"));
    CHECK_INT(recording.process_count, 2);
    CHECK_INT(recording.ends[PROCESS_EXEC], 1);
    CHECK_INT(recording.ends[PROCESS_EXITED], 1);
    CHECK_INT(recording.record_count, scene_committed(&scene));
    scene_end(&scene);
}

/* A disk of 3 MiB: a flush or more fit. Names that do not compress fill it. */
TEST(full_disk_keeps_what_is_whole)
{
    struct scene scene;
    char line[1024], path[300];
    if (unshare(CLONE_NEWNS) != 0 || mount("none", "/", NULL, MS_REC | MS_PRIVATE, NULL) != 0)
        test_skip("mounting a small file system needs privileges");
    scene_begin(&scene);
    snprintf(path, sizeof(path), "%s", scene_path("disk"));
    CHECK_INT(mkdir(path, 0700), 0);
    CHECK_INT(mount("small", path, "tmpfs", 0, "size=3m"), 0);
    snprintf(line, sizeof(line),
             "$ANNOT record --pool-size 256K -o %s/f.annot -- $KILL_TARGET noise exit 2>%s", path,
             scene_path("err"));
    CHECK_INT(shell(line), 3); /* the command went on and ended as it wanted */
    snprintf(line, sizeof(line), "grep -q 'No space left' %s", scene_path("err"));
    CHECK_INT(shell(line), 0);
    snprintf(line, sizeof(line), "%s/f.annot", path);
    struct scene_recording recording = scene_read(line);
    CHECK(!recording.complete);
    CHECK(recording.record_count > 0 && recording.record_count < scene_committed(&scene));
    uint32_t threads = recording.thread_count;
    uint64_t before = recording.record_count;
    CHECK(shell("$ANNOT recover") != 0); /* still no room */
    CHECK_INT(mount("small", path, "tmpfs", MS_REMOUNT, "size=30m"), 0);
    CHECK_INT(shell("$ANNOT recover"), 0);
    recording = scene_read(line);
    CHECK(recording.complete);
    CHECK(recording.record_count > before); /* contents of the program's buffer */
    CHECK_INT(recording.record_count + recording.lost_count, scene_committed(&scene));
    CHECK_INT(recording.thread_count, threads);
    CHECK_INT(umount(path), 0);
    scene_end(&scene);
}

/* ---- Terminal ---- */

struct terminal {
    int fd;
    pid_t pid;
    char text[65536];
    size_t length;
};

/* A shell with job control on a new terminal. */
static void open_terminal(struct terminal *terminal)
{
    *terminal = (struct terminal){0};
    fflush(NULL);
    terminal->pid = forkpty(&terminal->fd, NULL, NULL, NULL);
    if (terminal->pid == 0) {
        setenv("PS1", "ready$ ", 1);
        setenv("TERM", "dumb", 1);
        execlp("bash", "bash", "--norc", "--noprofile", "-i", (char *)NULL);
        _exit(127);
    }
    CHECK(terminal->pid > 0);
}

/* Reads until `wanted` appears after the previously awaited text. */
static void await(struct terminal *terminal, const char *wanted)
{
    double end = now() + 10;
    while (!strstr(terminal->text, wanted)) {
        struct pollfd poll_fd = {.fd = terminal->fd, .events = POLLIN};
        if (now() > end || terminal->length + 1 >= sizeof(terminal->text))
            test_fail(__FILE__, __LINE__, "no \"%s\" in: %s", wanted, terminal->text);
        if (poll(&poll_fd, 1, 100) != 1)
            continue;
        ssize_t got = read(terminal->fd, terminal->text + terminal->length,
                           sizeof(terminal->text) - 1 - terminal->length);
        if (got > 0)
            terminal->length += (size_t)got;
        terminal->text[terminal->length] = 0;
    }
    const char *rest = strstr(terminal->text, wanted) + strlen(wanted);
    terminal->length = strlen(rest);
    memmove(terminal->text, rest, terminal->length + 1);
}

static void type(const struct terminal *terminal, const char *keys)
{
    CHECK_INT(write(terminal->fd, keys, strlen(keys)), strlen(keys));
}

static void close_terminal(struct terminal *terminal)
{
    type(terminal, "exit\n");
    close(terminal->fd);
    kill(terminal->pid, SIGHUP);
    waitpid(terminal->pid, NULL, 0);
}

TEST(interrupt_key_goes_to_the_command_and_the_recording_is_completed)
{
    struct scene scene;
    struct terminal terminal;
    char line[700];
    scene_begin(&scene);
    open_terminal(&terminal);
    await(&terminal, "ready$ ");
    snprintf(line, sizeof(line), "$ANNOT record -o %s -- $KILL_TARGET main hold; echo st=$?\n",
             scene_path("i.annot"));
    type(&terminal, line);
    scene_await(&scene, 1);
    usleep(50000);
    type(&terminal, "\x03");
    await(&terminal, "ready$ ");
    close_terminal(&terminal);
    struct scene_recording recording = scene_read(scene_path("i.annot"));
    CHECK(recording.complete);
    CHECK_INT(recording.ends[PROCESS_SIGNALED], 1);
    CHECK_INT(recording.record_count, scene_committed(&scene));
    scene_end(&scene);
}

TEST(stop_key_and_fg_work)
{
    struct scene scene;
    struct terminal terminal;
    char line[700];
    scene_begin(&scene);
    open_terminal(&terminal);
    await(&terminal, "ready$ ");
    snprintf(line, sizeof(line), "$ANNOT record -o %s -- $KILL_TARGET main hold; echo st=$?\n",
             scene_path("z.annot"));
    type(&terminal, line);
    scene_await(&scene, 1);
    usleep(50000);
    type(&terminal, "\x1a");
    await(&terminal, "Stopped");
    await(&terminal, "ready$ ");
    type(&terminal, "fg; echo end=$?\n");
    usleep(100000);
    scene_go_on(&scene);
    await(&terminal, "end=0");
    close_terminal(&terminal);
    CHECK_INT(scene_read(scene_path("z.annot")).record_count, scene_committed(&scene));
    scene_end(&scene);
}

TEST(a_shell_works_under_it)
{
    struct scene scene;
    struct terminal terminal;
    char line[700];
    scene_begin(&scene);
    open_terminal(&terminal);
    await(&terminal, "ready$ ");
    snprintf(line, sizeof(line),
             "PS1='inner# ' $ANNOT record -o %s -- bash --norc --noprofile -i\n",
             scene_path("b.annot"));
    type(&terminal, line);
    await(&terminal, "inner# ");
    type(&terminal, "sleep 30\n");
    usleep(200000);
    type(&terminal, "\x1a");
    await(&terminal, "Stopped");
    await(&terminal, "inner# ");
    type(&terminal, "kill %1; $KILL_TARGET main return; echo done=$?\n");
    await(&terminal, "done=0");
    type(&terminal, "exit 7\n");
    await(&terminal, "ready$ ");
    type(&terminal, "echo code=$?\n");
    await(&terminal, "code=7");
    close_terminal(&terminal);
    CHECK_INT(scene_read(scene_path("b.annot")).record_count, scene_committed(&scene));
    scene_end(&scene);
}
