// Templates: types, values, packs, defaults, specialisations, templates of templates.
#include "generic.cuh"

template __global__ void ring<64, float>(float *, const float *, int);
template __global__ void ring<256, float>(float *, const float *, int);
template __global__ void ring<512, double>(double *, const double *, int);

template __global__ void gemm_tile<16, 16, 1>(const float *, const float *, float *, int);
template __global__ void gemm_tile<32, 32, 2>(const float *, const float *, float *, int);
template __global__ void gemm_tile<64, 16, 4>(const float *, const float *, float *, int);

namespace math {
struct Plus {
    template <typename T>
    __device__ T operator()(T a, T b) const { return a + b; }
};
struct Times {
    template <typename T>
    __device__ T operator()(T a, T b) const { return a * b; }
};
template <typename Op, typename T = float, int Unroll = 4>
__global__ void combine(T *p, int n) {
    Op op;
#pragma unroll
    for (int u = 0; u < Unroll; ++u) p[u] = op(p[u], p[n + u]);
}
template __global__ void combine<Plus>(float *, int);
template __global__ void combine<Times, double>(double *, int);
template __global__ void combine<Plus, int, 16>(int *, int);
}  // namespace math

template <typename... Ts>
__global__ void sum_of(float *out, Ts... values) { out[0] = (static_cast<float>(values) + ... + 0.f); }
template __global__ void sum_of<>(float *);
template __global__ void sum_of<int>(float *, int);
template __global__ void sum_of<int, double, char>(float *, int, double, char);

template <int... Ns>
__global__ void offsets(int *p) { ((p[Ns] += Ns), ...); }
template __global__ void offsets<1, 2, 3>(int *);

template <typename T>
__global__ void special(T *p) { p[0] += 1; }
template <>
__global__ void special<double>(double *p) {
    __shared__ double s[16];
    s[threadIdx.x % 16] = p[threadIdx.x];
    __syncthreads();
    p[0] = s[3];
}
template __global__ void special<int>(int *);

template <template <typename> class Holder, typename T>
__global__ void held(Holder<T> h, T *p) { p[0] = h.value; }
template <typename T>
struct Box {
    T value;
};
template __global__ void held<Box, float>(Box<float>, float *);
template __global__ void held<Box, double>(Box<double>, double *);

enum class Mode { fast, slow };
template <Mode M, bool Checked, char Letter>
__global__ void by_mode(float *p, int n) {
    if (Checked && n < 0) return;
    p[n] = M == Mode::fast ? __sinf(p[n]) : sinf(p[n]) + Letter;
}
template __global__ void by_mode<Mode::fast, true, 'a'>(float *, int);
template __global__ void by_mode<Mode::slow, false, 'b'>(float *, int);

template <typename T>
struct Traits {
    using type = T;
};
template <typename T>
__global__ void dependent(typename Traits<T>::type *p, const typename Traits<T>::type v) { p[0] = v; }
template __global__ void dependent<short>(short *, const short);

template <unsigned Bits, unsigned long Size>
__global__ void unsigned_values(unsigned *p) { p[Size] = p[0] >> Bits; }
template __global__ void unsigned_values<7u, 96ul>(unsigned *);

template <void (*F)(int *)>
__global__ void calls_function(int *p) { F(p); }
__device__ void bump(int *p) { ++*p; }
template __global__ void calls_function<bump>(int *);

template <typename T>
static __global__ void internal_template(T *p) { p[0] *= 2; }
void use(float *p) { internal_template<<<1, 1>>>(p); }
