// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
#ifndef RUNTIME_HOST_COUNTINGPORT_H
#define RUNTIME_HOST_COUNTINGPORT_H

#include "runtime/host/Session.h"

namespace wsec::runtime {

/// Counts what passes on its way to the wafer, unless `progress` is null.
class CountingPort : public HostPort {
public:
  CountingPort(HostPort &port, Progress *progress)
      : port(port), progress(progress),
        before(progress ? progress->words.load() : 0) {}

  uint64_t words(uint32_t stream, uint32_t channel) override {
    return port.words(stream, channel);
  }
  WordView next(uint32_t stream, uint32_t channel, size_t maxWords) override {
    WordView view = port.next(stream, channel, maxWords);
    if (progress)
      progress->words.fetch_add(view.words(), std::memory_order_relaxed);
    return view;
  }
  void countDelivered(uint32_t stream, uint32_t channel,
                      uint64_t words) override {
    port.countDelivered(stream, channel, words);
    if (progress)
      progress->words.fetch_add(words, std::memory_order_relaxed);
  }
  void store(uint32_t stream, uint32_t channel,
             const WordView &words) override {
    port.store(stream, channel, words);
  }
  bool rewind() override {
    if (!port.rewind())
      return false;
    if (progress)
      progress->words = before;
    return true;
  }
  const uint8_t *tensorElements(uint32_t tensor) override {
    return port.tensorElements(tensor);
  }
  uint8_t *outputElements(uint32_t tensor) override {
    return port.outputElements(tensor);
  }

private:
  HostPort &port;
  Progress *progress;
  const uint64_t before; ///< words of other runs
};

} // namespace wsec::runtime

#endif // RUNTIME_HOST_COUNTINGPORT_H
