// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
#include "compiler/import/StatePairs.h"
#include "compiler/Refusals.h"
#include "runtime/program/NearestNames.h"

using namespace mlir;
using namespace wsec;

template <typename Range>
static std::vector<std::string> namesOf(const Range &values) {
  std::vector<std::string> names;
  for (const auto &value : values)
    if constexpr (std::is_pointer_v<std::decay_t<decltype(value)>>)
      names.push_back(value->name());
    else
      names.push_back(value.name());
  return names;
}

/// How exporters call what a call leaves, by the name of what it finds.
static std::vector<std::string> presentNames(StringRef past) {
  std::vector<std::string> names;
  for (auto [word, other] : {std::pair("past_key_values", "present"),
                             std::pair("past_key_values", "present_key_values"),
                             std::pair("past", "present")})
    if (size_t at = past.find(word); at != StringRef::npos)
      names.push_back((past.take_front(at) + other +
                       past.drop_front(at + StringRef(word).size()))
                          .str());
  return names;
}

static StringRef symbolOf(const ValueInfoProto &input, int axis) {
  const TensorShapeProto &shape = input.type().tensor_type().shape();
  return axis < shape.dim_size() ? StringRef(shape.dim(axis).dim_param())
                                 : StringRef();
}

/// Of several sequences each has states of its own, in front: layers there, and
/// as many of them, are no sequences.
static void refuseOthersInFront(ArrayRef<const ValueInfoProto *> inputs,
                                const StatePairs &pairs,
                                const ImportOptions &options,
                                Refusals &refusals) {
  auto isPast = [&](const ValueInfoProto *input) {
    return pairs.pasts.count(input->name()) != 0;
  };
  const auto *tokens = llvm::find_if(inputs, [&](const ValueInfoProto *input) {
    return !isPast(input) && input->type().tensor_type().shape().dim_size() > 1;
  });
  const StringRef every =
      tokens == inputs.end() ? StringRef() : symbolOf(**tokens, 0);
  if (every.empty() || llvm::none_of(options.dims, [&](const auto &dim) {
        return dim.first == every && dim.second > 1;
      }))
    return;
  for (const ValueInfoProto *input : inputs)
    for (int axis : llvm::seq(
             1, std::max(1, input->type().tensor_type().shape().dim_size())))
      if (isPast(input) && symbolOf(*input, 0) != every &&
          symbolOf(*input, axis) == every)
        refusals.add("a state has its sequences, '" + every + "', along axis " +
                         Twine(axis) +
                         ", expected them in front; export it so, or take a "
                         "batch of 1",
                     "input", "'" + input->name() + "'");
}

FailureOr<StatePairs> wsec::pairStates(const OnnxModel &model,
                                       ArrayRef<const ValueInfoProto *> inputs,
                                       const ImportOptions &options,
                                       MLIRContext *context) {
  Refusals refusals(model.path);
  const std::vector<std::string> pasts = namesOf(inputs),
                                 presents =
                                     namesOf(model.proto.graph().output());
  StatePairs pairs;
  auto add = [&](const std::string &past, const std::string &present) {
    const std::string flag = "--state " + past + "=" + present + ": ";
    if (!llvm::is_contained(pasts, past))
      refusals.add(flag + "no input '" + past + "'" +
                   runtime::nearestNames(past, pasts));
    else if (!llvm::is_contained(presents, present))
      refusals.add(flag + "no output '" + present + "'" +
                   runtime::nearestNames(present, presents));
    else if (llvm::any_of(options.bindings, [&](const BoundInput &bound) {
               return bound.name == past;
             }))
      refusals.add(flag + "--bind makes '" + past +
                   "' a constant; leave one out");
    else if (auto [at, isNew] = pairs.pasts.insert({past, past}); !isNew)
      refusals.add(flag + "'" + past +
                   "' is a state already; name it once, with one present");
    else if (auto [at, isNew] = pairs.presents.insert({present, past}); !isNew)
      refusals.add(flag + "'" + present + "' is the present of '" + at->second +
                   "' already; name it once, with one past");
  };
  for (const auto &[past, present] : options.states)
    add(past, present);
  if (options.statesByName) {
    for (const std::string &past : pasts)
      for (const std::string &present : presentNames(past))
        if (llvm::is_contained(presents, present)) {
          add(past, present);
          break;
        }
    if (pairs.pasts.empty())
      refusals.add(
          "--states or --kv-capacity: no input is called past.. with an output "
          "present.. beside it; name them with --state PAST=PRESENT");
  }
  refuseOthersInFront(inputs, pairs, options, refusals);
  if (failed(refusals.report(context)))
    return failure();
  return pairs;
}
