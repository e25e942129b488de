// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
// Sums of products, as an equation states them: "bij,bjk->bik". Operands are
// joined from the left, two at a time:
//
//   a label twice in one operand    its diagonal
//   in one operand only             a sum
//   in both, and not needed later   a product of matrices
//   in both or in one, and needed   a dimension of the result
#include "compiler/infer/Operators.h"
#include "compiler/values/Arithmetic.h"
#include <algorithm>
#include <map>

using namespace wsec::infer;

namespace {
/// A letter, or -k for the k-th dimension from the right of an ellipsis.
using Label = int;
using Labels = SmallVector<Label>;

struct Equation {
  std::vector<Labels> operands; // a label for each of their dimensions
  Labels result;
  std::map<Label, int64_t> extents;

  Shape shapeOf(ArrayRef<Label> labels) const {
    return Shape(llvm::map_range(
        labels, [&](Label label) { return extents.at(label); }));
  }
};
} // namespace

static bool has(ArrayRef<Label> labels, Label label) {
  return llvm::is_contained(labels, label);
}

static std::string nameOf(Label label) {
  return label < 0 ? "..." : std::string(1, char(label));
}

/// The labels of one term; `dots` dimensions stand for its ellipsis. Nothing
/// if it is none.
static std::optional<Labels> labelsOf(StringRef term, int64_t dots) {
  Labels labels;
  for (size_t at = 0; at < term.size(); ++at) {
    if (term.substr(at).starts_with("...")) {
      for (int64_t k = dots; k > 0; --k)
        labels.push_back(-Label(k));
      at += 2;
    } else if (llvm::isAlpha(term[at])) {
      labels.push_back(term[at]);
    } else {
      return std::nullopt;
    }
  }
  return labels;
}

/// Without an arrow: the ellipsis, then each letter that comes once, sorted.
static Labels implicitResult(ArrayRef<Labels> operands, int64_t dots) {
  std::map<Label, int> count;
  for (const Labels &labels : operands)
    for (Label label : labels)
      ++count[label];
  Labels result;
  for (int64_t k = dots; k > 0; --k)
    result.push_back(-Label(k));
  for (auto [label, times] : count)
    if (label > 0 && times == 1)
      result.push_back(label);
  return result;
}

/// Extents of labels; those of an ellipsis broadcast.
static bool setExtents(Node &node, Equation &equation) {
  for (auto [i, labels] : llvm::enumerate(equation.operands))
    for (auto [label, extent] : llvm::zip(labels, node.input(i).shape)) {
      int64_t &known =
          equation.extents.try_emplace(label, extent).first->second;
      if (label < 0 && known == 1)
        known = extent;
      if (known != extent && !(label < 0 && extent == 1))
        return node.fail("its label '" + nameOf(label) + "' has " +
                         Twine(known) + " and " + Twine(extent) + " elements");
    }
  for (Label label : equation.result)
    if (!equation.extents.count(label))
      return node.fail("the label '" + nameOf(label) +
                       "' of its result is none of an operand");
  return true;
}

static std::optional<Equation> equationOf(Node &node) {
  std::string text = node.stringAttr("equation").str();
  llvm::erase(text, ' ');
  auto wrong = [&] {
    return node.fail("equation '" + text + "' does not fit its operands");
  };
  auto [left, right] = StringRef(text).split("->");
  const bool isExplicit = StringRef(text).contains("->");
  SmallVector<StringRef> terms;
  left.split(terms, ',');
  if (terms.size() != node.numInputs())
    return wrong();
  Equation equation;
  int64_t mostDots = 0;
  for (auto [i, term] : llvm::enumerate(terms)) {
    const int64_t rank = node.input(i).rank();
    const bool open = term.contains("...");
    const int64_t dots = open ? rank - (int64_t(term.size()) - 3) : 0;
    auto labels = dots < 0 ? std::nullopt : labelsOf(term, dots);
    if (!labels || int64_t(labels->size()) != rank)
      return wrong();
    mostDots = std::max(mostDots, dots);
    equation.operands.push_back(*labels);
  }
  auto result =
      isExplicit ? labelsOf(right, mostDots)
                 : std::optional(implicitResult(equation.operands, mostDots));
  if (!result)
    return wrong();
  for (size_t i = 0; i < result->size(); ++i)
    if (has(ArrayRef(*result).drop_front(i + 1), (*result)[i]))
      return wrong();
  equation.result = *result;
  if (!setExtents(node, equation))
    return std::nullopt;
  return equation;
}

//===----------------------------------------------------------------------===//
// Inference
//===----------------------------------------------------------------------===//

/// Strides of an operand along each of `labels`.
static Shape stridesAlong(ArrayRef<Label> labels, ArrayRef<Label> operand,
                          ArrayRef<int64_t> shape) {
  Shape along(labels.size(), 0), strides = rowMajorStrides(shape);
  for (auto [d, label] : llvm::enumerate(operand))
    if (shape[d] != 1)
      along[llvm::find(labels, label) - labels.begin()] += strides[d];
  return along;
}

/// Sums of constants up to this many terms fold: angles of positions.
static constexpr int64_t maxFoldedTerms = 1 << 22;

template <typename T>
static void fill(Tensor &result, const Equation &equation,
                 ArrayRef<Tensor> operands) {
  Labels labels = equation.result;
  for (auto [label, extent] : equation.extents)
    if (!has(labels, label))
      labels.push_back(label);
  Shape extents = equation.shapeOf(labels);
  std::vector<Shape> strides;
  for (auto [labelled, operand] : llvm::zip(equation.operands, operands))
    strides.push_back(stridesAlong(labels, labelled, operand.shape()));
  const int64_t terms = numElements(extents);
  const int64_t each = result.size() ? terms / result.size() : 0;
  Shape steps = rowMajorStrides(extents);
  for (int64_t i = 0; i < result.size(); ++i) {
    T sum = 0;
    for (int64_t term = i * each; term < (i + 1) * each; ++term) {
      T product = 1;
      for (auto [operand, along] : llvm::zip(operands, strides)) {
        int64_t at = 0;
        for (size_t d = 0; d < extents.size(); ++d)
          at += term / steps[d] % extents[d] * along[d];
        product = times(product, operand.get<T>(at));
      }
      sum = plus(sum, product);
    }
    result.put(i, sum);
  }
}

static bool einsum(Node &node) {
  std::optional<Equation> equation = equationOf(node);
  if (!equation)
    return false;
  Fact &output = node.outputs[0];
  output = unknown(node.input(0).type, equation->shapeOf(equation->result));
  if (!node.allows(output.shape))
    return false;
  double terms = 1;
  for (auto [label, extent] : equation->extents)
    terms *= double(extent);
  auto operands = terms <= maxFoldedTerms ? node.loadAll(output) : std::nullopt;
  if (!operands)
    return true;
  Tensor result(output.type, output.shape);
  if (isFloat(output.type))
    fill<double>(result, *equation, *operands);
  else
    fill<int64_t>(result, *equation, *operands);
  return node.setOutput(Fact::ofTensor(std::move(result)));
}

//===----------------------------------------------------------------------===//
// Legalization
//===----------------------------------------------------------------------===//

namespace {
/// A tensor whose dimensions have labels.
struct Term {
  Value value;
  Labels labels;

  Shape shape() const { return Shape(values::shapeOf(value)); }
};

class Contraction {
public:
  Contraction(Legalization &n, const Equation &equation)
      : n(n), equation(equation) {}

  /// Null, with a reason, if a constant is too large to rearrange.
  Value run();

private:
  Term operand(size_t i);
  void takeDiagonals(Term &term);
  void sumOthers(Term &term, ArrayRef<Label> needed);
  void widen(Term &term, ArrayRef<Label> labels);
  Term joined(Term a, Term b, ArrayRef<Label> needed);
  Term multiplied(const Term &a, const Term &b);
  Value ordered(const Term &term, ArrayRef<Label> labels);
  Value inShape(Value x, ArrayRef<int64_t> shape);

  Legalization &n;
  const Equation &equation;
};
} // namespace

/// A constant changes its view.
Value Contraction::inShape(Value x, ArrayRef<int64_t> shape) {
  if (!x || shapeOf(x) == shape)
    return x;
  std::optional<Fact> fact = factOf(x);
  return fact->constant ? n.constant(reshapeFact(*fact, shape))
                        : n.reshape(x, shape);
}

Value Contraction::ordered(const Term &term, ArrayRef<Label> labels) {
  Shape perm;
  for (Label label : labels)
    perm.push_back(llvm::find(term.labels, label) - term.labels.begin());
  if (!term.value || llvm::is_sorted(perm))
    return term.value;
  std::optional<Fact> fact = factOf(term.value);
  if (!fact->constant)
    return n.transpose(term.value, perm);
  fact->constant->view = fact->constant->view.transposed(perm);
  fact->shape = fact->constant->view.shape();
  return n.constant(fact);
}

/// Of [.., n, .., n, ..] every n + 1st of n * n elements.
void Contraction::takeDiagonals(Term &term) {
  for (size_t first = 0; term.value && first < term.labels.size(); ++first) {
    ArrayRef<Label> behind = ArrayRef(term.labels).drop_front(first + 1);
    const Label label = term.labels[first];
    if (!has(behind, label))
      continue;
    const size_t second =
        first + 1 + (llvm::find(behind, label) - behind.begin());
    Shape perm, shape = term.shape(), front;
    Labels labels;
    for (size_t d = 0; d < shape.size(); ++d)
      if (d != first && d != second) {
        perm.push_back(d);
        labels.push_back(term.labels[d]);
        front.push_back(shape[d]);
      }
    perm.append({int64_t(first), int64_t(second)});
    labels.push_back(label);
    const int64_t extent = shape[first];
    Shape flat = front, diagonal = front;
    flat.push_back(extent * extent);
    diagonal.push_back(extent);
    Box box{Shape(flat.size(), 0), diagonal, Shape(flat.size(), 1)};
    box.steps.back() = extent + 1;
    term = {n.slice(n.reshape(n.transpose(term.value, perm), flat), box),
            labels};
    first = -1; // once more from the start
  }
}

void Contraction::sumOthers(Term &term, ArrayRef<Label> needed) {
  Shape axes, shape;
  Labels kept;
  for (auto [d, label] : llvm::enumerate(term.labels)) {
    if (has(needed, label)) {
      kept.push_back(label);
      shape.push_back(term.shape()[d]);
    } else {
      axes.push_back(d);
    }
  }
  if (axes.empty() || !term.value)
    return;
  term = {n.reshape(n.keptReduced(term.value, ReduceKind::Sum, axes), shape),
          kept};
}

/// Dimensions of an ellipsis that are 1 here and more elsewhere, repeated.
void Contraction::widen(Term &term, ArrayRef<Label> labels) {
  Shape shape = term.shape();
  for (auto [d, label] : llvm::enumerate(term.labels))
    if (has(labels, label))
      shape[d] = equation.extents.at(label);
  term.value = n.expand(term.value, shape);
}

Term Contraction::operand(size_t i) {
  Term term{n.input(i), equation.operands[i]};
  takeDiagonals(term);
  return term;
}

/// Side by side, broadcast: nothing is summed.
Term Contraction::multiplied(const Term &a, const Term &b) {
  Labels labels = a.labels;
  for (Label label : b.labels)
    if (!has(labels, label))
      labels.push_back(label);
  auto spread = [&](const Term &term) {
    Labels its;
    Shape shape(labels.size(), 1);
    for (auto [d, label] : llvm::enumerate(labels))
      if (auto at = llvm::find(term.labels, label); at != term.labels.end()) {
        its.push_back(label);
        shape[d] = term.shape()[at - term.labels.begin()];
      }
    return inShape(ordered(term, its), shape);
  };
  Value left = spread(a), right = spread(b);
  if (!left || !right)
    return {};
  return {n.mul(left, right), labels};
}

Term Contraction::joined(Term a, Term b, ArrayRef<Label> needed) {
  Labels all = b.labels;
  llvm::append_range(all, needed);
  sumOthers(a, all);
  all = a.labels;
  llvm::append_range(all, needed);
  sumOthers(b, all);
  if (!a.value || !b.value)
    return {};
  Labels batch, rows, columns, summed;
  for (Label label : a.labels)
    (!has(b.labels, label) ? rows
     : has(needed, label)  ? batch
                           : summed)
        .push_back(label);
  for (Label label : b.labels)
    if (!has(a.labels, label))
      columns.push_back(label);
  if (summed.empty())
    return multiplied(a, b);
  widen(a, summed);
  widen(b, summed);
  auto shapeIn = [](const Term &term, ArrayRef<Label> labels) {
    return Shape(llvm::map_range(labels, [&](Label label) {
      return term.shape()[llvm::find(term.labels, label) - term.labels.begin()];
    }));
  };
  const int64_t terms = numElements(shapeIn(a, summed));
  // [batch, rows, summed] times [batch, summed, columns].
  auto arranged = [&](const Term &term, ArrayRef<Label> middle,
                      ArrayRef<Label> last, bool isLeft) -> Value {
    Labels order = batch;
    llvm::append_range(order, middle);
    llvm::append_range(order, last);
    Shape shape = shapeIn(term, batch);
    shape.append({isLeft ? numElements(shapeIn(term, middle)) : terms,
                  isLeft ? terms : numElements(shapeIn(term, last))});
    return inShape(ordered(term, order), shape);
  };
  Value left = arranged(a, rows, summed, true);
  Value right = arranged(b, summed, columns, false);
  if (!left || !right)
    return {};
  Labels labels = batch;
  llvm::append_range(labels, rows);
  llvm::append_range(labels, columns);
  Shape shape(*broadcastShapes(shapeIn(a, batch), shapeIn(b, batch)));
  llvm::append_range(shape, shapeIn(a, rows));
  llvm::append_range(shape, shapeIn(b, columns));
  Value product;
  if (isConstant(right) && batch.empty() && !isConstant(left)) {
    product = n.matmul(left, right, nullptr);
  } else if (!isConstant(left) && !isConstant(right) && !batch.empty()) {
    // Left for attention to find, as every product of computed tensors.
    Shape its = *broadcastShapes(shapeIn(a, batch), shapeIn(b, batch));
    its.append({shapeOf(left)[batch.size()], shapeOf(right).back()});
    product = onnx::NodeOp::create(n.builder(), n.loc(),
                                   TypeRange(withShape(left, its)), "MatMul",
                                   "", ValueRange{left, right},
                                   n.builder().getDictionaryAttr({}), n.name())
                  .getResult(0);
  } else {
    product = n.batchMatmul(left, right);
  }
  return {inShape(product, shape), labels};
}

Value Contraction::run() {
  Term sum = operand(0);
  for (size_t i = 1; sum.value && i < equation.operands.size(); ++i) {
    Labels needed = equation.result;
    for (const Labels &later : ArrayRef(equation.operands).drop_front(i + 1))
      llvm::append_range(needed, later);
    sum = joined(sum, operand(i), needed);
  }
  if (!sum.value)
    return {};
  sumOthers(sum, equation.result);
  return ordered(sum, equation.result);
}

static bool einsum(Legalization &n) {
  std::optional<Equation> equation = equationOf(n.node());
  if (!equation)
    return false;
  Value y = Contraction(n, *equation).run();
  return y && n.replace(y);
}

llvm::ArrayRef<Operator> wsec::infer::einsumOperators() {
  static const Operator operators[] = {
      {"Einsum", einsum, einsum, "equation"},
  };
  return operators;
}
