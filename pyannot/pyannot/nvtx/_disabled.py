# SPDX-License-Identifier: MIT
"""Functions without effect, for NVTX_DISABLE in the environment. Domains are unaffected."""

import contextlib


class annotate(contextlib.nullcontext):
    """No range."""

    def __init__(self, *args, **kwargs):
        super().__init__()

    def __call__(self, func):
        return func


def mark(message=None, color=None, domain=None, category=None, payload=None):
    """No effect."""


def push_range(message=None, color=None, domain=None, category=None, payload=None):
    """No effect."""


def pop_range(domain=None):
    """No effect."""


def start_range(message=None, color=None, domain=None, category=None, payload=None):
    """Returns None, which end_range ignores."""


def end_range(range_id):
    """No effect."""


class Profile:
    """No profile."""

    def __init__(self, *args, **kwargs):
        pass

    def enable(self):
        """No effect."""

    def disable(self):
        """No effect."""
