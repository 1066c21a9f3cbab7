// Keys that several kinds share, on the reference page.
#include <gtest/gtest.h>

#include "config/config.h"

namespace thtrain {
namespace {

struct Shape : Section {
  std::string name;
  int64_t side = 1;
  static const std::vector<Kind<Shape>>& kinds();
  template <class T>
  static void describe_shared(Fields<T>& f) {
    const auto keys = f.group("every shape");
    f.field("name", &T::name).help("What it is called.");
    f.field("side", &T::side).help("Its length.");
  }
};

struct Square : Shape {
  static constexpr std::string_view kName = "square";
  static void describe(Fields<Square>& f) {
    f.about("Four corners.");
    describe_shared(f);
  }
};

struct Cube : Shape {
  static constexpr std::string_view kName = "cube";
  bool hollow = false;
  Cube() { side = 2; }
  static void describe(Fields<Cube>& f) {
    describe_shared(f);
    f.field("hollow", &Cube::hollow).help("Whether it is empty.");
  }
};

// It has one of the keys of the group, and a group of its own that no other kind has.
struct Point : Shape {
  static constexpr std::string_view kName = "point";
  int64_t x = 0;
  static void describe(Fields<Point>& f) {
    {
      const auto keys = f.group("every shape");
      f.field("name", &Point::name).help("What it is called.");
    }
    const auto keys = f.group("points");
    f.field("x", &Point::x).help("Where it is.");
  }
};

const std::vector<Kind<Shape>>& Shape::kinds() {
  static const std::vector<Kind<Shape>> kinds = {kind<Square, Shape>(), kind<Cube, Shape>(), kind<Point, Shape>()};
  return kinds;
}

struct Picture : Section {
  OneOf<Shape> shape;
  static void describe(Fields<Picture>& f) {
    f.kind("shape", &Picture::shape, "type").required().help("What is drawn.");
  }
};

TEST(ConfigPage, SharedKeysAreListedOnceAndAgainWhereADefaultDiffers) {
  EXPECT_EQ(reference_page<Picture>(), R"(## Top of the file

## `[shape]`
What is drawn. `type` is required, and one of `"square"`, `"cube"`, `"point"`.

## `[shape]`: every shape
| key | value | default | meaning |
| --- | --- | --- | --- |
| `name` | a string | `""` | What it is called. |
| `side` | an integer | `1` | Its length. |

## `[shape]`: kinds without other keys
- `square`: Four corners. Shared keys: [every shape](#shape-every-shape).

## `[shape]`: kinds with one other key
| kind | key | value | default | meaning |
| --- | --- | --- | --- | --- |
| `point`: Shared keys: [every shape](#shape-every-shape) without `side`. | `x` | an integer | `0` | Where it is. |

## `[shape]` with `type = "cube"`
Shared keys: [every shape](#shape-every-shape).

| key | value | default | meaning |
| --- | --- | --- | --- |
| `side` | an integer | `2` | Its length. |
| `hollow` | true or false | `false` | Whether it is empty. |
)");
}

}  // namespace
}  // namespace thtrain
