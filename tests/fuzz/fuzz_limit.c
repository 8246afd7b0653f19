/* SPDX-License-Identifier: MIT */
/* Random texts as limits of a comparison: no crash, no overread, and either a helpful error or a
 * limit that can be evaluated. */
#include "compare.h"
#include "compare_limit.h"
#include "compare_test.h"

#include <assert.h>
#include <math.h>
#include <stdlib.h>
#include <string.h>

static struct compare *make(void)
{
    struct compare *compare = compare_create(4, 4);
    for (size_t run = 0; compare && run < 4; run++) {
        const struct compare_number numbers[] = {
            {COMPARE_A, run, "load", COLUMN_TIME, 1000 + (double)run},
            {COMPARE_B, run, "load", COLUMN_TIME, 1100 + (double)run},
            {COMPARE_B, run, "wall", COLUMN_BYTES, 4096},
        };
        for (size_t i = 0; i < sizeof(numbers) / sizeof(*numbers); i++)
            if (compare_add_number(compare, &numbers[i]) < 0)
                abort();
    }
    if (!compare || compare_finish(compare) < 0)
        abort();
    return compare;
}

int LLVMFuzzerTestOneInput(const uint8_t *bytes, size_t size);

int LLVMFuzzerTestOneInput(const uint8_t *bytes, size_t size)
{
    static struct compare *compare;
    struct compare_limit limit;
    struct compare_judgement *found = NULL;
    char error[COMPARE_ERROR_SIZE] = "", *text = malloc(size + 1);
    if (!text)
        return 0;
    memcpy(text, bytes, size);
    text[size] = '\0';
    compare = compare ? compare : make();
    if (compare_limit_parse(text, &limit, error) < 0) {
        assert(error[0] && memchr(error, 0, sizeof(error)));
    } else {
        assert(limit.name[0] && memchr(limit.name, 0, sizeof(limit.name)));
        assert(isfinite(limit.value) && strlen(limit.name) <= strlen(text));
        int64_t count = compare_judge(compare, &limit, &found);
        for (int64_t i = 0; i < count; i++)
            assert(found[i].limit == &limit);
    }
    free(found);
    free(text);
    return 0;
}
