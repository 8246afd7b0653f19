// SPDX-License-Identifier: MIT
// A program that uses NVTX's C++ interface.
#include "nvtx_ledger.h"

#include <nvtx3/nvtx3.hpp>

#include <thread>
#include <utility>

struct library_domain {
    static constexpr char const *name{"library"};
};

struct red {
    static constexpr char const *name{"red"};
    static constexpr uint32_t id{7};
};

struct registered {
    static constexpr char const *message{"registered"};
};

namespace v1 = nvtx3::v1;

static void marked_function()
{
    ledger("pushed", "library", "marked_function", "");
    NVTX3_V1_FUNC_RANGE_IN(library_domain);
}

static void scoped()
{
    ledger("pushed", "", "scoped", "");
    v1::scoped_range range{"scoped"};
    ledger("pushed", "library", "scoped", "red");
    v1::scoped_range_in<library_domain> inner{
        v1::event_attributes{"scoped", v1::named_category_in<library_domain>::get<red>(),
                             v1::payload{int64_t{-4}}, v1::rgb{1, 2, 3}}};
    ledger("mark", "library", "registered", "");
    v1::mark_in<library_domain>(v1::registered_string_in<library_domain>::get<registered>());
    marked_function();
}

// Older headers do not have these payloads.
#if defined(NVTX3_V1_DEFINE_SCHEMA_GET)
struct extras {
    int32_t index;
    float share;
};

NVTX3_V1_DEFINE_SCHEMA_GET(library_domain, extras, "extras",
                           NVTX_PAYLOAD_ENTRIES((index, TYPE_INT32, "index"),
                                                (share, TYPE_FLOAT, "share")))

static void with_payload()
{
    extras some{42, 0.75f};
    v1::payload_data data{some};
    ledger("pushed", "library", "payload", "");
    v1::scoped_range_in<library_domain> range{"payload", data};
}
#else
static void with_payload()
{
}
#endif

static v1::unique_range_in<library_domain> moved()
{
    ledger("started", "library", "unique", "");
    return v1::unique_range_in<library_domain>{"unique"};
}

int main()
{
    for (int i = 0; i < 3; i++)
        scoped();
    with_payload();
    auto range = moved();
    std::thread([](v1::unique_range_in<library_domain> other) { (void)other; }, std::move(range))
        .join();
    ledger("started", "", "started", "");
    auto handle = v1::start_range("started");
    v1::end_range(handle);
    return 0;
}
