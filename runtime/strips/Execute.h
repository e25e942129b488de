// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
// Meaning of a vector instruction: a loop nest over strided operands, elements
// of 32 bits or of 16, which lie in a half of a float.
// Engines differ in where operands come from and when; all of them compute
// through here.
#ifndef RUNTIME_STRIPS_EXECUTE_H
#define RUNTIME_STRIPS_EXECUTE_H

#include "runtime/pe/Arithmetic.h"
#include "runtime/pe/HalfKernels.h"
#include "runtime/pe/VectorKernels.h"
#include "runtime/program/Errors.h"

#include <array>
#include <cstddef>
#include <cstdint>
#include <optional>

namespace wsec::runtime {

/// Four extents of an instruction and the lanes of a strip, innermost; before
/// them a loop over nests that were joined.
inline constexpr int maxDimensions = 6;

/// data + sum(index[d] * stride[d]); no data: the operand is absent.
template <class Float>
struct Strided {
  Float *data = nullptr;
  ptrdiff_t stride[maxDimensions] = {};
};

/// What an operand has of each word: all of it, or of 16 bits the lower half,
/// the upper one, or both (only in copies to floats or of them, which are two
/// for each word: side by side, or along the dimension before the innermost
/// one, of extent 2, in which the word stays).
struct WordPart {
  program::ElementType type = program::ElementType::F32;
  HalfOf half = HalfOf::Lower;

  bool operator==(const WordPart &) const = default;
};

/// The type of elements that are taken out of words, one to a word: floats are
/// widened, integers lie in the lower half.
inline program::ElementType takenOut(program::ElementType type) {
  return isInteger(type) ? type : program::ElementType::F32;
}

/// Elements of the operands, what is computed with, and whether results have to
/// fit.
struct NestTypes {
  NumberKind numbers = NumberKind::Single;
  WordPart dst, a, b;
  bool noWrap = false;
  /// Results of 32 bits are rounded to this type.
  program::ElementType rounded = program::ElementType::F32;

  /// Whether a copy has both halves of each word, along a dimension.
  bool apart() const {
    return dst.half == HalfOf::Apart || a.half == HalfOf::Apart;
  }
  /// Whether floats of 32 bits are all that is read and written.
  bool floats() const {
    return dst == WordPart() && a == WordPart() && b == WordPart();
  }
  /// Whether they are computed with and written as they are.
  bool plain() const {
    return numbers == NumberKind::Single && floats() &&
           rounded == program::ElementType::F32;
  }
  /// Whether some numbers are refused.
  bool checks(program::Opcode op) const {
    return noWrap || (op == program::Opcode::Div && ofIntegers(numbers));
  }
  bool operator==(const NestTypes &) const = default;
};

/// An IntegerError while a nest runs: what, the element of the destination, and
/// the lane that it is of, once that is known.
struct NestError : Error {
  NestError(std::string what, const float *element)
      : Error(ErrorClass::IntegerError, "an instruction " + what), what(what),
        element(element) {}
  std::string what;
  const float *element;
  int lane = 0;
};

struct Nest {
  program::Opcode op;
  int dimensions = 0;
  size_t extent[maxDimensions] = {};
  Strided<float> dst;
  Strided<const float> a, b;
  /// A source may overlap the destination other than element by element, so
  /// that the order of the elements matters across dimensions. The innermost
  /// dimension (lanes) is always free of that.
  bool ordered = false;
  /// Whether sums of multiply-adds begin with `start` instead of what is there;
  /// -0 leaves the bits of the first term. Only products can be this.
  bool starts = false;
  float start = -0.0f;
  NestTypes types;
};

/// A nest made ready: how its loops are walked, without where its operands
/// lie. Equal nests at different places share one.
class PreparedNest {
public:
  /// Reads the data of `nest` only to see which operands it has, and whether
  /// it accumulates.
  explicit PreparedNest(const Nest &nest);

  /// dst = op(a, b) for each index in lexicographic order, or in an order that
  /// gives the same bits.
  void run(float *dst, const float *a, const float *b) const;
  /// Whether several of it into one destination, one behind the other, can be
  /// run as one, and that.
  bool joins() const {
    return form == Form::Products && !starts && outer.size() == 0;
  }
  static constexpr size_t mostJoined = mostFactors;
  void run(float *dst, const Factors *sources, size_t count) const;

  struct Dimension;
  /// What does the same as several of it at once, each as far behind the one
  /// before as `times` says; none if one may read or write what another does,
  /// or is more than elements by themselves. Operands that nothing else shares
  /// memory with may be null.
  std::optional<PreparedNest> repeated(const Dimension &times, const float *dst,
                                       const float *a, const float *b) const;

  /// Floats [first, second) that destination and sources reach, from where
  /// they begin.
  std::array<std::pair<ptrdiff_t, ptrdiff_t>, 3> reaches() const;

  /// How many terms each sum has.
  size_t terms() const { return inner.extent * second.extent; }

  /// Asks the memory for the weights of a product that will run soon, or for
  /// the halves of words that it will be made of: what is read once, in short
  /// pieces far from one another. Vectors are asked for, too, where those of
  /// the operand are new to the cache.
  void prefetch(const float *a, const float *b, bool aNew, bool bNew) const;

  /// Whether it does nothing but bring elements to another place, perhaps with
  /// another width.
  bool moves() const { return op == program::Opcode::Mov && !types.noWrap; }
  bool isProduct() const { return form == Form::Products; }
  /// Whether some numbers are refused.
  bool checks() const { return types.checks(op); }
  /// Whether memory is to be asked for what it reads.
  bool asks() const { return isProduct() || form == Form::Widen; }
  /// Whether there are no elements.
  bool empty() const { return form == Form::Nothing; }
  bool operator==(const PreparedNest &) const = default;
  size_t hash() const;
  /// About how long it takes, for planning.
  double estimateNanoseconds() const;

  struct Dimension {
    size_t extent = 1;
    ptrdiff_t dst = 0, a = 0, b = 0;

    bool reduces() const { return dst == 0; }
    bool operator==(const Dimension &) const = default;
  };
  /// At most one for each dimension of a nest, outermost first.
  class Dimensions {
  public:
    void push(const Dimension &dimension) { list[used++] = dimension; }
    void erase(Dimension *at) {
      for (--used; at != end(); ++at)
        at[0] = at[1];
      *at = {};
    }
    Dimension *begin() { return list.data(); }
    Dimension *end() { return list.data() + used; }
    const Dimension *begin() const { return list.data(); }
    const Dimension *end() const { return list.data() + used; }
    Dimension &operator[](size_t i) { return list[i]; }
    size_t size() const { return used; }
    bool operator==(const Dimensions &) const = default;

  private:
    std::array<Dimension, maxDimensions> list{};
    size_t used = 0;
  };

private:
  enum class Form : uint8_t {
    Nothing,   ///< no elements
    Products,  ///< rows x depth x columns; `inner` and `second` are the depth
    Rows,      ///< rows of vectors along `inner`
    Reduction, ///< the same, all rows into one vector
    Copy,      ///< rows along `inner` with any strides
    Strided,   ///< rows along `inner`, any strides, rounded to 16 bits or not
    Widen,     ///< rows of floats along `inner`, out of halves of words
    Narrow,    ///< rows of halves of words along `inner`, out of floats
    Numbers    ///< vectors along `inner` with any strides and types
  };
  Form formOf(const Dimension &vectors) const;
  Form conversionOf(const Dimension &vectors) const;
  HalvesProblem halves(WordPart part) const;
  bool prepareProducts(Dimensions dims);
  void accumulate(float *dst, const Factors *factors, size_t count) const;
  void prepareVectors(Dimensions &dims);
  void applyHalves(float *dst, const float *a) const;

  program::Opcode op;
  NestTypes types;
  Form form = Form::Nothing;
  bool swapped = false; ///< Products: `b` is the scalar
  bool starts = false;  ///< Products: sums begin with a value
  uint32_t start = 0;   ///< that one, by its bits
  Dimensions outer;
  Dimension inner, row;
  Dimension second, block; ///< Products: a loop around `inner`; of columns
  size_t columns = 0;
  ptrdiff_t apart = 0; ///< from floats of lower halves to those of upper ones
};

/// Whether loops name each element but once, those that stay where they are
/// left out (a sufficient condition): then they may be walked in any order.
bool namesEachOnce(int dimensions, const size_t *extent,
                   const ptrdiff_t *stride);

/// Prepares and runs.
void execute(const Nest &nest);

} // namespace wsec::runtime

#endif // RUNTIME_STRIPS_EXECUTE_H
