// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
#include "runtime/program/Checker.h"
#include "runtime/program/NearestNames.h"
#include "runtime/program/check/HostChecker.h"

#include "absl/numeric/int128.h"
#include <map>
#include <string_view>

namespace wsec::runtime {

using program::ElementType;
using program::Tensor;
using program::TensorRole;

static void checkParameter(const Tensor &tensor, const Where &where) {
  const bool isHeld = tensor.role() == TensorRole::Weight ||
                      tensor.role() == TensorRole::Constant;
  const bool isFloat = tensor.type() == ElementType::F32 ||
                       tensor.type() == ElementType::F16 ||
                       tensor.type() == ElementType::BF16;
  if (!isHeld || !isFloat || tensor.sparsity())
    throw badProgram(where, "is a parameter, but no weight or constant of F32, "
                            "F16 or BF16 that is stored as it is");
}

/// Elements of a parameter that the tensor is added to, of which there are
/// `count`.
static void checkView(const Tensor &tensor, const program::Gradient &gradient,
                      uint64_t count, const Where &where) {
  const size_t rank = tensor.shape() ? tensor.shape()->size() : 0;
  absl::int128 low = gradient.offset(), high = gradient.offset();
  if (!gradient.strides() || gradient.strides()->size() == 0) {
    high += absl::int128(elementCount(tensor)) - 1;
  } else if (gradient.strides()->size() != rank) {
    throw badProgram(
        where, "is added with " + std::to_string(gradient.strides()->size()) +
                   " strides, it has " + std::to_string(rank) + " dimensions");
  } else {
    checkAligned(*gradient.strides(), where);
    for (unsigned d = 0; d < rank; ++d) {
      const int64_t extent = tensor.shape()->Get(d);
      const absl::int128 reach =
          absl::int128(extent - 1) * gradient.strides()->Get(d);
      (reach < 0 ? low : high) += reach;
    }
  }
  if (elementCount(tensor) > 0 && (low < 0 || high >= absl::int128(count)))
    throw badProgram(where, "is added to elements beyond the " +
                                std::to_string(count) + " of parameter " +
                                inQuotes(gradient.parameter()->string_view()));
}

static void checkRows(const Tensor &tensor, const program::Gradient &gradient,
                      const Tensor &parameter, const program::Program &program,
                      const Where &where) {
  const Tensor &rows =
      tensorAt(program, gradient.rows(), "has its rows in", where);
  if (rows.role() == TensorRole::Output ||
      (rows.type() != ElementType::I32 && rows.type() != ElementType::I64))
    throw badProgram(where, "has its rows in " +
                                inQuotes(rows.name()->string_view()) +
                                ", which is not a tensor of indices");
  const bool isPlain = gradient.offset() == 0 &&
                       (!gradient.strides() || gradient.strides()->size() == 0);
  if (!isPlain || !parameter.shape() || parameter.shape()->size() != 2 ||
      absl::int128(elementCount(rows)) * parameter.shape()->Get(1) !=
          absl::int128(elementCount(tensor)))
    throw badProgram(where, "is added to " +
                                std::to_string(elementCount(rows)) +
                                " rows of parameter " +
                                inQuotes(gradient.parameter()->string_view()) +
                                ", which it does not consist of");
}

void checkParameters(const program::Program &program) {
  std::map<std::string_view, const Tensor *> parameters;
  for (const Tensor *tensor : *program.tensors()) {
    const Where where{nullptr, "tensor", -1, tensor->name()};
    if (!tensor->parameter())
      continue;
    checkParameter(*tensor, where);
    if (!parameters.emplace(tensor->parameter()->string_view(), tensor).second)
      throw badProgram(where, "is a second tensor of parameter " +
                                  inQuotes(tensor->parameter()->string_view()));
  }
  for (const Tensor *tensor : *program.tensors()) {
    const program::Gradient *gradient = tensor->gradient();
    if (!gradient)
      continue;
    const Where where{nullptr, "tensor", -1, tensor->name()};
    if (tensor->role() != TensorRole::Output ||
        tensor->type() != ElementType::F32)
      throw badProgram(where, "is a gradient, but no output of F32");
    const auto found = parameters.find(gradient->parameter()->string_view());
    if (found == parameters.end())
      throw badProgram(where,
                       "is a gradient of " +
                           inQuotes(gradient->parameter()->string_view()) +
                           ", which is no parameter");
    if (gradient->rows() >= 0)
      checkRows(*tensor, *gradient, *found->second, program, where);
    else
      checkView(*tensor, *gradient, elementCount(*found->second), where);
  }
}

} // namespace wsec::runtime
