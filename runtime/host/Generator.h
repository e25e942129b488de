// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
#ifndef RUNTIME_HOST_GENERATOR_H
#define RUNTIME_HOST_GENERATOR_H

#include "runtime/host/Sampling.h"
#include "runtime/host/Session.h"

#include <algorithm>
#include <limits>
#include <optional>
#include <string>
#include <vector>

namespace wsec::runtime {

struct GenerationOptions {
  uint64_t mostTokens = 1;        ///< behind the prompt
  std::vector<int64_t> endTokens; ///< each ends the text, and is its last token
  int64_t position = 0;           ///< tokens whose keys the state holds already
  bool isLoaded = false; ///< weights that stay are there, by a restored state
  Sampling sampling;
  EngineOptions engineOptions;
  Engine engine = Engine::Burst;
};

/// What was made of a prompt. Cycles are of the wafer, bytes those of weights
/// that streamed.
struct Generation {
  std::vector<int64_t> ids;
  uint64_t promptTokens = 0;
  bool ended = false;         ///< by one of the tokens that end a text
  int64_t position = 0;       ///< of the next token: the last one is not fed
  double firstCycles = 0;     ///< up to the first token
  uint64_t steps = 0;         ///< calls that made the others
  double cycles = 0;          ///< of the steps
  uint64_t streamedBytes = 0; ///< in the steps
  std::vector<ExpertLoad> experts;
  double firstSeconds = 0, seconds = 0; ///< of the host
};

/// The loop of a language model whose keys and values stay on the wafer: a
/// prompt goes in by the entries that take many tokens a call, and then each
/// token that comes out.
///
/// An entry of the loop reads the input `input_ids`, integers [1, tokens], and
/// has one argument, the position of the first of them. It may read
/// `position_ids`, [1, tokens], and `last`, [1], the number in the call of the
/// token whose logits are asked for; other inputs are those that are bound,
/// and none may be what the call before left in an output. It writes `logits`
/// (or its only output is so), of each token or the last one, or `top.ids` and
/// `top.logits`, the likeliest ones.
class Generator {
public:
  /// Throws BadCall where the program has no such entry, or entries disagree.
  explicit Generator(Session &session);

  /// Tokens that the states have room for.
  int64_t capacity() const { return room; }
  /// The name of the argument that is the position.
  const std::string &positionName() const { return entries.front().argument; }

  /// Throws before the first call what speaks against it: BadTensor for a token
  /// that the model does not know or an input that nobody gave, BadCall where
  /// the prompt and its answer exceed the capacity, an entry has no room where
  /// it would be called, or sampling needs more logits than leave the wafer.
  /// What a call throws leaves the state as the calls before have left it.
  Generation generate(const std::vector<int64_t> &prompt,
                      const GenerationOptions &options);

  /// The last call that `generate` made.
  const Call &lastCall() const { return last->first; }
  const SessionRun &lastRun() const { return last->second; }

private:
  struct Entry {
    uint32_t index;
    std::string name, argument;
    int64_t from, to; ///< positions
    int64_t tokens;   ///< of a call
    uint32_t ids;     ///< the tensor
    std::optional<uint32_t> positions, number;
    std::string logits, top; ///< outputs; empty `top`: all logits leave
    int64_t rows = 0;        ///< tokens that logits are of
    int64_t likely = 0;      ///< logits of a token
    bool noPadding = false;  ///< all tokens of a call are kept

    /// Tokens of a sequence, at most; a state of a recurrence has no end.
    int64_t room() const {
      constexpr int64_t most = std::numeric_limits<int32_t>::max();
      return std::min(to + tokens, most);
    }
    /// Whether sequences only begin with it.
    bool onlyBegins() const { return noPadding && to == 0; }

    /// Whether a call may have fewer tokens: it says or gives the last one's.
    bool takesFewer() const { return !noPadding && (number || rows == tokens); }
  };

  std::optional<Entry> readEntry(uint32_t index) const;
  void findLogits(Entry &entry) const;
  void refuseCarried(const Entry &entry) const;
  const Entry *entryAt(int64_t position, int64_t tokens) const;
  void check(const std::vector<int64_t> &prompt,
             const GenerationOptions &options);
  void bindTokens(const Entry &entry, const int64_t *ids, int64_t tokens,
                  int64_t position);
  void bind(uint32_t tensor, const std::vector<int64_t> &numbers);
  std::vector<Likely> call(const Entry &entry, const int64_t *ids,
                           int64_t tokens, int64_t position,
                           const GenerationOptions &options);
  [[noreturn]] void refuse(const std::string &what) const;

  Session &session;
  std::vector<Entry> entries; ///< by their tokens
  int64_t room = 0;
  std::optional<std::pair<Call, SessionRun>> last;
  std::vector<ExpertLoad> experts; ///< of the calls for one prompt
};

} // namespace wsec::runtime

#endif // RUNTIME_HOST_GENERATOR_H
