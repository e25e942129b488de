# SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
"""What a table of published numbers is made of, and the list of all tables."""

import sys
from dataclasses import dataclass

import numpy as np


@dataclass(frozen=True)
class Row:
    """One number. bar: the error it must stay within; how: "run", or
    what was run in its place and how the number follows from it; why: the
    reason where it is off. ours None: it was not run, and why says why. exact:
    what the structure of the program says it should take, if that is known.
    bound: the published number holds more than ours, which must not be above it by
    more than the bar."""

    what: str
    published: float
    ours: float
    bar: float = 0.05
    how: str = "run"
    why: str = ""
    exact: float = None
    bound: bool = False

    @property
    def error(self):
        return None if self.ours is None else self.ours / self.published - 1

    @property
    def good(self):
        if self.ours is None:
            return True
        if self.bound:
            return self.error <= self.bar
        return abs(self.error) <= self.bar and (
            self.exact is None or abs(self.ours - self.exact) <= 2)


# What a table is about, by the functions that make its rows.
ABOUT = {
    "one": "What one PE does by itself: instructions, loops, products of matrices that it holds.",
    "fabric": "Words between PEs: messages, multicasts, sums along rows and over squares.",
    "whole": "Whole programs, on a real wafer: a layer of a language model, products of large matrices, a "
             "solver.",
    "bounds": "Example programs with the copies of the host, which we do not count.",
}


@dataclass(frozen=True)
class Table:
    name: str
    title: str
    source: str
    run: object
    note: str
    about: str


TABLES = {}


def table(name, title, source, note="", about="one"):
    """Registers a function that yields rows. about: one of ABOUT."""
    def register(function):
        TABLES[name] = Table(name, title, source, function, note, about)
        return function
    return register


# What is run without --slow.
MOST_STEPS = 2.8e8
MINUTES = "takes long: --slow"


def affordable(options, pes, cycles):
    return options.slow or pes * cycles <= MOST_STEPS


def check(run, expected, tolerance=0.0):
    got = run.outputs["y"].astype(np.float64)
    scale = max(1.0, np.abs(expected).max())
    error = np.abs(got.reshape(expected.shape) - expected).max() / scale
    if not error <= tolerance:
        sys.exit(f"error: values differ by {error:.3g} of the largest")
