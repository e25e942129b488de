#!/usr/bin/env python3
# SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
"""Writes a small model with a test_data_set_0 as ONNX lays it out.

  write_test_data.py NAME FOLDER [--wrong]      --wrong: outputs off by one
"""

import sys
from pathlib import Path

import numpy as np
import onnxruntime
from onnx import numpy_helper

import small_models

name, folder = sys.argv[1], Path(sys.argv[2])
data = folder / "test_data_set_0"
data.mkdir(parents=True, exist_ok=True)
path, inputs = small_models.obtain(name, folder)
session = onnxruntime.InferenceSession(str(path))
outputs = session.run(None, inputs)
path.rename(folder / "model.onnx")
for i, (key, value) in enumerate(inputs.items()):
    (data / f"input_{i}.pb").write_bytes(numpy_helper.from_array(value, key).SerializeToString())
for i, (info, value) in enumerate(zip(session.get_outputs(), outputs)):
    value = value + np.float32(1) if "--wrong" in sys.argv else value
    (data / f"output_{i}.pb").write_bytes(
        numpy_helper.from_array(value, info.name).SerializeToString())
