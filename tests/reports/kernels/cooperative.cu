// Cooperative groups, asynchronous copies, barriers of the library.
#include <cooperative_groups.h>
#include <cooperative_groups/memcpy_async.h>
#include <cooperative_groups/reduce.h>
#include <cuda/barrier>

namespace cg = cooperative_groups;

__global__ void grid_sync(float *p, int n) {
    cg::grid_group grid = cg::this_grid();
    for (int i = grid.thread_rank(); i < n; i += grid.size()) p[i] += 1;
    grid.sync();
    if (grid.thread_rank() == 0) p[n] = p[0];
}

__global__ void tiles(const int *in, int *out) {
    auto tile = cg::tiled_partition<16>(cg::this_thread_block());
    int sum = cg::reduce(tile, in[threadIdx.x], cg::plus<int>());
    if (tile.thread_rank() == 0) out[threadIdx.x / 16] = sum;
}

template <int Size>
__global__ void tiles_of(const float *in, float *out) {
    auto tile = cg::tiled_partition<Size>(cg::this_thread_block());
    float v = in[threadIdx.x];
    for (int d = Size / 2; d; d /= 2) v += tile.shfl_down(v, d);
    out[threadIdx.x] = v;
}
template __global__ void tiles_of<4>(const float *, float *);
template __global__ void tiles_of<32>(const float *, float *);

__global__ void async_copy(const float *in, float *out) {
    __shared__ float stage[256];
    auto block = cg::this_thread_block();
    cg::memcpy_async(block, stage, in + blockIdx.x * 256, sizeof(stage));
    cg::wait(block);
    out[threadIdx.x] = stage[255 - threadIdx.x];
}

__global__ void coalesced(int *p) {
    if (threadIdx.x % 3 == 0) {
        auto active = cg::coalesced_threads();
        p[active.thread_rank()] = active.size();
    }
}

__global__ void library_barrier(float *p) {
    __shared__ cuda::barrier<cuda::thread_scope_block> barrier;
    if (threadIdx.x == 0) init(&barrier, blockDim.x);
    __syncthreads();
    p[threadIdx.x] += 1;
    barrier.arrive_and_wait();
    p[threadIdx.x] += p[(threadIdx.x + 1) % blockDim.x];
}
