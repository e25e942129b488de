// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
#include "runtime/program/proof/TokenRoute.h"
#include "runtime/program/Ports.h"
#include "runtime/program/proof/FabricUse.h"

#include <algorithm>
#include <bit>

namespace wsec::runtime::tokens {

Depths leastDepths(const program::Machine &machine) {
  auto least = [](const flatbuffers::Vector<int32_t> *list) {
    int64_t depth = list && list->size() > 0
                        ? *std::min_element(list->begin(), list->end())
                        : 1;
    return std::max<int64_t>(1, depth);
  };
  return {std::max<int64_t>(1, machine.router_buffer_words()),
          least(machine.input_queue_words()),
          least(machine.output_queue_words()), true};
}

Depths mostDepths(const program::Machine &machine) {
  auto most = [](const flatbuffers::Vector<int32_t> *list) {
    return list && list->size() > 0
               ? int64_t(*std::max_element(list->begin(), list->end()))
               : 2;
  };
  int64_t hop = std::max(1, machine.hop_cycles()), ramp = machine.ramp_cycles();
  int64_t router = std::max<int64_t>(2 * hop, machine.router_buffer_words());
  constexpr int64_t slack = 2;
  return {router + hop + slack,
          most(machine.input_queue_words()) + ramp + slack,
          most(machine.output_queue_words()) + ramp + router + slack, false};
}

void Route::makeQueues(const Depths &depths) {
  for (size_t port = 0; port < ports; ++port) {
    if (!mayReceive(Port(port)))
      continue;
    inputAt[port] = uint8_t(inputs.size());
    inputs.emplace_back().room =
        Port(port) == Port::Ramp ? depths.out : depths.router;
  }
  inbox.room = depths.in;
}

bool Route::onlyPasses() const {
  return furtherPositions(*rule) == 0 && receive != Port::Ramp &&
         !transmits(Port::Ramp) && std::has_single_bit(transmit);
}

void Route::go(unsigned to) {
  position = to;
  const RoutePorts ports = portsAt(*rule, to);
  receive = ports.receive;
  transmit = ports.transmit;
}

bool Route::advance() {
  const unsigned last = furtherPositions(*rule);
  if (last == 0 || (position == last && !rule->ring()))
    return false;
  go(position == last ? 0 : position + 1);
  return true;
}

void Route::act(Token &control) {
  if (control.commands.empty())
    return;
  bool advanced = false;
  switch (control.commands.front()) {
  case program::SwitchCommand::Nop:
    break;
  case program::SwitchCommand::Advance:
    advanced = advance();
    break;
  case program::SwitchCommand::Reset:
    go(0);
    break;
  case program::SwitchCommand::Teardown:
    throw NotUnderstood{"routes that are torn down"};
  }
  if (rule->pop() == program::PopMode::Always ||
      (rule->pop() == program::PopMode::OnAdvance && advanced))
    control.commands.erase(control.commands.begin());
}

bool Route::mayReceive(Port port) const {
  bool found = rule->receive() == port;
  for (unsigned i = 0; i < furtherPositions(*rule); ++i)
    found |= rule->positions()->Get(i)->receive() == int(port);
  return found;
}

} // namespace wsec::runtime::tokens
