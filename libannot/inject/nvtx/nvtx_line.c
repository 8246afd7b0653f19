/* SPDX-License-Identifier: MIT */
/* Numbers, texts and arrays of payloads, as values and as text: see nvtx_decode.h. */
#include "nvtx_line.h"

#include "nvtx_decode.h"
#include "nvtx_extension.h"

#include <stdio.h>
#include <stdlib.h>
#include <string.h>

enum { LINE_MAX_SIZE = 512, CUT_SIZE = 4 /* "..." and its NUL */ };

/* ---- Numbers --------------------------------------------------------------------------------- */

uint64_t nvtx_bits_of(const uint8_t *bytes, uint64_t size)
{
    uint64_t bits64;
    uint32_t bits32;
    uint16_t bits16;
    switch (size) {
    case 1:
        return *bytes;
    case 2:
        memcpy(&bits16, bytes, sizeof(bits16));
        return bits16;
    case 4:
        memcpy(&bits32, bytes, sizeof(bits32));
        return bits32;
    default:
        memcpy(&bits64, bytes, sizeof(bits64));
        return bits64;
    }
}

static int64_t signed_of(const uint8_t *bytes, uint64_t size)
{
    uint64_t bits = nvtx_bits_of(bytes, size), sign = UINT64_C(1) << (size * 8 - 1);
    return (int64_t)((bits ^ sign) - sign);
}

/* Half precision: every value is exact as a double. */
static double half_of(uint64_t bits)
{
    uint64_t exponent = bits >> 10 & 31, fraction = bits & 1023;
    double value;
    if (exponent == 0) {
        value = (double)fraction * 0x1p-24;
    } else {
        exponent = exponent == 31 ? 2047 : exponent - 15 + 1023;
        fraction = exponent << 52 | fraction << 42;
        memcpy(&value, &fraction, sizeof(value));
    }
    return bits >> 15 ? -value : value;
}

static double single_of(uint32_t bits)
{
    float value;
    memcpy(&value, &bits, sizeof(value));
    return (double)value;
}

static double real_of(uint64_t type, const uint8_t *bytes, uint64_t size)
{
    double value;
    long double extended = 0;
    switch (type) {
    case NVTX_TYPE_FLOAT16:
        return half_of(nvtx_bits_of(bytes, 2));
    case NVTX_TYPE_BF16:
        return single_of((uint32_t)nvtx_bits_of(bytes, 2) << 16);
    case NVTX_TYPE_TF32: /* the upper 19 bits count */
        return single_of((uint32_t)nvtx_bits_of(bytes, 4) & 0xffffe000);
    case NVTX_TYPE_LONG_DOUBLE:
        memcpy(&extended, bytes, sizeof(extended));
        return (double)extended;
    case NVTX_TYPE_FLOAT128: {
#if defined(__SIZEOF_FLOAT128__)
        __float128 quad;
        memcpy(&quad, bytes, sizeof(quad));
        return (double)quad;
#else
        memcpy(&extended, bytes, sizeof(extended)); /* if it has that format */
        return (double)extended;
#endif
    }
    default:
        if (size == 4)
            return single_of((uint32_t)nvtx_bits_of(bytes, 4));
        memcpy(&value, bytes, sizeof(value));
        return value;
    }
}

int nvtx_number_of(uint64_t type, const struct nvtx_layout *layout, const uint8_t *bytes,
                   struct annot_value *ret_value)
{
    struct annot_value value = annot_value_make(NULL, ANNOT_PAYLOAD_INT64);
    switch (layout->class) {
    case NVTX_CLASS_SIGNED:
        value.value.int64 = signed_of(bytes, layout->size);
        break;
    case NVTX_CLASS_UNSIGNED:
    case NVTX_CLASS_BYTE:
        value.value.uint64 = nvtx_bits_of(bytes, layout->size);
        if (layout->size == 8) /* narrower ones are below 2^63 */
            value.kind = ANNOT_PAYLOAD_UINT64;
        break;
    case NVTX_CLASS_REAL:
        value.value.float64 = real_of(type, bytes, layout->size);
        value.kind = ANNOT_PAYLOAD_DOUBLE;
        break;
    default:
        return 0;
    }
    *ret_value = value;
    return 1;
}

/* ---- Text ------------------------------------------------------------------------------------ */

struct nvtx_line nvtx_line_begin(struct nvtx_decoding *decoding)
{
    char *at = decoding->text + decoding->text_used;
    size_t left = NVTX_TEXT_ROOM - decoding->text_used;
    if (left > LINE_MAX_SIZE)
        left = LINE_MAX_SIZE;
    char *end = left > CUT_SIZE ? at + left - CUT_SIZE : at;
    return (struct nvtx_line){at, at, end, left <= CUT_SIZE};
}

/* Marks a text that did not fit as cut. */
const char *nvtx_line_end(struct nvtx_decoding *decoding, struct nvtx_line *line)
{
    if (line->end == line->begin) {
        decoding->left_out++;
        return "";
    }
    if (line->is_cut) {
        decoding->left_out++;
        memcpy(line->at, "...", 3);
        line->at += 3;
    }
    *line->at++ = 0;
    decoding->text_used += (uint32_t)(line->at - line->begin);
    return line->begin;
}

void nvtx_line_put(struct nvtx_line *line, const char *text, size_t length)
{
    if (line->is_cut || length > (size_t)(line->end - line->at)) {
        line->is_cut = 1;
        return;
    }
    memcpy(line->at, text, length);
    line->at += length;
}

static void put_decimal(struct nvtx_line *line, uint64_t number)
{
    char digits[20], *at = digits + sizeof(digits);
    do
        *--at = (char)('0' + number % 10);
    while (number /= 10);
    nvtx_line_put(line, at, (size_t)(digits + sizeof(digits) - at));
}

void nvtx_line_hex(struct nvtx_line *line, uint64_t number, uint32_t digits)
{
    for (uint32_t i = digits; i-- > 0;)
        nvtx_line_put(line, &"0123456789abcdef"[number >> 4 * i & 15], 1);
}

/* Writes the shortest digits that give this number, with a point in any locale. */
static void put_real(struct nvtx_line *line, double value)
{
    char text[40];
    int length = 0;
    for (int digits = 15; digits <= 17; digits++) {
        length = snprintf(text, sizeof(text), "%.*g", digits, value);
        if (strtod(text, NULL) == value)
            break;
    }
    for (int i = 0; i < length; i++)
        if (text[i] == ',')
            text[i] = '.';
    nvtx_line_put(line, text, (size_t)length);
}

void nvtx_line_number(struct nvtx_line *line, const struct annot_value *value)
{
    uint64_t bits = value->value.uint64;
    if (value->kind == ANNOT_PAYLOAD_DOUBLE) {
        put_real(line, value->value.float64);
        return;
    }
    if (value->kind == ANNOT_PAYLOAD_INT64 && value->value.int64 < 0) {
        nvtx_line_put(line, "-", 1);
        bits = -bits;
    }
    put_decimal(line, bits);
}

void nvtx_line_character(struct nvtx_line *line, uint32_t character)
{
    char bytes[4];
    nvtx_line_put(line, bytes, (size_t)(nvtx_text_put(bytes, character) - bytes));
}

/* ---- Characters ------------------------------------------------------------------------------ */

/* Takes both units of a surrogate pair. */
static uint32_t take_utf16(struct nvtx_bytes *bytes)
{
    uint32_t high = (uint32_t)nvtx_bits_of(bytes->at, 2), low;
    bytes->at += 2;
    bytes->size -= 2;
    if ((high & 0xfc00) != 0xd800 || bytes->size < 2)
        return high;
    low = (uint32_t)nvtx_bits_of(bytes->at, 2);
    if ((low & 0xfc00) != 0xdc00)
        return high;
    bytes->at += 2;
    bytes->size -= 2;
    return 0x10000 + ((high & 0x3ff) << 10 | (low & 0x3ff));
}

/* A character across the end of a line is dropped whole. */
static void put_bytes(struct nvtx_line *line, struct nvtx_bytes bytes)
{
    size_t length = strnlen((const char *)bytes.at, bytes.size);
    size_t room = (size_t)(line->end - line->at);
    if (length > room) {
        for (length = room; length > 0 && (bytes.at[length] & 0xc0) == 0x80;)
            length--;
        nvtx_line_put(line, (const char *)bytes.at, length);
        line->is_cut = 1;
        return;
    }
    nvtx_line_put(line, (const char *)bytes.at, length);
}

void nvtx_line_text(struct nvtx_line *line, struct nvtx_bytes bytes, uint64_t unit)
{
    if (unit == 1) {
        put_bytes(line, bytes);
        return;
    }
    while (bytes.size >= unit && !line->is_cut) {
        uint32_t character;
        if (unit == 2) {
            character = take_utf16(&bytes);
        } else {
            character = (uint32_t)nvtx_bits_of(bytes.at, 4);
            bytes.at += 4;
            bytes.size -= 4;
        }
        if (character == 0)
            return;
        nvtx_line_character(line, character);
    }
}

/* ---- Arrays and enums ------------------------------------------------------------------------ */

static void put_element(struct nvtx_line *line, uint64_t type, const struct nvtx_layout *layout,
                        const uint8_t *at)
{
    struct annot_value value;
    if (layout->class == NVTX_CLASS_GIVEN) {
        nvtx_line_enum(line, (const struct nvtx_enum *)layout->type,
                       nvtx_bits_of(at, layout->size));

    } else if (layout->class == NVTX_CLASS_WIDE) {
        nvtx_line_put(line, "0x", 2);
        nvtx_line_hex(line, nvtx_bits_of(at + 8, 8), 16);
        nvtx_line_hex(line, nvtx_bits_of(at, 8), 16);

    } else if (layout->class == NVTX_CLASS_ADDRESS) {

        nvtx_line_put(line, "0x", 2);
        nvtx_line_hex(line, nvtx_bits_of(at, 8), 16);

    } else if (layout->class == NVTX_CLASS_BYTE) {

        nvtx_line_hex(line, *at, 2);
    } else if (nvtx_number_of(type, layout, at, &value)) {

        nvtx_line_number(line, &value);
    }
}

/* Bytes as "1f 00", others as "[1, 2]", one alone as itself. */
void nvtx_line_array(struct nvtx_line *line, uint64_t type, const struct nvtx_layout *layout,
                     struct nvtx_bytes bytes)
{
    int is_bytes = layout->class == NVTX_CLASS_BYTE;
    if (!is_bytes)
        nvtx_line_put(line, "[", 1);
    for (size_t at = 0; layout->size && bytes.size - at >= layout->size && !line->is_cut;
         at += layout->size) {
        if (at > 0)
            nvtx_line_put(line, ", " + is_bytes, 2 - (size_t)is_bytes);
        put_element(line, type, layout, bytes.at + at);
    }
    if (!is_bytes)
        nvtx_line_put(line, "]", 1);
}

/* Writes the value's name, else the names of its flags, with unnamed bits as a number. */
void nvtx_line_enum(struct nvtx_line *line, const struct nvtx_enum *of, uint64_t bits)
{
    const char *between = "";
    uint64_t mask = of->size < 8 ? (UINT64_C(1) << 8 * of->size) - 1 : UINT64_MAX;
    for (uint32_t i = 0; i < of->type.count; i++)
        if ((of->values[i].value & mask) == bits && *of->values[i].name) {
            nvtx_line_put(line, of->values[i].name, strlen(of->values[i].name));
            return;
        }
    for (uint32_t i = 0; i < of->type.count; i++) {
        const struct nvtx_enum_value *flag = &of->values[i];
        uint64_t value = flag->value & mask;
        if (!flag->is_flag || value == 0 || (bits & value) != value)
            continue;
        nvtx_line_put(line, between, strlen(between));
        nvtx_line_put(line, flag->name, strlen(flag->name));
        bits &= ~value;
        between = "|";
    }
    if (bits == 0 && *between)
        return;
    nvtx_line_put(line, between, strlen(between));
    put_decimal(line, bits);
}
