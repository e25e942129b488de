// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
#include "runtime/train/ServeTraining.h"
#include "runtime/program/Errors.h"
#include "runtime/program/Loader.h"

namespace wsec::runtime {

void tellProgram(Link &link, const std::string &program, unsigned systems,
                 Engine engine) {
  for (unsigned process = 1; process < link.size(); ++process)
    link.send(process, {Message::Kind::Program,
                        {systems, uint64_t(engine)},
                        {program.begin(), program.end()}});
}

static bool serveProgram(Link &link, const std::string &path, unsigned systems,
                         Engine engine, unsigned threads) {
  const auto loaded = LoadedProgram::open(path);
  const Call call(loaded->program(), findEntry(loaded->program(), ""), {});
  EngineOptions options;
  options.threads = 1;
  const Engine chosen = chooseEngine(engine, call, options);
  return serveSystems(link, call, systems, threads, [&](HostPort &port) {
    return emulateOnce(chosen, call, nullptr, options, port);
  });
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
