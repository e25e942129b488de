// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
#ifndef RUNTIME_OBSERVE_TRACE_H
#define RUNTIME_OBSERVE_TRACE_H

#include "runtime/observe/Observer.h"
#include "runtime/program/Call.h"

#include <array>
#include <map>
#include <string>
#include <tuple>
#include <vector>

namespace wsec::runtime {

/// Records a run for a timeline viewer, in the JSON format of Chrome's tracing
/// that Perfetto opens. A microsecond of the viewer is a cycle.
///
/// However long the run, the file is bounded: kernels, PE classes, streams and
/// colors are summed up per launch; single instructions are there for some PEs,
/// links for small meshes. Where a program has few classes on a large mesh,
/// they are summed up for eight groups of columns each. What was left out is
/// counted in `otherData`.
class Trace : public Observer {
public:
  /// On meshes with more PEs only some are shown, and no links.
  static constexpr size_t mostPes = 64;
  /// Classes up to which they are told apart by columns, too.
  static constexpr size_t few = 3;
  /// Bounds of single slices of PEs and of links, and of sums per class,
  /// launch and instruction.
  static constexpr size_t mostSlices = 200000;
  static constexpr size_t mostSums = 100000;

  /// `program` must outlive the trace.
  explicit Trace(const program::Program &program);
  explicit Trace(const Call &call);

  void enter(ObservedPes pes, size_t launch, int task, double time) override;
  void leave(ObservedPes pes, size_t launch, double time) override;
  void instruction(ObservedPes pes, const ObservedInstruction &what) override;
  void sent(ObservedPes pes, size_t launch, int color, uint64_t words,
            double first, double last) override;
  void passed(int pe, program::Port port, int color, uint64_t words,
              double first, double last) override;
  void hostWords(uint32_t stream, uint32_t channel, uint64_t words,
                 double first, double last) override;

  std::string json() const;

private:
  struct Span {
    double begin = 0, end = 0;
    uint64_t count = 0; ///< 0: nothing yet
    void add(double from, double to, uint64_t n = 1);
  };
  /// What a class does in a launch with one of its instructions.
  struct Sum : Span {
    std::string name;
    uint64_t elements = 0;
    double busy = 0, waitsToReceive = 0, waitsToSend = 0;
  };
  struct Slice {
    int pe, thread; ///< thread 0: main
    int task;       ///< of the class; -1: a routine; -2: an instruction
    size_t launch;
    double begin, end;
    std::string name;
    uint64_t elements;
    double waitsToReceive, waitsToSend;
    bool unfinished;
  };
  struct Burst {
    int pe, port, color;
    uint64_t words;
    double begin, end;
  };
  /// A work in progress of a PE that is shown.
  struct Open {
    int task = -1;
    size_t launch = 0;
    double begin = 0;
    bool open = false;
  };
  struct Item;
  class Writer;

  void sample(const std::vector<int> &firstOfClass);
  int groupOf(ObservedPes pes) const;
  std::string groupName(int group) const;
  bool hasRoom();
  void endBurst(const Burst &burst);
  std::string kernelName(size_t launch) const;
  Item itemOf(const Sum &sum, size_t launch) const;
  void writeKernels(Writer &writer) const;
  void writeClasses(Writer &writer) const;
  void writeStreams(Writer &writer) const;
  void writeColors(Writer &writer) const;
  void writePes(Writer &writer) const;
  void writeLinks(Writer &writer) const;

  const Call call;
  const program::Program &program;
  const int width;
  std::vector<int> classes;  ///< by PE; -1: no code
  std::vector<bool> shown;   ///< by PE: single instructions
  std::vector<int> shownPes; ///< in order
  bool showsLinks;
  int bands = 1; ///< groups of columns
  std::vector<Span> launches;
  std::map<std::pair<int, size_t>, Span> work;      ///< group, launch
  std::map<std::tuple<int, size_t, int>, Sum> sums; ///< and instruction
  std::vector<Span> streams;
  std::map<std::pair<int, size_t>, Span> colors; ///< color, launch
  std::map<int, Open> open;                      ///< by PE
  std::vector<Slice> slices;
  std::map<std::tuple<int, int, int>, Burst> running; ///< PE, port, color
  std::vector<Burst> bursts;
  uint64_t leftOutSlices = 0, leftOutSums = 0;
};

} // namespace wsec::runtime

#endif // RUNTIME_OBSERVE_TRACE_H
