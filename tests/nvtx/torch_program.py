# SPDX-License-Identifier: MIT
"""Fifty steps of a small PyTorch model, instrumented as argv[1] says: by emit_itt, by emit_nvtx,
or, for the expected counts (printed as JSON), by PyTorch's own profiler."""

import collections
import json
import sys

import torch
from torch.autograd import profiler

STEPS = 50


def steps():
    model = torch.nn.Sequential(torch.nn.Linear(64, 128), torch.nn.ReLU(), torch.nn.Linear(128, 8))
    data = torch.randn(32, 64)
    for _ in range(STEPS):
        model(data).sum().backward()


def main():
    if sys.argv[1] == "itt":
        with profiler.emit_itt():
            steps()
    elif sys.argv[1] == "nvtx":
        torch.cuda.synchronize = lambda *_: None  # emit_nvtx begins with it; there may be no GPU
        with profiler.emit_nvtx(record_shapes=True):
            steps()
    else:
        with profiler.profile(use_kineto=True) as told:
            steps()
        names = (event.name() for event in told.kineto_results.events())
        print(json.dumps(collections.Counter(names)))


if __name__ == "__main__":
    main()
