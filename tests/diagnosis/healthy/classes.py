# SPDX-License-Identifier: MIT
"""Makes objects that are freed at once."""
import dataclasses


@dataclasses.dataclass
class Point:
    x: float
    y: float

    def moved(self, by):
        return Point(self.x + by, self.y + by)


point = Point(0, 0)
for _ in range(1_500_000):
    point = point.moved(1)
print(point)
