// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
#include "runtime/train/TrainingData.h"
#include "runtime/files/Digest.h"
#include "runtime/program/NearestNames.h"

#include "absl/strings/str_cat.h"

#include <algorithm>
#include <cstring>

namespace wsec::runtime {

// ---------------------------------------------------------------- tokens

namespace {
class TokenSequences : public TrainingData {
public:
  TokenSequences(Tokens tokens, std::string inputs, std::string targets,
                 uint64_t length)
      : tokens(std::move(tokens)), inputs(std::move(inputs)),
        targets(std::move(targets)), length(length) {}

  const std::string &path() const override { return tokens.path(); }
  const char *unit() const override { return "tokens"; }
  uint64_t stride() const override { return length; }
  uint64_t samples() const override {
    return (std::max<uint64_t>(tokens.size(), 1) - 1) / length;
  }
  uint64_t digest() const override { return tokens.digest(); }

  void fit(const std::string &name, DataType type,
           const std::vector<int64_t> &shape) override {
    if (name != inputs && name != targets)
      throw Error(ErrorClass::BadTensor,
                  absl::StrCat("nothing gives input ", inQuotes(name),
                               " anything: tokens are for ", inQuotes(inputs),
                               "; take arrays of all inputs, --data=FILE.npz"));
    if (type != DataType::Int64 || shape.size() != 2 ||
        shape[1] != int64_t(length))
      throw Error(ErrorClass::BadTensor,
                  absl::StrCat("input ", inQuotes(name), " is ",
                               describe(type, shape), "; ", length,
                               " tokens of a sequence are int64[sequences, ",
                               length, "], and targets as many"));
  }
  void requireWithin(const std::string &, int64_t limit) const override {
    tokens.requireWithin(limit);
  }
  void requireSamples(uint64_t position, uint64_t count, uint64_t,
                      const std::string &forWhat) const override {
    tokens.requireCount(
        position + count * length + 1,
        absl::StrCat(forWhat, " x ", length, " tokens",
                     position ? absl::StrCat(" after token ", position) : "",
                     ", and the target of the last,"));
  }
  NamedTensors at(uint64_t position, uint64_t count) const override {
    return {{inputs, tokens.rows(position, count, length)},
            {targets, tokens.rows(position + 1, count, length)}};
  }
  uint64_t summedLabels(uint64_t, uint64_t) const override { return 0; }

private:
  const Tokens tokens;
  const std::string inputs, targets;
  const uint64_t length;
};
} // namespace

std::unique_ptr<TrainingData> sequencesOf(Tokens tokens, std::string inputs,
                                          std::string targets,
                                          uint64_t length) {
  return std::make_unique<TokenSequences>(std::move(tokens), std::move(inputs),
                                          std::move(targets), length);
}

// ---------------------------------------------------------------- arrays

static bool isWhole(DataType type) {
  return type != DataType::Float32 && type != DataType::Float16 &&
         type != DataType::BFloat16 && type != DataType::Float64 &&
         type != DataType::Bits8;
}

Error NamedArrays::wrong(const std::string &array,
                         const std::string &what) const {
  return {ErrorClass::BadTensor, absl::StrCat("array ", inQuotes(array), " of ",
                                              inQuotes(name), ": ", what)};
}

std::unique_ptr<NamedArrays> NamedArrays::open(const std::string &path,
                                               std::string labels) {
  std::unique_ptr<NamedArrays> data(new NamedArrays);
  data->name = path;
  data->arrays = readNpz(path, [&](const std::string &name, DataType,
                                   const std::vector<int64_t> &shape) {
    if (shape.empty() || shape[0] == 0)
      throw data->wrong(name, "has no samples along a first axis");
    if (data->count && uint64_t(shape[0]) != data->count)
      throw data->wrong(name, absl::StrCat("has ", shape[0],
                                           " samples, those before it ",
                                           data->count));
    data->count = uint64_t(shape[0]);
  });
  if (data->arrays.empty())
    throw Error(ErrorClass::BadTensor, inQuotes(path) + " has no arrays");
  data->labels = std::move(labels);
  if (!data->labels.empty())
    data->countLabels();
  return data;
}

const HostTensor *NamedArrays::find(const std::string &wanted) const {
  for (const auto &[its, tensor] : arrays)
    if (its == wanted)
      return &tensor;
  return nullptr;
}

const HostTensor &NamedArrays::named(const std::string &wanted) const {
  if (const HostTensor *found = find(wanted))
    return *found;
  std::vector<std::string> names;
  for (const auto &[its, tensor] : arrays)
    names.push_back(its);
  throw Error(ErrorClass::BadTensor,
              absl::StrCat(inQuotes(name), " has no array ", inQuotes(wanted),
                           nearestNames(wanted, names)));
}

void NamedArrays::countLabels() {
  const HostTensor &all = named(labels);
  if (!isWhole(all.type))
    throw wrong(labels, absl::StrCat("labels are integers, found ",
                                     describe(all.type, all.shape),
                                     "; of numbers take --loss=mean-square"));
  const uint64_t each = all.elements() / count;
  labelsOfSample.assign(count, 0);
  for (uint64_t i = 0; i < all.elements(); ++i)
    labelsOfSample[i / each] += all.number(i) != double(ignoredLabel);
}

uint64_t NamedArrays::digest() const {
  std::vector<uint64_t> digests;
  for (const auto &[its, tensor] : arrays)
    if (std::find(given.begin(), given.end(), its) != given.end()) {
      digests.push_back(digestOf(its.data(), its.size()));
      digests.push_back(digestOf(tensor.bytes.data(), tensor.bytes.size()));
    }
  return digestOf(digests.data(), digests.size() * sizeof(uint64_t));
}

/// The same integers in another type.
static std::optional<HostTensor> integersAs(DataType type,
                                            const HostTensor &from) {
  if (type != DataType::Int64 && type != DataType::Int32)
    return std::nullopt;
  HostTensor to{type, from.shape, {}};
  const size_t width = dataTypeBytes(type);
  to.bytes.resize(from.elements() * width);
  const bool isNarrow = type == DataType::Int32;
  const double least = isNarrow ? -0x1p31 : -0x1p53, // all between are doubles
      most = isNarrow ? 0x1p31 - 1 : 0x1p53;
  for (uint64_t i = 0; i < from.elements(); ++i) {
    const double number = from.number(i);
    if (number < least || number > most)
      return std::nullopt;
    const auto its = int64_t(number);
    std::memcpy(to.bytes.data() + i * width, &its, width); // little endian
  }
  return to;
}

void NamedArrays::fit(const std::string &input, DataType type,
                      const std::vector<int64_t> &shape) {
  (void)named(input);
  const auto found = std::find_if(arrays.begin(), arrays.end(), [&](auto &its) {
    return its.first == input;
  });
  HostTensor &array = found->second;
  bool fits = shape.size() == array.shape.size();
  for (size_t i = 1; fits && i < shape.size(); ++i)
    fits = shape[i] < 0 || shape[i] == array.shape[i];
  std::optional<HostTensor> turned;
  if (fits && array.type != type) {
    if (isWhole(array.type))
      turned = integersAs(type, array);
    fits = turned.has_value();
  }
  if (!fits)
    throw wrong(input,
                absl::StrCat("is ", describe(array.type, array.shape),
                             ", and the input takes ", describe(type, shape),
                             ", the first extent for samples"));
  if (turned)
    array = std::move(*turned);
  if (std::find(given.begin(), given.end(), input) == given.end())
    given.push_back(input);
}

void NamedArrays::requireWithin(const std::string &input, int64_t limit) const {
  const HostTensor &array = named(input);
  for (uint64_t i = 0; i < array.elements(); ++i) {
    const double number = array.number(i);
    const bool isIgnored = input == labels && number == double(ignoredLabel);
    if ((number >= 0 && number < double(limit)) || isIgnored)
      continue;
    throw wrong(
        input, absl::StrCat("sample ", i / (array.elements() / count), " has ",
                            number, ", and the model takes 0 to ", limit - 1,
                            input == labels ? ", or -100 for a label that does "
                                              "not count"
                                            : ""));
  }
}

void NamedArrays::requireSamples(uint64_t position, uint64_t wanted,
                                 uint64_t batch,
                                 const std::string &forWhat) const {
  if (batch > count)
    throw Error(ErrorClass::BadTensor,
                absl::StrCat(forWhat, " samples: ", inQuotes(name), " has ",
                             count, "; take a smaller batch, or more samples"));
  if (labels.empty())
    return;
  // After so many batches all of them come again.
  const uint64_t batches = std::min(wanted / batch, count);
  for (uint64_t i = 0; i < batches; ++i)
    if (summedLabels(position + i * batch, batch) == 0)
      throw wrong(labels,
                  absl::StrCat("no label of the ", batch, " samples from ",
                               (position + i * batch) % count,
                               " on counts: all are -100"));
}

NamedTensors NamedArrays::at(uint64_t position, uint64_t wanted) const {
  NamedTensors samples;
  for (const std::string &input : given) {
    const HostTensor &all = named(input);
    HostTensor some{all.type, all.shape, {}};
    some.shape[0] = int64_t(wanted);
    const size_t each = all.bytes.size() / count;
    for (uint64_t i = 0; i < wanted; ++i) {
      const auto from =
          all.bytes.begin() + ptrdiff_t((position + i) % count * each);
      some.bytes.insert(some.bytes.end(), from, from + ptrdiff_t(each));
    }
    samples.emplace_back(input, std::move(some));
  }
  return samples;
}

uint64_t NamedArrays::summedLabels(uint64_t position, uint64_t wanted) const {
  uint64_t sum = 0;
  for (uint64_t i = 0; i < wanted && !labels.empty(); ++i)
    sum += labelsOfSample[(position + i) % count];
  return sum;
}

} // namespace wsec::runtime
