#pragma once
// Kernels in a header: their entries are in the units that instantiate them.

template <int N, typename T>
__global__ void ring(T *out, const T *in, int n) {
    __shared__ T stage[N];
    stage[threadIdx.x] = in[threadIdx.x];
    __syncthreads();
    out[threadIdx.x] = stage[(N - 1 - threadIdx.x + n) % N];
}

template <int M, int N, int PerThread>
__global__ void gemm_tile(const float *a, const float *b, float *c, int k) {
    __shared__ float left[M][17], right[16][N + 1];
    float sums[PerThread] = {};
    for (int t = 0; t < k; t += 16) {
        for (int i = threadIdx.x; i < M * 16; i += blockDim.x) left[i / 16][i % 16] = a[t + i];
        for (int i = threadIdx.x; i < N * 16; i += blockDim.x) right[i % 16][i / 16] = b[t + i];
        __syncthreads();
#pragma unroll
        for (int u = 0; u < 16; ++u)
#pragma unroll
            for (int p = 0; p < PerThread; ++p)
                sums[p] += left[(threadIdx.x + p) % M][u] * right[u][threadIdx.x % N];
        __syncthreads();
    }
#pragma unroll
    for (int p = 0; p < PerThread; ++p) c[threadIdx.x * PerThread + p] = sums[p];
}

inline __global__ void in_header(float *p) { p[threadIdx.x] *= 0.5f; }

#define MAKE_UNARY(name, expression)                                   \
    __global__ void name##_kernel(float *p, int n) {                   \
        int i = blockIdx.x * blockDim.x + threadIdx.x;                 \
        if (i < n) {                                                   \
            float x = p[i];                                            \
            p[i] = expression;                                         \
        }                                                              \
    }
