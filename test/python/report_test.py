#!/usr/bin/env python3
# SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
"""wsec.Report: fields, the schema, and what a notebook shows."""

import copy
import unittest
from html.parser import HTMLParser

from jsonschema import Draft202012Validator
from models import MLP, perceptron, rows

import wsec


class Tags(HTMLParser):
    """Checks that tags close in order; collects text and names of tags."""

    def __init__(self, text):
        super().__init__()
        self.open, self.seen, self.text = [], set(), []
        self.feed(text)
        assert not self.open, self.open

    def handle_starttag(self, tag, attributes):
        self.open.append(tag)
        self.seen.add(tag)

    def handle_startendtag(self, tag, attributes):
        self.seen.add(tag)

    def handle_endtag(self, tag):
        assert self.open.pop() == tag, tag

    def handle_data(self, data):
        self.text.append(data)


class ReportTest(unittest.TestCase):
    @classmethod
    def setUpClass(cls):
        model, _ = perceptron(MLP.replace("[fc1]", "[fc1_script]"))
        for node in model.graph.node:
            node.name = node.name.replace("_script", "<script>&amp;")
        cls.program = wsec.compile(model, mesh="4x4", dims={"rows": 6})
        cls.report = cls.program.report

    def test_fields(self):
        report = self.report
        self.assertEqual(report.model.name, "mlp")
        self.assertEqual(report.kernels[0].onnx_nodes, ["fc1<script>&amp;"])
        self.assertEqual(report["cycles"]["total"], report.cycles.total)
        self.assertEqual(sum(k.cycles for k in report.kernels), sum(report.cycles.per_kernel))
        self.assertEqual(report.machine, {"name": "wse2", "mesh": [4, 4], "clock_ghz": 0.85})
        self.assertIn("clock_ghz", dir(report.machine))
        self.assertEqual(report.to_dict()["machine"]["mesh"], [4, 4])
        with self.assertRaisesRegex(AttributeError, "no 'clock' here, only name, mesh, clock_ghz"):
            report.machine.clock
        copied = copy.deepcopy(report)
        self.assertEqual(copied, report)

    def test_text(self):
        self.assertRegex(str(self.report), r"^mlp on wse2, 4x4 PEs at 0.85 GHz\n(.|\n)*compiled in")
        self.assertEqual(repr(self.report),
                         f"<Report: mlp on wse2, 4x4 PEs at 0.85 GHz, {self.report.cycles.total:,.0f} cycles>")

    def test_schema(self):
        Draft202012Validator.check_schema(wsec.schema())
        good = self.report.to_dict()
        for change, said in (
                (lambda r: r.pop("pes"), "report: 'pes' is a required property"),
                (lambda r: r.update(more=1), "report: Additional properties are not allowed .'more' was unexpected"),
                (lambda r: r["cycles"].update(total="many"), "report.cycles.total: 'many' is not of type 'number'"),
                (lambda r: r["sram"].update(peak_bytes=-1), "report.sram.peak_bytes: -1 is less than the minimum of 0"),
                (lambda r: r["machine"].update(mesh=[1]), "report.machine.mesh: .1. is too short"),
                (lambda r: r["kernels"][0].update(bound="luck"), "report.kernels.0..bound: 'luck' is not one of"),
                (lambda r: r.update(time={}), "report.time: {} is not valid under any of the given schemas")):
            bad = copy.deepcopy(good)
            change(bad)
            with self.assertRaisesRegex(wsec.Error, said):
                wsec.Report(bad)

    def test_html(self):
        for report in (self.report, self.program.run({"x": rows(6)}).report):
            shown = Tags(report._repr_html_())
            text = " ".join(shown.text)
            self.assertIn("mlp on wse2, 4x4 PEs at 0.85 GHz", text)
            self.assertIn("fc1<script>&amp;", text)  # as text
            self.assertNotIn("script", shown.seen)
            self.assertIn("matmul", text)
            self.assertIn(f"{report.cycles.total:,.0f} cycles", text)
            # The map is of the compiler's report.
            self.assertEqual("svg" in shown.seen, report is self.report)
        self.assertIn("4x4 PEs of wse2", self.report.placement)
        self.assertIn('viewBox="0 0 ', self.report.placement)  # so that a narrow page shrinks it
        more = {"notes": ["less <i>than</i> asked"], "recognized": {"attention": 2, "norm": 0, "moved_by_host": []}}
        shown = Tags(wsec.Report({**self.report.to_dict(), **more})._repr_html_())
        self.assertIn("less <i>than</i> asked", shown.text)
        self.assertIn("2 attention", shown.text)
        self.assertEqual(self.program._repr_html_(), self.report._repr_html_())

    def test_stages(self):
        report = copy.deepcopy(self.report.to_dict())
        self.assertNotIn("pipeline", report)
        report["pipeline"] = {
            "predicted_cycles_per_sample": 5000, "predicted_samples_per_second": 170000,
            "predicted_first_latency_cycles": 7000, "predicted_load_cycles": 0,
            "stages": [{"region": [0, 0, 2, 4], "predicted_cycles": 5000,
                        "predicted_samples_per_second": 170000, "predicted_latency_cycles": 6123}]}
        text = " ".join(Tags(wsec.Report(report)._repr_html_()).text)
        for shown in ("(0,0) to (2,4)", "5,000", "170,000", "6,123"):
            self.assertIn(shown, text)


if __name__ == "__main__":
    unittest.main()
