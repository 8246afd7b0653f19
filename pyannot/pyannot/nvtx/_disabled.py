# SPDX-License-Identifier: MIT
"""What the functions are with NVTX_DISABLE in the environment: nothing. Domains stay."""

import contextlib


class annotate(contextlib.nullcontext):
    """No range."""

    def __init__(self, *args, **kwargs):
        super().__init__()

    def __call__(self, func):
        return func


def mark(message=None, color=None, domain=None, category=None, payload=None):
    """Nothing."""


def push_range(message=None, color=None, domain=None, category=None, payload=None):
    """Nothing."""


def pop_range(domain=None):
    """Nothing."""


def start_range(message=None, color=None, domain=None, category=None, payload=None):
    """None, which end_range ignores."""


def end_range(range_id):
    """Nothing."""


class Profile:
    """No profile."""

    def __init__(self, *args, **kwargs):
        pass

    def enable(self):
        """Nothing."""

    def disable(self):
        """Nothing."""
