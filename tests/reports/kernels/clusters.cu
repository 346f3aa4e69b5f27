// Thread block clusters, block sizes: sm_90 and later.
#include <cooperative_groups.h>
namespace cg = cooperative_groups;

__global__ void __cluster_dims__(2, 1, 1) cluster_of_two(float *p) {
    __shared__ float s[128];
    auto cluster = cg::this_cluster();
    s[threadIdx.x % 128] = p[threadIdx.x];
    cluster.sync();
    p[threadIdx.x] = cluster.map_shared_rank(s, cluster.block_rank() ^ 1)[threadIdx.x % 128];
}
__global__ void __cluster_dims__(1, 4, 2) __launch_bounds__(256, 1) cluster_of_eight(int *p) { p[threadIdx.x] = 1; }
__global__ void __launch_bounds__(128, 2, 4) cluster_bound(int *p) { p[threadIdx.x] = 2; }
__global__ void __block_size__((64, 2, 1)) block_size(int *p) { p[threadIdx.x] = 3; }
__global__ void __block_size__((128, 1, 1), (2, 1, 1)) block_and_cluster(int *p) { p[threadIdx.x] = 4; }
template <int N>
__global__ void __cluster_dims__(N, 1, 1) cluster_template(int *p) {
    __shared__ int big[4096];
    big[threadIdx.x] = p[threadIdx.x];
    __syncthreads();
    p[threadIdx.x] = big[N];
}
template __global__ void cluster_template<2>(int *);
template __global__ void cluster_template<4>(int *);
