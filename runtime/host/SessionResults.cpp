// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
// What calls of a session have given.

#include "runtime/host/Session.h"

#include "runtime/host/Lengths.h"
#include "runtime/memoryx/Elements.h"
#include "runtime/program/Checker.h"
#include "runtime/program/Errors.h"
#include "runtime/program/NearestNames.h"

#include <algorithm>

namespace wsec::runtime {

std::vector<std::string> Session::values() const {
  std::vector<std::string> names;
  for (const program::Entry *entry : *program().entries())
    for (unsigned i = 0; entry->values() && i < entry->values()->size(); ++i) {
      const std::string name = entry->values()->Get(i)->name()->str();
      if (std::find(names.begin(), names.end(), name) == names.end())
        names.push_back(name);
    }
  return names;
}

absl::Status Session::keep(const std::string &value) {
  return asStatus([&] {
    const std::vector<std::string> known = values();
    if (std::find(known.begin(), known.end(), value) == known.end())
      throw Error(ErrorClass::BadTensor, "the PEs hold no value " +
                                             inQuotes(value) +
                                             nearestNames(value, known));
    for (const program::Entry *entry : *program().entries())
      if (lengthOf(*entry))
        throw Error(ErrorClass::BadTensor,
                    absl::StrCat("value ", inQuotes(value),
                                 ": what is inside of a "
                                 "program whose calls have a length lies as "
                                 "PEs hold it; compile for one length, --dim ",
                                 lengthOf(*entry)->name()->str(), "=N"));
    kept.insert(value);
  });
}

absl::StatusOr<HostTensor> Session::output(const std::string &name) const {
  return asStatusOr([&] { return readOutput(name); });
}

/// Whether a call has given it its value. What equals a tensor that no call
/// writes has one then, if that is there.
bool Session::isIn(const std::set<uint32_t> &written, uint32_t output) const {
  const int alias = store.tensor(output).alias();
  const auto source = alias < 0 ? output : uint32_t(alias);
  switch (store.tensor(source).role()) {
  case program::TensorRole::Output:
  case program::TensorRole::Intermediate:
    return written.count(source) > 0;
  case program::TensorRole::Input:
    return ran && store.owner(source) != nullptr;
  default:
    return ran;
  }
}

/// Whether another entry has given it its name: "decode.logits".
bool Session::isOfOtherEntry(uint32_t output) const {
  const std::string_view name = store.tensor(output).name()->string_view();
  const auto &entries = *program().entries();
  uint32_t its = lastEntry;
  size_t longest = 0; // of "a." and "a.b." the longer one says whose it is
  for (uint32_t i = 0; i < entries.size(); ++i) {
    const std::string prefix = entries.Get(i)->name()->str() + ".";
    if (prefix.size() > longest && name.starts_with(prefix)) {
      its = i;
      longest = prefix.size();
    }
  }
  return its != lastEntry;
}

std::vector<std::string> Session::lastWritten() const {
  std::vector<std::string> names;
  for (uint32_t i = 0; i < program().tensors()->size(); ++i)
    if (store.tensor(i).role() == program::TensorRole::Output &&
        isIn(lastOutputs, i) && (lastOutputs.contains(i) || !isOfOtherEntry(i)))
      names.push_back(store.tensor(i).name()->str());
  return names;
}

std::vector<std::string> Session::written() const {
  std::vector<std::string> names;
  for (uint32_t i = 0; i < program().tensors()->size(); ++i)
    if (store.tensor(i).role() == program::TensorRole::Output && isIn(known, i))
      names.push_back(store.tensor(i).name()->str());
  return names;
}

/// From the numbers that tokens chose, which pass through the store.
std::vector<ExpertLoad> Session::loadsOf(uint64_t tokens, uint64_t of) const {
  std::vector<ExpertLoad> loads;
  for (uint32_t i : lastOutputs) {
    const program::Tensor &tensor = store.tensor(i);
    if (tensor.experts() == 0)
      continue;
    ExpertLoad &load = loads.emplace_back();
    load.mixture = tensor.name()->str();
    load.tokens.resize(tensor.experts());
    const uint64_t all = elementCount(tensor);
    const uint64_t counted = all % of ? all : all / of * tokens;
    for (uint64_t at = 0; at < counted; ++at) {
      const int64_t expert =
          readIndex(tensor.type(), store.outputElements(i), at);
      if (expert >= 0 && expert < int64_t(load.tokens.size()))
        ++load.tokens[size_t(expert)];
    }
  }
  return loads;
}

void add(std::vector<ExpertLoad> &all, const std::vector<ExpertLoad> &more) {
  for (const ExpertLoad &load : more) {
    const auto its =
        std::find_if(all.begin(), all.end(), [&](const ExpertLoad &known) {
          return known.mixture == load.mixture;
        });
    if (its == all.end())
      all.push_back(load);
    else
      for (size_t i = 0; i < load.tokens.size(); ++i)
        its->tokens[i] += load.tokens[i];
  }
}

HostTensor Session::readOutput(const std::string &name) const {
  const std::vector<std::string> named = outputs();
  if (const auto value = readOff.find(name);
      value != readOff.end() &&
      std::find(named.begin(), named.end(), name) == named.end())
    return value->second;
  uint32_t index = find(name, program::TensorRole::Output);
  if (!isIn(known, index))
    throw Error(ErrorClass::BadTensor, "output " + inQuotes(name) +
                                           " is known after a run only" +
                                           (program().entries()->size() > 1
                                                ? ", of an entry that writes it"
                                                : ""));
  const program::Tensor &output = store.tensor(index);
  HostTensor tensor{dataType(output.type()), shapeOf(output), {}};
  uint64_t bytes = elementCount(output) * elementBytes(output.type());
  auto source = uint32_t(output.alias());
  const uint8_t *data =
      output.alias() < 0 ||
              store.tensor(source).role() == program::TensorRole::Output
          ? store.outputElements(output.alias() < 0 ? index : source)
          : store.elements(source);
  if (bytes > 0)
    tensor.bytes.assign(data, data + bytes);
  // An output may equal a weight, which is read only now.
  store.checkUnchanged();
  const program::Argument *argument = lengthOf(program(), output);
  const auto length = lengths.find(index);
  if (argument && length != lengths.end())
    return toLength(tensor, output, *argument, length->second);
  return tensor;
}

} // namespace wsec::runtime
