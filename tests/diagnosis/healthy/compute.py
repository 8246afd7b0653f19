# SPDX-License-Identifier: MIT
"""One thread that computes."""


def primes(limit):
    found = []
    for number in range(2, limit):
        if all(number % prime for prime in found if prime * prime <= number):
            found.append(number)
    return found


print(len(primes(9_000)))
