# SPDX-License-Identifier: MIT
# function: orders_of
# kind: cpu
# words: orders_of, sqlite
"""Queries a table without an index for the orders of each customer."""
import sqlite3


def fill(base, count):
    base.execute("create table orders (id integer primary key, customer integer, price real)")
    base.executemany("insert into orders (customer, price) values (?, ?)",
                     ((number % 997, number / 7) for number in range(count)))


def orders_of(base, customer):
    found = base.execute("select sum(price) from orders where customer = ?", (customer,))  # CAUSE
    return found.fetchone()[0]  # CAUSE


def main():
    base = sqlite3.connect(":memory:")
    fill(base, 100000)
    print(sum(orders_of(base, customer) for customer in range(600)))


if __name__ == "__main__":
    main()
