/* SPDX-License-Identifier: MIT */
/* Random contents: implements random_samples.h. */
#include "random_samples.h"

#include "made_sample.h"
#include "sample_events.h"
#include "stacks.h"
#include "test.h"

enum { FACTS = 3 };

static void fill_facts(struct trace *trace, uint32_t strings)
{
    struct trace_sampling *sampling = trace_sampling(trace);
    sampling->revision++;
    sampling->rung = SAMPLING_BPF;
    sampling->off_cpu = true;
    sampling->frequency_hz = 999;
    sampling->first_hz = 4999;
    sampling->slowed = true;
    sampling->off_cpu_threshold_ns = 100000;
    sampling->reason = strings ? 1 : 0;
    sampling->hint = strings ? 2 % strings : 0;
    for (int i = 0; i < FACTS; i++) {
        char name[] = "fact 0";
        name[5] = (char)('0' + i);
        CHECK_INT(
            trace_fact_set(trace, (enum fact_kind)(i % 3), name, UINT64_MAX / (unsigned)(i + 1)),
            0);
    }
}

static struct label random_label(struct stacks *stacks, uint64_t bits, uint32_t strings)
{
    struct code_module module = {.path = (uint32_t)(bits >> 32) % (strings + 1),
                                 .kind = MODULE_ELF,
                                 .build_id_size = bits % 21,
                                 .build_id = {(uint8_t)bits}};
    struct source source = {.path = (uint32_t)(bits >> 20) % (strings + 1),
                            .content = (uint32_t)(bits >> 24) % (strings + 1),
                            .hash = {(uint8_t)bits, [15] = 1}};
    return (struct label){.text = 1 + (uint32_t)(bits >> 8) % (strings + 1),
                          .source = (uint32_t)stacks_source(stacks, &source),
                          .module = (uint32_t)stacks_module(stacks, &module),
                          .first_line = (int32_t)(bits & 255),
                          .kind = (uint8_t)(1 + bits % 6),
                          .flags = bits >> 9 & 1};
}

/* With a label, since a frame without one is read as a place. */
static struct frame random_frame(struct stacks *stacks, uint64_t bits, uint32_t strings)
{
    const struct label label = random_label(stacks, bits, strings);
    return (struct frame){
        .kind = label.kind,
        .label = (uint32_t)stacks_label(stacks, &label),
        .module = label.module,
        .line = (int32_t)(bits >> 33) - (1 << 30),
        .column = (uint16_t)(bits >> 13),
        .end_column = (uint16_t)(bits >> 17),
        .address = strings ? bits >> (bits & 63) : 0,
    };
}

void random_stacks(struct trace *trace, uint32_t strings, uint32_t count)
{
    struct stacks *stacks = trace_stacks(trace);
    uint64_t random = 99 + count;
    for (uint32_t i = 0; i < count / 20 + 5; i++) {
        struct frame frame = random_frame(stacks, sample_random(&random), strings);
        CHECK(stacks_frame(stacks, &frame) > 0);
    }
    for (uint32_t i = 0; i < count; i++) {
        uint32_t bits = (uint32_t)sample_random(&random), next = stacks_stack_count(stacks);
        CHECK(stacks_push(stacks, bits % 5 ? next - 1 : bits % next,
                          bits % stacks_frame_count(stacks)) > 0);
    }
    for (uint32_t i = 1; i < 4 + count / 200; i++)
        CHECK(stacks_path_add(stacks, &(struct range_path){i / 2, i % (strings + 1), i % 4,
                                                           i % 5 ? 0 : i % 40}) > 0);
    fill_facts(trace, strings);
}

static void fill_stretch(struct sample *sample, uint64_t *random)
{
    sample->reason = (uint8_t)(sample_random(random) % WAIT_REASON_COUNT);
    sample->end_ns = sample->time_ns + (int64_t)(sample_random(random) % 1000000000);
    int64_t woken_ns = sample->end_ns - (sample->end_ns - sample->time_ns) / 3;
    *sample = made_wait(*sample, sample_random(random) % 2 ? woken_ns : 0);
    sample->flags |= sample_random(random) % 8 == 0 ? SAMPLE_UNFINISHED : 0;
}

void random_samples(const struct trace *trace, uint32_t threads, uint64_t *random,
                    struct sample *samples, uint32_t count)
{
    const struct stacks *stacks = trace_stacks_get(trace);
    for (uint32_t i = 0; i < count; i++) {
        uint64_t bits = sample_random(random);
        struct sample *sample = &samples[i];
        *sample = (struct sample){
            .time_ns = (int64_t)(sample_random(random) >> (bits % 8 == 0 ? 3 : 24)),
            .thread = (uint32_t)(bits >> 4) % threads,
            .stack = (uint32_t)(bits >> 8) % stacks_stack_count(stacks),
            .path = (uint32_t)(bits >> 32) % stacks_path_count(stacks),
            .cpu = (uint16_t)(bits >> 40),
            .flags = bits & 64 ? SAMPLE_PATH_KNOWN : (uint8_t)(bits >> 48 & 31),
            .native_end = (uint8_t)(bits >> 20 & 1),
            .python_end = (uint8_t)(bits >> 24 & 7),
        };
        if (bits >> 60 < 5)
            fill_stretch(sample, random);
        else
            *sample = made_cpu(*sample,
                               bits & 1 << 30 ? 10101010 : (int64_t)(sample_random(random) >> 30));
    }
}

void random_check_sample(const struct sample *actual, const struct sample *expected)
{
    CHECK_INT(actual->set, expected->set);
    CHECK_INT(actual->time_ns, expected->time_ns);
    CHECK_INT(actual->end_ns, expected->end_ns);
    CHECK_INT(actual->id, expected->id);
    CHECK_INT(actual->value_count, expected->value_count);
    for (int i = 0; i < expected->value_count; i++)
        CHECK_INT(actual->values[i], expected->values[i]);
    CHECK_INT(actual->thread, expected->thread);
    CHECK_INT(actual->stack, expected->stack);
    CHECK_INT(actual->path, expected->path);
    CHECK_INT(actual->cpu, expected->cpu);
    CHECK_INT(actual->reason, expected->reason);
    CHECK_INT(actual->flags, expected->flags);
    CHECK_INT(actual->native_end, expected->native_end);
    CHECK_INT(actual->python_end, expected->python_end);
}

static void check_frames(const struct stacks *a, const struct stacks *e)
{
    for (uint32_t i = 0; i < stacks_frame_count(e); i++) {
        const struct frame *actual = stacks_get_frame(a, i), *expected = stacks_get_frame(e, i);
        CHECK_INT(actual->line, expected->line);
        CHECK_INT(actual->address, expected->address);
        CHECK(memcmp(actual, expected, sizeof(*actual)) == 0);
    }
}

static void check_labels(const struct stacks *a, const struct stacks *e)
{
    CHECK_INT(stacks_module_count(a), stacks_module_count(e));
    CHECK_INT(stacks_source_count(a), stacks_source_count(e));
    CHECK_INT(stacks_label_count(a), stacks_label_count(e));
    for (uint32_t i = 0; i < stacks_module_count(e); i++)
        CHECK(memcmp(stacks_get_module(a, i), stacks_get_module(e, i),
                     sizeof(struct code_module)) == 0);
    for (uint32_t i = 0; i < stacks_source_count(e); i++)
        CHECK(memcmp(stacks_get_source(a, i), stacks_get_source(e, i), sizeof(struct source)) == 0);
    for (uint32_t i = 0; i < stacks_label_count(e); i++)
        CHECK(memcmp(stacks_get_label(a, i), stacks_get_label(e, i), sizeof(struct label)) == 0);
}

void random_check_stacks(const struct trace *actual, const struct trace *expected)
{
    const struct stacks *a = trace_stacks_get(actual), *e = trace_stacks_get(expected);
    CHECK_INT(stacks_frame_count(a), stacks_frame_count(e));
    CHECK_INT(stacks_stack_count(a), stacks_stack_count(e));
    CHECK_INT(stacks_path_count(a), stacks_path_count(e));
    check_labels(a, e);
    check_frames(a, e);
    for (uint32_t i = 0; i < stacks_stack_count(e); i++)
        CHECK(memcmp(stacks_get_stack(a, i), stacks_get_stack(e, i), sizeof(struct stack)) == 0);
    for (uint32_t i = 0; i < stacks_path_count(e); i++)
        CHECK(memcmp(stacks_get_path(a, i), stacks_get_path(e, i), sizeof(struct range_path)) == 0);
    struct trace_sampling sampled = *trace_sampling_get(actual);
    sampled.revision = trace_sampling_get(expected)->revision;
    CHECK(memcmp(&sampled, trace_sampling_get(expected), sizeof(sampled)) == 0);
    CHECK_INT(trace_fact_count(actual), trace_fact_count(expected));
    for (uint32_t i = 0; i < trace_fact_count(expected); i++) {
        const struct trace_fact *fact = trace_fact_get(actual, i);
        CHECK_INT(fact->name, trace_fact_get(expected, i)->name);
        CHECK_INT(fact->kind, trace_fact_get(expected, i)->kind);
        CHECK_INT(fact->value, trace_fact_get(expected, i)->value);
    }
}
