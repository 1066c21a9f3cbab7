// How the classes of a device call its driver. Seen by the sources of this folder alone.
#pragma once

#include "compiler/cuda/device.h"

/// Calls a function of the driver for the device, which throws where that is refused.
#define TH_CALL(device, function, ...)                                            \
  do {                                                                            \
    (device).use();                                                               \
    check((device).driver(), (device).driver().function(__VA_ARGS__), #function); \
  } while (false)

/// What a destructor calls: nothing is done about a refusal, as of a context that an error has spoiled.
#define TH_RELEASE(device, function, ...)                  \
  do {                                                     \
    (device).driver().cuCtxSetCurrent((device).context()); \
    (device).driver().function(__VA_ARGS__);               \
  } while (false)
