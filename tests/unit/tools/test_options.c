/* SPDX-License-Identifier: MIT */
/* The option parser: forms of options, values with units, errors and their hints. */
#include "options.h"
#include "test.h"

#include <errno.h>
#include <stddef.h>
#include <string.h>

struct values {
    bool force, wide;
    const char *output, *by, *gpu;
    uint64_t limit, size, period;
    int64_t delay_ns, least_ns;
    bool nodes, no_counters;
};

#define AT(field) offsetof(struct values, field)

static const struct option_spec specs[] = {
    {"force", 'F', OPTION_FLAG, AT(force), NULL, "replace", NULL},
    {"wide", 'w', OPTION_FLAG, AT(wide), NULL, "wide", NULL},
    {"output", 'o', OPTION_TEXT, AT(output), "FILE", "where to", NULL},
    {"by", 0, OPTION_CHOICE, AT(by), "path|name|thread", "rows", "path"},
    {"limit", 'n', OPTION_COUNT, AT(limit), "N", "rows", "20"},
    {"size", 0, OPTION_SIZE, AT(size), "SIZE", "bytes", "16M"},
    {"delay", 0, OPTION_TIME, AT(delay_ns), "TIME", "wait", NULL},
    {"gpu", 0, OPTION_PARTS, AT(gpu), "[=LIST]", "GPUs", NULL},
    {"gpu=nodes", 0, OPTION_FLAG, AT(nodes), NULL, "each node", NULL},
    {"gpu=-counters", 0, OPTION_FLAG, AT(no_counters), NULL, "no counters", NULL},
    {"gpu=period", 0, OPTION_COUNT, AT(period), "N", "cycles", "12"},
    {"gpu=min", 0, OPTION_TIME, AT(least_ns), "TIME", "at least", NULL},
    {"module", 'm', OPTION_COMMAND, 0, "MODULE", "run it", NULL},
    {0},
};

static struct values values;
static struct options options;

/* `words` may be temporary; pointers into `argv` must stay valid. */
static int parse(const char **words, bool command_follows)
{
    static char *argv[16];
    int argc = 0;
    for (; words[argc] && argc < 15; argc++)
        argv[argc] = (char *)words[argc];
    argv[argc] = NULL;
    values = (struct values){0};
    options = (struct options){.specs = specs, .values = &values};
    options.command_follows = command_follows;
    return options_parse(&options, argc, argv);
}

#define PARSE(...)         parse((const char *[]){__VA_ARGS__, NULL}, false)
#define PARSE_COMMAND(...) parse((const char *[]){__VA_ARGS__, NULL}, true)

TEST(fallbacks_are_parsed_like_typed_values)
{
    CHECK_INT(PARSE("x"), 0);
    CHECK_STR(values.by, "path");
    CHECK_INT(values.limit, 20);
    CHECK_INT(values.size, 16 << 20);
    CHECK_INT(values.delay_ns, 0);
    CHECK(!values.output && !values.force);
}

TEST(long_and_short_forms_mean_the_same)
{
    CHECK_INT(PARSE("-o", "a", "--limit=3", "-Fw"), 0);
    CHECK_STR(values.output, "a");
    CHECK_INT(values.limit, 3);
    CHECK(values.force && values.wide);
    CHECK_INT(PARSE("--output", "b", "-n4", "-Fob2"), 0);
    CHECK_STR(values.output, "b2");
    CHECK_INT(values.limit, 4);
    CHECK_INT(PARSE("--output="), 0);
    CHECK_STR(values.output, "");
}

TEST(operands_stand_anywhere_and_keep_their_order)
{
    CHECK_INT(PARSE("one", "-F", "two", "--limit", "7", "-", "three"), 0);
    CHECK_INT(options.operand_count, 4);
    CHECK_STR(options.operands[0], "one");
    CHECK_STR(options.operands[1], "two");
    CHECK_STR(options.operands[2], "-");
    CHECK_STR(options.operands[3], "three");
    CHECK(values.force);
    CHECK_INT(values.limit, 7);
}

TEST(two_dashes_end_the_options)
{
    CHECK_INT(PARSE("one", "--", "--force", "--"), 0);
    CHECK_INT(options.operand_count, 3);
    CHECK_STR(options.operands[1], "--force");
    CHECK_STR(options.operands[2], "--");
    CHECK(!values.force);
}

TEST(a_command_keeps_its_own_options)
{
    CHECK_INT(PARSE_COMMAND("-F", "ls", "--wide", "--nonsense"), 0);
    CHECK_INT(options.operand_count, 3);
    CHECK_STR(options.operands[2], "--nonsense");
    CHECK(values.force && !values.wide);
    CHECK_INT(PARSE_COMMAND("--", "ls", "--", "x"), 0);
    CHECK_INT(options.operand_count, 3);
    CHECK_STR(options.operands[0], "ls");
}

TEST(help_stops_the_parse)
{
    CHECK_INT(PARSE("--help", "--nonsense"), 0);
    CHECK(options.help);
    CHECK(!options.help_all);
    CHECK_INT(PARSE("--help-all", "--nonsense"), 0);
    CHECK(options.help && options.help_all);
    CHECK_INT(PARSE("-Fh"), 0);
    CHECK(options.help);
}

TEST(an_unknown_option_names_the_nearest)
{
    CHECK_INT(PARSE("--ouptut=x"), -EINVAL);
    CHECK_STR(options.error, "unknown option --ouptut");
    CHECK_STR(options.hint, "did you mean --output?");
    CHECK_INT(PARSE("--lim", "3"), -EINVAL);
    CHECK_STR(options.hint, "did you mean --limit?");
    CHECK_INT(PARSE("--xyzzy"), -EINVAL);
    CHECK_STR(options.hint, "--help lists the options");
    CHECK_INT(PARSE("-x"), -EINVAL);
    CHECK_STR(options.error, "unknown option -x");
}

TEST(wrong_values_say_what_is_right)
{
    CHECK_INT(PARSE("--output"), -EINVAL);
    CHECK_STR(options.error, "option --output needs a value");
    CHECK_STR(options.hint, "--output FILE");
    CHECK_INT(PARSE("--force=yes"), -EINVAL);
    CHECK_STR(options.error, "option --force takes no value");
    CHECK_INT(PARSE("--by", "color"), -EINVAL);
    CHECK_STR(options.error, "option --by: cannot understand \"color\"");
    CHECK_STR(options.hint, "one of path|name|thread");
    CHECK_INT(PARSE("--by", "path|name"), -EINVAL);
    CHECK_INT(PARSE("--by="), -EINVAL);
    CHECK_INT(PARSE("--limit", "-3"), -EINVAL);
    CHECK_INT(PARSE("--limit", "99999999999999999999"), -EINVAL);
    CHECK_STR(options.error, "option --limit: \"99999999999999999999\" is too large");
}

TEST(times_are_exact)
{
    static const struct {
        const char *text;
        int rc;
        int64_t ns;
    } cases[] = {
        {"12.5s", 0, 12500000000},
        {"300ms", 0, 300000000},
        {"5", 0, 5000000000},
        {"0.1us", 0, 100},
        {"7ns", 0, 7},
        {"1.5min", 0, 90000000000},
        {"2m", 0, 120000000000},
        {"1h", 0, 3600000000000},
        {".5s", 0, 500000000},
        {"0.000000001s", 0, 1},
        {"9223372036854775807ns", 0, INT64_MAX},
        {"9223372036854775808ns", -ERANGE, 0},
        {"9223372037s", -ERANGE, 0},
        {"1.5ns", -EINVAL, 0},
        {"", -EINVAL, 0},
        {".", -EINVAL, 0},
        {"s", -EINVAL, 0},
        {"-1s", -EINVAL, 0},
        {"1e3s", -EINVAL, 0},
        {"0x10", -EINVAL, 0},
        {"inf", -EINVAL, 0},
        {"1 s", -EINVAL, 0},
        {"3days", -EINVAL, 0},
    };

    for (size_t i = 0; i < sizeof(cases) / sizeof(*cases); i++) {
        int64_t ns = 0;
        int rc = options_parse_time(cases[i].text, &ns);
        if (rc != cases[i].rc || ns != cases[i].ns)
            test_fail(__FILE__, __LINE__, "%s: %d, %lld", cases[i].text, rc, (long long)ns);
    }
}

TEST(sizes_are_powers_of_two)
{
    uint64_t bytes = 0;
    CHECK_INT(options_parse_size("16M", &bytes), 0);
    CHECK_INT(bytes, 16 << 20);
    CHECK_INT(options_parse_size("1.5GiB", &bytes), 0);
    CHECK_INT(bytes, 3ll << 29);
    CHECK_INT(options_parse_size("4096", &bytes), 0);
    CHECK_INT(bytes, 4096);
    CHECK_INT(options_parse_size("64KB", &bytes), -EINVAL);
    CHECK_INT(options_parse_size("16777216T", &bytes), -ERANGE);
    CHECK_INT(options_parse_size("1.5B", &bytes), -EINVAL);
}

TEST(distance_counts_edits)
{
    CHECK_INT(options_distance("report", "report"), 0);
    CHECK_INT(options_distance("reprot", "report"), 1);
    CHECK_INT(options_distance("repot", "report"), 1);
    CHECK_INT(options_distance("", "abc"), 3);
    CHECK_INT(options_distance("abc", "xyz"), 3);
    char longer[100];
    memset(longer, 'a', sizeof(longer) - 1);
    longer[99] = '\0';
    CHECK(options_distance(longer, "report") > 1000);
    CHECK_INT(PARSE("--output", longer, longer), 0);
    longer[0] = longer[1] = '-';
    CHECK_INT(PARSE(longer), -EINVAL);
}

TEST(a_command_may_begin_with_an_option)
{
    CHECK_INT(PARSE_COMMAND("-w", "-m", "json.tool", "-o", "x"), 0);
    CHECK(values.wide && !values.output);
    CHECK_INT(options.operand_count, 4);
    CHECK_STR(options.operands[0], "-m");
    CHECK_INT(PARSE_COMMAND("--module=json.tool", "-w"), 0);
    CHECK_INT(options.operand_count, 2);
    CHECK(!values.wide);
    CHECK_INT(PARSE_COMMAND("-m"), -EINVAL);
    CHECK_INT(PARSE_COMMAND("-wm", "json.tool"), -EINVAL);
}

TEST(an_option_of_no_table_is_named)
{
    CHECK_INT(PARSE("--nothing=3"), -EINVAL);
    CHECK_STR(options.unknown, "--nothing");
    CHECK_INT(PARSE("-wQ"), -EINVAL);
    CHECK_STR(options.unknown, "-Q");
    CHECK_INT(PARSE("--limit", "x"), -EINVAL);
    CHECK_STR(options.unknown, "");
}

TEST(parts_of_an_option_set_values_of_their_own)
{
    CHECK_INT(PARSE("x"), 0);
    CHECK(!values.gpu && !values.nodes);
    CHECK_INT(values.period, 12);
    CHECK_INT(PARSE("--gpu", "nodes"), 0);
    CHECK_STR(values.gpu, "");
    CHECK(!values.nodes);
    CHECK_INT(options.operand_count, 1);
    CHECK_INT(PARSE("--gpu=nodes,-counters,period=7,min=3ms"), 0);
    CHECK(values.nodes && values.no_counters);
    CHECK_INT(values.period, 7);
    CHECK_INT(values.least_ns, 3000000);
    CHECK_INT(PARSE("--gpu=nodes,-counters", "--gpu=-nodes,,counters"), 0);
    CHECK(values.gpu && !values.nodes && !values.no_counters);
}

TEST(wrong_parts_are_named)
{
    CHECK(PARSE("--gpu=node") < 0);
    CHECK(strstr(options.error, "\"node\"") && strstr(options.hint, "did you mean nodes?"));
    CHECK(strstr(options.hint, "nodes, -counters, period, min"));
    CHECK(PARSE("--gpu=nodes=3") < 0);
    CHECK_STR(options.error, "option --gpu=nodes takes no value");
    CHECK(PARSE("--gpu=period") < 0);
    CHECK_STR(options.error, "option --gpu=period needs a value");
    CHECK(PARSE("--gpu=period=many") < 0);
    CHECK(strstr(options.error, "--gpu=period: cannot understand \"many\""));
    CHECK(PARSE("--gpu=-period=3") < 0);
    CHECK(PARSE("--gpu-nodes") < 0);
    CHECK_STR(options.hint, "did you mean --gpu=nodes?");
}
