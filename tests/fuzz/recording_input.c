/* SPDX-License-Identifier: MIT */
/* See recording_input.h. */
#include "recording_input.h"

#include "chunk.h"
#include "format.h"
#include "hash.h"
#include "store.h"

#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/mman.h>
#include <unistd.h>

enum { FILE_MAX = 4 << 20, FILE_ID = 0x5eed };

static uint8_t bytes[FILE_MAX];

/* Corrects the checksums of all chunks that can be reached by their lengths. */
static size_t make_right(const uint8_t *data, size_t size)
{
    struct store_file_header header = {.file_id = FILE_ID};
    file_header_seal(&header);
    memcpy(bytes, data, size);
    if (size < sizeof(header))
        return size;
    memcpy(bytes, &header, sizeof(header));
    for (size_t at = STORE_HEADER_SIZE; size - at >= sizeof(struct store_chunk_header);) {
        struct store_chunk_header chunk;
        memcpy(&chunk, bytes + at, sizeof(chunk));
        size_t rest = size - at - sizeof(chunk);
        chunk.file_id = FILE_ID;
        if (chunk.stored_size <= rest)
            chunk.payload_crc = checksum_crc32c(0, bytes + at + sizeof(chunk), chunk.stored_size);
        chunk_header_seal(&chunk);
        memcpy(bytes + at, &chunk, sizeof(chunk));
        if (chunk.stored_size > rest)
            break;
        at += sizeof(chunk) + chunk.stored_size;
    }
    return size;
}

static size_t make_chunks(const uint8_t *data, size_t size)
{
    struct store_file_header header = {.file_id = FILE_ID};
    uint32_t number = 0;
    file_header_seal(&header);
    memcpy(bytes, &header, sizeof(header));
    size_t end = sizeof(header);
    for (size_t at = 0; at + 3 <= size;) {
        size_t length = data[at + 1] | (size_t)data[at + 2] << 8;
        length = length > size - at - 3 ? size - at - 3 : length;
        if (end + sizeof(struct store_chunk_header) + length > FILE_MAX)
            break;
        struct store_chunk_header chunk = {
            .type = data[at] & 0x7f,
            .flags = data[at] >> 7,
            .file_id = FILE_ID,
            .number = number++,
            .stored_size = (uint32_t)length,
            .raw_size = data[at] >> 7 ? 1u << 16 : (uint32_t)length,
            .payload_crc = checksum_crc32c(0, data + at + 3, length),
        };
        chunk_header_seal(&chunk);
        memcpy(bytes + end, &chunk, sizeof(chunk));
        memcpy(bytes + end + sizeof(chunk), data + at + 3, length);
        end += sizeof(chunk) + length;
        at += 3 + length;
    }
    return end;
}

int recording_input(const uint8_t *data, size_t size, char path[RECORDING_INPUT_PATH])
{
    if (size < 1 || size > FILE_MAX)
        return -1;
    size_t file_size = data[0] == 2   ? make_chunks(data + 1, size - 1)
                       : data[0] == 1 ? make_right(data + 1, size - 1)
                                      : size - 1;
    if (data[0] != 1 && data[0] != 2)
        memcpy(bytes, data + 1, size - 1);
    int fd = memfd_create("recording", MFD_CLOEXEC);
    if (fd < 0 || write(fd, bytes, file_size) != (ssize_t)file_size)
        abort();
    snprintf(path, RECORDING_INPUT_PATH, "/proc/self/fd/%d", fd);
    return fd;
}
