// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
#include "runtime/wavelet/WaveletEngine.h"

#include "runtime/pe/VectorKernels.h"
#include "runtime/wavelet/SteppedRun.h"

namespace wsec::runtime {

using namespace wavelet;

WaveletEngine::WaveletEngine(const program::Program &program,
                             EngineOptions options)
    : program(program), options(options), mesh(program) {
  requireProcessor();
}

RunResult WaveletEngine::run(HostPort &host) {
  return run(host, Call(program));
}

RunResult WaveletEngine::run(HostPort &host, const Call &call,
                             PersistentState *state) {
  LaunchLog launches(call.launches(), options.furthestLaunch);
  StoreOrder order(call, host);
  EastChannels east(call, host, launches, order, options.observer);
  Agenda agenda;
  Fabric fabric(program, mesh, agenda, east);
  fabric.observer = options.observer;
  HostChannels west(call, host, order, fabric, agenda);
  SteppedRun run(call, state, mesh, options, host, launches, west, east,
                 fabric);
  RunResult result = run.run([&] {
    std::vector<uint32_t> due, dropped;
    while (agenda.advance(due)) {
      run.beginCycle(agenda.now());
      dropped.clear();
      for (uint32_t entry : due)
        if (partyOf(entry) == Party::Ramp)
          if (int route = int(indexOf(entry)); fabric.dropNow(route))
            dropped.push_back(uint32_t(fabric.peOf(route)));
      for (uint32_t pe : dropped)
        run.step(int(pe));
      for (uint32_t entry : due) {
        const uint32_t index = indexOf(entry);
        switch (partyOf(entry)) {
        case Party::Router:
          fabric.wakeRoute(int(index));
          break;
        case Party::Edge:
          west.step(int(index));
          break;
        case Party::Processor:
          run.step(int(index));
          break;
        case Party::Ramp:
          break;
        }
      }
      fabric.step();
    }
  });
  lastHops = fabric.hops();
  return result;
}

} // namespace wsec::runtime
