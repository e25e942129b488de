// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
// Numbers of a PE: how elements of every type are read, computed with and
// written. Engines that differ in everything else share this, so that their
// values have the same bits.
//
// A vector instruction is computed in one of four ways. Each source is
// converted to it, and its result to the type of the destination:
//   Integer  destination and sources are integers: 32 bits that wrap, or end
//            the run where the instruction promises that they do not.
//   Unsigned the same of U32: where a source is of it, or the destination, and
//            no source is signed. (U16 alone are small enough for Integer.)
//   Half     every floating-point operand is F16: the exact result rounded
//            once to F16, also of a multiply-add. (Of functions such as exp:
//            the float32 function, rounded.)
//   Single   everything else: float32, multiply-adds fused.
// Immediates have no type of their own. Conversions round to nearest even,
// those to integers towards zero; beyond 32 bits, with or without a sign, they
// saturate, a NaN gives 0, and I16 and U16 keep the lower half. Moving a NaN
// keeps its bits where they fit.
#ifndef RUNTIME_PE_ARITHMETIC_H
#define RUNTIME_PE_ARITHMETIC_H

#include "runtime/program/Wire.h"
#include "runtime/program/program_generated.h"

#include <cstddef>
#include <cstdint>
#include <initializer_list>
#include <string>

namespace wsec::runtime {

/// Bytes of an element of a wire type.
inline uint32_t elementSize(program::ElementType type) {
  return fillsWord(type) ? 4 : 2;
}

enum class NumberKind : uint8_t { Single, Half, Integer, Unsigned };

inline bool ofIntegers(NumberKind kind) {
  return kind == NumberKind::Integer || kind == NumberKind::Unsigned;
}

/// How an instruction with these operands, immediates left out, is computed.
NumberKind numberKind(program::ElementType dst,
                      std::initializer_list<program::ElementType> sources);

/// Whether a result depends on what the destination holds.
inline bool readsOld(program::Opcode op) {
  return op == program::Opcode::Fmac || op == program::Opcode::Select;
}

/// Whether the operation has a meaning for the kind.
bool computes(program::Opcode op, NumberKind kind);

/// What is computed with: `integer` of kind Integer, the bits of one of kind
/// Unsigned, else `real`, which holds
/// a value of F16 in kind Half.
union Number {
  float real;
  int32_t integer;
};

/// An element, in the lower bits, to a number and back.
Number decodeElement(program::ElementType type, NumberKind kind, uint32_t bits);
uint32_t encodeElement(program::ElementType type, NumberKind kind,
                       Number number);
Number immediateNumber(NumberKind kind, float value);

/// op(a, b), where `old` is what the destination holds.
Number evaluate(program::Opcode op, NumberKind kind, Number a, Number b,
                Number old);

/// Why op(a, b) of integers, or as an integer of type `dst`, is an
/// IntegerError; null if it is none. Only results that must not wrap are asked
/// for their size.
const char *integerProblem(program::Opcode op, NumberKind kind,
                           program::ElementType dst, bool noWrap, Number a,
                           Number b, Number old);

/// The values of both sources, for messages: "7 and 0".
std::string describeSources(NumberKind kind, Number a, Number b);

/// Decodes, and encodes, `n` elements at a time; `stride` in bytes.
void decodeElements(program::ElementType type, NumberKind kind, size_t n,
                    const void *elements, ptrdiff_t stride, Number *numbers);
void encodeElements(program::ElementType type, NumberKind kind, size_t n,
                    const Number *numbers, void *elements, ptrdiff_t stride);

/// Rounds floats to a type; F32: leaves them.
void roundElements(program::ElementType type, size_t n, float *values);

/// A source: a number per result, or one number for all.
struct NumberSource {
  const Number *data = nullptr;
  bool scalar = false;
};

/// dst[i] = op(a[i], b[i]) for i < n. `dst` may equal a source but not overlap
/// one otherwise.
void evaluateElements(program::Opcode op, NumberKind kind, size_t n,
                      Number *dst, NumberSource a, NumberSource b);

/// IEEE binary16. `halfFromDouble` rounds once.
float floatFromHalf(uint16_t half);
uint16_t halfFromFloat(float value);
uint16_t halfFromDouble(double value);
/// The upper half of a float32, rounded.
uint16_t bfloatFromFloat(float value);

/// A float of 16 bits (`isNarrowFloat`) is rounded to nearest even; NaNs keep
/// the bits that fit.
float floatFromNarrow(program::ElementType format, uint16_t bits);
uint16_t narrowFromFloat(program::ElementType format, float value);

} // namespace wsec::runtime

#endif // RUNTIME_PE_ARITHMETIC_H
