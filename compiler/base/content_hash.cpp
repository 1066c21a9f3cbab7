#include "compiler/base/content_hash.h"

#include <memory>

// The one source that expands the library's inline functions.
#define XXH_INLINE_ALL
#include <xxhash.h>

#include "compiler/base/content_hasher.h"
#include "compiler/base/error.h"

namespace thtrain {

struct ContentHasher::State {
  std::unique_ptr<XXH3_state_t, XXH_errorcode (*)(XXH3_state_t*)> xxh3{XXH3_createState(), XXH3_freeState};
};

ContentHasher::ContentHasher() : state_(std::make_unique<State>()) {
  TH_CHECK(state_->xxh3 && XXH3_128bits_reset(state_->xxh3.get()) == XXH_OK, "no memory for a hash");
}

ContentHasher::~ContentHasher() = default;

void ContentHasher::begin_part(uint64_t bytes) {
  unsigned char length[8];
  for (int i = 0; i < 8; ++i) length[i] = static_cast<unsigned char>(bytes >> (8 * i));
  XXH3_128bits_update(state_->xxh3.get(), length, sizeof length);
}

void ContentHasher::add(std::string_view bytes) {
  XXH3_128bits_update(state_->xxh3.get(), bytes.data(), bytes.size());
}

std::string ContentHasher::text() const {
  XXH128_canonical_t bytes;
  XXH128_canonicalFromHash(&bytes, XXH3_128bits_digest(state_->xxh3.get()));
  std::string out;
  for (unsigned char byte : bytes.digest) {
    out += "0123456789abcdef"[byte >> 4];
    out += "0123456789abcdef"[byte & 15];
  }
  return out;
}

std::string content_hash(std::initializer_list<std::string_view> parts) {
  ContentHasher out;
  for (std::string_view part : parts) {
    out.begin_part(part.size());
    out.add(part);
  }
  return out.text();
}

}  // namespace thtrain
