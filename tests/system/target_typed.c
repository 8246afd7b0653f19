/* SPDX-License-Identifier: MIT */
/* Calls functions with arguments of known types and values, to be read by debug information: built
 * with and without optimisation. */
#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

#define ALONE __attribute__((noinline, noclone))

enum shade { SHADE_DARK = 3, SHADE_LIGHT = -7, SHADE_NONE = 0 };

struct large {
    long words[4];
};

struct odd {
    double x;
    int y;
};

static const char *const texts[] = {"even", "odd", "no such shade"};

static volatile int64_t sink;

ALONE static void typed_all(short small, enum shade shade, const char *text, double ratio,
                            bool flag, unsigned long large, char letter, int seventh,
                            uint8_t eighth)
{
    sink += small + (int)shade + text[0] + (int64_t)ratio + flag + (int64_t)large + letter +
            seventh + eighth;
}

ALONE static void typed_floats(double a, double b, double c, double d, double e, double f, double g,
                               double h, double ninth, float tenth)
{
    sink += (int64_t)(a + b + c + d + e + f + g + h + ninth) + (int64_t)tenth;
}

/* A large argument is on the stack, and takes no register. */
ALONE static struct large typed_large(struct large large, int behind)
{
    sink += large.words[3] + behind;
    return large;
}

ALONE static void typed_odd(struct odd odd, int behind)
{
    sink += odd.y + behind;
}

/* With optimisation it is called without the second. */
__attribute__((noinline)) static int typed_part(int used, int unused)
{
    sink += used;
    return (int)sink + 0 * unused;
}

int main(void)
{
    for (int i = 0; i < 3; i++)
        sink += *(const volatile char *)texts[i]; /* its page lies in memory */
    for (int i = 0; i < 20; i++)
        typed_all((short)(-i), i % 2 ? SHADE_DARK : SHADE_LIGHT, texts[i % 2], i + 0.5, i % 2,
                  UINT64_C(0xfedcba9876543210) + (unsigned)i, (char)('a' + i), -1000000 - i,
                  (uint8_t)(200 + i));
    typed_all(1, (enum shade)5, texts[2], 0, true, 0, 'x', 0, 0);
    for (int i = 0; i < 5; i++)
        typed_floats(1, 2, 3, 4, 5, 6, 7, 8, i + 9.25, (float)i + 10.5F);
    for (int i = 0; i < 4; i++) {
        struct large large = {{i, i, i, i}};
        sink += typed_large(large, 70 + i).words[0];
        typed_odd((struct odd){i, i}, i);
        sink += typed_part(i, 9);
    }
    return 0;
}
