// Kernels that are instantiated with lambdas. Needs --extended-lambda.
template <typename F>
__global__ void for_each(F f, int n) {
    int i = blockIdx.x * blockDim.x + threadIdx.x;
    if (i < n) f(i);
}

namespace detail {
template <int Threads, typename F, typename... Args>
__global__ void __launch_bounds__(Threads) apply(F f, Args... args) { f(args...); }
}  // namespace detail

struct Scale {
    float factor;
    float *data;
    __device__ void operator()(int i) const { data[i] *= factor; }
};

void launches(float *p, int *q, int n) {
    for_each<<<1, 64>>>([=] __device__(int i) { p[i] += 1.f; }, n);
    for_each<<<1, 64>>>([=] __device__(int i) { q[i] *= q[i + 1]; }, n);
    for_each<<<1, 64>>>(Scale{2.f, p}, n);
    detail::apply<128><<<1, 128>>>([=] __device__(float a, int b) { p[b] = a; }, 1.f, 2);
    detail::apply<256><<<1, 256>>>([=] __device__() { p[threadIdx.x] = sqrtf(p[threadIdx.x]); });
    auto outer = [=](int k) {
        for_each<<<1, 64>>>([=] __device__(int i) { q[i + k] = i; }, n);
    };
    outer(3);
}
