// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
#ifndef RUNTIME_MEMORYX_MEMORYX_H
#define RUNTIME_MEMORYX_MEMORYX_H

#include "runtime/engine/HostPort.h"
#include "runtime/memoryx/GradientCollector.h"
#include "runtime/memoryx/TensorStore.h"
#include "runtime/program/Call.h"

#include <map>
#include <memory>
#include <set>
#include <vector>

namespace wsec::runtime {

class InChannel;
class OutBlocks;
class OutChannel;
class WrittenLines;

/// The parameter store as the wafer sees it in one call: streams weights,
/// constants and inputs in, takes outputs.
class MemoryX : public HostPort {
public:
  /// Every input that the entry reads must be bound. Throws OutOfBounds when a
  /// stream leaves its tensor. `store` must outlive this, as `written`, if it
  /// is not null: what runs of the same call before this one wrote out.
  MemoryX(TensorStore &store, const Call &call,
          WrittenLines *written = nullptr);
  /// The call of the only entry.
  explicit MemoryX(TensorStore &store);
  ~MemoryX() override;

  /// For another run of the call, behind one that has taken and given all its
  /// words. Inputs may have been bound anew, and parameters.
  void restart();

  /// Shows `take` each gradient of the runs to come when it is there; it has no
  /// elements then.
  void collectGradients(TakeGradient take);

  /// Outputs are zeros again, too.
  bool rewind() override;
  uint64_t words(uint32_t stream, uint32_t channel) override;
  WordView next(uint32_t stream, uint32_t channel, size_t maxWords) override;
  void store(uint32_t stream, uint32_t channel, const WordView &words) override;
  const uint8_t *tensorElements(uint32_t tensor) override;
  uint8_t *outputElements(uint32_t tensor) override;

  /// Words that SwarmX has brought from the store of another wafer, too.
  void countDelivered(uint32_t stream, uint32_t channel,
                      uint64_t words) override;

  /// Throws UnreadTraffic when words were not taken from an In stream, or did
  /// not arrive on an Out stream, of those that launches feed on; BadProgram
  /// when an output of the call is larger than what they bring.
  void finish();
  /// Outputs that the call writes, in order.
  std::set<uint32_t> outputs() const;

  /// Words that launches take from the store, in all and from weights and
  /// constants.
  uint64_t wordsIn() const;
  uint64_t weightWordsIn() const;

private:
  struct Stream {
    std::vector<std::unique_ptr<InChannel>> in;
    std::vector<OutBlocks> blocks; ///< of an Out stream, by segment
    std::vector<std::unique_ptr<OutChannel>> out;
  };
  InChannel &inChannel(uint32_t stream, uint32_t channel);
  OutChannel &outChannel(uint32_t stream, uint32_t channel);
  /// Outputs of which something is never written would show zeros.
  void checkWritten(std::map<uint32_t, uint64_t> written) const;
  /// The streams that launches feed on, in order, and how many launches.
  std::map<uint32_t, uint64_t> launched() const;
  /// Channels that add to the same elements add to sums of their own, so that
  /// it does not matter who comes first.
  void separateSums();
  void addSums();

  const Call call;
  const program::Program &program;
  TensorStore &tensors;
  std::vector<Stream> streams;
  std::unique_ptr<GradientCollector> gradients; ///< if somebody takes them
};

} // namespace wsec::runtime

#endif // RUNTIME_MEMORYX_MEMORYX_H
