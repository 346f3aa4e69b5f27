// For -rdc: the device function lives in separate_callee.cu.
__device__ float elsewhere(float x, int n);
extern __shared__ float arena[];

__global__ void calls_elsewhere(float *p, int n) {
    __shared__ float s[77];
    s[threadIdx.x % 77] = elsewhere(p[0], n);
    __syncthreads();
    p[1] = s[n % 77];
}
__global__ void uses_arena(float *p) {
    arena[threadIdx.x] = p[threadIdx.x];
    __syncthreads();
    p[threadIdx.x] = elsewhere(arena[0], 3);
}
__global__ void calls_nothing(float *p) { p[0] = 1; }
static __global__ void separate_static(int *p) { p[0] = 2; }
namespace {
template <int N>
__global__ void separate_anonymous(int *p) { p[0] = N; }
}  // namespace
__global__ void __launch_bounds__(1024, 1) separate_spill(float *o, const float *in, int n) {
    float r[90];
#pragma unroll
    for (int i = 0; i < 90; ++i) r[i] = in[i * n];
    for (int k = 0; k < n; ++k)
#pragma unroll
        for (int i = 0; i < 90; ++i) r[i] = r[i] * r[(i * 7 + 1) % 90] + in[k];
#pragma unroll
    for (int i = 0; i < 90; ++i) o[i * n] = r[i];
}
// The linker drops kernels that no host code names.
int main() {
    calls_elsewhere<<<1, 1>>>(nullptr, 1);
    uses_arena<<<1, 1, 4096>>>(nullptr);
    calls_nothing<<<1, 1>>>(nullptr);
    separate_spill<<<1, 1>>>(nullptr, nullptr, 1);
    separate_static<<<1, 1>>>(nullptr);
    separate_anonymous<5><<<1, 1>>>(nullptr);
    return 0;
}
