#include "compiler/base/content_hash.h"

#include <memory>

// The one source that expands the library's inline functions.
#define XXH_INLINE_ALL
#include <xxhash.h>

#include "compiler/base/error.h"

namespace thtrain {

std::string content_hash(std::initializer_list<std::string_view> parts) {
  std::unique_ptr<XXH3_state_t, XXH_errorcode (*)(XXH3_state_t*)> state(XXH3_createState(), XXH3_freeState);
  TH_CHECK(state && XXH3_128bits_reset(state.get()) == XXH_OK, "no memory for a hash");
  for (std::string_view part : parts) {
    unsigned char length[8];
    for (int i = 0; i < 8; ++i) length[i] = static_cast<unsigned char>(static_cast<uint64_t>(part.size()) >> (8 * i));
    XXH3_128bits_update(state.get(), length, sizeof length);
    XXH3_128bits_update(state.get(), part.data(), part.size());
  }
  XXH128_canonical_t bytes;
  XXH128_canonicalFromHash(&bytes, XXH3_128bits_digest(state.get()));
  std::string out;
  for (unsigned char byte : bytes.digest) {
    out += "0123456789abcdef"[byte >> 4];
    out += "0123456789abcdef"[byte & 15];
  }
  return out;
}

}  // namespace thtrain
