// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
#ifndef RUNTIME_HOST_BATCH_H
#define RUNTIME_HOST_BATCH_H

#include "runtime/host/Session.h"

#include <functional>
#include <map>
#include <string>
#include <utility>
#include <vector>

namespace wsec::runtime {

/// Tensors of several calls of a program. A batch of k calls gives each input k
/// times the rows of the program, one call behind the other along the first
/// axis; what has the program's own shape is the same for all calls. Outputs
/// are as long, in the same order. What is wrong is thrown as an Error.
class Batch {
public:
  /// For the inputs that this session, which must outlive it, accepts.
  explicit Batch(const Session &session) : session(session) {}

  /// 1 for a tensor that all calls share. BadTensor for one of no batch.
  uint64_t callsIn(const std::string &name, DataType type,
                   const std::vector<int64_t> &shape) const;
  /// Gives an input of the batch. BadTensor if another has other calls.
  void bind(const std::string &name, HostTensor tensor);
  uint64_t calls() const { return count; }
  /// By name, with all calls.
  const std::vector<std::pair<std::string, HostTensor>> &bound() const {
    return inputs;
  }
  /// For another batch.
  void clearInputs();
  void forEachInput(
      uint64_t call,
      const std::function<void(const std::string &, HostTensor)> &use) const;

  void keepOutput(const std::string &name, uint64_t call,
                  const HostTensor &part);
  /// Null before there is any.
  const HostTensor *output(const std::string &name) const;
  void clearOutputs() { results.clear(); }
  /// For a batch whose inputs are all shared.
  void setCalls(uint64_t calls) { count = calls; }

private:
  const Session &session;
  std::vector<std::pair<std::string, HostTensor>> inputs;
  std::string countedBy; ///< the input that says how many calls there are
  uint64_t count = 1;
  std::map<std::string, HostTensor> results;
};

/// Throws what is no success, as an Error of its class.
void requireOk(const absl::Status &status);

/// What it holds; throws its error.
template <class T>
T valueOf(absl::StatusOr<T> value) {
  requireOk(value.status());
  return *std::move(value);
}

} // namespace wsec::runtime

#endif // RUNTIME_HOST_BATCH_H
