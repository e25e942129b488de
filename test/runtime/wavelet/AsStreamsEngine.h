// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
// Included before the tests of the streams engine, this makes them run their
// programs, and expect their cycles, on the stepping engine.
#ifndef TEST_RUNTIME_WAVELET_ASSTREAMSENGINE_H
#define TEST_RUNTIME_WAVELET_ASSTREAMSENGINE_H

#include "runtime/streams/StreamsEngine.h"
#include "runtime/wavelet/WaveletEngine.h"

#define StreamsEngine WaveletEngine

#endif // TEST_RUNTIME_WAVELET_ASSTREAMSENGINE_H
