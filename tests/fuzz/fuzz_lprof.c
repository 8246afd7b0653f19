/* SPDX-License-Identifier: MIT */
/* Random results of line_profiler: no crash, no overread, and a reason if they are rejected. If
 * accepted, the recording is readable. */
#include "import.h"
#include "lprof.h"
#include "reader.h"

#include "store.h"

#include <assert.h>
#include <errno.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/mman.h>
#include <unistd.h>

int LLVMFuzzerTestOneInput(const uint8_t *bytes, size_t size);

static uint64_t count_samples(struct store_reader *reader)
{
    const struct sample *samples;
    uint32_t count;
    uint64_t sum = 0;
    while (store_reader_next_samples(reader, &samples, &count) == 1) {
        for (uint32_t i = 0; i < count; i++)
            assert(samples[i].value_count == 2 && samples[i].values[0] >= 0 &&
                   samples[i].values[1] >= 0 && samples[i].stack > 0);
        sum += count;
    }
    return sum;
}

static void read_back(const struct lprof *lprof)
{
    char path[64];
    struct store_reader *reader;
    int memory = memfd_create("lprof", MFD_CLOEXEC);
    assert(memory >= 0);
    snprintf(path, sizeof(path), "/proc/self/fd/%d", memory);
    assert(lprof_write(lprof, path) == 0);
    assert(store_reader_open(path, &reader) == 0);
    assert(count_samples(reader) > 0 && store_reader_damage_count(reader) == 0);
    store_reader_close(reader);
    close(memory);
}

int LLVMFuzzerTestOneInput(const uint8_t *bytes, size_t size)
{
    struct lprof_fault fault = {0};
    struct lprof *lprof = NULL;
    uint8_t *copy = malloc(size ? size : 1); /* ends where a sanitizer notices */
    if (!copy)
        return 0;
    memcpy(copy, bytes, size);
    (void)lprof_begins(copy, size);
    int error = lprof_read(copy, size, &fault, &lprof);
    free(copy);
    if (error == 0)
        read_back(lprof);
    else
        assert(error == -ENOMEM || (error == -EBADMSG && fault.what && fault.at <= size));
    lprof_destroy(lprof);
    return 0;
}
