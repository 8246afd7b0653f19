// SPDX-License-Identifier: MIT
// Prints the address, the first line and the name of each of its functions, from their addresses
// in memory and without any symbol table. Each line is "ADDRESS LINE NAME", with addresses relative
// to where the program was loaded.
#include <cstdio>
#include <link.h>
#include <string>
#include <vector>

#define KEPT __attribute__((noinline, used))

// clang-format off
// Each on one line: compilers disagree about the first line of a function.

namespace shapes {

template <typename T> class box {
public:
    KEPT static int fill(T value, const std::vector<int> &) { return (int)value; }
    enum { fill_line = __LINE__ - 1 };
    KEPT int operator[](unsigned index) const { return (int)index; }
    enum { index_line = __LINE__ - 1 };
};

namespace {
KEPT int hidden(const char *, double) { return 3; }
constexpr int hidden_line = __LINE__ - 1;
} // namespace

} // namespace shapes

extern "C" KEPT int plain_c_function(int value) { return value + 1; }
static const int plain_line = __LINE__ - 1;

// clang-format on

static int take_base(struct dl_phdr_info *info, size_t, void *base)
{
    *static_cast<unsigned long *>(base) = info->dlpi_addr;
    return 1; // the first is the program
}

int main()
{
    unsigned long base = 0;
    dl_iterate_phdr(take_base, &base);
    auto tell = [base](const void *function, int line, const char *name) {
        std::printf("%lx %d %s\n", reinterpret_cast<unsigned long>(function) - base, line, name);
    };
    int (shapes::box<long>::*index)(unsigned) const = &shapes::box<long>::operator[];
    void *index_address;
    __builtin_memcpy(&index_address, &index, sizeof(index_address));
    tell(reinterpret_cast<void *>(&shapes::box<long>::fill), shapes::box<long>::fill_line,
         "shapes::box<long>::fill(long, std::vector<int, std::allocator<int> > const&)");
    tell(index_address, shapes::box<long>::index_line,
         "shapes::box<long>::operator[](unsigned int) const");
    tell(reinterpret_cast<void *>(&shapes::hidden), shapes::hidden_line,
         "shapes::(anonymous namespace)::hidden(char const*, double)");
    tell(reinterpret_cast<void *>(&plain_c_function), plain_line, "plain_c_function");
    return 0;
}
