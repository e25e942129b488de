// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
#include "runtime/train/Trainer.h"
#include "runtime/memoryx/Checkpoint.h"
#include "runtime/program/NearestNames.h"
#include "runtime/swarmx/Reduction.h"

#include "absl/strings/str_cat.h"
#include "absl/strings/str_join.h"

#include <algorithm>

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

template <class T>
static T valueOf(absl::StatusOr<T> value) {
  requireOk(value.status());
  return *std::move(value);
}

Trainer::Trainer(std::unique_ptr<Cluster> wafers, StoreOptions options,
                 const std::string &checkpoint)
    : cluster(std::move(wafers)), parameters(std::move(options)) {
  if (cluster->session().parameters().empty())
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
              const std::string &checkpoint) {
  return asStatusOr([&] {
    return std::unique_ptr<Trainer>(
        new Trainer(std::move(wafers), std::move(options), checkpoint));
  });
}

void Trainer::startFromProgram() {
  const Session &session = cluster->session();
  for (const std::string &name : session.parameters()) {
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
  const std::vector<std::string> wanted = session.parameters();
  for (const std::string &name : wanted) {
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
        std::find(wanted.begin(), wanted.end(), name) == wanted.end())
      refuse("parameter " + inQuotes(name) +
             " does not train in the program, or is not there");
}

void Trainer::bindParameters() {
  for (const std::unique_ptr<Session> &session : cluster->emulated())
    requireOk(session->bindParameters(parameters));
}

absl::StatusOr<ClusterRun> Trainer::evaluate(const Call &call,
                                             EngineOptions options,
                                             Engine engine,
                                             const AfterCall &after) {
  return asStatusOr([&] {
    bindParameters();
    return valueOf(cluster->run(call, options, nullptr, engine, after));
  });
}

absl::StatusOr<ClusterRun> Trainer::makeGradients(const Call &call,
                                                  EngineOptions options,
                                                  Engine engine,
                                                  const AfterCall &after) {
  return asStatusOr([&] {
    const Tree &tree = cluster->tree();
    const uint64_t calls = cluster->calls();
    // By system, then by parameter.
    std::vector<std::vector<SystemSum>> sums(
        tree.systems(),
        std::vector<SystemSum>(parameters.size(),
                               SystemSum(ReduceOrder::Canonical, calls)));
    const auto add = [&](unsigned system, uint64_t number,
                         const Session &session) {
      Gradients gradients = valueOf(session.gradients());
      for (size_t i = 0; i < parameters.size(); ++i) {
        const auto its = gradients.find(parameters.name(i));
        sums[system][i].add(number,
                            its != gradients.end()
                                ? std::move(its->second)
                                : std::vector<float>(parameters.elements(i)));
      }
      if (after)
        after(system, number, session);
    };
    ClusterRun run = valueOf(evaluate(call, options, engine, add));
    Reduction reduction(tree, ReduceOrder::Canonical, calls,
                        [&](unsigned parameter, std::vector<float> sum) {
                          parameters.accumulate(parameter,
                                                program::ElementType::F32,
                                                sum.data(), 0, calls);
                        });
    for (unsigned i = 0; i < parameters.size(); ++i)
      for (unsigned system = 0; system < tree.systems(); ++system)
        reduction.send(system, i, sums[system][i].take());
    edgeBytes.clear();
    for (unsigned member = 0; member < tree.members(); ++member)
      edgeBytes.push_back(reduction.edgeBytes(member));
    return run;
  });
}

absl::StatusOr<ParameterStore::StepResult> Trainer::endStep(double learningRate,
                                                            double divisor) {
  return asStatusOr([&] { return parameters.endStep(learningRate, divisor); });
}

} // namespace wsec::runtime
