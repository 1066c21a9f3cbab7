#include "trainers/ranks/device_ranks.h"

#include <cstring>
#include <future>

#include "compiler/cuda/device_program.h"
#include "compiler/cuda/emulated/nccl.h"
#include "compiler/cuda/nccl.h"
#include "compiler/ops/index/index.h"
#include "trainers/ranks/halving.h"

namespace thtrain {

static const cuda::Nccl& nccl_for(const kernel::Target& target) {
  if (target.is_emulated()) return cuda::emulated::nccl();
  const cuda::OpenedNccl& opened = cuda::nccl();
  if (!opened.trouble.empty())
    throw UserError(Message{.what = "several processes train on devices through NCCL, which is not there",
                            .expected = "libnccl.so.2",
                            .got = opened.trouble,
                            .hint = "`pip install nvidia-nccl-cu13`, or compiler.device = \"cpu\""});
  return opened.functions;
}

// Rank 0's id, as bytes.
static ncclUniqueId shared_id(const cuda::Nccl& nccl, Ranks& ranks) {
  std::string bytes(sizeof(ncclUniqueId), '\0');
  if (ranks.is_first()) {
    const ncclUniqueId made = cuda::new_communicator_id(nccl);
    std::memcpy(bytes.data(), &made, sizeof made);
  }
  bytes = ranks.from_first(bytes);
  ncclUniqueId out;
  std::memcpy(&out, bytes.data(), sizeof out);
  return out;
}

// Calls that may wait for another rank, by a thread that is given up with an error when the time is over.
class DeviceRanks::Link {
 public:
  Link(Ranks& ranks, const kernel::Target& target)
      : ranks_(ranks),
        device_(device_of(target).device),
        communicator_(nccl_for(target), device_, shared_id(nccl_for(target), ranks), ranks.rank(), ranks.size()) {}

  void exchange(int peer, cuda::DeviceAddress out, size_t out_bytes, cuda::DeviceAddress in, size_t in_bytes,
                int stage) {
    device_.wait();
    std::future<void> done =
        std::async(std::launch::async, [&] { communicator_.exchange(peer, out, out_bytes, in, in_bytes); });
    try {
      ranks_.wait_for(peer, stage, [&] { return done.wait_for(std::chrono::seconds(0)) == std::future_status::ready; });
    } catch (...) {
      communicator_.abort();
      done.wait();
      throw;
    }
    done.get();
  }

 private:
  Ranks& ranks_;
  const cuda::Device& device_;
  cuda::Communicator communicator_;
};

DeviceRanks::DeviceRanks(const Shared& values, Ranks& ranks, const FunctionOptions& options)
    : values_(values),
      arrived_(Tensor::zeros(values.type().dtype, {(element_count(values.type().known_shape()) + 1) / 2}), "arrived",
               true),
      ranks_(ranks),
      target_(*options.target) {
  nccl_for(target_);
  FunctionOptions adds = options;
  adds.name = "add_ranks";
  const Bucket all{0, element_count(values_.type().known_shape())};
  halve_and_double(
      ranks_.rank(), ranks_.size(), all,
      [&](int, const Bucket&, const Bucket& kept, int stage) {
        if (kept.size() == 0) return;
        const Expr sum =
            inc_subtensor(slice_axis(values_, 0, kept.begin, kept.size()), slice_axis(arrived_, 0, 0, kept.size()));
        Function& adder = adders_.emplace(stage, function({}, {}, {{values_, sum}}, adds)).first->second;
        adder(std::vector<Tensor>());  // both variables go to the device; zeros are added
      },
      [](int, const Bucket&, const Bucket&, int) {});
}

DeviceRanks::~DeviceRanks() = default;

void DeviceRanks::sum() {
  if (!link_) link_ = std::make_unique<Link>(ranks_, target_);
  const Tensor& values = values_.storage().value;
  const size_t size = size_of(values.dtype());
  const Bucket all{0, values.size()};
  auto address = [&](const Tensor& of, int64_t begin) {
    return cuda::address_of(of.address()) + static_cast<size_t>(begin) * size;
  };
  auto bytes = [&](const Bucket& of) { return static_cast<size_t>(of.size()) * size; };
  halve_and_double(
      ranks_.rank(), ranks_.size(), all,
      [&](int peer, const Bucket& given, const Bucket& kept, int stage) {
        link_->exchange(peer, address(values, given.begin), bytes(given), address(arrived_.storage().value, 0),
                        bytes(kept), stage);
        if (kept.size() > 0) adders_.at(stage)(std::vector<Tensor>());
      },
      [&](int peer, const Bucket& kept, const Bucket& given, int stage) {
        link_->exchange(peer, address(values, kept.begin), bytes(kept), address(values, given.begin), bytes(given),
                        stage);
      });
}

}  // namespace thtrain
