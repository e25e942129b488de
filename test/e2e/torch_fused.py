# SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
"""What onnxruntime's fused operators (com.microsoft) are, for torch_graph.py."""

import torch

F = torch.nn.functional


def activated(node, x):
    """By the attribute that a fused operator has."""
    return {b"": lambda y: y, b"Relu": torch.relu, b"Tanh": torch.tanh, b"Sigmoid": torch.sigmoid}[node.get("activation", b"")](x)


def fused_matmul(node, operand):
    a, b = operand(0), operand(1)
    assert not node.get("transBatchA") and not node.get("transBatchB")
    a, b = a.mT if node.get("transA") else a, b.mT if node.get("transB") else b
    return activated(node, node.get("alpha", 1.0) * (a @ b))


def fused_gemm(node, operand):
    a, b = operand(0), operand(1)
    a, b = a.T if node.get("transA") else a, b.T if node.get("transB") else b
    y = node.get("alpha", 1.0) * (a @ b)
    return activated(node, y if operand(2) is None else y + node.get("beta", 1.0) * operand(2))


def biased(function):
    def evaluate(node, operand):
        return function(operand(0) if operand(1) is None else operand(0) + operand(1))
    return evaluate


def skip_layer_norm(node, operand):
    """And the sum that is normalized, as the fourth result."""
    x = operand(0) + operand(1)
    if operand(4) is not None:
        x = x + operand(4)
    return F.layer_norm(x, x.shape[-1:], operand(2), operand(3), node.get("epsilon", 1e-12)), None, None, x


def skip_rms_norm(node, operand):
    x = operand(0) + operand(1)
    if operand(3) is not None:
        x = x + operand(3)
    return x * torch.rsqrt((x * x).mean(-1, keepdim=True) + node.get("epsilon", 1e-12)) * operand(2), None, None, x


def embed_layer_norm(node, operand):
    """Rows of words, positions and segments; the second result counts a mask's tokens."""
    ids = operand(0)
    places = torch.arange(ids.shape[1]).expand_as(ids) if operand(8) is None else operand(8).expand_as(ids)
    x = operand(2)[ids] + operand(3)[places]
    if operand(4) is not None:
        x = x + operand(4)[torch.zeros_like(ids) if operand(1) is None else operand(1)]
    mask = operand(7)
    return (F.layer_norm(x, x.shape[-1:], operand(5), operand(6), node.get("epsilon", 1e-12)),
            torch.zeros(len(ids), dtype=torch.int64) if mask is None else mask.sum(1), x)


def attention(node, operand):
    """Of one product for queries, keys and values; the mask has a 1 for each key that is there, or their number."""
    x, mask = operand(0) @ operand(1) + operand(2), operand(3)
    q, k, v = (part.unflatten(-1, (node["num_heads"], -1)).transpose(1, 2) for part in x.chunk(3, -1))
    allowed = None
    if mask is not None:
        if mask.dim() == 1 and len(mask) == len(x):
            mask = torch.arange(x.shape[1]) < mask[:, None]
        assert mask.dim() == 2
        allowed = (mask != 0)[:, None, None]
    if node.get("unidirectional"):
        causal = torch.ones(q.shape[2], q.shape[2], dtype=torch.bool).tril()
        allowed = causal if allowed is None else allowed & causal
    y = F.scaled_dot_product_attention(q, k, v, allowed, scale=node.get("scale") or None)
    return y.transpose(1, 2).flatten(-2)


RULES = {"Attention": attention, "FusedMatMul": fused_matmul, "FusedGemm": fused_gemm,
         "BiasGelu": biased(F.gelu), "FastGelu": biased(lambda x: F.gelu(x, approximate="tanh")),
         "QuickGelu": lambda n, o: o(0) * torch.sigmoid(n.get("alpha", 1.702) * o(0)),
         "SkipLayerNormalization": skip_layer_norm, "SkipSimplifiedLayerNormalization": skip_rms_norm,
         "EmbedLayerNormalization": embed_layer_norm}
