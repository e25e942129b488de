// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
#include "runtime/program/proof/TokenProgress.h"

#include <algorithm>

namespace wsec::runtime::tokens {

void Progress::take(Fabric &fabric) {
  fabric.takeWord(in);
  ++received;
}

/// One word that is dropped, or one step; false: it has to wait.
bool Progress::step(Fabric &fabric) {
  if (outside()) {
    if (!fabric.hasWord(in))
      return false;
    take(fabric);
    return true;
  }
  if (needsWord() && !fabric.hasWord(in))
    return false;
  if (sendsWord()) {
    Token token;
    if (const program::SendControl *control = op->control) {
      token.kind = Token::Control;
      if (control->commands())
        for (auto command : *control->commands())
          token.commands.push_back(program::SwitchCommand(command));
    }
    if (!fabric.send(out, token))
      return false;
  }
  if (needsWord())
    take(fabric);
  ++done;
  return true;
}

int64_t Progress::inside(int64_t words) const {
  return words / total * used +
         std::clamp<int64_t>(words % total - offset, 0, used);
}

int64_t Progress::takes(int64_t most) const {
  if (out == none)
    most = steps - done;
  const int64_t used = std::min(most, steps - done) / perWord;
  if (total == 0)
    return used;
  const int64_t kept = inside(received) + used, all = total * periods;
  // All before the word that would be one too many.
  return (kept == this->used * periods
              ? all
              : kept / this->used * total + offset + kept % this->used) -
         received;
}

int64_t Progress::takeAtOnce(int64_t words) {
  const int64_t kept =
      total == 0 ? words : inside(received + words) - inside(received);
  received += words;
  done += kept * perWord;
  return kept * perWord;
}

/// Sends what can go as far as somebody takes it.
bool Progress::flow(Fabric &fabric) {
  if (in != none || pairOut || op->control)
    return false;
  const int64_t words = std::min(steps - done, fabric.canFlow(out, Port::Ramp));
  fabric.flow(out, Port::Ramp, words);
  done += words;
  return words > 0;
}

bool Progress::advance(Fabric &fabric, Agenda &agenda) {
  while (!finished()) {
    if (flow(fabric))
      continue;
    if (!step(fabric))
      return false;
    agenda.spend(1);
  }
  return true;
}

Progress begin(const FabricRoutine &code, const FabricOp &op,
               const Place &place, const AxisScalars &scalars,
               const Fabric &fabric) {
  auto valueOf = [&](const program::Affine &affine) {
    return scalars.value(affine, place.x, place.y, op.turns);
  };
  auto routeOf = [&](const program::Affine &color) {
    return fabric.routeOf(place, scalars.value(color, place.x, place.y));
  };
  Progress result;
  result.op = &op;
  result.code = &code;
  if (op.control) {
    if (op.control->task() >= 0)
      throw NotUnderstood{"control wavelets that start tasks"};
    result.steps = 1;
    result.out = routeOf(*op.control->color());
    return result;
  }
  if (!op.in && !op.out)
    return result; // of memory alone
  const auto &extents = *op.instruction->extents();
  auto extent = [&](unsigned i) {
    return std::max<int64_t>(0, valueOf(*extents[i]));
  };
  auto product = [&](unsigned first, unsigned end) {
    int64_t all = 1;
    for (unsigned i = first; i < end && i < extents.size(); ++i)
      all *= extent(i);
    return all;
  };
  unsigned depth = std::max(op.in ? op.in->depth() : 0u,
                            op.out ? unsigned(op.out->depth()) : 0u);
  result.steps = product(0, extents.size()) == 0 ? 0 : product(0, depth);
  if (op.out) {
    result.out = routeOf(*op.out->color());
    result.pairOut = op.out->packing() == program::Packing::Pair;
  }
  if (!op.in)
    return result;
  result.in = routeOf(*op.in->color());
  result.pairIn = op.in->packing() == program::Packing::Pair;
  result.perWord = std::max<int64_t>(1, product(op.in->depth(), depth));
  if (!op.in->window_total())
    return result;
  result.total = valueOf(*op.in->window_total());
  result.periods = extents.size() == 1 ? 1 : extent(0);
  result.used = product(extents.size() == 1 ? 0 : 1, op.in->depth());
  result.offset = result.used == 0 ? 0 : valueOf(*op.in->window_offset());
  if (result.pairIn || result.offset < 0 || result.total < 0 ||
      result.offset + result.used > result.total)
    throw NotUnderstood{"a window that does not fit"};
  return result;
}

} // namespace wsec::runtime::tokens
