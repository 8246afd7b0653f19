# SPDX-License-Identifier: MIT
# function: move
# kind: cpu
# words: move
"""Makes a new frozen object for each step of each particle."""
from dataclasses import dataclass


@dataclass(frozen=True)
class Particle:
    x: float
    y: float
    speed_x: float
    speed_y: float


def move(particle, time):
    return Particle(particle.x + particle.speed_x * time,  # CAUSE
                    particle.y + particle.speed_y * time,  # CAUSE
                    particle.speed_x, particle.speed_y)  # CAUSE


def main():
    particles = [Particle(number, 0.0, 1.0, number / 10) for number in range(2000)]
    for _ in range(1000):
        particles = [move(particle, 0.01) for particle in particles]
    print(particles[-1])


if __name__ == "__main__":
    main()
