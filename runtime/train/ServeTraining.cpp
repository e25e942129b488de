// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
#include "runtime/train/ServeTraining.h"
#include "runtime/memoryx/ParameterStore.h"
#include "runtime/program/Errors.h"
#include "runtime/swarmx/WireWords.h"
#include "runtime/threads/StartThread.h"
#include "runtime/train/BatchShare.h"

#include "absl/strings/str_cat.h"

#include <algorithm>
#include <deque>
#include <memory>
#include <thread>

namespace wsec::runtime {

using Kind = Message::Kind;

// ---------------------------------------------------------------- messages

/// Down from process to process, each of which has up to four below it, so that
/// what leaves process 0 does not grow with them.
static void sendDown(Link &link, const Message &message) {
  for (unsigned i = 1; i <= Tree::fanOut; ++i)
    if (const unsigned below = link.rank() * Tree::fanOut + i;
        below < link.size())
      link.send(below, message);
}

static std::vector<uint8_t> bytesOf(const std::vector<std::string> &texts) {
  std::vector<uint8_t> bytes;
  for (const std::string &text : texts) {
    bytes.insert(bytes.end(), text.begin(), text.end());
    bytes.push_back(0);
  }
  return bytes;
}

/// The next of such texts, which begins at `at` and ends before a zero.
static std::string nextText(const Message &message, size_t &at) {
  const auto begin = message.bytes.begin() + ptrdiff_t(at);
  const std::string text(begin, std::find(begin, message.bytes.end(), 0));
  at += text.size() + 1;
  return text;
}

void tellTraining(Link &link, const SharedTraining &training) {
  sendDown(link,
           {Kind::Program,
            {training.systems, uint64_t(training.engine)},
            bytesOf({training.program, training.weightFolder, training.loss})});
}

void tellWeights(Link &link, unsigned number,
                 const std::vector<float> &weights) {
  const auto *bytes = reinterpret_cast<const uint8_t *>(weights.data());
  sendDown(link, {Kind::Weights,
                  {number},
                  {bytes, bytes + weights.size() * sizeof(float)}});
}

void tellInput(Link &link, const std::string &name, const HostTensor &tensor) {
  Message message{Kind::Input, {uint64_t(tensor.type)}, bytesOf({name})};
  message.numbers.insert(message.numbers.end(), tensor.shape.begin(),
                         tensor.shape.end());
  message.bytes.insert(message.bytes.end(), tensor.bytes.begin(),
                       tensor.bytes.end());
  sendDown(link, message);
}

void tellBatch(Link &link, uint64_t number, bool withGradients) {
  sendDown(link, {Kind::Batch, {number, withGradients}});
}

// ---------------------------------------------------------------- a process

namespace {
/// Systems of a process that is not the first.
class ServedTraining {
public:
  ServedTraining(Link &link, const SharedTraining &training, unsigned threads)
      : link(link), training(training),
        cluster(valueOf(Session::open(
                    training.program,
                    std::vector<std::string>{training.weightFolder})),
                training.systems,
                samplesOf(link.rank(), link.size(), training.systems)),
        call(valueOf(cluster.session().callOf("", {}))),
        copies(StoreOptions()) {
    options.threads = threads;
    options.replay = true;
    for (const std::string &name : cluster.session().parameters()) {
      const HostTensor its = valueOf(cluster.session().parameter(name));
      copies.add(name, {its.shape.begin(), its.shape.end()},
                 /*isTrainable=*/false);
    }
    link.send(0, {Kind::Ready, {}});
  }
  ~ServedTraining() { join(); }

  void dispatch(const Message &message) {
    if (message.kind == Kind::Weights)
      copies.write(message.numbers.at(0), program::ElementType::F32,
                   message.bytes.data());
    else if (message.kind == Kind::Input)
      bind(message);
    else if (message.kind == Kind::Batch)
      begin(message.numbers.at(0), message.numbers.at(1) != 0);
    else if (message.kind == Kind::Partials)
      take(message);
  }

private:
  void bind(const Message &message) {
    join();
    size_t at = 0;
    const std::string name = nextText(message, at);
    if (isMade)
      cluster.clearInputs();
    isMade = false;
    requireOk(cluster.bind(
        name, {DataType(message.numbers.at(0)),
               {message.numbers.begin() + 1, message.numbers.end()},
               {message.bytes.begin() + ptrdiff_t(at), message.bytes.end()}}));
  }

  /// Partials of a batch may come before process 0 has told of it.
  void take(const Message &message) {
    if (reduction && GradientSums::areOf(message, batch, copies.size()))
      reduction->dispatch(message);
    else
      early.push_back(message);
  }

  void begin(uint64_t number, bool withGradients) {
    join();
    isMade = true;
    sums.reset();
    if (withGradients) {
      batch = number;
      const Tree &tree = cluster.tree();
      sums.emplace(cluster.session(), tree, cluster.calls());
      reduction.emplace(link, tree, ReduceOrder::Canonical, cluster.calls(),
                        Reduction::Done());
      for (const Message &message : std::exchange(early, {}))
        take(message);
    }
    worker = startThread("who makes a batch", [this] { make(); });
  }

  void make() {
    Message message{Kind::Share, {}};
    try {
      for (const std::unique_ptr<Session> &session : cluster.emulated())
        requireOk(session->bindParameters(copies));
      packShare(makeShare(cluster, sums ? call : untilLoss(call, training.loss),
                          options, training.engine, training.loss,
                          sums ? &*sums : nullptr),
                message);
      if (sums)
        sums->send(cluster.systemsHere(), batch, *reduction);
    } catch (...) {
      message = {Kind::Failed, {0}};
      packError(std::current_exception(), message);
    }
    link.send(0, std::move(message));
  }

  void join() {
    if (worker.joinable())
      worker.join();
  }

  Link &link;
  const SharedTraining training;
  Cluster cluster;
  const Call call;
  ParameterStore copies; ///< frozen: others update them
  EngineOptions options;
  uint64_t batch = 0; ///< with gradients; the last
  bool isMade = false;
  std::optional<GradientSums> sums;
  std::optional<ReductionLink> reduction;
  std::deque<Message> early;
  std::thread worker;
};
} // namespace

static SharedTraining trainingOf(const Message &message) {
  SharedTraining training;
  size_t at = 0;
  training.program = nextText(message, at);
  training.weightFolder = nextText(message, at);
  training.loss = nextText(message, at);
  training.systems = unsigned(message.numbers.at(0));
  training.engine = Engine(message.numbers.at(1));
  return training;
}

static bool serve(Link &link, unsigned threads) {
  std::unique_ptr<ServedTraining> served;
  for (;;) {
    const auto received = link.receive();
    if (!received)
      continue;
    const Message &message = received->second;
    if (message.kind == Kind::End)
      return message.numbers.at(0) != 0;
    if (message.kind != Kind::Partials)
      sendDown(link, message);
    if (message.kind == Kind::Program)
      served =
          std::make_unique<ServedTraining>(link, trainingOf(message), threads);
    else if (served)
      served->dispatch(message);
  }
}

bool serveTraining(Link &link, unsigned threads) {
  try {
    return serve(link, threads);
  } catch (const Error &error) {
    refuseToServe(
        link, std::make_exception_ptr(Error(
                  error.errorClass(), absl::StrCat("process ", link.rank(),
                                                   ": ", error.message()))));
    return false;
  }
}

} // namespace wsec::runtime
