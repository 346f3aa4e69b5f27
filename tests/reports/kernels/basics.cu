// Plain kernels: what each uses is in its name.
#include <cstdio>
#include <cuda_fp16.h>

__constant__ float table[64];
__device__ int counter;

__global__ void saxpy(float a, const float *x, float *y, int n) {
    int i = blockIdx.x * blockDim.x + threadIdx.x;
    if (i < n) y[i] = a * x[i] + y[i];
}

__global__ void block_sum(const float *in, float *out) {
    __shared__ float part[256];
    part[threadIdx.x] = in[blockIdx.x * 256 + threadIdx.x];
    __syncthreads();
    for (int s = 128; s > 0; s /= 2) {
        if (threadIdx.x < s) part[threadIdx.x] += part[threadIdx.x + s];
        __syncthreads();
    }
    if (threadIdx.x == 0) out[blockIdx.x] = part[0];
}

__global__ void dynamic_reverse(int *data, int n) {
    extern __shared__ int stage[];
    stage[threadIdx.x] = data[threadIdx.x];
    __syncthreads();
    data[threadIdx.x] = stage[n - 1 - threadIdx.x];
}

__global__ void static_and_dynamic(double *data, int n) {
    __shared__ double fixed[33];
    extern __shared__ double moving[];
    fixed[threadIdx.x % 33] = data[threadIdx.x];
    moving[threadIdx.x] = data[n + threadIdx.x];
    __syncthreads();
    data[threadIdx.x] = fixed[n % 33] + moving[(n + 7) % blockDim.x];
}

__global__ void transpose(const float *in, float *out, int width, int height) {
    __shared__ float tile[32][33];
    int x = blockIdx.x * 32 + threadIdx.x, y = blockIdx.y * 32 + threadIdx.y;
    if (x < width && y < height) tile[threadIdx.y][threadIdx.x] = in[y * width + x];
    __syncthreads();
    x = blockIdx.y * 32 + threadIdx.x;
    y = blockIdx.x * 32 + threadIdx.y;
    if (x < height && y < width) out[y * height + x] = tile[threadIdx.x][threadIdx.y];
}

__global__ void one_byte(char *p) {
    __shared__ char flag;
    if (threadIdx.x == 0) flag = p[0];
    __syncthreads();
    p[threadIdx.x] = flag;
}

__global__ void many_barriers(int *p) {
    asm volatile("bar.sync 3, 64;");
    p[threadIdx.x] += 1;
    asm volatile("bar.sync 7, 64;");
    p[threadIdx.x] += 2;
}

__global__ void every_barrier(int *p, int which) {
    asm volatile("bar.sync %0, 64;" ::"r"(which));
    p[threadIdx.x] += 1;
}

__global__ void local_array(float *p, int n) {
    float stack[32];
    for (int i = 0; i < 32; ++i) stack[i] = p[i];
    for (int i = 0; i < n; ++i) stack[(i * 7) & 31] += stack[(i * 3) & 31];
    p[n] = stack[n & 31];
}

__noinline__ __device__ float deep(float x, int n) {
    float stack[8];
    for (int i = 0; i < n; ++i) stack[i & 7] = x * i;
    return stack[n & 7];
}

__noinline__ __device__ float deeper(float x, int n) { return deep(x, n) + deep(x + 1, n / 2); }

__global__ void calls(float *p, int n) { p[0] = deeper(p[1], n); }

__device__ int fibonacci(int n) { return n < 2 ? n : fibonacci(n - 1) + fibonacci(n - 2); }

__global__ void recursion(int *p) { p[0] = fibonacci(p[1]); }

__global__ void prints(int n) { printf("%d of %d\n", threadIdx.x, n); }

__global__ void constants(float *p) { p[threadIdx.x] *= table[threadIdx.x & 63]; }

__global__ void atomics(int *p, unsigned long long *q) {
    atomicAdd(&counter, 1);
    atomicMax(p, counter);
    atomicCAS(q, 0ull, 1ull);
}

__global__ void shuffles(float *p) {
    float v = p[threadIdx.x];
    for (int d = 16; d; d /= 2) v += __shfl_down_sync(~0u, v, d);
    if (threadIdx.x % 32 == 0) p[threadIdx.x / 32] = v;
}

__global__ void halves(const half2 *a, half2 *b, int n) {
    for (int i = threadIdx.x; i < n; i += blockDim.x) b[i] = __hfma2(a[i], b[i], a[i]);
}

__global__ void doubles(double *p, int n) {
    double s = 0;
    for (int i = 0; i < n; ++i) s += sin(p[i]) * exp(p[i + 1]);
    p[threadIdx.x] = s;
}

__global__ void divisions(long long *p, long long d) { p[threadIdx.x] = p[threadIdx.x] / d; }

__global__ void __launch_bounds__(128) bounded(float *p) { p[threadIdx.x] += 1; }

__global__ void __launch_bounds__(256, 4) bounded_twice(float4 *p, int n) {
    float4 s = p[threadIdx.x];
    for (int i = 0; i < n; ++i) s.x += p[i].w * s.y;
    p[threadIdx.x] = s;
}

extern "C" __global__ void c_name(int *p) { p[0] = 1; }

static __global__ void internal_linkage(int *p) { p[0] = 2; }

namespace {
__global__ void anonymous(int *p) { p[0] = 3; }
}  // namespace

namespace outer {
inline namespace v2 {
namespace inner {
__global__ void nested(unsigned *p, const unsigned long n) { p[n] = 4; }
}  // namespace inner
}  // namespace v2
}  // namespace outer

__global__ void overloaded(int *p) { p[0] = 5; }
__global__ void overloaded(float *p) { p[0] = 5; }
__global__ void overloaded(float *p, int n) { p[n] = 5; }

struct Pair {
    float a, b[30];
};

__global__ void by_value(Pair pair, float *p) { p[threadIdx.x] = pair.a + pair.b[threadIdx.x % 30]; }

__global__ void grid_constant(const __grid_constant__ Pair pair, const float **out) { *out = pair.b; }

__global__ void empty() {}

void use(int *p) {
    internal_linkage<<<1, 1>>>(p);
    anonymous<<<1, 1>>>(p);
}
