// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
#include "compiler/infer/Statement.h"
#include "compiler/infer/Node.h"
#include "llvm/ADT/StringExtras.h"
#include "llvm/Support/Format.h"
#include "llvm/Support/raw_ostream.h"

using namespace wsec::infer;
using onnx::AttributeSchema;
using onnx::OperatorSchema;

bool wsec::infer::listsName(StringRef understood, StringRef name) {
  return llvm::any_of(llvm::split(understood, ' '), [&](StringRef listed) {
    return listed.split('=').first == name;
  });
}

StringRef wsec::infer::wordsOf(StringRef understood, StringRef name) {
  for (StringRef listed : llvm::split(understood, ' '))
    if (auto [first, words] = listed.split('='); first == name)
      return words;
  return "";
}

/// What is no word that the rules know would mean any of them.
static std::optional<std::string> wordProblem(NamedAttribute attribute,
                                              StringRef words) {
  auto stated = dyn_cast<StringAttr>(attribute.getValue());
  if (!stated || words.empty() ||
      llvm::is_contained(llvm::split(words, '|'), stated.getValue()))
    return std::nullopt;
  return (attribute.getName().getValue() + " is '" + stated.getValue() +
          "', expected one of " + llvm::join(llvm::split(words, '|'), ", "))
      .str();
}

/// Written by hand, `[0, 1]` is an array of attributes.
static bool isListOfIntegers(Attribute value) {
  auto array = dyn_cast<ArrayAttr>(value);
  return isa<DenseI64ArrayAttr>(value) ||
         (array && llvm::all_of(array, llvm::IsaPred<IntegerAttr>));
}

static bool isOfKind(Attribute value, AttributeSchema::Kind kind) {
  switch (kind) {
  case AttributeSchema::Int: {
    auto integer = dyn_cast<IntegerAttr>(value);
    return integer && integer.getValue().getBitWidth() <= 64;
  }
  case AttributeSchema::Float:
    return isa<FloatAttr>(value);
  case AttributeSchema::String:
    return isa<StringAttr>(value);
  case AttributeSchema::Ints:
    return isListOfIntegers(value);
  case AttributeSchema::Tensor:
    return isa<DenseElementsAttr>(value);
  default: // none of ours
    return true;
  }
}

static StringRef kindName(AttributeSchema::Kind kind) {
  switch (kind) {
  case AttributeSchema::Int:
    return "an integer";
  case AttributeSchema::Float:
    return "a float";
  case AttributeSchema::String:
    return "a string";
  case AttributeSchema::Ints:
    return "a list of integers";
  default:
    return "a tensor";
  }
}

static bool isDefault(Attribute value, const AttributeSchema &schema) {
  if (schema.use != AttributeSchema::Default)
    return false;
  switch (schema.kind) {
  case AttributeSchema::Int:
    return cast<IntegerAttr>(value).getValue().getSExtValue() == schema.integer;
  case AttributeSchema::Float:
    return float(cast<FloatAttr>(value).getValueAsDouble()) == schema.real;
  case AttributeSchema::String:
    return cast<StringAttr>(value).getValue() == schema.text;
  default:
    return false;
  }
}

/// "'alpha' = 2.0"; long lists and tensors are cut short.
static std::string describe(NamedAttribute attribute) {
  std::string text;
  llvm::raw_string_ostream os(text);
  Attribute value = attribute.getValue();
  if (auto array = dyn_cast<DenseI64ArrayAttr>(value)) {
    os << "[";
    llvm::interleaveComma(array.asArrayRef(), os);
    os << "]";
  } else if (auto number = dyn_cast<FloatAttr>(value)) {
    os << llvm::format("%g", number.getValueAsDouble());
  } else if (isa<ElementsAttr>(value)) {
    os << "a tensor";
  } else {
    value.print(os, /*elideType=*/true);
  }
  constexpr size_t longest = 60;
  if (text.size() > longest)
    text = text.substr(0, longest) + "...";
  return ("'" + attribute.getName().getValue() + "' = " + text).str();
}

static std::optional<std::string> attributeProblem(const StatedNode &node,
                                                   NamedAttribute attribute,
                                                   const OperatorSchema &schema,
                                                   StringRef understood) {
  const AttributeSchema *known = schema.find(attribute.getName());
  if (!known)
    return "attribute " + describe(attribute) + " is none that the operator " +
           "has in version " + std::to_string(schema.sinceVersion);
  if (!isOfKind(attribute.getValue(), known->kind))
    return ("attribute '" + known->name + "' is not " + kindName(known->kind))
        .str();
  if (listsName(understood, known->name))
    return wordProblem(attribute, wordsOf(understood, known->name));
  if (isDefault(attribute.getValue(), *known))
    return std::nullopt;
  std::string problem =
      "attribute " + describe(attribute) + " is not supported";
  if (known->use == AttributeSchema::Default)
    problem += ", only its default is";
  return problem;
}

static std::string printed(Type type) {
  std::string text;
  llvm::raw_string_ostream(text) << type;
  return text;
}

/// "; opset 22 does, ...", if a later version takes the type for the input.
static std::string takenLater(const OperatorSchema &schema, size_t input,
                              std::optional<ElementType> type) {
  for (const OperatorSchema &later : onnx::operatorSchemas())
    if (type && later.name == schema.name &&
        later.sinceVersion > schema.sinceVersion &&
        later.input(input).types >> int(*type) & 1)
      return "; opset " + std::to_string(later.sinceVersion) +
             " does, export for it";
  return "";
}

std::optional<std::string>
wsec::infer::operandProblem(const OperatorSchema &schema,
                            ArrayRef<Type> elements) {
  for (auto [i, element] : llvm::enumerate(elements)) {
    const onnx::InputSchema &formal = schema.input(i);
    const std::string name = "input " + std::to_string(i);
    if (!element && formal.use == onnx::InputSchema::Optional)
      continue;
    if (!element)
      return name + " is missing";
    std::optional<ElementType> type = elementTypeOf(element);
    if (!type || !(formal.types >> int(*type) & 1))
      return name + " is of " + printed(element) +
             ", which the operator does not take" + takenLater(schema, i, type);
    for (size_t first = 0; first < i && formal.variable >= 0; ++first)
      if (elements[first] && elements[first] != element &&
          schema.input(first).variable == formal.variable)
        return "inputs " + std::to_string(first) + " and " + std::to_string(i) +
               " differ in type, " + printed(elements[first]) + " and " +
               printed(element);
  }
  return std::nullopt;
}

/// "; opset 20 brought it, ...", if one did.
static std::string convertTo(StringRef name) {
  for (const OperatorSchema &schema : onnx::operatorSchemas())
    if (schema.name == name)
      return "; opset " + std::to_string(schema.sinceVersion) +
             " brought it, and onnx.version_converter converts to it";
  return "";
}

std::optional<std::string> wsec::infer::statementProblem(const StatedNode &node,
                                                         StringRef understood) {
  const OperatorSchema *schema =
      onnx::findSchema(node.qualifiedName, node.opset);
  if (!schema)
    return "opset " + std::to_string(node.opset) + " has no such operator" +
           convertTo(node.qualifiedName);
  if (node.numInputs > size_t(schema->maxInputs))
    return std::to_string(node.numInputs) + " inputs, the operator takes " +
           std::to_string(schema->maxInputs);
  if (node.numInputs < size_t(schema->minInputs))
    return "input " + std::to_string(node.numInputs) + " is missing";
  if (node.numOutputs > size_t(schema->maxOutputs))
    return std::to_string(node.numOutputs) + " results, the operator has " +
           std::to_string(schema->maxOutputs);
  for (NamedAttribute attribute : node.attributes)
    if (auto problem = attributeProblem(node, attribute, *schema, understood))
      return problem;
  for (const AttributeSchema &known : schema->attributes())
    if (known.use == AttributeSchema::Required &&
        !node.attributes.contains(known.name))
      return ("attribute '" + known.name + "' is missing").str();
  return std::nullopt;
}
