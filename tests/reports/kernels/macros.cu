// Kernels that macros make, and those of a header.
#include "generic.cuh"

MAKE_UNARY(relu, x > 0 ? x : 0)
MAKE_UNARY(square, x *x)
MAKE_UNARY(sigmoid, 1.f / (1.f + expf(-x)))
MAKE_UNARY(
    gelu,
    0.5f * x * (1.f + tanhf(0.79788456f * (x + 0.044715f * x * x * x))))

#define KERNEL __global__ void
#define BOUNDS(threads) __launch_bounds__(threads)

KERNEL BOUNDS(192) behind_macro(float *p) { p[threadIdx.x] -= 1; }

#define FOR_TYPES(F) F(int) F(float) F(double)
#define INSTANTIATE(T) template __global__ void ring<128, T>(T *, const T *, int);
FOR_TYPES(INSTANTIATE)

#define TWO_ON_ONE_LINE(T)                                        \
    __global__ void add_one_##T(T *p) { p[threadIdx.x] += 1; }    \
    __global__ void add_two_##T(T *p) { p[threadIdx.x] += 2; }
TWO_ON_ONE_LINE(int)
TWO_ON_ONE_LINE(double)
