// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
#include "runtime/wavelet/Switch.h"

namespace wsec::runtime::wavelet {

using program::PopMode;
using program::SwitchCommand;

uint32_t packCommand(SwitchCommand command, int index) {
  return uint32_t(command) << index * commandBits;
}

Switch::Switch(const program::RouteRule &rule) : rule(&rule), pop(rule.pop()) {
  goTo(rule.initial());
}

Switch Switch::closed() {
  Switch result;
  result.tornDown = true;
  return result;
}

void Switch::goTo(size_t to) {
  position = uint8_t(to);
  receivePort = rule->receive();
  transmitPorts = rule->transmit();
  if (to == 0)
    return;
  const program::SwitchPosition &at = *rule->positions()->Get(unsigned(to - 1));
  if (at.receive() >= 0)
    receivePort = program::Port(at.receive());
  if (at.transmit() != 0)
    transmitPorts = at.transmit();
}

bool Switch::advance() {
  if (!switches())
    return false;
  if (position < rule->positions()->size())
    goTo(position + 1u);
  else if (rule->ring())
    goTo(0);
  else
    return false;
  return true;
}

void Switch::act(Wavelet &control) {
  const auto command =
      SwitchCommand(control.commands & ((1u << commandBits) - 1));
  const bool advanced = command == SwitchCommand::Advance && advance();
  if (command == SwitchCommand::Reset && rule)
    goTo(0);
  if (command == SwitchCommand::Teardown)
    tornDown = true;
  if (pop == PopMode::Always || (pop == PopMode::OnAdvance && advanced))
    control.commands >>= commandBits;
}

void Switch::set(program::Port receive, uint8_t transmit) {
  rule = nullptr;
  position = 0;
  receivePort = receive;
  transmitPorts = transmit;
  tornDown = false;
}

} // namespace wsec::runtime::wavelet
