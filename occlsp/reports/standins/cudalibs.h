// Stands in for a CUDA library's host header (cuBLAS, cuSPARSE, …) where it is missing: what the
// real one includes, which sources that include it use without including it themselves.
#pragma once
#include <cuComplex.h>
#include <cuda_bf16.h>
#include <cuda_fp16.h>
#include <cuda_runtime.h>
#include <library_types.h>
#include <stdint.h>
#include <stdio.h>
