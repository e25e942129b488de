// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
#include "compiler/differentiate/WhatTrains.h"
#include "compiler/values/OnnxValues.h"

using namespace mlir;
using namespace wsec;
using namespace wsec::differentiate;
using namespace wsec::values;

namespace {
struct Norms {
  unsigned all = 0, biased = 0;
  std::string firstWithout;
};
} // namespace

static std::string quoted(const Parameter &parameter) {
  onnx::ParameterOp op = parameter.op;
  return "'" + op.getSymName().str() + "'";
}

/// Of a table [rows, width] and a matrix [width, rows] or [rows, width]: some
/// elements of some rows, which are not all one number.
static bool areEqual(const Parameter &table, const Parameter &matrix,
                     bool turned) {
  onnx::ParameterOp op = table.op;
  const int64_t rows = op.getTensorType().getDimSize(0),
                width = op.getTensorType().getDimSize(1);
  constexpr int64_t sampledRows = 8, sampledElements = 16;
  const int64_t count = std::min(sampledElements, width);
  bool differ = false;
  std::optional<double> first;
  for (int64_t i = 0; i < sampledRows; ++i) {
    const int64_t row = i * (rows - 1) / (sampledRows - 1);
    auto a = startOf(table, row * width, count, 1);
    auto b = turned ? startOf(matrix, row, count, rows)
                    : startOf(matrix, row * width, count, 1);
    if (!a || !b)
      return false;
    for (int64_t j = 0; j < count; ++j) {
      if (a->asFloat(j) != b->asFloat(j))
        return false;
      differ |= a->asFloat(j) != first.value_or(a->asFloat(j));
      first = first.value_or(a->asFloat(j));
    }
  }
  return differ;
}

/// Tables that a head has a copy of.
static void findCopies(ArrayRef<Parameter> parameters,
                       SmallVectorImpl<std::string> &changes) {
  auto shape = [](const Parameter &its) {
    onnx::ParameterOp op = its.op;
    return op.getTensorType().getShape();
  };
  for (const Parameter &table : parameters) {
    if (!table.isTable || !table.reason.empty() || shape(table).size() != 2)
      continue;
    for (const Parameter &other : parameters) {
      if (other.isTable || !other.reason.empty())
        continue;
      const bool turned = shape(other).size() == 2 &&
                          shape(other)[0] == shape(table)[1] &&
                          shape(other)[1] == shape(table)[0];
      if ((turned || shape(other) == shape(table)) &&
          areEqual(table, other, turned))
        changes.push_back(
            quoted(other) + " begins as a copy of " + quoted(table) +
            ", and trains apart from it: exporters make two parameters of a "
            "tied one; export a transpose of the table where they are tied");
    }
  }
}

/// The norms that scale by, or add, a parameter itself.
static unsigned normsOf(const Parameter &parameter) {
  unsigned norms = 0;
  for (onnx::ConstantOp view : parameter.views)
    for (OpOperand &use : view->getUses())
      norms += isa<onnx::LayerNormOp, onnx::RMSNormOp>(use.getOwner());
  return norms;
}

SmallVector<std::string>
wsec::differentiate::whatExportersChanged(func::FuncOp main,
                                          ArrayRef<Parameter> parameters) {
  SmallVector<std::string> changes;
  for (const Parameter &parameter : parameters)
    if (unsigned norms = normsOf(parameter);
        norms > 1 && parameter.reason.empty())
      changes.push_back(
          quoted(parameter) + " is one parameter of " + std::to_string(norms) +
          " norms, and trains as one: exporters merge what is equal; export "
          "with different ones if they are to train apart");
  for (const Parameter &parameter : parameters)
    if (parameter.onlyMasks && parameter.reason.empty())
      changes.push_back(
          quoted(parameter) +
          " is added to scores, and each of its numbers trains: what folds "
          "constants makes such of a table of distances, or of slopes; export "
          "without that if the table is to train, or freeze it");
  findCopies(parameters, changes);
  Norms norms;
  for (auto norm : main.getOps<onnx::LayerNormOp>()) {
    ++norms.all;
    norms.biased += norm.getBias() != nullptr;
    if (!norm.getBias() && norms.firstWithout.empty())
      norms.firstWithout = "'" + nodeName(norm).str() + "'";
  }
  if (norms.biased && norms.biased < norms.all)
    changes.push_back(
        std::to_string(norms.all - norms.biased) + " of " +
        std::to_string(norms.all) + " norms have no bias, the first " +
        norms.firstWithout +
        ": exporters drop what is 0, and what is not there does not train; "
        "export with biases that are not 0");
  return changes;
}
