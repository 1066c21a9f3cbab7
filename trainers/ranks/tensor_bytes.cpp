#include "trainers/ranks/tensor_bytes.h"

#include <cstring>

namespace thtrain {

static void append_number(int64_t number, std::string& bytes) {
  bytes.append(reinterpret_cast<const char*>(&number), sizeof number);
}

static int64_t take_number(std::string_view& bytes) {
  int64_t out = 0;
  TH_CHECK(bytes.size() >= sizeof out, "a message of tensors ends early");
  std::memcpy(&out, bytes.data(), sizeof out);
  bytes.remove_prefix(sizeof out);
  return out;
}

void append_tensors(std::span<const Tensor> tensors, std::string& bytes) {
  append_number(std::ssize(tensors), bytes);
  for (const Tensor& tensor : tensors) {
    const Tensor rows = tensor.contiguous();
    append_number(static_cast<int64_t>(rows.dtype()), bytes);
    append_number(static_cast<int64_t>(rows.rank()), bytes);
    for (int64_t length : rows.shape()) append_number(length, bytes);
    bytes.append(static_cast<const char*>(rows.raw()), rows.bytes());
  }
}

std::vector<Tensor> take_tensors(std::string_view& bytes) {
  std::vector<Tensor> out;
  for (int64_t left = take_number(bytes); left > 0; --left) {
    const auto dtype = static_cast<DType>(take_number(bytes));
    Shape shape;
    for (int64_t axes = take_number(bytes); axes > 0; --axes) shape.push_back(take_number(bytes));
    Tensor& tensor = out.emplace_back(Tensor::empty(dtype, shape));
    TH_CHECK(bytes.size() >= tensor.bytes(), "a message of tensors ends early");
    std::memcpy(tensor.raw(), bytes.data(), tensor.bytes());
    bytes.remove_prefix(tensor.bytes());
  }
  return out;
}

}  // namespace thtrain
