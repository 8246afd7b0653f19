/* SPDX-License-Identifier: MIT */
/* The program that each of these folders builds, in C++. */
#include <annot/annot.hpp>
#include <cstdio>

int main()
{
    annot::range greeting("greeting", annot::arg("language", "C++"));
    annot::mark("hello");
    std::puts("hello");
}
