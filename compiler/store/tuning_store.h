// Where what was measured on this machine is remembered.
#pragma once

#include "compiler/store/entry_store.h"

namespace thtrain {

inline constexpr const char* kTuningFolder = "tuning";

/// The process's store of measurements, in default_cache_folder() as it is at the first call.
EntryStore& tuning_store();

}  // namespace thtrain
