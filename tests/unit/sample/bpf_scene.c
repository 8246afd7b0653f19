/* SPDX-License-Identifier: MIT */
/* Loads the tables of a process as the sampler does, but all at once. */
#include "bpf_scene.h"

#include "clock_now.h"
#include "elf_file.h"
#include "proc_info.h"
#include "row_memory.h"
#include "unwind_table.h"

#include <errno.h>
#include <fcntl.h>
#include <stdlib.h>
#include <sys/mman.h>
#include <sys/wait.h>
#include <time.h>
#include <unistd.h>

static int add_segment(void *context, uint32_t index, struct unwind_row **ret_rows)
{
    return bpf_program_row_segment(context, index, ret_rows);
}

static struct unwind_rule *rule_place(void *context, uint32_t index)
{
    return bpf_program_rule(context, index);
}

void scene_open(struct bpf_scene *scene, const struct bpf_program_options *options)
{
    char reason[BPF_PROGRAM_REASON_MAX];
    int rc = bpf_program_create(options, &scene->program, reason);

    if (rc == -EPERM || rc == -ENOSYS || rc == -ENOTSUP) /* -EACCES: rejected by the verifier */
        test_skip("no BPF here: %s", reason);
    if (rc < 0)
        test_fail(__FILE__, __LINE__, "%s", reason);
    CHECK_INT(row_memory_init(&scene->rows,
                              &(struct row_source){add_segment, rule_place, scene->program}),
              0);
}

void scene_close(struct bpf_scene *scene)
{
    bpf_program_destroy(scene->program);
    row_memory_fini(&scene->rows);
    for (size_t i = 0; i < scene->records.count; i++)
        free(scene->records.items[i]);
    free(scene->records.items);
}

struct scene_child scene_start(int (*work)(void *context), void *context)
{
    int gate[2];
    struct scene_child child;
    char byte;

    CHECK_INT(pipe2(gate, O_CLOEXEC), 0);
    child = (struct scene_child){.pid = fork(), .gate = gate[1]};
    CHECK(child.pid >= 0);
    if (child.pid > 0) {
        close(gate[0]);
        return child;
    }
    close(gate[1]);
    if (read(gate[0], &byte, 1) != 1)
        _exit(99); /* the test has ended */
    close(gate[0]);
    _exit(work(context));
}

void scene_go(const struct scene_child *child)
{
    CHECK_INT(write(child->gate, "", 1), 1);
    close(child->gate);
}

int scene_wait(const struct scene_child *child)
{
    int status;

    CHECK_INT(waitpid(child->pid, &status, 0), child->pid);
    return status;
}

bool scene_running(const struct scene_child *child)
{
    int status;
    pid_t pid = waitpid(child->pid, &status, WNOHANG);

    CHECK(pid == 0 || status == 0);
    return pid == 0;
}

void *scene_shared(size_t size)
{
    void *memory = mmap(NULL, size, PROT_READ | PROT_WRITE, MAP_SHARED | MAP_ANONYMOUS, -1, 0);

    CHECK(memory != MAP_FAILED);
    return memory;
}

static struct elf_file *open_vdso(pid_t pid, const struct maps_line *line)
{
    size_t size = line->end - line->begin;
    struct elf_file *file = NULL;
    void *bytes = malloc(size);

    if (bytes && proc_read_memory(pid, line->begin, bytes, size) == (int64_t)size)
        elf_file_open_image(bytes, size, &file);
    free(bytes);
    return file;
}

static struct elf_file *open_module(pid_t pid, const struct maps_line *line)
{
    struct elf_file *file = NULL;
    int fd;

    if (strcmp(line->path, "[vdso]") == 0)
        return open_vdso(pid, line);
    fd = line->path[0] == '/' ? open(line->path, O_RDONLY | O_CLOEXEC) : -1;
    if (fd < 0)
        return NULL;
    elf_file_open(fd, &file);
    close(fd);
    return file;
}

struct loading {
    struct bpf_scene *scene;
    pid_t pid;
};

/* Uses frame pointers for modules without a table. */
static int add_mapping(void *context, const struct maps_line *line)
{
    const struct loading *loading = context;
    struct bpf_scene *scene = loading->scene;
    if (!line->executable)
        return 0;
    struct sampler_mapping *mapping = &bpf_program_mappings(scene->program)[scene->mapping_count++];
    struct elf_file *file = open_module(loading->pid, line);
    struct unwind_table *table = NULL;
    struct row_slice slice;
    uint64_t address;

    *mapping = (struct sampler_mapping){
        .begin = line->begin, .end = line->end, .kind = SAMPLER_MAPPING_FRAME_POINTER};
    if (!file)
        return 0;
    if (elf_file_address(file, line->offset, &address) && unwind_table_build(file, &table) == 0) {
        CHECK_INT(row_memory_add(&scene->rows, table, 0, table->row_count, &slice), 0);
        mapping->bias = line->begin - address + table->base;
        mapping->segment = slice.segment;
        mapping->row_first = slice.first;
        mapping->row_count = slice.count;
        mapping->kind = SAMPLER_MAPPING_TABLE;
    }
    unwind_table_destroy(table);
    elf_file_close(file);
    return 0;
}

void scene_load(struct bpf_scene *scene, pid_t pid, const struct sampler_process *process)
{
    struct sampler_process entry = process ? *process : (struct sampler_process){0};
    struct loading loading = {scene, pid};

    entry.space = entry.space ? entry.space : 1;
    entry.mapping_first = scene->mapping_count;
    CHECK_INT(maps_each(pid, add_mapping, &loading), 0);
    entry.mapping_count = scene->mapping_count - entry.mapping_first;
    CHECK_INT(bpf_program_set_process(scene->program, pid, &entry, false), 0);
}

static int keep(void *context, const struct sampler_head *record)
{
    struct bpf_scene *scene = context;
    struct sampler_head *copy = malloc(record->size);

    if (scene->records.count == scene->records.capacity) {
        scene->records.capacity = scene->records.capacity ? scene->records.capacity * 2 : 256;
        scene->records.items =
            realloc(scene->records.items, scene->records.capacity * sizeof(*scene->records.items));
    }
    CHECK(copy && scene->records.items);
    memcpy(copy, record, record->size);
    scene->records.items[scene->records.count++] = copy;
    return 0;
}

void scene_drain(struct bpf_scene *scene)
{
    CHECK_INT(bpf_program_drain(scene->program, bpf_program_position(scene->program), keep, scene),
              0);
}

static int forget(void *context, const struct sampler_head *record)
{
    (void)context, (void)record;
    return 0;
}

void scene_drop(struct bpf_scene *scene)
{
    CHECK_INT(bpf_program_drain(scene->program, bpf_program_position(scene->program), forget, NULL),
              0);
}

size_t scene_count(const struct bpf_scene *scene, enum sampler_record_kind kind, pid_t pid)
{
    size_t count = 0;

    for (size_t i = 0; i < scene->records.count; i++)
        count += scene->records.items[i]->kind == kind &&
                 (pid == 0 || scene->records.items[i]->pid == pid);
    return count;
}

const struct sampler_part *scene_part(const struct bpf_scene *scene, enum sampler_record_kind kind,
                                      uint64_t hash)
{
    for (size_t i = 0; i < scene->records.count; i++) {
        const struct sampler_part *part = (const void *)scene->records.items[i];

        if (part->head.kind == kind && part->hash == hash)
            return part;
    }
    return NULL;
}

uint64_t scene_now_ns(void)
{
    return (uint64_t)clock_now_ns();
}

void scene_spin(uint64_t ns)
{
    struct timespec begin, now;

    clock_gettime(CLOCK_THREAD_CPUTIME_ID, &begin);
    do {
        for (volatile int i = 0; i < 2000; i++)
            ;
        clock_gettime(CLOCK_THREAD_CPUTIME_ID, &now);
    } while ((uint64_t)(now.tv_sec - begin.tv_sec) * UINT64_C(1000000000) + (uint64_t)now.tv_nsec -
                 (uint64_t)begin.tv_nsec <
             ns);
}
