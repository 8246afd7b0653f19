/* SPDX-License-Identifier: MIT */
/* Compares the kernel's types, reduced to those that the BPF program names, with libbpf's view of
 * all. */
#include "bpf_program.h"
#include "bpf_state.h"
#include "kernel_btf.h"
#include "test.h"

#include <bpf/btf.h>
#include <errno.h>
#include <stdio.h>
#include <string.h>
#include <sys/mman.h>
#include <unistd.h>

struct place {
    uint32_t bit, bits, size;
};

/* Finds the place of a member, also in unnamed structures. */
static bool find(const struct btf *btf, uint32_t id, const char *name, struct place *place)
{
    const struct btf_type *type = btf__type_by_id(btf, id);
    const struct btf_member *member = btf_members(type);

    for (uint32_t i = 0; btf_is_composite(type) && i < btf_vlen(type); i++) {
        const char *text = btf__name_by_offset(btf, member[i].name_off);
        uint32_t bit = btf_member_bit_offset(type, i);

        if (strcmp(text, name) == 0) {
            *place = (struct place){bit, btf_member_bitfield_size(type, i),
                                    (uint32_t)btf__resolve_size(btf, member[i].type)};
            return true;
        }
        if (!text[0] && find(btf, member[i].type, name, place)) {
            place->bit += bit;
            return true;
        }
    }
    return false;
}

static struct place place_of(const struct btf *btf, const char *structure, const char *name)
{
    int id = btf__find_by_name_kind(btf, structure, BTF_KIND_STRUCT);
    struct place place = {0};

    if (id <= 0 || !find(btf, (uint32_t)id, name, &place))
        test_fail(__FILE__, __LINE__, "no %s in struct %s", name, structure);
    return place;
}

static struct kernel_btf open_kernel(void)
{
    struct kernel_btf kernel;
    int rc = kernel_btf_open(&kernel);

    if (rc == -ENOENT)
        test_skip("no /sys/kernel/btf/vmlinux");
    CHECK_INT(rc, 0);
    return kernel;
}

TEST(members_lie_in_the_reduced_types_where_they_lie_in_all)
{
    static const char *const members[][2] = {
        {"task_struct", "__state"},
        {"task_struct", "mm"},
        {"task_struct", "in_iowait"},
        {"task_struct", "pid"},
        {"task_struct", "comm"},
        {"task_struct", "thread_pid"},
        {"task_struct", "thread"},
        {"mm_struct", "arg_start"},
        {"mm_struct", "arg_end"},
        {"cred", "euid"},
        {"pid", "level"},
        {"pid", "numbers"},
        {"upid", "ns"},
        {"pid_namespace", "ns"},
        {"ns_common", "inum"},
        {"thread_struct", "fsbase"},
        {"pt_regs", "orig_ax"},
        {"pt_regs", "r11"},
        {"signal_struct", "live"},
        {"inode", "i_mode"},
        {"file", "f_inode"},
        {"files_struct", "fdt"},
        {"fdtable", "max_fds"},
    };
    struct kernel_btf kernel = open_kernel();
    struct btf *all = btf__load_vmlinux_btf(), *small, *local;
    struct bpf_object *object =
        bpf_object__open_mem(sampler_bpf_object, sampler_bpf_object_size, NULL);
    char path[64];
    int fd = memfd_create("small", MFD_CLOEXEC);

    CHECK(all && object);
    local = bpf_object__btf(object);
    CHECK_INT(kernel_btf_reduce(&kernel, local, fd), 0);
    snprintf(path, sizeof(path), "/proc/self/fd/%d", fd);
    small = btf__parse(path, NULL);
    CHECK(small != NULL);
    fprintf(stderr, "%u of %u types\n", btf__type_cnt(small), kernel.type_count);
    CHECK_INT(kernel.type_count + 1, btf__type_cnt(all));
    CHECK(btf__type_cnt(small) < 1000);
    for (size_t i = 0; i < sizeof(members) / sizeof(members[0]); i++) {
        struct place of_all = place_of(all, members[i][0], members[i][1]);
        struct place of_small = place_of(small, members[i][0], members[i][1]);

        CHECK_INT(of_small.bit, of_all.bit);
        CHECK_INT(of_small.bits, of_all.bits);
        CHECK_INT(of_small.size, of_all.size);
    }
    btf__free(small);
    btf__free(all);
    bpf_object__close(object);
    kernel_btf_close(&kernel);
    close(fd);
}

TEST(tracepoints_have_arguments_and_unknown_ones_have_none)
{
    struct kernel_btf kernel = open_kernel();

    CHECK(kernel_btf_arguments(&kernel, "btf_trace_sched_switch") >= 3);
    CHECK_INT(kernel_btf_arguments(&kernel, "btf_trace_sched_process_fork"), 2);
    CHECK_INT(kernel_btf_arguments(&kernel, "btf_trace_of_nothing"), 0);
    kernel_btf_close(&kernel);
}

static uint64_t bytes_read(void)
{
    unsigned long long bytes = 0;
    FILE *file = fopen("/proc/self/io", "re");

    if (!file)
        test_skip("the kernel does not count the bytes that a program reads");
    CHECK_INT(fscanf(file, "rchar: %llu", &bytes), 1);
    fclose(file);
    return bytes;
}

TEST(loading_reads_the_kernels_types_once)
{
    const struct bpf_program_options options = {
        .frequency_hz = 99, .off_cpu = true, .uid = -1, .ring_bytes = 64 << 10};
    struct kernel_btf kernel = open_kernel();
    uint64_t most = kernel.read ? kernel.size * 3 / 2 : kernel.size / 2, before = bytes_read();
    char reason[BPF_PROGRAM_REASON_MAX];
    struct sampler_bpf *program;
    int rc = bpf_program_create(&options, &program, reason);

    kernel_btf_close(&kernel);
    if (rc == -EPERM)
        test_skip("no BPF here: %s", reason);
    CHECK_INT(rc, 0);
    CHECK(bytes_read() - before < most);
    bpf_program_destroy(program);
}

TEST(types_are_found_by_kind_and_name)
{
    struct kernel_btf kernel = open_kernel();
    struct btf *all = btf__load_vmlinux_btf();

    CHECK(all != NULL);
    CHECK_INT(kernel_btf_find(&kernel, BTF_KIND_TYPEDEF, "btf_trace_sched_switch"),
              btf__find_by_name_kind(all, "btf_trace_sched_switch", BTF_KIND_TYPEDEF));
    CHECK_INT(kernel_btf_find(&kernel, BTF_KIND_FUNC, "bpf_iter_task"),
              btf__find_by_name_kind(all, "bpf_iter_task", BTF_KIND_FUNC));
    CHECK_INT(kernel_btf_find(&kernel, BTF_KIND_FUNC, "bpf_iter_of_nothing"), 0);
    btf__free(all);
    kernel_btf_close(&kernel);
}

TEST(kernels_that_reading_freezes_are_known_by_their_version)
{
    const char *plain = "#1 SMP PREEMPT_DYNAMIC @0";

    CHECK(!kernel_flaw_freezes("5.17.0-1035-oem", plain));
    CHECK(kernel_flaw_freezes("5.18.0", plain));
    CHECK(kernel_flaw_freezes("5.19.0-50-generic", "#50-Ubuntu SMP PREEMPT_DYNAMIC"));
    CHECK(kernel_flaw_freezes("6.1.0-10-amd64", "#1 SMP Debian 6.1.37-1 (2023-07-03)"));
    CHECK(!kernel_flaw_freezes("6.1.0-50-amd64", "#1 SMP Debian 6.1.176-1 (2026-07-02)"));
    CHECK(kernel_flaw_freezes("6.1.25", plain));
    CHECK(!kernel_flaw_freezes("6.1.176", plain));
    CHECK(kernel_flaw_freezes("6.3.13", plain));
    CHECK(!kernel_flaw_freezes("6.4.0", plain));
    CHECK(!kernel_flaw_freezes("6.18.44", plain));
    CHECK(!kernel_flaw_freezes("", ""));
}
