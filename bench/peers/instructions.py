"""Holds libraries to an instruction set, and finds out whether they obey.

`restrict` sets what each library reads when it starts; `verify` asks the library afterwards, and raises RuntimeError
where it uses more: such a peer is not measured.
"""
import ctypes
import os
import subprocess
import sys
import tempfile

AVX512_OF_NUMPY = ("AVX512F AVX512CD AVX512_KNL AVX512_KNM AVX512_SKX AVX512_CLX AVX512_CNL AVX512_ICL AVX512_SPR "
                   "X86_V4 AVX512BW AVX512DQ AVX512VL")
AVX2_OF_NUMPY = "AVX2 FMA3 F16C AVX XOP FMA4 X86_V3"

# For each instruction set: what the libraries call it.
NAMES = {
    "sse2": {"openblas": "Prescott", "onednn": "SSE41", "aten": "default", "mkl": "SSE4_2", "xla": "SSE4_2",
             "numpy": f"{AVX512_OF_NUMPY} {AVX2_OF_NUMPY}", "gcc": "x86-64-v2", "lanes": 0},
    "avx2": {"openblas": "Haswell", "onednn": "AVX2", "aten": "avx2", "mkl": "AVX2", "xla": "AVX2",
             "numpy": AVX512_OF_NUMPY, "gcc": "haswell", "lanes": 256},
    "avx512": {"openblas": "SkylakeX", "onednn": "AVX512_CORE", "aten": "avx512", "mkl": "AVX512", "xla": "AVX512",
               "numpy": "", "gcc": "skylake-avx512", "lanes": 512},
}
ORDER = tuple(NAMES)
# What OpenBLAS calls the kernels that it takes.
OPENBLAS = {"sse2": ("Prescott", "Katmai", "Core2", "Nehalem"), "avx2": ("Haswell", "Zen"),
            "avx512": ("SkylakeX", "Cooperlake", "Sapphirerapids")}


def restrict(isa):
    """Before any library is imported."""
    names = NAMES[isa]
    os.environ["OPENBLAS_CORETYPE"] = names["openblas"]
    os.environ["ONEDNN_MAX_CPU_ISA"] = os.environ["DNNL_MAX_CPU_ISA"] = names["onednn"]
    os.environ["ATEN_CPU_CAPABILITY"] = names["aten"]
    os.environ["MKL_ENABLE_INSTRUCTIONS"] = names["mkl"]
    os.environ["XLA_FLAGS"] = f"{os.environ.get('XLA_FLAGS', '')} --xla_cpu_max_isa={names['xla']}".strip()
    os.environ["NUMBA_CPU_NAME"] = names["gcc"]
    os.environ["NUMBA_CPU_FEATURES"] = ""
    if names["numpy"]:
        os.environ["NPY_DISABLE_CPU_FEATURES"] = names["numpy"]
        os.environ["PYTHONWARNINGS"] = "ignore::ImportWarning"  # NumPy tells which of them this processor lacks


def verify(needs, isa, blas):
    """After the library `needs` was imported; `blas` is the library that loaded_blas() found."""
    if blas.startswith("openblas"):
        expect("OpenBLAS", blas.split()[1], OPENBLAS[isa])
    if blas == "mkl":
        expect_no_wider("MKL", mkl_instructions(ctypes.CDLL("libmkl_rt.so")), isa)
    check = {"numpy": numpy_obeys, "scipy": numpy_obeys, "numexpr": numpy_obeys, "torch": torch_obeys,
             "jax": jax_obeys, "pytensor": pytensor_obeys}.get(needs)
    if check is None:
        raise RuntimeError(f"nobody knows how to hold {needs} to {isa}")
    check(isa)


def expect(who, got, allowed):
    if got not in allowed:
        raise RuntimeError(f"{who} uses {got} where {allowed[0]} is asked for")


def expect_no_wider(who, got, isa):
    if ORDER.index(got) > ORDER.index(isa):
        raise RuntimeError(f"{who} uses {got} where {isa} is asked for")


def numpy_obeys(isa):
    import numpy
    core = numpy._core if hasattr(numpy, "_core") else numpy.core
    # Only kernels of these sets exist; what else the processor has does not matter.
    used = [name for name in core._multiarray_umath.__cpu_dispatch__ + core._multiarray_umath.__cpu_baseline__
            if core._multiarray_umath.__cpu_features__.get(name)]
    is_wide, is_avx = (any(name in names.split() for name in used) for names in (AVX512_OF_NUMPY, AVX2_OF_NUMPY))
    expect_no_wider("NumPy", "avx512" if is_wide else "avx2" if is_avx else "sse2", isa)


def torch_obeys(isa):
    import torch
    numpy_obeys(isa)
    shown = torch.__config__.show().lower()
    capability = next((line.split(":")[1].strip() for line in shown.splitlines() if "cpu capability usage" in line), "")
    if not capability and "cpu capability usage" in shown:
        capability = shown.split("cpu capability usage:")[1].split()[0]
    known = {"default": "sse2", "no avx": "sse2", "avx2": "avx2", "avx512": "avx512"}
    if capability not in known:
        raise RuntimeError(f"PyTorch does not tell which instructions it uses: {capability!r}")
    expect_no_wider("PyTorch", known[capability], isa)
    # oneDNN, which PyTorch holds: a convolution in a process that reports what it runs.
    code = "import torch; torch.nn.functional.conv2d(torch.ones(4, 64, 32, 32), torch.ones(64, 64, 3, 3))"
    report = subprocess.run([sys.executable, "-c", code], capture_output=True, text=True, check=True,
                            env={**os.environ, "DNNL_VERBOSE": "1", "ONEDNN_VERBOSE": "1", "MKLDNN_VERBOSE": "1"})
    lines = [line for line in report.stdout.splitlines() if ",isa:" in line or ",cpu,isa" in line]
    if torch.backends.mkldnn.is_available() and not lines:
        raise RuntimeError("oneDNN does not tell which instructions it uses")
    for line in lines:
        expect_no_wider("oneDNN", "avx512" if "AVX-512" in line else "avx2" if "AVX2" in line else "sse2", isa)
    if torch.backends.mkl.is_available():
        library = os.path.join(os.path.dirname(torch.__file__), "lib", "libtorch_cpu.so")
        if os.path.exists(library):
            expect_no_wider("MKL", mkl_instructions(ctypes.CDLL(library)), isa)
    if hasattr(torch, "compile"):
        from torch._inductor import config
        config.cpp.simdlen = NAMES[isa]["lanes"] or 1


def mkl_instructions(library):
    """What MKL says of the processor in its version."""
    text = ctypes.create_string_buffer(400)
    for name in ("mkl_get_version_string", "MKL_Get_Version_String"):
        call = getattr(library, name, None)
        if call is not None:
            call(text, 399)
            said = text.value.decode()
            return "avx512" if "AVX-512" in said else "avx2" if "AVX2" in said else "sse2"
    raise RuntimeError("MKL does not tell which instructions it uses")


def jax_obeys(isa):
    """Compiles a product and a sum in another process, and looks for wide registers in what XLA made."""
    with tempfile.TemporaryDirectory() as folder:
        code = ("import jax, jax.numpy as jnp; x = jnp.ones((64, 1000)); "
                "print(jax.jit(lambda x: jnp.exp(x * 2 + 1).sum(0))(x)[0])")
        flags = f"{os.environ['XLA_FLAGS']} --xla_dump_to={folder}"
        subprocess.run([sys.executable, "-c", code], capture_output=True, check=True,
                       env={**os.environ, "XLA_FLAGS": flags, "JAX_PLATFORMS": "cpu"})
        objects = [os.path.join(folder, name) for name in os.listdir(folder) if name.endswith(".o")]
        if not objects:
            raise RuntimeError("XLA does not show the code that it makes")
        code = "".join(subprocess.run(["objdump", "-d", "--no-show-raw-insn", path], capture_output=True, text=True,
                                      check=True).stdout for path in objects)
        expect_no_wider("XLA", "avx512" if "%zmm" in code else "avx2" if "%ymm" in code else "sse2", isa)


def pytensor_obeys(isa):
    from pytensor.link.c import cmodule
    numpy_obeys(isa)
    flags = [f"-march={NAMES[isa]['gcc']}"]
    cmodule.GCC_compiler.march_flags = flags
    if flags[0] not in cmodule.GCC_compiler.compile_args():
        raise RuntimeError(f"PyTensor's compiler flags are {' '.join(cmodule.GCC_compiler.compile_args())}")
