/* What a shared object exports that adds implementations of matrix products and convolutions to thtrain: plain C, no
 * headers, versioned. Build one by
 *
 *   g++ -std=c++20 -O3 -march=native -shared -fPIC -I PREFIX/include my.cpp -o my.so
 *
 * and name it in compiler.candidate_files, or give it to load_candidates(). docs/library.md has an example. */
#ifndef THTRAIN_CANDIDATE_ABI_H
#define THTRAIN_CANDIDATE_ABI_H

#ifdef __cplusplus
extern "C" {
#endif

#define TH_CANDIDATES_VERSION 1

/* Element [i, j, ...] is data[i * strides[0] + j * strides[1] + ...]. */
typedef struct ThArray {
  void* data;
  int rank;            /* at most 5 */
  const long* lengths; /* rank of them, in elements, like the strides */
  const long* strides;
} ThArray;

enum { TH_FLOAT32 = 0, TH_FLOAT64 = 1 };

/* One call of a candidate. Of a computation C it computes
 *
 *   out = alpha * C(a, b) + (adds ? beta * out : 0)
 *
 *   matrix_product         a [m, k], b [k, n], out [m, n]: the product
 *   conv                   a images [n, c, in...], b filters [f, c, kernel...], out [n, f, out...]
 *   conv_input_gradient    a filters, b gradients of the results, out gradients of the images
 *   conv_weight_gradient   a images, b gradients of the results, out gradients of the filters
 *
 * Of convolutions alpha is 1 and adds 0. Where adds is 0, nothing may be read from out. */
typedef struct ThCandidateCall ThCandidateCall;
struct ThCandidateCall {
  const char* properties; /* of the key, as `thtrain tune` prints it: "float32 60x784x500 NN" */
  int dtype;              /* of all arrays: TH_FLOAT32 or TH_FLOAT64 */
  ThArray a, b, out;
  double alpha, beta;
  int adds;
  void* workspace;      /* aligned to 64 bytes; what it holds is not defined */
  long workspace_bytes; /* what the candidate's workspace() said */
  int threads;          /* that the function may use */
  /* Calls body(data, begin, end) on parts of [0, n), each at least `grain` long, on at most `threads` threads. The
   * parts depend on n, grain and threads only. */
  void (*parallel_for)(const ThCandidateCall*, void (*body)(void* data, long begin, long end), void* data, long n,
                       long grain);
  void* host; /* thtrain's own */
};

/* How results differ from those of the other candidates: the same terms in another order, or other terms. */
enum { TH_REORDERED = 0, TH_OTHER = 1 };

typedef struct ThCandidate {
  const char* computation; /* "matrix_product", "conv", "conv_input_gradient", "conv_weight_gradient" */
  const char* name;        /* among those of the computation: letters, digits, spaces and _ . + - */
  const char* version;     /* the same characters; of no meaning to thtrain */
  int rounding;            /* TH_REORDERED or TH_OTHER */
  /* Of a TH_OTHER: what no error exceeds, relative to max |a| * max over filters (columns of b) of sum |b|. It is taken
   * where compiler.conv_tolerance is at least that. */
  double error_bound;
  /* Bytes of workspace that compute() takes for a key; negative: the candidate does not compute this key. */
  long (*workspace)(const char* properties);
  /* 0, or any other number to fail the call. It writes to out and workspace alone, and equal arguments give equal bits.
   * It may be called from several threads at once. It starts no process, and leaves as they are how the processor
   * rounds, what signals do, and the working folder. */
  int (*compute)(const ThCandidateCall*);
} ThCandidate;

typedef struct ThCandidateList ThCandidateList;
struct ThCandidateList {
  /* Texts are copied. */
  void (*add)(ThCandidateList*, const ThCandidate*);
  void* host; /* thtrain's own */
};

/* What the shared object exports. */
extern const int thtrain_candidates_version; /* defined by TH_CANDIDATES */
void thtrain_candidates(ThCandidateList*);   /* adds each candidate once */

#ifdef __cplusplus
}
#define TH_EXPORTED extern "C" __attribute__((visibility("default")))
#else
#define TH_EXPORTED __attribute__((visibility("default")))
#endif

/* TH_CANDIDATES { list->add(list, &mine); } */
#define TH_CANDIDATES                                           \
  TH_EXPORTED const int thtrain_candidates_version;             \
  const int thtrain_candidates_version = TH_CANDIDATES_VERSION; \
  TH_EXPORTED void thtrain_candidates(ThCandidateList* list);   \
  void thtrain_candidates(ThCandidateList* list)

#endif
