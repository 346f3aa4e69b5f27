// Prints the toolkit's own architecture traits, one line for each of the given names.

#include <cuda/__device/arch_traits.h>

#include <cstdio>

int main() {
#define ROW(_CC)                                                                                  \
    {                                                                                             \
        constexpr auto t = cuda::arch_traits<cuda::arch_id::sm_##_CC>();                          \
        std::printf("sm_" #_CC " %d %d %d %d %d %d %d %d %d %zu %zu %zu %zu %d %d\n",             \
                    t.max_threads_per_multiprocessor, t.max_blocks_per_multiprocessor,            \
                    t.max_threads_per_block, t.max_block_dim_x, t.max_block_dim_y,                \
                    t.max_block_dim_z, t.max_registers_per_block,                                 \
                    t.max_registers_per_multiprocessor, t.max_registers_per_thread,               \
                    t.max_shared_memory_per_block, t.max_shared_memory_per_multiprocessor,        \
                    t.max_shared_memory_per_block_optin, t.reserved_shared_memory_per_block,      \
                    t.warp_size, int(t.cluster_supported));                                       \
    }
    ROWS
}
