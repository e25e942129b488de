# SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
"""What a table of published numbers is made of, and the list of all tables."""

import sys
from dataclasses import dataclass

import numpy as np


@dataclass(frozen=True)
class Row:
    """One number. bar: the error it must stay within, None: any; how: "run", or
    what was run in its place and how the number follows from it; why: the
    reason where it is off. ours None: it was not run, and why says why."""

    what: str
    published: float
    ours: float
    bar: float = 0.05
    how: str = "run"
    why: str = ""

    @property
    def error(self):
        return None if self.ours is None else self.ours / self.published - 1

    @property
    def good(self):
        return self.bar is None or self.ours is None or abs(self.error) <= self.bar


@dataclass(frozen=True)
class Table:
    name: str
    title: str
    source: str
    run: object
    note: str = ""


TABLES = {}


def table(name, title, source, note=""):
    def register(function):
        TABLES[name] = Table(name, title, source, function, note)
        return function
    return register


def check(run, expected, tolerance=0.0):
    got = run.outputs["y"].astype(np.float64)
    scale = max(1.0, np.abs(expected).max())
    error = np.abs(got.reshape(expected.shape) - expected).max() / scale
    if not error <= tolerance:
        sys.exit(f"error: values differ by {error:.3g} of the largest")
