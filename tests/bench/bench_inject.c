/* SPDX-License-Identifier: MIT */
/* The cost of calls of NVTX and ITT to a program that `annot record` runs, beside the C pair of
 * libannot in the same run: slices of all cases alternate. bench_inject.py runs it.
 *
 * With an argument, the injection library is loaded first and its copy of libannot serves; without,
 * that of the program, as where Python or the program brought one. Prints JSON: minimum and median
 * of each case in ns. */
#include "bench_empty.h"
#include "bench_floor.h"

#include <annot/annot.h>
#include <dlfcn.h>
#include <nvtx3/nvToolsExt.h>
#if __has_include(<nvtx3/nvToolsExtPayload.h>)
#include <nvtx3/nvToolsExtPayload.h>
#endif
#include <stdio.h>
#include <stdlib.h>

enum { SLICES = 400, PAIRS = 2000 };

static void (*push_name)(annot_name name);
static void (*pop)(void);
static annot_name name;
static nvtxDomainHandle_t domain;
static nvtxEventAttributes_t registered, payload;

static int (*volatile empty[2])(const char *) = {bench_empty, bench_empty};

/* The share of NVTX's own header in a pair, with an empty tool. */
static void run_empty(int pairs)
{
    for (int i = 0; i < pairs; i++)
        for (int call = 0; call < 2; call++) {
            int (*function)(const char *) = empty[call];
            if (function)
                function("bench range");
        }
}

static void run_c(int pairs)
{
    for (int i = 0; i < pairs; i++) {
        push_name(name);
        pop();
    }
}

static void run_registered(int pairs)
{
    for (int i = 0; i < pairs; i++) {
        nvtxDomainRangePushEx(domain, &registered);
        nvtxDomainRangePop(domain);
    }
}

static void run_ascii(int pairs)
{
    for (int i = 0; i < pairs; i++) {
        nvtxRangePushA("bench range");
        nvtxRangePop();
    }
}

static void run_payload(int pairs)
{
    for (int i = 0; i < pairs; i++) {
        payload.payload.llValue = i;
        nvtxDomainRangePushEx(domain, &payload);
        nvtxDomainRangePop(domain);
    }
}

/* Of four numbers, by a schema. */
struct fields {
    int64_t rank, bytes;
    double share;
    int32_t tag;
};

static uint64_t fields_schema;

#ifdef NVTX_EXT_PAYLOAD_MODULEID
static void run_struct(int pairs)
{
    struct fields fields = {1, 4096, 0.5, 7};
    for (int i = 0; i < pairs; i++) {
        fields.bytes = i;
        nvtxPayloadRangePush(domain, &registered, fields_schema, &fields, sizeof(fields));
        nvtxDomainRangePop(domain);
    }
    registered.payloadType = NVTX_PAYLOAD_UNKNOWN;
}

static void set_up_struct(void)
{
    const nvtxPayloadSchemaEntry_t entries[] = {
        {0, NVTX_PAYLOAD_ENTRY_TYPE_INT64, "rank", NULL, 0, 0, NULL, NULL},
        {0, NVTX_PAYLOAD_ENTRY_TYPE_INT64, "bytes", NULL, 0, 0, NULL, NULL},
        {0, NVTX_PAYLOAD_ENTRY_TYPE_DOUBLE, "share", NULL, 0, 0, NULL, NULL},
        {0, NVTX_PAYLOAD_ENTRY_TYPE_INT32, "tag", NULL, 0, 0, NULL, NULL}};
    const nvtxPayloadSchemaAttr_t schema = {.fieldMask = NVTX_PAYLOAD_SCHEMA_ATTR_FIELD_TYPE |
                                                         NVTX_PAYLOAD_SCHEMA_ATTR_FIELD_ENTRIES |
                                                         NVTX_PAYLOAD_SCHEMA_ATTR_FIELD_NUM_ENTRIES,
                                            .type = NVTX_PAYLOAD_SCHEMA_TYPE_STATIC,
                                            .entries = entries,
                                            .numEntries = 4};
    fields_schema = nvtxPayloadSchemaRegister(domain, &schema);
}
#else
static void run_struct(int pairs)
{
    (void)pairs;
}

static void set_up_struct(void)
{
    fields_schema = 0;
}
#endif

static void run_mark(int pairs)
{
    for (int i = 0; i < pairs; i++)
        nvtxMarkA("bench mark");
}

static void run_start_end(int pairs)
{
    for (int i = 0; i < pairs; i++)
        nvtxRangeEnd(nvtxRangeStartA("bench range"));
}

static __itt_domain *itt_domain;
static __itt_string_handle *itt_name;

/* As in itt_part.h, without the check for the first call. */
static void run_itt_part(const struct itt_part *part, int pairs)
{
    for (int i = 0; i < pairs; i++) {
        if (itt_domain && itt_domain->flags && part->task_begin)
            part->task_begin(itt_domain, __itt_null, __itt_null, itt_name);
        if (itt_domain && itt_domain->flags && part->task_end)
            part->task_end(itt_domain);
    }
}

static void run_itt(int pairs)
{
    run_itt_part(itt_call(), pairs);
}

/* The cost of the calls themselves: each passes 48 bytes by value. */
static void run_itt_empty(int pairs)
{
    static struct itt_part no_part = {.task_begin = bench_empty_begin, .task_end = bench_empty_end};
    struct itt_part *part = &no_part;
    __asm__("" : "+r"(part) : : "memory");
    run_itt_part(part, pairs);
}

static struct {
    const char *name;
    void (*run)(int pairs);
    double ns[SLICES];
} cases[] = {
    {"floor", run_floor, {0}},   {"empty", run_empty, {0}},
    {"C", run_c, {0}},           {"registered", run_registered, {0}},
    {"ASCII", run_ascii, {0}},   {"payload", run_payload, {0}},
    {"mark", run_mark, {0}},     {"start and end", run_start_end, {0}},
    {"ITT task", run_itt, {0}},  {"ITT empty", run_itt_empty, {0}},
    {"struct", run_struct, {0}},
};

enum { CASES = sizeof(cases) / sizeof(*cases) };

static void *must(void *found)
{
    if (!found) {
        fprintf(stderr, "bench_inject: %s\n", dlerror());
        exit(1);
    }
    return found;
}

static void set_up(const char *library)
{
    void *annot = must(dlopen(library, RTLD_NOW | RTLD_LOCAL));
    annot_name (*intern)(const char *) = must(dlsym(annot, "annot_name_intern"));
    push_name = must(dlsym(annot, "annot_emit_push_name"));
    pop = must(dlsym(annot, "annot_emit_pop"));
    name = intern("bench range");
}

static void set_up_nvtx(void)
{
    domain = nvtxDomainCreateA("bench");
    registered.version = NVTX_VERSION;
    registered.size = NVTX_EVENT_ATTRIB_STRUCT_SIZE;
    registered.messageType = NVTX_MESSAGE_TYPE_REGISTERED;
    registered.message.registered = nvtxDomainRegisterStringA(domain, "registered");
    payload = registered;
    payload.payloadType = NVTX_PAYLOAD_TYPE_INT64;
    set_up_struct();
    itt_domain = __itt_domain_create("bench");
    itt_name = __itt_string_handle_create("itt task");
}

int main(int argc, char **argv)
{
    if (argc < 2)
        return 2;
    if (argc > 2)
        set_up_nvtx();
    set_up(argv[1]);
    if (argc <= 2)
        set_up_nvtx();
    for (int slice = 0; slice < SLICES; slice++)
        for (int i = 0; i < CASES; i++)
            cases[i].ns[slice] = slice_ns(cases[i].run, PAIRS);
    for (int i = 0; i < CASES; i++) {
        qsort(cases[i].ns, SLICES, sizeof(double), by_value);
        printf("%s\"%s\": [%.3f, %.3f]", i ? ", " : "{", cases[i].name, cases[i].ns[SLICES / 20],
               cases[i].ns[SLICES / 2]);
    }
    printf("}\n");
    return 0;
}
