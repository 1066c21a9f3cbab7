// Where compiled code and what was measured is kept.
#pragma once

#include <string>

namespace thtrain {

/// $XDG_CACHE_HOME/thtrain, else ~/.cache/thtrain. A variable that holds no absolute path counts as not set; empty
/// where there is no home either.
std::string user_cache_folder();

/// $THTRAIN_CACHE_DIR as an absolute path, else user_cache_folder(); where that is empty, only the private folder is
/// used.
std::string default_cache_folder();

}  // namespace thtrain
