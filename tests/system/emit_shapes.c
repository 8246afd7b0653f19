/* SPDX-License-Identifier: MIT */
/* emit_shapes SHAPE: emits the cases that a sceptic would try first, and accounts for each range.
 *
 * Shapes: deep, underflow, masked, names, payloads, overlap. One thread, but for overlap. */
#include <dirent.h>
#include <fcntl.h>
#include <pthread.h>
#include <stdlib.h>
#include <string.h>
#include <sys/mman.h>
#include <unistd.h>

#include <annot/annot.h>

#include "account.h"
#include "annot_barrier.h"
#include "annot_wire.h"

/* ---- Ranges with an account ---- */

enum { OPEN_MAX = 16 };

struct open_range {
    char name[32];
    int64_t before, after;
};
static struct open_range open_ranges[OPEN_MAX];
static unsigned open_count;

static void push_level(const char *name, uint8_t level)
{
    struct open_range *range = &open_ranges[open_count++];
    snprintf(range->name, sizeof(range->name), "%s", name);
    range->before = emit_now();
    annot_push_event(&(struct annot_event){.text = name, .level = level});
    range->after = emit_now();
    emit_sleep_ms(2);
}

static void pop(void)
{
    const struct open_range *range = &open_ranges[--open_count];
    int64_t before = emit_now();
    annot_pop();
    printf("{\"name\":\"%s\",\"begin\":[%" PRId64 ",%" PRId64 "],\"end\":[%" PRId64 ",%" PRId64
           "]}\n",
           range->name, range->before, range->after, before, emit_now());
    emit_sleep_ms(2);
}

/* ---- Shapes ---- */

static void shape_deep(void)
{
    enum { DEPTH = 10000 };

    for (int i = 0; i < DEPTH; i++) {
        char name[32];
        snprintf(name, sizeof(name), "level %d", i);
        annot_push(name);
    }
    annot_mark("bottom");
    for (int i = 0; i < DEPTH; i++)
        annot_pop();
    annot_mark("surface");
}

static void shape_underflow(void)
{
    push_level("first", 0);
    pop();
    annot_pop();
    push_level("outer", 0);
    push_level("inner", 0);
    pop();
    pop();
    annot_pop();
    annot_pop();
    push_level("last", 0);
    pop();
}

/* The mask of this process's own segment, as a collector reaches it. */
static struct annot_control *own_control(void)
{
    char prefix[32], path[512];
    snprintf(prefix, sizeof(prefix), "%d-", getpid());
    DIR *directory = opendir(getenv(ANNOT_ENV_DIR));
    for (struct dirent *entry; directory && (entry = readdir(directory));) {
        if (strncmp(entry->d_name, prefix, strlen(prefix)) != 0)
            continue;
        snprintf(path, sizeof(path), "%s/%s", getenv(ANNOT_ENV_DIR), entry->d_name);
        int fd = open(path, O_RDWR);
        struct annot_segment *segment =
            mmap(NULL, sizeof(*segment), PROT_READ | PROT_WRITE, MAP_SHARED, fd, 0);
        return segment == MAP_FAILED ? NULL : &segment->control;
    }
    return NULL;
}

static void shape_masked(void)
{
    push_level("outer", 0);
    struct annot_control *control = own_control();
    if (!control)
        exit(3);
    push_level("detail seen", 5);
    annot_store_relaxed(&control->category_mask[5], 0); /* read by the program's next event */
    push_level("detail hidden", 5);
    push_level("inner", 0);
    annot_store_relaxed(&control->category_mask[0], 0);
    push_level("all hidden", 0);
    annot_mark("hidden mark");
    annot_store_relaxed(&control->category_mask[0], UINT64_MAX);
    annot_store_relaxed(&control->category_mask[5], UINT64_MAX);
    pop(); /* all hidden: was masked when it began */
    pop(); /* inner */
    pop(); /* detail hidden */
    annot_store_relaxed(&control->category_mask[5], 0);
    pop(); /* detail seen: began while it was wanted */
    pop(); /* outer */
}

static void shape_names(void)
{
    char longest[1026], emoji[1027];
    memset(longest, 'x', sizeof(longest) - 1);
    longest[sizeof(longest) - 1] = 0; /* 1,025 bytes */
    memset(emoji, 'y', 1022);         /* the cut must not fall inside the emoji */
    memcpy(emoji + 1022, "\xf0\x9f\x98\x80", 5);
    static const char *const names[] = {
        "tab\there\nnewline\x01\x1f\x7f",
        "invalid \xff\xfe\xc3( utf-8",
        "surrogate \xed\xa0\x80 overlong \xc0\xaf",
        "emoji \xf0\x9f\x9a\x80 \xe6\xbc\xa2\xe5\xad\x97",
        "quote \" backslash \\ </script> & %s",
        "",
        NULL,
        "last, before the long ones",
    };
    for (size_t i = 0; i < sizeof(names) / sizeof(*names); i++) {
        annot_push(names[i]);
        annot_mark(names[i]);
        annot_counter(names[i], (double)i);
        annot_pop();
    }
    annot_push(longest);
    annot_pop();
    annot_push(emoji);
    annot_pop();
    annot_name_process("pr\xffocess \"quoted\"");
    annot_name_thread("thread\nwith newline");
}

static void emit_payload(const struct annot_event *event)
{
    annot_push_event(event);
    annot_mark_event(event);
    annot_end(annot_start_event(event));
    annot_pop();
}

static void shape_payloads(void)
{
    annot_domain domain = annot_domain_create("storage");
    annot_category category = annot_category_create(domain, "disk");
    emit_payload(&(struct annot_event){
        .text = "int64 min", .payload_kind = ANNOT_PAYLOAD_INT64, .payload.int64 = INT64_MIN});
    emit_payload(&(struct annot_event){
        .text = "uint64 max", .payload_kind = ANNOT_PAYLOAD_UINT64, .payload.uint64 = UINT64_MAX});
    emit_payload(&(struct annot_event){
        .text = "double tenth", .payload_kind = ANNOT_PAYLOAD_DOUBLE, .payload.float64 = 0.1});
    emit_payload(&(struct annot_event){.text = "double infinite",
                                       .payload_kind = ANNOT_PAYLOAD_DOUBLE,
                                       .payload.float64 = __builtin_inf()});
    emit_payload(&(struct annot_event){.text = "double nan",
                                       .payload_kind = ANNOT_PAYLOAD_DOUBLE,
                                       .payload.float64 = __builtin_nan("")});
    emit_payload(&(struct annot_event){
        .text = "bool true", .payload_kind = ANNOT_PAYLOAD_BOOL, .payload.boolean = 1});
    emit_payload(&(struct annot_event){.text = "string quoted",
                                       .payload_kind = ANNOT_PAYLOAD_STRING,
                                       .payload.string = "a \"quoted\"\n\xff text"});
    emit_payload(&(struct annot_event){
        .text = "string null", .payload_kind = ANNOT_PAYLOAD_STRING, .payload.string = NULL});
    emit_payload(&(struct annot_event){.text = "all",
                                       .domain = domain,
                                       .category = category,
                                       .color = 0xff336699,
                                       .level = 3,
                                       .payload_kind = ANNOT_PAYLOAD_INT64,
                                       .payload.int64 = 7});
    static const double values[] = {0, -1.5, 1e300, 0.1, 4503599627370497.5};
    for (size_t i = 0; i < sizeof(values) / sizeof(*values); i++)
        annot_counter("level", values[i]);
    annot_counter_event(&(struct annot_event){.text = "bytes",
                                              .domain = domain,
                                              .payload_kind = ANNOT_PAYLOAD_INT64,
                                              .payload.int64 = INT64_C(9007199254740993)});
}

static void *end_elsewhere(void *argument)
{
    annot_end(*(annot_range *)argument);
    return NULL;
}

/* Ranges that are no tree: a a, b b crossing, one ended by another thread, one never ended. */
static void shape_overlap(void)
{
    annot_range a = annot_start("request a");
    emit_sleep_ms(2);
    annot_range b = annot_start("request b");
    annot_push("handler");
    emit_sleep_ms(2);
    annot_end(a);
    annot_range never = annot_start("request never ended");
    emit_sleep_ms(2);
    annot_pop();
    pthread_t thread;
    pthread_create(&thread, NULL, end_elsewhere, &b);
    pthread_join(thread, NULL);
    annot_end(a);                        /* a second time: no effect */
    annot_end(UINT64_C(0x123456789abc)); /* never given out: no effect */
    (void)never;
}

int main(int argc, char **argv)
{
    static const struct {
        const char *name;
        void (*emit)(void);
    } shapes[] = {{"deep", shape_deep},         {"underflow", shape_underflow},
                  {"masked", shape_masked},     {"names", shape_names},
                  {"payloads", shape_payloads}, {"overlap", shape_overlap}};

    for (size_t i = 0; argc > 1 && i < sizeof(shapes) / sizeof(*shapes); i++) {
        if (strcmp(shapes[i].name, argv[1]) == 0) {
            shapes[i].emit();
            return 0;
        }
    }
    return 2;
}
