/* SPDX-License-Identifier: MIT */
/* Random manifests for their parser: no crash, no overread, numbers within their limits. An
 * accepted manifest is the same after it is written and read again. */
#include "store.h"
#include "volumes.h"

#include <assert.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

int LLVMFuzzerTestOneInput(const uint8_t *bytes, size_t size);

int LLVMFuzzerTestOneInput(const uint8_t *bytes, size_t size)
{
    struct store_manifest manifest, again;
    char path[64];
    char *text = malloc(size ? size : 1); /* ends where a sanitizer notices */
    if (!text)
        return 0;
    memcpy(text, bytes, size);
    if (store_manifest_parse(text, size, &manifest) == 0) {
        assert(manifest.count > 0 && manifest.count <= STORE_PARTS_MAX);
        snprintf(path, sizeof(path), "manifest-%d", getpid());
        assert(store_manifest_write(path, &manifest, true) == 0);
        assert(store_manifest_read(path, &again) == 0);
        assert(again.count == manifest.count);
        for (size_t i = 0; i < manifest.count; i++) {
            const struct store_part *part = &manifest.parts[i], *other = &again.parts[i];
            assert(strcmp(part->path, other->path) == 0 && part->path[0]);
            assert(part->time.error_ns >= 0);
            assert(part->time.drift <= 1e-3 && part->time.drift >= -1e-3);
            assert(part->time.offset_ns == other->time.offset_ns);
        }
        store_manifest_free(&again);
        unlink(path);
    }
    store_manifest_free(&manifest);
    free(text);
    return 0;
}
