/* SPDX-License-Identifier: MIT */
/* A program that imitates training: it marks its steps, and reports the kernels and copies of a
 * nonexistent device, as libannot-gpu would. test_truth.py computes the report's numbers again from
 * the recording.
 *
 *     truth_program [STEPS [PERCENT]]     its products take this percentage of their usual time */
#include <annot/annot.h>
#include <annot/observers.h>
#include <annot/queues.h>
#include <annot/values.h>
#include <pthread.h>
#include <stdio.h>
#include <stdlib.h>
#include <time.h>

#define US UINT64_C(1000)

static annot_domain domain;
static annot_queue streams[3]; /* compute, copies, waits */

struct launch {
    annot_name name;
    uint16_t role;
    unsigned stream;
    uint64_t us, bytes;
    const char *direction;
};

static uint64_t percent = 100;
static uint64_t free_ns[3]; /* when a stream has finished its work */

static uint64_t now_ns(void)
{
    struct timespec now;
    clock_gettime(CLOCK_MONOTONIC, &now);
    return (uint64_t)now.tv_sec * 1000000000 + (uint64_t)now.tv_nsec;
}

static void sleep_until(uint64_t ns)
{
    const struct timespec then = {(time_t)(ns / 1000000000), (long)(ns % 1000000000)};
    while (clock_nanosleep(CLOCK_MONOTONIC, TIMER_ABSTIME, &then, NULL) != 0)
        ;
}

static struct annot_value text_value(const char *key, const char *text)
{
    return (struct annot_value){
        .key = key, .kind = ANNOT_PAYLOAD_STRING, .value = {.string = text}};
}

static struct annot_value number_value(const char *key, uint64_t number)
{
    return (struct annot_value){
        .key = key, .kind = ANNOT_PAYLOAD_UINT64, .value = {.uint64 = number}};
}

static annot_name kernel(const char *name, const char *grid, uint64_t registers)
{
    const struct annot_value values[] = {
        text_value(ANNOT_QUEUE_KEY_GRID, grid),
        text_value(ANNOT_QUEUE_KEY_BLOCK, "256,1,1"),
        number_value(ANNOT_QUEUE_KEY_REGISTERS, registers),
        number_value(ANNOT_QUEUE_KEY_SHARED, 4096),
    };
    return annot_queue_label(name, values, 4);
}

static annot_category category_of(uint16_t role)
{
    static const char *const names[] = {"", "kernel", "copy", "set", "wait", "graph"};
    return annot_category_observed(domain, names[role], ANNOT_OBSERVER_CUPTI, role);
}

/* It begins 4 us from now, or when the stream has finished the previous work. */
static void launch(const struct launch *what)
{
    uint64_t *free = &free_ns[what->stream], begin = now_ns() + 4 * US;
    begin = begin > *free ? begin : *free + 500;
    *free = begin + what->us * US;
    const struct annot_value values[] = {
        number_value(ANNOT_QUEUE_KEY_BYTES, what->bytes),
        text_value(ANNOT_QUEUE_KEY_DIRECTION, what->direction ? what->direction : ""),
    };
    const struct annot_span span = {
        .name = what->name,
        .queue = streams[what->stream],
        .begin = begin,
        .end = *free,
        .clock = ANNOT_SPAN_CLOCK_MONOTONIC,
        .origin = annot_origin_here(),
        .domain = domain,
        .category = category_of(what->role),
        .flags = ANNOT_SPAN_LAUNCHED,
        .values = values,
        .value_count = what->direction ? 2 : 0,
    };
    annot_queue_count(ANNOT_QUEUE_LAUNCHED, 1);
    annot_emit_spans(&span, 1);
}

static void wait_for(unsigned stream)
{
    const struct annot_origin here = annot_origin_here();
    uint64_t begin = now_ns();
    sleep_until(free_ns[stream]);
    const struct annot_span span = {
        .name = annot_name_intern("wait for stream"),
        .queue = streams[2],
        .begin = begin,
        .end = now_ns(),
        .clock = ANNOT_SPAN_CLOCK_MONOTONIC,
        .origin = here,
        .domain = domain,
        .category = category_of(ANNOT_QUEUE_SYNC),
    };
    annot_emit_spans(&span, 1);
}

static void make_queues(void)
{
    domain = annot_domain_observed("CUDA", ANNOT_OBSERVER_CUPTI, 0);
    annot_queue device =
        annot_queue_create(ANNOT_QUEUE_DEVICE, 0, 0, "GPU 0: a device of this test");
    for (uint64_t i = 0; i < 2; i++)
        streams[i] = annot_queue_create(ANNOT_QUEUE_QUEUE, 1ull << 32 | (7 + i), device,
                                        i ? "stream 8 of context 1" : "stream 7 of context 1");
    streams[2] =
        annot_queue_create(ANNOT_QUEUE_QUEUE, 1ull << 32 | 0xfffffffe, 0, "waits of context 1");
}

static void do_step(unsigned number)
{
    const annot_name gemm = kernel("void ampere::gemm<float, ampere::Tile<128, 64> >(float "
                                   "const*, float const*, float*)",
                                   number % 4 ? "64,8,1" : "32,8,1", 96);
    const annot_name relu = kernel("void at::native::vectorized_elementwise_kernel<4, "
                                   "at::native::Relu<float> >(int, float*)",
                                   "1024,1,1", 24);
    const annot_name to = annot_name_intern("copy host to device");
    const annot_name from = annot_name_intern("copy device to host");
    const annot_name set = annot_name_intern("set");
    annot_push("data.load");
    sleep_until(now_ns() + 1500 * US);
    launch(&(struct launch){to, ANNOT_QUEUE_COPY, 1, 120, 4 << 20, "HtoD"});
    annot_pop();
    annot_push("forward");
    for (unsigned layer = 0; layer < 4; layer++) {
        annot_push(layer < 2 ? "attention" : "mlp");
        launch(&(struct launch){gemm, ANNOT_QUEUE_KERNEL, 0, (180 + 7 * layer) * percent / 100, 0,
                                NULL});
        launch(&(struct launch){relu, ANNOT_QUEUE_KERNEL, 0, 20, 0, NULL});
        annot_pop();
    }
    annot_pop();
    annot_push("backward");
    launch(&(struct launch){set, ANNOT_QUEUE_SET, 0, 5, 1 << 20, ""});
    for (unsigned layer = 0; layer < 4; layer++)
        launch(&(struct launch){gemm, ANNOT_QUEUE_KERNEL, 0, (260 - 11 * layer) * percent / 100, 0,
                                NULL});
    launch(&(struct launch){from, ANNOT_QUEUE_COPY, 1, 30, 64 << 10, "DtoH"});
    wait_for(0);
    annot_pop();
}

static void *help(void *context)
{
    const annot_name name = kernel("reduce(float*)", "8,1,1", 16);
    (void)context;
    for (unsigned i = 0; i < 20; i++) {
        annot_push("statistics");
        launch(&(struct launch){name, ANNOT_QUEUE_KERNEL, 1, 15, 0, NULL});
        sleep_until(now_ns() + 200 * US);
        annot_pop();
    }
    return NULL;
}

/* The wait reasons of its warps, at this many places. */
static void sample(const char *kernel_name, unsigned places)
{
    for (uint64_t place = 1; place <= places; place++) {
        const struct annot_value values[] = {
            number_value(ANNOT_QUEUE_KEY_CUBIN, 1),
            number_value(ANNOT_QUEUE_KEY_PC, 16 * place),
            number_value("smsp__pcsamp_warps_issue_stalled_barrier", place),
            number_value("smsp__pcsamp_warps_issue_stalled_barrier_not_issued", 1),
            number_value("smsp__pcsamp_warps_issue_stalled_wait", 2),
        };
        const struct annot_event event = {
            .text = kernel_name,
            .domain = domain,
            .category = annot_category_observed(domain, "pc sampling", ANNOT_OBSERVER_CUPTI,
                                                ANNOT_QUEUE_PC),
            .values = values,
            .value_count = sizeof(values) / sizeof(values[0]),
        };
        annot_mark_event(&event);
    }
}

int main(int argc, char **argv)
{
    unsigned long steps = argc > 1 ? strtoul(argv[1], NULL, 10) : 30;
    pthread_t helper;
    percent = argc > 2 ? strtoull(argv[2], NULL, 10) : percent;
    make_queues();
    launch(&(struct launch){kernel("warm_up()", "1,1,1", 8), ANNOT_QUEUE_KERNEL, 0, 100, 0, NULL});
    wait_for(0);
    for (unsigned i = 0; i < steps; i++) {
        annot_push("step");
        do_step(i);
        annot_pop();
    }
    sample("_Z6reducePf", 3);
    sample("_ZN6ampere4gemmEPKfPf", 40);
    free_ns[1] = now_ns();
    if (pthread_create(&helper, NULL, help, NULL) != 0)
        return 1;
    pthread_join(helper, NULL);
    return 0;
}
