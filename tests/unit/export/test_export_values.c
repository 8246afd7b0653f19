/* SPDX-License-Identifier: MIT */
/* Key-values as arguments: duplicate names, names used by annot, and more than fit in one packet;
 * messages of logs. Usual ones are in tests/golden/export/toolkit.*. */
#include "export.h"
#include "export_facts.h"
#include "proto_text.h"
#include "test.h"
#include "trace_maker.h"

#include <stdio.h>
#include <stdlib.h>

static struct maker *maker;

static void begin_values(void)
{
    maker = maker_create();
    maker_thread(maker, maker_process(maker, 50, -1, "a", 0), 50, "");
    maker_mark(maker, 0, 10, "mark");
}

/* Returns the line of the mark. */
static char *exported(const char *format)
{
    struct out_stream *out = out_stream_memory();
    const struct pass_source source = maker_pass_source(maker);
    const struct export_job job = {.source = &source, .out = out};
    bool perfetto = strcmp(format, "perfetto") == 0;
    size_t size;
    maker_finish(maker, 1000);
    CHECK_INT(export_run(exporter_by_name(format), &job, NULL), 0);
    const uint8_t *bytes = out_stream_memory_bytes(out, &size);
    char *text = perfetto ? perfetto_text(bytes, size) : strndup((const char *)bytes, size);
    CHECK(strchr(text, '!') == NULL);
    char *line = strstr(text, perfetto ? "track_event {type 3" : "{\"ph\":\"i\"");
    CHECK(line);
    *strchrnul(line, '\n') = 0;
    line = strdup(line);
    free(text);
    out_stream_abandon(out);
    return line;
}

static void check_has(const char *format, const char *part)
{
    char *line = exported(format);
    if (!strstr(line, part))
        test_fail(__FILE__, __LINE__, "%s is not in %s", part, line);
    free(line);
}

TEST(a_key_that_comes_again_has_a_number)
{
    begin_values();
    for (int i = 0; i < 3; i++)
        maker_value_int(maker, "k", i);
    check_has("chrome", "\"args\":{\"k\":0,\"k (2)\":1,\"k (3)\":2}");
    check_has("perfetto", "annotation {name \"k (2)\" int 1} annotation {name \"k (3)\" int 2}");
    maker_destroy(maker);
}

TEST(arrays_that_come_again_and_ends_of_arrays)
{
    begin_values();
    maker_value_int(maker, "a[0] [ms]", 1);
    maker_value_int(maker, "a[1] [ms]", 2);
    maker_value_int(maker, "a[0] [ms]", 3);
    maker_value_int(maker, "a[1]", 4);
    maker_value_int(maker, "b.c[0]", 5);
    maker_value_int(maker, "[0]", 6);
    maker_value_int(maker, "x[]", 7);
    maker_value_int(maker, "x[1234567]", 8);
    check_has("perfetto", "annotation {name \"a (ms)\" element {int 1} element {int 2}}"
                          " annotation {name \"a (ms) (2)\" element {int 3}}"
                          " annotation {name \"a (1)\" int 4}"
                          " annotation {name \"b\" entry {name \"c\" element {int 5}}}"
                          " annotation {name \"[0]\" int 6}"
                          " annotation {name \"x[]\" int 7}"
                          " annotation {name \"x[1234567]\" int 8}");
    maker_destroy(maker);
}

TEST(dots_at_the_ends_and_many_dots)
{
    begin_values();
    maker_value_int(maker, ".a", 1);
    maker_value_int(maker, "a.", 2);
    maker_value_int(maker, "a.b.c.d", 3);
    check_has("perfetto",
              "annotation {name \".a\" int 1} annotation {name \"a.\" int 2} annotation "
              "{name \"a\" entry {name \"b\" entry {name \"c.d\" int 3}}}");
    maker_destroy(maker);
}

TEST(more_keys_than_a_packet_introduces_are_spelled_out)
{
    char key[32];
    begin_values();
    for (int i = 0; i < 100; i++) {
        snprintf(key, sizeof(key), "key %c%c", 'a' + i / 10, 'a' + i % 10);
        maker_value_int(maker, key, i);
    }
    char *line = exported("perfetto");
    CHECK(strstr(line, "annotation {name \"key jj\" int 99}"));
    CHECK(strstr(line, "annotation_name {iid ") && strstr(line, "name \"key aa\""));
    free(line);
    maker_destroy(maker);
}

TEST(a_very_long_key_is_cut_at_a_character)
{
    char key[4096] = "";
    begin_values();
    for (size_t at = 0; at < 3900; at += 3)
        memcpy(key + at, "\xe2\x82\xac", 4);
    maker_value_int(maker, key, 1);
    char *line = exported("perfetto"); /* the decoder would report half a character */
    CHECK(strlen(line) < 1600);
    free(line);
    maker_destroy(maker);
}

TEST(messages_of_logs_are_told_by_their_severity)
{
    begin_values();
    maker_value_int(maker, "severity", 3);
    maker_severity(maker, "warning");
    check_has("chrome", "\"cat\":\"log\"");
    check_has("perfetto", "category_iid 2 log_message {body_iid");
    check_has("perfetto", "priority 5}");
    maker_destroy(maker);
    begin_values();
    maker_value_text(maker, "severity", "warning"); /* the program's own key */
    char *line = exported("perfetto");
    CHECK(!strstr(line, "log_message") && !strstr(line, "category"));
    free(line);
    maker_destroy(maker);
}

TEST(keys_beyond_the_table_of_strings_are_shown)
{
    struct export_keys keys;
    begin_values();
    CHECK_INT(export_keys_init(&keys, maker_trace(maker)), 0);
    export_keys_restart(&keys);
    CHECK_STR(export_keys_next(&keys, 100000).text, "<unknown name 100000>");
    CHECK_INT(export_keys_next(&keys, 100000).number, 0);
    export_keys_fini(&keys);
    maker_destroy(maker);
}
