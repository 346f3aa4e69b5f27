// Kernels that are held below the registers they need.
template <typename T, int N>
__device__ void churn(T *out, const T *in, int n) {
    T r[N];
#pragma unroll
    for (int i = 0; i < N; ++i) r[i] = in[i * n];
    for (int k = 0; k < n; ++k) {
#pragma unroll
        for (int i = 0; i < N; ++i) r[i] = r[i] * r[(i * 7 + 1) % N] + in[k];
    }
#pragma unroll
    for (int i = 0; i < N; ++i) out[i * n] = r[i];
}

__global__ void __launch_bounds__(512, 2) spill_floats(float *o, const float *i, int n) { churn<float, 120>(o, i, n); }
__global__ void __launch_bounds__(1024, 1) spill_doubles(double *o, const double *i, int n) { churn<double, 60>(o, i, n); }
__global__ void __launch_bounds__(256, 4) spill_ints(int *o, const int *i, int n) { churn<int, 100>(o, i, n); }
__global__ void __launch_bounds__(512, 2) spill_a_little(float *o, const float *i, int n) { churn<float, 66>(o, i, n); }
__global__ void __launch_bounds__(1024, 2) spill_shorts(short *o, const short *i, int n) { churn<short, 60>(o, i, n); }
__global__ void __launch_bounds__(128) no_spill(float *o, const float *i, int n) { churn<float, 60>(o, i, n); }

struct alignas(16) Quad {
    float x, y, z, w;
    __device__ Quad operator*(const Quad &b) const { return {x * b.x, y * b.y, z * b.z, w * b.w}; }
    __device__ Quad operator+(const Quad &b) const { return {x + b.x, y + b.y, z + b.z, w + b.w}; }
};

__global__ void __launch_bounds__(512, 2) spill_quads(Quad *o, const Quad *i, int n) { churn<Quad, 30>(o, i, n); }
__global__ void __launch_bounds__(768, 1) spill_longs(long long *o, const long long *i, int n) { churn<long long, 60>(o, i, n); }

__global__ void __launch_bounds__(512, 2) spill_and_stack(float *o, const float *i, int n) {
    float own[24];
    for (int k = 0; k < 24; ++k) own[k] = i[k];
    for (int k = 0; k < n; ++k) own[(k * 5) % 24] += own[(k * 7) % 24];
    churn<float, 110>(o, i, n);
    o[0] += own[n % 24];
}

template <int N>
__global__ void __launch_bounds__(1024, 1) spill_template(float *o, const float *i, int n) {
    __shared__ float stage[N];
    stage[threadIdx.x % N] = i[threadIdx.x];
    __syncthreads();
    churn<float, N>(o, i, n);
    o[n] = stage[n % N];
}
template __global__ void spill_template<70>(float *, const float *, int);
template __global__ void spill_template<90>(float *, const float *, int);
template __global__ void spill_template<40>(float *, const float *, int);
