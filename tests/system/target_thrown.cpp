/* SPDX-License-Identifier: MIT */
/* Exceptions through functions that annot makes ranges of. Prints the events. */
#include <cstdio>
#include <stdexcept>
#include <string>

static volatile int sink;

namespace probed
{

struct worker {
    __attribute__((noinline)) int throws(int depth)
    {
        if (depth == 0)
            throw std::runtime_error("thrown");
        int below = throws(depth - 1);
        sink = sink + below;
        return below;
    }

    __attribute__((noinline)) int catches(int depth)
    {
        try {
            return throws(depth);
        } catch (const std::exception &) {
            return 1;
        }
    }
};

template <typename type> __attribute__((noinline)) type twice(type x)
{
    sink = sink + 1;
    return x * 2;
}

__attribute__((noinline)) void throws_again()
{
    try {
        throw std::string("first");
    } catch (const std::string &) {
        throw;
    }
}

} // namespace probed

int main()
{
    probed::worker worker;
    int caught = 0;
    for (int i = 0; i < 10; i++)
        caught += worker.catches(5);
    for (int i = 0; i < 4; i++)
        sink = probed::twice<int>(i);
    for (int i = 0; i < 3; i++) {
        try {
            probed::throws_again();
        } catch (const std::string &) {
            caught++;
        }
    }
    std::printf("%d\n", caught);
}
