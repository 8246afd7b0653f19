/* SPDX-License-Identifier: MIT */
/* Uses ptrace, process_vm_readv and /proc/PID/maps. A step that moves the stack pointer down by a
 * word and stores there an address directly after the instruction is a call; calls with addresses
 * below the stack pointer have ended. */
#include "tracee.h"
#include "proc_info.h"
#include "test.h"

#include <errno.h>
#include <fcntl.h>
#include <signal.h>
#include <stdio.h>
#include <stdlib.h>
#include <sys/ptrace.h>
#include <sys/wait.h>
#include <unistd.h>

enum {
    CALL_SIZE_MAX = 15,
    CONTEXT_RIP = 8 + 0xa8
}; /* offset of rip from a handler's initial rsp */

static size_t read_memory(const struct tracee *tracee, uint64_t address, void *bytes, size_t size)
{
    int64_t count = proc_read_memory(tracee->pid, address, bytes, size);
    return count > 0 ? (size_t)count : 0;
}

static bool read_word(void *context, uint64_t address, uint64_t *ret_value)
{
    const struct tracee *tracee = context;
    uint64_t inside = address - tracee->registers.rsp;
    if (inside + 8 <= tracee->copy_size && inside < tracee->copy_size) {
        memcpy(ret_value, tracee->copy + inside, 8);
        return true;
    }
    return read_memory(tracee, address, ret_value, 8) == 8;
}

static void load_module(const struct tracee *tracee, struct tracee_module *module, uint64_t begin,
                        uint64_t end)
{
    if (strcmp(module->path, "[vdso]") == 0) {
        uint8_t *image = malloc(end - begin);
        CHECK(image && read_memory(tracee, begin, image, end - begin) == end - begin);
        CHECK_INT(elf_file_open_image(image, end - begin, &module->file), 0);
        free(image);
    } else {
        int fd = open(module->path, O_RDONLY | O_CLOEXEC);
        CHECK(fd >= 0);
        CHECK_INT(elf_file_open(fd, &module->file), 0);
        close(fd);
    }
    int error = unwind_table_build(module->file, &module->table);
    CHECK(error == 0 || error == -ENODATA);
}

static const struct tracee_module *module_of(struct tracee *tracee, const char *path,
                                             uint64_t begin, uint64_t end)
{
    for (size_t i = 0; i < tracee->module_count; i++) {
        if (strcmp(tracee->modules[i].path, path) == 0)
            return &tracee->modules[i];
    }
    CHECK(tracee->module_count < TRACEE_MODULES);
    struct tracee_module *module = &tracee->modules[tracee->module_count++];
    snprintf(module->path, sizeof(module->path), "%s", path);
    load_module(tracee, module, begin, end);
    return module;
}

static void read_mappings(struct tracee *tracee)
{
    char name[64], line[1024], path[512], flags[8];
    unsigned long begin, end, offset;
    snprintf(name, sizeof(name), "/proc/%d/maps", tracee->pid);
    FILE *maps = fopen(name, "re");
    CHECK(maps != NULL);
    tracee->mapping_count = 0;
    while (fgets(line, sizeof(line), maps)) {
        path[0] = 0;
        int count =
            sscanf(line, "%lx-%lx %7s %lx %*s %*s %511s", &begin, &end, flags, &offset, path);
        if (count < 4 || flags[2] != 'x')
            continue;
        CHECK(tracee->mapping_count < TRACEE_MAPPINGS);
        struct tracee_mapping *mapping = &tracee->mappings[tracee->mapping_count++];
        *mapping = (struct tracee_mapping){.begin = begin, .end = end};
        if (path[0] != '/' && strcmp(path, "[vdso]") != 0)
            continue;
        uint64_t address;
        mapping->module = module_of(tracee, path, begin, end);
        CHECK(elf_file_address(mapping->module->file, offset, &address));
        mapping->bias = begin - address;
    }
    fclose(maps);
}

static const struct tracee_mapping *mapping_at(struct tracee *tracee, uint64_t address)
{
    for (int attempt = 0; attempt < 2; attempt++) {
        for (size_t i = 0; i < tracee->mapping_count; i++) {
            if (address >= tracee->mappings[i].begin && address < tracee->mappings[i].end)
                return &tracee->mappings[i];
        }
        if (!tracee->fresh)
            read_mappings(tracee);
        tracee->fresh = true;
    }
    return NULL;
}

static bool find_place(void *context, uint64_t address, struct unwind_place *ret_place)
{
    const struct tracee_mapping *mapping = mapping_at(context, address);
    if (!mapping)
        return false;
    ret_place->table = mapping->module ? mapping->module->table : NULL;
    ret_place->bias = mapping->bias;
    return true;
}

const char *tracee_name(struct tracee *tracee, uint64_t address, char text[600])
{
    const struct tracee_mapping *mapping = mapping_at(tracee, address);
    snprintf(text, 600, "%s+%#llx",
             mapping && mapping->module ? mapping->module->path : "[unknown]",
             (unsigned long long)(mapping ? address - mapping->bias : address));
    return text;
}

static void read_registers(struct tracee *tracee)
{
    CHECK_INT(ptrace(PTRACE_GETREGS, tracee->tid, NULL, &tracee->registers), 0);
    tracee->copy_size =
        read_memory(tracee, tracee->registers.rsp, tracee->copy, sizeof(tracee->copy));
    tracee->fresh = false;
}

struct tracee *tracee_start(const char *const *arguments)
{
    struct tracee *tracee = calloc(1, sizeof(*tracee));
    CHECK(tracee != NULL);
    int status;
    tracee->pid = tracee->tid = fork();
    CHECK(tracee->pid >= 0);
    if (tracee->pid == 0) {
        if (ptrace(PTRACE_TRACEME, 0, NULL, NULL) != 0)
            _exit(77);
        execvp(arguments[0], (char *const *)(uintptr_t)arguments);
        _exit(127);
    }
    CHECK_INT(waitpid(tracee->pid, &status, 0), tracee->pid);
    if (WIFEXITED(status) && WEXITSTATUS(status) == 77)
        test_skip("ptrace is not permitted here");
    CHECK(WIFSTOPPED(status));
    CHECK_INT(ptrace(PTRACE_SETOPTIONS, tracee->pid, NULL,
                     (void *)(uintptr_t)(PTRACE_O_EXITKILL | PTRACE_O_TRACECLONE)),
              0);
    read_registers(tracee);
    return tracee;
}

void tracee_kill(struct tracee *tracee)
{
    kill(tracee->pid, SIGKILL);
    while (waitpid(tracee->pid, NULL, __WALL) > 0) {
    }
    for (size_t i = 0; i < tracee->module_count; i++) {
        unwind_table_destroy(tracee->modules[i].table);
        elf_file_close(tracee->modules[i].file);
    }
    free(tracee);
}

void tracee_follow_clone(struct tracee *tracee)
{
    int status = 0;
    unsigned long tid;
    do {
        int signal = WIFSTOPPED(status) && WSTOPSIG(status) != SIGTRAP ? WSTOPSIG(status) : 0;
        CHECK_INT(ptrace(PTRACE_CONT, tracee->pid, NULL, (void *)(uintptr_t)signal), 0);
        CHECK_INT(waitpid(tracee->pid, &status, __WALL), tracee->pid);
        CHECK(WIFSTOPPED(status));
    } while (status >> 8 != (SIGTRAP | PTRACE_EVENT_CLONE << 8));
    CHECK_INT(ptrace(PTRACE_GETEVENTMSG, tracee->pid, NULL, &tid), 0);
    tracee->tid = (pid_t)tid;
    CHECK_INT(waitpid(tracee->tid, &status, __WALL), tracee->tid);
    CHECK_INT(ptrace(PTRACE_CONT, tracee->pid, NULL, NULL), 0);
    tracee->call_count = 0;
    read_registers(tracee);
}

void tracee_run_to_signal(struct tracee *tracee, int signal)
{
    int status = 0;
    do {
        int other = WIFSTOPPED(status) && WSTOPSIG(status) != SIGTRAP ? WSTOPSIG(status) : 0;
        CHECK_INT(ptrace(PTRACE_CONT, tracee->tid, NULL, (void *)(uintptr_t)other), 0);
        CHECK_INT(waitpid(tracee->tid, &status, __WALL), tracee->tid);
        CHECK(WIFSTOPPED(status));
    } while (WSTOPSIG(status) != signal);
    read_registers(tracee);
}

void tracee_seed(struct tracee *tracee, const struct unwind_frame *frames, uint32_t count)
{
    tracee->call_count = 0;
    for (uint32_t i = count - 1; i > 0 && tracee->call_count < TRACEE_DEPTH; i--)
        tracee->calls[tracee->call_count++] =
            (struct tracee_call){frames[i - 1].cfa - 8, frames[i].address};
}

static void push(struct tracee *tracee, uint64_t place)
{
    uint64_t address;
    CHECK(tracee->call_count < TRACEE_DEPTH);
    CHECK(read_word(tracee, place, &address));
    tracee->calls[tracee->call_count++] = (struct tracee_call){place, address};
}

static void note_calls(struct tracee *tracee, const struct user_regs_struct *before, bool signaled)
{
    uint64_t rsp = tracee->registers.rsp, rip = tracee->registers.rip, word;
    while (tracee->call_count > 0 && tracee->calls[tracee->call_count - 1].place < rsp) {
        const struct tracee_call *call = &tracee->calls[--tracee->call_count];
        /* Popped by a step over just this word: a return. */
        if (call->place == before->rsp && rsp == before->rsp + 8 && rip != call->address &&
            rip - before->rip > CALL_SIZE_MAX)
            tracee->wrong_returns++;
    }
    if (signaled && rip != before->rip && rsp < before->rsp) {
        push(tracee, rsp + CONTEXT_RIP);
        push(tracee, rsp);
    } else if (rsp == before->rsp - 8 && read_word(tracee, rsp, &word) && word > before->rip &&
               word <= before->rip + CALL_SIZE_MAX && rip != word) {
        push(tracee, rsp);
    }
}

bool tracee_step(struct tracee *tracee)
{
    struct user_regs_struct before = tracee->registers;
    bool signaled = tracee->signal != 0;
    int status;
    if (ptrace(PTRACE_SINGLESTEP, tracee->tid, NULL, (void *)(uintptr_t)tracee->signal) != 0)
        return false;
    CHECK_INT(waitpid(tracee->tid, &status, __WALL), tracee->tid);
    if (!WIFSTOPPED(status))
        return false;
    tracee->signal = WSTOPSIG(status) == SIGTRAP ? 0 : WSTOPSIG(status);
    read_registers(tracee);
    note_calls(tracee, &before, signaled);
    return true;
}

uint32_t tracee_unwind(struct tracee *tracee, struct unwind_frame *frames, uint32_t size,
                       enum stack_end *ret_end)
{
    const struct user_regs_struct *at = &tracee->registers;
    struct unwind_request request = {.registers = {.rip = at->rip,
                                                   .rsp = at->rsp,
                                                   .rbp = at->rbp,
                                                   .rbx = at->rbx,
                                                   .scratch_known = true,
                                                   .scratch = {at->rax, at->r9, at->r10, at->r11}},
                                     .find = find_place,
                                     .read = read_word,
                                     .context = tracee};
    return unwind_stack(&request, frames, size, ret_end);
}
