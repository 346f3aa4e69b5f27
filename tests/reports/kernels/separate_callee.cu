__device__ float elsewhere(float x, int n) {
    float stack[20];
    for (int i = 0; i < n; ++i) stack[i % 20] = x * i;
    return stack[n % 20];
}
__global__ void same_unit(float *p) { p[0] = elsewhere(p[1], 5); }
static __global__ void separate_static(int *p, int n) { p[n] = 3; }
void other(int *p) {
    separate_static<<<1, 1>>>(p, 1);
    same_unit<<<1, 1>>>(nullptr);
}
