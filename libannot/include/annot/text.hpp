/* SPDX-License-Identifier: MIT */
/* Text parameters of annot.hpp's functions: any kind of string, or one made by std::format. Part of
 * annot.hpp, which states the rules common to all of it. */
#ifndef ANNOT_TEXT_HPP
#define ANNOT_TEXT_HPP

#include <cstddef>
#include <cstring>
#include <string_view>
#include <tuple>
#include <type_traits>
#include <utility>
#if defined(__has_include)
#if __has_include(<version>)
#include <version>
#endif
#endif
#if defined(__cpp_lib_format)
#include <format>
#endif

namespace annot
{
#ifdef ANNOT_DISABLE
/* Distinct linker names, so that files compiled with and without ANNOT_DISABLE link together. */
inline namespace disabled
{
#endif

/* ---- Texts ----------------------------------------------------------------------------------- */

/* A text parameter: made at the call, never stored. */
class text
{
  public:
    /* Writes at most `room` bytes; returns how many. */
    using writer = std::size_t (*)(const void *source, std::size_t size, char *bytes,
                                   std::size_t room) noexcept;

    ANNOT_UNTRACED constexpr text(const char *terminated) noexcept : source_(terminated)
    {
    }

    template <typename View,
              typename = std::enable_if_t<std::is_convertible_v<const View &, std::string_view> &&
                                          !std::is_convertible_v<const View &, const char *>>>
    ANNOT_UNTRACED text(const View &source) noexcept
    {
        const std::string_view view = source;
        source_ = view.data();
        size_ = view.size();
        write_ = &copy;
    }

    /* A text that is written only while a recording runs. */
    ANNOT_UNTRACED constexpr text(const void *source, writer writes) noexcept
        : source_(source), write_(writes), is_made_(true)
    {
    }

    /* True for texts that seldom repeat: libannot should not intern them. */
    ANNOT_UNTRACED bool is_made() const noexcept
    {
        return is_made_;
    }

    /* Calls use(const char *); the text is valid during the call. */
    template <typename Use> ANNOT_UNTRACED auto with(const Use &use) const noexcept
    {
#ifdef ANNOT_DISABLE
        return use("");
#else
        return write_ ? with_copy(use) : use(static_cast<const char *>(source_));
#endif
    }

    /* One byte more than the limit of a name, so that libannot detects cut names. */
    static constexpr std::size_t capacity = 1025;

    ANNOT_UNTRACED std::size_t write(char *bytes) const noexcept
    {
        const std::size_t size = write_(source_, size_, bytes, capacity);
        bytes[size] = '\0';
        return size;
    }

  private:
    template <typename Use> ANNOT_UNTRACED auto with_copy(const Use &use) const noexcept
    {
        char bytes[capacity + 1];
        write(bytes);
        return use(static_cast<const char *>(bytes));
    }

    ANNOT_UNTRACED static std::size_t copy(const void *source, std::size_t size, char *bytes,
                                           std::size_t room) noexcept
    {
        const std::size_t count = size < room ? size : room;
        if (count != 0)
            std::memcpy(bytes, source, count);
        return count;
    }

    const void *source_ = nullptr;
    std::size_t size_ = 0;
    writer write_ = nullptr;
    bool is_made_ = false;
};

#if defined(__cpp_lib_format)

/* Result of formatted(): refers to its arguments, so use it in the same expression. */
template <typename... Arguments> class formatted_text
{
  public:
    formatted_text(std::format_string<Arguments...> format, Arguments &&...arguments) noexcept
        : format_(format), arguments_(std::forward<Arguments>(arguments)...)
    {
    }

    ANNOT_UNTRACED operator text() const noexcept
    {
        return text(this, &write);
    }

  private:
    ANNOT_UNTRACED static std::size_t write(const void *source, std::size_t, char *bytes,
                                            std::size_t room) noexcept
    {
        const auto &self = *static_cast<const formatted_text *>(source);
        const auto format = [&](auto &...arguments) {
            return std::format_to_n(bytes, static_cast<std::ptrdiff_t>(room), self.format_,
                                    static_cast<Arguments &&>(arguments)...)
                .out;
        };
#if defined(__cpp_exceptions)
        /* A formatter of the program may throw: its output is unknown, so the text is empty. */
        try {
            return static_cast<std::size_t>(std::apply(format, self.arguments_) - bytes);
        } catch (...) {
            return 0;
        }
#else
        return static_cast<std::size_t>(std::apply(format, self.arguments_) - bytes);
#endif
    }

    std::format_string<Arguments...> format_;
    std::tuple<Arguments &&...> arguments_;
};

/* A name made by std::format, but only while a recording runs; cut at 1,024 bytes. */
template <typename... Arguments>
formatted_text<Arguments...>
formatted(std::format_string<std::type_identity_t<Arguments>...> format,
          Arguments &&...arguments) noexcept
{
    return {format, std::forward<Arguments>(arguments)...};
}

#endif

#ifdef ANNOT_DISABLE
} // namespace disabled
#endif
} // namespace annot

#endif
