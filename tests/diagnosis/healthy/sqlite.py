# SPDX-License-Identifier: MIT
"""A table in memory."""
import sqlite3

db = sqlite3.connect(":memory:")
db.execute("create table t (a integer, b text)")
for part in range(60):
    db.executemany("insert into t values (?, ?)", ((i, str(i)) for i in range(10_000)))
    db.execute("select count(*), sum(a) from t where b like '%7%'").fetchall()
