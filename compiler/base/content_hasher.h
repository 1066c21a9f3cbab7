// The hash of content_hash.h over parts that are never in memory as a whole.
#pragma once

#include <cstdint>
#include <memory>
#include <string>
#include <string_view>

namespace thtrain {

/// content_hash() of parts that come piece by piece: each is begun with its length, and its bytes follow.
class ContentHasher {
 public:
  ContentHasher();
  ~ContentHasher();
  ContentHasher(const ContentHasher&) = delete;
  ContentHasher& operator=(const ContentHasher&) = delete;
  void begin_part(uint64_t bytes);
  void add(std::string_view bytes);
  std::string text() const;

 private:
  struct State;
  std::unique_ptr<State> state_;
};

}  // namespace thtrain
