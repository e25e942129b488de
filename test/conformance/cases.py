# SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
"""ONNX's own node cases, as the `onnx` package generates them, and the groups
that we count them in."""

import contextlib
import io
import warnings
from dataclasses import dataclass

# Operands that say how large a result is or along which axes it is computed.
# Where they are inputs of a case, they are bound at compile time; data never is.
BOUND_OPERANDS = {
    "AffineGrid": [1], "BlackmanWindow": [0], "CenterCropPad": [1], "Col2Im": [1, 2],
    "ConstantOfShape": [0], "CumProd": [1], "CumSum": [1], "DFT": [1, 2], "Dropout": [1, 2],
    "Expand": [1], "HammingWindow": [0], "HannWindow": [0], "MaxUnpool": [2],
    "MelWeightMatrix": [0, 1, 2, 3, 4], "NonMaxSuppression": [2, 3, 4], "OneHot": [1],
    "Pad": [1, 3], "Range": [0, 1, 2], "Reshape": [1], "Resize": [1, 2, 3], "STFT": [1, 3],
    "Slice": [1, 2, 3, 4], "Split": [1], "SplitToSequence": [1], "Squeeze": [1], "Tile": [1],
    "TopK": [1], "Trilu": [1], "Unsqueeze": [1], "Upsample": [1],
    **{f"Reduce{kind}": [1] for kind in ("L1", "L2", "LogSum", "LogSumExp", "Max", "Mean", "Min",
                                         "Prod", "Sum", "SumSquare")},
}

# The transformer core: cases of these operators only.
CORE = set("""
MatMul Gemm Add Sub Mul Div Softmax LayerNormalization RMSNormalization Attention
RotaryEmbedding Gelu Swish Sigmoid Tanh Erf Relu Gather SimplifiedLayerNormalization
Constant ConstantOfShape Reshape Transpose Squeeze Unsqueeze Flatten Concat Split Slice
Expand Tile Pad Cast Identity Shape Range Where Equal Greater Less GreaterOrEqual
LessOrEqual And Or Not Trilu ReduceMean ReduceSum ReduceMax Pow Sqrt Reciprocal Neg Abs
Cos Sin Exp Log Min Max Clip
""".split())

# No transformer contains these: recurrences, images and detection, signals,
# sequences and optionals, strings, losses and optimizers, random numbers.
FOREIGN = set("""
RNN LSTM GRU Scan
AffineGrid CenterCropPad Col2Im ConvTranspose DeformConv Det GridSample ImageDecoder LRN
LpPool MaxUnpool NonMaxSuppression Resize RoiAlign Upsample
BlackmanWindow DFT HammingWindow HannWindow MelWeightMatrix STFT
Optional OptionalGetElement OptionalHasElement SequenceAt SequenceConstruct SequenceEmpty
SequenceErase SequenceInsert SequenceLength SequenceMap SplitToSequence ConcatFromSequence
RegexFullMatch StringConcat StringNormalizer StringSplit TfIdfVectorizer Unique LabelEncoder
ArrayFeatureExtractor Binarizer TreeEnsemble
NegativeLogLikelihoodLoss SoftmaxCrossEntropyLoss Adagrad Adam Momentum
Bernoulli RandomUniformLike
""".split())


@dataclass(frozen=True)
class Case:
    name: str
    model: object      # ModelProto
    inputs: dict       # name -> what the case feeds
    expected: dict     # name -> what it expects
    operators: frozenset
    opset: int
    rtol: float
    atol: float

    def groups(self):
        """Names of the groups that the case belongs to."""
        yield "all"
        if not self.operators & FOREIGN:
            yield "without an operator that no transformer contains"
        if self.operators <= CORE:
            yield "the transformer core"

    def bound(self):
        """Inputs that are constants to us."""
        names = set()
        for node in nodes_of(self.model.graph):
            for index in BOUND_OPERANDS.get(node.op_type, []):
                if index < len(node.input):
                    names.add(node.input[index])
        return [name for name in self.inputs if name in names]


GROUPS = ["the transformer core", "without an operator that no transformer contains", "all"]


def nodes_of(graph):
    for node in graph.node:
        yield node
        for attribute in node.attribute:
            for inner in [attribute.g] if attribute.HasField("g") else attribute.graphs:
                yield from nodes_of(inner)


def value_of(given):
    """Tensors are arrays or messages; sequences and optional values stay."""
    import onnx

    return onnx.numpy_helper.to_array(given) if isinstance(given, onnx.TensorProto) else given


def collect():
    """All cases, by name."""
    # The modules of the cases compute, and warn, when they are imported.
    with warnings.catch_warnings(), contextlib.redirect_stdout(io.StringIO()):
        warnings.simplefilter("ignore")
        from onnx.backend.test.case.node import collect_testcases

        found = collect_testcases(None)
    cases = []
    for test in found:
        inputs, outputs = (list(map(value_of, values)) for values in test.data_sets[0])
        cases.append(Case(
            name=test.name, model=test.model,
            inputs=dict(zip((value.name for value in test.model.graph.input), inputs)),
            expected=dict(zip((value.name for value in test.model.graph.output), outputs)),
            operators=frozenset(node.op_type for node in nodes_of(test.model.graph)),
            opset=max((entry.version for entry in test.model.opset_import
                       if entry.domain in ("", "ai.onnx")), default=0),
            rtol=test.rtol, atol=test.atol))
    return sorted(cases, key=lambda case: case.name)
