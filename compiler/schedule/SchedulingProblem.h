// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
// When each kernel runs and where in SRAM its data lies. Plain C++: no MLIR.

#ifndef WSEC_COMPILER_SCHEDULE_SCHEDULINGPROBLEM_H
#define WSEC_COMPILER_SCHEDULE_SCHEDULINGPROBLEM_H

#include <cstddef>
#include <cstdint>
#include <string>
#include <vector>

namespace wsec {

/// What a buffer is for.
enum class BufferUse { Result, Scratch, Persistent };

/// What one kernel reads, makes and borrows, in bytes per PE.
struct KernelMemory {
  std::string name; // for reports, with its ONNX nodes
  /// Kernels whose results it reads; all come earlier in the list.
  std::vector<size_t> operands;
  int64_t resultBytes = 0; // 0: no result stays on the wafer
  int64_t scratchBytes = 0;
  /// Which of `operands` the result may overwrite if it is their last use:
  /// element i of the result needs element i of them and no other.
  std::vector<size_t> overwrites;
  size_t region = 0; ///< whose PEs hold its result and scratch
  /// Kernels that it follows for another reason: they store what it loads, or
  /// what one of the two writes stays on the wafer. All come earlier in the
  /// list.
  std::vector<size_t> after = {};
  double cycles = 0; ///< predicted
  /// Equal for results that are laid out alike, as code sees them.
  size_t layoutClass = 0;
  size_t entry = 0; ///< the kernels of an entry stand together
};

/// What stays in all PEs of a region, between the launches of all entries.
struct PersistentMemory {
  std::string name; // for reports
  size_t region = 0;
  int64_t bytes = 0;
};

/// Addresses are meaningless where the kernel asked for 0 bytes.
struct Schedule {
  std::vector<int64_t> slots; // kernel i runs as the slots[i]-th
  std::vector<int64_t> resultAddresses;
  std::vector<int64_t> scratchAddresses;
  std::vector<int64_t> persistentAddresses;
  int64_t highWater = 0; // end of the highest buffer, 0 if none
  /// Whose buffer that is: a kernel's, or behind these that of what persists.
  size_t highWaterKernel = 0;
};

/// A result lives from the slot of its kernel to the slot of its last reader,
/// scratch in the slot of its kernel, what persists in all slots. The entries
/// of a program have their slots one after the other. Three kernels, b
/// overwrites a's result:
///
///   slot       0   1   2        address  0  |aaaa|bbbb|bbbb|   a, then b
///   a (64 B)  def use                   64  |    |ssss|    |   scratch of b
///   b (64 B)      def use              128  |    |    |cccc|   c
///   c (32 B)          def
class SchedulingProblem {
public:
  /// Buffers go to [firstAddress, endAddress) of the SRAM of every PE.
  int64_t firstAddress = 0, endAddress = 0;
  /// Bytes of code below firstAddress, for messages.
  int64_t codeBytes = 0;
  std::vector<KernelMemory> kernels;
  std::vector<PersistentMemory> persistents;

  static constexpr int64_t alignment = 4;

  /// Empty if the input makes sense, else what is wrong with it.
  std::string check() const;

  /// Bytes of result, scratch and operands of the launch that has most of them;
  /// one operand may be where its result is.
  int64_t bytesOfLaunch() const;

  /// Empty if `schedule` is legal, else the first rule it breaks:
  ///   T1 each kernel has a slot of its own, 0 to n-1, after its operands',
  ///      those that it follows, and those of the entries before its own
  ///   T2 buffers are aligned and lie in [firstAddress, endAddress)
  ///   T3 buffers that live in one slot of one region do not overlap, but for
  ///      a result that overwrites, from the same address, an operand that
  ///      allows it
  ///   T4 the high-water mark and its kernel are right
  /// `about`: the owners that it concerns, as of `ownerName`.
  std::string verify(const Schedule &schedule,
                     std::vector<size_t> *about = nullptr) const;

  /// The kernel, or what persists, behind `Schedule::highWaterKernel`.
  const std::string &ownerName(size_t owner) const {
    return owner < kernels.size() ? kernels[owner].name
                                  : persistents[owner - kernels.size()].name;
  }
};

} // namespace wsec

#endif // WSEC_COMPILER_SCHEDULE_SCHEDULINGPROBLEM_H
