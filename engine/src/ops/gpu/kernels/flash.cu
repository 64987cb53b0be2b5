// Attention from queries, keys and values in 16 bits whose scores are nowhere (after Dao, "FlashAttention-2", 2023): a block has
// some queries and goes over the keys in tiles, with the softmax carried along, while the next tile is on its way. The backward pass makes scores again, once
// for the gradient of the queries and once for those of keys and values: two kernels (beside a small one), so that nothing is added by
// several blocks in an order that changes.
//
// Products are of the tensor units, 16 by 8 by 16 (`mma.m16n8k16`). In a warp, lane = 4 g + t; a product's left factor has in
// its four registers the rows g and g + 8, columns 2 t and 2 t + 8, two numbers each; its right factor the rows 2 t and
// 2 t + 8 of column g; the result row g with columns 2 t and 2 t + 1, then row g + 8.

#if defined(EMULATED) || __CUDA_ARCH__ >= 800
#define HAS_TENSOR_UNITS
#endif

#ifdef HAS_TENSOR_UNITS

#ifndef EMULATED
__device__ inline void multiply_add(Half, float c[4], const u32 a[4], const u32 b[2]) {
    asm volatile("mma.sync.aligned.m16n8k16.row.col.f32.f16.f16.f32 {%0,%1,%2,%3}, {%4,%5,%6,%7}, {%8,%9}, {%0,%1,%2,%3};"
                 : "+f"(c[0]), "+f"(c[1]), "+f"(c[2]), "+f"(c[3])
                 : "r"(a[0]), "r"(a[1]), "r"(a[2]), "r"(a[3]), "r"(b[0]), "r"(b[1]));
}
__device__ inline void multiply_add(Bfloat, float c[4], const u32 a[4], const u32 b[2]) {
    asm volatile("mma.sync.aligned.m16n8k16.row.col.f32.bf16.bf16.f32 {%0,%1,%2,%3}, {%4,%5,%6,%7}, {%8,%9}, {%0,%1,%2,%3};"
                 : "+f"(c[0]), "+f"(c[1]), "+f"(c[2]), "+f"(c[3])
                 : "r"(a[0]), "r"(a[1]), "r"(a[2]), "r"(a[3]), "r"(b[0]), "r"(b[1]));
}
// Four matrices of 8 by 8 numbers from shared memory; lane 8 m + r names row r of matrix m. A lane gets of each row g, columns
// 2 t and 2 t + 1.
__device__ inline void read_matrices(u32 to[4], const void* row) {
    u32 place = (u32)__cvta_generic_to_shared(row);
    asm volatile("ldmatrix.sync.aligned.m8n8.x4.shared.b16 {%0,%1,%2,%3}, [%4];"
                 : "=r"(to[0]), "=r"(to[1]), "=r"(to[2]), "=r"(to[3])
                 : "r"(place)
                 : "memory");
}
// Sixteen bytes on their way into shared memory, or as many zeros; `wait_for_copies` waits for all but the last `later` groups.
__device__ inline void copy_sixteen(void* to, const void* from, bool is_there) {
    u32 place = (u32)__cvta_generic_to_shared(to), bytes = is_there ? 16 : 0;
    asm volatile("cp.async.cg.shared.global [%0], [%1], 16, %2;" : : "r"(place), "l"(from), "r"(bytes) : "memory");
}
__device__ inline void end_of_group() { asm volatile("cp.async.commit_group;" : : : "memory"); }
__device__ inline void wait_for_copies(bool of_last) {
    if (of_last) asm volatile("cp.async.wait_group 0;" : : : "memory");
    else asm volatile("cp.async.wait_group 1;" : : : "memory");
}
__device__ inline float exponential_of_two(float x) {
    float y;
    asm("ex2.approx.ftz.f32 %0, %1;" : "=f"(y) : "f"(x));
    return y;
}
// Two numbers, the first in the lower half.
__device__ inline u32 packed(Half, float first, float second) {
    u32 two;
    asm("cvt.rn.f16x2.f32 %0, %1, %2;" : "=r"(two) : "f"(second), "f"(first));
    return two;
}
__device__ inline u32 packed(Bfloat, float first, float second) {
    u32 two;
    asm("cvt.rn.bf16x2.f32 %0, %1, %2;" : "=r"(two) : "f"(second), "f"(first));
    return two;
}
// As read_matrices, with each matrix transposed.
__device__ inline void read_transposed(u32 to[4], const void* row) {
    u32 place = (u32)__cvta_generic_to_shared(row);
    asm volatile("ldmatrix.sync.aligned.m8n8.x4.trans.shared.b16 {%0,%1,%2,%3}, [%4];"
                 : "=r"(to[0]), "=r"(to[1]), "=r"(to[2]), "=r"(to[3])
                 : "r"(place)
                 : "memory");
}
#endif

// Threads of a block, and the rows that they have: four warps of sixteen.
const u32 FLASH_THREADS = 128;
const u32 FLASH_ROWS = 64;

struct FlashArgs {
    // [batch heads, queries, D] and [batch heads, keys, D]
    const void *q, *k, *v;
    // As the queries.
    void* y;
    // One a query: the logarithm, to the base of two, of the sum that its probabilities were divided by.
    float* log_sums;
    // [batch, key_stride], or null: keys that no query sees are zero.
    const u8* seen;
    u64 key_stride, heads, queries, keys;
    // Query i sees the keys j <= i + reach, if causal.
    i64 reach;
    u64 is_causal;
    double scale;
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

const float LOG2_E = 1.4426950408889634f;
// A score that is not seen, what the largest of none is, and the logarithm of a sum of none.
const float UNSEEN = -1.0e30f, NONE = -5.0e29f, NO_SUM = 1.0e30f;

// What a place of the maps is multiplied with by dropout.
__device__ inline float kept_at(const Dropout& d, u64 place) {
    u32 words[4];
    philox(d, place / 4, words);
    u32 lane = (u32)(place % 4);
    u32 word = lane == 0 ? words[0] : lane == 1 ? words[1] : lane == 2 ? words[2] : words[3];
    return kept<float>(d, word);
}

// Of two places beside each other in a row.
__device__ inline void kept_at_two(const Dropout& d, u64 place, float kept_of[2]) {
    if (place % 4 == 3) {
        kept_of[0] = kept_at(d, place);
        kept_of[1] = kept_at(d, place + 1);
        return;
    }
    u32 words[4];
    philox(d, place / 4, words);
    u32 lane = (u32)(place % 4);
    kept_of[0] = kept<float>(d, lane == 0 ? words[0] : lane == 1 ? words[1] : words[2]);
    kept_of[1] = kept<float>(d, lane == 0 ? words[1] : lane == 1 ? words[2] : words[3]);
}

// How many of the keys a query sees, if those that are hidden one by one are counted.
__device__ inline int seen_by(const FlashArgs& a, int query) {
    if (!a.is_causal) return (int)a.keys;
    int reached = query + (int)a.reach + 1;
    return reached < 0 ? 0 : reached < (int)a.keys ? reached : (int)a.keys;
}

// Starts to copy a tile of rows, `count` of them in all, into shared memory whose rows are eight numbers longer; zeros past the end.
template <u32 D, u32 ROWS>
__device__ inline void load_tile(unsigned short* to, const unsigned short* rows, int first, int count) {
    const u32 a_row = D / 8;
    UNROLL
    for (u32 i = 0; i < ROWS * a_row / FLASH_THREADS; ++i) {
        u32 piece = i * FLASH_THREADS + threadIdx.x, row = piece / a_row, column = piece % a_row * 8;
        bool is_there = first + (int)row < count;
        copy_sixteen(to + row * (D + 8) + column, rows + (u64)(is_there ? first + (int)row : 0) * D + column, is_there);
    }
}

// Sixteen rows from `first` on as left factors, D / 16 of them; zeros past the end.
template <u32 D>
__device__ inline void load_left(u32 to[D / 16][4], const unsigned short* rows, int first, int count) {
    u32 lane = threadIdx.x % WARP, g = lane / 4, t = lane % 4;
    UNROLL
    for (u32 j = 0; j < D / 16; ++j) {
        UNROLL
        for (u32 part = 0; part < 4; ++part) {
            int row = first + (int)(g + part % 2 * 8);
            to[j][part] = row < count ? *(const u32*)(rows + (u64)row * D + j * 16 + part / 2 * 8 + t * 2) : 0;
        }
    }
}

// sums += left rows^T, for eight rows of a tile at a time.
template <typename T, u32 D, u32 ROWS>
__device__ inline void times_rows(float sums[ROWS / 8][4], const u32 left[D / 16][4], const unsigned short* tile) {
    u32 lane = threadIdx.x % WARP;
    UNROLL
    for (u32 n = 0; n < ROWS / 8; ++n) {
        UNROLL
        for (u32 j = 0; j < D / 32; ++j) {
            u32 right[4];
            read_matrices(right, tile + (n * 8 + lane % 8) * (D + 8) + j * 32 + lane / 8 * 8);
            multiply_add(T(), sums[n], left[2 * j], right);
            multiply_add(T(), sums[n], left[2 * j + 1], right + 2);
        }
    }
}

// sums += weights tile, where the weights, one for each row of the tile, are in the form of results.
template <typename T, u32 D, u32 ROWS>
__device__ inline void times_columns(float sums[D / 8][4], const float weights[ROWS / 8][4], const unsigned short* tile) {
    u32 lane = threadIdx.x % WARP;
    UNROLL
    for (u32 j = 0; j < ROWS / 16; ++j) {
        const float *low = weights[2 * j], *high = weights[2 * j + 1];
        u32 left[4] = {packed(T(), low[0], low[1]), packed(T(), low[2], low[3]), packed(T(), high[0], high[1]),
                       packed(T(), high[2], high[3])};
        UNROLL
        for (u32 n = 0; n < D / 16; ++n) {
            u32 right[4];
            read_transposed(right, tile + (j * 16 + lane / 8 % 2 * 8 + lane % 8) * (D + 8) + n * 16 + lane / 16 * 8);
            multiply_add(T(), sums[2 * n], left, right);
            multiply_add(T(), sums[2 * n + 1], left, right + 2);
        }
    }
}

// Writes sixteen rows that are in the form of results, each times a factor.
template <typename T, u32 D>
__device__ inline void store_rows(unsigned short* rows, int first, int count, const float sums[D / 8][4],
                                  const float factors[2]) {
    u32 lane = threadIdx.x % WARP, g = lane / 4, t = lane % 4;
    UNROLL
    for (u32 half = 0; half < 2; ++half) {
        int row = first + (int)(g + half * 8);
        if (row >= count) continue;
        UNROLL
        for (u32 n = 0; n < D / 8; ++n) {
            u32 two = packed(T(), sums[n][half * 2] * factors[half], sums[n][half * 2 + 1] * factors[half]);
            *(u32*)(rows + (u64)row * D + n * 8 + t * 2) = two;
        }
    }
}

// blockIdx.x counts heads of the batch, blockIdx.y blocks of queries, the last first: they see the most keys.
template <typename T, u32 D>
__device__ void flash_forward(const FlashArgs& a) {
    const u32 ROWS = D > 64 ? 32 : 64;
    alignas(16) __shared__ unsigned short keys[2][ROWS * (D + 8)], values[2][ROWS * (D + 8)];
    u32 lane = threadIdx.x % WARP, g = lane / 4, t = lane % 4;
    u64 head = blockIdx.x;
    int block = (int)((gridDim.y - 1 - blockIdx.y) * FLASH_ROWS), first = block + (int)(threadIdx.x / WARP * 16);
    int all_queries = (int)a.queries, all_keys = (int)a.keys;
    const unsigned short* k = (const unsigned short*)a.k + head * a.keys * D;
    const unsigned short* v = (const unsigned short*)a.v + head * a.keys * D;
    const u8* seen = a.seen ? a.seen + head / a.heads * a.key_stride : 0;
    u32 left[D / 16][4];
    load_left<D>(left, (const unsigned short*)a.q + head * a.queries * D, first, all_queries);
    float sums[D / 8][4] = {}, most[2] = {NONE, NONE}, total[2] = {0, 0};
    float scale = (float)a.scale * LOG2_E;
    int end = seen_by(a, block + (int)FLASH_ROWS - 1), whole = seen_by(a, first);
    int limits[2] = {seen_by(a, first + (int)g), seen_by(a, first + (int)g + 8)};
    if (end > 0) {
        load_tile<D, ROWS>(keys[0], k, 0, all_keys);
        load_tile<D, ROWS>(values[0], v, 0, all_keys);
        end_of_group();
    }
    u32 turn = 0;
    for (int tile = 0; tile < end; tile += ROWS, turn ^= 1) {
        bool is_last = tile + (int)ROWS >= end;
        if (!is_last) {
            load_tile<D, ROWS>(keys[turn ^ 1], k, tile + (int)ROWS, all_keys);
            load_tile<D, ROWS>(values[turn ^ 1], v, tile + (int)ROWS, all_keys);
            end_of_group();
        }
        wait_for_copies(is_last);
        __syncthreads();
        float scores[ROWS / 8][4] = {};
        times_rows<T, D, ROWS>(scores, left, keys[turn]);
        if (seen || tile + (int)ROWS > whole) {
            UNROLL
            for (u32 n = 0; n < ROWS / 8; ++n) {
                UNROLL
                for (u32 e = 0; e < 4; ++e) {
                    int key = tile + (int)(n * 8 + t * 2 + e % 2);
                    if (key >= limits[e / 2] || (seen && !seen[key])) scores[n][e] = UNSEEN;
                }
            }
        }
        UNROLL
        for (u32 half = 0; half < 2; ++half) {
            float largest = most[half];
            UNROLL
            for (u32 n = 0; n < ROWS / 8; ++n) {
                if (scores[n][half * 2] > largest) largest = scores[n][half * 2];
                if (scores[n][half * 2 + 1] > largest) largest = scores[n][half * 2 + 1];
            }
            UNROLL
            for (u32 distance = 2; distance > 0; distance /= 2) {
                float other = __shfl_xor_sync(0xffffffffu, largest, distance);
                if (other > largest) largest = other;
            }
            float before = exponential_of_two((most[half] - largest) * scale), shift = largest * scale;
            most[half] = largest;
            float sum = 0;
            UNROLL
            for (u32 n = 0; n < ROWS / 8; ++n) {
                UNROLL
                for (u32 e = half * 2; e < half * 2 + 2; ++e) {
                    scores[n][e] = exponential_of_two(scores[n][e] * scale - shift);
                    sum += scores[n][e];
                }
            }
            total[half] = total[half] * before + sum;
            UNROLL
            for (u32 n = 0; n < D / 8; ++n) {
                sums[n][half * 2] *= before;
                sums[n][half * 2 + 1] *= before;
            }
        }
        if (a.dropout.threshold > 0) {
            UNROLL
            for (u32 n = 0; n < ROWS / 8; ++n) {
                UNROLL
                for (u32 half = 0; half < 2; ++half) {
                    float kept_of[2];
                    u64 row = head * a.queries + (u64)first + g + half * 8;
                    kept_at_two(a.dropout, row * a.keys + (u64)tile + n * 8 + t * 2, kept_of);
                    scores[n][half * 2] *= kept_of[0];
                    scores[n][half * 2 + 1] *= kept_of[1];
                }
            }
        }
        times_columns<T, D, ROWS>(sums, scores, values[turn]);
        __syncthreads();
    }
    float factors[2];
    UNROLL
    for (u32 half = 0; half < 2; ++half) {
        UNROLL
        for (u32 distance = 2; distance > 0; distance /= 2) {
            total[half] += __shfl_xor_sync(0xffffffffu, total[half], distance);
        }
        // A row that sees nothing has nothing, and no weight in the backward pass.
        factors[half] = total[half] == 0 ? 0.0f : 1 / total[half];
        int row = first + (int)(g + half * 8);
        if (t == 0 && row < all_queries) {
            float log_sum = total[half] == 0 ? NO_SUM : most[half] * scale + log2f(total[half]);
            a.log_sums[head * a.queries + (u64)row] = log_sum;
        }
    }
    store_rows<T, D>((unsigned short*)a.y + head * a.queries * D, first, all_queries, sums, factors);
}

// A warp has one row.
template <typename T, u32 D>
__device__ void flash_products(const FlashGradientArgs& a) {
    u64 row = (u64)blockIdx.x * (FLASH_THREADS / WARP) + threadIdx.x / WARP;
    u32 lane = threadIdx.x % WARP;
    float sum = 0;
    if (row < a.rows) {
        const T *y = (const T*)a.forward.y + row * D, *dy = (const T*)a.dy + row * D;
        UNROLL
        for (u32 i = 0; i < D / WARP; ++i) sum += wide(y[i * WARP + lane]) * wide(dy[i * WARP + lane]);
    }
    UNROLL
    for (u32 distance = WARP / 2; distance > 0; distance /= 2) sum += __shfl_xor_sync(0xffffffffu, sum, distance);
    if (lane == 0 && row < a.rows) a.products[row] = sum;
}

// The gradient of the queries; blocks as in the forward pass.
template <typename T, u32 D>
__device__ void flash_queries(const FlashGradientArgs& all_of) {
    const u32 ROWS = D > 64 ? 32 : 64;
    alignas(16) __shared__ unsigned short keys[2][ROWS * (D + 8)], values[2][ROWS * (D + 8)];
    const FlashArgs& a = all_of.forward;
    u32 lane = threadIdx.x % WARP, g = lane / 4, t = lane % 4;
    u64 head = blockIdx.x;
    int block = (int)((gridDim.y - 1 - blockIdx.y) * FLASH_ROWS), first = block + (int)(threadIdx.x / WARP * 16);
    int all_queries = (int)a.queries, all_keys = (int)a.keys;
    const unsigned short* k = (const unsigned short*)a.k + head * a.keys * D;
    const unsigned short* v = (const unsigned short*)a.v + head * a.keys * D;
    const u8* seen = a.seen ? a.seen + head / a.heads * a.key_stride : 0;
    u32 left[D / 16][4], slopes[D / 16][4];
    load_left<D>(left, (const unsigned short*)a.q + head * a.queries * D, first, all_queries);
    load_left<D>(slopes, (const unsigned short*)all_of.dy + head * a.queries * D, first, all_queries);
    float log_sums[2], products[2];
    UNROLL
    for (u32 half = 0; half < 2; ++half) {
        int row = first + (int)(g + half * 8);
        bool is_there = row < all_queries;
        log_sums[half] = is_there ? a.log_sums[head * a.queries + (u64)row] : NO_SUM;
        products[half] = is_there ? all_of.products[head * a.queries + (u64)row] : 0.0f;
    }
    float sums[D / 8][4] = {};
    float scale = (float)a.scale * LOG2_E;
    int end = seen_by(a, block + (int)FLASH_ROWS - 1), whole = seen_by(a, first);
    int limits[2] = {seen_by(a, first + (int)g), seen_by(a, first + (int)g + 8)};
    if (end > 0) {
        load_tile<D, ROWS>(keys[0], k, 0, all_keys);
        load_tile<D, ROWS>(values[0], v, 0, all_keys);
        end_of_group();
    }
    u32 turn = 0;
    for (int tile = 0; tile < end; tile += ROWS, turn ^= 1) {
        bool is_last = tile + (int)ROWS >= end;
        if (!is_last) {
            load_tile<D, ROWS>(keys[turn ^ 1], k, tile + (int)ROWS, all_keys);
            load_tile<D, ROWS>(values[turn ^ 1], v, tile + (int)ROWS, all_keys);
            end_of_group();
        }
        wait_for_copies(is_last);
        __syncthreads();
        float scores[ROWS / 8][4] = {}, gradients[ROWS / 8][4] = {};
        times_rows<T, D, ROWS>(scores, left, keys[turn]);
        times_rows<T, D, ROWS>(gradients, slopes, values[turn]);
        if (a.dropout.threshold > 0) {
            UNROLL
            for (u32 n = 0; n < ROWS / 8; ++n) {
                UNROLL
                for (u32 half = 0; half < 2; ++half) {
                    float kept_of[2];
                    u64 row = head * a.queries + (u64)first + g + half * 8;
                    kept_at_two(a.dropout, row * a.keys + (u64)tile + n * 8 + t * 2, kept_of);
                    gradients[n][half * 2] *= kept_of[0];
                    gradients[n][half * 2 + 1] *= kept_of[1];
                }
            }
        }
        if (seen || tile + (int)ROWS > whole) {
            UNROLL
            for (u32 n = 0; n < ROWS / 8; ++n) {
                UNROLL
                for (u32 e = 0; e < 4; ++e) {
                    int key = tile + (int)(n * 8 + t * 2 + e % 2);
                    if (key >= limits[e / 2] || (seen && !seen[key])) scores[n][e] = UNSEEN;
                }
            }
        }
        UNROLL
        for (u32 n = 0; n < ROWS / 8; ++n) {
            UNROLL
            for (u32 e = 0; e < 4; ++e) {
                float weight = exponential_of_two(scores[n][e] * scale - log_sums[e / 2]);
                gradients[n][e] = weight * (gradients[n][e] - products[e / 2]);
            }
        }
        times_columns<T, D, ROWS>(sums, gradients, keys[turn]);
        __syncthreads();
    }
    float factors[2] = {(float)a.scale, (float)a.scale};
    store_rows<T, D>((unsigned short*)all_of.dq + head * a.queries * D, first, all_queries, sums, factors);
}

// The gradients of keys and values. blockIdx.x counts heads of the batch, blockIdx.y blocks of keys: the first are seen most.
template <typename T, u32 D>
__device__ void flash_keys(const FlashGradientArgs& all_of) {
    const u32 ROWS = D > 64 ? 32 : 64;
    alignas(16) __shared__ unsigned short queries[2][ROWS * (D + 8)], slopes[2][ROWS * (D + 8)];
    __shared__ float log_sums[2][ROWS], products[2][ROWS];
    const FlashArgs& a = all_of.forward;
    u32 lane = threadIdx.x % WARP, g = lane / 4, t = lane % 4;
    u64 head = blockIdx.x;
    int block = (int)(blockIdx.y * FLASH_ROWS), first = block + (int)(threadIdx.x / WARP * 16);
    int all_queries = (int)a.queries, all_keys = (int)a.keys;
    const unsigned short* q = (const unsigned short*)a.q + head * a.queries * D;
    const unsigned short* dy = (const unsigned short*)all_of.dy + head * a.queries * D;
    const u8* seen = a.seen ? a.seen + head / a.heads * a.key_stride : 0;
    u32 left[D / 16][4], values[D / 16][4];
    load_left<D>(left, (const unsigned short*)a.k + head * a.keys * D, first, all_keys);
    load_left<D>(values, (const unsigned short*)a.v + head * a.keys * D, first, all_keys);
    // The first query that sees a key; none of one that is hidden.
    int since[2];
    UNROLL
    for (u32 half = 0; half < 2; ++half) {
        int key = first + (int)(g + half * 8);
        since[half] = a.is_causal ? key - (int)a.reach : 0;
        if (key >= all_keys || (seen && !seen[key])) since[half] = all_queries + (int)ROWS;
    }
    // From here on every key of the warp is seen, if none is hidden.
    int whole = a.is_causal ? first + 15 - (int)a.reach : 0;
    bool all_there = !seen && first + 16 <= all_keys;
    float dk[D / 8][4] = {}, dv[D / 8][4] = {};
    float scale = (float)a.scale * LOG2_E;
    int start = a.is_causal ? block - (int)a.reach : 0;
    start = start < 0 ? 0 : start / (int)ROWS * (int)ROWS;
    auto load = [&](u32 turn, int tile) {
        load_tile<D, ROWS>(queries[turn], q, tile, all_queries);
        load_tile<D, ROWS>(slopes[turn], dy, tile, all_queries);
        end_of_group();
        if (threadIdx.x < ROWS) {
            int row = tile + (int)threadIdx.x;
            bool is_query = row < all_queries;
            log_sums[turn][threadIdx.x] = is_query ? a.log_sums[head * a.queries + (u64)row] : NO_SUM;
            products[turn][threadIdx.x] = is_query ? all_of.products[head * a.queries + (u64)row] : 0.0f;
        }
    };
    if (start < all_queries) load(0, start);
    u32 turn = 0;
    for (int tile = start; tile < all_queries; tile += ROWS, turn ^= 1) {
        bool is_last = tile + (int)ROWS >= all_queries;
        if (!is_last) load(turn ^ 1, tile + (int)ROWS);
        wait_for_copies(is_last);
        __syncthreads();
        float scores[ROWS / 8][4] = {}, gradients[ROWS / 8][4] = {};
        times_rows<T, D, ROWS>(scores, left, queries[turn]);
        times_rows<T, D, ROWS>(gradients, values, slopes[turn]);
        if (!all_there || tile < whole) {
            UNROLL
            for (u32 n = 0; n < ROWS / 8; ++n) {
                UNROLL
                for (u32 e = 0; e < 4; ++e) {
                    if (tile + (int)(n * 8 + t * 2 + e % 2) < since[e / 2]) scores[n][e] = UNSEEN;
                }
            }
        }
        UNROLL
        for (u32 n = 0; n < ROWS / 8; ++n) {
            UNROLL
            for (u32 e = 0; e < 4; ++e) {
                u32 column = n * 8 + t * 2 + e % 2;
                float weight = exponential_of_two(scores[n][e] * scale - log_sums[turn][column]);
                if (a.dropout.threshold > 0) {
                    u64 row = head * a.queries + (u64)tile + column, key = (u64)first + g + e / 2 * 8;
                    float factor = kept_at(a.dropout, row * a.keys + key);
                    scores[n][e] = weight * factor;
                    gradients[n][e] = weight * (gradients[n][e] * factor - products[turn][column]);
                } else {
                    scores[n][e] = weight;
                    gradients[n][e] = weight * (gradients[n][e] - products[turn][column]);
                }
            }
        }
        times_columns<T, D, ROWS>(dv, scores, slopes[turn]);
        times_columns<T, D, ROWS>(dk, gradients, queries[turn]);
        __syncthreads();
    }
    float ones[2] = {1, 1}, factors[2] = {(float)a.scale, (float)a.scale};
    store_rows<T, D>((unsigned short*)all_of.dv + head * a.keys * D, first, all_keys, dv, ones);
    store_rows<T, D>((unsigned short*)all_of.dk + head * a.keys * D, first, all_keys, dk, factors);
}

// Kernels are compiled for the sizes of heads that occur: whoever compiles this says for which, with a line FLASH_SIZE(D).
#define FLASH_OF(NAME, ARGS, D)                                                       \
    template <typename T>                                                             \
    __device__ void NAME##_##D(const ARGS& a) {                                       \
        NAME<T, D>(a);                                                                \
    }                                                                                 \
    KERNEL(NAME##_##D, ARGS, Half, f16) KERNEL(NAME##_##D, ARGS, Bfloat, bf16)
#define FLASH_SIZE(D)                               \
    FLASH_OF(flash_forward, FlashArgs, D)           \
    FLASH_OF(flash_products, FlashGradientArgs, D)  \
    FLASH_OF(flash_queries, FlashGradientArgs, D)   \
    FLASH_OF(flash_keys, FlashGradientArgs, D)

#endif
