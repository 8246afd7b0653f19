/* SPDX-License-Identifier: MIT */
/* emit_misuse KIND: wrong calls, each followed by a right one. Exits with 0 if they changed no
 * state of the program. One thread and a forked child. */
#include <annot/annot.h>
#include <errno.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/wait.h>
#include <unistd.h>

enum { MEGABYTE = 1 << 20 };

static char large[MEGABYTE + 1];

static void ends(void)
{
    annot_range range = annot_start("ended thrice");
    annot_end(range);
    annot_end(range);
    annot_end(range);
    annot_end(range ^ UINT64_C(1) << 50); /* of another process, counted: 1 */
    annot_range parents = annot_start("the parent's");
    if (fork() == 0) {
        annot_end(parents);         /* 2 */
        annot_end(UINT64_MAX >> 1); /* 3 */
        annot_mark("right");
        _exit(0);
    }
    wait(NULL);
    annot_end(parents);
    annot_pop(); /* no open range, counted: 1, 2 */
    annot_pop();
}

static void nulls(void)
{
    const struct annot_value nothing = {0}, text = annot_value_string(NULL, NULL);
    const struct annot_value values[] = {nothing, text, annot_value_int64(NULL, 3),
                                         annot_value_struct(0, NULL, 100),
                                         annot_value_struct(999, NULL, 0)};
    struct annot_event event = {
        .values = values, .value_count = 5, .payload_kind = ANNOT_PAYLOAD_STRING};
    const struct annot_event empty = {.value_count = 7};
    annot_push(NULL);
    annot_push_event(NULL);
    annot_push_event(&event);
    annot_push_name(0);
    annot_push_name(UINT32_MAX);
    for (int i = 0; i < 5; i++)
        annot_pop();
    annot_mark(NULL);
    annot_mark_event(&empty);
    annot_counter(NULL, 1);
    annot_counter_event(NULL);
    annot_counters(NULL, NULL, 3);
    annot_counters("none", values, 0);
    annot_end(annot_start(NULL));
    annot_end(annot_start_event(NULL));
    annot_end(0);
    annot_category_create(annot_domain_create(NULL), NULL);
    annot_category_create(60000, "of no domain");
    annot_counter_unit(60000, NULL, NULL);
    annot_track_begin(NULL, "track");
    annot_track_end(NULL);
    annot_track_mark_event(NULL, NULL);
    annot_flow_begin(0, NULL);
    annot_flow_id(NULL, 0);
    annot_log((enum annot_severity)77, NULL);
    annot_schema_create(NULL, 0, NULL, 5);
    annot_trace_context_adopt(NULL);
    annot_trace_context_adopt("00-zz");
    annot_name_process(NULL);
}

static void sizes(void)
{
    struct annot_value values[1000];
    memset(large, 'x', MEGABYTE);
    annot_push(large);
    annot_mark(large);
    annot_log(ANNOT_SEVERITY_INFO, large);
    annot_counter(large, 1);
    annot_domain domain = annot_domain_create(large);
    for (int i = 0; i < 1000; i++)
        values[i] = annot_value_int64("many", i);
    struct annot_event event = {
        .text = "large", .domain = domain, .values = values, .value_count = 1000};
    annot_mark_event(&event); /* cut, counted: 1 */
    values[0] = annot_value_string(large, large);
    event.value_count = 1;
    annot_mark_event(&event);
    values[0] = annot_value_struct(1, large, MEGABYTE);
    annot_mark_event(&event); /* 2 */
    annot_pop();
}

static void bytes(void)
{
    static const char *const texts[] = {"\xff\xfe\x80",           "half \xe2\x82",
                                        "\xed\xa0\x80 surrogate", "over \xc0\xaf",
                                        "\xf5\x80\x80\x80 far",   "tab\tline\n\x01"};
    for (size_t i = 0; i < sizeof(texts) / sizeof(texts[0]); i++) {
        const struct annot_value value = annot_value_string(texts[i], texts[i]);
        const struct annot_event event = {.text = texts[i],
                                          .values = &value,
                                          .value_count = 1,
                                          .domain = annot_domain_create(texts[i])};
        annot_mark_event(&event);
    }
}

static void schemas(void)
{
    const struct annot_field fields[] = {{.name = "a", .offset = 0, .kind = ANNOT_FIELD_INT64},
                                         {.name = "b", .offset = 8, .kind = ANNOT_FIELD_INT64}};
    annot_schema schema = annot_schema_create("pair", 16, fields, 2);
    const int64_t pair[2] = {1, 2};
    const struct annot_value values[] = {annot_value_struct(schema, pair, 16),
                                         annot_value_struct(schema, pair, 5),
                                         annot_value_struct((annot_schema)(schema + 9), pair, 16)};
    for (int i = 0; i < 3; i++) {
        const struct annot_event event = {.text = "struct", .values = &values[i], .value_count = 1};
        annot_mark_event(&event);
    }
}

static void deep(void)
{
    for (int i = 0; i < 100000; i++)
        ANNOT_PUSH("deep");
}

/* Ids for more names than the table of a process has room for. */
static void names(void)
{
    char name[1024];
    memset(name, 'x', sizeof(name));
    name[sizeof(name) - 1] = 0;
    for (int i = 0; i < 6000; i++) {
        memcpy(name,
               (char[]){(char)('A' + i / 400), (char)('A' + i / 20 % 20), (char)('A' + i % 20)}, 3);
        annot_push_name(annot_name_intern(name));
        annot_pop();
    }
}

int main(int argc, char **argv)
{
    static const struct {
        const char *name;
        void (*run)(void);
    } kinds[] = {{"ends", ends},       {"nulls", nulls}, {"sizes", sizes}, {"bytes", bytes},
                 {"schemas", schemas}, {"deep", deep},   {"names", names}};

    for (size_t i = 0; argc == 2 && i < sizeof(kinds) / sizeof(kinds[0]); i++) {
        if (strcmp(kinds[i].name, argv[1]) != 0)
            continue;
        errno = EDOM;
        kinds[i].run();
        annot_mark("right");
        if (errno != EDOM)
            return 3;
        puts("done");
        return 0;
    }
    return 2;
}
