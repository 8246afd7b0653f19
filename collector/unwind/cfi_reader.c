/* SPDX-License-Identifier: MIT */
/* Encoded pointers: LSB core 5.0, 10.5.1. Those that only a running program could follow
 * (indirect, relative to its text or function) fail. */
#include "cfi_reader.h"

uint64_t cfi_pointer_number(struct cfi_reader *reader, uint8_t encoding)
{
    switch (encoding & CFI_POINTER_FORM) {
    case 0x00: /* absptr */
    case 0x04: /* udata8 */
    case 0x08: /* signed, of the size of a pointer */
    case 0x0c: /* sdata8 */
        return cfi_number(reader, 8);
    case 0x01:
        return cfi_uleb(reader);
    case 0x02:
        return cfi_number(reader, 2);
    case 0x03:
        return cfi_number(reader, 4);
    case 0x09:
        return (uint64_t)cfi_sleb(reader);
    case 0x0a:
        return (uint64_t)(int64_t)(int16_t)cfi_number(reader, 2);
    case 0x0b:
        return (uint64_t)(int64_t)(int32_t)cfi_number(reader, 4);
    default:
        reader->failed = true;
        return 0;
    }
}

uint64_t cfi_pointer(struct cfi_reader *reader, uint8_t encoding, struct cfi_bases bases)
{
    uint64_t value = cfi_pointer_number(reader, encoding);
    if (encoding & CFI_POINTER_INDIRECT)
        reader->failed = true;
    switch (encoding & CFI_POINTER_BASE) {
    case 0:
        return value;
    case CFI_POINTER_PCREL:
        return bases.place + value;
    case CFI_POINTER_DATAREL:
        return bases.data + value;
    default:
        reader->failed = true;
        return 0;
    }
}
