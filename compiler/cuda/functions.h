// What thtrain calls of the CUDA driver and of NVRTC, declared from their documentation and linked to neither: tables
// of functions, which an opened library (libraries.h) or the emulated device (emulated/) fills. Where a toolkit is
// installed, a test compares every declaration with its headers. docs/decisions/0021.
#pragma once

#include <cstddef>
#include <cstdint>
#include <string>

// Objects of the driver and of NVRTC, by the names that their handles are pointers to.
struct CUctx_st;
struct CUstream_st;
struct CUevent_st;
struct CUmod_st;
struct CUfunc_st;
struct CUgraph_st;
struct CUgraphNode_st;
struct CUgraphExec_st;
struct CUDA_KERNEL_NODE_PARAMS_v2_st;  // graph_nodes.h
struct CUDA_MEMCPY3D_st;
struct _nvrtcProgram;  // NOLINT: their name

namespace thtrain::cuda {

using Status = int;  // CUresult, or nvrtcResult; 0: done
using Attribute = int;
using DeviceNumber = int;
using DeviceAddress = unsigned long long;

#define TH_CONSTANT(type, name, value) inline constexpr type name = value;
#include "compiler/cuda/driver_constants.inc"

#define TH_REQUIRED(name, parameters) Status(*name) parameters = nullptr;
#define TH_OPTIONAL(name, parameters, loss) TH_REQUIRED(name, parameters)

/// The driver's functions. Optional ones may be null.
struct Driver {
#include "compiler/cuda/driver_functions.inc"
};

#define TH_REQUIRED(name, parameters) Status(*name) parameters = nullptr;
#define TH_OPTIONAL(name, parameters, loss) TH_REQUIRED(name, parameters)

/// NVRTC's functions. Optional ones may be null.
struct Nvrtc {
#include "compiler/cuda/nvrtc_functions.inc"
};

/// "cuMemAlloc_v2: CUDA_ERROR_OUT_OF_MEMORY (out of memory)": names and texts of statuses are the driver's own.
std::string status_text(const Driver& driver, Status status, const char* function);
/// InternalError with that text, unless the status is 0.
void check(const Driver& driver, Status status, const char* function);

}  // namespace thtrain::cuda
