// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
// For every operator that has a rule, in every opset: an attribute that its
// definition does not have is refused, and so is one that the rule does not
// understand, unless it states its default, and a word that is none of its.

#include "compiler/infer/Statement.h"
#include "compiler/infer/Operators.h"
#include "dialects/onnx/OnnxSchemas.h"

#include "mlir/IR/Builders.h"
#include "mlir/IR/BuiltinTypes.h"
#include "mlir/IR/MLIRContext.h"
#include "llvm/ADT/StringExtras.h"

#include <gmock/gmock.h>
#include <gtest/gtest.h>

using namespace mlir;
using namespace wsec;
using namespace wsec::infer;
using namespace wsec::values;
using onnx::AttributeSchema;
using onnx::OperatorSchema;
using testing::HasSubstr;

namespace {

constexpr int64_t firstOpset = 11, lastOpset = 28;
/// Of attributes in place of which newer ones have operands.
constexpr int64_t oldestOpset = 7;

class StatementTest : public testing::Test {
protected:
  /// A value of the attribute, its default or another one. Null for kinds of
  /// which there is none.
  Attribute valueOf(const AttributeSchema &schema, bool byDefault) {
    switch (schema.kind) {
    case AttributeSchema::Int:
      return builder.getI64IntegerAttr(schema.integer + !byDefault);
    case AttributeSchema::Float:
      return builder.getF32FloatAttr(schema.real + (byDefault ? 0 : 1));
    case AttributeSchema::String:
      return builder.getStringAttr(schema.text.str() + (byDefault ? "" : "x"));
    case AttributeSchema::Ints:
      return builder.getDenseI64ArrayAttr({1});
    case AttributeSchema::Floats:
      return builder.getDenseF32ArrayAttr({1});
    case AttributeSchema::Strings:
      return builder.getStrArrayAttr({"x"});
    case AttributeSchema::Tensor:
      return builder.getF32VectorAttr({1});
    default:
      return {};
    }
  }

  Attribute requiredValue(const Operator &rule, const AttributeSchema &schema) {
    StringRef words = wordsOf(rule.understood, schema.name);
    return words.empty() ? valueOf(schema, true)
                         : builder.getStringAttr(words.split('|').first);
  }

  std::string problem(const Operator &rule, const OperatorSchema &schema,
                      int64_t opset, StringRef name, Attribute value) {
    NamedAttrList attributes;
    for (const AttributeSchema &known : schema.attributes())
      if (known.use == AttributeSchema::Required)
        attributes.set(known.name, requiredValue(rule, known));
    if (value)
      attributes.set(name, value);
    StatedNode node{rule.name, opset, attributes.getDictionary(&context),
                    size_t(schema.minInputs), 1};
    return statementProblem(node, rule.understood).value_or("");
  }

  MLIRContext context;
  Builder builder{&context};
};

TEST_F(StatementTest, AreRefusedUnlessUnderstood) {
  for (const Operator &rule : allOperators())
    for (int64_t opset = firstOpset; opset <= lastOpset; ++opset) {
      const OperatorSchema *schema = onnx::findSchema(rule.name, opset);
      if (!schema)
        continue; // an operator of later opsets
      SCOPED_TRACE(rule.name.str() + " of opset " + std::to_string(opset));
      EXPECT_EQ(problem(rule, *schema, opset, "", {}), "");
      EXPECT_THAT(
          problem(rule, *schema, opset, "colour", builder.getI64IntegerAttr(3)),
          HasSubstr("attribute 'colour' = 3 is none that the operator "
                    "has"));
      for (const AttributeSchema &known : schema->attributes()) {
        SCOPED_TRACE(known.name.str());
        Attribute other = valueOf(known, false);
        if (!other)
          continue;
        bool understood = listsName(rule.understood, known.name);
        bool isWord = !wordsOf(rule.understood, known.name).empty();
        std::string said = problem(rule, *schema, opset, known.name, other);
        if (isWord)
          EXPECT_THAT(said, HasSubstr("', expected one of "));
        else if (understood)
          EXPECT_EQ(said, "");
        else
          EXPECT_THAT(said,
                      HasSubstr("attribute '" + known.name.str() + "' ="));
        if (known.use == AttributeSchema::Default)
          EXPECT_EQ(
              problem(rule, *schema, opset, known.name, valueOf(known, true)),
              "");
        if (known.kind <= AttributeSchema::String)
          EXPECT_THAT(
              problem(rule, *schema, opset, known.name, builder.getUnitAttr()),
              HasSubstr("attribute '" + known.name.str() + "' is not a"));
      }
    }
}

TEST_F(StatementTest, AreDefinedWhereUnderstood) {
  for (const Operator &rule : allOperators()) {
    bool known = false;
    SmallVector<StringRef> names;
    rule.understood.split(names, ' ', -1, /*KeepEmpty=*/false);
    // Operators of one rule share what it understands.
    for (const Operator &other : allOperators())
      for (int64_t opset = oldestOpset; opset <= lastOpset; ++opset)
        if (const OperatorSchema *schema =
                other.understood == rule.understood
                    ? onnx::findSchema(other.name, opset)
                    : nullptr) {
          known |= other.name == rule.name;
          llvm::erase_if(names, [&](StringRef name) {
            return schema->find(name.split('=').first);
          });
        }
    EXPECT_TRUE(known) << rule.name.str();
    EXPECT_TRUE(names.empty())
        << rule.name.str() << " has no " << names.front().str();
  }
}

/// A word that nobody checks falls through to the meaning of some other one.
TEST_F(StatementTest, TextThatIsUnderstoodIsOneOfItsWords) {
  for (const Operator &rule : allOperators())
    for (int64_t opset = oldestOpset; opset <= lastOpset; ++opset) {
      const OperatorSchema *schema = onnx::findSchema(rule.name, opset);
      for (const AttributeSchema &known :
           schema ? schema->attributes() : ArrayRef<AttributeSchema>()) {
        if (known.kind != AttributeSchema::String ||
            !listsName(rule.understood, known.name) ||
            known.name == "equation") // what Einsum parses
          continue;
        SCOPED_TRACE(rule.name.str() + " " + known.name.str());
        StringRef words = wordsOf(rule.understood, known.name);
        EXPECT_FALSE(words.empty());
        if (known.use == AttributeSchema::Default)
          EXPECT_TRUE(llvm::is_contained(llvm::split(words, '|'), known.text));
      }
    }
}

TEST_F(StatementTest, OperandsAreCounted) {
  StringRef none;
  auto problemOf = [&](StringRef name, size_t inputs, size_t outputs) {
    return statementProblem(
               {name, 17, builder.getDictionaryAttr({}), inputs, outputs}, none)
        .value_or("");
  };
  EXPECT_EQ(problemOf("Relu", 1, 1), "");
  EXPECT_EQ(problemOf("Relu", 0, 1), "input 0 is missing");
  EXPECT_EQ(problemOf("Relu", 2, 1), "2 inputs, the operator takes 1");
  EXPECT_EQ(problemOf("Relu", 1, 2), "2 results, the operator has 1");
  EXPECT_EQ(problemOf("Attention", 3, 1),
            "opset 17 has no such operator; opset 23 brought it, and "
            "onnx.version_converter converts to it");
  EXPECT_EQ(problemOf("com.microsoft.FastGelu", 2, 1), "");
  EXPECT_EQ(problemOf("Cast", 1, 1), "attribute 'to' is missing");
}

TEST_F(StatementTest, OperandsHaveTypesOfTheOperator) {
  Type f32 = builder.getF32Type(), f16 = builder.getF16Type();
  Type i32 = builder.getI32Type(), i64 = builder.getI64Type();
  auto problemOf = [&](StringRef name, ArrayRef<Type> types) {
    return operandProblem(*onnx::findSchema(name, 17), types).value_or("");
  };
  EXPECT_EQ(problemOf("Gather", {f32, i32}), "");
  EXPECT_EQ(problemOf("Gather", {f32, f32}),
            "input 1 is of f32, which the operator does not take");
  EXPECT_EQ(problemOf("Gather", {f32, Type()}), "input 1 is missing");
  EXPECT_EQ(problemOf("Clip", {f32, Type(), f32}), "");
  EXPECT_EQ(problemOf("Clip", {f32, Type(), f16}),
            "inputs 0 and 2 differ in type, f32 and f16");
  // Any number of one type; what has a type of its own.
  EXPECT_EQ(problemOf("Sum", {f32, f32, f32, f16}),
            "inputs 0 and 3 differ in type, f32 and f16");
  EXPECT_EQ(problemOf("Pow", {f32, i64}), "");
}

TEST_F(StatementTest, VersionsAreThoseOfTheOpset) {
  EXPECT_EQ(onnx::findSchema("Softmax", 12)->sinceVersion, 11);
  EXPECT_EQ(onnx::findSchema("Softmax", 12)->find("axis")->integer, 1);
  EXPECT_EQ(onnx::findSchema("Softmax", 13)->find("axis")->integer, -1);
  EXPECT_EQ(onnx::findSchema("Attention", 22), nullptr);
  EXPECT_EQ(onnx::findSchema("Attention", 24)->find("left_window_size"),
            nullptr);
  EXPECT_EQ(onnx::findSchema("Mystery", 17), nullptr);
}

} // namespace
