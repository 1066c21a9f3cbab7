// Tests of compiler/base/content_hash.h.
#include "compiler/base/content_hash.h"

#include <gtest/gtest.h>

namespace thtrain {
namespace {

TEST(ContentHash, PartsDoNotRunTogether) {
  EXPECT_NE(content_hash({"ab", "c"}), content_hash({"a", "bc"}));
  EXPECT_NE(content_hash({"abc"}), content_hash({"abc", ""}));
  EXPECT_NE(content_hash({}), content_hash({""}));
  EXPECT_EQ(content_hash({"ab", "c"}), content_hash({"ab", "c"}));
}

TEST(ContentHash, Is32HexDigitsForAnyBytes) {
  for (std::string text : {std::string(), std::string("\0\xff\n", 3), std::string(100'000, 'x')}) {
    std::string hash = content_hash({text});
    EXPECT_EQ(hash.size(), 32u);
    EXPECT_EQ(hash.find_first_not_of("0123456789abcdef"), std::string::npos) << hash;
  }
}

// Pinned, so that a cache outlives a rebuild of thtrain. Both come from the library's one-shot function, the second
// over eight bytes of length, "abc", and the eight bytes of an empty part.
TEST(ContentHash, IsXxh3Of128BitsOverLengthsAndBytes) {
  EXPECT_EQ(content_hash({}), "99aa06d3014798d86001c324468d497f");
  EXPECT_EQ(content_hash({"abc", ""}), "76b17ea997ef87c81ad90b1402c4b3d4");
}

}  // namespace
}  // namespace thtrain
