/* SPDX-License-Identifier: MIT */
/* Random command lines for the option parser: no crash, no overread, operands inside argv.
 *
 * The input is split at NUL bytes into words. */
#include "options.h"
#include "term.h"

#include <assert.h>
#include <stdlib.h>
#include <string.h>

struct values {
    bool flag;
    const char *text, *word;
    uint64_t count, size;
    int64_t time_ns;
};

#define AT(field) offsetof(struct values, field)

static const struct option_spec specs[] = {
    {"flag", 'f', OPTION_FLAG, AT(flag), NULL, "", NULL},
    {"text", 't', OPTION_TEXT, AT(text), "TEXT", "", NULL},
    {"word", 'w', OPTION_CHOICE, AT(word), "one|two|three", "", "one"},
    {"count", 'c', OPTION_COUNT, AT(count), "N", "", "20"},
    {"size", 's', OPTION_SIZE, AT(size), "SIZE", "", "16M"},
    {"time", 0, OPTION_TIME, AT(time_ns), "TIME", "", NULL},
    {0},
};

int LLVMFuzzerTestOneInput(const uint8_t *bytes, size_t size);

int LLVMFuzzerTestOneInput(const uint8_t *bytes, size_t size)
{
    enum { WORDS = 64 };

    char *text = malloc(size + 1), *argv[WORDS + 1];
    if (!text)
        return 0;
    memcpy(text, bytes, size);
    text[size] = '\0';
    int argc = 0;
    for (char *at = text; at <= text + size && argc < WORDS; at += strlen(at) + 1)
        argv[argc++] = at;
    argv[argc] = NULL;

    struct values values = {0};
    struct options options = {.specs = specs, .values = &values};
    options.command_follows = size & 1;
    int rc = options_parse(&options, argc, argv);
    if (rc == 0) {
        assert(options.operands >= argv && options.operands + options.operand_count <= argv + argc);
        assert(options.help || options.operands + options.operand_count == argv + argc);
        for (int i = 0; i < options.operand_count; i++)
            assert(strlen(options.operands[i]) <= size);
        assert(values.time_ns >= 0);
    } else {
        assert(options.error[0] && options.hint[0]);
    }

    char buffer[4 * 40 + 4];
    size_t width = 1 + size % 40, used = term_shorten(text, width, buffer, sizeof(buffer));
    assert(used <= width && used == term_text_width(buffer));
    for (const char *at = buffer; *at; at++)
        assert((unsigned char)*at >= 0x20 && *at != 0x7f);
    free(text);
    return 0;
}
