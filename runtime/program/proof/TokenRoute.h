// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
// The queues of a color in one router, in words that have no values.
#ifndef RUNTIME_PROGRAM_PROOF_TOKENROUTE_H
#define RUNTIME_PROGRAM_PROOF_TOKENROUTE_H

#include "runtime/program/program_generated.h"

#include <array>
#include <cstdint>
#include <vector>

namespace wsec::runtime::tokens {

using program::Port;

constexpr size_t none = ~size_t(0);

/// How many words queues hold.
struct Depths {
  int64_t router, in, out;
  /// Control wavelets that start no task wait for room at ramps they pass.
  bool strict;
};

/// No more than the machine's, whatever the queue ids.
Depths leastDepths(const program::Machine &machine);

/// No fewer: with the words that are on links and ramps.
Depths mostDepths(const program::Machine &machine);

/// Words that wait at one place, counted.
struct Queue {
  int64_t count = 0, room = 0;

  int64_t free() const { return room - count; }
};

/// Some words; a control wavelet, which is one; or a mark behind the words of
/// an instruction that advances its PE's switch, which takes no room.
struct Token {
  enum Kind { Words, Control, Advance } kind = Words;
  int64_t count = 1;
  std::vector<program::SwitchCommand> commands; ///< that are left
};

/// An input of a router.
struct Input : Queue {
  std::vector<Token> tokens; ///< few: words behind words are one
  size_t from = none;        ///< the route that fills it

  void push(const Token &token) {
    if (token.kind != Token::Advance)
      count += token.count;
    if (token.kind == Token::Words && !tokens.empty() &&
        tokens.back().kind == Token::Words)
      tokens.back().count += token.count;
    else
      tokens.push_back(token);
  }
  /// Some of the first token.
  void pop(int64_t words) {
    Token &token = tokens.front();
    if (token.kind != Token::Advance)
      count -= words;
    if ((token.count -= words) == 0)
      tokens.erase(tokens.begin());
  }
};

constexpr size_t ports = 5;

/// Where words that leave by a port come in.
struct Link {
  size_t to = none; ///< route
  Port port = Port::Ramp;
};

/// A color in the router of a PE, with the position of its switch.
struct Route {
  size_t cell = 0;
  const program::RouteRule *rule = nullptr;
  unsigned position = 0;
  Port receive = Port::Ramp;
  unsigned transmit = 0;
  std::vector<Input> inputs; ///< of ports that some position receives from
  std::array<uint8_t, ports> inputAt{};
  std::array<Link, ports> links;
  Queue inbox;

  Input &in(Port port) { return inputs[inputAt[size_t(port)]]; }
  const Input &in(Port port) const { return inputs[inputAt[size_t(port)]]; }
  Input &input() { return in(receive); }
  const Input &input() const { return in(receive); }
  bool transmits(Port port) const { return transmit >> unsigned(port) & 1; }

  void makeQueues(const Depths &depths);
  void go(unsigned to);
  /// Whether all that it ever does is to pass words on over one link.
  bool onlyPasses() const;
  /// Whether there was a position to go to.
  bool advance();
  /// Does what the first command says, and takes off what the rule pops.
  void act(Token &control);
  /// Whether some position receives from the port.
  bool mayReceive(Port port) const;
};

} // namespace wsec::runtime::tokens

#endif // RUNTIME_PROGRAM_PROOF_TOKENROUTE_H
