// Transforms of Fourier on a device: Stockham's passes over each line, by one block of threads, or over several short
// lines.
#include <algorithm>
#include <bit>
#include <numbers>
#include <utility>
#include <vector>

#include "compiler/kernel/schedule/device.h"
#include "compiler/ops/elemwise/complex_maths.h"
#include "compiler/ops/fft/transform.h"

namespace thtrain {
namespace {

using kernel::LoopMark;
using kernel::Term;

// The factors of a length, in the order of the passes.
std::vector<int64_t> radices_of(int64_t n) {
  std::vector<int64_t> out;
  while (n > 1) {
    int64_t factor = n % 4 == 0 ? 4 : 2;
    while (n % factor != 0 && factor * factor <= n) ++factor;
    if (n % factor != 0) factor = n;
    out.push_back(factor);
    n /= factor;
  }
  return out;
}

Dim all_numbers(const Transform& t) {
  return t.count * t.elements() * t.inner;
}

// Complex numbers are pairs of numbers in workspaces and in the operands of a step.
class DeviceTransform {
 public:
  DeviceTransform(kernel::StepBuilder& b, Transform transform, const kernel::Operand& in, const kernel::Operand& out)
      : b_(b),
        code_(b.code()),
        transform_(std::move(transform)),
        in_(in),
        out_(out),
        dtype_(real_dtype(out.type.dtype)) {}

  void lower(const LineMemory& memory) {
    const bool is_in_output = transform_.kind == Transform::kComplex;
    const kernel::Operand &numbers = is_in_output ? out_ : memory.numbers, &other = memory.other;
    load_numbers(numbers, all_numbers(transform_));
    Dim outer = transform_.count, inner = transform_.inner;
    for (size_t axis = 3; axis-- > 0; inner = inner * transform_.n[axis]) {
      outer = transform_.count;
      for (size_t before = 0; before < axis; ++before) outer = outer * transform_.n[before];
      if (transform_.n[axis] != 1) lines(numbers, other, transform_.n[axis], outer, inner);
    }
    if (!is_in_output) store_results(numbers);
  }

 private:
  static kernel::Operand floats_of(kernel::Operand numbers) {
    numbers.type.dtype = real_dtype(numbers.type.dtype);
    return numbers;
  }
  Parts load(const kernel::Operand& of, const Term& at) {
    const kernel::Operand parts = floats_of(of);
    const Term first = code_.let("first", Term(2) * at);
    return {code_.let("re", b_.load(parts, first)), code_.let("im", b_.load(parts, first + Term(1)))};
  }
  void store(const kernel::Operand& to, const Term& at, const Parts& value) {
    const kernel::Operand parts = floats_of(to);
    const Term first = code_.let("first", Term(2) * at);
    b_.store(parts, first, value.re);
    b_.store(parts, first + Term(1), value.im);
  }
  Term zero() const { return kernel::constant(dtype_, 0); }
  void each(const Dim& count, const std::string& name, const std::string& comment,
            const std::function<void(const Term&)>& body) {
    code_.loop("i", b_.begin(), b_.end(), 1, LoopMark::kSequential, body);
    b_.finish_kernel(name, comment, count, 1);
  }

  // The numbers in time, or all results of a spectrum of which half is given, times what the norm says.
  void load_numbers(const kernel::Operand& to, const Dim& all) {
    const Term n = b_.length(transform_.n[2]), elements = kernel::cast(b_.length(transform_.elements()), dtype_),
               scale = code_.let("scale", transform_.norm == 0   ? kernel::constant(dtype_, 1)
                                          : transform_.norm == 1 ? kernel::constant(dtype_, 1) / sqrt(elements)
                                                                 : kernel::constant(dtype_, 1) / elements);
    each(all, "fft_numbers", "the complex numbers of what is transformed", [&](const Term& i) {
      Parts x;
      if (transform_.kind == Transform::kComplex) {
        x = load(in_, i);
      } else if (transform_.kind == Transform::kRealToHalf) {
        x = {b_.load(in_, i), zero()};
      } else {
        const Term row = code_.let("row", i / n), k = code_.let("k", i - row * n),
                   is_conjugate = code_.let("is_conjugate", k + k > n);
        x = load(in_, row * (n / Term(2) + Term(1)) + select(is_conjugate, n - k, k));
        x.im = select(k == Term(0) || k + k == n, zero(), select(is_conjugate, -x.im, x.im));
      }
      store(to, i, {x.re * scale, x.im * scale});
    });
  }

  void store_results(const kernel::Operand& from) {
    if (transform_.kind == Transform::kHalfToReal)
      return each(all_numbers(transform_), "fft_real", "the real parts",
                  [&](const Term& i) { b_.store(out_, i, load(from, i).re); });
    const Dim of_row = transform_.n[2], half = floor_div(of_row, 2) + 1;
    const Term n = b_.length(of_row), results = b_.length(half);
    each(transform_.count * transform_.n[0] * transform_.n[1] * half, "fft_half", "half of the results",
         [&](const Term& i) {
           const Term row = code_.let("row", i / results);
           code_.if_(
               n > Term(0), [&] { store(out_, i, load(from, row * n + (i - row * results))); },
               [&] {
                 store(out_, i, {zero(), zero()});
               });
         });
  }

  // A power of two, at least one for each number where that is known.
  static int64_t threads_of_line(const Dim& length) {
    if (!length.is_known()) return kernel::kDeviceThreads;
    const auto n = static_cast<uint64_t>(std::max<int64_t>(length.value(), 1));
    return static_cast<int64_t>(std::min<uint64_t>(std::bit_ceil(n), kernel::kDeviceThreads));
  }

  // Lines of n numbers, `inner` apart, by Stockham's passes between both memories.
  void lines(const kernel::Operand& numbers, const kernel::Operand& other, const Dim& length, const Dim& outer,
             const Dim& inner) {
    const kernel::Operand roots = b_.workspace(dtype_, Dim(2) * length);
    {
      const Term turn =
          code_.let("turn", kernel::constant(DType::kFloat64, (transform_.inverse ? 2 : -2) * std::numbers::pi) /
                                kernel::cast(b_.length(length), DType::kFloat64));
      each(length, "fft_roots", "the powers of a root of 1", [&](const Term& k) {
        const Term angle = code_.let("angle", kernel::cast(k, DType::kFloat64) * turn);
        store(roots, k,
              {kernel::cast(kernel::math("cos", {angle}), dtype_), kernel::cast(kernel::math("sin", {angle}), dtype_)});
      });
    }
    const int64_t of_line = threads_of_line(length), of_block = kernel::kDeviceThreads / of_line;
    const Dim lines = outer * inner;
    const Term n = b_.length(length), stride = b_.length(inner),
               line = of_block == 1 ? b_.block()
                                    : code_.let("line", b_.block() * Term(of_block) + b_.thread() / Term(of_line)),
               first = of_block == 1 ? b_.thread() : code_.let("first", b_.thread() % Term(of_line)),
               row = code_.let("row", line / stride),
               start = code_.let("start", row * n * stride + line - row * stride);
    const bool are_whole = of_block == 1 || (lines.is_known() && lines.value() % of_block == 0);
    const Term last = are_whole ? n : code_.let("last", select(line < b_.length(lines), n, 0));
    const auto each_of_line = [&](const std::function<void(const Term&)>& body) {
      code_.loop("o", first, last, Term(of_line), LoopMark::kSequential, body);
    };
    const auto at = [&](const Term& i) { return start + i * stride; };
    // Transforms of `done` numbers of which each `radix` become one.
    const auto pass = [&](const kernel::Operand& from, const kernel::Operand& to, const Term& done, const Term& radix) {
      const Term joined = code_.let("joined", done * radix), apart = code_.let("apart", n / radix),
                 turns = code_.let("turns", n / joined);
      each_of_line([&](const Term& o) {
        const Term group = code_.let("group", o / joined), k = code_.let("k", o - group * joined),
                   first = code_.let("first", group * done + k % done), turn = code_.let("turn", k * turns),
                   root = code_.var("root", 0), re = code_.var("re", zero()), im = code_.var("im", zero());
        // Sums of at most kOfPart terms, so that rounding grows slowly with a large radix.
        constexpr int64_t kOfPart = 32;
        code_.loop("part", 0, radix, Term(kOfPart), LoopMark::kSequential, [&](const Term& part) {
          const Term left = code_.let("left", radix - part), re_of_part = code_.var("re", zero()),
                     im_of_part = code_.var("im", zero());
          code_.loop("q", select(left < Term(kOfPart), left, Term(kOfPart)), [&](const Term& q) {
            const Parts product = load(from, at(first + (part + q) * apart)) * load(roots, root);
            code_.assign(re_of_part, re_of_part + product.re);
            code_.assign(im_of_part, im_of_part + product.im);
            const Term next = code_.let("next", root + turn);
            code_.assign(root, select(next >= n, next - n, next));
          });
          code_.assign(re, re + re_of_part);
          code_.assign(im, im + im_of_part);
        });
        store(to, at(o), {re, im});
      });
      code_.barrier();
    };
    const kernel::Operand *from = &numbers, *to = &other;
    if (length.is_known()) {
      int64_t done = 1;
      for (const int64_t radix : radices_of(length.value())) {
        pass(*from, *to, done, radix);
        std::swap(from, to);
        done *= radix;
      }
    } else {
      pass(*from, *to, 1, code_.let("radix", select(n > Term(0), n, Term(1))));
      std::swap(from, to);
    }
    if (from == &other) each_of_line([&](const Term& o) { store(numbers, at(o), load(other, at(o))); });
    b_.finish_device_kernel("fft_lines", "transforms along an axis", kernel::blocks_for(lines, of_block),
                            kernel::kDeviceThreads,
                            of_block == 1 ? "a block for each line" : str("a block for ", of_block, " lines"));
  }

  kernel::StepBuilder& b_;
  kernel::Code& code_;
  const Transform transform_;
  const kernel::Operand &in_, &out_;
  DType dtype_;
};

}  // namespace

void transform_lines(kernel::StepBuilder& b, const Transform& transform, const kernel::Operand& in,
                     const kernel::Operand& out, const LineMemory& memory) {
  DeviceTransform(b, transform, in, out).lower(memory);
}

void lower_transform_lines(kernel::StepBuilder& b) {
  const Transform transform = transform_of(b.node());
  const DType dtype = real_dtype(b.output().type.dtype);
  const Dim parts = Dim(2) * all_numbers(transform);
  const kernel::Operand numbers = transform.kind == Transform::kComplex ? b.output() : b.workspace(dtype, parts),
                        other = b.workspace(dtype, parts);
  transform_lines(b, transform, b.input(0), b.output(), {numbers, other});
}

int64_t line_roots(const std::array<int64_t, 3>& lengths) {
  int64_t out = 0;
  for (const int64_t n : lengths) out += n == 1 ? 0 : 2 * n;
  return out;
}

}  // namespace thtrain
