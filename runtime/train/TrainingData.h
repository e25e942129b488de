// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
#ifndef RUNTIME_TRAIN_TRAININGDATA_H
#define RUNTIME_TRAIN_TRAININGDATA_H

#include "runtime/host/Npy.h"
#include "runtime/program/Errors.h"
#include "runtime/train/Tokens.h"

#include <memory>
#include <string>
#include <vector>

namespace wsec::runtime {

/// What a model learns from: samples in their order, and what each of them
/// gives to the inputs of a program. A position is where the next sample
/// begins.
class TrainingData {
public:
  virtual ~TrainingData() = default;

  virtual const std::string &path() const = 0;
  /// What positions count: "tokens" or "samples".
  virtual const char *unit() const = 0;
  /// How many of them a sample is.
  virtual uint64_t stride() const = 0;
  /// Samples that are there, whole ones.
  virtual uint64_t samples() const = 0;
  /// XXH3 of all elements.
  virtual uint64_t digest() const = 0;

  /// BadTensor unless input `name` of type `type` can be given samples of this
  /// shape, whose first extent counts them; extents below 0 are not known yet.
  virtual void fit(const std::string &name, DataType type,
                   const std::vector<int64_t> &shape) = 0;
  /// BadTensor names the first element for input `name` that is not in
  /// [0, limit).
  virtual void requireWithin(const std::string &name, int64_t limit) const = 0;
  /// BadTensor unless there are `count` samples from `position` on, each with
  /// something to learn from in every `batch` of them.
  virtual void requireSamples(uint64_t position, uint64_t count, uint64_t batch,
                              const std::string &forWhat) const = 0;
  /// `count` samples from `position` on, by the inputs that take them.
  virtual NamedTensors at(uint64_t position, uint64_t count) const = 0;
  /// Labels among those that count, where losses of calls are sums over them;
  /// 0: they are means.
  virtual uint64_t summedLabels(uint64_t position, uint64_t count) const = 0;
};

/// Sample j is tokens[j * length] and the `length` tokens behind it: input
/// `inputs` gets all but the last, input `targets` all but the first.
std::unique_ptr<TrainingData> sequencesOf(Tokens tokens, std::string inputs,
                                          std::string targets, uint64_t length);

/// A label that does not count.
constexpr int64_t ignoredLabel = -100;

/// The arrays of a .npz file, [samples, ...], by the names of the inputs that
/// take them. Behind the last sample the first one comes again. Integers are
/// given as whichever an input takes; other types have to be its own.
class NamedArrays : public TrainingData {
public:
  /// The array `labels` is of labels of classes, over which losses of calls are
  /// sums; empty: there is none. Throws BadTensor where arrays have no samples,
  /// or not all of them as many; IoError.
  static std::unique_ptr<NamedArrays> open(const std::string &path,
                                           std::string labels);

  /// Null: there is none.
  const HostTensor *find(const std::string &name) const;
  /// BadTensor, with what there is, and what it is wanted for.
  const HostTensor &named(const std::string &name) const;

  const std::string &path() const override { return name; }
  const char *unit() const override { return "samples"; }
  uint64_t stride() const override { return 1; }
  uint64_t samples() const override { return count; }
  uint64_t digest() const override;
  void fit(const std::string &name, DataType type,
           const std::vector<int64_t> &shape) override;
  void requireWithin(const std::string &name, int64_t limit) const override;
  void requireSamples(uint64_t position, uint64_t count, uint64_t batch,
                      const std::string &forWhat) const override;
  NamedTensors at(uint64_t position, uint64_t count) const override;
  uint64_t summedLabels(uint64_t position, uint64_t count) const override;

private:
  Error wrong(const std::string &array, const std::string &what) const;
  void countLabels();

  std::string name, labels;
  NamedTensors arrays;
  std::vector<std::string> given;       ///< those that an input takes
  std::vector<uint64_t> labelsOfSample; ///< that count
  uint64_t count = 0;
};

} // namespace wsec::runtime

#endif // RUNTIME_TRAIN_TRAININGDATA_H
