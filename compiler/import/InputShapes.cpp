// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
#include "compiler/import/InputShapes.h"
#include "compiler/import/ElementTypes.h"
#include "compiler/import/Problems.h"
#include "compiler/import/TensorData.h"
#include "llvm/ADT/MapVector.h"
#include "llvm/ADT/StringExtras.h"

using namespace mlir;
using namespace wsec;

namespace {
class ShapeBinder {
public:
  ShapeBinder(const OnnxModel &model, ArrayRef<OnnxValue> inputs,
              const ImportOptions &options, MLIRContext *context)
      : model(model), inputs(inputs), options(options), context(context),
        problems(context, model.path + ": the inputs' shapes do not fit") {}

  FailureOr<SmallVector<RankedTensorType>> run();

private:
  void checkNames();
  void checkKind(const OnnxValue &input);
  void bindParameter(StringRef parameter, int64_t extent, const Twine &by);
  void bindFromShape(const OnnxValue &input);
  void fillIn(const OnnxValue &input, SmallVectorImpl<int64_t> &shape);
  LogicalResult reportOpenDimensions();

  /// The shape that the user states for an input, and by which flag.
  struct Given {
    std::optional<ArrayRef<int64_t>> shape;
    StringRef flag;
  };
  Given givenShape(StringRef input) const;

  const OnnxModel &model;
  ArrayRef<OnnxValue> inputs;
  const ImportOptions &options;
  MLIRContext *context;
  Problems problems;
  struct Binding {
    int64_t extent;
    std::string by;
  };
  llvm::MapVector<StringRef, Binding> bindings;
  std::vector<std::string> open;              // "input_ids[0] 'batch'"
  llvm::SmallVector<std::string> openNames;   // batch
  llvm::SmallVector<std::string> openUnnamed; // inputs that need --shape
};
} // namespace

/// A fixed extent; some exporters write -1 or 0 for an open dimension.
static std::optional<int64_t> fixedExtent(const OnnxDimension &dimension) {
  if (dimension.value && *dimension.value > 0)
    return dimension.value;
  return std::nullopt;
}

/// "1x'sequence'x?": a declared shape for messages.
static std::string declaredShape(const OnnxValue &value) {
  if (!value.hasShape)
    return "unknown";
  if (value.dims.empty())
    return "scalar";
  std::string text;
  llvm::raw_string_ostream os(text);
  llvm::interleave(
      value.dims,
      [&](const OnnxDimension &dimension) {
        if (std::optional<int64_t> extent = fixedExtent(dimension))
          os << *extent;
        else if (!dimension.parameter.empty())
          os << "'" << dimension.parameter << "'";
        else
          os << "?";
      },
      [&] { os << "x"; });
  return text;
}

ShapeBinder::Given ShapeBinder::givenShape(StringRef input) const {
  for (const auto &[name, shape] : options.shapes)
    if (name == input)
      return {ArrayRef<int64_t>(shape), "--shape "};
  for (const BoundInput &bound : options.bindings)
    if (bound.name == input)
      return {ArrayRef<int64_t>(bound.shape), "--bind "};
  return {};
}

template <typename Range, typename Name>
static std::string listNames(const Range &range, Name name) {
  std::string text;
  llvm::raw_string_ostream os(text);
  llvm::interleaveComma(
      range, os, [&](const auto &item) { os << "'" << name(item) << "'"; });
  return text.empty() ? "none" : text;
}

/// Names given on the command line must exist.
void ShapeBinder::checkNames() {
  auto checkInput = [&](StringRef flag, StringRef name) {
    if (llvm::none_of(
            inputs, [&](const OnnxValue &input) { return input.name == name; }))
      problems.add(flag + name + ": no such input; the model's inputs are " +
                   listNames(inputs, [](auto &input) { return input.name; }));
  };
  for (const auto &[name, shape] : options.shapes)
    checkInput("--shape ", name);
  for (const BoundInput &bound : options.bindings) {
    checkInput("--bind ", bound.name);
    if (givenShape(bound.name).flag != "--bind ")
      problems.add("--shape " + bound.name +
                   ": --bind states its shape already; leave one out");
  }
  llvm::MapVector<StringRef, bool> parameters;
  for (const OnnxValue &input : inputs)
    for (const OnnxDimension &dimension : input.dims)
      if (!fixedExtent(dimension) && !dimension.parameter.empty())
        parameters[dimension.parameter] = true;
  for (const auto &[name, extent] : options.dims) {
    if (!parameters.count(name))
      problems.add(
          "--dim " + name +
          (parameters.empty()
               ? ": every dimension of the model's inputs is fixed"
               : ": no such dimension; the model's open dimensions are " +
                     listNames(parameters,
                               [](auto &item) { return item.first; })));
    bindParameter(name, extent, "--dim " + name);
  }
}

void ShapeBinder::checkKind(const OnnxValue &input) {
  if (input.kind != "tensor")
    problems.add(
        "input '" + input.name + "' is " +
        (input.kind.empty() ? Twine("of no type") : "a " + Twine(input.kind)) +
        "; only tensors are supported");
  else if (!elementType(input.elementType).supported())
    problems.add("input '" + input.name + "' has elements of type " +
                 elementTypeName(input.elementType) +
                 ", which are not supported");
}

void ShapeBinder::bindParameter(StringRef parameter, int64_t extent,
                                const Twine &by) {
  auto [place, isNew] = bindings.insert({parameter, Binding{extent, by.str()}});
  if (!isNew && place->second.extent != extent)
    problems.add("dimension '" + parameter + "' is " +
                 Twine(place->second.extent) + " by " + place->second.by +
                 " and " + Twine(extent) + " by " + by);
}

/// A given shape has the declared rank and keeps the declared extents.
void ShapeBinder::bindFromShape(const OnnxValue &input) {
  const auto [shape, flag] = givenShape(input.name);
  if (!shape || !input.hasShape)
    return;
  auto mismatch = [&, flag = flag, shape = shape](const Twine &what) {
    problems.add(flag + input.name + "=" + shapeText(*shape) + ": " + what +
                 "; the model declares " + declaredShape(input));
  };
  if (shape->size() != input.dims.size())
    return mismatch("rank " + Twine(shape->size()) + " instead of " +
                    Twine(input.dims.size()));
  for (auto [index, dimension] : llvm::enumerate(input.dims)) {
    std::optional<int64_t> extent = fixedExtent(dimension);
    if (extent && *extent != (*shape)[index])
      return mismatch("dimension " + Twine(index) + " cannot change");
    if (!extent && !dimension.parameter.empty())
      bindParameter(dimension.parameter, (*shape)[index], flag + input.name);
  }
}

void ShapeBinder::fillIn(const OnnxValue &input,
                         SmallVectorImpl<int64_t> &shape) {
  if (auto given = givenShape(input.name).shape) {
    shape.append(given->begin(), given->end());
    return;
  }
  bool needsShape = !input.hasShape;
  if (needsShape)
    open.push_back(input.name.str() + " (of unknown rank)");
  for (auto [index, dimension] : llvm::enumerate(input.dims)) {
    std::optional<int64_t> extent = fixedExtent(dimension);
    auto binding = bindings.find(dimension.parameter);
    if (!extent && !dimension.parameter.empty() && binding != bindings.end())
      extent = binding->second.extent;
    shape.push_back(extent.value_or(1));
    if (extent)
      continue;
    std::string what = (input.name + "[" + Twine(index) + "]").str();
    if (dimension.parameter.empty())
      needsShape = true;
    else
      what += " '" + dimension.parameter.str() + "'";
    open.push_back(what);
    if (!dimension.parameter.empty() &&
        !llvm::is_contained(openNames, dimension.parameter))
      openNames.push_back(dimension.parameter.str());
  }
  if (needsShape)
    openUnnamed.push_back(input.name.str());
}

LogicalResult ShapeBinder::reportOpenDimensions() {
  if (open.empty())
    return success();
  InFlightDiagnostic error =
      emitError(UnknownLoc::get(context))
      << model.path << ": " << open.size()
      << (open.size() == 1 ? " dimension" : " dimensions")
      << " of the inputs must be bound: " << llvm::join(open, ", ") << "; add";
  for (StringRef name : openNames) {
    bool quote = name.find_first_of(" ()*/") != StringRef::npos;
    error << " --dim " << (quote ? "'" : "") << name << "=N"
          << (quote ? "'" : "");
  }
  for (StringRef name : openUnnamed)
    error << " --shape " << name << "=NxN...";
  return error;
}

FailureOr<SmallVector<RankedTensorType>> ShapeBinder::run() {
  checkNames();
  llvm::for_each(inputs, [&](auto &input) { checkKind(input); });
  llvm::for_each(inputs, [&](auto &input) { bindFromShape(input); });
  if (failed(problems.report()))
    return failure();
  SmallVector<RankedTensorType> types;
  for (const OnnxValue &input : inputs) {
    SmallVector<int64_t> shape;
    fillIn(input, shape);
    if (!countBytes(shape, elementType(input.elementType).bytes))
      problems.add("input '" + input.name + "' of shape " + shapeText(shape) +
                   " has too many elements");
    types.push_back(RankedTensorType::get(
        shape, convertElementType(input.elementType, context)));
  }
  if (failed(reportOpenDimensions()) || failed(problems.report()))
    return failure();
  return types;
}

FailureOr<SmallVector<RankedTensorType>>
wsec::bindInputShapes(const OnnxModel &model, ArrayRef<OnnxValue> inputs,
                      const ImportOptions &options, MLIRContext *context) {
  return ShapeBinder(model, inputs, options, context).run();
}
