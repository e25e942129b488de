// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
#include "runtime/train/Trainer.h"
#include "runtime/memoryx/Checkpoint.h"
#include "runtime/program/NearestNames.h"
#include "runtime/swarmx/ReductionLink.h"
#include "runtime/swarmx/WireWords.h"
#include "runtime/threads/StartThread.h"
#include "runtime/train/ServeTraining.h"

#include "absl/strings/str_cat.h"
#include "absl/strings/str_join.h"

#include <algorithm>
#include <atomic>
#include <thread>

namespace wsec::runtime {

static program::ElementType elementType(DataType type) {
  switch (type) {
  case DataType::Float16:
    return program::ElementType::F16;
  case DataType::BFloat16:
    return program::ElementType::BF16;
  default:
    return program::ElementType::F32;
  }
}

Trainer::Trainer(std::unique_ptr<Cluster> wafers, StoreOptions options,
                 const std::string &checkpoint, std::string loss,
                 std::shared_ptr<Link> link)
    : cluster(std::move(wafers)), parameters(std::move(options)),
      names(cluster->session().parameters()), loss(std::move(loss)),
      link(std::move(link)) {
  if (names.empty())
    throw Error(ErrorClass::BadCall,
                "the program has no parameter that trains; compile it with "
                "--train");
  if (checkpoint.empty()) {
    startFromProgram();
  } else {
    Checkpoint::load(parameters, checkpoint);
    requireSameParameters(checkpoint);
  }
}

absl::StatusOr<std::unique_ptr<Trainer>>
Trainer::open(std::unique_ptr<Cluster> wafers, StoreOptions options,
              const std::string &checkpoint, const std::string &loss,
              std::shared_ptr<Link> link) {
  return asStatusOr([&] {
    return std::unique_ptr<Trainer>(new Trainer(std::move(wafers),
                                                std::move(options), checkpoint,
                                                loss, std::move(link)));
  });
}

void Trainer::startFromProgram() {
  const Session &session = cluster->session();
  for (const std::string &name : names) {
    const HostTensor start = valueOf(session.parameter(name));
    const size_t number =
        parameters.add(name, {start.shape.begin(), start.shape.end()});
    parameters.write(number, elementType(start.type), start.bytes.data());
  }
}

void Trainer::requireSameParameters(const std::string &checkpoint) {
  const auto refuse = [&](const std::string &what) {
    throw Error(ErrorClass::BadState, "checkpoint " + inQuotes(checkpoint) +
                                          " is of another model: " + what);
  };
  const Session &session = cluster->session();
  for (const std::string &name : names) {
    size_t number = 0;
    while (number < parameters.size() && parameters.name(number) != name)
      ++number;
    if (number == parameters.size())
      refuse("it has no parameter " + inQuotes(name));
    const HostTensor its = valueOf(session.parameter(name));
    const std::vector<uint64_t> shape(its.shape.begin(), its.shape.end());
    if (parameters.shape(number) != shape || !parameters.isTrainable(number))
      refuse(absl::StrCat("parameter ", inQuotes(name), " is [",
                          absl::StrJoin(parameters.shape(number), ", "),
                          "] there, and [", absl::StrJoin(shape, ", "),
                          "] in the program"));
  }
  for (size_t number = 0; number < parameters.size(); ++number)
    if (const std::string &name = parameters.name(number);
        std::find(names.begin(), names.end(), name) == names.end())
      refuse("parameter " + inQuotes(name) +
             " does not train in the program, or is not there");
}

void Trainer::use(std::unique_ptr<Cluster> wafers) {
  if (wafers->session().parameters() != names)
    throw Error(ErrorClass::BadCall, "the program has other parameters");
  cluster = std::move(wafers);
}

void Trainer::bindParameters() {
  for (const std::unique_ptr<Session> &session : cluster->emulated())
    requireOk(session->bindParameters(parameters));
}

// ---------------------------------------------------------------- a batch

/// Weights go down once for each step, however many calls that has.
void Trainer::tellOthers(bool withGradients) {
  awaitOthers(*link, ready);
  if (link->size() == 1)
    return;
  if (known != parameters.steps())
    for (unsigned number = 0; number < names.size(); ++number)
      tellWeights(*link, number,
                  parameters.weights(parameters.find(names[number])));
  known = parameters.steps();
  for (const auto &[name, tensor] : cluster->bound().bound())
    tellInput(*link, name, tensor);
  tellBatch(*link, batches, withGradients);
}

/// With the share of this process made by a thread, as the link is this one's.
BatchShare Trainer::makeBatch(const std::function<BatchShare()> &here,
                              ReductionLink *reduction,
                              const std::function<bool()> &isSummed) {
  if (link->size() == 1)
    return here();
  BatchShare share;
  std::exception_ptr failure;
  std::atomic<bool> ended = false;
  std::thread worker = startThread("who makes a batch", [&] {
    try {
      share = here();
    } catch (...) {
      failure = std::current_exception();
    }
    ended = true;
  });
  std::vector<Message> shares;
  const auto isWhole = [&] {
    return shares.size() + 1 == link->size() && isSummed();
  };
  std::exception_ptr theirs;
  while (!ended || (!failure && !theirs && !isWhole()))
    try {
      auto received = link->receive();
      if (!received)
        continue;
      Message &message = received->second;
      if (message.kind == Message::Kind::Failed)
        theirs = unpackError(message, 1);
      else if (message.kind == Message::Kind::Share)
        shares.push_back(std::move(message));
      else if (reduction)
        reduction->dispatch(message);
    } catch (...) { // the thread is awaited
      theirs = std::current_exception();
    }
  worker.join();
  for (const std::exception_ptr &each : {failure, theirs})
    if (each)
      std::rethrow_exception(each);
  for (const Message &message : shares)
    share.join(unpackShare(message, share.run));
  return share;
}

static void inOrder(BatchShare &share) {
  std::sort(share.losses.begin(), share.losses.end());
}

absl::StatusOr<BatchShare> Trainer::evaluate(const Call &call,
                                             EngineOptions options,
                                             Engine engine,
                                             const AfterCall &after) {
  return asStatusOr([&] {
    tellOthers(false);
    bindParameters();
    BatchShare share = makeBatch(
        [&] {
          return makeShare(*cluster, untilLoss(call, loss), options, engine,
                           loss, nullptr, after);
        },
        nullptr, [] { return true; });
    inOrder(share);
    return share;
  });
}

absl::StatusOr<BatchShare> Trainer::makeGradients(const Call &call,
                                                  EngineOptions options,
                                                  Engine engine,
                                                  const AfterCall &after) {
  return asStatusOr([&] {
    ++batches;
    tellOthers(true);
    bindParameters();
    const Tree &tree = cluster->tree();
    const uint64_t calls = cluster->calls();
    std::atomic<size_t> summed = 0;
    GradientSums sums(cluster->session(), tree, calls);
    ReductionLink reduction(
        *link, tree, ReduceOrder::Canonical, calls,
        [&](unsigned stream, const std::vector<float> &sum) {
          const std::string &name = names[stream % names.size()];
          parameters.accumulate(parameters.find(name),
                                program::ElementType::F32, sum.data(), 0,
                                calls);
          ++summed;
        });
    BatchShare share = makeBatch(
        [&] {
          BatchShare made =
              makeShare(*cluster, call, options, engine, loss, &sums, after);
          sums.send(cluster->systemsHere(), batches, reduction);
          return made;
        },
        &reduction, [&] { return summed == names.size(); });
    inOrder(share);
    edgeBytes.clear();
    for (unsigned member = 0; member < tree.members(); ++member)
      edgeBytes.push_back(reduction.edgeBytes(member));
    return share;
  });
}

absl::StatusOr<ParameterStore::StepResult> Trainer::endStep(double learningRate,
                                                            double divisor) {
  return asStatusOr([&] { return parameters.endStep(learningRate, divisor); });
}

} // namespace wsec::runtime
