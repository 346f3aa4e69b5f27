// Stands in for what OpenCV's core computes on pixels in kernels: conversions that saturate, in the
// instructions that it too asks for, and the arithmetic of vectors. To be included in opencv.h.
#pragma once

namespace cv {
namespace cuda {
namespace device {
#define OCCLSP_PLAIN(type)                                  \
  template <class T>                                        \
  __device__ __forceinline__ T saturate_cast(type v) {      \
    return T(v);                                            \
  }
OCCLSP_PLAIN(uchar)
OCCLSP_PLAIN(schar)
OCCLSP_PLAIN(ushort)
OCCLSP_PLAIN(short)
OCCLSP_PLAIN(uint)
OCCLSP_PLAIN(int)
OCCLSP_PLAIN(float)
OCCLSP_PLAIN(double)
#undef OCCLSP_PLAIN

// `to` from `from`, the result in a `kept` register and the value widened to `given`.
#define OCCLSP_CONVERTED(to, from, instruction, kept, out, given, in)                 \
  template <>                                                                         \
  __device__ __forceinline__ to saturate_cast<to>(from v) {                           \
    kept result = 0;                                                                  \
    given value = v;                                                                  \
    asm("cvt." instruction " %0, %1;" : out(result) : in(value));                     \
    return result;                                                                    \
  }
#define OCCLSP_FROM_WIDE(to, name, kept, out)                                         \
  OCCLSP_CONVERTED(to, int, "sat." name ".s32", kept, out, int, "r")                  \
  OCCLSP_CONVERTED(to, uint, "sat." name ".u32", kept, out, uint, "r")                \
  OCCLSP_CONVERTED(to, float, "rni.sat." name ".f32", kept, out, float, "f")          \
  OCCLSP_CONVERTED(to, double, "rni.sat." name ".f64", kept, out, double, "d")
OCCLSP_FROM_WIDE(uchar, "u8", uint, "=r")
OCCLSP_FROM_WIDE(schar, "s8", uint, "=r")
OCCLSP_FROM_WIDE(ushort, "u16", ushort, "=h")
OCCLSP_FROM_WIDE(short, "s16", short, "=h")
OCCLSP_CONVERTED(uchar, schar, "sat.u8.s8", uint, "=r", int, "r")
OCCLSP_CONVERTED(uchar, short, "sat.u8.s16", uint, "=r", short, "h")
OCCLSP_CONVERTED(uchar, ushort, "sat.u8.u16", uint, "=r", ushort, "h")
OCCLSP_CONVERTED(schar, uchar, "sat.s8.u8", uint, "=r", uint, "r")
OCCLSP_CONVERTED(schar, short, "sat.s8.s16", uint, "=r", short, "h")
OCCLSP_CONVERTED(schar, ushort, "sat.s8.u16", uint, "=r", ushort, "h")
OCCLSP_CONVERTED(ushort, schar, "sat.u16.s8", ushort, "=h", int, "r")
OCCLSP_CONVERTED(ushort, short, "sat.u16.s16", ushort, "=h", short, "h")
OCCLSP_CONVERTED(short, ushort, "sat.s16.u16", short, "=h", ushort, "h")
OCCLSP_CONVERTED(int, uint, "sat.s32.u32", int, "=r", uint, "r")
OCCLSP_CONVERTED(uint, schar, "sat.u32.s8", uint, "=r", int, "r")
OCCLSP_CONVERTED(uint, short, "sat.u32.s16", uint, "=r", short, "h")
OCCLSP_CONVERTED(uint, int, "sat.u32.s32", uint, "=r", int, "r")
#undef OCCLSP_FROM_WIDE
#undef OCCLSP_CONVERTED
template <>
__device__ __forceinline__ int saturate_cast<int>(float v) {
  return __float2int_rn(v);
}
template <>
__device__ __forceinline__ int saturate_cast<int>(double v) {
  return __double2int_rn(v);
}
template <>
__device__ __forceinline__ uint saturate_cast<uint>(float v) {
  return __float2uint_rn(v);
}
template <>
__device__ __forceinline__ uint saturate_cast<uint>(double v) {
  return __double2uint_rn(v);
}

#define OCCLSP_CAST(vector, make)                                   \
  template <class T>                                                \
  __device__ __forceinline__ T saturate_cast(const vector &v) {     \
    typedef typename VecTraits<T>::elem_type D;                     \
    return VecTraits<T>::make;                                      \
  }
#define OCCLSP_CASTS(prefix)                                                          \
  OCCLSP_CAST(prefix##1, make(saturate_cast<D>(v.x)))                                 \
  OCCLSP_CAST(prefix##2, make(saturate_cast<D>(v.x), saturate_cast<D>(v.y)))          \
  OCCLSP_CAST(prefix##3, make(saturate_cast<D>(v.x), saturate_cast<D>(v.y), saturate_cast<D>(v.z))) \
  OCCLSP_CAST(prefix##4, make(saturate_cast<D>(v.x), saturate_cast<D>(v.y), saturate_cast<D>(v.z),  \
                              saturate_cast<D>(v.w)))
OCCLSP_CASTS(uchar)
OCCLSP_CASTS(char)
OCCLSP_CASTS(ushort)
OCCLSP_CASTS(short)
OCCLSP_CASTS(uint)
OCCLSP_CASTS(int)
OCCLSP_CASTS(float)
OCCLSP_CASTS(double)
#undef OCCLSP_CASTS
#undef OCCLSP_CAST

// `a op b` of `A` and `B`, in `to`: of two vectors, or of a vector and a scalar.
#define OCCLSP_OPERATOR(op, A, B, to, make)                                        \
  __device__ __forceinline__ to operator op(const A &a, const B &b) {              \
    return VecTraits<to>::make;                                                    \
  }
#define OCCLSP_PAIRS(op, prefix, to)                                                              \
  OCCLSP_OPERATOR(op, prefix##1, prefix##1, to##1, make(a.x op b.x))                              \
  OCCLSP_OPERATOR(op, prefix##2, prefix##2, to##2, make(a.x op b.x, a.y op b.y))                  \
  OCCLSP_OPERATOR(op, prefix##3, prefix##3, to##3, make(a.x op b.x, a.y op b.y, a.z op b.z))      \
  OCCLSP_OPERATOR(op, prefix##4, prefix##4, to##4,                                                \
                  make(a.x op b.x, a.y op b.y, a.z op b.z, a.w op b.w))
#define OCCLSP_SCALED(op, prefix, scalar, to)                                                     \
  OCCLSP_OPERATOR(op, prefix##1, scalar, to##1, make(a.x op b))                                   \
  OCCLSP_OPERATOR(op, prefix##2, scalar, to##2, make(a.x op b, a.y op b))                         \
  OCCLSP_OPERATOR(op, prefix##3, scalar, to##3, make(a.x op b, a.y op b, a.z op b))               \
  OCCLSP_OPERATOR(op, prefix##4, scalar, to##4, make(a.x op b, a.y op b, a.z op b, a.w op b))     \
  OCCLSP_OPERATOR(op, scalar, prefix##1, to##1, make(a op b.x))                                   \
  OCCLSP_OPERATOR(op, scalar, prefix##2, to##2, make(a op b.x, a op b.y))                         \
  OCCLSP_OPERATOR(op, scalar, prefix##3, to##3, make(a op b.x, a op b.y, a op b.z))               \
  OCCLSP_OPERATOR(op, scalar, prefix##4, to##4, make(a op b.x, a op b.y, a op b.z, a op b.w))
#define OCCLSP_SMALL(op, prefix)            \
  OCCLSP_PAIRS(op, prefix, int)             \
  OCCLSP_SCALED(op, prefix, int, int)       \
  OCCLSP_SCALED(op, prefix, float, float)   \
  OCCLSP_SCALED(op, prefix, double, double)
#define OCCLSP_ARITHMETIC(op)               \
  OCCLSP_SMALL(op, uchar)                   \
  OCCLSP_SMALL(op, char)                    \
  OCCLSP_SMALL(op, ushort)                  \
  OCCLSP_SMALL(op, short)                   \
  OCCLSP_SMALL(op, int)                     \
  OCCLSP_PAIRS(op, uint, uint)              \
  OCCLSP_SCALED(op, uint, uint, uint)       \
  OCCLSP_SCALED(op, uint, float, float)     \
  OCCLSP_SCALED(op, uint, double, double)   \
  OCCLSP_PAIRS(op, float, float)            \
  OCCLSP_SCALED(op, float, float, float)    \
  OCCLSP_SCALED(op, float, double, double)  \
  OCCLSP_PAIRS(op, double, double)          \
  OCCLSP_SCALED(op, double, double, double)
OCCLSP_ARITHMETIC(+)
OCCLSP_ARITHMETIC(-)
OCCLSP_ARITHMETIC(*)
OCCLSP_ARITHMETIC(/)
#undef OCCLSP_ARITHMETIC
#undef OCCLSP_SMALL
#undef OCCLSP_SCALED
#undef OCCLSP_PAIRS
#undef OCCLSP_OPERATOR

struct SingleMask {
  PtrStepb mask;
  explicit __host__ __device__ __forceinline__ SingleMask(PtrStepb given) : mask(given) {}
  __device__ __forceinline__ bool operator()(int y, int x) const { return mask.ptr(y)[x] != 0; }
};
struct WithOutMask {
  __device__ __forceinline__ bool operator()(int, int) const { return true; }
};
template <class T>
struct DynamicSharedMem {
  __device__ __forceinline__ operator T *() {
    extern __shared__ int occlsp_dynamic[];
    return (T *)occlsp_dynamic;
  }
};
struct Emulation {
  static __device__ __forceinline__ int syncthreadsOr(int pred) { return __syncthreads_or(pred); }
  struct smem {
    template <class T>
    static __device__ __forceinline__ T atomicAdd(T *address, T value) {
      return ::atomicAdd(address, value);
    }
    template <class T>
    static __device__ __forceinline__ T atomicMin(T *address, T value) {
      return ::atomicMin(address, value);
    }
  };
};
}  // namespace device
}  // namespace cuda
}  // namespace cv
