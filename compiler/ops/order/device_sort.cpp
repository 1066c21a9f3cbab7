#include "compiler/ops/order/device_sort.h"

#include "compiler/kernel/schedule/device.h"
#include "compiler/ops/order/radix_sort.h"
#include "compiler/ops/order/sort_keys.h"
#include "compiler/ops/shape/copy_loops.h"

namespace thtrain {
namespace {

using kernel::Code;
using kernel::LoopMark;
using kernel::StepBuilder;
using kernel::Term;

constexpr int64_t kTile = 1024;                            // elements that a block sorts
constexpr int64_t kMostElements = (int64_t{1} << 32) - 1;  // of a row: places have 32 bits

class DeviceSort {
 public:
  DeviceSort(StepBuilder& b, const SortForm& form)
      : b_(b),
        code_(b.code()),
        form_(form),
        keys_(b.input(0).type.dtype, form.descending),
        in_(bits_of(b.input(0))),
        out_(bits_of(b.output())),
        n_(in_.type.dims.back()),
        k_(out_.type.dims.back()),
        rows_(product(Dims(in_.type.dims.begin(), in_.type.dims.end() - 1))) {}

  void run() {
    if (product(out_.type.dims).is(0)) {
      code_.comment("no element");
      return b_.finish_device_kernel(name(), comment(), 0, b_.target().device.warp, "no element");
    }
    const int64_t most = n_.is_known() ? n_.value() : kMostElements;
    if (most > kTile) {
      key_records_ = b_.workspace(keys_.dtype(), rows_ * n_ * Dim(2));
      places_ = b_.workspace(DType::kUInt32, rows_ * n_ * Dim(2));
    }
    sort_tiles();
    bool is_second = false;
    for (int64_t run = kTile; run < most; run *= 2, is_second = !is_second) merge_runs(run, is_second);
  }

 private:
  std::string name() const { return form_.positions ? "argsort" : "sort"; }
  std::string comment() const {
    return str(form_.positions ? "out0 = the positions of" : "out0 =", " the elements of each row of in0, ",
               form_.descending ? "the greatest" : "the least", " first");
  }

  // An element: its key, and where it is in the row that is given.
  struct Element {
    Term key, place;
  };

  // Where element `i` of runs of that length, of `count` elements together, is in the runs of twice the length. Of
  // equal elements those of the left run come first.
  Term merged(const Term& i, const Term& key, const Term& run, const Term& count,
              const std::function<Term(const Term&)>& key_at) {
    const auto at_most = [&](const Term& x) { return kernel::select(x < count, x, count); };
    const Term begin = code_.let("begin", i - (i & (run * Term(2) - Term(1))));
    const Term middle = code_.let("middle", at_most(begin + run)),
               end = code_.let("end", at_most(begin + run * Term(2))), is_left = code_.let("is_left", i < middle);
    const Term low = code_.var("low", kernel::select(is_left, middle, begin)),
               high = code_.var("high", kernel::select(is_left, end, middle));
    code_.while_(low < high, [&] {
      const Term half = code_.let("half", (low + high) / Term(2)), other = code_.let("other", key_at(half));
      const Term is_before = code_.let("is_before", other < key || (!is_left && other == key));
      code_.assign(low, kernel::select(is_before, half + Term(1), low));
      code_.assign(high, kernel::select(is_before, high, half));
    });
    return code_.let("at", i + low - middle);
  }

  // The sorted row's element `at`, where it is wanted.
  void write(const Term& row, const Term& at, const Term& place) {
    const auto store = [&] {
      const Term where = kernel::cast(place, DType::kInt64);
      b_.store(out_, row * b_.length(k_) + at, form_.positions ? where : b_.load(in_, row * b_.length(n_) + where));
    };
    k_ == n_ ? store() : code_.if_(at < b_.length(k_), store);
  }
  // The row is sorted when runs of so many elements are.
  void where_sorted(int64_t run, const std::function<void()>& then, const std::function<void()>& otherwise) {
    if (!n_.is_known()) return code_.if_(b_.length(n_) <= Term(run), then, otherwise);
    n_.value() <= run ? then() : otherwise();
  }
  void keep(const Term& to, const Element& element) {
    b_.store(key_records_, to, element.key);
    b_.store(places_, to, element.place);
  }

  void sort_tiles() {
    const Dim tiles = kernel::blocks_for(n_, kTile);
    const int64_t tile = n_.is_known() && n_.value() < kTile ? n_.value() : kTile;
    const int threads = kernel::threads_for(b_, n_);
    const std::string keys = code_.shared_array("keys", keys_.dtype(), 2 * tile),
                      places = code_.shared_array("places", DType::kUInt32, 2 * tile);
    const Term n = b_.length(n_), block = b_.block();
    const Term row = tiles.is(1) ? block : code_.let("row", block / b_.length(tiles));
    const Term first = tiles.is(1) ? Term(0) : code_.let("first", block % b_.length(tiles) * Term(kTile));
    const Term count = tiles.is(1) ? n : code_.let("count", kernel::select(n - first < Term(tile), n - first, tile));
    const auto each = [&](const std::function<void(const Term&)>& body) {
      code_.loop("i", b_.thread(), count, threads, LoopMark::kSequential, body);
    };
    const auto key_at = [&](const Term& at) { return kernel::load(keys, keys_.dtype(), 1, at, 1); };
    const auto element_at = [&](const Term& at) -> Element {
      return {code_.let("key", key_at(at)), code_.let("place", kernel::load(places, DType::kUInt32, 1, at, 1))};
    };
    const auto put = [&](const Term& at, const Element& element) {
      code_.store(keys, at, 1, element.key);
      code_.store(places, at, 1, element.place);
    };
    each([&](const Term& i) {
      const Term x = code_.let("x", b_.load(in_, row * n + first + i));
      put(i, {keys_.of(x), kernel::cast(first + i, DType::kUInt32)});
    });
    code_.barrier();
    const Term from = code_.var("from", 0), run = code_.var("run", 1);
    code_.while_(run < count, [&] {
      const Term to = code_.let("to", Term(tile) - from);
      each([&](const Term& i) {
        const Element element = element_at(from + i);
        put(to + merged(i, element.key, run, count, [&](const Term& at) { return key_at(from + at); }), element);
      });
      code_.barrier();
      code_.assign(from, to);
      code_.assign(run, run * Term(2));
    });
    each([&](const Term& i) {
      const Element element = element_at(from + i);
      where_sorted(
          kTile, [&] { write(row, first + i, element.place); }, [&] { keep(row * n + first + i, element); });
    });
    b_.finish_device_kernel(name(), comment(), rows_ * tiles, threads,
                            str("a block for each ", n_.is_known() && n_.value() <= kTile ? "row" : "1024 elements"));
  }

  // Runs of so many elements, from one half of the arena into the other one; the last ones into the output.
  void merge_runs(int64_t run, bool is_second) {
    const Dim all = rows_ * n_;
    const Term i = code_.let("i", b_.block() * Term(kernel::kDeviceThreads) + b_.thread()), n = b_.length(n_);
    code_.if_(i < b_.length(all), [&] {
      const Term row = code_.let("row", i / n);
      const Term half = is_second ? b_.length(all) : Term(0), other = is_second ? Term(0) : b_.length(all);
      const Term from = code_.let("from", half + row * n);
      const Element element{code_.let("key", b_.load(key_records_, half + i)),
                            code_.let("place", b_.load(places_, half + i))};
      const Term at = merged(code_.let("in_row", i - row * n), element.key, Term(run), n,
                             [&](const Term& at) { return b_.load(key_records_, from + at); });
      where_sorted(
          2 * run, [&] { write(row, at, element.place); }, [&] { keep(other + row * n + at, element); });
    });
    // Of an unknown length: no block where the row is sorted.
    const Dim is_needed = n_.is_known() ? Dim(1) : min(max(n_ - Dim(run), Dim(0)), Dim(1));
    b_.finish_device_kernel(name() + "_merge", str("runs of ", 2 * run, " elements in order"),
                            is_needed * kernel::blocks_for(all, kernel::kDeviceThreads), kernel::kDeviceThreads,
                            "a thread for each element");
  }

  StepBuilder& b_;
  Code& code_;
  SortForm form_;
  SortKeys keys_;
  kernel::Operand in_, out_;
  Dim n_, k_, rows_;                                // elements of a row, how many are wanted of it
  kernel::Operand key_records_ = {}, places_ = {};  // in two halves
};

}  // namespace

void lower_device_sort(StepBuilder& b, const SortForm& form) {
  DeviceSort(b, form).run();
}

}  // namespace thtrain
