// What all kernels share. Every kernel takes one structure whose fields have eight bytes each, so that the host can fill
// it without knowing how a compiler lays it out. Sums run in an order that depends on shapes alone: a result is the same
// every time.

typedef unsigned char u8;
typedef unsigned int u32;
typedef unsigned long long u64;
typedef long long i64;

// Numbers of two bytes, as bits.
struct Half {
    unsigned short bits;
};
struct Bfloat {
    unsigned short bits;
};

// What is computed in: single precision, double for doubles.
template <typename T>
struct Wide {
    typedef float Type;
};
template <>
struct Wide<double> {
    typedef double Type;
};

#ifdef EMULATED
#define UNROLL
#else
#define UNROLL _Pragma("unroll")
#endif

#ifndef EMULATED
__device__ inline float half_to_float(unsigned short bits) {
    float x;
    asm("cvt.f32.f16 %0, %1;" : "=f"(x) : "h"(bits));
    return x;
}
__device__ inline unsigned short float_to_half(float x) {
    unsigned short bits;
    asm("cvt.rn.f16.f32 %0, %1;" : "=h"(bits) : "f"(x));
    return bits;
}
// Good to some three units of the last place, as is the next.
__device__ inline float exponential_of_two(float x) {
    float y;
    asm("ex2.approx.ftz.f32 %0, %1;" : "=f"(y) : "f"(x));
    return y;
}
__device__ inline float one_in(float x) {
    float y;
    asm("rcp.approx.ftz.f32 %0, %1;" : "=f"(y) : "f"(x));
    return y;
}
#endif

__device__ inline float wide(float x) { return x; }
__device__ inline double wide(double x) { return x; }
__device__ inline float wide(Half x) { return half_to_float(x.bits); }
__device__ inline float wide(Bfloat x) { return __uint_as_float((u32)x.bits << 16); }

// Rounds to the nearest number, ties to the even one.
__device__ inline void narrow(float x, float* y) { *y = x; }
__device__ inline void narrow(double x, double* y) { *y = x; }
__device__ inline void narrow(float x, Half* y) { y->bits = float_to_half(x); }
__device__ inline void narrow(float x, Bfloat* y) {
#if defined(__CUDA_ARCH__) && __CUDA_ARCH__ >= 800
    asm("cvt.rn.bf16.f32 %0, %1;" : "=h"(y->bits) : "f"(x));
#else
    u32 bits = __float_as_uint(x);
    bool is_nan = (bits & 0x7fffffffu) > 0x7f800000u;
    y->bits = is_nan ? (unsigned short)0x7fff : (unsigned short)((bits + 0x7fffu + ((bits >> 16) & 1u)) >> 16);
#endif
}

__device__ inline float exponential(float x) { return expf(x); }
__device__ inline double exponential(double x) { return exp(x); }

// The exponential for numbers of type T: quicker where these have 16 bits.
template <typename T>
__device__ inline typename Wide<T>::Type exponential_for(typename Wide<T>::Type x) { return exponential(x); }
template <>
__device__ inline float exponential_for<Half>(float x) { return exponential_of_two(1.4426950408889634f * x); }
template <>
__device__ inline float exponential_for<Bfloat>(float x) { return exponential_of_two(1.4426950408889634f * x); }

// 1 / (1 + exp(x))
__device__ inline float one_in_one_and(float x) { return one_in(1 + exponential_of_two(1.4426950408889634f * x)); }
__device__ inline double one_in_one_and(double x) { return 1 / (1 + exp(x)); }
__device__ inline float logarithm(float x) { return logf(x); }
__device__ inline double logarithm(double x) { return log(x); }
__device__ inline float error_function(float x) { return erff(x); }
__device__ inline double error_function(double x) { return erf(x); }
__device__ inline float root(float x) { return sqrtf(x); }
__device__ inline double root(double x) { return sqrt(x); }

// i % n, which is quick for small numbers.
__device__ inline u64 modulo(u64 i, u64 n) {
    return (i | n) >> 32 ? i % n : (u64)((u32)i % (u32)n);
}

// i / n, likewise.
__device__ inline u64 quotient(u64 i, u64 n) {
    return (i | n) >> 32 ? i / n : (u64)((u32)i / (u32)n);
}

// Below every score that a softmax takes seriously.
template <typename W>
__device__ inline W lowest();
template <>
__device__ inline float lowest<float>() { return -3.0e38f; }
template <>
__device__ inline double lowest<double>() { return -1.0e308; }

// Four numbers beside each other, moved at once.
template <typename T>
struct alignas(4 * sizeof(T)) Four {
    T at[4];
};

// Whether four numbers can be moved at once from here.
template <typename T>
__device__ inline bool takes_four(const void* place) {
    return (u64)place % sizeof(Four<T>) == 0;
}

// Reads four numbers, of which `left` are there; the others are zero. `whole`: all are, and can be moved at once.
template <typename T>
__device__ inline void read_four(const T* from, u64 left, bool whole, typename Wide<T>::Type to[4]) {
    if (whole) {
        Four<T> four = *(const Four<T>*)from;
        UNROLL
        for (u32 k = 0; k < 4; ++k) to[k] = wide(four.at[k]);
    } else {
        UNROLL
        for (u32 k = 0; k < 4; ++k) to[k] = k < left ? wide(from[k]) : (typename Wide<T>::Type)0;
    }
}

template <typename T>
__device__ inline void write_four(const typename Wide<T>::Type from[4], u64 left, bool whole, T* to) {
    if (whole) {
        Four<T> four;
        UNROLL
        for (u32 k = 0; k < 4; ++k) narrow(from[k], &four.at[k]);
        *(Four<T>*)to = four;
    } else {
        UNROLL
        for (u32 k = 0; k < 4; ++k) {
            if (k < left) narrow(from[k], &to[k]);
        }
    }
}

// Sixteen bytes as they lie. What is read as such is widened when all of it was asked for: widening waits for what is read.
struct alignas(16) Bytes {
    u32 words[4];
};

__device__ inline Bytes bytes_at(const void* place) { return *(const Bytes*)place; }

// Whether sixteen bytes can be moved at once from here; from nowhere they need not.
__device__ inline bool takes_bytes(const void* place) { return (u64)place % sizeof(Bytes) == 0; }

// How many numbers are in sixteen bytes.
template <typename T>
struct InBytes {
    static const u32 COUNT = 16 / sizeof(T);
};

__device__ inline void widen(const Bytes& from, float to[4], float) {
    UNROLL
    for (u32 k = 0; k < 4; ++k) to[k] = __uint_as_float(from.words[k]);
}
__device__ inline void widen(const Bytes& from, float to[8], Half) {
    UNROLL
    for (u32 k = 0; k < 8; ++k) to[k] = half_to_float((unsigned short)(from.words[k / 2] >> (k % 2 * 16)));
}
__device__ inline void widen(const Bytes& from, float to[8], Bfloat) {
    UNROLL
    for (u32 k = 0; k < 8; ++k) {
        u32 word = from.words[k / 2];
        to[k] = __uint_as_float(k % 2 == 0 ? word << 16 : word & 0xffff0000u);
    }
}
__device__ inline void widen(const Bytes& from, double to[2], double) {
    const double* numbers = (const double*)&from;
    to[0] = numbers[0];
    to[1] = numbers[1];
}

template <typename T>
__device__ inline void write_bytes(const typename Wide<T>::Type from[InBytes<T>::COUNT], T* to) {
    struct alignas(16) {
        T at[InBytes<T>::COUNT];
    } all;
    UNROLL
    for (u32 k = 0; k < InBytes<T>::COUNT; ++k) narrow(from[k], &all.at[k]);
    *(Bytes*)to = *(Bytes*)&all;
}

const u32 WARP = 32;
const u32 MOST_WARPS = 32;

// The sum over a warp, for all of its threads.
template <typename W>
__device__ inline W warp_sum(W x) {
    UNROLL
    for (u32 distance = WARP / 2; distance > 0; distance /= 2) x += __shfl_xor_sync(0xffffffffu, x, distance);
    return x;
}

// The largest over a warp; numbers that are not numbers are passed over.
template <typename W>
__device__ inline W warp_max(W x) {
    UNROLL
    for (u32 distance = WARP / 2; distance > 0; distance /= 2) {
        W other = __shfl_xor_sync(0xffffffffu, x, distance);
        x = other > x ? other : x;
    }
    return x;
}

// Rows of a block where a warp has one, and fours that a thread has of such a row at most.
const u32 ROWS_OF_WARPS = 4;
const u32 FOURS_OF_WARP = 8;

// The sum over the block, for all of its threads. The block has whole warps.
template <typename W>
__device__ W block_sum(W x) {
    __shared__ W parts[MOST_WARPS];
    for (u32 distance = WARP / 2; distance > 0; distance /= 2) x += __shfl_xor_sync(0xffffffffu, x, distance);
    if (blockDim.x == WARP) return x;
    if (threadIdx.x % WARP == 0) parts[threadIdx.x / WARP] = x;
    __syncthreads();
    W total = 0;
    for (u32 warp = 0; warp < blockDim.x / WARP; ++warp) total += parts[warp];
    __syncthreads();
    return total;
}

// The largest over the block, for all of its threads; numbers that are not numbers are passed over.
template <typename W>
__device__ W block_max(W x) {
    __shared__ W parts[MOST_WARPS];
    for (u32 distance = WARP / 2; distance > 0; distance /= 2) {
        W other = __shfl_xor_sync(0xffffffffu, x, distance);
        x = other > x ? other : x;
    }
    if (blockDim.x == WARP) return x;
    if (threadIdx.x % WARP == 0) parts[threadIdx.x / WARP] = x;
    __syncthreads();
    W most = parts[0];
    for (u32 warp = 1; warp < blockDim.x / WARP; ++warp) most = parts[warp] > most ? parts[warp] : most;
    __syncthreads();
    return most;
}

// The kernel NAME for one type of elements, which calls the function of the same name.
#ifndef EMULATED
#define KERNEL(NAME, ARGS, TYPE, SUFFIX) \
    extern "C" __global__ void NAME##_##SUFFIX(const ARGS args) { NAME<TYPE>(args); }
#endif
#define FOR_REALS(NAME, ARGS) KERNEL(NAME, ARGS, float, f32) KERNEL(NAME, ARGS, double, f64)
#define FOR_ALL(NAME, ARGS) \
    FOR_REALS(NAME, ARGS) KERNEL(NAME, ARGS, Half, f16) KERNEL(NAME, ARGS, Bfloat, bf16)
