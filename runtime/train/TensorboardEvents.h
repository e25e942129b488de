// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
#ifndef RUNTIME_TRAIN_TENSORBOARDEVENTS_H
#define RUNTIME_TRAIN_TENSORBOARDEVENTS_H

#include "runtime/train/Training.h"

#include <cstdio>
#include <string>

namespace wsec::runtime {

/// A run as TensorBoard reads it: a file of events, each a number of a step
/// with a name, `train/loss` or `eval/loss`. A run that goes on begins a file
/// of its own, which makes TensorBoard forget what the one before has of later
/// steps.
///
/// A record is the length of an event, a checksum, the event, a checksum; an
/// event is a message of protocol buffers (event.proto, summary.proto).
class TensorboardEvents : public TrainingObserver {
public:
  /// `folder` empty: nothing is written. Throws IoError.
  explicit TensorboardEvents(std::string folder) : folder(std::move(folder)) {}
  ~TensorboardEvents() override;

  void begins(uint64_t step, const Trainer &trainer) override;
  void ended(const TrainingStep &step) override;
  void ended(const Evaluation &evaluation) override;

private:
  void write(const std::string &event);
  void writeNumber(uint64_t step, const std::string &name, double value);

  const std::string folder;
  std::string path;
  std::FILE *file = nullptr;
};

} // namespace wsec::runtime

#endif // RUNTIME_TRAIN_TENSORBOARDEVENTS_H
