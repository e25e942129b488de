// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
// Says of products which of their weights are kept. Their kernels follow.

#include "compiler/kernels/Distributions.h"
#include "compiler/kernels/Sources.h"
#include "compiler/select/Passes.h"

#include "mlir/Dialect/Func/IR/FuncOps.h"
#include "mlir/IR/BuiltinOps.h"
#include "llvm/ADT/SetVector.h"
#include "llvm/Support/GlobPattern.h"

#include <cmath>

using namespace mlir;
using namespace wsec;
using namespace wsec::select;

namespace wsec::select {
#define GEN_PASS_DEF_MARKSPARSEPASS
#include "compiler/select/Passes.h.inc"
} // namespace wsec::select

/// Result features of which each input feature keeps equally many. A PE has
/// partial results for so many, and its numbers of weights are multiples of
/// 1/64.
static constexpr int64_t groupSize = 64;

/// What frameworks call the products of attention and feed-forward blocks.
/// Embeddings, heads, poolers and norms stay dense.
static constexpr StringLiteral commonNames[] = {"*attn*",
                                                "*attention*",
                                                "*Attention*",
                                                "*q_proj*",
                                                "*k_proj*",
                                                "*v_proj*",
                                                "*o_proj*",
                                                "*out_proj*",
                                                "*in_proj*",
                                                "*qkv*",
                                                "*query*",
                                                "*key*",
                                                "*value*",
                                                "*mlp*",
                                                "*ffn*",
                                                "*feed_forward*",
                                                "*DenseReluDense*",
                                                "*c_fc*",
                                                "*c_proj*",
                                                "*fc1*",
                                                "*fc2*",
                                                "*fc_in*",
                                                "*fc_out*",
                                                "*gate_proj*",
                                                "*up_proj*",
                                                "*down_proj*",
                                                "*linear1*",
                                                "*linear2*",
                                                "*intermediate*",
                                                "*output/dense*",
                                                "*output.dense*"};

namespace {

/// A product with a constant matrix, and what it may be called.
struct Product {
  onnx::MatMulOp op;
  StringRef weight;
  Attribute data; ///< of which the matrix is a view
  StridedView view;

  bool isOfSame(const Product &other) const {
    return data == other.data && view.getOffset() == other.view.getOffset() &&
           view.shape() == other.view.shape() &&
           *view.strides() == *other.view.strides();
  }
  /// The same with its matrix transposed, as the gradient of an input has it.
  Product transposed() const {
    return {op, weight, data, view.transposed({1, 0})};
  }

  bool isNamed(const llvm::GlobPattern &pattern) const {
    auto node = op->getAttrOfType<StringAttr>("node");
    return pattern.match(weight) || (node && pattern.match(node.getValue()));
  }
};

struct MarkSparsePass final : select::impl::MarkSparsePassBase<MarkSparsePass> {
  using MarkSparsePassBase::MarkSparsePassBase;

  void runOnOperation() override {
    if (sparsity == 0)
      return;
    for (auto entry : getOperation().getOps<func::FuncOp>())
      if (failed(mark(entry)))
        return signalPassFailure();
  }

  LogicalResult mark(func::FuncOp main) {
    if (!(sparsity > 0 && sparsity < 1))
      return main.emitError("sparsity ")
             << sparsity << " is not between 0 and 1: it is the share of "
             << "weights that count as zero";
    std::optional<wse::SparsityMethod> known =
        wse::symbolizeSparsityMethod(method);
    if (!known)
      return main.emitError("sparsity method '")
             << method << "' is neither random nor topk";
    SmallVector<Product> products = productsOf(main);
    FailureOr<llvm::SetVector<size_t>> chosen = choose(main, products);
    if (failed(chosen))
      return failure();
    for (size_t index : *chosen) {
      const Product &product = products[index];
      const bool transposed = llvm::any_of(*chosen, [&](size_t other) {
        return other < index &&
               products[other].transposed().isOfSame(product) &&
               !products[other].op->hasAttr(wse::transposedAttrName);
      });
      if (failed(mark(product, *known, transposed)))
        return failure();
    }
    return success();
  }

  /// Of those that train the largest weights are kept, or none are left out.
  /// Beside these nothing is: gradients would be of other weights.
  SmallVector<Product> productsOf(func::FuncOp main) {
    HostValues host(main.front());
    SmallVector<Product> products;
    const bool anyTrains = llvm::any_of(
        getOperation().getOps<onnx::ParameterOp>(),
        [](onnx::ParameterOp parameter) { return parameter.isTrainable(); });
    main.walk([&](onnx::MatMulOp op) {
      std::optional<values::TracedView> weight = host.trace(op.getWeight());
      onnx::ConstantOp constant =
          weight ? host.constantOf(weight->root) : onnx::ConstantOp();
      if (!constant || !isa<FloatType>(constant.getStoredType()))
        return;
      onnx::ParameterOp parameter = constant.getParameter();
      const bool trains = parameter && parameter.isTrainable();
      if (anyTrains ? trains && method == "topk" : true)
        products.push_back(
            {op, constantName(constant), constant.getValue(), weight->view});
    });
    return products;
  }

  /// Those that a pattern names. Each that a user gives names one.
  FailureOr<llvm::SetVector<size_t>> choose(func::FuncOp main,
                                            ArrayRef<Product> products) {
    SmallVector<StringRef> patterns(filter.begin(), filter.end());
    if (patterns.empty())
      patterns.append(std::begin(commonNames), std::end(commonNames));
    llvm::SetVector<size_t> chosen;
    for (StringRef text : patterns) {
      llvm::Expected<llvm::GlobPattern> pattern =
          llvm::GlobPattern::create(text, /*MaxSubPatterns=*/1024);
      if (!pattern)
        return main.emitError("sparsity filter '")
               << text << "': " << llvm::toString(pattern.takeError());
      bool matches = false;
      for (auto [index, product] : llvm::enumerate(products))
        if (product.isNamed(*pattern)) {
          chosen.insert(index);
          matches = true;
        }
      if (!matches && !filter.empty())
        return main.emitError("sparsity filter '")
               << text << "' names no weight of a product; " << list(products);
    }
    if (chosen.empty())
      return main.emitError(
                 "no weight is called as those of attention and feed-forward "
                 "blocks are, name some with a sparsity filter; ")
             << list(products);
    return withGradients(chosen, products);
  }

  /// All with the matrices of those that are chosen, in order: a pattern may
  /// name the node of the model alone.
  static llvm::SetVector<size_t>
  withGradients(const llvm::SetVector<size_t> &chosen,
                ArrayRef<Product> products) {
    llvm::SetVector<size_t> all;
    for (size_t index = 0; index < products.size(); ++index) {
      const Product &product = products[index];
      if (chosen.contains(index) || llvm::any_of(chosen, [&](size_t other) {
            return products[other].isOfSame(product) ||
                   products[other].transposed().isOfSame(product);
          }))
        all.insert(index);
    }
    return all;
  }

  static std::string list(ArrayRef<Product> products) {
    if (products.empty())
      return "there is no product with a constant matrix of floats";
    constexpr size_t most = 5;
    std::string text = "there are ";
    for (const Product &product : products.take_front(most)) {
      auto node = product.op->getAttrOfType<StringAttr>("node");
      text += (&product == products.data() ? "'" : ", '") +
              product.weight.str() + "'";
      if (node && !node.getValue().empty())
        text += " of '" + node.getValue().str() + "'";
    }
    if (products.size() > most)
      text += " and " + std::to_string(products.size() - most) + " more";
    return text;
  }

  LogicalResult mark(Product product, wse::SparsityMethod how,
                     bool transposed) {
    const int64_t outputs = shapeOf(product.op.getWeight())[transposed ? 0 : 1];
    auto keep = [&](int64_t features) {
      return int64_t(std::llround((1 - sparsity) * double(features)));
    };
    const bool hasWhole = outputs >= groupSize;
    const int64_t kept = keep(groupSize), rest = keep(outputs % groupSize);
    if ((hasWhole ? kept : rest) == 0)
      return product.op.emitError("sparsity ")
             << sparsity << " keeps none of " << std::min(groupSize, outputs)
             << " weights of '" << product.weight << "'; less than "
             << 1 - 0.5 / double(std::min(groupSize, outputs)) << " keeps some";
    product.op->setAttr(wse::sparsityAttrName,
                        wse::SparsityAttr::get(&getContext(), kept, groupSize,
                                               rest, how, seed));
    if (transposed)
      product.op->setAttr(wse::transposedAttrName,
                          UnitAttr::get(&getContext()));
    return success();
  }
};
} // namespace
