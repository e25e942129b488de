// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
#include "runtime/host/Batch.h"

#include "absl/strings/str_cat.h"
#include "runtime/program/Errors.h"
#include "runtime/program/NearestNames.h"

#include <algorithm>

namespace wsec::runtime {

static const program::Tensor *inputNamed(const program::Program &program,
                                         const std::string &name) {
  for (const program::Tensor *tensor : *program.tensors())
    if (tensor->role() == program::TensorRole::Input &&
        tensor->name()->string_view() == name)
      return tensor;
  return nullptr;
}

void requireOk(const absl::Status &status) {
  if (status.ok())
    return;
  const std::optional<ErrorClass> known = errorClassOf(status);
  std::string text(status.message());
  if (!known)
    throw std::runtime_error(text);
  text.erase(0, errorClassName(*known).size() + 2);
  throw Error(*known, text);
}

uint64_t Batch::callsIn(const std::string &name, DataType type,
                        const std::vector<int64_t> &shape) const {
  const absl::Status fits = session.accepts(name, type, shape);
  if (fits.ok())
    return 1;
  const program::Tensor *input = inputNamed(session.program(), name);
  if (!input || !input->shape() || input->shape()->size() == 0 ||
      shape.empty() || input->shape()->Get(0) == 0)
    requireOk(fits);
  const std::vector<int64_t> own(input->shape()->begin(),
                                 input->shape()->end());
  std::vector<int64_t> one = shape;
  one[0] = own[0];
  requireOk(one == own ? session.accepts(name, type, one) : fits);
  if (shape[0] < own[0] || shape[0] % own[0] != 0)
    throw Error(ErrorClass::BadTensor,
                absl::StrCat("input ", inQuotes(name), ": expected ",
                             describe(type, own), " for each call, found ",
                             describe(type, shape), "; ", shape[0],
                             " rows are no multiple of ", own[0]));
  return uint64_t(shape[0] / own[0]);
}

void Batch::bind(const std::string &name, HostTensor tensor) {
  const uint64_t its = callsIn(name, tensor.type, tensor.shape);
  if (its > 1 && count > 1 && its != count)
    throw Error(
        ErrorClass::BadTensor,
        absl::StrCat("input ", inQuotes(name), " holds ", its,
                     " calls of the program, ",
                     countedBy.empty() ? "the batch" : inQuotes(countedBy), " ",
                     count, "; give all inputs of a batch as many"));
  if (its > 1) {
    count = its;
    countedBy = name;
  }
  inputs.emplace_back(name, std::move(tensor));
}

void Batch::clearInputs() {
  inputs.clear();
  countedBy.clear();
  count = 1;
}

void Batch::forEachInput(
    uint64_t call,
    const std::function<void(const std::string &, HostTensor)> &use) const {
  for (const auto &[name, tensor] : inputs) {
    const uint64_t parts = callsIn(name, tensor.type, tensor.shape);
    const auto bytes = ptrdiff_t(tensor.bytes.size() / parts);
    const auto from =
        tensor.bytes.begin() + (parts > 1 ? ptrdiff_t(call) * bytes : 0);
    HostTensor part{tensor.type, tensor.shape, {from, from + bytes}};
    if (parts > 1)
      part.shape[0] /= int64_t(parts);
    use(name, std::move(part));
  }
}

void Batch::keepOutput(const std::string &name, uint64_t call,
                       const HostTensor &part) {
  HostTensor &whole = results[name];
  const size_t bytes = part.bytes.size();
  if (whole.bytes.empty()) {
    whole.type = part.type;
    whole.shape = part.shape;
    if (whole.shape.empty())
      whole.shape.push_back(1);
    whole.shape[0] *= int64_t(count);
    whole.bytes.resize(bytes * count);
  }
  std::copy(part.bytes.begin(), part.bytes.end(),
            whole.bytes.begin() + ptrdiff_t(call * bytes));
}

const HostTensor *Batch::output(const std::string &name) const {
  const auto found = results.find(name);
  return found == results.end() ? nullptr : &found->second;
}

} // namespace wsec::runtime
