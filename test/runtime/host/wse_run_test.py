#!/usr/bin/env python3
# SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
"""Runs wse-run as people do: flags, files, exit codes and messages.

  wse_run_test.py WSE-RUN WRITE-EXAMPLE-PROGRAM

The program is y = -(x + [0, 1, 2]). Needs nothing but Python's own library.
"""

import json
import os
import struct
import subprocess
import sys
import tempfile
import unittest
import zipfile
from pathlib import Path

WSE_RUN, WRITE_EXAMPLE = sys.argv[1:3]
CHECK_REPORT = Path(__file__).resolve().parents[2] / "check_report.py"


def npy(values, code="<f4", kind="f"):
    header = f"{{'descr': '{code}', 'fortran_order': False, 'shape': ({len(values)},), }}\n"
    return (b"\x93NUMPY\x01\x00" + struct.pack("<H", len(header)) + header.encode()
            + struct.pack(f"<{len(values)}{kind}", *values))


def tensor_proto(name, values):
    raw = struct.pack(f"<{len(values)}f", *values)
    return (bytes([0x08, len(values), 0x10, 1, 0x42, len(name)]) + name.encode()
            + bytes([0x4A, len(raw)]) + raw)


class WseRunTest(unittest.TestCase):
    def setUp(self):
        self.directory = tempfile.TemporaryDirectory()
        self.folder = Path(self.directory.name)
        self.program = self.folder / "p.wafer"
        subprocess.run([WRITE_EXAMPLE, self.program], check=True)
        (self.folder / "x.npy").write_bytes(npy([1, 2, 3]))
        (self.folder / "good.npy").write_bytes(npy([-1, -3, -5]))
        (self.folder / "bad.npy").write_bytes(npy([-1, -3, -5.5]))

    def tearDown(self):
        self.directory.cleanup()

    def run_tool(self, *flags, code=0, program=True):
        command = [WSE_RUN, *([self.program] if program else []), *flags]
        result = subprocess.run(command, cwd=self.folder, capture_output=True, text=True,
                                check=False, timeout=60)
        self.assertEqual(result.returncode, code, result.stderr)
        if code:
            self.assertEqual(result.stderr.count("\n"), 1, result.stderr)
            self.assertTrue(result.stderr.startswith("wse-run: error: "), result.stderr)
        return result.stdout, result.stderr

    def test_run_and_compare(self):
        out, _ = self.run_tool("--input", "x=x.npy", "--output", "y=y.npy",
                               "--compare=y=good.npy", "--report=r.json", "--threads=1")
        self.assertIn("y: max abs error 0, rms 0, largest value 5, ratio 0", out)
        self.assertEqual((self.folder / "y.npy").read_bytes()[-12:],
                         struct.pack("<3f", -1, -3, -5))
        report = json.loads((self.folder / "r.json").read_text())
        self.assertEqual(report["model"], {"name": "negation", "parameters": 3,
                                           "weight_bytes": 12})
        self.assertEqual(report["machine"]["mesh"], [1, 1])
        self.assertGreater(report["cycles"]["total"], 0)
        self.assertEqual(report["weights"]["streamed_bytes"], 12)
        self.assertEqual(report["kernels"][0]["name"], "negate")
        self.assertIn("emulate_s", report["time"])
        subprocess.run([sys.executable, CHECK_REPORT, self.folder / "r.json"], check=True,
                       stdout=subprocess.DEVNULL)

    def test_looking_inside(self):
        folder = self.folder.resolve()
        for engine in ("strips", "wavelet"):
            out, _ = self.run_tool("--input", "x=x.npy", "--quiet", f"--engine={engine}",
                                   "--peek=0,0", "--trace=t.json", "--counters=c.json",
                                   "--counters=c.png")
            self.assertRegex(out, "at the end, cycle [0-9]+\nPE \\(0, 0\\), class 'all'\n"
                                  "  at rest\n")
            self.assertIn("buffer  'sum', 3 x F32 at", out)
            self.assertIn("    [0] 1 3 5\n", out)
            for check, file in (("check_counters.py", "c.json"), ("check_trace.py", "t.json")):
                subprocess.run([sys.executable, CHECK_REPORT.parent / check, folder / file],
                               check=True, stdout=subprocess.DEVNULL)
            counters = json.loads((folder / "c.json").read_text())
            self.assertEqual(counters["maps"]["words_received"]["total"], 6)
            self.assertEqual(counters["streams"][0]["words"], 6)
            self.assertEqual((folder / "c.png").read_bytes()[:4], b"\x89PNG")
        out, _ = self.run_tool("--input", "x=x.npy", "--until=launch:0")
        wavelet, _ = self.run_tool("--input", "x=x.npy", "--until=launch:0", "--engine=wavelet")
        for text in (out, wavelet):
            self.assertRegex(text, "stopped before launch 0 \\(kernel 'negate'\\), cycle [0-9]+\n")
            self.assertIn("  color 0: 4 for the PE at PE (0, 0)\n", text)
        out, _ = self.run_tool("--input", "x=x.npy", "--until=launch:0", "--engine=strips")
        self.assertEqual(out, "stopped before launch 0 (kernel 'negate'), cycle 0\n"
                              "  color 0: words wait for the PE at PE (0, 0)\n")
        _, err = self.run_tool("--input", "x=x.npy", "--peek=0,0:sun", code=2)
        self.assertIn("has no buffer 'sun'; there is 'sum'", err)
        _, err = self.run_tool("--input", "x=x.npy", "--trace=missing/t.json", code=1)
        self.assertIn("IoError: ", err)

    def test_trace_checker_notices(self):
        self.run_tool("--input", "x=x.npy", "--quiet", "--trace=t.json")
        whole = (self.folder / "t.json").read_text()

        def findings(change):
            trace = json.loads(whole)
            phases = {event["ph"]: event for event in trace["traceEvents"]}
            change(trace, phases["X"], phases["M"])
            (self.folder / "t.json").write_text(json.dumps(trace))
            result = subprocess.run(
                [sys.executable, CHECK_REPORT.parent / "check_trace.py", self.folder / "t.json"],
                capture_output=True, text=True, check=False)
            return (result.returncode, result.stdout + result.stderr)

        self.assertEqual(findings(lambda trace, x, m: None)[0], 0)
        for change, finding in (
                (lambda trace, x, m: x.pop("tid"), "event whose 'tid' is missing"),
                (lambda trace, x, m: x.update(ts="1"), "event whose 'ts' is missing or of a wrong"),
                (lambda trace, x, m: x.update(ph="Q"), "event of an unknown phase"),
                (lambda trace, x, m: x.update(args=[]), "event whose 'args' is no object"),
                (lambda trace, x, m: x.update(dur=float("nan")), "NaN is no number of JSON"),
                (lambda trace, x, m: m.update(name="name"), "metadata of an unknown name"),
                (lambda trace, x, m: trace["traceEvents"].append(m), "metadata given twice"),
                (lambda trace, x, m: trace.update(displayTimeUnit="us"), "expected ms or ns")):
            code, text = findings(change)
            self.assertEqual(code, 1)
            self.assertIn(finding, text)

    def test_quiet(self):
        self.assertEqual(self.run_tool("--input", "x=x.npy", "--quiet"), ("", ""))

    def test_archives(self):
        self.run_tool("--input", "x=x.npy", "--outputs", "a.npz", "--quiet")
        self.run_tool("--input", "x=x.npy", "--outputs", "b.npz", "--quiet")
        self.assertEqual((self.folder / "a.npz").read_bytes(),
                         (self.folder / "b.npz").read_bytes())

    def test_archives_of_strangers(self):
        def archive(data, *, damage=None, method=zipfile.ZIP_DEFLATED):
            with zipfile.ZipFile(self.folder / "in.npz", "w", method) as file:
                file.writestr("x.npy", data)
            if damage is not None:
                whole = bytearray((self.folder / "in.npz").read_bytes())
                whole[damage] ^= 0xFF
                (self.folder / "in.npz").write_bytes(whole)

        archive(npy([1, 2, 3]))
        self.run_tool("--inputs", "in.npz", "--compare", "y=good.npy", "--quiet")
        # Refused before it is inflated: the damage behind the header is not noticed.
        large = npy([0] * (1 << 20))
        archive(large, damage=900)
        _, error = self.run_tool("--inputs", "in.npz", code=1)
        self.assertIn("input 'x': expected float32[3], found float32[1048576]", error)
        # A header that says less than is there.
        archive(large.replace(b"(1048576,), }", b"(3,), }      "))
        _, error = self.run_tool("--inputs", "in.npz", code=1)
        self.assertIn("'in.npz:x.npy': float32[3] takes 12 bytes, found 4194304", error)
        archive(npy([1, 2, 3]), damage=45)
        _, error = self.run_tool("--inputs", "in.npz", code=1)
        self.assertRegex(error, "BadTensor: 'in.npz': 'x.npy' cannot be read: .*; write or copy the "
                                "archive again")

    def test_comparison_fails(self):
        _, error = self.run_tool("--input", "x=x.npy", "--compare", "y=bad.npy", code=1)
        self.assertIn("output 'y' differs: 1 of 3 elements", error)
        self.run_tool("--input", "x=x.npy", "--compare", "y=bad.npy", "--atol", "0.6")

    def test_test_data(self):
        folder = self.folder / "test_data_set_0"
        folder.mkdir()
        (folder / "input_0.pb").write_bytes(tensor_proto("x", [1, 2, 3]))
        (folder / "output_0.pb").write_bytes(tensor_proto("other", [-1, -3, -5]))
        out, _ = self.run_tool("--test-data", folder)
        self.assertIn("y: max abs error 0", out)
        (folder / "output_0.pb").write_bytes(tensor_proto("y", [-1, -3, 5]))
        self.run_tool("--test-data", folder, code=1)
        (folder / "output_1.pb").write_bytes(tensor_proto("z", [0]))
        _, error = self.run_tool("--test-data", folder, code=1)
        self.assertIn("output_1.pb': the program has no output 1", error)
        _, error = self.run_tool("--test-data", self.folder, code=1)
        self.assertIn("' has neither input_0.pb nor output_0.pb", error)
        _, error = self.run_tool("--test-data", self.folder / "none", code=1)
        self.assertIn("none' is not a folder", error)

    def test_wrong_tensors(self):
        _, error = self.run_tool(code=1)
        self.assertIn("no tensor is given for 'x' (float32[3])", error)
        (self.folder / "f8.npy").write_bytes(npy([1, 2, 3], "<f8", "d"))
        _, error = self.run_tool("--input", "x=f8.npy", code=1)
        self.assertIn("input 'x': expected float32[3], found float64[3]; convert it to float32",
                      error)
        (self.folder / "two.npy").write_bytes(npy([1, 2]))
        _, error = self.run_tool("--input", "x=two.npy", code=1)
        self.assertIn("expected float32[3], found float32[2]; the shape is fixed when the "
                      "model is compiled", error)
        _, error = self.run_tool("--input", "z=x.npy", code=1)
        self.assertIn("the program has no input 'z'; there is 'x'", error)
        _, error = self.run_tool("--input", "x=x.npy", "--input", "x=x.npy", code=1)
        self.assertIn("input 'x' is given twice", error)
        _, error = self.run_tool("--input", "x=x.npy", "--output", "z=z.npy", code=1)
        self.assertIn("the program has no output 'z'; there is 'y'", error)

    def test_failure_leaves_nothing_behind(self):
        before = sorted(os.listdir(self.folder))
        self.run_tool("--input", "x=x.npy", "--output", "y=y.npy", "--report",
                      "missing/r.json", code=1)
        self.assertEqual(sorted(os.listdir(self.folder)), before)

    @unittest.skipUnless(os.path.exists("/dev/full"), "needs /dev/full")
    def test_full_disk(self):
        (self.folder / "full.npz").symlink_to("/dev/full")
        (self.folder / "full.json").symlink_to("/dev/full")
        (self.folder / "full.png").symlink_to("/dev/full")
        for flags in ("--output=y=/dev/full", "--outputs=full.npz", "--report=full.json",
                      "--trace=full.json", "--counters=full.json", "--counters=full.png"):
            _, error = self.run_tool("--input", "x=x.npy", flags, "--quiet", code=1)
            self.assertRegex(error, "IoError: cannot write '.*full.*': No space left on device")

    def test_nothing_is_left_by_a_broken_pipe(self):
        before = set(os.listdir(self.folder))
        for _ in range(4):
            reading, writing = os.pipe()
            os.close(reading)
            result = subprocess.run(
                [WSE_RUN, self.program, "--input=x=x.npy", "--output=y=y.npy", "--trace=t.json",
                 "--counters=-", "--counters=c.json"], cwd=self.folder, stdout=writing,
                restore_signals=True, check=False)
            os.close(writing)
            self.assertNotEqual(result.returncode, 0)
            self.assertLessEqual(set(os.listdir(self.folder)) - before,
                                 {"y.npy", "t.json", "c.json"})

    def test_damaged_program(self):
        self.program.write_bytes(self.program.read_bytes()[:300])
        _, error = self.run_tool("--input", "x=x.npy", code=1)
        self.assertRegex(error, "BadProgram: .* is cut off: its program has [0-9]+ bytes, "
                         "[0-9]+ are in the file; copy it again, or compile the model again")
        self.program.write_text("module {\n  // a program\n}\n")
        _, error = self.run_tool("--input", "x=x.npy", code=1)
        self.assertIn("it does not start with WAFER; wsec compiles .onnx and .mlir files to "
                      ".wafer files", error)

    def test_changed_weights(self):
        data = bytearray(self.program.read_bytes())
        data[-1] ^= 1
        self.program.write_bytes(data)
        _, error = self.run_tool("--input", "x=x.npy", code=1)
        self.assertIn("WeightFileChanged: the bundled weight data", error)

    def test_repeated_runs_are_replayed(self):
        self.run_tool("--input", "x=x.npy", "--output", "y=once.npy", "--quiet")
        out, _ = self.run_tool("--input", "x=x.npy", "--output", "y=y.npy", "--repeat=3",
                               "--report=r.json")
        self.assertIn("the shortest of 3 runs", out)
        time = json.loads((self.folder / "r.json").read_text())["time"]
        self.assertTrue(time["replayed"])
        self.assertEqual(time["runs"], 3)
        self.assertLessEqual(time["emulate_s"], time["first_emulate_s"])
        self.assertEqual((self.folder / "y.npy").read_bytes(),
                         (self.folder / "once.npy").read_bytes())

    def test_usage(self):
        for flags, message in (
                (["--inptus=x"], "there is no flag --inptus; nearest: '--input', '--inputs',"),
                (["--input"], "--input wants a value"),
                (["--input="], "--input wants a value"),
                (["--input", "x"], "--input wants NAME=FILE, found 'x'"),
                (["--threads=0"], "--threads wants a number from 1 to 1024, found '0'"),
                (["--repeat=0"], "--repeat wants a number from 1 to 1000000, found '0'"),
                (["--atol=x"], "--atol wants a number of at least 0, found 'x'"),
                (["--quiet=maybe"], "--quiet does not take the value 'maybe'"),
                (["--atol", "-1"], "--atol wants a number of at least 0, found '-1'"),
                (["--threads=1025"], "--threads wants a number from 1 to 1024, found '1025'"),
                (["--engine=steam"], "--engine wants burst, strips or wavelet, found 'steam'"),
                (["second.wafer"], "one program at a time: '")):
            self.assertIn(message, self.run_tool(*flags, code=2)[1])
        self.assertIn("no program is given", self.run_tool(code=2, program=False)[1])
        self.run_tool("--input=x=x.npy", "--threads", "2", "--quiet=false", "--repeat", "2")
        self.assertRegex(self.run_tool("--version", program=False)[0], r"^wse-run \d")

    def test_names_cannot_steer_a_terminal(self):
        _, error = self.run_tool("--input", "\x1b[31m\n\u009b=x.npy", code=1)
        self.assertIn(r"the program has no input '\033[31m\n\302\233'; there is 'x'", error)
        _, error = self.run_tool("--input", "long" * 5000 + "=x.npy", code=1)
        self.assertIn("longlong ... longlong", error)
        self.assertLess(len(error), 400)
        self.program.write_bytes(self.program.read_bytes().replace(b"negation\0", b"neg\x1b[7m.\0"))
        out, _ = self.run_tool("--input", "x=x.npy")
        self.assertIn(r"neg\033[7m. on test", out)

    def test_help(self):
        text = self.run_tool("--help", program=False)[0]
        self.assertTrue(text.startswith("usage: wse-run PROGRAM.wafer [flags]\n"))
        self.assertLessEqual(max(map(len, text.split("\n"))), 80)
        for flag in ("input", "inputs", "output", "outputs", "compare", "test-data", "atol", "rtol",
                     "engine", "threads", "repeat", "report", "quiet", "trace", "counters",
                     "metric", "until", "break", "peek", "help", "version"):
            self.assertRegex(text, f"\n  --{flag} ")
        for default in ("0.0001", "0.001", "burst", "1"):
            self.assertRegex(text, rf"\(default:\s+{default}\)")
        self.assertNotIn("(default: )", text)

    @unittest.skipUnless(os.path.exists("/dev/full"), "needs /dev/full")
    def test_full_standard_output(self):
        for flags in (["--help"], ["--version"], [self.program, "--input", "x=x.npy"],
                      [self.program, "--input", "x=x.npy", "--counters=-", "--quiet"]):
            with open("/dev/full", "w") as full:
                result = subprocess.run([WSE_RUN, *flags], cwd=self.folder, stdout=full,
                                        stderr=subprocess.PIPE, text=True, check=False)
            self.assertEqual((result.returncode, result.stderr),
                             (1, "wse-run: error: cannot write to standard output: No space left "
                                 "on device\n"))

    def test_wavelet_engine(self):
        self.run_tool("--input", "x=x.npy", "--output", "y=burst.npy", "--quiet")
        out, _ = self.run_tool("--input", "x=x.npy", "--output", "y=y.npy",
                               "--engine=wavelet")
        self.assertIn(", counted by wavelet\n", out)
        self.assertEqual((self.folder / "y.npy").read_bytes(),
                         (self.folder / "burst.npy").read_bytes())

    def test_report_names_the_engine(self):
        """burst is never what counted: streams on small meshes, replayed or not."""
        for flags, engine in (([], "wavelet"), (["--repeat=2"], "wavelet"),
                              (["--engine=strips"], "strips")):
            out, _ = self.run_tool("--input", "x=x.npy", "--report=r.json", *flags)
            self.assertIn(f", counted by {engine}\n", out)
            report = json.loads((self.folder / "r.json").read_text())
            self.assertEqual(report["cycles"]["engine"], engine)


if __name__ == "__main__":
    unittest.main(argv=sys.argv[:1])
