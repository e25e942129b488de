// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
#ifndef RUNTIME_OBSERVE_COUNTERS_H
#define RUNTIME_OBSERVE_COUNTERS_H

#include "runtime/observe/Observer.h"

#include <array>
#include <string>
#include <vector>

namespace wsec::runtime {

/// One number for each PE of the mesh, row by row from the north-west.
struct PeMap {
  std::string name; ///< "busy_cycles"; what --metric takes
  std::string unit; ///< "cycles", "words", ...
  std::vector<double> values;
};

/// Counts what every PE and every link does in a run.
///
/// Words over links come from the engine where it reports them. The strips
/// engine does not; there they follow from what each PE
/// and channel sent and from the routes, which never change. Peaks are known in
/// the first case only.
class Counters : public Observer {
public:
  /// Cycles over which words of a link are summed up for its peak: aligned
  /// windows of the run.
  static constexpr int64_t windowCycles = 1024;

  /// `program` must outlive the counters.
  explicit Counters(const program::Program &program);

  void instruction(ObservedPes pes, const ObservedInstruction &what) override;
  void sent(ObservedPes pes, size_t launch, int color, uint64_t words,
            double first, double last) override;
  void received(ObservedPes pes, int color, uint64_t words) override;
  void passed(int pe, program::Port port, int color, uint64_t words,
              double first, double last) override;
  void hostWords(uint32_t stream, uint32_t channel, uint64_t words,
                 double first, double last) override;
  void inspect(const Inspection &state, RunEnd end) override;

  int width() const { return meshWidth; }
  int height() const { return meshHeight; }
  /// By PE, then by link: the port through which words leave a router.
  std::vector<PeMap> maps() const;
  /// What counters.schema.json describes.
  std::string json() const;

private:
  struct PeCount {
    double busy = 0, waitsToReceive = 0, waitsToSend = 0;
    uint64_t instructions = 0, sent = 0, received = 0;
  };
  /// Words in the two windows seen last.
  struct LinkPeak {
    std::array<uint32_t, 2> window{}, words{};
    uint32_t most = 0;
  };
  struct StreamCount {
    uint64_t words = 0;
    double first = 0, last = 0;
  };

  void notePeak(LinkPeak &peak, uint64_t words, double first, double last);
  void followRoutes();
  uint64_t &linkWords(int pe, program::Port port) {
    return links[size_t(pe) * 5 + size_t(port)];
  }
  std::vector<double> sramBytes() const;

  const program::Program &program;
  const int meshWidth, meshHeight;
  std::vector<PeCount> pes;
  std::vector<uint64_t> links;               ///< by PE and port
  std::vector<LinkPeak> peaks;               ///< likewise, if links report
  std::vector<std::vector<uint64_t>> sentOn; ///< by color and PE
  std::vector<StreamCount> streams;
  std::vector<std::vector<uint64_t>> entered; ///< by color and row
  double cycles = 0;
};

} // namespace wsec::runtime

#endif // RUNTIME_OBSERVE_COUNTERS_H
