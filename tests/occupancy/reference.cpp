// The reference header behind a C interface that takes many configurations at a time.

#include <cuda_occupancy.h>

#include <climits>
#include <cstdint>

namespace {

using Number = std::int64_t;

// The columns of one configuration; `oracle.py` writes them in this order.
struct Configuration {
    Number major, minor, threads_per_block, threads_per_sm, registers_per_block, registers_per_sm,
        smem_per_block, smem_per_sm, smem_per_block_optin, smem_reserved;
    Number launch_bounds, registers, static_smem, opt_in, max_dynamic, barriers, carveout;
    Number block, dynamic_smem;      // of one launch
    Number resident;                 // blocks per SM, for the available dynamic memory
    Number dynamic_per_thread;       // for the best block: dynamic_smem + this * block
};

struct Resident {
    Number status, blocks, factors, warps, block_limit, registers, smem, barriers,
        registers_per_block, smem_per_block;
};

cudaOccDeviceProp device(const Configuration &c) {
    cudaOccDeviceProp p;
    p.computeMajor = int(c.major);
    p.computeMinor = int(c.minor);
    p.maxThreadsPerBlock = int(c.threads_per_block);
    p.maxThreadsPerMultiprocessor = int(c.threads_per_sm);
    p.regsPerBlock = int(c.registers_per_block);
    p.regsPerMultiprocessor = int(c.registers_per_sm);
    p.warpSize = 32;
    p.sharedMemPerBlock = size_t(c.smem_per_block);
    p.sharedMemPerMultiprocessor = size_t(c.smem_per_sm);
    p.numSms = 1;
    p.sharedMemPerBlockOptin = size_t(c.smem_per_block_optin);
    p.reservedSharedMemPerBlock = size_t(c.smem_reserved);
    return p;
}

cudaOccFuncAttributes function(const Configuration &c) {
    cudaOccFuncAttributes a;
    a.maxThreadsPerBlock = c.launch_bounds > 0 ? int(c.launch_bounds) : INT_MAX;
    a.numRegs = int(c.registers);
    a.sharedSizeBytes = size_t(c.static_smem);
    a.shmemLimitConfig = c.opt_in ? FUNC_SHMEM_LIMIT_OPTIN : FUNC_SHMEM_LIMIT_DEFAULT;
    a.maxDynamicSharedSizeBytes = size_t(c.max_dynamic);
    a.numBlockBarriers = int(c.barriers);
    return a;
}

cudaOccDeviceState state(const Configuration &c) {
    cudaOccDeviceState s;
    s.carveoutConfig = int(c.carveout);
    return s;
}

} // namespace

extern "C" void resident(const Configuration *in, Resident *out, Number count) {
    for (Number i = 0; i < count; ++i) {
        const cudaOccDeviceProp p = device(in[i]);
        const cudaOccFuncAttributes a = function(in[i]);
        const cudaOccDeviceState s = state(in[i]);
        cudaOccResult r = {};
        const cudaOccError status = cudaOccMaxActiveBlocksPerMultiprocessor(
            &r, &p, &a, &s, int(in[i].block), size_t(in[i].dynamic_smem));
        out[i] = {status,
                  r.activeBlocksPerMultiprocessor,
                  r.limitingFactors,
                  r.blockLimitWarps,
                  r.blockLimitBlocks,
                  r.blockLimitRegs,
                  r.blockLimitSharedMem,
                  r.blockLimitBarriers,
                  r.allocatedRegistersPerBlock,
                  Number(r.allocatedSharedMemPerBlock)};
    }
}

// Pairs: the best block size, the blocks per SM that it gives. A status other than 0 is -1, -1.
extern "C" void best(const Configuration *in, Number *out, Number count) {
    for (Number i = 0; i < count; ++i) {
        const Configuration &c = in[i];
        const cudaOccDeviceProp p = device(c);
        const cudaOccFuncAttributes a = function(c);
        const cudaOccDeviceState s = state(c);
        int grid = 0, block = 0;
        const cudaOccError status = cudaOccMaxPotentialOccupancyBlockSizeVariableSMem(
            &grid, &block, &p, &a, &s,
            [&c](int threads) { return size_t(c.dynamic_smem + c.dynamic_per_thread * threads); });
        out[2 * i] = status ? -1 : block;
        out[2 * i + 1] = status ? -1 : grid;
    }
}

// Bytes of dynamic shared memory with which `resident` blocks fit; -1: they do not.
extern "C" void available(const Configuration *in, Number *out, Number count) {
    for (Number i = 0; i < count; ++i) {
        const cudaOccDeviceProp p = device(in[i]);
        const cudaOccFuncAttributes a = function(in[i]);
        const cudaOccDeviceState s = state(in[i]);
        size_t bytes = 0;
        const cudaOccError status = cudaOccAvailableDynamicSMemPerBlock(
            &bytes, &p, &a, &s, int(in[i].resident), int(in[i].block));
        out[i] = status ? -1 : Number(bytes);
    }
}
