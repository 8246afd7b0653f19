# SPDX-License-Identifier: MIT
"""ANNOT_DISABLE leaves no trace: the code of a function with every available annotation equals that
of the function without them, the object contains no symbol and no text of annot, arguments that the
enabled form does not evaluate are not evaluated, and programs need no library.

    test_disabled.py SOURCE
"""

import pathlib
import re
import shutil
import subprocess
import sys
import tempfile

C_CALLS = r"""
    ANNOT_RANGE("word of annot");
    ANNOT_FUNCTION();
    ANNOT_PUSH("word of annot"); annot_push("word of annot"); annot_push_format("word %d", value);
    struct annot_event event = {0}; struct annot_value values[2];
    values[0] = annot_value_int64("word of annot", value); values[1] = values[0];
    event.values = values; event.value_count = 2;
    event.domain = annot_domain_create("word of annot");
    annot_range range = annot_start_event(&event); annot_mark_event(&event);
    ANNOT_MARK("word of annot"); annot_counter("word of annot", value);
    ANNOT_COUNTER("word of annot", value); annot_counters("word of annot", values, 2);
    struct annot_track track = annot_track_create("word of annot", 0);
    annot_track_begin(&track, "word of annot"); annot_track_end(&track);
    annot_flow_begin(annot_flow_new(), "word of annot"); annot_flow_end(annot_flow_id("word", 1));
    annot_log(ANNOT_SEVERITY_INFO, "word of annot"); annot_abort_note("word of annot");
    annot_name_thread("word of annot"); if (annot_current()) value++;
    annot_track_end_values(&track, values, 2); annot_end_values(range, values, 2);
    annot_end(range); annot_pop(); annot_pop_values(values, 2); ANNOT_POP();
"""
CXX_CALLS = r"""
    ANNOT_FUNCTION();
    annot::range range("word of annot", annot::level(1), annot::arg("word of annot", value));
    annot::in<io>::range read("word of annot", annot::category<io>);
    annot::process_range process("word of annot"), moved(std::move(process));
    annot::track track("word of annot"); annot::track_range on(track, "word of annot");
    annot::flow flow; flow.begin("word of annot"); annot::counter("word of annot", value);
    annot::in<io>::counter("word of annot", value); annot::mark(std::string_view("word of annot"));
    annot::counters("word of annot", annot::arg("word of annot", value));
    annot::log(ANNOT_SEVERITY_INFO, "word of annot"); annot::name_thread("word of annot");
"""
FUNCTION = "int work(int value);\nint other(int value);\n" \
    "int work(int value)\n{\nCALLS\n    value = other(value + 1);\n    return value * 3;\n}\n"
CXX_DOMAIN = 'struct io { static constexpr const char *name = "word of annot"; };\n'
EVALUATED = r"""
#include <annot/annot.h>
static int calls;
static const char *text(void) { calls++; return "text"; }
int main(void)
{
    ANNOT_PUSH(text()); ANNOT_MARK(text()); ANNOT_COUNTER(text(), calls++); ANNOT_POP();
    annot_push_format("%s", text()); annot_mark_format("%s", text());
    annot_log_format(ANNOT_SEVERITY_INFO, "%s", text());
    return calls || annot_enabled();
}
"""


def run(*command):
    done = subprocess.run(command, capture_output=True, text=True, check=False)
    if done.returncode:
        sys.exit(f"{' '.join(map(str, command))}: {done.returncode}\n{done.stdout}{done.stderr}")
    return done.stdout


class Compiler:
    def __init__(self, name, include, folder):
        self.name, self.include, self.folder = name, include, folder
        self.is_cxx = name.endswith("++")

    def build(self, text, *options):
        path = self.folder / ("a.cpp" if self.is_cxx else "a.c")
        path.write_text(text)
        out = self.folder / "a.out"
        run(self.name, *options, "-I", self.include, path, "-o", out)
        return out

    def code(self, text, *options):
        """Return instructions and symbols of an object."""
        standard = ["-std=c++17"] if self.is_cxx else []
        path = self.build(text, "-c", *standard, *options)
        listing = run("objdump", "-dr", "--no-show-raw-insn", path)
        # clang names the C++ runtime's personality in each function that had a destructor to run.
        symbols = [line for line in run("nm", path).splitlines() if "personality" not in line]
        return listing[listing.index("Disassembly"):], "\n".join(symbols), path.read_bytes()


def check_header(compiler, header, prelude, calls):
    head = f"#include <annot/{header}>\n{prelude}"
    with_calls, without = FUNCTION.replace("CALLS", calls), FUNCTION.replace("CALLS", "")
    listing, symbols, content = compiler.code(head + with_calls, "-O2", "-DANNOT_DISABLE")
    plain, plain_symbols, _ = compiler.code(head + without, "-O2")
    assert listing == plain, f"{compiler.name}: the code differs:\n{listing}\n{plain}"
    assert symbols == plain_symbols, f"{compiler.name}: the symbols differ:\n{symbols}"
    assert b"word" not in content, f"{compiler.name}: a text is left"
    _, symbols, content = compiler.code(head + with_calls, "-O2")
    assert re.search(r"U annot_emit_", symbols) and b"word of annot" in content, \
        "the same test finds nothing where annot is enabled"
    _, symbols, _ = compiler.code(head + with_calls, "-O0", "-DANNOT_DISABLE")
    assert not re.search(r" U .*annot", symbols), f"{compiler.name} -O0:\n{symbols}"


def main():
    include = pathlib.Path(sys.argv[1], "libannot", "include")
    passed = skipped = 0
    with tempfile.TemporaryDirectory(prefix="annot-test-") as folder:
        for name in ("gcc", "clang", "g++", "clang++"):
            if not shutil.which(name):
                skipped += 1
                continue
            compiler = Compiler(name, include, pathlib.Path(folder))
            check_header(compiler, "annot.h", "", C_CALLS)
            if compiler.is_cxx:
                check_header(compiler, "annot.hpp", CXX_DOMAIN, CXX_CALLS)
            run(compiler.build(EVALUATED, "-DANNOT_DISABLE"))  # linked with no library
            passed += 1
    print(f"{passed} passed, 0 failed, {skipped} skipped")
    return 0 if passed else 77


if __name__ == "__main__":
    sys.exit(main())
