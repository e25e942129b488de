// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
#include "compiler/Refusals.h"
#include "compiler/raise/Passes.h"
#include "compiler/raise/Raiser.h"
#include "mlir/Dialect/Func/IR/FuncOps.h"
#include "mlir/IR/BuiltinOps.h"
#include "llvm/Support/Path.h"

namespace wsec::raise {
#define GEN_PASS_DEF_RAISELINALG
#include "compiler/raise/Passes.h.inc"
} // namespace wsec::raise

using namespace mlir;
using namespace wsec;
using namespace wsec::raise;

namespace {
struct RaiseLinalgPass : wsec::raise::impl::RaiseLinalgBase<RaiseLinalgPass> {
  void runOnOperation() override {
    func::FuncOp function = functionToRaise();
    if (function && failed(raise(function)))
      signalPassFailure();
  }

  /// The function, if there is one and it holds more than onnx; fails where it
  /// is not clear which one it is.
  func::FuncOp functionToRaise() {
    SmallVector<func::FuncOp> functions;
    bool isForeign = false;
    for (auto function : getOperation().getOps<func::FuncOp>()) {
      functions.push_back(function);
      function.walk([&](Operation *op) {
        isForeign |= !isa_and_nonnull<func::FuncDialect, onnx::OnnxDialect>(
            op->getDialect());
      });
    }
    if (!isForeign)
      return nullptr;
    if (functions.size() == 1 && functions[0].getBody().hasOneBlock())
      return functions[0];
    functions[0].emitError()
        << "expected one function of one block, found " << functions.size()
        << (functions.size() == 1 ? " of several blocks" : "")
        << "; inline what is called, and export without control flow";
    signalPassFailure();
    return nullptr;
  }

  LogicalResult raise(func::FuncOp function) {
    Block &body = function.front();
    OpBuilder builder(&getContext());
    Raiser raiser(builder);
    for (BlockArgument argument : body.getArguments()) {
      auto type = dyn_cast<RankedTensorType>(argument.getType());
      if (!type || !type.hasStaticShape())
        return function.emitError()
               << "argument " << argument.getArgNumber() << " is "
               << argument.getType()
               << ", expected a tensor of known extents; export with static "
                  "shapes";
      raiser.define(argument, {argument, Extents(type.getShape())});
    }
    Refusals refusals;
    SmallVector<Operation *> before;
    for (Operation &op : body.without_terminator())
      before.push_back(&op);
    for (Operation *op : before) {
      builder.setInsertionPoint(op);
      if (succeeded(raiser.raise(op)))
        continue;
      // Without a reason: what it reads was refused.
      if (!raiser.reason.empty())
        refusals.refuse(op, raiser.reason);
      else
        refusals.countConsequence(op);
    }
    if (failed(refusals.report(&getContext())))
      return failure();
    return finish(function, raiser, before);
  }

  LogicalResult finish(func::FuncOp function, Raiser &raiser,
                       ArrayRef<Operation *> before) {
    Block &body = function.front();
    for (OpOperand &result : body.getTerminator()->getOpOperands()) {
      FailureOr<Term> term = raiser.term(result.get());
      if (failed(term))
        return function.emitError()
               << "result " << result.getOperandNumber() << " is "
               << result.get().getType() << " that nothing computes";
      result.set(term->value);
    }
    for (Operation *op : llvm::reverse(before))
      op->erase();
    // Layouts that others undid, and fillings that nothing reads.
    for (Operation &op : llvm::make_early_inc_range(llvm::reverse(body)))
      if (isOpTriviallyDead(&op))
        op.erase();
    nameAll(function);
    Operation *module = getOperation();
    for (Operation &op : llvm::make_early_inc_range(*getOperation().getBody()))
      if (&op != function)
        op.erase(); // globals of the exporter
    Builder builder(&getContext());
    StringRef name = getOperation().getName().value_or("");
    if (auto file = module->getLoc()->findInstanceOf<FileLineColLoc>();
        file && name.empty())
      name = llvm::sys::path::stem(file.getFilename().getValue());
    module->setAttr(onnx::modelAttrName, builder.getStringAttr(name));
    module->setAttr(onnx::opsetAttrName, builder.getI64IntegerAttr(opset));
    module->setAttr(onnx::parametersAttrName,
                    builder.getI64IntegerAttr(raiser.parameters));
    module->setAttr(onnx::weightBytesAttrName,
                    builder.getI64IntegerAttr(raiser.weightBytes));
    return success();
  }

  /// The names that inputs and outputs are bound by.
  static void nameAll(func::FuncOp function) {
    Builder builder(function.getContext());
    Block &body = function.front();
    function.setName("main");
    function.setType(builder.getFunctionType(
        body.getArgumentTypes(), body.getTerminator()->getOperandTypes()));
    auto name = [&](StringRef what, unsigned index) {
      return builder.getStringAttr(what + Twine(index));
    };
    for (unsigned i = 0; i < function.getNumArguments(); ++i)
      if (!function.getArgAttr(i, onnx::nameAttrName))
        function.setArgAttr(i, onnx::nameAttrName, name("arg", i));
    for (unsigned i = 0; i < function.getNumResults(); ++i)
      if (!function.getResultAttr(i, onnx::nameAttrName))
        function.setResultAttr(i, onnx::nameAttrName, name("result", i));
  }
};
} // namespace
