// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
#ifndef RUNTIME_TRAIN_TOKENS_H
#define RUNTIME_TRAIN_TOKENS_H

#include "runtime/files/MappedFile.h"
#include "runtime/host/HostTensor.h"

#include <memory>
#include <string>
#include <vector>

namespace wsec::runtime {

/// What a token of a text is: a byte, or a character (a code point of UTF-8),
/// whose token is its place among all that the text has, in order.
enum class TextUnit { Bytes, Characters };

/// The tokens that a model learns from, one behind the other, in files of which
/// each goes on where the one before it ends:
///
///   .npy   integers of one dimension; mapped, not read
///   .txt   a text, whose units are the tokens; mapped, too
///
/// Throws IoError for a file that cannot be read, BadTensor for one that is
/// none of these.
class Tokens {
public:
  /// `characters`: those of the text that a model was trained on, whose places
  /// are the tokens here, too; empty: those that these texts have. A character
  /// that is not among them is BadTensor.
  static Tokens open(const std::vector<std::string> &paths,
                     TextUnit unit = TextUnit::Bytes,
                     std::vector<char32_t> characters = {});
  static Tokens open(const std::string &path, TextUnit unit = TextUnit::Bytes,
                     std::vector<char32_t> characters = {}) {
    return open(std::vector<std::string>{path}, unit, std::move(characters));
  }

  /// Messages name these, of which the files were made, one each.
  void madeOf(const std::vector<std::string> &sources);

  /// Name of the file; of several all names, separated by commas.
  const std::string &path() const { return name; }
  uint64_t size() const { return count; }
  int64_t operator[](uint64_t index) const;
  /// The characters of such texts, in the order of their tokens; else empty.
  const std::vector<char32_t> &characters() const { return known; }
  /// E.g. "1,115,394 characters of 65 kinds".
  std::string description() const;

  /// BadTensor names the first of all tokens that is not in [0, vocabulary).
  void requireWithin(int64_t vocabulary) const;
  /// BadTensor unless there are `wanted` tokens, with what to change.
  void requireCount(uint64_t wanted, const std::string &forWhat) const;

  /// Rows of `sequence` tokens, the first at `first`, each at the end of the
  /// one before: int64[rows, sequence].
  HostTensor rows(uint64_t first, uint64_t rows, uint64_t sequence) const;
  /// XXH3 of all tokens, as the file has them; of several, of their digests and
  /// numbers of tokens.
  uint64_t digest() const;

private:
  struct File {
    std::string name;
    bool isText = false; ///< else .npy
    std::shared_ptr<const MappedFile> file;
    DataType type = DataType::UInt8;
    const uint8_t *data = nullptr;
    uint64_t first = 0, count = 0; ///< of all tokens
    std::vector<uint32_t> decoded; ///< of a text of characters

    int64_t operator[](uint64_t index) const; ///< of its own
    uint64_t digest() const;
    void openNpy();
    void decode(std::vector<char32_t> &text) const;
    void number(const std::vector<char32_t> &text,
                const std::vector<char32_t> &known);
  };
  void numberCharacters();

  std::string name;
  std::vector<File> files;
  uint64_t count = 0;
  std::vector<char32_t> known;
};

} // namespace wsec::runtime

#endif // RUNTIME_TRAIN_TOKENS_H
