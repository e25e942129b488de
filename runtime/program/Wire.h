// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
#ifndef RUNTIME_PROGRAM_WIRE_H
#define RUNTIME_PROGRAM_WIRE_H

#include "runtime/program/program_generated.h"

#include <cstdint>

namespace wsec::runtime {

/// Whether it is a float of 16 bits: F16, BF16 or CB16.
inline bool isNarrowFloat(program::ElementType type) {
  using program::ElementType;
  return type == ElementType::F16 || type == ElementType::BF16 ||
         type == ElementType::CB16;
}

inline bool isSigned(program::ElementType type) {
  return type == program::ElementType::I32 || type == program::ElementType::I16;
}
inline bool isUnsigned(program::ElementType type) {
  return type == program::ElementType::U32 || type == program::ElementType::U16;
}
inline bool isInteger(program::ElementType type) {
  return isSigned(type) || isUnsigned(type);
}

/// Whether SRAM and wavelets hold elements of this type.
inline bool wireType(program::ElementType type) {
  return type == program::ElementType::F32 || isNarrowFloat(type) ||
         isInteger(type);
}

/// Whether elements of a wire type fill a word.
inline bool fillsWord(program::ElementType type) {
  using program::ElementType;
  return type == ElementType::F32 || type == ElementType::I32 ||
         type == ElementType::U32;
}

/// How the elements of a host stream, or of one segment of it, travel.
struct Wire {
  explicit Wire(const program::HostStream &stream)
      : type(stream.type()), packing(stream.packing()),
        indexed(stream.indexed()) {}
  Wire(const program::HostStream &stream, const program::Segment &segment)
      : Wire(stream) {
    if (segment.halves() == program::ElementType::F32)
      return;
    type = segment.halves();
    packing = program::Packing::Pair;
  }

  program::ElementType type;
  program::Packing packing;
  bool indexed;

  bool pairs() const { return packing == program::Packing::Pair; }
  /// An f32 element in each wavelet.
  bool plain() const { return type == program::ElementType::F32; }
  bool is16() const { return !fillsWord(type); }
  /// The wavelets of a block of so many elements.
  template <class Count>
  Count wavelets(Count elements) const {
    return pairs() ? elements / 2 + elements % 2 : elements;
  }
};

} // namespace wsec::runtime

#endif // RUNTIME_PROGRAM_WIRE_H
