// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
#ifndef RUNTIME_TRAIN_SERVETRAINING_H
#define RUNTIME_TRAIN_SERVETRAINING_H

#include "runtime/host/EngineChoice.h"
#include "runtime/swarmx/PassLink.h"

#include <string>

namespace wsec::runtime {

/// In process 0 of several: tells the others which program there is to run,
/// where all of them find it, on how many systems, by which engine.
void tellProgram(Link &link, const std::string &program, unsigned systems,
                 Engine engine);

/// In another one: waits for that, and serves its systems until the run ends
/// (serveSystems), on at most `threads` threads. False: with an error, which
/// process 0 reports.
bool serveTraining(Link &link, unsigned threads);

} // namespace wsec::runtime

#endif // RUNTIME_TRAIN_SERVETRAINING_H
