// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
#ifndef RUNTIME_SWARMX_SYSTEMPORT_H
#define RUNTIME_SWARMX_SYSTEMPORT_H

#include "runtime/program/Call.h"
#include "runtime/swarmx/Broadcast.h"

#include <atomic>
#include <map>

namespace wsec::runtime {

/// The channels of a call that bring the same words to all systems: those of In
/// streams of weights and constants only. Rows of a weight that an input
/// selects differ from system to system.
class SharedChannels {
public:
  explicit SharedChannels(const Call &call);

  unsigned size() const { return unsigned(channels.size()); }
  /// -1: not shared.
  int find(uint32_t stream, uint32_t channel) const;
  /// Stream and channel of a number.
  std::pair<uint32_t, uint32_t> operator[](unsigned number) const {
    return channels[number];
  }

private:
  std::vector<std::pair<uint32_t, uint32_t>> channels;
  std::map<std::pair<uint32_t, uint32_t>, int> numbers;
};

/// Words of a block of a broadcast. The engines ask for as many at a time, so
/// that what they are given does not depend on where it comes from.
constexpr size_t blockWords = size_t(1) << 14;

/// What one system sees of the store: shared channels come over the broadcast,
/// all others from `own`, where its outputs go, too.
class SystemPort : public HostPort {
public:
  SystemPort(HostPort &own, const SharedChannels &shared, Broadcast &broadcast,
             unsigned system, std::counting_semaphore<> *slots = nullptr);

  uint64_t words(uint32_t stream, uint32_t channel) override;
  void countDelivered(uint32_t stream, uint32_t channel,
                      uint64_t words) override;
  WordView next(uint32_t stream, uint32_t channel, size_t maxWords) override;
  void store(uint32_t stream, uint32_t channel, const WordView &words) override;
  const uint8_t *tensorElements(uint32_t tensor) override;
  uint8_t *outputElements(uint32_t tensor) override;

  /// Words that each shared channel has brought.
  const std::vector<uint64_t> &delivered() const { return taken; }
  /// Bytes of this system alone.
  uint64_t ownBytesIn() const { return wordsIn * sizeof(float); }
  uint64_t bytesOut() const { return wordsOut * sizeof(float); }

private:
  /// The rest of a block.
  struct Rest {
    WordView block;
    size_t row = 0, word = 0;
  };

  HostPort &own;
  const SharedChannels &shared;
  Broadcast &broadcast;
  const unsigned system;
  std::counting_semaphore<> *const slots;
  std::vector<Rest> rests;     ///< by shared channel
  std::vector<uint64_t> taken; ///< words, likewise
  std::atomic<uint64_t> wordsIn = 0, wordsOut = 0;
};

} // namespace wsec::runtime

#endif // RUNTIME_SWARMX_SYSTEMPORT_H
