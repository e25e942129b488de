// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
#include "runtime/train/Trainer.h"
#include "runtime/host/Batch.h"

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

Trainer::Trainer(std::unique_ptr<Session> session, StoreOptions options)
    : wafer(std::move(session)), parameters(std::move(options)) {
  for (const std::string &name : wafer->parameters()) {
    const HostTensor start = valueOf(wafer->parameter(name));
    const size_t number =
        parameters.add(name, {start.shape.begin(), start.shape.end()});
    parameters.write(number, elementType(start.type), start.bytes.data());
  }
  if (parameters.size() == 0)
    throw Error(ErrorClass::BadCall,
                "the program has no parameter that trains; compile it with "
                "--train");
}

absl::StatusOr<std::unique_ptr<Trainer>>
Trainer::open(std::unique_ptr<Session> session, StoreOptions options) {
  return asStatusOr([&] {
    return std::unique_ptr<Trainer>(
        new Trainer(std::move(session), std::move(options)));
  });
}

void Trainer::addGradients() {
  const Gradients gradients = valueOf(wafer->gradients());
  for (size_t number = 0; number < parameters.size(); ++number) {
    const auto its = gradients.find(parameters.name(number));
    if (its != gradients.end()) {
      parameters.accumulate(number, its->second.data());
      continue;
    }
    const std::vector<float> none(parameters.elements(number));
    parameters.accumulate(number, none.data());
  }
}

absl::StatusOr<SessionRun> Trainer::call(EngineOptions options, Engine engine) {
  return asStatusOr([&] {
    requireOk(wafer->bindParameters(parameters));
    SessionRun run = valueOf(wafer->run(options, nullptr, engine));
    addGradients();
    return run;
  });
}

absl::StatusOr<ParameterStore::StepResult> Trainer::endStep(double learningRate,
                                                            double divisor) {
  return asStatusOr([&] { return parameters.endStep(learningRate, divisor); });
}

} // namespace wsec::runtime
