/* SPDX-License-Identifier: MIT */
/* annot for C++: header only, over the functions of annot.h.
 *
 *     struct io { static constexpr const char *name = "io"; };     a domain is a type
 *
 *     annot::range load("load");                                   until the end of the scope
 *     annot::in<io>::range read("read", annot::level(2), annot::arg("bytes", size));
 *     annot::mark(annot::formatted("part {} of {}", i, n));        C++20, where std::format is
 *     annot::counter("queue", 3);
 *
 * Without a recording, a range is one load and two tests: texts are formatted and key-values copied
 * only while a recording runs (arguments themselves are evaluated, as for any function). No
 * function here allocates or throws. A range that was not opened is not closed.
 *
 * Texts are literals, const char *, or any type that converts to std::string_view (a copy of at
 * most 1,025 bytes on the stack; it ends at a NUL). Threads, costs and losses: see annot.h.
 * With ANNOT_DISABLE it compiles to nothing.
 *
 * C++17 and later. */
#ifndef ANNOT_ANNOT_HPP
#define ANNOT_ANNOT_HPP

#include <annot/annot.h>
#include <annot/text.hpp>

#include <cstddef>
#include <cstdint>
#include <cstring>
#include <string_view>
#include <type_traits>
#include <utility>

namespace annot
{
#ifdef ANNOT_DISABLE
/* Distinct linker names, so that files compiled with and without ANNOT_DISABLE link together. */
inline namespace disabled
{
#endif

/* ---- What an event may carry ------------------------------------------------------------------
 */

/* 0xAARRGGBB. */
struct color {
    ANNOT_UNTRACED explicit constexpr color(std::uint32_t value) noexcept : argb(value)
    {
    }

    std::uint32_t argb;
};

/* 0 (always wanted) to 7 (most detailed). */
struct level {
    ANNOT_UNTRACED explicit constexpr level(unsigned value) noexcept
        : number(static_cast<std::uint8_t>(value))
    {
    }

    std::uint8_t number;
};

/* A category of the event's domain: a type with a name, like a domain: annot::category<reads>. */
template <typename Category> struct category_of {
};

template <typename Category> inline constexpr category_of<Category> category{};

/* A key-value with a text that is not NUL-terminated. */
struct view_arg {
    const char *key;
    std::string_view view;
};

/* Makes a key-value from a number, bool, enum or text. For structs use annot_value_struct. */
template <typename Value>
ANNOT_UNTRACED constexpr auto arg(const char *key, const Value &value) noexcept
{
    if constexpr (std::is_same_v<Value, bool>)
        return annot_value_bool(key, value);
    else if constexpr (std::is_enum_v<Value>)
        return arg(key, static_cast<std::underlying_type_t<Value>>(value));
    else if constexpr (std::is_floating_point_v<Value>)
        return annot_value_double(key, static_cast<double>(value));
    else if constexpr (std::is_integral_v<Value> && std::is_signed_v<Value>)
        return annot_value_int64(key, value);
    else if constexpr (std::is_integral_v<Value>)
        return annot_value_uint64(key, value);
    else if constexpr (std::is_convertible_v<const Value &, const char *>)
        return annot_value_string(key, value);
    else
        return view_arg{key, value};
}

namespace detail
{

/* Returns the id of a domain or category type, created at its first event. */
template <typename Domain> ANNOT_UNTRACED annot_domain domain_id() noexcept
{
    if constexpr (std::is_void_v<Domain>) {
        return 0;
    } else {
        static annot_domain site;
        annot_domain id = __atomic_load_n(&site, __ATOMIC_RELAXED);
        if (id == 0) {
            id = annot_domain_create(Domain::name);
            __atomic_store_n(&site, id, __ATOMIC_RELAXED);
        }
        return id;
    }
}

template <typename Domain, typename Category> ANNOT_UNTRACED annot_category category_id() noexcept
{
    static annot_category site;
    annot_category id = __atomic_load_n(&site, __ATOMIC_RELAXED);
    if (id == 0) {
        id = annot_category_create(domain_id<Domain>(), Category::name);
        __atomic_store_n(&site, id, __ATOMIC_RELAXED);
    }
    return id;
}

template <typename Extra>
inline constexpr std::size_t is_view = std::is_same_v<Extra, view_arg> ? 1 : 0;
template <typename Extra>
inline constexpr std::size_t is_value = std::is_same_v<Extra, annot_value> ? 1 : is_view<Extra>;

/* An event of a domain with its attributes and key-values, on the stack. */
template <typename Domain, typename... Extra> class event
{
  public:
    ANNOT_UNTRACED explicit event(const Extra &...extra) noexcept
    {
        raw.domain = domain_id<Domain>();
        (add(extra), ...);
        raw.values = values;
        raw.value_count = value_count;
    }

    event(const event &) = delete;
    event &operator=(const event &) = delete;

    annot_event raw{};

  private:
    ANNOT_UNTRACED void add(color value) noexcept
    {
        raw.color = value.argb;
    }

    ANNOT_UNTRACED void add(level value) noexcept
    {
        raw.level = value.number;
    }

    template <typename Category> ANNOT_UNTRACED void add(category_of<Category>) noexcept
    {
        raw.category = category_id<Domain, Category>();
    }

    ANNOT_UNTRACED void add(const annot_value &value) noexcept
    {
        values[value_count++] = value;
    }

    ANNOT_UNTRACED void add(const view_arg &value) noexcept
    {
        char *bytes = copies[copy_count++];
        text(value.view).write(bytes);
        add(annot_value_string(value.key, bytes));
    }

    static constexpr std::size_t views = (is_view<Extra> + ... + 0);

    annot_value values[(is_value<Extra> + ... + 1)];
    std::size_t value_count = 0;
    char copies[views ? views : 1][views ? text::capacity + 1 : 1];
    std::size_t copy_count = 0;
};

template <typename Domain, typename Use, typename... Extra>
ANNOT_UNTRACED auto with_event(text name, const Use &use, const Extra &...extra) noexcept
{
    event<Domain, Extra...> made(extra...);
    return name.with([&](const char *terminated) ANNOT_UNTRACED {
        made.raw.text = terminated;
        return use(&made.raw);
    });
}

/* True if an event has only a name: then the short functions suffice. */
template <typename Domain, typename... Extra>
inline constexpr bool is_plain = std::is_void_v<Domain> && sizeof...(Extra) == 0;

template <typename Domain, typename... Extra>
ANNOT_UNTRACED void push(text name, const Extra &...extra) noexcept
{
    if constexpr (!is_plain<Domain, Extra...>)
        with_event<Domain>(name, annot_emit_push_event, extra...);
    else if (name.is_made())
        name.with([](const char *terminated)
                      ANNOT_UNTRACED { annot_emit_push_format("%s", terminated); });
    else
        name.with(annot_emit_push);
}

template <typename Domain, typename... Extra>
ANNOT_UNTRACED void mark(text name, const Extra &...extra) noexcept
{
    if constexpr (!is_plain<Domain, Extra...>)
        with_event<Domain>(name, annot_emit_mark_event, extra...);
    else if (name.is_made())
        name.with([](const char *terminated) { annot_emit_mark_format("%s", terminated); });
    else
        name.with(annot_emit_mark);
}

template <typename Domain, typename... Extra>
ANNOT_UNTRACED annot_range start(text name, const Extra &...extra) noexcept
{
    if constexpr (is_plain<Domain, Extra...>)
        return name.with(annot_emit_start);
    else
        return with_event<Domain>(name, annot_emit_start_event, extra...);
}

template <typename Domain, typename Number, typename... Extra>
ANNOT_UNTRACED void count(text name, Number value, const Extra &...extra) noexcept
{
    static_assert(std::is_arithmetic_v<Number>, "the value of a counter is a number");
    const annot_value number = arg(nullptr, value);
    with_event<Domain>(
        name,
        [&](annot_event *event) {
            event->payload_kind = number.kind;
            std::memcpy(&event->payload, &number.value, sizeof(number.value.int64));
            annot_emit_counter_event(event);
        },
        extra...);
}

} // namespace detail

/* ---- Ranges of a thread ---------------------------------------------------------------------- */

/* A range of the calling thread from here to the end of the scope. It can be returned from a
 * function; it can't be assigned to, because ranges of a thread nest and the new one would have
 * begun inside of the old one. Ends on the thread where it began. */
template <typename Domain> class basic_range
{
  public:
    template <typename... Extra>
    ANNOT_UNTRACED explicit basic_range(text name, const Extra &...extra) noexcept
    {
        if (ANNOT_UNLIKELY(annot_enabled())) {
            detail::push<Domain>(name, extra...);
            is_open_ = true;
        }
    }

    ANNOT_UNTRACED basic_range(basic_range &&other) noexcept
        : is_open_(std::exchange(other.is_open_, false))
    {
    }

    basic_range(const basic_range &) = delete;
    basic_range &operator=(const basic_range &) = delete;
    basic_range &operator=(basic_range &&) = delete;

    ANNOT_UNTRACED ~basic_range()
    {
        end();
    }

    /* Ends the range before the end of the scope. */
    ANNOT_UNTRACED void end() noexcept
    {
        if (ANNOT_UNLIKELY(std::exchange(is_open_, false)))
            annot_emit_pop();
    }

  private:
    bool is_open_ = false;
};

/* ---- Ranges of a process --------------------------------------------------------------------- */

/* A range that may overlap others, move anywhere and end on another thread. */
template <typename Domain> class basic_process_range
{
  public:
    basic_process_range() noexcept = default;

    template <typename... Extra>
    ANNOT_UNTRACED explicit basic_process_range(text name, const Extra &...extra) noexcept
    {
        if (ANNOT_UNLIKELY(annot_enabled()))
            id_ = detail::start<Domain>(name, extra...);
    }

    ANNOT_UNTRACED basic_process_range(basic_process_range &&other) noexcept : id_(other.release())
    {
    }

    ANNOT_UNTRACED basic_process_range &operator=(basic_process_range &&other) noexcept
    {
        if (this != &other) {
            end();
            id_ = other.release();
        }
        return *this;
    }

    basic_process_range(const basic_process_range &) = delete;
    basic_process_range &operator=(const basic_process_range &) = delete;

    ANNOT_UNTRACED ~basic_process_range()
    {
        end();
    }

    ANNOT_UNTRACED void end() noexcept
    {
        annot_end(release());
    }

    /* Returns the range's id and gives up ownership; the caller passes it to annot_end. */
    ANNOT_UNTRACED annot_range release() noexcept
    {
        return std::exchange(id_, 0);
    }

  private:
    annot_range id_ = 0;
};

/* ---- Flows and tracks ------------------------------------------------------------------------ */

/* An arrow between ranges; a plain value. */
class flow
{
  public:
    /* Makes a flow with an id that is unique on this machine. */
    ANNOT_UNTRACED flow() noexcept : id_(annot_flow_new())
    {
    }

    /* The same for the same scope and number in every process. */
    ANNOT_UNTRACED flow(text scope, std::uint64_t number) noexcept
        : id_(scope.with([=](const char *name) { return annot_flow_id(name, number); }))
    {
    }

    /* Returns the flow with the id() that another process sent. */
    ANNOT_UNTRACED static flow of(annot_flow id) noexcept
    {
        return flow(id);
    }

    ANNOT_UNTRACED annot_flow id() const noexcept
    {
        return id_;
    }

    ANNOT_UNTRACED void begin(text name) const noexcept
    {
        if (ANNOT_UNLIKELY(annot_enabled()))
            name.with([this](const char *terminated) {
                annot_emit_flow(ANNOT_FLOW_BEGIN, id_, terminated);
            });
    }

    ANNOT_UNTRACED void step() const noexcept
    {
        annot_flow_step(id_);
    }

    ANNOT_UNTRACED void end() const noexcept
    {
        annot_flow_end(id_);
    }

  private:
    ANNOT_UNTRACED explicit flow(annot_flow id) noexcept : id_(id)
    {
    }

    annot_flow id_;
};

/* A separate line in the viewer; a plain value. */
class track
{
  public:
    ANNOT_UNTRACED explicit track(text name) noexcept : track(name, nullptr)
    {
    }

    ANNOT_UNTRACED track(text name, const track &parent) noexcept : track(name, &parent.raw_)
    {
    }

    ANNOT_UNTRACED const annot_track &raw() const noexcept
    {
        return raw_;
    }

    template <typename... Extra>
    ANNOT_UNTRACED void mark(text name, const Extra &...extra) const noexcept
    {
        if (ANNOT_UNLIKELY(annot_enabled()))
            detail::with_event<void>(
                name, [this](annot_event *event) { annot_emit_track_mark_event(&raw_, event); },
                extra...);
    }

  private:
    ANNOT_UNTRACED track(text name, const annot_track *parent) noexcept
        : raw_(name.with(
              [=](const char *terminated) { return annot_track_create(terminated, parent); }))
    {
    }

    annot_track raw_;
};

/* A range on a track. It ends when destroyed, on any thread; ranges of one track nest, so it can't
 * be assigned to. */
template <typename Domain> class basic_track_range
{
  public:
    template <typename... Extra>
    ANNOT_UNTRACED basic_track_range(const track &on, text name, const Extra &...extra) noexcept
        : raw_(on.raw())
    {
        if (ANNOT_UNLIKELY(annot_enabled())) {
            detail::with_event<Domain>(
                name, [this](annot_event *event) { annot_emit_track_begin_event(&raw_, event); },
                extra...);
            is_open_ = true;
        }
    }

    ANNOT_UNTRACED basic_track_range(basic_track_range &&other) noexcept
        : raw_(other.raw_), is_open_(std::exchange(other.is_open_, false))
    {
    }

    basic_track_range(const basic_track_range &) = delete;
    basic_track_range &operator=(const basic_track_range &) = delete;
    basic_track_range &operator=(basic_track_range &&) = delete;

    ANNOT_UNTRACED ~basic_track_range()
    {
        end();
    }

    ANNOT_UNTRACED void end() noexcept
    {
        if (ANNOT_UNLIKELY(std::exchange(is_open_, false)))
            annot_emit_track_end(&raw_);
    }

  private:
    annot_track raw_;
    bool is_open_ = false;
};

/* ---- Domains as types; the default domain -----------------------------------------------------
 */

/* Events of a domain: annot::in<io>::range, where io has a `static constexpr const char *name`. */
template <typename Domain> struct in {
    using range = basic_range<Domain>;
    using process_range = basic_process_range<Domain>;
    using track_range = basic_track_range<Domain>;

    template <typename... Extra>
    ANNOT_UNTRACED static void mark(text name, const Extra &...extra) noexcept
    {
        if (ANNOT_UNLIKELY(annot_enabled()))
            detail::mark<Domain>(name, extra...);
    }

    /* Integers are recorded as integers. */
    template <typename Number, typename... Extra>
    ANNOT_UNTRACED static void counter(text name, Number value, const Extra &...extra) noexcept
    {
        if (ANNOT_UNLIKELY(annot_enabled()))
            detail::count<Domain>(name, value, extra...);
    }

    ANNOT_UNTRACED static void counter_unit(text name, const char *unit) noexcept
    {
        name.with([=](const char *terminated) {
            annot_counter_unit(detail::domain_id<Domain>(), terminated, unit);
        });
    }
};

using range = basic_range<void>;
using process_range = basic_process_range<void>;
using track_range = basic_track_range<void>;

template <typename... Extra> ANNOT_UNTRACED void mark(text name, const Extra &...extra) noexcept
{
    in<void>::mark(name, extra...);
}

template <typename Number, typename... Extra>
ANNOT_UNTRACED void counter(text name, Number value, const Extra &...extra) noexcept
{
    in<void>::counter(name, value, extra...);
}

ANNOT_UNTRACED inline void counter_unit(text name, const char *unit) noexcept
{
    in<void>::counter_unit(name, unit);
}

/* Several series of one counter at one instant, each an arg() of a number. */
template <typename... Values>
ANNOT_UNTRACED void counters(text name, const Values &...series) noexcept
{
    if (ANNOT_UNLIKELY(annot_enabled())) {
        const annot_value values[] = {series...};
        name.with([&](const char *terminated) {
            annot_emit_counters(terminated, values, sizeof...(series));
        });
    }
}

/* A mark with a severity. */
ANNOT_UNTRACED inline void log(annot_severity severity, text message) noexcept
{
    if (ANNOT_UNLIKELY(annot_enabled()))
        message.with([=](const char *terminated) { annot_emit_log(severity, terminated); });
}

ANNOT_UNTRACED inline void name_process(text name) noexcept
{
    name.with([](const char *terminated) { annot_name_process(terminated); });
}

ANNOT_UNTRACED inline void name_thread(text name) noexcept
{
    name.with([](const char *terminated) { annot_name_thread(terminated); });
}

ANNOT_UNTRACED inline bool enabled() noexcept
{
    return annot_enabled() != 0;
}

#ifdef ANNOT_DISABLE
} // namespace disabled
#endif
} // namespace annot

#endif
