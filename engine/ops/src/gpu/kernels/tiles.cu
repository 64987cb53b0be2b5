// What attention in tiles shares, whatever its numbers are: what it is told, what it sees, what dropout keeps, and copies on their way.

#if defined(EMULATED) || __CUDA_ARCH__ >= 800
#define HAS_TENSOR_UNITS
#endif

#ifdef HAS_TENSOR_UNITS

#ifndef EMULATED
// Sixteen bytes on their way into shared memory, or as many zeros.
__device__ inline void copy_sixteen(void* to, const void* from, bool is_there) {
    u32 place = (u32)__cvta_generic_to_shared(to), bytes = is_there ? 16 : 0;
    asm volatile("cp.async.cg.shared.global [%0], [%1], 16, %2;" : : "r"(place), "l"(from), "r"(bytes) : "memory");
}
// Four bytes likewise.
__device__ inline void copy_four(void* to, const void* from, bool is_there) {
    u32 place = (u32)__cvta_generic_to_shared(to), bytes = is_there ? 4 : 0;
    asm volatile("cp.async.ca.shared.global [%0], [%1], 4, %2;" : : "r"(place), "l"(from), "r"(bytes) : "memory");
}
// Brings a warp together whose threads may have gone different ways: products want it so.
__device__ inline void wait_for_warp() { __syncwarp(); }
__device__ inline void end_of_group() { asm volatile("cp.async.commit_group;" : : : "memory"); }
__device__ inline void wait_for_copies(bool of_last) {
    if (of_last) asm volatile("cp.async.wait_group 0;" : : : "memory");
    else asm volatile("cp.async.wait_group 1;" : : : "memory");
}
#else
__device__ inline void copy_four(void* to, const void* from, bool is_there) { *(u32*)to = is_there ? *(const u32*)from : 0; }
__device__ inline void wait_for_warp() {}
#endif

// Loops that stay loops.
#ifdef EMULATED
#define ROLLED
#else
#define ROLLED _Pragma("unroll 1")
#endif

// Two numbers beside each other, read at once.
struct alignas(8) Two {
    float at[2];
};

struct FlashArgs {
    // Of queries or keys, in an order that `q_row` and `kv_row` say.
    const void *q, *k, *v;
    // As the queries, in an order that `y_row` says.
    void* y;
    // One a query: the logarithm, to the base of two, of the sum that its probabilities were divided by. [batch heads, queries]
    float* log_sums;
    // [batch, key_stride], or null: keys that no query sees are zero.
    const u8* seen;
    u64 key_stride, heads, queries, keys;
    // Query i sees the keys j <= i + reach, if causal.
    i64 reach;
    u64 is_causal;
    double scale;
    // Of q and dq; of k, v, dk and dv; of y and dy. Zero: [batch heads, rows, D]. Else [batch, rows, ..], where a row has the D
    // numbers of each head beside each other, and the next row begins so many numbers later.
    u64 q_row, kv_row, y_row;
    Dropout dropout;
};

struct FlashGradientArgs {
    FlashArgs forward;
    const void* dy;
    // One a query: dy times y.
    float* products;
    void *dq, *dk, *dv;
    // Queries of all heads.
    u64 rows;
};

// A score that is not seen, what the largest of none is, and the logarithm of a sum of none.
const float UNSEEN = -1.0e30f, NONE = -5.0e29f, NO_SUM = 1.0e30f;
// By how much, as a power of two, weights may grow before all that was added up is made smaller.
const float MOST_GROWTH = 8;

// Where a head of a tensor begins, and how far its rows are apart.
template <u32 D>
__device__ inline u64 start_of(u64 head, u64 heads, u64 rows, u64 row) {
    return row == 0 ? head * rows * D : quotient(head, heads) * rows * row + modulo(head, heads) * D;
}
template <u32 D>
__device__ inline u32 distance_of(u64 row) {
    return row == 0 ? D : (u32)row;
}

// Which of a thread's results are kept by dropout: bit (n SIXTEENS + m) 4 + e is of result e of columns n of rows m. Here
// columns are keys; `first` is the place of row g, column 2 t, and rows of the maps are `keys` apart.
template <u32 SIXTEENS, u32 COLUMNS>
__device__ inline u32 kept_of_queries(const Dropout& d, u64 first, u64 keys) {
    u32 t = threadIdx.x % 4, odd = t % 2, bits = 0;
    if (keys % 4 != 0) {
        ROLLED
        for (u32 i = 0; i < SIXTEENS * COLUMNS / 8 * 2; ++i) {
            u32 words[4];
            u64 place = first + (i / 2 % SIXTEENS * 16 + i % 2 * 8) * keys + i / 2 / SIXTEENS * 8;
            u32 lane = (u32)(place % 4);
            philox(d, place / 4, words);
            u32 low = lane == 0 ? words[0] : lane == 1 ? words[1] : lane == 2 ? words[2] : words[3];
            u32 high = lane == 0 ? words[1] : lane == 1 ? words[2] : words[3];
            if (lane == 3) {
                philox(d, place / 4 + 1, words);
                high = words[0];
            }
            bits |= ((u32)(low >= d.threshold) | (u32)(high >= d.threshold) << 1) << i * 2;
        }
        wait_for_warp();
        return bits;
    }
    // Two threads beside each other need the same words: one makes those of rows g, the other those of rows g + 8.
    u64 block = (first - odd * 2 + odd * 8 * keys) / 4;
    ROLLED
    for (u32 i = 0; i < SIXTEENS * COLUMNS / 8; ++i) {
        u32 words[4];
        philox(d, block + i % SIXTEENS * 4 * keys + i / SIXTEENS * 2, words);
        UNROLL
        for (u32 k = 0; k < 4; ++k) bits |= (u32)(words[k] >= d.threshold) << (i * 4 + k);
    }
    u32 others = __shfl_xor_sync(0xffffffffu, bits, 1);
    u32 low = (odd ? others : bits) >> odd * 2, high = (odd ? bits : others) >> odd * 2;
    return (low & 0x33333333u) | (high & 0x33333333u) << 2;
}

// Likewise where columns are queries; `first` is the place of key g for query 2 t.
template <u32 SIXTEENS, u32 COLUMNS>
__device__ inline u32 kept_of_keys(const Dropout& d, u64 first, u64 keys) {
    u32 s = threadIdx.x / 4 % 4, bits = 0;
    if (keys % 4 != 0) {
        ROLLED
        for (u32 i = 0; i < SIXTEENS * COLUMNS / 8 * 4; ++i) {
            u32 words[4];
            u64 place = first + (i / 4 / SIXTEENS * 8 + i % 2) * keys + i / 4 % SIXTEENS * 16 + i / 2 % 2 * 8;
            u32 lane = (u32)(place % 4);
            philox(d, place / 4, words);
            u32 word = lane == 0 ? words[0] : lane == 1 ? words[1] : lane == 2 ? words[2] : words[3];
            bits |= (u32)(word >= d.threshold) << i;
        }
        wait_for_warp();
        return bits;
    }
    // Four threads with keys beside each other need the same words: each makes those of one of four results.
    u64 block = (first - s + s % 2 * keys + s / 2 * 8) / 4;
    ROLLED
    for (u32 i = 0; i < SIXTEENS * COLUMNS / 8; ++i) {
        u32 words[4];
        philox(d, block + i / SIXTEENS * 2 * keys + i % SIXTEENS * 4, words);
        UNROLL
        for (u32 k = 0; k < 4; ++k) bits |= (u32)(words[k] >= d.threshold) << (i * 4 + k);
    }
    u32 all = (bits >> s & 0x11111111u) << s;
    UNROLL
    for (u32 other = 1; other < 4; ++other) {
        all |= (__shfl_xor_sync(0xffffffffu, bits, other * 4) >> s & 0x11111111u) << (s ^ other);
    }
    return all;
}

// How many of the keys a query sees, if those that are hidden one by one are counted.
__device__ inline int seen_by(const FlashArgs& a, int query) {
    if (!a.is_causal) return (int)a.keys;
    int reached = query + (int)a.reach + 1;
    return reached < 0 ? 0 : reached < (int)a.keys ? reached : (int)a.keys;
}

#endif
