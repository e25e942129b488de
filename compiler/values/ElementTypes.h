// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
// The element types that tensors of ONNX have, a row each: all that differs
// between them is said here.
#ifndef COMPILER_VALUES_ELEMENTTYPES_H
#define COMPILER_VALUES_ELEMENTTYPES_H

/// FLOAT(Name, bits, semantics): MLIR calls its type as we do, and APFloat its
/// semantics.
#define WSEC_FLOAT_TYPES(FLOAT)                                                \
  FLOAT(Float32, 32, IEEEsingle)                                               \
  FLOAT(Float64, 64, IEEEdouble)                                               \
  FLOAT(Float16, 16, IEEEhalf)                                                 \
  FLOAT(BFloat16, 16, BFloat)                                                  \
  FLOAT(Float8E4M3FN, 8, Float8E4M3FN)                                         \
  FLOAT(Float8E4M3FNUZ, 8, Float8E4M3FNUZ)                                     \
  FLOAT(Float8E5M2, 8, Float8E5M2)                                             \
  FLOAT(Float8E5M2FNUZ, 8, Float8E5M2FNUZ)                                     \
  FLOAT(Float8E8M0FNU, 8, Float8E8M0FNU)                                       \
  FLOAT(Float4E2M1FN, 4, Float4E2M1FN)

/// INTEGER(Name, bits, signedness), as MLIR's: those with a sign are signless.
#define WSEC_INTEGER_TYPES(INTEGER)                                            \
  INTEGER(Bool, 1, Signless)                                                   \
  INTEGER(Int2, 2, Signless)                                                   \
  INTEGER(Int4, 4, Signless)                                                   \
  INTEGER(Int8, 8, Signless)                                                   \
  INTEGER(Int16, 16, Signless)                                                 \
  INTEGER(Int32, 32, Signless)                                                 \
  INTEGER(Int64, 64, Signless)                                                 \
  INTEGER(UInt2, 2, Unsigned)                                                  \
  INTEGER(UInt4, 4, Unsigned)                                                  \
  INTEGER(UInt8, 8, Unsigned)                                                  \
  INTEGER(UInt16, 16, Unsigned)                                                \
  INTEGER(UInt32, 32, Unsigned)                                                \
  INTEGER(UInt64, 64, Unsigned)

#endif // COMPILER_VALUES_ELEMENTTYPES_H
