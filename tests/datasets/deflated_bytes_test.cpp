// Bytes at any location of packed files: the same as those of the whole, and what is said of damaged ones.
#include "datasets/deflated_bytes.h"

#include <cstdlib>
#include <random>

#include "tests/support/datasets_support.h"

namespace thtrain {
namespace {

/// 9 MiB that pack to about a third, with stretches that pack to nothing.
std::string some_bytes() {
  std::mt19937 random(5);
  std::string out(size_t{9} << 20, 'x');
  for (size_t i = 0; i < out.size(); ++i)
    if (i / 700000 % 3 != 1) out[i] = static_cast<char>(random() % (i / 700000 % 3 == 0 ? 7 : 250));
  return out;
}

std::string bytes_at(const DeflatedBytes& packed, uint64_t offset, size_t count) {
  std::string out(count, '\0');
  packed.read_at(offset, std::as_writable_bytes(std::span(out)));
  return out;
}

DeflatedBytes gzip(const std::string& path) {
  auto file = std::make_shared<const InputFile>(path);
  const uint64_t size = file->size();
  return {std::move(file), 0, size, DeflatedBytes::Format::kGzip};
}

TEST(DeflatedBytes, AnyOffsetInAnyOrder) {
  TemporaryFolder folder;
  const std::string whole = some_bytes();
  folder.write("a", whole.substr(0, 3000000));
  folder.write("b", whole.substr(3000000));
  folder.write("empty", "");
  // One stream, and four of which two are empty.
  ASSERT_EQ(std::system(("cd " + folder.path() +
                         " && cat a b | gzip -c > one.gz && gzip -1 a b && gzip empty && "
                         "cat a.gz empty.gz b.gz empty.gz > four.gz")
                            .c_str()),
            0);
  for (const char* name : {"one.gz", "four.gz"}) {
    const DeflatedBytes packed = gzip(folder.path(name));
    ASSERT_EQ(packed.size(), whole.size());
    EXPECT_TRUE(bytes_at(packed, 0, whole.size()) == whole);
    std::mt19937 random(3);
    for (int i = 0; i < 60; ++i) {
      const size_t count = random() % (i % 2 ? 50 : 3000000), at = random() % (whole.size() - count + 1);
      ASSERT_TRUE(bytes_at(packed, at, count) == whole.substr(at, count)) << name << " " << at << " + " << count;
    }
    for (size_t at : {size_t{2999990}, size_t{3000000}, whole.size() - 5})
      EXPECT_EQ(bytes_at(packed, at, 5), whole.substr(at, 5));
    EXPECT_EQ(bytes_at(packed, whole.size(), 0), "");
  }
}

TEST(DeflatedBytes, DamagedOnesAreRefused) {
  TemporaryFolder folder;
  folder.write("a", some_bytes().substr(0, 300000));
  ASSERT_EQ(std::system(("gzip -k " + folder.path("a")).c_str()), 0);
  const std::string good = read_file(folder.path("a.gz"));
  auto error = [&](const std::string& bytes) { return error_text([&] { gzip(folder.write("b.gz", bytes)); }); };
  const std::string head = "error: " + folder.path("b.gz") + ": the gzip data is ";
  EXPECT_EQ(error(good), "no error");
  EXPECT_EQ(error(good + "what follows is no gzip"), "no error");
  EXPECT_EQ(error(good.substr(0, good.size() - 4)), head + "truncated\n  hint:     copy the file again");
  EXPECT_EQ(error(good.substr(0, 5000)), head + "truncated\n  hint:     copy the file again");
  std::string bad = good;
  bad[bad.size() - 6] = static_cast<char>(bad[bad.size() - 6] ^ 1);
  EXPECT_EQ(error(bad), head + "damaged\n  got:      incorrect data check\n  hint:     copy the file again");
}

}  // namespace
}  // namespace thtrain
