// CUB: of the block, and of the device (whose kernels are in CUB's own headers).
#include <cub/cub.cuh>

template <int Threads>
__global__ void cub_block_reduce(const float *in, float *out) {
    using Reduce = cub::BlockReduce<float, Threads>;
    __shared__ typename Reduce::TempStorage storage;
    float sum = Reduce(storage).Sum(in[threadIdx.x]);
    if (threadIdx.x == 0) *out = sum;
}
template __global__ void cub_block_reduce<128>(const float *, float *);
template __global__ void cub_block_reduce<512>(const float *, float *);

__global__ void cub_block_sort(int *keys) {
    using Sort = cub::BlockRadixSort<int, 128, 8>;
    __shared__ typename Sort::TempStorage storage;
    int mine[8];
    for (int i = 0; i < 8; ++i) mine[i] = keys[threadIdx.x * 8 + i];
    Sort(storage).Sort(mine);
    for (int i = 0; i < 8; ++i) keys[threadIdx.x * 8 + i] = mine[i];
}

__global__ void cub_block_scan(int *p) {
    using Scan = cub::BlockScan<int, 256>;
    __shared__ typename Scan::TempStorage storage;
    int value = p[threadIdx.x];
    Scan(storage).ExclusiveSum(value, value);
    p[threadIdx.x] = value;
}

__global__ void cub_warp_reduce(int *p) {
    using Reduce = cub::WarpReduce<int>;
    __shared__ typename Reduce::TempStorage storage[8];
    p[threadIdx.x] = Reduce(storage[threadIdx.x / 32]).Sum(p[threadIdx.x]);
}

void device_wide(void *temp, size_t &bytes, int *keys, int *out, int n) {
    cub::DeviceReduce::Sum(temp, bytes, keys, out, n);
    cub::DeviceScan::ExclusiveSum(temp, bytes, keys, out, n);
}
