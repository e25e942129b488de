// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
#ifndef RUNTIME_OBSERVE_PROBE_H
#define RUNTIME_OBSERVE_PROBE_H

#include "runtime/observe/Values.h"
#include "runtime/program/Call.h"

#include <map>
#include <stdexcept>
#include <string>
#include <vector>

namespace wsec::runtime {

/// A place or moment that a program does not have.
struct ProbeError : std::runtime_error {
  using std::runtime_error::runtime_error;
};

/// Stops a run at a chosen moment and says what is there: what threads wait
/// for, tasks, queues, values of buffers.
class Probe : public Observer {
public:
  /// `program` must outlive the probe.
  explicit Probe(const program::Program &program);
  explicit Probe(const Call &call);

  // Each throws ProbeError where the program has no such thing.

  /// "launch:3", "kernel:fc1" (the first launch of a kernel, or of an ONNX
  /// node): stops before that launch.
  /// "1200": stops after that cycle.
  void setUntil(const std::string &moment);
  /// "3,4:done": stops when PE (3, 4) enters a task, or the routine that a
  /// kernel or an ONNX node launches. Tasks go first where both have the name.
  void addBreak(const std::string &where);
  /// "3,4:sum", "3,4:sum[2]", "3,4:sum[0:8]" (without the last), or "3,4" for
  /// all buffers. "hidden[0,5,7]": an element of a value of the model, from the
  /// PE that holds it.
  void addPeek(const std::string &what);

  /// Whether the run may end early.
  bool stops() const;
  /// Whether it stops at a cycle.
  bool stopsAtCycle() const;
  /// What was seen; empty before the run.
  const std::string &text() const { return report; }

  void begin(const Inspection &state) override { values.begin(state); }
  void enter(ObservedPes pes, size_t launch, int task, double time) override;
  void inspect(const Inspection &state, RunEnd end) override;

private:
  struct Break {
    int pe, task;       ///< task < 0: a kernel's routine
    std::string kernel; ///< or ONNX node
  };
  struct ValuePeek {
    uint32_t value;
    uint64_t element;
    std::string text; ///< as it was asked for
  };
  struct Peek {
    int pe;
    int buffer = -1;           ///< all
    int64_t from = 0, to = -1; ///< elements; to < 0: the first ones
  };

  int parsePe(const std::string &text, const std::string &flag) const;
  const program::PEClass &classOf(int pe) const;
  bool addValuePeek(const std::string &what);
  std::string describeValue(const ValuePeek &peek) const;
  int findBuffer(int pe, const std::string &name) const;
  void parseRange(Peek &peek, const std::string &range,
                  const std::string &what) const;
  std::string namePe(int pe) const;
  /// What a launch is called: its kernel, and the ONNX nodes that it runs.
  std::vector<std::string> namesOf(size_t launch) const;
  std::string describeLaunch(size_t launch) const;
  std::string describePe(const Inspection &state, int pe) const;
  std::string describeBuffers(const Inspection &state, const Peek &peek) const;
  /// Whose value a buffer holds where the PE is; sets `lost` if its bytes are
  /// another buffer's.
  std::string describeOwner(int pe, int buffer, bool &lost) const;
  std::string describeBuffer(const Inspection &state, const Peek &peek,
                             int buffer) const;
  std::string describeAll(const Inspection &state) const;

  const Call call;
  const program::Program &program;
  std::vector<int> classes; ///< by PE; -1: no code
  std::vector<Break> breaks;
  std::vector<Peek> peeks;
  std::vector<ValuePeek> valuePeeks;
  Values values;
  std::map<int, int> entered; ///< by PE that is peeked at, its last launch
  std::string reason;         ///< why it stopped
  int stoppedAt = -1;         ///< PE of a break
  double stoppedTime = 0;
  std::string report;
};

} // namespace wsec::runtime

#endif // RUNTIME_OBSERVE_PROBE_H
