#!/usr/bin/env python3
# SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
"""What bench.py makes of measurements: which are slower than the table, and what it says of them. It measures nothing."""

import json
import unittest
from types import SimpleNamespace

import bench
import rows

KEPT = {"ratio": 2.0, "ours": 1.0, "commit": "0123456"}


def row(*ours, against=1.0, rounds=1):
    """Takes so long in each round; the reference always the same."""
    left = iter(ours)
    return rows.Row("some-row", "a model", "onnxruntime", lambda _: (lambda: next(left), lambda: against), 1.5,
                    rounds=rounds)


def check(its, table=None):
    host = SimpleNamespace(most=60)
    return bench.run(its, host, {"rows": {"some-row": KEPT} if table is None else table}, True)


class CheckTest(unittest.TestCase):
    def test_one_and_a_half_times_its_row_is_allowed(self):
        found, wrong = check(row(3.0))
        self.assertEqual((found.ratio, wrong), (3.0, None))

    def test_slower_is_an_error_that_says_what_to_do(self):
        _, wrong = check(row(3.1, 3.1, 3.1))
        for part in ("some-row", "3.1 x onnxruntime", "2 x", "3 x", "0123456", "git bisect", "--update some-row"):
            self.assertIn(part, wrong)

    def test_a_busy_host_has_two_more_tries(self):
        found, wrong = check(row(9.0, 9.0, 2.5))
        self.assertEqual((found.ratio, wrong), (2.5, None))

    def test_ratios_are_of_the_same_round(self):
        """One round of five in which the host was busy moves nothing."""
        found, wrong = check(row(2.0, 2.0, 20.0, 2.0, 2.0, rounds=5))
        self.assertEqual((found.ratio, wrong), (2.0, None))

    def test_a_row_that_is_not_in_the_table_is_an_error(self):
        _, wrong = check(row(1.0), table={})
        self.assertIn("--update some-row", wrong)


class TableTest(unittest.TestCase):
    def test_it_has_every_row_of_a_quick_check_and_no_other_than_rows(self):
        kept = json.loads(bench.TABLE.read_text())["rows"].keys()
        self.assertLessEqual({its.name for its in rows.ROWS if its.quick}, kept)
        self.assertLessEqual(kept, {its.name for its in rows.ROWS})

    def test_the_readme_shows_it(self):
        table = json.loads(bench.TABLE.read_text())
        self.assertIn(bench.BEGIN + bench.written(table) + bench.END, bench.README.read_text())


if __name__ == "__main__":
    unittest.main()
