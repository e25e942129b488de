// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
#include "runtime/train/ServeTraining.h"
#include "runtime/program/Errors.h"
#include "runtime/program/Loader.h"
#include "runtime/strips/StripsEngine.h"

#include <memory>
#include <mutex>
#include <optional>
#include <vector>

namespace wsec::runtime {

void tellProgram(Link &link, const std::string &program, unsigned systems,
                 Engine engine) {
  for (unsigned process = 1; process < link.size(); ++process)
    link.send(process, {Message::Kind::Program,
                        {systems, uint64_t(engine)},
                        {program.begin(), program.end()}});
}

namespace {
/// Wafers that make one call after the other, as Session does: what they have
/// prepared, or recorded, for one is there for the next; cycles, which depend
/// on no data, are those of the first where streams counts them.
class ServedWafers {
public:
  ServedWafers(const Call &call, Engine engine) : call(call) {
    options.threads = 1;
    options.replay = true;
    chosen = chooseEngine(engine, call, options);
    countsOnce = engine == Engine::Burst && chosen == Engine::Streams &&
                 StripsEngine::unsupported(call.program()).empty();
  }

  RunResult run(HostPort &port) {
    const std::optional<RunResult> first = counted();
    if (chosen != Engine::Strips && !first) {
      RunResult result = emulateOnce(chosen, call, nullptr, options, port);
      std::lock_guard guard(lock);
      if (countsOnce)
        timed = result;
      return result;
    }
    std::unique_ptr<StripsEngine> engine = take();
    RunResult result = engine->run(port, call, nullptr);
    if (first) {
      result.cycles = first->cycles;
      result.launches = first->launches;
      result.kernelCycles = first->kernelCycles;
    }
    std::lock_guard guard(lock);
    idle.push_back(std::move(engine));
    return result;
  }

private:
  std::optional<RunResult> counted() {
    std::lock_guard guard(lock);
    return timed;
  }
  std::unique_ptr<StripsEngine> take() {
    std::lock_guard guard(lock);
    if (idle.empty())
      return std::make_unique<StripsEngine>(call.program(), options);
    std::unique_ptr<StripsEngine> engine = std::move(idle.back());
    idle.pop_back();
    return engine;
  }

  const Call &call;
  EngineOptions options;
  Engine chosen;
  bool countsOnce;
  std::mutex lock;
  std::optional<RunResult> timed;
  std::vector<std::unique_ptr<StripsEngine>> idle;
};
} // namespace

static bool serveProgram(Link &link, const std::string &path, unsigned systems,
                         Engine engine, unsigned threads) {
  const auto loaded = LoadedProgram::open(path);
  const Call call(loaded->program(), findEntry(loaded->program(), ""), {});
  ServedWafers wafers(call, engine);
  return serveSystems(link, call, systems, threads,
                      [&](HostPort &port) { return wafers.run(port); });
}

bool serveTraining(Link &link, unsigned threads) {
  for (;;) {
    const auto received = link.receive();
    if (!received)
      continue;
    const Message &message = received->second;
    if (message.kind == Message::Kind::End)
      return message.numbers.at(0) != 0;
    if (message.kind != Message::Kind::Program)
      continue;
    try {
      return serveProgram(link, {message.bytes.begin(), message.bytes.end()},
                          unsigned(message.numbers.at(0)),
                          Engine(message.numbers.at(1)), threads);
    } catch (const Error &error) {
      refuseToServe(link, std::make_exception_ptr(
                              Error(error.errorClass(),
                                    "process " + std::to_string(link.rank()) +
                                        ": " + error.message())));
      return false;
    }
  }
}

} // namespace wsec::runtime
