// A CUDA runtime that launches nothing and writes down every launch: the independent way to know
// what a launch is given. Linked in place of libcudart by `observed.py`; needs no GPU.
//
// Device memory is host memory, copies are copies, a kernel does nothing and all succeeds on one
// H100. One line for each different launch goes to the file that OCCLSP_RECORD names:
//   frames (addresses of calls, innermost first) | grid | block | dynamic shared memory | function
#include <cuda.h>
#include <cuda_runtime_api.h>
#include <execinfo.h>

#include <cstdio>
#include <cstdlib>
#include <cstring>
#include <set>
#include <string>

namespace {

constexpr int kFrames = 12;
constexpr size_t kUntouched = size_t(64) << 20;  // fresh memory is zero: larger fills are left out

struct Pending {
    std::string frames;
    dim3 grid, block;
    size_t smem;
    cudaStream_t stream;
    bool pushed = false, popped = false;
};
thread_local Pending pending;
unsigned long launches = 0;

std::string frames_here() {
    void *found[kFrames + 2];
    int count = backtrace(found, kFrames + 2);
    std::string text;
    for (int i = 2; i < count; i++) {
        char one[32];
        const void *call = static_cast<char *>(found[i]) - 1;  // within the call, not behind it
        snprintf(one, sizeof one, "%s%p", i > 2 ? "," : "", call);
        text += one;
    }
    return text;
}

void record(const std::string &frames, dim3 grid, dim3 block, size_t smem, const void *function) {
    static std::set<std::string> seen;
    static FILE *out = fopen(getenv("OCCLSP_RECORD"), "a");
    char text[160];
    snprintf(text, sizeof text, "|%u %u %u|%u %u %u|%zu|%p", grid.x, grid.y, grid.z, block.x,
             block.y, block.z, smem, function);
    launches++;
    std::string line = frames + text;
    if (out && seen.size() < 20000 && seen.insert(line).second) {
        fprintf(out, "%s\n", line.c_str());
        fflush(out);
    }
}

cudaError_t launch(const void *function, dim3 grid, dim3 block, size_t smem,
                   const std::string &frames) {
    if (pending.popped) record(pending.frames, pending.grid, pending.block, pending.smem, function);
    else record(frames, grid, block, smem, function);
    pending.popped = false;
    return cudaSuccess;
}

void *fresh(size_t bytes) { return calloc(1, bytes ? bytes : 1); }

cudaError_t allocate(void **where, size_t bytes) {
    *where = fresh(bytes);
    return *where ? cudaSuccess : cudaErrorMemoryAllocation;
}

template <typename T> cudaError_t handle(T *where) {
    *where = static_cast<T>(fresh(64));
    return cudaSuccess;
}

void fill(void *where, int value, size_t bytes) {
    if (value != 0 || bytes < kUntouched) memset(where, value, bytes);
}

int attribute(int which) {
    switch (which) {
        case cudaDevAttrMaxThreadsPerBlock: return 1024;
        case cudaDevAttrMaxBlockDimX: case cudaDevAttrMaxBlockDimY: return 1024;
        case cudaDevAttrMaxBlockDimZ: return 64;
        case cudaDevAttrMaxGridDimX: return 2147483647;
        case cudaDevAttrMaxGridDimY: case cudaDevAttrMaxGridDimZ: return 65535;
        case cudaDevAttrMaxSharedMemoryPerBlock: return 49152;
        case cudaDevAttrMaxSharedMemoryPerBlockOptin: return 232448;
        case cudaDevAttrMaxSharedMemoryPerMultiprocessor: return 233472;
        case cudaDevAttrReservedSharedMemoryPerBlock: return 1024;
        case cudaDevAttrMaxRegistersPerBlock: case cudaDevAttrMaxRegistersPerMultiprocessor:
            return 65536;
        case cudaDevAttrWarpSize: return 32;
        case cudaDevAttrMultiProcessorCount: return 132;
        case cudaDevAttrMaxThreadsPerMultiProcessor: return 2048;
        case cudaDevAttrMaxBlocksPerMultiprocessor: return 32;
        case cudaDevAttrComputeCapabilityMajor: return 9;
        case cudaDevAttrComputeCapabilityMinor: return 0;
        case cudaDevAttrL2CacheSize: return 50 << 20;
        case cudaDevAttrMaxPersistingL2CacheSize: return 32 << 20;
        case cudaDevAttrClockRate: return 1980000;
        case cudaDevAttrIntegrated: case cudaDevAttrKernelExecTimeout: return 0;
        default: return 1;
    }
}

}  // namespace

// What ends a program over a wrong result lets it go on while it still launches: see observed.py.
void occlsp_go_on(int code) {
    static unsigned long before = 0, times = 0;
    if (code == 0 || launches == before || ++times > 5000) exit(code);
    before = launches;
}

extern "C" {

unsigned __cudaPushCallConfiguration(dim3 grid, dim3 block, size_t smem, cudaStream_t stream) {
    pending = {frames_here(), grid, block, smem, stream, true, false};
    return 0;
}
cudaError_t __cudaPopCallConfiguration(dim3 *grid, dim3 *block, size_t *smem, void *stream) {
    if (!pending.pushed) {  // a stub whose configuration is set by another interface
        *grid = *block = dim3(1), *smem = 0, *static_cast<void **>(stream) = nullptr;
        return cudaSuccess;
    }
    *grid = pending.grid, *block = pending.block, *smem = pending.smem;
    memcpy(stream, &pending.stream, sizeof pending.stream);
    pending.pushed = false, pending.popped = true;
    return cudaSuccess;
}
cudaError_t __cudaGetKernel(cudaKernel_t *kernel, const void *function) {
    *kernel = reinterpret_cast<cudaKernel_t>(const_cast<void *>(function));
    return cudaSuccess;
}
cudaError_t __cudaLaunchKernel(cudaKernel_t k, dim3 g, dim3 b, void **, size_t s, cudaStream_t) {
    return launch(k, g, b, s, frames_here());
}
cudaError_t __cudaLaunchKernel_ptsz(cudaKernel_t k, dim3 g, dim3 b, void **, size_t s,
                                    cudaStream_t) {
    return launch(k, g, b, s, frames_here());
}
cudaError_t cudaLaunchKernel(const void *k, dim3 g, dim3 b, void **, size_t s, cudaStream_t) {
    return launch(k, g, b, s, frames_here());
}
cudaError_t cudaLaunchCooperativeKernel(const void *k, dim3 g, dim3 b, void **, size_t s,
                                        cudaStream_t) {
    return launch(k, g, b, s, frames_here());
}
cudaError_t cudaLaunchKernelExC(const cudaLaunchConfig_t *c, const void *k, void **) {
    return launch(k, c->gridDim, c->blockDim, c->dynamicSmemBytes, frames_here());
}
CUresult cuLaunchKernel(CUfunction k, unsigned gx, unsigned gy, unsigned gz, unsigned bx,
                        unsigned by, unsigned bz, unsigned smem, CUstream, void **, void **) {
    record(frames_here(), dim3(gx, gy, gz), dim3(bx, by, bz), smem, k);
    return CUDA_SUCCESS;
}
CUresult cuLaunchCooperativeKernel(CUfunction k, unsigned gx, unsigned gy, unsigned gz, unsigned bx,
                                   unsigned by, unsigned bz, unsigned smem, CUstream, void **) {
    record(frames_here(), dim3(gx, gy, gz), dim3(bx, by, bz), smem, k);
    return CUDA_SUCCESS;
}
CUresult cuLaunchKernelEx(const CUlaunchConfig *c, CUfunction k, void **, void **) {
    record(frames_here(), dim3(c->gridDimX, c->gridDimY, c->gridDimZ),
           dim3(c->blockDimX, c->blockDimY, c->blockDimZ), c->sharedMemBytes, k);
    return CUDA_SUCCESS;
}

cudaError_t cudaMalloc(void **p, size_t n) { return allocate(p, n); }
cudaError_t cudaMallocHost(void **p, size_t n) { return allocate(p, n); }
cudaError_t cudaHostAlloc(void **p, size_t n, unsigned) { return allocate(p, n); }
cudaError_t cudaMallocManaged(void **p, size_t n, unsigned) { return allocate(p, n); }
cudaError_t cudaMallocAsync(void **p, size_t n, cudaStream_t) { return allocate(p, n); }
cudaError_t cudaMallocFromPoolAsync(void **p, size_t n, cudaMemPool_t, cudaStream_t) {
    return allocate(p, n);
}
cudaError_t cudaMallocPitch(void **p, size_t *pitch, size_t width, size_t height) {
    *pitch = (width + 511) / 512 * 512;
    return allocate(p, *pitch * height);
}
cudaError_t cudaMalloc3D(cudaPitchedPtr *p, cudaExtent e) {
    *p = {nullptr, (e.width + 511) / 512 * 512, e.width, e.height};
    return allocate(&p->ptr, p->pitch * e.height * e.depth);
}
cudaError_t cudaMallocArray(cudaArray_t *a, const cudaChannelFormatDesc *, size_t, size_t,
                            unsigned) {
    return handle(reinterpret_cast<void **>(a));
}
cudaError_t cudaMalloc3DArray(cudaArray_t *a, const cudaChannelFormatDesc *, cudaExtent, unsigned) {
    return handle(reinterpret_cast<void **>(a));
}
cudaError_t cudaFree(void *p) { free(p); return cudaSuccess; }
cudaError_t cudaFreeHost(void *p) { free(p); return cudaSuccess; }
cudaError_t cudaFreeAsync(void *p, cudaStream_t) { free(p); return cudaSuccess; }
cudaError_t cudaHostGetDevicePointer(void **d, void *h, unsigned) { *d = h; return cudaSuccess; }
cudaError_t cudaGetSymbolAddress(void **p, const void *) { return allocate(p, 1 << 20); }
cudaError_t cudaGetSymbolSize(size_t *n, const void *) { *n = 1 << 20; return cudaSuccess; }
cudaError_t cudaMemset(void *p, int v, size_t n) { fill(p, v, n); return cudaSuccess; }
cudaError_t cudaMemsetAsync(void *p, int v, size_t n, cudaStream_t) { return cudaMemset(p, v, n); }
cudaError_t cudaMemcpy(void *to, const void *from, size_t n, cudaMemcpyKind) {
    memmove(to, from, n);
    return cudaSuccess;
}
cudaError_t cudaMemcpyAsync(void *to, const void *from, size_t n, cudaMemcpyKind, cudaStream_t) {
    memmove(to, from, n);
    return cudaSuccess;
}
cudaError_t cudaMemcpy2D(void *to, size_t tp, const void *from, size_t fp, size_t w, size_t h,
                         cudaMemcpyKind) {
    for (size_t y = 0; y < h; y++) memmove((char *)to + y * tp, (const char *)from + y * fp, w);
    return cudaSuccess;
}
cudaError_t cudaMemcpy2DAsync(void *to, size_t tp, const void *from, size_t fp, size_t w, size_t h,
                              cudaMemcpyKind kind, cudaStream_t) {
    return cudaMemcpy2D(to, tp, from, fp, w, h, kind);
}
cudaError_t cudaMemGetInfo(size_t *free, size_t *total) {
    *free = size_t(79) << 30, *total = size_t(80) << 30;
    return cudaSuccess;
}

cudaError_t cudaStreamCreate(cudaStream_t *s) { return handle((void **)s); }
cudaError_t cudaStreamCreateWithFlags(cudaStream_t *s, unsigned) { return handle((void **)s); }
cudaError_t cudaStreamCreateWithPriority(cudaStream_t *s, unsigned, int) {
    return handle((void **)s);
}
cudaError_t cudaEventCreate(cudaEvent_t *e) { return handle((void **)e); }
cudaError_t cudaEventCreateWithFlags(cudaEvent_t *e, unsigned) { return handle((void **)e); }
cudaError_t cudaEventElapsedTime(float *ms, cudaEvent_t, cudaEvent_t) {
    *ms = 1.0f;
    return cudaSuccess;
}
cudaError_t cudaLaunchHostFunc(cudaStream_t, cudaHostFn_t call, void *data) {
    call(data);
    return cudaSuccess;
}
cudaError_t cudaStreamAddCallback(cudaStream_t s, cudaStreamCallback_t call, void *data, unsigned) {
    call(s, cudaSuccess, data);
    return cudaSuccess;
}
cudaError_t cudaStreamIsCapturing(cudaStream_t, cudaStreamCaptureStatus *s) {
    *s = cudaStreamCaptureStatusNone;
    return cudaSuccess;
}

cudaError_t cudaGetDevice(int *d) { *d = 0; return cudaSuccess; }
cudaError_t cudaGetDeviceCount(int *n) { *n = 1; return cudaSuccess; }
cudaError_t cudaDeviceCanAccessPeer(int *can, int, int) { *can = 0; return cudaSuccess; }
cudaError_t cudaDriverGetVersion(int *v) { *v = CUDART_VERSION; return cudaSuccess; }
cudaError_t cudaRuntimeGetVersion(int *v) { *v = CUDART_VERSION; return cudaSuccess; }
cudaError_t cudaDeviceGetStreamPriorityRange(int *low, int *high) {
    *low = 0, *high = -5;
    return cudaSuccess;
}
cudaError_t cudaDeviceGetAttribute(int *value, cudaDeviceAttr which, int) {
    *value = attribute(which);
    return cudaSuccess;
}
cudaError_t cudaGetDeviceProperties(cudaDeviceProp *p, int) {
    memset(p, 0, sizeof *p);
    strcpy(p->name, "NVIDIA H100");
    p->totalGlobalMem = size_t(80) << 30, p->totalConstMem = 65536;
    p->sharedMemPerBlock = 49152, p->sharedMemPerBlockOptin = 232448;
    p->sharedMemPerMultiprocessor = 233472, p->reservedSharedMemPerBlock = 1024;
    p->regsPerBlock = p->regsPerMultiprocessor = 65536;
    p->warpSize = 32, p->maxThreadsPerBlock = 1024, p->maxThreadsPerMultiProcessor = 2048;
    p->maxBlocksPerMultiProcessor = 32, p->multiProcessorCount = 132;
    p->maxThreadsDim[0] = p->maxThreadsDim[1] = 1024, p->maxThreadsDim[2] = 64;
    p->maxGridSize[0] = 2147483647, p->maxGridSize[1] = p->maxGridSize[2] = 65535;
    p->major = 9, p->minor = 0, p->l2CacheSize = 50 << 20, p->memoryBusWidth = 5120;
    p->persistingL2CacheMaxSize = 32 << 20, p->accessPolicyMaxWindowSize = 32 << 20;
    p->unifiedAddressing = p->managedMemory = p->concurrentManagedAccess = 1;
    p->canMapHostMemory = p->concurrentKernels = p->cooperativeLaunch = p->asyncEngineCount = 1;
    p->memoryPoolsSupported = p->streamPrioritiesSupported = p->pageableMemoryAccess = 1;
    p->textureAlignment = p->surfaceAlignment = 512, p->texturePitchAlignment = 32;
    return cudaSuccess;
}
cudaError_t cudaFuncGetAttributes(cudaFuncAttributes *a, const void *) {
    memset(a, 0, sizeof *a);
    a->maxThreadsPerBlock = 1024, a->numRegs = 32, a->ptxVersion = a->binaryVersion = 90;
    a->maxDynamicSharedSizeBytes = 232448;
    return cudaSuccess;
}
cudaError_t cudaOccupancyMaxActiveBlocksPerMultiprocessor(int *n, const void *, int threads,
                                                          size_t) {
    *n = threads > 0 && threads <= 1024 ? 2048 / ((threads + 31) / 32 * 32) : 0;
    *n = *n > 32 ? 32 : *n;
    return cudaSuccess;
}
cudaError_t cudaOccupancyMaxActiveBlocksPerMultiprocessorWithFlags(int *n, const void *k,
                                                                   int threads, size_t smem,
                                                                   unsigned) {
    return cudaOccupancyMaxActiveBlocksPerMultiprocessor(n, k, threads, smem);
}
cudaError_t cudaOccupancyAvailableDynamicSMemPerBlock(size_t *n, const void *, int, int) {
    *n = 49152;
    return cudaSuccess;
}
const char *cudaGetErrorString(cudaError_t) { return "no error"; }
const char *cudaGetErrorName(cudaError_t) { return "cudaSuccess"; }
const char *curandGetErrorString(int) { return "no error"; }
const char *cublasGetStatusString(int) { return "no error"; }

CUresult cuDeviceGetCount(int *n) { *n = 1; return CUDA_SUCCESS; }
CUresult cuDeviceGet(CUdevice *d, int) { *d = 0; return CUDA_SUCCESS; }
CUresult cuDriverGetVersion(int *v) { *v = CUDA_VERSION; return CUDA_SUCCESS; }
CUresult cuDeviceGetAttribute(int *value, CUdevice_attribute which, CUdevice) {
    *value = attribute(which);
    return CUDA_SUCCESS;
}
CUresult cuDeviceGetName(char *name, int n, CUdevice) {
    snprintf(name, n, "NVIDIA H100");
    return CUDA_SUCCESS;
}
CUresult cuMemAlloc(CUdeviceptr *p, size_t n) { return (CUresult)allocate((void **)p, n); }
CUresult cuMemFree(CUdeviceptr p) { free((void *)p); return CUDA_SUCCESS; }
CUresult cuMemcpyHtoD(CUdeviceptr to, const void *from, size_t n) {
    memmove((void *)to, from, n);
    return CUDA_SUCCESS;
}
CUresult cuMemcpyDtoH(void *to, CUdeviceptr from, size_t n) {
    memmove(to, (void *)from, n);
    return CUDA_SUCCESS;
}
CUresult cuGetErrorString(CUresult, const char **text) { *text = "no error"; return CUDA_SUCCESS; }

}  // extern "C"
