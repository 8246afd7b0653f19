# SPDX-License-Identifier: MIT
"""Pi by decimals."""
import decimal

decimal.getcontext().prec = 3_000
three = last = term = decimal.Decimal(3)
n, na, d, da = 1, 0, 0, 24
while True:
    n, na, d, da = n + na, na + 8, d + da, da + 32
    term = term * n / d
    if last == last + term:
        break
    last += term
print(len(str(last)))
