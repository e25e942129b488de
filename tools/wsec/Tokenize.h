// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
#ifndef TOOLS_WSEC_TOKENIZE_H
#define TOOLS_WSEC_TOKENIZE_H

#include <string>

namespace wsec::tools {

/// The path of a .npy file in `folder` with the tokens of a text by a
/// tokenizer.json. Unless it is there, the Python that $WSEC_PYTHON names
/// (python3) writes it, with the package that well-known tokenizers are
/// written for: python/wsec/tokens.py. Throws with the command that failed.
std::string tokenize(const std::string &text, const std::string &tokenizer,
                     const std::string &folder);

} // namespace wsec::tools

#endif // TOOLS_WSEC_TOKENIZE_H
