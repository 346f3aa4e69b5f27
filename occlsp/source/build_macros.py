"""Macros that the compiler, the platform or the build decides."""

from __future__ import annotations

NOT_FOR_NVIDIA = frozenset(
    [
        "USE_ROCM",
        "__HIP__",
        "__HIPCC__",
        "__HIP_PLATFORM_AMD__",
        "__HIP_PLATFORM_HCC__",
        "__HIP_DEVICE_COMPILE__",
        "GGML_USE_HIP",
        "GGML_USE_MUSA",
        "__MUSACC__",
        "__MUSA_ARCH__",
        "HIPIFY",
        "__AMDGCN__",
        "TORCH_HIP_VERSION",
        "BUILD_AS_HIP",
        "USE_MUSA",
        "__INTELLISENSE__",
        "__CUDACC_RTC__",
        "HIP_VERSION",
        "TCNN_HIP",
    ]
)
"""Never defined in a build for NVIDIA by nvcc."""

DEFINED_BY_NVCC = frozenset({"__CUDACC__", "__NVCC__", "__cplusplus"})

DEPENDS_ON_BUILD = frozenset(
    [
        "__CUDA_ARCH__",
        "CUDA_VERSION",
        "CUDART_VERSION",
        "__CUDACC_VER_MAJOR__",
        "__CUDACC_VER_MINOR__",
        "__CUDACC_VER_BUILD__",
        "_WIN32",
        "WIN32",
        "_WIN64",
        "_MSC_VER",
        "__GNUC__",
        "__clang__",
        "__APPLE__",
        "__linux__",
        "__cplusplus",
        "_MSVC_LANG",
        "NDEBUG",
        "_DEBUG",
        "__CUDA_ARCH_FEAT_SM90_ALL",
        "__CUDA_ARCH_LIST__",
        "CUB_PTX_ARCH",
        "__CUDA_ARCH_SPECIFIC__",
        "__CUDA_ARCH_FAMILY_SPECIFIC__",
        "__x86_64__",
        "__aarch64__",
        "__QNX__",
        "CUDNN_VERSION",
        "CUDNN_MAJOR",
        "TORCH_VERSION_MAJOR",
        "TORCH_VERSION_MINOR",
        "__CUDACC_DEBUG__",
    ]
)
"""Defined or not, and as what, by the compiler, the platform or the build."""
