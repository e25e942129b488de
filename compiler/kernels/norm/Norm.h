// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
// What layer_norm, rms_norm and softmax share: values per token, combined over
// the features of a row.

#ifndef COMPILER_KERNELS_NORM_NORM_H
#define COMPILER_KERNELS_NORM_NORM_H

#include "compiler/kernels/KernelLibrary.h"

namespace wsec {

/// Writes code for a tensor and one value per token of it, or several in lines.
class TokenValues {
public:
  /// Values are of f32, or else of `element`.
  TokenValues(RoutineBuilder &builder, const Tile &tile, llvm::StringRef name,
              int64_t lines = 1, mlir::Type element = {})
      : b(builder), tile(tile), lines(lines),
        buffer(builder.scratch(name, lines * tile.pitch, element)),
        combined(buffer) {
    if (crossesRow(tile.layout, builder.machine()))
      combined = builder.scratch(name, lines * tile.pitch, element);
  }
  /// Words of scratch memory that a line of values of a tensor takes.
  static int64_t scratchWords(const Layout &layout, const Machine &machine) {
    return (crossesRow(layout, machine) ? 2 : 1) * layout.pitch(machine.height);
  }

  /// As an operand over (features, channels), and over (channels).
  pe::Operand perElement(int64_t line = 0) const {
    return pe::Operand::memory(buffer, start(line), {0, 1});
  }
  pe::Operand perToken(int64_t line = 0) const {
    return pe::Operand::memory(buffer, start(line), {1});
  }

  /// All lines.
  void fill(float value) {
    b.vector(pe::Opcode::Mov, {start(lines)}, perToken(),
             {pe::Operand::immediate(value)});
  }
  /// value = value opcode operand, for each token of all lines.
  void apply(pe::Opcode opcode, float operand) {
    b.vector(opcode, {start(lines)}, perToken(),
             {perToken(), pe::Operand::immediate(operand)});
  }
  /// Applies it to the first line alone.
  void applyToFirst(pe::Opcode opcode, float operand) {
    b.vector(opcode, {tile.channels}, perToken(),
             {perToken(), pe::Operand::immediate(operand)});
  }
  void apply(pe::Opcode function) {
    b.vector(function, {tile.channels}, perToken(), {perToken()});
  }
  /// value = value opcode every own feature of the token in `elements`.
  void combineOwn(pe::Opcode opcode, llvm::StringRef elements,
                  int64_t line = 0) {
    b.vector(
        opcode, {tile.features, tile.channels}, perElement(line),
        {perElement(line), pe::Operand::memory(elements, 0, {tile.pitch, 1})});
  }
  /// value += every own feature of one times that of the other.
  void addProducts(llvm::StringRef some, llvm::StringRef others,
                   int64_t line = 0) {
    b.vector(pe::Opcode::Fmac, {tile.features, tile.channels}, perElement(line),
             {pe::Operand::memory(some, 0, {tile.pitch, 1}),
              pe::Operand::memory(others, 0, {tile.pitch, 1})});
  }
  void addSquares(llvm::StringRef elements) { addProducts(elements, elements); }
  /// Combines the values of all columns; `finish` runs once, before the
  /// result goes back to them.
  void
  combineRow(pe::Opcode opcode, llvm::function_ref<void()> finish = [] {}) {
    if (!crossesRow(tile.layout, b.machine()))
      return finish();
    allReduceRow(b, opcode, buffer, combined, start(lines), lines * tile.pitch,
                 finish);
    buffer = combined;
  }

private:
  static bool crossesRow(const Layout &layout, const Machine &machine) {
    return machine.width > 1 && !layout.features.replicated;
  }
  pe::Affine start(int64_t line) const {
    return pe::Affine(tile.channels) * line;
  }

  RoutineBuilder &b;
  const Tile &tile;
  const int64_t lines;
  std::string buffer, combined; ///< own values, and those of the row
};

/// result = a opcode b over the elements of a tile.
inline void eachElement(RoutineBuilder &b, const Tile &tile, pe::Opcode opcode,
                        llvm::ArrayRef<pe::Operand> sources) {
  b.vector(opcode, {tile.features, tile.channels},
           pe::Operand::memory(tile.buffer, 0, {tile.pitch, 1}), sources);
}
inline pe::Operand elements(const Tile &tile) {
  return pe::Operand::memory(tile.buffer, 0, {tile.pitch, 1});
}

/// Cost of `passes` walks over the elements and `reductions` all-reduces, each
/// of so many lines of values.
KernelCost rowKernelCost(const Layout &layout, const Machine &machine,
                         double passes, double reductions,
                         double streamedVectors, bool narrow, double lines = 1);

/// The streams of all-reduces, and of vectors of the host if some are not
/// resident.
llvm::SmallVector<StreamNeed>
normStreams(mlir::Operation *op, llvm::ArrayRef<wse::WeightAttr> vectors,
            const Machine &machine, int64_t lines = 1);
/// The relays of all that norms may open.
llvm::SmallVector<Relay> normRelays();

/// Vectors of the host, used up by the last passes.
llvm::SmallVector<HostFlow> vectorFlows(const Layout &layout,
                                        const Machine &machine, double passes,
                                        double vectors);

} // namespace wsec

#endif // COMPILER_KERNELS_NORM_NORM_H
