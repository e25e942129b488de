// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
#include "tools/wsec/TrainFiles.h"
#include "runtime/program/NearestNames.h"
#include "tools/flags/CommandLine.h"
#include "tools/wsec/Tokenize.h"

#include "absl/flags/declare.h"
#include "absl/flags/flag.h"
#include "absl/strings/match.h"

using wsec::tools::Words;

ABSL_DECLARE_FLAG(std::string, loss);

ABSL_FLAG(Words, tokens, {},
          "FILE.npy|FILE.txt  what to learn from: integers of one dimension, "
          "or a text; may be repeated: each goes on where the last one ends");
ABSL_FLAG(std::string, data, "",
          "FILE.npz  or samples, along the first axis of its arrays: one named "
          "as each input of the model, and the targets");
ABSL_FLAG(std::string, targets, "targets",
          "NAME  the array of targets: labels for cross-entropy, of which -100 "
          "does not count, numbers for mean-square");
ABSL_FLAG(std::string, eval_data, "",
          "FILE.npz  what only to take the loss of");
ABSL_FLAG(std::string, text, "bytes",
          "UNIT  what a token of a text is: bytes, or characters, in the order "
          "of their code points");
ABSL_FLAG(
    std::string, tokenizer, "",
    "tokenizer.json  or by this, which the Python that $WSEC_PYTHON names "
    "(python3) reads, with its packages wsec and tokenizers");
ABSL_FLAG(Words, eval_tokens, {},
          "FILE.npy|FILE.txt  what only to take the loss of; may be repeated");

namespace wsec::tools {

using namespace wsec::runtime;

static TextUnit textUnit() {
  const std::string unit = absl::GetFlag(FLAGS_text);
  if (unit != "bytes" && unit != "characters")
    throw UsageError("--text wants bytes or characters, found '" + unit + "'");
  return unit == "bytes" ? TextUnit::Bytes : TextUnit::Characters;
}

static std::optional<Tokens> readTokens(const std::vector<std::string> &paths,
                                        const Tokens *others,
                                        const std::string &folder) {
  if (paths.empty())
    return std::nullopt;
  const std::string tokenizer = absl::GetFlag(FLAGS_tokenizer);
  if (textUnit() == TextUnit::Characters)
    for (const std::string &path : paths)
      if (!absl::EndsWith(path, ".txt"))
        throw UsageError("--text=characters numbers the characters of texts, "
                         ".txt files, and " +
                         inQuotes(path) + " has numbers of its own");
  if (tokenizer.empty())
    return Tokens::open(paths, textUnit(),
                        others ? others->characters()
                               : std::vector<char32_t>());
  if (textUnit() != TextUnit::Bytes)
    throw UsageError("what a token of a text is is said by --tokenizer or by "
                     "--text, not by both");
  std::vector<std::string> made;
  for (const std::string &path : paths) {
    if (!absl::EndsWith(path, ".txt"))
      throw UsageError("a tokenizer reads texts, .txt files, and " +
                       inQuotes(path) + " is none: leave out --tokenizer");
    made.push_back(tokenize(path, tokenizer, folder));
  }
  Tokens tokens = Tokens::open(made);
  tokens.madeOf(paths);
  return tokens;
}

static std::unique_ptr<NamedArrays> readArrays(const std::string &path) {
  if (path.empty())
    return nullptr;
  return NamedArrays::open(path, absl::GetFlag(FLAGS_loss) == "cross-entropy"
                                     ? absl::GetFlag(FLAGS_targets)
                                     : "");
}

TrainFiles readTrainFiles(const std::string &folder) {
  const std::vector<std::string> tokens = absl::GetFlag(FLAGS_tokens).values,
                                 others =
                                     absl::GetFlag(FLAGS_eval_tokens).values;
  const std::string data = absl::GetFlag(FLAGS_data),
                    otherData = absl::GetFlag(FLAGS_eval_data);
  if (tokens.empty() == data.empty())
    throw UsageError("say what to learn from: --tokens=FILE.npy or FILE.txt, "
                     "or --data=FILE.npz with an array of each input");
  if (tokens.empty() ? !others.empty() : !otherData.empty())
    throw UsageError("--eval-tokens goes with --tokens, --eval-data with "
                     "--data");
  if (tokens.empty() && (!absl::GetFlag(FLAGS_tokenizer).empty() ||
                         textUnit() != TextUnit::Bytes))
    throw UsageError("--tokenizer and --text go with --tokens");
  TrainFiles files;
  files.arrays = readArrays(data);
  files.evaluatedArrays = readArrays(otherData);
  files.tokens = readTokens(tokens, nullptr, folder);
  files.evaluatedTokens =
      readTokens(others, files.tokens ? &*files.tokens : nullptr, folder);
  return files;
}

std::vector<std::string> namesOfTrainFiles() {
  std::vector<std::string> names = absl::GetFlag(FLAGS_tokens).values;
  const Words others = absl::GetFlag(FLAGS_eval_tokens);
  names.insert(names.end(), others.values.begin(), others.values.end());
  for (const std::string &name :
       {absl::GetFlag(FLAGS_data), absl::GetFlag(FLAGS_eval_data),
        absl::GetFlag(FLAGS_tokenizer)})
    if (!name.empty())
      names.push_back(name);
  return names;
}

} // namespace wsec::tools
