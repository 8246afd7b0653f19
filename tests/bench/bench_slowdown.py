# SPDX-License-Identifier: MIT
"""The time that tracing of calls adds to programs of several kinds, beside that of empty calls.

    bench_slowdown.py ANNOT PACKAGE INTERPRETER [ROUNDS] [--json FILE]

PACKAGE is the folder for PYTHONPATH with pyannot for that interpreter. A program runs alone and
traced, by turns, each time in a new process; the least processor time of each counts. The
processes also measure loops of empty calls, after the program. The last column is the cost of a
call of the program by that of an empty one: an estimate by empty calls is right where it is 1.
"""

import os
import subprocess
import sys
import tempfile

import rows

PROGRAM = '''
import sys, time


def empty():
    pass


def empty_calls(count):
    for _ in range(count):
        empty()


def add(a, b):
    return a + b


def leaf():
    total = 0
    for i in range(250000):
        total = add(total, i)


def fib(n=25):
    return n if n < 2 else fib(n - 1) + fib(n - 2)


class Vector:
    def __init__(self, x, y):
        self.x, self.y = x, y

    def add(self, other):
        return Vector(self.x + other.x, self.y + other.y)

    @property
    def norm(self):
        return self.x * self.x + self.y * self.y


def objects():
    vector, step, total = Vector(0, 0), Vector(1, 1), 0
    for _ in range(80000):
        vector = vector.add(step)
        total += vector.norm


def numbers(n):
    for i in range(n):
        yield i


def generator():
    return sum(i for i in numbers(400000))


def parser():
    import json.decoder, json.encoder, json.scanner
    json.encoder.c_make_encoder = None
    decoder, encoder = json.decoder.JSONDecoder(), json.encoder.JSONEncoder()
    decoder.parse_string = json.decoder.py_scanstring
    decoder.scan_once = json.scanner.py_make_scanner(decoder)
    data = {f"k{i}": [1, 2.5, f"text {i}", {"a": None, "b": True, "c": ["x"] * 5}]
            for i in range(200)}
    for _ in range(12):
        decoder.decode("".join(encoder.iterencode(data)))


class Layer:
    def __init__(self, inner, number):
        self.inner, self.number = inner, number

    def __call__(self, request, *args, **kwargs):
        request[self.number] = self.prepare(request)
        return self.finish(self.inner(request, *args, **kwargs))

    def prepare(self, request):
        return len(request)

    def finish(self, response):
        response["last"] = self.number
        return response


def layers():
    handler = lambda request, user: {key: str(value) for key, value in request.items()}
    for number in range(40):
        handler = Layer(handler, number)
    for _ in range(1200):
        handler({}, user="me")


def library():
    import ast, io, textwrap, tokenize
    from email.parser import Parser
    from html.parser import HTMLParser
    with open(textwrap.__file__) as file:
        source = file.read()
    for _ in range(6):
        list(tokenize.generate_tokens(io.StringIO(source).readline))
        ast.unparse(ast.parse(source))
        HTMLParser().feed("<p class='a'>x <b>y</b></p>" * 300)
        Parser().parsestr("From: a@b.c\\nTo: d@e.f\\nSubject: x\\n\\nbody\\n" * 3)
        textwrap.wrap(source[:5000])


def least_of_empty():
    least = float("inf")
    for _ in range(60):
        begin = time.perf_counter()
        empty_calls(250)
        least = min(least, time.perf_counter() - begin)
    return least / 250


def count(run):
    calls = 0

    def heard(frame, what, argument):
        nonlocal calls
        calls += what == "call"

    sys.setprofile(heard)
    run()
    sys.setprofile(None)
    return calls


run = globals()[sys.argv[1]]
if "count" in sys.argv:
    print("BENCH", count(run))
else:
    begin = time.process_time()
    run()
    print("BENCH", time.process_time() - begin, least_of_empty())
'''

PROGRAMS = ("leaf", "fib", "objects", "generator", "parser", "layers", "library")
MODES = ("exact", "aggregate")


def run(command, package, *operands):
    done = subprocess.run([*command, *operands], env=dict(os.environ, PYTHONPATH=package),
                          capture_output=True, text=True, check=True)
    if "without effect" in done.stderr:
        raise SystemExit(done.stderr)
    [line] = [line for line in done.stdout.splitlines() if line.startswith("BENCH ")]
    return list(map(float, line.split()[1:]))


def least(commands, package, name, rounds):
    """{mode or "alone": seconds of the program, of an empty call}"""
    found = {}
    for _ in range(rounds):
        for mode, command in commands.items():
            taken = run(command, package, name)
            found[mode] = list(map(min, taken, found.get(mode, taken)))
    return found


def entries(commands, package, rounds):
    for name in PROGRAMS:
        [calls] = run(commands["alone"], package, name, "count")
        found = least(commands, package, name, rounds)
        alone, alone_empty = found["alone"]
        for mode in MODES:
            each = (found[mode][0] - alone) / calls * 1e9
            empty = (found[mode][1] - alone_empty) * 1e9
            yield rows.row(f"{name}, {mode}", each, "ns a call",
                           against=f"{found[mode][0] / alone:.2f} of the time alone; an empty call "
                                   f"{empty:.0f} ns: {each / empty:.2f} of that")


def main(annot, package, interpreter, rounds="9"):
    with tempfile.TemporaryDirectory() as folder:
        program = os.path.join(folder, "programs.py")
        with open(program, "w") as out:
            out.write(PROGRAM)
        record = [annot, "record", "--sampling=none", "--force", "--python", "names", "-o",
                  os.path.join(folder, "bench.annot")]
        commands = {"alone": [interpreter, program]}
        for mode in MODES:
            commands[mode] = [*record, f"--trace-functions={mode}", "--", interpreter, program]
        rows.finish("slowdown by tracing", list(entries(commands, package, int(rounds))))


if __name__ == "__main__":
    main(*(sys.argv[1:sys.argv.index("--json")] if "--json" in sys.argv else sys.argv[1:]))
