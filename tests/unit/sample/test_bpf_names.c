/* SPDX-License-Identifier: MIT */
/* Compares the kernel's names of its own addresses with /proc/kallsyms. */
#include "bpf_scene.h"

#include <errno.h>
#include <inttypes.h>
#include <stdio.h>
#include <string.h>

enum { EVERY = 500, TEXT = 512 };

struct names {
    uint64_t address;
    char text[16][TEXT]; /* several symbols may have the same address */
    size_t count, line, checked;
};

static bool is_one_of(const struct names *names, const char *name)
{
    for (size_t i = 0; i < names->count; i++)
        if (strcmp(names->text[i], name) == 0)
            return true;
    return false;
}

/* Checks the function's first byte and the next one. */
static void check_names(struct bpf_scene *scene, struct names *names)
{
    char name[TEXT];

    for (uint64_t ahead = 0; ahead < 2 && names->count && names->line % EVERY == 0; ahead++) {
        CHECK_INT(
            bpf_program_kernel_name(scene->program, names->address + ahead, name, sizeof(name)), 0);
        if (!is_one_of(names, name))
            test_fail(__FILE__, __LINE__, "%" PRIx64 " is %s, not %s", names->address, name,
                      names->text[0]);
        names->checked++;
    }
}

static void take(struct bpf_scene *scene, struct names *names, uint64_t address, const char *name)
{
    if (address != names->address) {
        check_names(scene, names);
        names->address = address;
        names->count = 0;
        names->line++;
    }
    if (names->count < sizeof(names->text) / sizeof(names->text[0]))
        snprintf(names->text[names->count++], TEXT, "%s", name);
}

TEST(the_kernel_names_its_functions_as_kallsyms_does)
{
    static struct names names;
    const struct bpf_program_options options = {.frequency_hz = 99, .uid = -1};
    struct bpf_scene scene = {0};
    char line[2 * TEXT], name[TEXT], type;
    FILE *file = fopen("/proc/kallsyms", "re");
    uint64_t address;

    scene_open(&scene, &options);
    if (bpf_program_kernel_name(scene.program, 0, name, sizeof(name)) == -EOPNOTSUPP)
        test_skip("a kernel before 5.13");
    while (file && fgets(line, sizeof(line), file))
        if (sscanf(line, "%" SCNx64 " %c %511s", &address, &type, name) == 3 && address &&
            (type == 't' || type == 'T'))
            take(&scene, &names, address, name);
    if (names.line == 0)
        test_skip("/proc/kallsyms shows no addresses");
    CHECK(names.checked > 50);
    fclose(file);
    scene_close(&scene);
}

TEST(an_address_that_is_not_the_kernels_has_no_name)
{
    const struct bpf_program_options options = {.frequency_hz = 99, .uid = -1};
    struct bpf_scene scene = {0};
    char name[TEXT], small[2];

    scene_open(&scene, &options);
    if (bpf_program_kernel_name(scene.program, 0, name, sizeof(name)) == -EOPNOTSUPP)
        test_skip("a kernel before 5.13");
    CHECK_INT(bpf_program_kernel_name(scene.program, 0x1000, name, sizeof(name)), -ENOENT);
    CHECK_INT(bpf_program_kernel_name(scene.program, UINT64_MAX, name, sizeof(name)), -ENOENT);
    CHECK_INT(bpf_program_kernel_name(scene.program, 0x1000, small, sizeof(small)), -ENOENT);
    scene_close(&scene);
}
