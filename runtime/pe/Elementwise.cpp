// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
// Element-wise instructions. Functions are computed in float64 and rounded
// once, so they are within one unit in the last place of the exact value and
// do not depend on the width of the vectors.
#include "runtime/pe/UnalignedFloat.h"
#include "runtime/pe/VectorKernels.h"

#include "runtime/program/Opcodes.h"
#include "runtime/program/program_generated.h"

#include <algorithm>
#include <cmath>

#undef HWY_TARGET_INCLUDE
#define HWY_TARGET_INCLUDE "runtime/pe/Elementwise.cpp"
#include "hwy/foreach_target.h"

#include "hwy/contrib/math/math-inl.h"
#include "hwy/highway.h"

HWY_BEFORE_NAMESPACE();
namespace wsec::runtime::HWY_NAMESPACE {
namespace hn = hwy::HWY_NAMESPACE;
using program::Opcode;
using Tag = hn::ScalableTag<float>;
using Vector = hn::Vec<Tag>;
using HalfTag = hn::Half<Tag>;
using WideTag = hn::Rebind<double, HalfTag>;
using Wide = hn::Vec<WideTag>;

// ------------------------------------------------ functions, in float64

HWY_INLINE Wide clampWide(Wide x, double low, double high) {
  const WideTag d;
  return hn::Min(hn::Max(x, hn::Set(d, low)), hn::Set(d, high));
}

/// exp for results that are rounded to float32: beyond the bounds they are 0
/// or infinite.
HWY_INLINE Wide expWide(Wide x) {
  const WideTag d;
  const Wide y = hn::Exp(d, clampWide(x, -150.0, 100.0));
  return hn::IfThenElse(hn::IsNaN(x), x, y);
}

HWY_INLINE Wide logWide(Wide x) {
  const WideTag d;
  const Wide zero = hn::Zero(d);
  const Wide infinity = hn::Set(d, std::numeric_limits<double>::infinity());
  const Wide nan = hn::Set(d, std::numeric_limits<double>::quiet_NaN());
  Wide y = hn::Log(d, hn::IfThenElse(hn::Gt(x, zero), x, hn::Set(d, 1.0)));
  y = hn::IfThenElse(hn::Eq(x, infinity), infinity, y);
  y = hn::IfThenElse(hn::Eq(x, zero), hn::Neg(infinity), y);
  y = hn::IfThenElse(hn::Lt(x, zero), nan, y);
  return hn::IfThenElse(hn::IsNaN(x), x, y);
}

HWY_INLINE Wide tanhWide(Wide x) {
  const WideTag d;
  const Wide y = hn::Tanh(d, clampWide(x, -20.0, 20.0));
  return hn::IfThenElse(hn::IsNaN(x), x, y);
}

HWY_INLINE Wide sigmoidWide(Wide x) {
  const WideTag d;
  const Wide one = hn::Set(d, 1.0);
  const Wide e = hn::Exp(d, hn::Neg(clampWide(x, -200.0, 200.0)));
  return hn::IfThenElse(hn::IsNaN(x), x, hn::Div(one, hn::Add(one, e)));
}

/// erf(x) = x P(x^2 / 8 - 1) for |x| <= 4, a polynomial interpolated at
/// Chebyshev nodes (relative error 2e-11); beyond, float32 cannot tell it
/// from 1.
HWY_INLINE Wide erfWide(Wide x) {
  static constexpr double coefficients[] = {
      0.3535309956434043,     -0.1765762332142435,    0.13167511686644198,
      -0.10771044890916792,   0.09020899618642851,    -0.07472772838171185,
      0.05988686028298466,    -0.045766463411233846,  0.033061073266877426,
      -0.022466263956533943,  0.014347218449234495,   -0.008629832323529438,
      0.004861253772458004,   -0.0025306731582730086, 0.0012770781756452415,
      -0.0006727965878114294, 0.00029513372188861274, -7.24620314889167e-05,
      3.2981667915406734e-05, -3.668349630367569e-05, 1.2873585826134119e-05};
  const WideTag d;
  const Wide y = clampWide(x, -4.0, 4.0);
  const Wide u =
      hn::Sub(hn::Mul(hn::Mul(y, y), hn::Set(d, 0.125)), hn::Set(d, 1.0));
  constexpr int degree = std::size(coefficients) - 1;
  Wide sum = hn::Set(d, coefficients[degree]);
  for (int i = degree - 1; i >= 0; --i)
    sum = hn::MulAdd(sum, u, hn::Set(d, coefficients[i]));
  return hn::IfThenElse(hn::IsNaN(x), x, hn::Mul(y, sum));
}

/// Applies a float64 function to both halves of a float32 vector.
template <class Function>
HWY_INLINE Vector viaWide(Vector x, Function f) {
  const Tag d;
  const HalfTag half;
  const WideTag wide;
  const auto low = hn::DemoteTo(half, f(hn::PromoteTo(wide, hn::LowerHalf(x))));
  const auto high =
      hn::DemoteTo(half, f(hn::PromoteTo(wide, hn::UpperHalf(half, x))));
  return hn::Combine(d, high, low);
}

/// Lanes for which the vector form does not hold take the C library's value.
template <class Mask, class Scalar>
HWY_NOINLINE Vector patch(Vector result, Mask wrong, Vector a, Vector b,
                          Scalar scalar) {
  const Tag d;
  HWY_ALIGN float as[HWY_MAX_BYTES / 4], bs[HWY_MAX_BYTES / 4];
  HWY_ALIGN float results[HWY_MAX_BYTES / 4], marks[HWY_MAX_BYTES / 4];
  hn::Store(a, d, as);
  hn::Store(b, d, bs);
  hn::Store(result, d, results);
  hn::Store(hn::IfThenElseZero(wrong, hn::Set(d, 1.0f)), d, marks);
  for (size_t i = 0; i < hn::Lanes(d); ++i)
    if (marks[i] != 0)
      results[i] = scalar(as[i], bs[i]);
  return hn::Load(d, results);
}

template <bool cosine>
HWY_INLINE Vector sinCos(Vector x) {
  const Tag d;
  const Vector y = viaWide(x, [](Wide w) {
    const WideTag wide;
    return cosine ? hn::Cos(wide, w) : hn::Sin(wide, w);
  });
  // The argument reduction of the vector form ends here; also catches NaN.
  const auto wrong = hn::Not(hn::Le(hn::Abs(x), hn::Set(d, 30000.0f)));
  if (HWY_LIKELY(hn::AllFalse(d, wrong)))
    return y;
  return patch(y, wrong, x, x, [](float v, float) {
    return float(cosine ? std::cos(double(v)) : std::sin(double(v)));
  });
}

HWY_INLINE Vector power(Vector a, Vector b) {
  const Tag d;
  const HalfTag half;
  const WideTag wide;
  auto f = [&](auto x, auto y) {
    return hn::DemoteTo(
        half, expWide(hn::Mul(hn::PromoteTo(wide, y),
                              hn::Log(wide, hn::PromoteTo(wide, x)))));
  };
  const auto regular = hn::And(hn::Gt(a, hn::Zero(d)),
                               hn::And(hn::IsFinite(a), hn::IsFinite(b)));
  const Vector safe = hn::IfThenElse(regular, a, hn::Set(d, 1.0f));
  const Vector y =
      hn::Combine(d, f(hn::UpperHalf(half, safe), hn::UpperHalf(half, b)),
                  f(hn::LowerHalf(safe), hn::LowerHalf(b)));
  if (HWY_LIKELY(hn::AllTrue(d, regular)))
    return y;
  return patch(y, hn::Not(regular), a, b, [](float x, float e) {
    return float(std::pow(double(x), double(e)));
  });
}

// ------------------------------------------------ one vector of results

template <class Mask>
HWY_INLINE Vector truth(Mask mask) {
  return hn::IfThenElseZero(mask, hn::Set(Tag(), 1.0f));
}

HWY_INLINE Vector propagateNaN(Vector a, Vector b, Vector result) {
  return hn::IfThenElse(hn::IsNaN(a), a,
                        hn::IfThenElse(hn::IsNaN(b), b, result));
}

/// Whether the table says its value.
constexpr bool isFunction(Opcode op) {
  switch (op) {
#define WSEC_FUNCTION(Name, name, numbers, software, words, value)             \
  case Opcode::Name:
#include "runtime/program/Opcodes.def"
    return true;
  default:
    return false;
  }
}

/// A function that has no vector form: its value in the table.
template <Opcode op>
HWY_INLINE Vector oneByOne(Vector a) {
  static_assert(isFunction(op) || factsOf(op).numbers == OpcodeFacts::Integers,
                "a row that nothing here computes");
  const Tag d;
  return patch(a, hn::Eq(hn::Zero(d), hn::Zero(d)), a, a, [](float v, float) {
    [[maybe_unused]] const double x = v;
    switch (op) {
#define WSEC_FUNCTION(Name, name, numbers, software, words, value)             \
  case Opcode::Name:                                                           \
    return float(value);
#include "runtime/program/Opcodes.def"
    default:
      return v;
    }
  });
}

template <Opcode op>
HWY_INLINE Vector compute(Vector a, Vector b, Vector old) {
  const Tag d;
  const Vector zero = hn::Zero(d), one = hn::Set(d, 1.0f);
  if constexpr (op == Opcode::Mov)
    return a;
  else if constexpr (op == Opcode::Add)
    return hn::Add(a, b);
  else if constexpr (op == Opcode::Sub)
    return hn::Sub(a, b);
  else if constexpr (op == Opcode::Mul)
    return hn::Mul(a, b);
  else if constexpr (op == Opcode::Div)
    return hn::Div(a, b);
  else if constexpr (op == Opcode::Min)
    return propagateNaN(a, b, hn::Min(a, b));
  else if constexpr (op == Opcode::Max)
    return propagateNaN(a, b, hn::Max(a, b));
  else if constexpr (op == Opcode::Pow)
    return power(a, b);
  else if constexpr (op == Opcode::Fmac)
    return hn::MulAdd(a, b, old);
  else if constexpr (op == Opcode::Neg)
    return hn::Neg(a);
  else if constexpr (op == Opcode::Abs)
    return hn::Abs(a);
  else if constexpr (op == Opcode::Exp)
    return viaWide(a, expWide);
  else if constexpr (op == Opcode::Log)
    return viaWide(a, logWide);
  else if constexpr (op == Opcode::Sqrt)
    return hn::Sqrt(a);
  else if constexpr (op == Opcode::Reciprocal)
    return hn::Div(one, a);
  else if constexpr (op == Opcode::Rsqrt)
    return hn::Div(one, hn::Sqrt(a));
  else if constexpr (op == Opcode::Tanh)
    return viaWide(a, tanhWide);
  else if constexpr (op == Opcode::Erf)
    return viaWide(a, erfWide);
  else if constexpr (op == Opcode::Sigmoid)
    return viaWide(a, sigmoidWide);
  else if constexpr (op == Opcode::Sin)
    return sinCos<false>(a);
  else if constexpr (op == Opcode::Cos)
    return sinCos<true>(a);
  else if constexpr (op == Opcode::Floor)
    return hn::Floor(a);
  else if constexpr (op == Opcode::Ceil)
    return hn::Ceil(a);
  else if constexpr (op == Opcode::Round)
    return hn::Round(a);
  else if constexpr (op == Opcode::Sign)
    return propagateNaN(
        a, a, hn::Sub(truth(hn::Gt(a, zero)), truth(hn::Lt(a, zero))));
  else if constexpr (op == Opcode::Equal)
    return truth(hn::Eq(a, b));
  else if constexpr (op == Opcode::Less)
    return truth(hn::Lt(a, b));
  else if constexpr (op == Opcode::LessOrEqual)
    return truth(hn::Le(a, b));
  else if constexpr (op == Opcode::And)
    return truth(hn::And(hn::Ne(a, zero), hn::Ne(b, zero)));
  else if constexpr (op == Opcode::Or)
    return truth(hn::Or(hn::Ne(a, zero), hn::Ne(b, zero)));
  else if constexpr (op == Opcode::Not)
    return truth(hn::Eq(a, zero));
  else if constexpr (op == Opcode::Select)
    return hn::IfThenElse(hn::Ne(a, zero), b, old);
  else
    return oneByOne<op>(a);
}

// ------------------------------------------------ rows of vectors

/// A source in one row.
class Row {
public:
  Row(VectorSource source, ptrdiff_t offset)
      : data(source.data + offset), vector(source.data && !source.scalar),
        all(hn::Zero(Tag())) {
    const UnalignedFloat *first = data;
    if (source.data && source.scalar)
      all = hn::Set(Tag(), *first);
  }
  HWY_INLINE Vector load(size_t i) const {
    return vector ? hn::LoadU(Tag(), data + i) : all;
  }
  template <class Mask>
  HWY_INLINE Vector load(Mask mask, size_t i) const {
    return vector ? hn::MaskedLoad(mask, Tag(), data + i) : all;
  }

private:
  const float *data;
  const bool vector;
  Vector all;
};

/// Full vectors, then the rest under a mask.
template <Opcode op>
void rows(const RowsProblem &p) {
  const Tag d;
  const size_t width = hn::Lanes(d);
  const size_t full = p.columns / width * width;
  const auto mask = hn::FirstN(d, p.columns - full);
  for (size_t r = 0; r < p.rows; ++r) {
    float *dst = p.dst + ptrdiff_t(r) * p.dstRow;
    const Row a(p.a, ptrdiff_t(r) * p.aRow), b(p.b, ptrdiff_t(r) * p.bRow);
    for (size_t i = 0; i < full; i += width)
      hn::StoreU(compute<op>(a.load(i), b.load(i), hn::LoadU(d, dst + i)), d,
                 dst + i);
    if (full < p.columns)
      hn::BlendedStore(compute<op>(a.load(mask, full), b.load(mask, full),
                                   hn::MaskedLoad(mask, d, dst + full)),
                       mask, d, dst + full);
  }
}

/// Vectors from column `i` on, of which `mask` holds; several at a time, since
/// one waits for its own result.
template <Opcode op, size_t vectors, class Mask>
void reduceVectors(const RowsProblem &p, Mask mask, size_t i) {
  const Tag d;
  const size_t width = hn::Lanes(d);
  auto isOld = [&](VectorSource source, ptrdiff_t row) {
    return source.data == p.dst && row == 0;
  };
  const bool aOld = isOld(p.a, p.aRow), bOld = isOld(p.b, p.bRow);
  Vector sums[vectors];
  for (size_t v = 0; v < vectors; ++v)
    sums[v] = hn::MaskedLoad(mask, d, p.dst + i + v * width);
  for (size_t r = 0; r < p.rows; ++r) {
    const Row a(p.a, ptrdiff_t(r) * p.aRow), b(p.b, ptrdiff_t(r) * p.bRow);
    for (size_t v = 0; v < vectors; ++v)
      sums[v] =
          compute<op>(aOld ? sums[v] : a.load(mask, i + v * width),
                      bOld ? sums[v] : b.load(mask, i + v * width), sums[v]);
  }
  for (size_t v = 0; v < vectors; ++v)
    hn::BlendedStore(sums[v], mask, d, p.dst + i + v * width);
}

template <Opcode op>
void reduce(const RowsProblem &p) {
  const Tag d;
  const size_t width = hn::Lanes(d);
  constexpr size_t several = factsOf(op).software == OpcodeFacts::No ? 4 : 1;
  size_t i = 0;
  for (; i + several * width <= p.columns; i += several * width)
    reduceVectors<op, several>(p, hn::FirstN(d, width), i);
  for (; i < p.columns; i += width)
    reduceVectors<op, 1>(p, hn::FirstN(d, std::min(width, p.columns - i)), i);
}

template <Opcode op>
void run(const RowsProblem &p, bool reduces) {
  if (reduces)
    reduce<op>(p);
  else
    rows<op>(p);
}

void apply(const RowsProblem &p, bool reduces) {
  switch (p.op) {
#define WSEC_INSTRUCTION(Name, name, sources, numbers, software, words)        \
  case Opcode::Name:                                                           \
    return run<Opcode::Name>(p, reduces);
#include "runtime/program/Opcodes.def"
  }
}

} // namespace wsec::runtime::HWY_NAMESPACE
HWY_AFTER_NAMESPACE();

#if HWY_ONCE
namespace wsec::runtime {
HWY_EXPORT(apply);

void applyVector(program::Opcode op, size_t n, float *dst, VectorSource a,
                 VectorSource b) {
  applyRows({op, 1, n, dst, 0, a, 0, b, 0});
}

void applyRows(const RowsProblem &problem) {
  HWY_DYNAMIC_DISPATCH(apply)(problem, false);
}

void reduceRows(const RowsProblem &problem) {
  HWY_DYNAMIC_DISPATCH(apply)(problem, true);
}

bool processorSupported() {
#if HWY_ARCH_X86
  return (hwy::SupportedTargets() & (HWY_AVX2 | (HWY_AVX2 - 1))) != 0;
#else
  return true;
#endif
}
} // namespace wsec::runtime
#endif
