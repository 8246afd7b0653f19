/* SPDX-License-Identifier: MIT */
/* Interpreters whose fields are beyond the part of their structures that the BPF program reads at
 * once, further than in any existing one. Samples a process with such structures in its memory,
 * using matching offsets. */
#include "bpf_scene.h"

#include <pthread.h>
#include <stdio.h>
#include <sys/mman.h>

enum { PLACE = 1 << 17, PAGE = 4096, SPIN_NS = 200000000, SHIM = 3, INSTRUCTION = 6 };

/* Offset of each structure in the memory; frames are further from the thread state than the
 * interpreter's own outermost one. */
enum {
    RUNTIME = 0,
    INTERPRETER = PLACE,
    GIL = 2 * PLACE,
    THREAD = 3 * PLACE,
    OTHER = 4 * PLACE,
    FRAMES = 5 * PLACE, /* leaf, caller, shim */
    CODES = 8 * PLACE,
    END = 10 * PLACE,
};

static const struct python_offsets near = {
    .version = 0x0310,
    .layout = PYTHON_LAYOUT_CURRENT,
    .runtime_interpreters_head = 8,
    .runtime_gil_holder = PYTHON_OFFSET_NONE,
    .interp_next = 16,
    .interp_threads_head = 24,
    .interp_gc_collecting = PYTHON_OFFSET_NONE,
    .interp_gil = 32,
    .gil_holder = 8,
    .gil_locked = 16,
    .tstate_next = 8,
    .tstate_interp = 16,
    .tstate_thread_id = 24,
    .tstate_native_thread_id = 32,
    .tstate_frame = 40,
    .frame_code = 0,
    .frame_previous = 8,
    .frame_instruction = 16,
    .frame_owner = 24,
    .frame_is_entry = PYTHON_OFFSET_NONE,
    .frame_tlbc = PYTHON_OFFSET_NONE,
    .code_filename = 112,
    .code_name = 120,
    .code_qualname = 128,
    .code_first_line = 68,
    .code_lines = 136,
    .code_bytes = 208,
    .code_tlbc = PYTHON_OFFSET_NONE,
    .unicode_length = 16,
    .unicode_state = 32,
    .unicode_ascii_data = 40,
    .unicode_compact_data = 56,
    .bytes_size = 16,
    .bytes_data = 32,
    .shim_owner = SHIM,
    .tstate_cframe = PYTHON_OFFSET_NONE,
    .cframe_current = PYTHON_OFFSET_NONE,
    .cframe_previous = PYTHON_OFFSET_NONE,
    .code_version = PYTHON_OFFSET_NONE,
};

static void put(uint8_t *structure, uint32_t offset, const void *value)
{
    memcpy(structure + offset, &value, sizeof(value));
}

static void put_frame(uint8_t *memory, const struct python_offsets *o, int index)
{
    uint8_t *frame = memory + FRAMES + index * PLACE, *code = memory + CODES + index * PLACE;

    frame[o->frame_owner] = index == 2 ? SHIM : 0;
    put(frame, o->frame_previous, index == 2 ? NULL : frame + PLACE);
    if (index == 2)
        return;
    put(frame, o->frame_code, code);
    put(frame, o->frame_instruction, code + o->code_bytes + INSTRUCTION);
}

/* Two frames, called by C, of this thread; another thread precedes it in the list. */
static uint8_t *make_interpreter(const struct python_offsets *o)
{
    uint8_t *memory =
        mmap(NULL, END, PROT_READ | PROT_WRITE, MAP_PRIVATE | MAP_ANONYMOUS | MAP_POPULATE, -1, 0);

    CHECK(memory != MAP_FAILED);
    put(memory + RUNTIME, o->runtime_interpreters_head, memory + INTERPRETER);
    put(memory + INTERPRETER, o->interp_threads_head, memory + OTHER);
    put(memory + INTERPRETER, o->interp_gil, memory + GIL);
    put(memory + GIL, o->gil_holder, memory + THREAD);
    memory[GIL + o->gil_locked] = 1;
    put(memory + OTHER, o->tstate_next, memory + THREAD);
    put(memory + OTHER, o->tstate_thread_id, memory);
    put(memory + THREAD, o->tstate_interp, memory + INTERPRETER);
    put(memory + THREAD, o->tstate_thread_id, (void *)pthread_self());
    put(memory + THREAD, o->tstate_frame, memory + FRAMES);
    for (int i = 0; i < 3; i++)
        put_frame(memory, o, i);
    return memory;
}

static int spin(void *context)
{
    (void)context;
    scene_spin(SPIN_NS);
    return 0;
}

static void sample_it(struct bpf_scene *scene, const struct python_offsets *offsets,
                      const uint8_t *memory)
{
    const struct bpf_program_options options = {.frequency_hz = 1999, .uid = -1};
    const struct sampler_process process = {.python = 1, .runtime = (uintptr_t)memory};
    struct scene_child child;

    scene_open(scene, &options);
    *bpf_program_python(scene->program, 0) = *offsets;
    child = scene_start(spin, NULL);
    scene_load(scene, child.pid, &process);
    CHECK_INT(bpf_program_enable(scene->program), 0);
    scene_go(&child);
    CHECK_INT(scene_wait(&child), 0);
    scene_drain(scene);
}

static void check_part(const struct bpf_scene *scene, const struct sampler_sample *sample,
                       const uint8_t *memory)
{
    const struct sampler_part *part = scene_part(scene, SAMPLER_PYTHON, sample->python);
    const struct sampler_python *frames = (const void *)(part + 1);

    CHECK(part);
    CHECK_INT(part->count, 3);
    for (int i = 0; i < 2; i++) {
        CHECK_INT(frames[i].code, (uintptr_t)memory + CODES + (uint64_t)i * PLACE);
        CHECK_INT(frames[i].instruction, INSTRUCTION);
    }
    CHECK_INT(frames[2].flags, SAMPLER_PYTHON_SHIM);
}

/* An exiting thread is sampled even without memory. */
static bool is_walked(const struct sampler_sample *sample)
{
    return sample->head.kind == SAMPLER_SAMPLE && sample->native_end != STACK_NOT_WALKED;
}

static void check_interpreter(const struct python_offsets *offsets)
{
    uint8_t *memory = make_interpreter(offsets);
    struct bpf_scene scene = {0};
    size_t count = 0;

    sample_it(&scene, offsets, memory);
    for (size_t i = 0; i < scene.records.count; i++) {
        const struct sampler_sample *sample = (const void *)scene.records.items[i];

        if (!is_walked(sample))
            continue;
        CHECK_INT(sample->python_end, STACK_COMPLETE);
        CHECK(sample->flags & SAMPLER_HOLDS_GIL);
        check_part(&scene, sample, memory);
        count++;
    }
    fprintf(stderr, "  %zu samples\n", count);
    CHECK(count > 20);
    scene_close(&scene);
    munmap(memory, END);
}

TEST(fields_that_lie_near_are_found)
{
    check_interpreter(&near);
}

TEST(fields_of_a_thread_that_lie_far_are_found)
{
    struct python_offsets far = near;

    far.tstate_next = 248;   /* the last word of the part that is read at once */
    far.tstate_interp = 252; /* crosses its end */
    far.tstate_thread_id = 264;
    far.tstate_frame = 16000;
    check_interpreter(&far);
}

TEST(fields_of_frames_that_lie_far_are_found)
{
    struct python_offsets far = near;

    far.frame_code = 72;
    far.frame_instruction = 76 + 64;
    far.frame_previous = 1024;
    far.frame_owner = 2050;
    check_interpreter(&far);
}

TEST(fields_of_a_lock_that_lie_far_are_found)
{
    struct python_offsets far = near;

    far.gil_holder = 64;
    far.gil_locked = 300;
    check_interpreter(&far);
}

TEST(a_field_that_cannot_be_read_ends_the_search_for_the_thread)
{
    struct python_offsets far = near;
    struct bpf_scene scene = {0};
    uint8_t *memory;
    size_t count = 0;

    far.tstate_thread_id = 2 * PAGE;
    memory = make_interpreter(&far);
    CHECK_INT(mprotect(memory + THREAD + 2 * PAGE, PAGE, PROT_NONE), 0);
    sample_it(&scene, &far, memory);
    for (size_t i = 0; i < scene.records.count; i++) {
        const struct sampler_sample *sample = (const void *)scene.records.items[i];

        if (!is_walked(sample))
            continue;
        CHECK_INT(sample->python_end, STACK_NO_THREAD);
        count++;
    }
    CHECK(count > 20);
    scene_close(&scene);
    munmap(memory, END);
}
