// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
// Training over several processes: process 0 has the store, the data and the
// log (Trainer); each has the program, its own systems and a copy of the
// parameters, and makes the calls of its systems.
//
//   process 0   Program                             others    Ready
//   a batch     Weights (after an update), Input,             Partials, up the
//               Batch: down, from process to process           tree; Share
#ifndef RUNTIME_TRAIN_SERVETRAINING_H
#define RUNTIME_TRAIN_SERVETRAINING_H

#include "runtime/host/EngineChoice.h"
#include "runtime/host/HostTensor.h"
#include "runtime/swarmx/PassLink.h"

#include <string>
#include <vector>

namespace wsec::runtime {

/// What processes of a run of training have in common.
struct SharedTraining {
  std::string program;      ///< where all of them find it,
  std::string weightFolder; ///< and its weights
  std::string loss;         ///< an output
  unsigned systems = 1;
  Engine engine = Engine::Burst;
};

// In process 0.
void tellTraining(Link &link, const SharedTraining &training);
/// Parameter `number` of the program.
void tellWeights(Link &link, unsigned number,
                 const std::vector<float> &weights);
/// An input with the rows of all calls.
void tellInput(Link &link, const std::string &name, const HostTensor &tensor);
/// A batch is to be made of these; `number` counts those with gradients.
void tellBatch(Link &link, uint64_t number, bool withGradients);

/// In another one: waits for a program, and makes its part of batches until the
/// run ends, on at most `threads` threads. False: with an error, which process
/// 0 reports.
bool serveTraining(Link &link, unsigned threads);

} // namespace wsec::runtime

#endif // RUNTIME_TRAIN_SERVETRAINING_H
