// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
#ifndef RUNTIME_ENGINE_HOSTPORT_H
#define RUNTIME_ENGINE_HOSTPORT_H

#include "runtime/pe/UnalignedFloat.h"

#include <cstddef>
#include <cstdint>
#include <memory>

namespace wsec::runtime {

/// rows x length words, any 32 bits: word w of row r lies at data + r * stride
/// + w * wordStride. Their order on the wire is row after row. They are read as
/// UnalignedFloat: `data` need not be a multiple of four. `owner` keeps `data`
/// alive and unchanged.
struct WordView {
  const float *data = nullptr;
  size_t rows = 0;
  size_t length = 0;
  size_t stride = 0;
  std::shared_ptr<const void> owner;
  size_t wordStride = 1;
  /// Null, or for each word of a row: of a pair it has only one element.
  const uint8_t *halves = nullptr;
  bool constant = false; ///< the same words in all runs

  size_t words() const { return rows * length; }
  /// Word `i` on the wire.
  float word(size_t i) const {
    const UnalignedFloat *from = data;
    return from[i / length * stride + i % length * wordStride];
  }
  bool half(size_t i) const { return halves && halves[i % length]; }
  bool empty() const { return words() == 0; }
};

/// The outside world as the emulator sees it: a host that streams words to the
/// channels of the west edge and takes words from the channels of the east
/// edge. `stream` indexes Program.streams, `channel` the channels of that
/// stream.
///
/// Calls for different (stream, channel) pairs may come from different threads
/// at the same time; calls for one pair never overlap. What `next` returns must
/// depend only on its arguments and on the earlier calls for the pair: the
/// cycle count of a run follows from it.
class HostPort {
public:
  virtual ~HostPort() = default;

  /// All words `stream` moves through `channel` for one launch.
  virtual uint64_t words(uint32_t stream, uint32_t channel) = 0;

  /// The next words of an In stream: at least one and at most `maxWords`, all
  /// for one launch; behind the last comes the first again, for the next launch
  /// that lists the stream. Views whose rows are whole lines let
  /// the injectors cut out their windows without copying.
  virtual WordView next(uint32_t stream, uint32_t channel, size_t maxWords) = 0;

  /// Words of an In stream that are constant and known, whole launches of them,
  /// need not be asked for: they count as taken.
  virtual void countDelivered(uint32_t stream, uint32_t channel,
                              uint64_t words);

  /// The next words of an Out stream, in the order in which they leave. They
  /// are valid during the call.
  virtual void store(uint32_t stream, uint32_t channel,
                     const WordView &words) = 0;

  /// Begins the run anew: the same words come again, and what was stored is
  /// forgotten. False: it cannot.
  virtual bool rewind();

  /// The elements of a tensor that host copies read, and of an output that
  /// they write; null: the host has none. Only for programs with copies.
  virtual const uint8_t *tensorElements(uint32_t tensor);
  virtual uint8_t *outputElements(uint32_t tensor);
};

inline void HostPort::countDelivered(uint32_t, uint32_t, uint64_t) {}
inline bool HostPort::rewind() { return false; }
inline const uint8_t *HostPort::tensorElements(uint32_t) { return nullptr; }
inline uint8_t *HostPort::outputElements(uint32_t) { return nullptr; }

} // namespace wsec::runtime

#endif // RUNTIME_ENGINE_HOSTPORT_H
