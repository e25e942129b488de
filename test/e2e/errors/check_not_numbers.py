#!/usr/bin/env python3
# SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
"""check_not_numbers.py MODEL.onnx IN.npz OUT.npz: NaNs and infinities are
where onnxruntime has them, and all other numbers agree."""

import sys

import numpy as np
import onnxruntime

session = onnxruntime.InferenceSession(sys.argv[1])
names = [output.name for output in session.get_outputs()]
for name, expected in zip(names, session.run(None, dict(np.load(sys.argv[2])))):
    actual = np.load(sys.argv[3])[name]
    assert np.array_equal(np.isnan(actual), np.isnan(expected)), f"{name}: NaNs elsewhere"
    np.testing.assert_allclose(actual, expected, rtol=1e-3, atol=1e-4)
    count = int(np.isnan(expected).sum())
    print(f"{name}: {count} of {expected.size} elements are NaN, as expected")
