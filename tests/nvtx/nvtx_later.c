/* SPDX-License-Identifier: MIT */
/* A program that reports events to NVTX after they happened, one by one and in batches, with clocks
 * of the machine, of the tool and of the program. */
#include "nvtx_truth.h"

#include <nvtx3/nvToolsExtPayload.h>
#include <nvtx3/nvToolsExtSemanticsScope.h>
#include <nvtx3/nvToolsExtSemanticsTime.h>
#include <stdint.h>
#include <string.h>
#include <time.h>
#include <unistd.h>

#define TYPE(name)   NVTX_PAYLOAD_ENTRY_TYPE_##name
#define FLAG(name)   NVTX_PAYLOAD_ENTRY_FLAG_##name
#define COUNT(array) (sizeof(array) / sizeof(*(array)))

#define ONE_MS INT64_C(1000000)

static nvtxDomainHandle_t domain;

static int64_t read_clock(clockid_t clock)
{
    struct timespec now;
    clock_gettime(clock, &now);
    return (int64_t)now.tv_sec * 1000000000 + now.tv_nsec;
}

static uint64_t schema(uint64_t role, const nvtxPayloadSchemaEntry_t *entries, size_t count)
{
    const nvtxPayloadSchemaAttr_t said = {.fieldMask = NVTX_PAYLOAD_SCHEMA_ATTR_FIELD_TYPE |
                                                       NVTX_PAYLOAD_SCHEMA_ATTR_FIELD_ENTRIES |
                                                       NVTX_PAYLOAD_SCHEMA_ATTR_FIELD_NUM_ENTRIES |
                                                       NVTX_PAYLOAD_SCHEMA_ATTR_FIELD_FLAGS,
                                          .type = NVTX_PAYLOAD_SCHEMA_TYPE_STATIC,
                                          .flags = role,
                                          .entries = entries,
                                          .numEntries = count};
    uint64_t id = nvtxPayloadSchemaRegister(domain, &said);
    EXPECT(id != 0);
    return id;
}

static nvtxSemanticsTime_t by(uint64_t times)
{
    return (nvtxSemanticsTime_t){
        {sizeof(nvtxSemanticsTime_t), NVTX_SEMANTIC_ID_TIME_V1, NVTX_TIME_SEMANTIC_VERSION, NULL},
        times};
}

typedef struct {
    int64_t begin, end;
    const char *name;
    int32_t n;
} event;

/* Emits a range, with times of the given time domain. */
static uint64_t range_by(uint64_t times)
{
    const nvtxSemanticsTime_t time = by(times);
    const nvtxPayloadSchemaEntry_t entries[] = {
        {FLAG(RANGE_BEGIN) | FLAG(TIMESTAMP), TYPE(INT64), "begin", NULL, 0, 0, &time.header, NULL},
        {FLAG(RANGE_END) | FLAG(TIMESTAMP), TYPE(INT64), "end", NULL, 0, 0, &time.header, NULL},
        {FLAG(EVENT_MESSAGE), TYPE(CSTRING), "name", NULL, 0, 0, NULL, NULL},
        {0, TYPE(INT32), "n", NULL, 0, 0, NULL, NULL},
    };
    return schema(NVTX_PAYLOAD_SCHEMA_FLAG_RANGE_PUSHPOP, entries, COUNT(entries));
}

/* `ago` and `length` are in ms of CLOCK_MONOTONIC. */
static void is_range(const char *name, int64_t begin_ns, int64_t length, int n)
{
    truth("\"event\": \"range\", \"name\": \"%s\", \"monotonic_ns\": %lld, \"about_ns\": %lld, "
          "\"values\": {\"n\": %d}",
          name, (long long)begin_ns, (long long)length, n);
}

static void submit(uint64_t id, const event *what)
{
    const nvtxPayloadData_t data = {id, sizeof(*what), what};
    nvtxEventSubmit(domain, &data, 1);
}

/* ---- Known clocks ---------------------------------------------------------------------------- */

static void by_clocks_of_the_machine(void)
{
    static const struct {
        uint64_t type;
        clockid_t clock;
        const char *name;
    } clocks[] = {{NVTX_TIMESTAMP_TYPE_CPU_CLOCK_GETTIME_MONOTONIC, CLOCK_MONOTONIC, "monotonic"},
                  {NVTX_TIMESTAMP_TYPE_CPU_CLOCK_GETTIME_REALTIME, CLOCK_REALTIME, "realtime"},
                  {NVTX_TIMESTAMP_TYPE_CPU_CLOCK_GETTIME_BOOTTIME, CLOCK_BOOTTIME, "boottime"},
                  {NVTX_TIMESTAMP_TYPE_CPP_STEADY_CLOCK, CLOCK_MONOTONIC, "steady"}};

    for (size_t i = 0; i < COUNT(clocks); i++) {
        int64_t begin = read_clock(clocks[i].clock), monotonic = read_clock(CLOCK_MONOTONIC);
        const event what = {begin, begin + ONE_MS, clocks[i].name, (int)i};
        usleep(2000);
        submit(range_by(clocks[i].type), &what);
        is_range(clocks[i].name, monotonic, ONE_MS, (int)i);
    }
}

static void by_the_tool(void)
{
    int64_t monotonic = read_clock(CLOCK_MONOTONIC);
    event what = {nvtxTimestampGet(), 0, "tool", 7};
    usleep(2000);
    what.end = nvtxTimestampGet();
    submit(range_by(NVTX_TIMESTAMP_TYPE_TOOL_PROVIDED), &what);
    is_range("tool", monotonic, read_clock(CLOCK_MONOTONIC) - monotonic, 7);
}

/* ---- Clocks of the program ------------------------------------------------------------------- */

/* A 10 MHz clock with an arbitrary start. */
static int64_t own_time(void)
{
    return read_clock(CLOCK_MONOTONIC) / 100 - 5000;
}

static int64_t own_time_with_data(void *data)
{
    return own_time() + *(int64_t *)data;
}

static uint64_t time_domain(int64_t resolution, uint64_t id)
{
    const nvtxTimeDomainAttr_t said = {.timeDomainId = id, .timerResolution = resolution};
    uint64_t got = nvtxTimeDomainRegister(domain, &said);
    EXPECT(got != NVTX_TIME_DOMAIN_ID_NONE && (id == 0 || got == id));
    return got;
}

static void submit_own(uint64_t times, const char *name, int64_t plus)
{
    int64_t begin = own_time() + plus, monotonic = read_clock(CLOCK_MONOTONIC);
    const event what = {begin, begin + ONE_MS / 100, name, 1};
    usleep(2000);
    submit(range_by(times), &what);
    is_range(name, monotonic, ONE_MS, 1);
}

static void by_clocks_of_the_program(void)
{
    static int64_t offset = 77;
    const uint64_t monotonic = NVTX_TIMESTAMP_TYPE_CPU_CLOCK_GETTIME_MONOTONIC;
    uint64_t asked = time_domain(10000000, 0);
    nvtxTimerSource(domain, asked, NVTX_TIMER_SOURCE_SAFE_CALL_AFTER_PROCESS_TEARDOWN, own_time);
    submit_own(asked, "asked", 0);
    uint64_t with_data = time_domain(10000000, NVTX_TIME_DOMAIN_ID_STATIC_START + 1);
    nvtxTimerSourceWithData(domain, with_data, NVTX_TIMER_SOURCE_SAFE_CALL_AFTER_PROCESS_TEARDOWN,
                            own_time_with_data, &offset);
    submit_own(with_data, "asked with data", offset);
    uint64_t points = time_domain(0, NVTX_TIME_DOMAIN_ID_STATIC_START + 2);
    nvtxTimeSyncPoint(domain, points, monotonic, own_time(), read_clock(CLOCK_MONOTONIC));
    usleep(5000);
    nvtxTimeSyncPoint(domain, monotonic, points, read_clock(CLOCK_MONOTONIC), own_time());
    submit_own(points, "points", 0);
    uint64_t table = time_domain(0, NVTX_TIME_DOMAIN_ID_STATIC_START + 3);
    nvtxSyncPoint_t both[2];
    for (int i = 0; i < 2; i++) {
        both[i] = (nvtxSyncPoint_t){own_time(), nvtxTimestampGet()};
        usleep(5000);
    }
    nvtxTimeSyncPointTable(domain, table, NVTX_TIMESTAMP_TYPE_TOOL_PROVIDED, both, 2);
    submit_own(table, "table", 0);
    uint64_t factor = time_domain(0, NVTX_TIME_DOMAIN_ID_STATIC_START + 4);
    nvtxTimestampConversionFactor(domain, factor, monotonic, 100, own_time(),
                                  read_clock(CLOCK_MONOTONIC));
    submit_own(factor, "factor", 0);
}

/* ---- Batches, scopes, marks, halves ---------------------------------------------------------- */

/* The times use the clock of the scope. */
static void batch(void)
{
    const nvtxScopeAttr_t said = {sizeof(said), "engine[1]", NVTX_SCOPE_ROOT,
                                  NVTX_SCOPE_ID_STATIC_START + 3};
    EXPECT(nvtxScopeRegister(domain, &said) == NVTX_SCOPE_ID_STATIC_START + 3);
    const nvtxTimeDomainAttr_t times = {.scopeId = NVTX_SCOPE_ID_STATIC_START + 3,
                                        .timestampTypeId =
                                            NVTX_TIMESTAMP_TYPE_CPU_CLOCK_GETTIME_MONOTONIC};
    EXPECT(nvtxTimeDomainRegister(domain, &times) != NVTX_TIME_DOMAIN_ID_NONE);
    const nvtxPayloadSchemaEntry_t entries[] = {
        {FLAG(MARK), TYPE(INT64), "at", NULL, 0, 0, NULL, NULL},
        {FLAG(OFFSET_FROM_BASE) | FLAG(EVENT_MESSAGE) | FLAG(ARRAY_ZERO_TERMINATED), TYPE(CSTRING),
         "name", NULL, 0, 0, NULL, NULL},
        {0, TYPE(INT64), "n", NULL, 0, 0, NULL, NULL},
    };
    static const char names[] = "####first\0second";
    int64_t now = read_clock(CLOCK_MONOTONIC);
    const int64_t events[2][3] = {{now, 4, 1}, {now + 1000, 10, 2}};
    const nvtxEventBatch_t submitted = {
        .eventSchemaId = schema(NVTX_PAYLOAD_SCHEMA_FLAG_MARK, entries, COUNT(entries)),
        .size = sizeof(events),
        .events = events,
        .scope = NVTX_SCOPE_ID_STATIC_START + 3,
        .flexData = names,
        .flexDataSize = sizeof(names) - 4,
        .flexDataOffset = 4};
    nvtxEventBatchSubmit(domain, &submitted);
    for (int i = 0; i < 2; i++)
        truth("\"event\": \"range\", \"name\": \"%s\", \"track\": \"engine[1]\", "
              "\"monotonic_ns\": %lld, \"about_ns\": 0, \"values\": {\"n\": %d}",
              i ? "second" : "first", (long long)events[i][0], i + 1);
}

static void halves(void)
{
    const nvtxSemanticsTime_t time = by(NVTX_TIMESTAMP_TYPE_CPU_CLOCK_GETTIME_MONOTONIC);
    const nvtxPayloadSchemaEntry_t push[] = {
        {FLAG(RANGE_BEGIN), TYPE(INT64), "begin", NULL, 0, 0, &time.header, NULL},
        {FLAG(EVENT_MESSAGE), TYPE(CSTRING), "name", NULL, 0, 0, NULL, NULL},
        {0, TYPE(INT64), "n", NULL, 0, 0, NULL, NULL}};
    const nvtxPayloadSchemaEntry_t pop[] = {
        {FLAG(RANGE_END), TYPE(INT64), "end", NULL, 0, 0, &time.header, NULL},
        {0, TYPE(INT64), "status", NULL, 0, 0, NULL, NULL}};
    uint64_t pushes = schema(NVTX_PAYLOAD_SCHEMA_FLAG_RANGE_PUSH, push, COUNT(push));
    uint64_t pops = schema(NVTX_PAYLOAD_SCHEMA_FLAG_RANGE_POP, pop, COUNT(pop));

    struct {
        int64_t begin;
        const char *name;
        int64_t n;
    } first = {read_clock(CLOCK_MONOTONIC), "half", 3};

    const int64_t last[2] = {first.begin + ONE_MS, -1};
    const nvtxPayloadData_t begin = {pushes, sizeof(first), &first}, end = {pops, 16, last};
    usleep(2000);
    nvtxEventSubmit(domain, &begin, 1);
    nvtxEventSubmit(domain, &end, 1);
    truth("\"event\": \"range\", \"name\": \"half\", \"monotonic_ns\": %lld, \"about_ns\": %lld, "
          "\"values\": {\"n\": 3, \"status\": -1}",
          (long long)first.begin, (long long)ONE_MS);
    nvtxEventSubmit(domain, &end, 1);
    truth("\"event\": \"mark\", \"name\": \"the end of a deferred range that did not begin\", "
          "\"values\": {\"name\": \"\"}");
}

int main(void)
{
    domain = nvtxDomainCreateA("later");
    nvtxMarkA("first"); /* loads everything that is loaded lazily */
    int64_t zero = read_clock(CLOCK_MONOTONIC);
    nvtxMarkA("zero");
    truth("\"event\": \"mark\", \"name\": \"first\"");
    truth("\"event\": \"mark\", \"name\": \"zero\", \"monotonic_ns\": %lld", (long long)zero);
    by_clocks_of_the_machine();
    by_the_tool();
    by_clocks_of_the_program();
    batch();
    halves();
    return 0;
}
