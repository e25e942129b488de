// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
// What layer_norm, rms_norm and softmax share: values per token, combined over
// the features of a row.

#ifndef COMPILER_KERNELS_NORM_H
#define COMPILER_KERNELS_NORM_H

#include "compiler/kernels/KernelLibrary.h"

namespace wsec {

/// Writes code for a tensor and one value per token of it.
class TokenValues {
public:
  TokenValues(RoutineBuilder &builder, const Tile &tile, llvm::StringRef name)
      : b(builder), tile(tile), buffer(builder.scratch(name, tile.pitch)),
        combined(buffer) {
    if (crossesRow(tile.layout, builder.machine()))
      combined = builder.scratch(name, tile.pitch);
  }
  /// Words of scratch memory that the values of a tensor take.
  static int64_t scratchWords(const Layout &layout, const Machine &machine) {
    return (crossesRow(layout, machine) ? 2 : 1) * layout.pitch(machine.height);
  }

  /// As an operand over (features, channels), and over (channels).
  pe::Operand perElement() const {
    return pe::Operand::memory(buffer, 0, {0, 1});
  }
  pe::Operand perToken() const { return pe::Operand::memory(buffer, 0, {1}); }

  void fill(float value) {
    b.vector(pe::Opcode::Mov, {tile.channels}, perToken(),
             {pe::Operand::immediate(value)});
  }
  /// value = value opcode operand, for each token.
  void apply(pe::Opcode opcode, float operand) {
    b.vector(opcode, {tile.channels}, perToken(),
             {perToken(), pe::Operand::immediate(operand)});
  }
  void apply(pe::Opcode function) {
    b.vector(function, {tile.channels}, perToken(), {perToken()});
  }
  /// value = value opcode every own feature of the token in `elements`.
  void combineOwn(pe::Opcode opcode, llvm::StringRef elements) {
    b.vector(opcode, {tile.features, tile.channels}, perElement(),
             {perElement(), pe::Operand::memory(elements, 0, {tile.pitch, 1})});
  }
  /// value += every own feature squared.
  void addSquares(llvm::StringRef elements) {
    pe::Operand operand = pe::Operand::memory(elements, 0, {tile.pitch, 1});
    b.vector(pe::Opcode::Fmac, {tile.features, tile.channels}, perElement(),
             {operand, operand});
  }
  /// Combines the values of all columns; `finish` runs once, before the
  /// result goes back to them.
  void
  combineRow(pe::Opcode opcode, llvm::function_ref<void()> finish = [] {}) {
    if (!crossesRow(tile.layout, b.machine()))
      return finish();
    allReduceRow(b, opcode, buffer, combined, tile.channels, tile.pitch,
                 finish);
    buffer = combined;
  }

private:
  static bool crossesRow(const Layout &layout, const Machine &machine) {
    return machine.width > 1 && !layout.features.replicated;
  }

  RoutineBuilder &b;
  const Tile &tile;
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

/// Cost of `passes` walks over the elements and `reductions` all-reduces.
KernelCost rowKernelCost(const Layout &layout, const Machine &machine,
                         double passes, double reductions,
                         double streamedVectors, bool narrow);

/// The streams of all-reduces, and of vectors of the host if some are not
/// resident.
llvm::SmallVector<StreamNeed>
normStreams(mlir::Operation *op, llvm::ArrayRef<wse::WeightAttr> vectors,
            const Machine &machine);
/// The relays of all that norms may open.
llvm::SmallVector<Relay> normRelays();

/// Vectors of the host, used up by the last passes.
llvm::SmallVector<HostFlow> vectorFlows(const Layout &layout,
                                        const Machine &machine, double passes,
                                        double vectors);

} // namespace wsec

#endif // COMPILER_KERNELS_NORM_H
