# SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
"""ONNX's own node cases, as the `onnx` package generates them, and the groups
that we count them in."""

import contextlib
import io
import sys
import warnings
from dataclasses import dataclass
from pathlib import Path

sys.path.insert(0, str(Path(__file__).resolve().parents[2] / "python"))
from wsec.backend import bound_inputs, nodes_of  # noqa: E402

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
        return [name for name in bound_inputs(self.model) if name in self.inputs]


GROUPS = ["the transformer core", "without an operator that no transformer contains", "all"]


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
