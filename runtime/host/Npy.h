// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
// NumPy's file formats: .npy (one array) and .npz (a zip archive of them).
#ifndef RUNTIME_HOST_NPY_H
#define RUNTIME_HOST_NPY_H

#include "runtime/host/HostTensor.h"

#include <string>
#include <utility>
#include <vector>

namespace wsec::runtime {

/// Tensors by name, in the order of the file.
using NamedTensors = std::vector<std::pair<std::string, HostTensor>>;

/// The array in `size` bytes of .npy; `name` is for messages. Fortran order is
/// turned into row-major. Throws BadTensor.
HostTensor parseNpy(const uint8_t *data, uint64_t size,
                    const std::string &name);
/// The bytes of a .npy file.
std::string formatNpy(const HostTensor &tensor);

/// The arrays in `size` bytes of .npz, stored or deflated.
NamedTensors parseNpz(const uint8_t *data, uint64_t size,
                      const std::string &name);
/// The bytes of a .npz file, stored. Same tensors, same bytes.
std::string formatNpz(const NamedTensors &tensors);

HostTensor readNpy(const std::string &path);
NamedTensors readNpz(const std::string &path);

} // namespace wsec::runtime

#endif // RUNTIME_HOST_NPY_H
