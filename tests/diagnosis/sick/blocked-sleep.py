# SPDX-License-Identifier: MIT
"""Sends requests to a slow service one after the other."""
# says: sleeps in call_service
import time


def call_service():
    time.sleep(0.04)


for _ in range(25):
    call_service()
