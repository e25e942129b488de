// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
#include "compiler/infer/Operators.h"
#include <map>

using namespace wsec::infer;

std::vector<Operator> wsec::infer::allOperators() {
  std::vector<Operator> all;
  for (llvm::ArrayRef<Operator> family :
       {functionsOperators(),       arithmeticOperators(),
        castsOperators(),           shapesOperators(),
        rearrangementsOperators(),  lookupsOperators(),
        sequencesOperators(),       reductionsOperators(),
        normsOperators(),           productsOperators(),
        quantizationOperators(),    attentionOperators(),
        rotaryOperators(),          fusedAttentionOperators(),
        imagesOperators(),          poolsOperators(),
        channelsOperators(),        einsumOperators(),
        fourierOperators(),         integerProductsOperators(),
        cachesOperators(),          groupedAttentionOperators(),
        resizeOperators(),          gridSampleOperators(),
        linearAttentionOperators(), expertsOperators(),
        lossesOperators()})
    llvm::append_range(all, family);
  return all;
}

const Operator *wsec::infer::findOperator(llvm::StringRef qualifiedName) {
  static const std::map<llvm::StringRef, Operator> table = [] {
    std::map<llvm::StringRef, Operator> operators;
    for (const Operator &known : allOperators())
      operators.emplace(known.name, known);
    return operators;
  }();
  auto found = table.find(qualifiedName);
  return found == table.end() ? nullptr : &found->second;
}
