// A tour of what occlsp shows. Open this file in your editor, or run
// `occlsp check --compile tests/examples/tour`.

#include <cuda_runtime.h>

constexpr int kTile = 32;
constexpr int kScaleThreads = 256;

// Each block multiplies one tile: 8 KiB of static shared memory, and registers that the
// compiler alone knows.
__global__ void matmul_tiled(const float* a, const float* b, float* c, int n)
{
    __shared__ float left[kTile][kTile];
    __shared__ float right[kTile][kTile];

    const int row = blockIdx.y * kTile + threadIdx.y;
    const int col = blockIdx.x * kTile + threadIdx.x;
    float sum = 0.0f;
    for (int start = 0; start < n; start += kTile) {
        left[threadIdx.y][threadIdx.x] = a[row * n + start + threadIdx.x];
        right[threadIdx.y][threadIdx.x] = b[(start + threadIdx.y) * n + col];
        __syncthreads();
        for (int k = 0; k < kTile; ++k) sum += left[threadIdx.y][k] * right[k][threadIdx.x];
        __syncthreads();
    }
    c[row * n + col] = sum;
}

// The bounds ask for more resident threads than the accumulators leave registers for: the
// compiler spills them to memory.
__global__ void __launch_bounds__(256, 6) stencil_spilling(const float* in, float* out, int n)
{
    const int i = blockIdx.x * blockDim.x + threadIdx.x;
    float acc[64];
#pragma unroll
    for (int k = 0; k < 64; ++k) acc[k] = in[k * n + i];
#pragma unroll
    for (int step = 0; step < 4; ++step)
#pragma unroll
        for (int k = 0; k < 64; ++k) acc[k] = fmaf(acc[k], acc[(k + 7) % 64], acc[(k + step) % 64]);
#pragma unroll
    for (int k = 0; k < 64; ++k) out[k * n + i] = acc[k];
}

// One template, two compiled kernels: each has registers of its own.
template <typename T, int Items>
__global__ void scale(const T* in, T* out, T factor, int n)
{
    const int first = (blockIdx.x * blockDim.x + threadIdx.x) * Items;
    T values[Items];
#pragma unroll
    for (int k = 0; k < Items; ++k) values[k] = first + k < n ? in[first + k] : T(0);
#pragma unroll
    for (int k = 0; k < Items; ++k) values[k] = values[k] * factor + values[(k + 1) % Items];
#pragma unroll
    for (int k = 0; k < Items; ++k)
        if (first + k < n) out[first + k] = values[k];
}

// 64 accumulators a thread: with 1024 threads they do not fit the registers of an SM.
__global__ void accumulate(const float* in, float* out, int n)
{
    float acc[64];
#pragma unroll
    for (int k = 0; k < 64; ++k) acc[k] = in[k * n + threadIdx.x];
#pragma unroll
    for (int step = 0; step < 4; ++step)
#pragma unroll
        for (int k = 0; k < 64; ++k) acc[k] = fmaf(acc[k], acc[(k + 7) % 64], acc[(k + step) % 64]);
#pragma unroll
    for (int k = 0; k < 64; ++k) out[k * n + threadIdx.x] = acc[k];
}

extern __shared__ float window[];

__global__ void smooth(const float* in, float* out, int n)
{
    const int i = blockIdx.x * blockDim.x + threadIdx.x;
    window[threadIdx.x] = i < n ? in[i] : 0.0f;
    __syncthreads();
    if (i < n) out[i] = 0.5f * (window[threadIdx.x] + window[(threadIdx.x + 1) % blockDim.x]);
}

void run(const float* a, const float* b, float* c, double* d, int n)
{
    matmul_tiled<<<dim3(n / kTile, n / kTile), dim3(kTile, kTile)>>>(a, b, c, n);

    stencil_spilling<<<(n + 255) / 256, 256>>>(a, c, n);

    scale<float, 4><<<(n + kScaleThreads - 1) / kScaleThreads, kScaleThreads>>>(a, c, 2.0f, n);
    scale<double, 16><<<(n + kScaleThreads - 1) / kScaleThreads, kScaleThreads>>>(d, d, 2.0, n);

    accumulate<<<n / 1024, 1024>>>(a, c, n);

    smooth<<<(n + 255) / 256, 256, 64 * 1024>>>(a, c, n);
}
