/* SPDX-License-Identifier: MIT */
/* A program that calls every event function of extension PAYLOAD, with all kinds of layouts, and
 * writes the expected contents of the recording. */
#include "nvtx_truth.h"

#include <nvtx3/nvToolsExtPayload.h>
#include <nvtx3/nvToolsExtPayloadHelper.h>
#include <stdint.h>
#include <string.h>
#include <wchar.h>

#define TYPE(name)   NVTX_PAYLOAD_ENTRY_TYPE_##name
#define FLAG(name)   NVTX_PAYLOAD_ENTRY_FLAG_##name
#define COUNT(array) (sizeof(array) / sizeof(*(array)))

static nvtxDomainHandle_t domain;

static uint64_t registered(uint64_t type, const char *name, const nvtxPayloadSchemaEntry_t *entries,
                           size_t count, size_t size)
{
    nvtxPayloadSchemaAttr_t schema = {
        .fieldMask = NVTX_PAYLOAD_SCHEMA_ATTR_FIELD_TYPE | NVTX_PAYLOAD_SCHEMA_ATTR_FIELD_ENTRIES |
                     NVTX_PAYLOAD_SCHEMA_ATTR_FIELD_NUM_ENTRIES | (name ? 2 : 0) |
                     (size ? NVTX_PAYLOAD_SCHEMA_ATTR_FIELD_STATIC_SIZE : 0),
        .name = name,
        .type = type,
        .entries = entries,
        .numEntries = count,
        .payloadStaticSize = size};
    uint64_t id = nvtxPayloadSchemaRegister(domain, &schema);
    EXPECT(id >= NVTX_PAYLOAD_SCHEMA_ID_DYNAMIC_START);
    EXPECT(id == nvtxPayloadSchemaRegister(domain, &schema));
    return id;
}

#define STATIC(entries, size)                                                                      \
    registered(NVTX_PAYLOAD_SCHEMA_TYPE_STATIC, NULL, entries, COUNT(entries), size)
#define DYNAMIC(entries)                                                                           \
    registered(NVTX_PAYLOAD_SCHEMA_TYPE_DYNAMIC, NULL, entries, COUNT(entries), 0)

static void mark_bytes(const char *name, uint64_t schema, const void *bytes, size_t size)
{
    nvtxEventAttributes_t event = {0};
    event.version = NVTX_VERSION;
    event.size = NVTX_EVENT_ATTRIB_STRUCT_SIZE;
    event.messageType = NVTX_MESSAGE_TYPE_ASCII;
    event.message.ascii = name;
    nvtxPayloadMark(domain, &event, schema, bytes, size);
}

/* ---- Numbers --------------------------------------------------------------------------------- */

typedef struct {
    char c;
    unsigned char uc;
    short s;
    unsigned short us;
    int i;
    unsigned u;
    long l;
    unsigned long ul;
    long long ll;
    unsigned long long ull;
    int8_t i8;
    uint8_t u8;
    int16_t i16;
    uint16_t u16;
    int32_t i32;
    uint32_t u32;
    int64_t i64;
    uint64_t u64;
    float f;
    double d;
    long double ld;
    size_t size;
    const void *address;
    wchar_t w;
    uint8_t byte;
    uint16_t half, bf16;
    uint32_t tf32, pid;
    uint64_t tid, hidden;
} numbers;

#define ENTRY(struct_type, member, type_id)                                                        \
    {                                                                                              \
        .type = (type_id), .name = #member, .offset = offsetof(struct_type, member)                \
    }
#define N(member, type_name) ENTRY(numbers, member, TYPE(type_name))

static const nvtxPayloadSchemaEntry_t number_entries[] = {
    N(c, CHAR),
    N(uc, UCHAR),
    N(s, SHORT),
    N(us, USHORT),
    N(i, INT),
    N(u, UINT),
    N(l, LONG),
    N(ul, ULONG),
    N(ll, LONGLONG),
    N(ull, ULONGLONG),
    N(i8, INT8),
    N(u8, UINT8),
    N(i16, INT16),
    N(u16, UINT16),
    N(i32, INT32),
    N(u32, UINT32),
    N(i64, INT64),
    N(u64, UINT64),
    N(f, FLOAT),
    N(d, DOUBLE),
    N(ld, LONGDOUBLE),
    N(size, SIZE),
    N(address, ADDRESS),
    N(w, WCHAR),
    N(byte, BYTE),
    N(half, FLOAT16),
    N(bf16, BF16),
    N(tf32, TF32),
    N(pid, PID_UINT32),
    N(tid, TID_UINT64),
    {.flags = FLAG(HIDE),
     .type = TYPE(UINT64),
     .name = "hidden",
     .offset = offsetof(numbers, hidden)},
};

static void all_numbers(void)
{
    const numbers value = {.c = 'A',
                           .uc = 200,
                           .s = -3,
                           .us = 60000,
                           .i = -70000,
                           .u = 4000000000u,
                           .l = -5000000000,
                           .ul = 5000000000,
                           .ll = INT64_MIN,
                           .ull = UINT64_MAX,
                           .i8 = -128,
                           .u8 = 255,
                           .i16 = -32768,
                           .u16 = 65535,
                           .i32 = INT32_MIN,
                           .u32 = UINT32_MAX,
                           .i64 = -1,
                           .u64 = 9,
                           .f = 0.5f,
                           .d = 0.1,
                           .ld = 2.25L,
                           .size = 77,
                           .address = (const void *)0x1234,
                           .w = L'\u00e9',
                           .byte = 0x1f,
                           .half = 0x3e00,
                           .bf16 = 0x4049,
                           .tf32 = 0x40490000,
                           .pid = 12,
                           .tid = 13,
                           .hidden = 1};
    mark_bytes("numbers", STATIC(number_entries, sizeof(numbers)), &value, sizeof(value));
    truth("\"event\": \"mark\", \"name\": \"numbers\", \"values\": {\"c\": \"A\", \"uc\": 200, "
          "\"s\": -3, \"us\": 60000, \"i\": -70000, \"u\": 4000000000, \"l\": -5000000000, "
          "\"ul\": 5000000000, \"ll\": \"%lld\", \"ull\": \"%llu\", \"i8\": -128, \"u8\": 255, "
          "\"i16\": -32768, \"u16\": 65535, \"i32\": %d, \"u32\": %u, \"i64\": -1, \"u64\": 9, "
          "\"f\": 0.5, \"d\": 0.1, \"ld\": 2.25, \"size\": 77, \"address\": "
          "\"0x0000000000001234\", \"w\": \"\u00e9\", \"byte\": \"0x1f\", \"half\": 1.5, "
          "\"bf16\": 3.140625, \"tf32\": 3.140625, \"pid\": 12, \"tid\": 13}",
          (long long)INT64_MIN, (unsigned long long)UINT64_MAX, INT32_MIN, UINT32_MAX);
}

/* ---- Texts, arrays, pointers ----------------------------------------------------------------- */

typedef struct {
    char fixed[8];
    const char *pointed;
    const char *inside;
    uint16_t utf16[6];
    nvtxStringHandle_t handle;
    int32_t three[3];
    double reals[2];
    uint8_t bytes[4];
    const int32_t *copied;
    const void *nowhere;
    uint32_t length;
} texts;

static void texts_and_arrays(void)
{
    static const char blob[] = "other payload";
    static const int32_t far[] = {7, 8, 9};
    const nvtxPayloadSchemaEntry_t entries[] = {
        {0, TYPE(CSTRING), "fixed", NULL, 8, offsetof(texts, fixed), NULL, NULL},
        ENTRY(texts, pointed, TYPE(CSTRING)),
        ENTRY(texts, inside, TYPE(CSTRING_UTF8)),
        {0, TYPE(CSTRING_UTF16), "utf16", NULL, 6, offsetof(texts, utf16), NULL, NULL},
        ENTRY(texts, handle, TYPE(NVTX_REGISTERED_STRING_HANDLE)),
        {FLAG(ARRAY_FIXED_SIZE), TYPE(INT32), "three", NULL, 3, offsetof(texts, three), NULL, NULL},
        {FLAG(ARRAY_FIXED_SIZE), TYPE(DOUBLE), "reals", NULL, 2, offsetof(texts, reals), NULL,
         NULL},
        {FLAG(ARRAY_FIXED_SIZE), TYPE(BYTE), "bytes", NULL, 4, offsetof(texts, bytes), NULL, NULL},
        {0, TYPE(UINT32), "length", NULL, 0, offsetof(texts, length), NULL, NULL},
        {FLAG(ARRAY_LENGTH_INDEX) | FLAG(POINTER) | FLAG(DEEP_COPY), TYPE(INT32), "copied", NULL, 8,
         offsetof(texts, copied), NULL, NULL},
        {FLAG(POINTER) | FLAG(DEEP_COPY), TYPE(INT64), "nowhere", NULL, 0, offsetof(texts, nowhere),
         NULL, NULL},
    };
    texts value = {.pointed = "pointed",
                   .inside = blob + 6,
                   .three = {1, -2, 3},
                   .reals = {0.25, 0.1},
                   .bytes = {1, 2, 0xfe, 0xff},
                   .copied = far,
                   .nowhere = (const void *)16,
                   .length = 3};
    memcpy(value.fixed, "12345678", 8);
    memcpy(value.utf16, (const uint16_t[]){'g', 0xfc, 0xd83d, 0xde00, 0, 'x'}, 12);
    value.handle = nvtxDomainRegisterStringA(domain, "registered");
    nvtxPayloadData_t payloads[] = {
        {STATIC(entries, sizeof(texts)), sizeof(value), &value},
        {NVTX_TYPE_PAYLOAD_SCHEMA_REFERENCED, sizeof(blob), blob},
    };
    nvtxEventAttributes_t event = {0};
    event.version = NVTX_VERSION;
    event.size = NVTX_EVENT_ATTRIB_STRUCT_SIZE;
    NVTX_PAYLOAD_EVTATTR_SET_MULTIPLE(event, payloads);
    event.messageType = NVTX_MESSAGE_TYPE_REGISTERED;
    event.message.registered = nvtxDomainRegisterStringA(domain, "texts");
    nvtxDomainMarkEx(domain, &event);
    truth("\"event\": \"mark\", \"name\": \"texts\", \"values\": {\"fixed\": \"12345678\", "
          "\"pointed\": \"pointed\", \"inside\": \"payload\", \"utf16\": "
          "\"g\u00fc\U0001f600\", \"handle\": \"registered\", \"three\": \"[1, -2, 3]\", "
          "\"reals\": \"[0.25, 0.1]\", \"bytes\": \"01 02 fe ff\", \"length\": 3, \"copied\": "
          "\"[7, 8, 9]\", \"payload_left_out\": 1}");
}

/* In sequence: a length, that many shorts, a text up to its NUL, a number at its alignment. */
static void dynamic_layout(void)
{
    const nvtxPayloadSchemaEntry_t entries[] = {
        {0, TYPE(UINT8), "count", NULL, 0, 0, NULL, NULL},
        {FLAG(ARRAY_LENGTH_INDEX), TYPE(INT16), "shorts", NULL, 0, 0, NULL, NULL},
        {FLAG(ARRAY_ZERO_TERMINATED), TYPE(CSTRING), "text", NULL, 0, 0, NULL, NULL},
        {0, TYPE(INT32), "last", NULL, 0, 0, NULL, NULL},
    };
    uint8_t bytes[20] = {2, 0, 5, 0, 0xff, 0xff, 'h', 'e', 'y', 0, 0, 0, 42, 0, 0, 0};
    mark_bytes("dynamic", DYNAMIC(entries), bytes, 16);
    truth("\"event\": \"mark\", \"name\": \"dynamic\", \"values\": {\"count\": 2, \"shorts\": "
          "\"[5, -1]\", \"text\": \"hey\", \"last\": 42}");
    mark_bytes("dynamic, cut", DYNAMIC(entries), bytes, 5);
    truth("\"event\": \"mark\", \"name\": \"dynamic, cut\", \"values\": {\"count\": 2, "
          "\"shorts\": \"[5]\", \"payload_left_out\": 3}");
}

/* ---- Enums, structs in structs, unions ------------------------------------------------------- */

static uint64_t register_enum(void)
{
    const nvtxPayloadEnum_t values[] = {
        {"NONE", 0, 0}, {"READ", 1, 1}, {"WRITE", 2, 1}, {"ODD", 7, 0}};
    const nvtxPayloadEnumAttr_t said = {.fieldMask = NVTX_PAYLOAD_ENUM_ATTR_FIELD_ENTRIES |
                                                     NVTX_PAYLOAD_ENUM_ATTR_FIELD_SIZE |
                                                     NVTX_PAYLOAD_ENUM_ATTR_FIELD_NUM_ENTRIES |
                                                     NVTX_PAYLOAD_ENUM_ATTR_FIELD_SCHEMA_ID,
                                        .entries = values,
                                        .numEntries = COUNT(values),
                                        .sizeOfEnum = 2,
                                        .schemaId = NVTX_PAYLOAD_SCHEMA_ID_STATIC_START + 5};
    EXPECT(nvtxPayloadEnumRegister(domain, &said) == NVTX_PAYLOAD_SCHEMA_ID_STATIC_START + 5);
    return NVTX_PAYLOAD_SCHEMA_ID_STATIC_START + 5;
}

struct point {
    int16_t x;
    double y;
};

struct outer {
    struct point one;
    struct point two[2];
    uint16_t access, mixed, unknown;
    uint32_t which;

    union {
        int32_t number;
        float real;
    } any;
};

static void nested(void)
{
    const nvtxPayloadSchemaEntry_t point[] = {{0, TYPE(INT16), "x", NULL, 0, 0, NULL, NULL},
                                              {0, TYPE(DOUBLE), "y", NULL, 0, 0, NULL, NULL}};
    const nvtxPayloadSchemaEntry_t any[] = {{0, TYPE(INT32), "number", NULL, 0, 0, NULL, NULL},
                                            {0, TYPE(FLOAT), "real", NULL, 0, 0, NULL, NULL}};
    uint64_t point_id = STATIC(point, 0), enum_id = register_enum();
    uint64_t any_id =
        registered(NVTX_PAYLOAD_SCHEMA_TYPE_UNION, "any", any, COUNT(any), sizeof(int32_t));
    const nvtxPayloadSchemaEntry_t entries[] = {
        {0, point_id, "one", NULL, 0, 0, NULL, NULL},
        {FLAG(ARRAY_FIXED_SIZE), point_id, "two", NULL, 2, 0, NULL, NULL},
        {0, enum_id, "access", NULL, 0, 0, NULL, NULL},
        {0, enum_id, "mixed", NULL, 0, 0, NULL, NULL},
        {0, enum_id, "unknown", NULL, 0, 0, NULL, NULL},
        {0, TYPE(UINT32), "which", NULL, 0, 0, NULL, NULL},
        {0, any_id, "any", NULL, 5, 0, NULL, NULL},
    };
    const struct outer value = {{1, 1.5}, {{2, 2.5}, {3, 3.5}}, 7, 3, 9, 1, {.real = 0.75f}};
    mark_bytes("nested", STATIC(entries, sizeof(value)), &value, sizeof(value));
    truth("\"event\": \"mark\", \"name\": \"nested\", \"values\": {\"one.x\": 1, \"one.y\": 1.5, "
          "\"two[0].x\": 2, \"two[0].y\": 2.5, \"two[1].x\": 3, \"two[1].y\": 3.5, "
          "\"access\": \"ODD\", \"mixed\": \"READ|WRITE\", \"unknown\": \"READ|8\", \"which\": 1, "
          "\"any.real\": 0.75}");
}

static void chosen_inside(void)
{
    const nvtxPayloadSchemaEntry_t any[] = {{0, TYPE(UNION_SELECTOR), NULL, NULL, 0, 0, NULL, NULL},
                                            {0, TYPE(INT32), "number", NULL, 0, 4, NULL, NULL},
                                            {0, TYPE(FLOAT), "real", NULL, 0, 4, NULL, NULL}};
    const int32_t value[] = {1, -6};
    uint64_t id = registered(NVTX_PAYLOAD_SCHEMA_TYPE_UNION_WITH_INTERNAL_SELECTOR, NULL, any,
                             COUNT(any), sizeof(value));
    mark_bytes("chosen", id, value, sizeof(value));
    truth("\"event\": \"mark\", \"name\": \"chosen\", \"values\": {\"number\": -6}");
}

/* A schema with an id of the program that contains itself, and one with wrong lengths. */
static void endless(void)
{
    const uint64_t id = NVTX_PAYLOAD_SCHEMA_ID_STATIC_START + 9;
    const nvtxPayloadSchemaEntry_t entries[] = {
        {0, TYPE(INT32), "n", NULL, 0, 0, NULL, NULL},
        {FLAG(OFFSET_FROM_BASE), id, "self", NULL, 0, 8, NULL, NULL}};
    nvtxPayloadSchemaAttr_t said = {.fieldMask = NVTX_PAYLOAD_SCHEMA_ATTR_FIELD_TYPE |
                                                 NVTX_PAYLOAD_SCHEMA_ATTR_FIELD_ENTRIES |
                                                 NVTX_PAYLOAD_SCHEMA_ATTR_FIELD_NUM_ENTRIES |
                                                 NVTX_PAYLOAD_SCHEMA_ATTR_FIELD_SCHEMA_ID,
                                    .type = NVTX_PAYLOAD_SCHEMA_TYPE_STATIC,
                                    .entries = entries,
                                    .numEntries = 2,
                                    .schemaId = id};

    const struct {
        int32_t n;
        uint64_t self;
    } value = {1, 0};

    EXPECT(nvtxPayloadSchemaRegister(domain, &said) == id);
    mark_bytes("endless", id, &value, sizeof(value));
    truth("\"event\": \"mark\", \"name\": \"endless\", \"starts\": {\"n\": 1, \"self.n\": 1}, "
          "\"left_out\": true");
    said.numEntries = 1; /* the id is taken */
    EXPECT(nvtxPayloadSchemaRegister(domain, &said) == 0);
    said.entries = NULL;
    EXPECT(nvtxPayloadSchemaRegister(domain, &said) == 0);
    truth("\"event\": \"mark\", \"name\": \"a schema that makes no sense\", \"values\": "
          "{\"name\": \"\"}, \"category\": \"nvtx\"");
}

/* ---- Calls with only payloads ---------------------------------------------------------------- */

typedef struct {
    const char *message;
    uint32_t category, color;
    int32_t n;
} whole;

static void payload_calls(void)
{
    const nvtxPayloadSchemaEntry_t entries[] = {
        {FLAG(EVENT_MESSAGE), TYPE(CSTRING), "message", NULL, 0, offsetof(whole, message), NULL,
         NULL},
        ENTRY(whole, category, TYPE(CATEGORY)),
        ENTRY(whole, color, TYPE(COLOR_ARGB)),
        ENTRY(whole, n, TYPE(INT32)),
    };
    const nvtxPayloadSchemaEntry_t end[] = {{0, TYPE(INT32), "status", NULL, 0, 0, NULL, NULL}};
    whole value = {"pushed", 4, 0xff102030, 1};
    int32_t status = -5;
    nvtxPayloadData_t begin_data = {STATIC(entries, sizeof(whole)), sizeof(value), &value};
    nvtxPayloadData_t end_data = {STATIC(end, 4), sizeof(status), &status};
    nvtxDomainNameCategoryA(domain, 4, "four");
    EXPECT(nvtxDomainIsEnabled(domain) == (getenv("NVTX_IS_HELD_BACK") == NULL));
    EXPECT(nvtxRangePushPayload(domain, &begin_data, 1) == 0);
    value.message = "inner";
    EXPECT(nvtxRangePushPayload(domain, &begin_data, 1) == 1);
    EXPECT(nvtxRangePopPayload(domain, &end_data, 1) == 1);
    EXPECT(nvtxDomainRangePop(domain) == 0);
    truth("\"event\": \"begin\", \"name\": \"pushed\", \"category\": \"four\", \"color\": "
          "\"#ff102030\", \"values\": {\"n\": 1}");
    truth("\"event\": \"begin\", \"name\": \"inner\", \"category\": \"four\", \"color\": "
          "\"#ff102030\", \"values\": {\"n\": 1}");
    truth("\"event\": \"end\", \"name\": \"inner\", \"values\": {\"status\": -5}");
    truth("\"event\": \"end\", \"name\": \"pushed\"");
    value.message = "started";
    nvtxRangeId_t range = nvtxRangeStartPayload(domain, &begin_data, 1);
    EXPECT(range != 0);
    nvtxRangeEndPayload(domain, range, &end_data, 1);
    truth("\"event\": \"begin\", \"name\": \"started\", \"category\": \"four\", \"color\": "
          "\"#ff102030\", \"values\": {\"n\": 1}");
    truth("\"event\": \"end\", \"name\": \"started\", \"values\": {\"status\": -5}");
    value.message = "marked";
    nvtxPayloadData_t both[] = {begin_data, {TYPE(INT64), 8, &(int64_t){-9}}};
    nvtxMarkPayload(domain, both, 2);
    truth("\"event\": \"mark\", \"name\": \"marked\", \"category\": \"four\", \"color\": "
          "\"#ff102030\", \"values\": {\"0.n\": 1, \"1.payload\": -9}");
}

/* Uses the helper macros, as most programs do. */
NVTX_DEFINE_STRUCT_WITH_SCHEMA(helped, "helped", static const,
                               NVTX_PAYLOAD_ENTRIES((int, index, TYPE_INT, "index"),
                                                    (const char, (text, 8), TYPE_CSTRING, "text",
                                                     NULL, 8)))

static void by_helpers(void)
{
    const helped value = {3, "macro"};
    uint64_t id = NVTX_PAYLOAD_SCHEMA_REGISTER(domain, helped);
    mark_bytes("helped", id, &value, sizeof(value));
    truth("\"event\": \"mark\", \"name\": \"helped\", \"values\": {\"index\": 3, \"text\": "
          "\"macro\"}");
    mark_bytes("plain", TYPE(CSTRING), "plain text", SIZE_MAX);
    truth("\"event\": \"mark\", \"name\": \"plain\", \"values\": {\"payload\": \"plain text\"}");
    const nvtxPayloadSchemaEntry_t pointers[] = {
        {0, TYPE(CSTRING), "null", NULL, 0, 0, NULL, NULL},
        {0, TYPE(CSTRING), "wild", NULL, 0, 0, NULL, NULL}};
    const uintptr_t addresses[] = {0, 16};
    mark_bytes("pointers", STATIC(pointers, 0), addresses, sizeof(addresses));
    truth("\"event\": \"mark\", \"name\": \"pointers\", \"values\": {\"null\": \"(null)\", "
          "\"payload_left_out\": 1}");
    mark_bytes("raw", NVTX_TYPE_PAYLOAD_SCHEMA_RAW, "\1\2", 2);
    truth("\"event\": \"mark\", \"name\": \"raw\", \"values\": {\"payload\": \"01 02\"}");
    mark_bytes("nobody's", NVTX_PAYLOAD_SCHEMA_ID_DYNAMIC_START + 1, "x", 1);
    truth("\"event\": \"mark\", \"name\": \"nobody's\", \"values\": {\"payload_left_out\": 1}");
}

int main(void)
{
    domain = nvtxDomainCreateA("payloads");
    all_numbers();
    texts_and_arrays();
    dynamic_layout();
    nested();
    chosen_inside();
    endless();
    payload_calls();
    by_helpers();
    return 0;
}
