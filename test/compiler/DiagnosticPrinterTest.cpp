// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
#include "compiler/DiagnosticPrinter.h"

#include <gtest/gtest.h>

namespace wsec {
namespace {

const std::string name(1000, 'n');
const std::string prose = " needs what is said here at some length, " +
                          std::string(300, '-') + ", and so does ";

TEST(DiagnosticPrinterTest, LongNamesAreShortened) {
  const std::string printed = printableMessage("node '" + name + "' is odd");
  EXPECT_NE(printed.find("nnn ... (1001 bytes) ... nnn"), std::string::npos);
  EXPECT_EQ(printed.substr(printed.size() - 8), "' is odd");
}

TEST(DiagnosticPrinterTest, ProseBetweenNamesIsNot) {
  for (const char *quote : {"'", "\""}) {
    const std::string line =
        std::string(quote) + "a" + quote + prose + quote + "b" + quote;
    EXPECT_EQ(printableMessage(line), line);
  }
  EXPECT_EQ(printableMessage(prose + "'b'" + prose), prose + "'b'" + prose);
}

TEST(DiagnosticPrinterTest, AQuoteInANameDoesNotHideItsLength) {
  const std::string printed =
      printableMessage("node 'it's" + name + "' is odd");
  EXPECT_NE(printed.find(" bytes) ... nnn"), std::string::npos);
}

TEST(DiagnosticPrinterTest, LongLinesAreShortenedInAnyCase) {
  const std::string line = "'a' " + std::string(100000, '-') + " 'b'";
  EXPECT_LT(printableMessage(line).size(), 2100u);
}

} // namespace
} // namespace wsec
