/* SPDX-License-Identifier: MIT */
/* Emits through annot.hpp the events that test_cxx.py expects, in this order. */
#include <annot/annot.hpp>

#include <stdexcept>
#include <string>
#include <thread>

namespace
{

struct io {
    static constexpr const char *name = "io";
};

struct reads {
    static constexpr const char *name = "reads";
};

void throws()
{
    ANNOT_FUNCTION();
    annot::range inner("thrown over");
    throw std::runtime_error("on purpose");
}

annot::range handed_on(const char *name)
{
    annot::range made(name);
    annot::mark("before the return");
    return made;
}

void emit_texts()
{
    const std::string text = "string";
    const std::string_view view = std::string_view("a view, cut").substr(2, 4);
    annot::range from_string(text), from_view(view), from_nothing(std::string_view{});
    annot::mark(std::string(1500, 'x'));
}

void emit_extras()
{
    const std::string word = "some text";
    annot::range full("full", annot::color(0xff102030), annot::level(3), annot::category<reads>,
                      annot::arg("int", -5), annot::arg("unsigned", 5u), annot::arg("double", 2.5),
                      annot::arg("bool", true), annot::arg("literal", "literal"),
                      annot::arg("string", word),
                      annot::arg("view", std::string_view(word.data(), 4)));
    annot::in<io>::range read("read", annot::category<reads>);
    annot::in<io>::mark("io mark");
}

void emit_counters()
{
    annot::counter_unit("queue", "requests");
    annot::counter("queue", -3);
    annot::counter("queue", 3u);
    annot::counter("queue", 0.5);
    annot::in<io>::counter("bytes", 7);
    annot::counters("memory", annot::arg("used", 1), annot::arg("free", 2.0));
}

void emit_process_ranges()
{
    annot::process_range request("request"), other;
    other = annot::process_range("replaced");
    other = std::move(request);
    std::thread([moved = std::move(other)] {}).join();
    annot_end(annot::in<io>::process_range("released").release());
}

void emit_flows_and_tracks()
{
    const annot::flow flow("scope", 7);
    flow.begin("sent");
    flow.step();
    annot::flow::of(flow.id()).end();
    const annot::track task("task"), below("below", task);
    annot::track_range outer(task, "outer"), inner(below, "inner", annot::arg("a", 1));
    below.mark("on the track");
    annot::track_range moved(std::move(inner));
    moved.end();
}

void emit_format()
{
#if defined(__cpp_lib_format)
    const std::string word = "text";
    annot::range row(annot::formatted("row {} of {}", 3, word));
    annot::mark(annot::formatted("{:>2000}", 1), annot::level(1));
#endif
}

} // namespace

int main()
{
    annot::name_process(std::string("in C++"));
    try {
        throws();
    } catch (const std::runtime_error &) {
        annot::mark("caught");
    }
    {
        annot::range kept = handed_on("handed on");
        annot::range moved(std::move(kept));
        annot::mark("still open");
        moved.end();
        annot::mark("closed once");
    }
    emit_texts();
    emit_extras();
    emit_counters();
    emit_process_ranges();
    emit_flows_and_tracks();
    annot::log(ANNOT_SEVERITY_WARNING, "watch out");
    emit_format();
}
