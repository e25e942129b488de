// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
#ifndef RUNTIME_OBSERVE_VALUES_H
#define RUNTIME_OBSERVE_VALUES_H

#include "runtime/observe/Observer.h"
#include "runtime/program/Call.h"

#include <map>
#include <string>
#include <vector>

namespace wsec::runtime {

/// Reads tensors of the model off the PEs that hold them: from each PE as it
/// enters the next launch that it takes part in, or at the end of the run.
class Values : public Observer {
public:
  /// Reads values of a call, whose program must outlive this.
  explicit Values(const Call &call);

  /// Index of a value, or -1.
  int find(const std::string &name) const;
  /// The names of all values, in the order of the launches that make them.
  std::vector<std::string> names() const;
  /// Reads this one, too.
  void want(uint32_t value);
  bool empty() const { return wanted.empty(); }

  /// The elements, row-major. Throws OutOfBounds if what the program says of
  /// the value is not so, BadTensor if the run ended before it was there.
  const std::vector<uint8_t> &elements(uint32_t value) const;
  /// A PE that holds an element.
  struct Place {
    int pe = -1;
    int64_t element = 0; ///< of its buffer
  };
  Place placeOf(uint32_t value, uint64_t element) const;

  void begin(const Inspection &state) override;
  void enter(ObservedPes pes, size_t launch, int task, double time) override;
  void inspect(const Inspection &state, RunEnd end) override;

private:
  struct Wanted {
    std::vector<uint8_t> elements;
    std::vector<bool> known; ///< by element
    std::string problem;     ///< what is wrong with the program
  };
  template <class Visit>
  void visitPiece(const program::Value &value, int pe,
                  const Visit &visit) const;
  /// Reads what a PE holds of the values of launches [next[pe], before).
  void readBefore(int pe, size_t before);
  void read(uint32_t value, Wanted &into, int pe) const;

  const program::Value &value(uint32_t index) const {
    return *call.entry().values()->Get(index);
  }

  const Call call;
  const program::Program &program;
  const int width;
  std::map<uint32_t, Wanted> wanted;
  std::multimap<size_t, uint32_t> byLaunch; ///< wanted ones
  std::vector<size_t> next;                 ///< by PE
  const Inspection *state = nullptr;
};

} // namespace wsec::runtime

#endif // RUNTIME_OBSERVE_VALUES_H
