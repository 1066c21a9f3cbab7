#include "compiler/libraries/onednn.h"

#include <dlfcn.h>

#include <atomic>
#include <memory>

#include "compiler/base/error.h"
#include "compiler/libraries/matrix_products.h"
#include "compiler/libraries/threads.h"

namespace thtrain {
namespace {

struct Version {  // the beginning of dnnl_version_t
  int major, minor, patch;
};

template <class Function>
void find(void* library, const char* name, Function*& out) {
  out = reinterpret_cast<Function*>(dlsym(library, name));
}

std::unique_ptr<OneDnn> load_onednn() {
  for (const char* name : {"libdnnl.so.3", "libdnnl.so.2"}) {
    void* library = dlopen(name, RTLD_NOW | RTLD_LOCAL);
    if (!library) continue;
    auto out = std::make_unique<OneDnn>();
    const Version* (*version)() = nullptr;
    find(library, "dnnl_version", version);
    find(library, "dnnl_sgemm", out->sgemm);
    find(library, "omp_set_num_threads", out->set_threads);
    if (version && out->sgemm) {
      const Version& v = *version();
      out->library = library;
      out->major = v.major;
      out->version = str("oneDNN ", v.major, ".", v.minor, ".", v.patch);
      return out;
    }
    dlclose(library);
  }
  return nullptr;
}

}  // namespace

void OneDnn::use_one_thread() const {
  thread_local bool alone = false;  // OpenMP's setting belongs to the thread that makes it
  if (!alone && set_threads) set_threads(1);
  alone = true;
}

const OneDnn* onednn() {
  static const std::unique_ptr<OneDnn> once = load_onednn();
  return once.get();
}

int onednn_f32(ThContext* context, TH_GEMM_PARAMETERS(float)) {
  const float alpha = *alpha_at, beta = reads_c ? *beta_at : 0;
  // A library leaves out what a factor of 0 multiplies, and with it a NaN.
  if (alpha == 0 || (reads_c && beta == 0)) {
    matrix_products().gemm_f32(context, trans_a, trans_b, m, n, k, alpha_at, a, lda, b, ldb, beta_at, reads_c, c, ldc);
    return 0;
  }
  const OneDnn& library = *onednn();
  detail::GemmGrid grid = detail::gemm_grid(m, n, k, context->threads);
  Partition rows(m, 1, detail::kGemmUnit, grid.row_pieces), columns(n, 1, detail::kGemmUnit, grid.column_pieces);
  std::atomic<int> failed = 0;
  run_pieces(rows.pieces() * columns.pieces(), [&](int piece) {
    library.use_one_thread();
    long i = rows.begin(piece / columns.pieces()), j = columns.begin(piece % columns.pieces());
    long height = rows.end(piece / columns.pieces()) - i, width = columns.end(piece % columns.pieces()) - j;
    const int status =
        library.sgemm(trans_a ? 'T' : 'N', trans_b ? 'T' : 'N', height, width, k, alpha, a + (trans_a ? i : i * lda),
                      lda, b + (trans_b ? j * ldb : j), ldb, beta, c + i * ldc + j, ldc);
    if (status != 0) failed = status;
  });
  return failed;
}

NamedFunctions onednn_functions() {
  return {{"onednn_f32", []() -> std::optional<LibraryImplementation> {
             // Its corner cases are OpenBLAS's.
             if (!onednn() || !matrix_products().gemm_f32) return std::nullopt;
             return LibraryImplementation{reinterpret_cast<void*>(onednn_f32), onednn()->version};
           }}};
}

}  // namespace thtrain
