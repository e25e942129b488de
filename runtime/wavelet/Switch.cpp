// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
#include "runtime/wavelet/Switch.h"
#include "runtime/program/Ports.h"

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
  const RoutePorts ports = portsAt(*rule, position);
  receivePort = ports.receive;
  transmitPorts = uint8_t(ports.transmit);
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
