#include "compiler/ir/storage.h"

#include "compiler/ir/memory_blocks.h"

namespace thtrain {

Storage Storage::allocate(size_t bytes, const AddressSpace* space) {
  Storage out;
  out.space_ = space;
  if (space)
    out.owner_.reset(space->allocate(bytes), [bytes, space](void* block) { space->release(block, bytes); });
  else
    out.owner_.reset(allocate_block(bytes), [bytes](void* block) { free_block(block, bytes); });
  return out;
}

}  // namespace thtrain
