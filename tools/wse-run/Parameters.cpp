// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
#include "tools/wse-run/Parameters.h"
#include "runtime/memoryx/Safetensors.h"
#include "runtime/program/Errors.h"
#include "runtime/program/NearestNames.h"

#include "absl/strings/str_cat.h"

#include <algorithm>

namespace wsec::run {

using namespace wsec::runtime;

namespace {
class FileParameters final : public ParameterSource {
public:
  explicit FileParameters(const std::string &path)
      : path(path), model(SafetensorsModel::open(path)) {}

  /// What the program has by that name is of this type and shape.
  void check(const std::string &name, const HostTensor &own) const {
    const FileTensor &its = model.at(name);
    const bool fits = std::equal(
        its.shape.begin(), its.shape.end(), own.shape.begin(), own.shape.end(),
        [](uint64_t a, int64_t b) { return a == uint64_t(b); });
    const auto type = floatType(its.type);
    if (!fits || !type || dataType(*type) != own.type)
      throw Error(ErrorClass::BadTensor,
                  absl::StrCat("parameter ", inQuotes(name), " is ",
                               describe(own.type, own.shape), ", and ",
                               inQuotes(path), " has ", its.type, " of ",
                               its.elements,
                               " elements in another shape or "
                               "type"));
  }
  void checkAll(const std::vector<std::string> &names) const {
    for (const auto &[name, tensor] : model.tensors())
      if (std::find(names.begin(), names.end(), name) == names.end())
        throw Error(ErrorClass::BadTensor,
                    absl::StrCat(inQuotes(path), " has ", inQuotes(name),
                                 ", and the program has no parameter of that "
                                 "name",
                                 nearestNames(name, names)));
  }
  std::shared_ptr<const uint8_t>
  elementsOf(const std::string &name, program::ElementType, uint64_t) override {
    const FileTensor &its = model.at(name);
    auto bytes =
        std::make_shared<std::vector<uint8_t>>(its.data, its.data + its.bytes);
    return {bytes, bytes->data()};
  }

private:
  const std::string path;
  const SafetensorsModel model;
};
} // namespace

void bindParameters(Session &session, const std::string &path) {
  const std::vector<std::string> names = session.parameters();
  if (names.empty())
    throw Error(ErrorClass::BadCall,
                "--parameters: the program has none by name; compile it with "
                "wsec --train=GLOB or --lora");
  FileParameters source(path);
  source.checkAll(names);
  for (const std::string &name : names) {
    const auto own = session.parameter(name);
    if (!own.ok())
      throw std::runtime_error(std::string(own.status().message()));
    source.check(name, *own);
  }
  if (const auto status = session.bindParameters(source); !status.ok())
    throw std::runtime_error(std::string(status.message()));
}

} // namespace wsec::run
