/* SPDX-License-Identifier: MIT */
/* Every name of annot.hpp once, with no includes before it. There is no recording while it runs, so
 * no text may be formatted or copied. */
#include <annot/annot.hpp>

#include <string>

namespace
{

struct io {
    static constexpr const char *name = "io";
};

struct reads {
    static constexpr const char *name = "reads";
};

enum class color_of_car : unsigned char { red = 1 };

static_assert(!std::is_copy_constructible_v<annot::range>);
static_assert(std::is_nothrow_move_constructible_v<annot::range>);
static_assert(!std::is_move_assignable_v<annot::range>);
static_assert(!std::is_copy_constructible_v<annot::process_range>);
static_assert(std::is_nothrow_move_assignable_v<annot::process_range>);
static_assert(!std::is_move_assignable_v<annot::track_range>);
static_assert(std::is_trivially_copyable_v<annot::flow>);
static_assert(std::is_trivially_copyable_v<annot::track>);

annot::range returned()
{
    ANNOT_FUNCTION();
    return annot::range("returned");
}

void use_ranges(const std::string &name, std::string_view view)
{
    annot::range owner = returned();
    annot::range plain(name), cut(view.substr(1)), null(static_cast<const char *>(nullptr));
    annot::range full("full", annot::color(0xff00ff00), annot::level(3), annot::category<reads>,
                      annot::arg("int", -1), annot::arg("unsigned", 1u), annot::arg("double", 1.5),
                      annot::arg("float", 1.5f), annot::arg("bool", true),
                      annot::arg("enum", color_of_car::red), annot::arg("text", "literal"),
                      annot::arg("string", name), annot::arg("view", view));
    annot::in<io>::range read("read", annot::category<reads>);
    read.end();
    annot::in<io>::process_range request("request"), other(std::move(request)), empty;
    empty = std::move(other);
    annot_end(empty.release());
}

void use_others(const std::string &name)
{
    annot::flow made, known("scope", 1), same = annot::flow::of(known.id());
    made.begin(name);
    made.step();
    same.end();
    annot::track track(name), below("below", track);
    annot::track_range on(track, "on", annot::arg("a", 1));
    annot::track_range moved(std::move(on));
    annot::in<io>::track_range in_domain(below, "in");
    below.mark("mark", annot::level(1));
    annot::mark(name);
    annot::in<io>::mark("mark", annot::arg("string", name));
    annot::counter("counter", 1);
    annot::counter(name, 1.5, annot::level(2));
    annot::in<io>::counter("counter", 1ul);
    annot::counter_unit("counter", "bytes");
    annot::in<io>::counter_unit("counter", "bytes");
    annot::counters("series", annot::arg("a", 1), annot::arg("b", 2.0));
    annot::log(ANNOT_SEVERITY_INFO, name);
    annot::name_process(name);
    annot::name_thread("thread");
}

#if defined(__cpp_lib_format)
void use_format(const std::string &name)
{
    int value = 1;
    annot::range row(annot::formatted("row {}", value), annot::arg("a", 1));
    annot::mark(annot::formatted("{} {}", name, 2));
    annot::log(ANNOT_SEVERITY_INFO, annot::formatted("plain"));
}
#endif

} // namespace

int main()
{
    const std::string name = "a name";
    use_ranges(name, name);
    use_others(name);
#if defined(__cpp_lib_format)
    use_format(name);
#endif
    return annot::enabled() ? 1 : 0;
}
