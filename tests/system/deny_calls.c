/* SPDX-License-Identifier: MIT */
/* Runs a program for which some system calls fail, as sandboxes and containers make them.
 *
 *     deny_calls EPERM|ENOSYS CALL[,CALL]... PROGRAM [ARGUMENT]...
 *
 * Needs no rights: no_new_privs is set where the filter cannot be installed without. Exits with 125
 * if it cannot do its part. */
#include <errno.h>
#include <linux/audit.h>
#include <linux/filter.h>
#include <linux/seccomp.h>
#include <stddef.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/prctl.h>
#include <sys/syscall.h>
#include <unistd.h>

enum { CALLS_MAX = 16, FAILED = 125 };

static const struct {
    const char *name;
    unsigned number;
} known[] = {
    {"bpf", SYS_bpf},
    {"perf_event_open", SYS_perf_event_open},
    {"process_vm_readv", SYS_process_vm_readv},
    {"ptrace", SYS_ptrace},
    {"pidfd_open", SYS_pidfd_open},
};

static int call_number(const char *name)
{
    for (size_t i = 0; i < sizeof(known) / sizeof(*known); i++) {
        if (strcmp(known[i].name, name) == 0)
            return (int)known[i].number;
    }
    fprintf(stderr, "deny_calls: no such call in the table: %s\n", name);
    exit(FAILED);
}

static void install(const unsigned *calls, size_t count, unsigned error)
{
    struct sock_filter code[2 * CALLS_MAX + 2];
    size_t used = 0;
    code[used++] =
        (struct sock_filter)BPF_STMT(BPF_LD | BPF_W | BPF_ABS, offsetof(struct seccomp_data, nr));
    for (size_t i = 0; i < count; i++) {
        code[used++] = (struct sock_filter)BPF_JUMP(BPF_JMP | BPF_JEQ | BPF_K, calls[i], 0, 1);
        code[used++] = (struct sock_filter)BPF_STMT(BPF_RET | BPF_K, SECCOMP_RET_ERRNO | error);
    }
    code[used++] = (struct sock_filter)BPF_STMT(BPF_RET | BPF_K, SECCOMP_RET_ALLOW);
    struct sock_fprog program = {(unsigned short)used, code};
    if (syscall(SYS_seccomp, SECCOMP_SET_MODE_FILTER, 0, &program) == 0)
        return;
    if (prctl(PR_SET_NO_NEW_PRIVS, 1, 0, 0, 0) != 0 ||
        syscall(SYS_seccomp, SECCOMP_SET_MODE_FILTER, 0, &program) != 0) {
        perror("deny_calls: seccomp");
        exit(FAILED);
    }
}

int main(int argc, char **argv)
{
    unsigned calls[CALLS_MAX];
    size_t count = 0;
    if (argc < 4) {
        fprintf(stderr, "usage: deny_calls EPERM|ENOSYS CALL[,CALL]... PROGRAM [ARGUMENT]...\n");
        return FAILED;
    }
    for (char *name = strtok(argv[2], ","); name && count < CALLS_MAX; name = strtok(NULL, ","))
        calls[count++] = (unsigned)call_number(name);
    install(calls, count, strcmp(argv[1], "ENOSYS") == 0 ? ENOSYS : EPERM);
    execvp(argv[3], argv + 3);
    perror(argv[3]);
    return FAILED;
}
