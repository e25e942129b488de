// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
#include "runtime/pe/Switch.h"

#include "runtime/program/Ports.h"

namespace wsec::runtime::pe {

using program::PopMode;
using program::SwitchCommand;

Switch::Switch(const program::RouteRule *rule) : rule(rule) {
  if (!rule)
    return;
  closed = false;
  pop = rule->pop();
  go(rule->initial());
}

void Switch::go(uint8_t to) {
  position = to;
  const RoutePorts ports = portsAt(*rule, to);
  receive = ports.receive;
  transmit = uint8_t(ports.transmit);
}

bool Switch::switches() const { return rule && furtherPositions(*rule) > 0; }

bool Switch::advance() {
  if (!switches())
    return false;
  if (position < furtherPositions(*rule))
    go(uint8_t(position + 1));
  else if (rule->ring())
    go(0);
  else
    return false;
  return true;
}

uint32_t Switch::act(uint32_t commands) {
  const auto command = SwitchCommand(commands & ((1u << commandBits) - 1));
  const bool advanced = command == SwitchCommand::Advance && advance();
  if (command == SwitchCommand::Reset && rule)
    go(0);
  if (command == SwitchCommand::Teardown)
    closed = true;
  const bool pops =
      pop == PopMode::Always || (pop == PopMode::OnAdvance && advanced);
  return pops ? commands >> commandBits : commands;
}

void Switch::set(program::Port newReceive, uint8_t newTransmit) {
  rule = nullptr;
  receive = newReceive;
  transmit = newTransmit;
  position = 0;
  closed = false;
}

} // namespace wsec::runtime::pe
