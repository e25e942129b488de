# SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
"""Reports of wsec and wse-run as objects, and how a notebook shows them."""

from __future__ import annotations

import functools
import json
from collections.abc import Iterator, Mapping
from html import escape
from pathlib import Path
from typing import Any

from wsec.tools import Error


@functools.cache
def schema() -> dict:
    """The JSON schema of reports; its descriptions give the unit of each number."""
    package = Path(__file__).resolve().parent
    installed = package / "report.schema.json"
    in_tree = package.parents[1] / "runtime" / "host" / "report.schema.json"
    return json.loads((installed if installed.exists() else in_tree).read_text())


def findings(value: Any, schema: dict, where: str = "report") -> list[str]:
    """What is wrong with `value`, as sentences that name the field."""
    from jsonschema import Draft202012Validator  # here: it takes as long to import as wsec

    return [f"{where}{error.json_path[1:]}: {error.message}"
            for error in sorted(Draft202012Validator(schema).iter_errors(value), key=lambda error: error.json_path)]


class Section(Mapping):
    """An object of a report: its fields are attributes, and items."""

    def __init__(self, fields: dict[str, Any]) -> None:
        self._fields = fields

    def __getitem__(self, name: str) -> Any:
        return _wrapped(self._fields[name])

    def __getattr__(self, name: str) -> Any:
        if name.startswith("_"):  # before there are fields, when it is copied
            raise AttributeError(name)
        if name not in self._fields:
            raise AttributeError(f"there is no '{name}' here, only {', '.join(self._fields)}")
        return self[name]

    def __iter__(self) -> Iterator[str]:
        return iter(self._fields)

    def __len__(self) -> int:
        return len(self._fields)

    def __dir__(self) -> list[str]:
        return [*super().__dir__(), *self._fields]

    def __repr__(self) -> str:
        return repr(self._fields)

    def to_dict(self) -> dict[str, Any]:
        """The JSON, as dictionaries and lists of Python."""
        return self._fields


def _wrapped(value: Any) -> Any:
    if isinstance(value, dict):
        return Section(value)
    return [_wrapped(item) for item in value] if isinstance(value, list) else value


class Report(Section):
    """What wsec predicts, or wse-run measured: `model`, `machine`, `cycles`, `pes`, `sram`,
    `weights`, `kernels`, `time` and more, named as in the JSON of --report. Cycles are of the
    wafer, sizes are bytes, seconds under `time` are of this computer; `wsec.schema()`
    says the rest. `str(report)` is the tool's screen, and a notebook shows a table of kernels and,
    where `placement` (SVG) is known, the map of the mesh.

        report.cycles.total, report.kernels[0].onnx_nodes, report["sram"]["peak_bytes"]
    """

    def __init__(self, fields: dict[str, Any], text: str = "", placement: str | None = None) -> None:
        """Raises Error if `fields` is not as the schema says: tools and package are not of one version."""
        wrong = findings(fields, schema())
        if wrong:
            raise Error("not a report that this package knows; are the tools of another version? " + "; ".join(wrong))
        super().__init__(fields)
        self._text, self.placement = text.rstrip(), placement

    def __str__(self) -> str:
        return self._text or repr(self)

    def __repr__(self) -> str:
        return f"<Report: {self._title()}, {self.cycles.total:,.0f} cycles>"

    def _repr_html_(self) -> str:
        predicted = "engine" not in self.cycles
        rows = [
            ("parameters", f"{self.model.parameters:,}, {_bytes(self.model.weight_bytes)}"),
            ("streamed", f"{_bytes(self.weights.streamed_bytes)} of weights per run"
             + (f", {_bytes(self.weights.loaded_bytes)} once" if "loaded_bytes" in self.weights else "")),
            ("precision", self._precision()),
            ("PEs", f"{self.pes.used:,} of {self.pes.available:,}"),
            ("SRAM peak", f"{self.sram.peak_bytes:,} of {self.sram.limit_bytes:,} bytes"
             + (f" ({self.sram.owner})" if self.sram.owner else "")),
            ("predicted" if predicted else "measured", f"{self.cycles.total:,.0f} cycles, {self._seconds() * 1e6:,.1f} µs"
             + ("" if predicted else f", counted by {self.cycles.engine}")),
        ]
        if "tokens" in self:
            rows.append(("tokens", f"{self.tokens.per_run:,} per run, {self.tokens.per_second:,.0f} per second"))
        found = [f"{count} {what}" for what, count in self.get("recognized", {}).items() if isinstance(count, int) and count]
        rows += [("recognized", ", ".join(found))] if found else []
        rows += [("note", note) for note in self.get("notes", ())]
        stages = _table(["stage", *("predicted " * predicted + name for name in
                                    ("cycles of a sample", "samples per second", "latency, cycles"))],
                        self._stages(predicted)) if "pipeline" in self else ""
        return (f"<b>{escape(self._title())}</b>" + _table([], rows) + stages
                + _table(["kernel", "count", "cycles", "share", "vs bound", "limited by"], self._kinds())
                + f"<details><summary>{len(self.kernels)} kernels</summary>"
                + _table(["kernel", "kind", "ONNX nodes", "region", "cycles", "bound, cycles"], self._each())
                + "</details>" + (self.placement or ""))

    def _title(self) -> str:
        width, height = self.machine.mesh
        return f"{self.model.name} on {self.machine.name}, {width}x{height} PEs at {self.machine.clock_ghz} GHz"

    def _precision(self) -> str:
        its = self.precision
        text = f"{its.format}, sums in {its.accumulate}"
        if its.elements_per_word > 1:
            text += f"; {_bytes(its.streamed_bytes.in_f32)} of weights would stream in f32"
        if "error" in its:
            text += f"; error {its.error.max:.2g} of the largest value, rms {its.error.rms:.2g}"
        return text

    def _seconds(self) -> float:
        """Of a run, at the clock of the machine."""
        return self.cycles.total / (self.machine.clock_ghz * 1e9) if self.machine.clock_ghz else 0.0

    def _kinds(self) -> list[tuple[str, ...]]:
        """Kernels of one kind together, the longest first."""
        kinds: dict[str, list[Section]] = {}
        for kernel in self.kernels:
            kinds.setdefault(kernel.kind, []).append(kernel)
        rows = []
        for kind, kernels in kinds.items():
            cycles, bound = (sum(kernel[name] for kernel in kernels) for name in ("cycles", "lower_bound_cycles"))
            longest = max(kernels, key=lambda kernel: kernel.cycles)
            rows.append((cycles, (kind, str(len(kernels)), f"{cycles:,.0f}", f"{cycles / (self.cycles.total or 1):.1%}",
                                  f"{cycles / bound:.2f} x" if bound else "", longest.bound)))
        return [row for _, row in sorted(rows, key=lambda pair: -pair[0])]

    def _stages(self, predicted: bool) -> list[tuple[str, ...]]:
        return [("({},{}) to ({},{})".format(*stage.region),
                 *(f"{stage['predicted_' * predicted + name]:,.0f}"
                   for name in ("cycles", "samples_per_second", "latency_cycles"))) for stage in self.pipeline.stages]

    def _each(self) -> list[tuple[str, ...]]:
        return [(kernel.name, kernel.kind, ", ".join(kernel.onnx_nodes), "({},{}) to ({},{})".format(*kernel.region),
                 f"{kernel.cycles:,.0f}", f"{kernel.lower_bound_cycles:,.0f}") for kernel in self.kernels]


def _bytes(size: float) -> str:
    for unit in ("bytes", "kB", "MB", "GB"):
        if size < 1000:
            break
        size /= 1000
    else:
        unit = "TB"
    return f"{size:.3g} {unit}"


def _table(head: list[str], rows: list[tuple[str, ...]]) -> str:
    """An HTML table; all text is escaped."""
    titles = "".join(f"<th>{escape(word)}</th>" for word in head)
    lines = ["<tr>" + "".join(f"<td>{escape(word)}</td>" for word in row) + "</tr>" for row in rows]
    return "<table>" + (f"<tr>{titles}</tr>" if head else "") + "".join(lines) + "</table>"
