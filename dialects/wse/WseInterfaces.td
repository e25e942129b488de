// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception

#ifndef WSEC_DIALECTS_WSE_WSEINTERFACES_TD
#define WSEC_DIALECTS_WSE_WSEINTERFACES_TD

include "mlir/IR/OpBase.td"

def Wse_KernelOpInterface : OpInterface<"KernelOp"> {
  let cppNamespace = "::wsec::wse";
  let description = [{
    An operation that a region runs: what every kernel says about itself, and
    the facts that later states add to it.
  }];
  let methods = [
    InterfaceMethod<"Names of the ONNX nodes it computes.",
      "::mlir::ArrayAttr", "getNodeNames", (ins), "",
      "return $_op.getNodesAttr();">,
    InterfaceMethod<"The name for reports: its nodes, or its own mnemonic.",
      "std::string", "getReportName", (ins), "",
      "return describeKernel($_op.getOperation());">,
    InterfaceMethod<"Symbol of the region it runs on.",
      "::mlir::FlatSymbolRefAttr", "getRegionRef", (ins), "",
      "return $_op.getRegionAttr();">,
    InterfaceMethod<"Sets the symbol of its region.",
      "void", "setRegionRef", (ins "::mlir::FlatSymbolRefAttr":$region), "",
      "$_op.setRegionAttr(region);">,
    InterfaceMethod<"Symbols of its streams, from the routed state on.",
      "::mlir::ArrayAttr", "getStreamRefs", (ins), "",
      "return $_op.getStreamsAttr();">,
    InterfaceMethod<"Sets the symbols of its streams.",
      "void", "setStreamRefs", (ins "::mlir::ArrayAttr":$streams), "",
      "$_op.setStreamsAttr(streams);">,
    InterfaceMethod<"When it runs, from the scheduled state on.",
      "std::optional<int64_t>", "getTimeSlot", (ins), "",
      "return $_op.getSlot();">,
    InterfaceMethod<"Sets when it runs.",
      "void", "setTimeSlot", (ins "int64_t":$slot), "",
      "$_op.setSlot(slot);">,
    InterfaceMethod<"SRAM address of its results in every PE, one after the other.",
      "std::optional<int64_t>", "getResultAddress", (ins), "",
      "return $_op.getAddress();">,
    InterfaceMethod<"Sets the SRAM address of its results.",
      "void", "setResultAddress", (ins "int64_t":$address), "",
      "$_op.setAddress(address);">,
    InterfaceMethod<"SRAM address of what it borrows while it runs.",
      "std::optional<int64_t>", "getScratch", (ins), "",
      "return $_op.getScratchAddress();">,
    InterfaceMethod<"Bytes it borrows while it runs.",
      "std::optional<int64_t>", "getScratchSize", (ins), "",
      "return $_op.getScratchBytes();">,
    InterfaceMethod<"Sets address and size of what it borrows.",
      "void", "setScratch", (ins "int64_t":$address, "int64_t":$bytes), "",
      "$_op.setScratchAddress(address); $_op.setScratchBytes(bytes);">,
    InterfaceMethod<"Cycles of the run in which it is predicted to be the one "
                    "that runs, first and past the last, from the scheduled state on.",
      "std::optional<::llvm::ArrayRef<int64_t>>", "getRunWindow", (ins), "",
      "return $_op.getWindow();">,
    InterfaceMethod<"When words flow on its host streams, from the scheduled state on.",
      "::mlir::ArrayAttr", "getStreamFlows", (ins), "",
      "return $_op.getFlowsAttr();">,
    InterfaceMethod<"Sets when it is predicted to run and its words to flow.",
      "void", "setTimes", (ins "::llvm::ArrayRef<int64_t>":$window,
                               "::mlir::ArrayAttr":$flows), "",
      "$_op.setWindow(window); $_op.setFlowsAttr(flows);">
  ];
}

def Wse_PersistentOpInterface : OpInterface<"PersistentOp"> {
  let cppNamespace = "::wsec::wse";
  let description = [{
    What stays on the wafer between launches and calls.
  }];
  let methods = [
    InterfaceMethod<"Symbol of the region that holds it; null: none does.",
      "::mlir::FlatSymbolRefAttr", "getHome", (ins), "",
      "return $_op.getRegionAttr();">,
    InterfaceMethod<"Its type there.",
      "::mlir::RankedTensorType", "getHeldType", (ins), "",
      "return ::llvm::cast<::mlir::RankedTensorType>("
      "$_op.getTypeAttr().getValue());">,
    InterfaceMethod<"SRAM that it takes in the fullest PE of its region.",
      "int64_t", "getHeldBytes", (ins "int64_t":$width, "int64_t":$height)>,
    InterfaceMethod<"Its name.",
      "::mlir::StringAttr", "getHeldName", (ins), "",
      "return $_op.getSymNameAttr();">,
    InterfaceMethod<"Its SRAM address in every PE, from the scheduled state on.",
      "std::optional<int64_t>", "getHeldAddress", (ins), "",
      "return $_op.getAddress();">,
    InterfaceMethod<"Sets its SRAM address.",
      "void", "setHeldAddress", (ins "int64_t":$address), "",
      "$_op.setAddress(address);">
  ];
}

#endif // WSEC_DIALECTS_WSE_WSEINTERFACES_TD
