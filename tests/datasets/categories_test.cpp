#include "datasets/categories.h"

#include <gtest/gtest.h>

namespace thtrain {
namespace {

using Names = std::vector<std::string>;

TEST(Categories, AsTextAndBack) {
  const Categories all{.names = {{}, {"a", "b\nc"}, {}, {}, {"d"}, {}}};
  const std::string text("\0\0a\0b\nc\0\0\0\0\0\0d\0\0", 16);
  EXPECT_EQ(categories_text(all), text);
  EXPECT_EQ(categories_in(text), all.names);
  EXPECT_TRUE(all.has(1));
  EXPECT_FALSE(all.has(2));
  EXPECT_FALSE(all.has(6));
  EXPECT_FALSE(all.empty());
  EXPECT_TRUE((Categories{.names = {{}, {}}}.empty()));
}

// sorted() of Python orders texts by their code points, as their UTF-8 is.
TEST(Categories, AreSorted) {
  CategoryList list;
  for (const char* name : {"zebra", "Ärmel", "Zebra", "a b", "a"}) list.add(name);
  EXPECT_EQ(list.size(), 5);
  EXPECT_EQ(list.sorted(), Names({"Zebra", "a", "a b", "zebra", "Ärmel"}));
  EXPECT_EQ(list.codes(), (std::vector<int64_t>{3, 4, 0, 2, 1}));
  EXPECT_EQ(list.find("a b"), 3);
  EXPECT_EQ(list.find("b"), -1);
  EXPECT_FALSE(list.is_closed());
  const CategoryList known(Names{"b", "a"});
  EXPECT_TRUE(known.is_closed());
  EXPECT_EQ(known.sorted(), Names({"b", "a"}));
  EXPECT_EQ(known.codes(), (std::vector<int64_t>{0, 1}));
}

}  // namespace
}  // namespace thtrain
