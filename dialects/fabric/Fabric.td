// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
// How operations of any dialect hold what the fabric is made of.

#ifndef WSEC_DIALECTS_FABRIC_FABRIC_TD
#define WSEC_DIALECTS_FABRIC_FABRIC_TD

include "mlir/IR/CommonAttrConstraints.td"

def Fabric_Port : ConfinedAttr<I32Attr, [IntMinValue<0>, IntMaxValue<4>]> {
  let summary = "a port of a router";
  let returnType = "::wsec::fabric::Port";
  let convertFromStorage = "static_cast<::wsec::fabric::Port>($_self.getInt())";
  let constBuilderCall = "$_builder.getI32IntegerAttr(int32_t($0))";
}

def Fabric_Ports : ConfinedAttr<I32Attr, [IntMinValue<0>, IntMaxValue<31>]> {
  let summary = "a set of ports of a router";
  let returnType = "::wsec::fabric::Ports";
  let convertFromStorage = "static_cast<::wsec::fabric::Ports>($_self.getInt())";
  let constBuilderCall = "$_builder.getI32IntegerAttr(int32_t($0))";
}

def Fabric_StreamPattern : Attr<And<[StrAttr.predicate,
    CPred<"::wsec::fabric::patternNamed(::llvm::cast<::mlir::StringAttr>($_self).getValue())">]>,
    "the shape of a stream's routes"> {
  let storageType = "::mlir::StringAttr";
  let returnType = "::wsec::fabric::StreamPattern";
  let convertFromStorage = "*::wsec::fabric::patternNamed($_self.getValue())";
  let constBuilderCall = "$_builder.getStringAttr(name($0))";
}

#endif // WSEC_DIALECTS_FABRIC_FABRIC_TD
