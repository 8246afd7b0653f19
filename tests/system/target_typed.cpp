// SPDX-License-Identifier: MIT
// Calls methods and functions of C++ with arguments of known types and values.
#include <cstddef>
#include <string_view>

#define ALONE __attribute__((noinline, noclone))

enum class Colour : unsigned char { red = 1, green = 200 };

static volatile long sink;

struct Maker {
    long made;

    ALONE void make(Colour colour, const int &number, std::string_view name);
};

struct Fat {
    long words[3];
    Fat();
    ALONE ~Fat();
};

Fat::Fat() : words{1, 2, 3}
{
}

Fat::~Fat()
{
    sink = sink + words[0];
}

ALONE void Maker::make(Colour colour, const int &number, std::string_view name)
{
    made += static_cast<long>(colour) + number + static_cast<long>(name.size());
    sink = sink + made;
}

// Its result lies at an address from the caller, which takes the first register.
ALONE Fat typed_fat(int number)
{
    Fat fat;
    fat.words[0] = number;
    return fat;
}

int main()
{
    Maker maker{};
    static const char letters[] = "abcdefghij";
    sink = sink + *static_cast<const volatile char *>(letters); // its page is in memory
    for (int i = 0; i < 10; i++) {
        maker.make(i % 2 ? Colour::green : Colour::red, i, std::string_view(letters, i));
        sink = sink + typed_fat(40 + i).words[0];
    }
    return 0;
}
