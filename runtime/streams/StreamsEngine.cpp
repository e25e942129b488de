// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
#include "runtime/streams/StreamsEngine.h"

#include "runtime/pe/VectorKernels.h"
#include "runtime/program/Errors.h"
#include "runtime/streams/HostChannels.h"

namespace wsec::runtime {

using namespace streams;

StreamsEngine::StreamsEngine(const program::Program &program,
                             EngineOptions options)
    : program(program), options(options), mesh(program) {
  requireProcessor();
}

RunResult StreamsEngine::run(HostPort &host) {
  return run(host, Call(program));
}

RunResult StreamsEngine::run(HostPort &host, const Call &call,
                             PersistentState *state) {
  LaunchLog launches(call.launches(), options.furthestLaunch);
  StoreOrder order(call, host);
  EastChannels east(call, host, launches, order, options.observer);
  Agenda agenda;
  Network network(program, mesh, agenda, east);
  network.observer = options.observer;
  HostChannels west(call, network, agenda, host, order, options.observer);
  SteppedRun run(call, state, mesh, options, host, launches, west, east,
                 network);
  // The west edge, PEs, then routers.
  return run.run([&] {
    std::vector<uint32_t> due, late;
    while (agenda.advance(due)) {
      run.beginCycle(agenda.now());
      for (uint32_t entry : due)
        if (Agenda::isEdge(entry))
          west.step(int(Agenda::indexOf(entry)));
      for (uint32_t entry : due)
        if (!Agenda::isRouter(entry) && !Agenda::isEdge(entry))
          run.step(int(entry));
      agenda.takeLate(late);
      for (uint32_t pe : late)
        network.stepRouter(int(pe));
      for (uint32_t entry : due)
        if (Agenda::isRouter(entry))
          network.stepRouter(int(Agenda::indexOf(entry)));
    }
  });
}

} // namespace wsec::runtime
