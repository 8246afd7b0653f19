# SPDX-License-Identifier: MIT
# function: count_primes
# kind: gil
# words: count_primes, GIL
"""Four threads compute, as if they could run at the same time."""
import threading

found = []


def count_primes(first, last):
    count = 0
    for number in range(first, last):
        count += all(number % divisor for divisor in range(2, int(number ** 0.5) + 1))  # CAUSE
    found.append(count)


def main():
    threads = [threading.Thread(target=count_primes, args=(first + 2, first + 120000))
               for first in range(0, 480000, 120000)]
    for thread in threads:
        thread.start()
    for thread in threads:
        thread.join()
    print(sum(found))


if __name__ == "__main__":
    main()
