#!/usr/bin/env python3
# SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
"""wsec.compile of a torch.nn.Module, and torch.compile(backend=wsec.from_torch.backend), against PyTorch."""

import unittest

import numpy as np
import torch

import wsec
from wsec.from_torch import backend


class Perceptron(torch.nn.Module):
    def __init__(self):
        super().__init__()
        self.linear = torch.nn.Linear(12, 10)
        self.register_buffer("shift", torch.arange(10.0))

    def forward(self, x, scale=None):
        y = torch.relu(self.linear(x)) + self.shift
        y = y if scale is None else y * scale
        return {"y": y, "rows": x.shape[0], "pairs": y.view(x.shape[0], 5, 2), "x": x}


class Encoder(torch.nn.Module):
    def __init__(self):
        super().__init__()
        self.table = torch.nn.Embedding(31, 16)
        self.layer = torch.nn.TransformerEncoderLayer(16, 4, 32, batch_first=True)
        self.head = torch.nn.Linear(16, 31, bias=False)

    def forward(self, ids, mask):
        hidden = self.table(ids)
        return self.head(self.layer(hidden, src_key_padding_mask=mask))


class Counter(torch.nn.Module):
    def forward(self, x, state):
        state.add_(x)
        return state * 2


def ids_and_mask():
    mask = torch.zeros(2, 7, dtype=torch.bool)
    mask[1, 5:] = True
    return torch.randint(0, 31, (2, 7)), mask


class FromTorchTest(unittest.TestCase):
    def setUp(self):
        torch.manual_seed(3)
        torch.compiler.reset()

    def compiled(self, module, **flags):
        return torch.compile(module, backend=backend, options={"mesh": "4x4", **flags})

    def near(self, given, wanted, tolerance=1e-5):
        np.testing.assert_allclose(given.detach().numpy(), wanted.detach().numpy(), rtol=tolerance, atol=tolerance)

    def test_module(self):
        model = Encoder()
        ids, mask = ids_and_mask()
        program = wsec.compile(model, example_inputs=(ids, mask), mesh="4x4")
        self.assertEqual({name: kind.shape for name, kind in program.inputs.items()}, {"ids": (2, 7), "mask": (2, 7)})
        self.assertTrue(model.training)  # as before
        (logits,) = program.run({"ids": ids.numpy(), "mask": mask.numpy()}).values()
        self.near(torch.from_numpy(logits), model.eval()(ids, mask))

    def test_inputs_by_name(self):
        class Difference(torch.nn.Module):
            def forward(self, a, b):
                return a - b

        a, b = torch.rand(4, 4), torch.rand(4, 4)
        program = wsec.compile(Difference(), {"b": b, "a": a}, mesh="2x2")
        (given,) = program.run({"b": b.numpy(), "a": a.numpy()}).values()
        np.testing.assert_array_equal(given, (a - b).numpy())

    def test_session_shape_by_shape(self):
        model = Encoder().eval()
        session = wsec.ShapedSession(model, mesh="4x4")
        for rows in (2, 1, 2):
            ids, mask = (tensor[:rows] for tensor in ids_and_mask())
            (logits,) = session.run({"ids": ids.numpy(), "mask": mask.numpy()}).values()
            self.near(torch.from_numpy(logits), model(ids, mask))
        self.assertEqual(len(session.programs), 2)

    def test_backend_shape_by_shape(self):
        model = Perceptron().eval()
        fast = self.compiled(model)
        with torch.no_grad():
            for rows in (3, 6, 7, 3):
                x = torch.randn(rows, 12)
                given, wanted = fast(x), model(x)
                self.assertEqual(given["rows"], rows)
                for name in ("y", "pairs", "x"):
                    self.near(given[name], wanted[name])

    def test_backend_of_a_transformer(self):
        model = Encoder().eval()
        ids, mask = ids_and_mask()
        with torch.no_grad():
            with self.assertRaisesRegex(Exception, r"set_fastpath_enabled\(False\) before torch.compile"):
                self.compiled(model)(ids, mask)
            torch.backends.mha.set_fastpath_enabled(False)
            self.addCleanup(torch.backends.mha.set_fastpath_enabled, True)
            torch.compiler.reset()
            self.near(self.compiled(model)(ids, mask), model(ids, mask))

    def test_weights_that_change(self):
        model = Perceptron().eval()
        fast, x = self.compiled(model), torch.randn(3, 12)
        with torch.no_grad():
            fast(x)
            model.linear.weight.mul_(-2)
            model.shift.add_(1)
            self.near(fast(x)["y"], model(x)["y"])
            model.linear.weight.data = model.linear.weight.data * 3  # other numbers, by no operation on the weight
            self.near(fast(x)["y"], model(x)["y"])
        with torch.inference_mode():
            self.near(fast(x)["y"], model(x)["y"])

    def test_sixteen_bits(self):
        model = Perceptron().eval().to(torch.bfloat16)
        x = torch.randn(4, 12, dtype=torch.bfloat16)
        with torch.no_grad():
            given = self.compiled(model)(x)["y"]
            self.assertEqual(given.dtype, torch.bfloat16)
            self.near(given.float(), model(x)["y"].float(), 0.05)

    def test_refused(self):
        x = torch.rand(3, 12)
        with self.assertRaisesRegex(wsec.UsageError, "^example_inputs=, the arguments of a call, go with a torch.nn.Mod"):
            wsec.compile(Perceptron(), mesh="2x2")
        with self.assertRaisesRegex(wsec.UsageError, "^example_inputs are the arguments of a call: .* not of type Tensor$"):
            wsec.compile(Perceptron(), example_inputs=x, mesh="2x2")
        with self.assertRaisesRegex(wsec.Error, "computes no gradients: call the model under torch.no_grad"):
            self.compiled(Perceptron())(x)
        with torch.no_grad(), self.assertRaisesRegex(Exception, "writes into its argument 'l_state_'"):
            self.compiled(Counter())(x, torch.zeros(3, 12))


if __name__ == "__main__":
    unittest.main()
