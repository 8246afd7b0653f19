/* SPDX-License-Identifier: MIT */
/* Names of kernels, shortened for a screen. */
#include "gpu_name.h"
#include "test.h"

#include <string.h>

static uint64_t random_state = 3;

static int64_t next_random(int64_t below)
{
    random_state ^= random_state << 13;
    random_state ^= random_state >> 7;
    random_state ^= random_state << 17;
    return (int64_t)(random_state % (uint64_t)below);
}

TEST(names_of_kernels_are_short_without_result_arguments_and_parameters)
{
    static const char *const names[][2] = {
        {"gemm", "gemm"},
        {"_Z4gemmPfS_", "_Z4gemmPfS_"},
        {"gemm(float*, float const*, int)", "gemm"},
        {"void at::native::reduce_kernel<512, 1, at::native::Op<float, 4> >(float*)",
         "at::native::reduce_kernel<…>"},
        {"void (anonymous namespace)::scale<float>(float*, int)",
         "(anonymous namespace)::scale<…>"},
        {"std::pair<int, int> make<3>::run<f(int)>(int (*)(int))", "make<…>::run<…>"},
        {"void apply<&Foo::operator< >(Foo)", "apply<…>"},
        {"bool Foo::operator<(Foo const&)", "Foo::operator<"},
        {"void Foo::operator()(int)", "Foo::operator()"},
        {"cutlass::Kernel2<cutlass_80_simt_sgemm>", "cutlass::Kernel2<…>"},
        {"open<<<", "open<…>"},
        {"()", "()"},
        {"", ""},
    };
    for (size_t i = 0; i < sizeof(names) / sizeof(*names); i++) {
        char text[256];
        gpu_short_name(names[i][0], text, sizeof(text));
        CHECK_STR(text, names[i][1]);
    }
}

TEST(longer_names_of_kernels_have_the_parameters_of_templates)
{
    static const char *const names[][2] = {
        {"gemm(float*)", "gemm"},
        {"void at::native::vectorized_elementwise_kernel<4, at::native::CUDAFunctor_add<float>, "
         "at::detail::Array<char*, 3> >(int, at::native::CUDAFunctor_add<float>)",
         "at::native::vectorized_elementwise_kernel<4, CUDAFunctor_add<…>, Array<…>>"},
        {"void scale<(Act)1, ns::(anonymous namespace)::Op, run(int)::{lambda(int)#1}>(int)",
         "scale<(Act)1, Op, run>"},
        {"void f<>(int)", "f<>"},
        {"open<<<", "open<…>"},
    };
    for (size_t i = 0; i < sizeof(names) / sizeof(*names); i++) {
        char text[256];
        gpu_longer_name(names[i][0], text, sizeof(text));
        CHECK_STR(text, names[i][1]);
    }
}

TEST(any_bytes_can_be_a_name)
{
    for (unsigned round = 0; round < 20000; round++) {
        static const char *const parts[] = {
            "<", ">", "(", ")", "operator", "a", " ", "::", "-", "~", "->", "(anonymous namespace)",
            ","};
        char name[200] = "", text[20];
        for (int64_t i = next_random(10); i-- > 0;)
            strcat(name, parts[next_random(13)]);
        gpu_short_name(name, text, sizeof(text));
        CHECK(strlen(text) < sizeof(text));
        gpu_longer_name(name, text, sizeof(text));
        CHECK(strlen(text) < sizeof(text));
    }
}
