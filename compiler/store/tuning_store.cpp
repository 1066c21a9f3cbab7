#include "compiler/store/tuning_store.h"

#include <unistd.h>

#include "compiler/store/cache_folder.h"

namespace thtrain {

EntryStore& tuning_store() {
  static EntryStore once(default_cache_folder(), geteuid(), "what was measured");
  return once;
}

}  // namespace thtrain
