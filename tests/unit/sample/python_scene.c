/* SPDX-License-Identifier: MIT */
/* Loads an interpreter as the sampler does, and adds names to the received records. */
#include "python_scene.h"

#include "hash.h"
#include "python_runtime.h"

#include <stdlib.h>
#include <unistd.h>

static void plant(struct python_offsets *offsets)
{
    const char *name = getenv("ANNOT_TEST_PLANT");

    const struct {
        const char *name;
        uint16_t *offset;
    } all[] = {
        {"frame_previous", &offsets->frame_previous},
        {"frame_code", &offsets->frame_code},
        {"tstate_frame", &offsets->tstate_frame},
        {"tstate_thread_id", &offsets->tstate_thread_id},
        {"code_name", offsets->code_qualname == PYTHON_OFFSET_NONE ? &offsets->code_name
                                                                   : &offsets->code_qualname},
        {"frame_owner", &offsets->frame_owner},
    };

    for (size_t i = 0; name && i < sizeof(all) / sizeof(all[0]); i++)
        if (strcmp(name, all[i].name) == 0)
            *all[i].offset += 8;
}

static void describe(struct python_scene *scene)
{
    struct python_memory memory = python_memory_of(&scene->run.pid);
    struct python_location location;

    CHECK_INT(python_locate(scene->run.pid, &location), 0);
    CHECK_INT(python_runtime_find(&location.image, location.bias, &memory, NULL, &scene->runtime),
              0);
    CHECK_STR(scene->runtime.reason, "");
    scene->process = (struct sampler_process){
        .python = 1,
        .runtime = scene->runtime.runtime,
        .runtime_end = scene->runtime.runtime_end,
        .eval = scene->runtime.eval,
        .eval_end = scene->runtime.eval_end,
    };
    plant(&scene->runtime.offsets);
    if (getenv("ANNOT_TEST_PLANT") && strcmp(getenv("ANNOT_TEST_PLANT"), "guard") == 0)
        scene->process.eval = scene->process.eval_end = 0;
    *bpf_program_python(scene->bpf.program, 0) = scene->runtime.offsets;
}

void python_scene_begin(struct python_scene *scene, const struct interpreter *interpreter,
                        const char *const arguments[], const struct bpf_program_options *options)
{
    memset(scene, 0, sizeof(*scene));
    scene_open(&scene->bpf, options);
    scene->run = interpreter_start(interpreter, arguments);
    interpreter_line(&scene->run, scene->ready, sizeof(scene->ready));
    describe(scene);
    scene_load(&scene->bpf, scene->run.pid, &scene->process);
    CHECK_INT(bpf_program_enable(scene->bpf.program), 0);
}

static uint64_t code_hash(uint64_t code, uint64_t key)
{
    return (hash_u64(code) ^ key) | 1;
}

static void index_records(struct python_scene *scene)
{
    for (size_t i = 0; i < scene->bpf.records.count; i++) {
        const struct sampler_head *head = scene->bpf.records.items[i];
        const struct sampler_code *code = (const void *)head;
        const struct sampler_part *part = (const void *)head;

        if (head->kind == SAMPLER_CODE)
            CHECK_INT(map64_put(&scene->codes, code_hash(code->code, code->key), i + 1), 0);
        else if (head->kind == SAMPLER_NATIVE || head->kind == SAMPLER_PYTHON)
            CHECK_INT(map64_put(&scene->parts, part->hash, i + 1), 0);
    }
}

void python_scene_end(struct python_scene *scene)
{
    CHECK_INT(bpf_program_disable(scene->bpf.program), 0);
    interpreter_stop(&scene->run);
    for (int i = 0; i < 5; i++) { /* a drain stops before a record under construction */
        scene_drain(&scene->bpf);
        usleep(2000);
    }
    index_records(scene);
}

void python_scene_close(struct python_scene *scene)
{
    map64_free(&scene->codes);
    map64_free(&scene->parts);
    scene_close(&scene->bpf);
}

static const void *find_record(const struct python_scene *scene, const struct map64 *map,
                               uint64_t hash)
{
    const uint64_t *found = hash ? map64_find(map, hash) : NULL;

    return found ? scene->bpf.records.items[*found - 1] : NULL;
}

static void name_python(const struct python_scene *scene, const struct sampler_python *frame,
                        struct named_frame *ret)
{
    const struct python_offsets *offsets = &scene->runtime.offsets;
    const struct sampler_code *code =
        find_record(scene, &scene->codes, code_hash(frame->code, frame->key));
    const uint8_t *bytes = (const void *)(code + 1);

    *ret = (struct named_frame){.name = "?"};
    if (!code)
        return;
    python_text(offsets, bytes, code->name_size, ret->name, sizeof(ret->name));
    bytes += code->name_size;
    python_text(offsets, bytes, code->file_size, ret->file, sizeof(ret->file));
    bytes += code->file_size;
    ret->first_line = code->first_line;
    ret->line = python_source_place(offsets->version, bytes, code->lines_size, code->first_line,
                                    frame->instruction)
                    .line;
}

/* Parts may have come with other samples: places on the C stack are relative to its root. */
static uint64_t relative(uint64_t place, uint64_t base)
{
    return place ? place - base + (UINT64_C(1) << 48) : 0;
}

static void join(const struct python_scene *scene, const struct sampler_part *native,
                 const struct sampler_part *python, struct named_stack *ret)
{
    const struct sampler_native *natives = (const void *)(native + 1);
    const struct sampler_python *pythons = (const void *)(python + 1);
    static struct python_native in[SAMPLER_NATIVE_MAX];
    static struct python_frame py[SAMPLER_PYTHON_MAX];
    static struct python_joint joints[NAMED_MAX];

    for (uint32_t i = 0; i < native->count; i++)
        in[i] = (struct python_native){natives[i].address, relative(natives[i].cfa, native->base)};
    for (uint32_t i = 0; i < python->count; i++)
        py[i] = (struct python_frame){relative(pythons[i].anchor, python->base), pythons[i].flags};
    ret->count = python_stack_join(&(struct python_join){.offsets = &scene->runtime.offsets,
                                                         .eval = scene->runtime.eval,
                                                         .eval_end = scene->runtime.eval_end,
                                                         .natives = in,
                                                         .native_count = native->count,
                                                         .frames = py,
                                                         .frame_count = python->count},
                                   joints, &ret->unplaced);
    for (uint32_t i = 0; i < ret->count; i++) {
        if (joints[i].python) {
            name_python(scene, &pythons[joints[i].index], &ret->frames[i]);
            ret->python_count++;
            continue;
        }
        ret->frames[i] = (struct named_frame){.address = natives[joints[i].index].address};
        ret->evals += ret->frames[i].address >= scene->runtime.eval &&
                      ret->frames[i].address <= scene->runtime.eval_end;
    }
}

void python_scene_stack(const struct python_scene *scene, uint64_t native_hash,
                        uint64_t python_hash, struct named_stack *ret)
{
    const struct sampler_part *native = find_record(scene, &scene->parts, native_hash);
    const struct sampler_part *python = find_record(scene, &scene->parts, python_hash);

    ret->count = ret->python_count = ret->unplaced = ret->evals = 0;
    ret->known = native && python;
    if (ret->known)
        join(scene, native, python, ret);
}

int named_find(const struct named_stack *stack, const char *name, int from)
{
    for (uint32_t i = (uint32_t)from; i < stack->count; i++)
        if (strcmp(stack->frames[i].name, name) == 0)
            return (int)i;
    return -1;
}
