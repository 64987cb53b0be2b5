// Attention from queries, keys and values in 16 bits whose scores are nowhere (after Dao, "FlashAttention-2", 2023): a block has
// some queries and goes over the keys in tiles, with the softmax carried along, while the next tile is on its way. The backward
// pass makes scores again, once for the gradient of the queries and once for those of keys and values: two kernels (beside a
// small one), so that nothing is added by several blocks in an order that changes.
//
// What a warp reads of a tile it multiplies with all of its rows: with 32 of them, reading takes less time than multiplying;
// with 16 it would take more. So a warp has as many as its registers can hold.
//
// Products are of the tensor units, 16 by 8 by 16 (`mma.m16n8k16`). In a warp, lane = 4 g + t; a product's left factor has in
// its four registers the rows g and g + 8, columns 2 t and 2 t + 8, two numbers each; its right factor the rows 2 t and
// 2 t + 8 of column g; the result row g with columns 2 t and 2 t + 1, then row g + 8.

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

// Threads of a block.
const u32 FLASH_THREADS = 128, FLASH_WARPS = FLASH_THREADS / WARP;

// Rows of a warp, in sixteens, in kernels for heads of size D, and those of a block. Whoever launches them knows this too.
template <u32 D>
constexpr u32 SIXTEENS = D > 64 ? 1 : 2;
template <u32 D>
constexpr u32 BLOCK_ROWS = FLASH_WARPS * SIXTEENS<D> * 16;
// Rows of a tile in shared memory, whose rows there are eight numbers longer, so that eight of them lie in different banks.
template <u32 D>
constexpr u32 TILE_ROWS = D > 64 ? 32 : 64;
// Rows of a tile that the backward pass takes at once: queries for a block of keys, keys for one of queries.
template <u32 D>
constexpr u32 QUERIES_AT_ONCE = D == 64 ? 16 : 32;
constexpr u32 KEYS_AT_ONCE = 32;

// Numbers beside each other, read at once.
template <typename T>
struct alignas(16) Eight {
    T at[8];
};

const float LOG2_E = 1.4426950408889634f;
// What a block has in shared memory: two tiles of each of two tensors, where the one is multiplied while the other is on its
// way, and two numbers of each of their rows.
template <u32 D>
struct Tiles {
    alignas(16) unsigned short left[2][TILE_ROWS<D> * (D + 8)];
    alignas(16) unsigned short right[2][TILE_ROWS<D> * (D + 8)];
};
template <u32 D>
struct Numbers {
    alignas(16) float log_sums[2][TILE_ROWS<D>];
    alignas(16) float products[2][TILE_ROWS<D>];
};

// How a thread copies tiles of rows, one after the other, into shared memory.
template <u32 D>
struct Copies {
    static const u32 A_ROW = D / 8, AT_ONCE = FLASH_THREADS / A_ROW, PIECES = TILE_ROWS<D> / AT_ONCE;
    // Where its first piece is in a tile.
    u32 to;
    // The next row that it copies.
    int row;

    __device__ inline explicit Copies(int first) {
        to = threadIdx.x / A_ROW * (D + 8) + threadIdx.x % A_ROW * 8;
        row = first + (int)(threadIdx.x / A_ROW);
    }
    // The thread's first piece of a tensor.
    __device__ inline const unsigned short* of(const void* rows, u64 start, u32 distance) const {
        return (const unsigned short*)rows + start + (u64)(u32)row * distance + threadIdx.x % A_ROW * 8;
    }
    // Starts to copy a tile, zeros past the end, and goes on to the next.
    __device__ inline void start(unsigned short* tile, const unsigned short*& from, u32 distance, int count) const {
        UNROLL
        for (u32 i = 0; i < PIECES; ++i) {
            copy_sixteen(tile + to + i * AT_ONCE * (D + 8), from, row + (int)(i * AT_ONCE) < count);
            from += AT_ONCE * distance;
        }
    }
    __device__ inline void next() { row += (int)TILE_ROWS<D>; }
};

// Rows from `first` on as left factors; zeros past the end.
template <u32 D, u32 SIXTEENS>
__device__ inline void load_left(u32 to[SIXTEENS][D / 16][4], const void* rows, u64 start, u32 distance, int first, int count) {
    u32 lane = threadIdx.x % WARP, g = lane / 4, t = lane % 4;
    UNROLL
    for (u32 m = 0; m < SIXTEENS; ++m) {
        UNROLL
        for (u32 half = 0; half < 2; ++half) {
            int row = first + (int)(m * 16 + half * 8 + g);
            const unsigned short* from = (const unsigned short*)rows + start + (u64)(u32)row * distance + t * 2;
            UNROLL
            for (u32 j = 0; j < D / 8; ++j) to[m][j / 2][j % 2 * 2 + half] = row < count ? *(const u32*)(from + j * 8) : 0;
        }
    }
}

// sums += left rows^T, for ROWS rows of a tile.
template <typename T, u32 D, u32 SIXTEENS, u32 ROWS>
__device__ inline void times_rows(float sums[SIXTEENS][ROWS / 8][4], const u32 left[SIXTEENS][D / 16][4],
                                  const unsigned short* rows) {
    u32 lane = threadIdx.x % WARP;
    rows += (lane / 16 * 8 + lane % 8) * (D + 8) + lane / 8 % 2 * 8;
    UNROLL
    for (u32 j = 0; j < D / 16; ++j) {
        UNROLL
        for (u32 n = 0; n < ROWS / 16; ++n) {
            u32 right[4];
            read_matrices(right, rows + n * 16 * (D + 8) + j * 16);
            UNROLL
            for (u32 m = 0; m < SIXTEENS; ++m) {
                multiply_add(T(), sums[m][2 * n], left[m][j], right);
                multiply_add(T(), sums[m][2 * n + 1], left[m][j], right + 2);
            }
        }
    }
}

// sums += weights rows, where the weights, one for each of ROWS rows of a tile, are in the form of results.
template <typename T, u32 D, u32 SIXTEENS, u32 ROWS>
__device__ inline void times_columns(float sums[SIXTEENS][D / 8][4], const float weights[SIXTEENS][ROWS / 8][4],
                                     const unsigned short* rows) {
    u32 lane = threadIdx.x % WARP;
    rows += (lane / 8 % 2 * 8 + lane % 8) * (D + 8) + lane / 16 * 8;
    UNROLL
    for (u32 j = 0; j < ROWS / 16; ++j) {
        u32 left[SIXTEENS][4];
        UNROLL
        for (u32 m = 0; m < SIXTEENS; ++m) {
            UNROLL
            for (u32 part = 0; part < 4; ++part) {
                const float* two = weights[m][2 * j + part / 2] + part % 2 * 2;
                left[m][part] = packed(T(), two[0], two[1]);
            }
        }
        UNROLL
        for (u32 n = 0; n < D / 16; ++n) {
            u32 right[4];
            read_transposed(right, rows + j * 16 * (D + 8) + n * 16);
            UNROLL
            for (u32 m = 0; m < SIXTEENS; ++m) {
                multiply_add(T(), sums[m][2 * n], left[m], right);
                multiply_add(T(), sums[m][2 * n + 1], left[m], right + 2);
            }
        }
    }
}

// Scores of keys from `first_key` on that are not seen. Row g sees the keys below `reached`, the next ones one more each.
template <u32 SIXTEENS, u32 KEYS>
__device__ inline void hide(float scores[SIXTEENS][KEYS / 8][4], int first_key, int reached, int keys, const u8* seen) {
    u32 t = threadIdx.x % 4;
    UNROLL
    for (u32 n = 0; n < KEYS / 8; ++n) {
        UNROLL
        for (u32 side = 0; side < 2; ++side) {
            int key = first_key + (int)(n * 8 + t * 2 + side);
            bool is_hidden = key >= keys || (seen && !seen[key]);
            UNROLL
            for (u32 m = 0; m < SIXTEENS; ++m) {
                UNROLL
                for (u32 half = 0; half < 2; ++half) {
                    if (is_hidden || key >= reached + (int)(m * 16 + half * 8)) scores[m][n][half * 2 + side] = UNSEEN;
                }
            }
        }
    }
    wait_for_warp();
}

// Writes rows that are in the form of results, each times a factor.
template <typename T, u32 D, u32 SIXTEENS>
__device__ inline void store_rows(void* rows, u64 start, u32 distance, int first, int count, const float sums[SIXTEENS][D / 8][4],
                                  const float factors[SIXTEENS][2]) {
    u32 lane = threadIdx.x % WARP, g = lane / 4, t = lane % 4;
    UNROLL
    for (u32 m = 0; m < SIXTEENS; ++m) {
        UNROLL
        for (u32 half = 0; half < 2; ++half) {
            int row = first + (int)(m * 16 + half * 8 + g);
            if (row >= count) continue;
            unsigned short* to = (unsigned short*)rows + start + (u64)(u32)row * distance + t * 2;
            float factor = factors[m][half];
            UNROLL
            for (u32 n = 0; n < D / 8; ++n) {
                *(u32*)(to + n * 8) = packed(T(), sums[m][n][half * 2] * factor, sums[m][n][half * 2 + 1] * factor);
            }
        }
    }
}

// Likewise, all times the same factor.
template <typename T, u32 D, u32 SIXTEENS>
__device__ inline void store_times(void* rows, u64 start, u32 distance, int first, int count,
                                   const float sums[SIXTEENS][D / 8][4], float factor) {
    float factors[SIXTEENS][2];
    UNROLL
    for (u32 m = 0; m < SIXTEENS; ++m) factors[m][0] = factors[m][1] = factor;
    store_rows<T, D, SIXTEENS>(rows, start, distance, first, count, sums, factors);
}

// blockIdx.x counts heads of the batch, blockIdx.y blocks of queries, the last first: they see the most keys. With dropout or
// without: two texts, so that without there is no trace of it.
template <typename T, u32 D, bool DROPS>
__device__ inline void flash_forward_of(const FlashArgs& a, Tiles<D>& tiles) {
    const u32 M = SIXTEENS<D>, ROWS = TILE_ROWS<D>;
    auto &keys = tiles.left, &values = tiles.right;
    u32 lane = threadIdx.x % WARP, g = lane / 4, t = lane % 4;
    u64 head = blockIdx.x;
    int all_queries = (int)a.queries, all_keys = (int)a.keys;
    int block = (int)((gridDim.y - 1 - blockIdx.y) * BLOCK_ROWS<D>), first = block + (int)(threadIdx.x / WARP * M * 16);
    u32 distance = distance_of<D>(a.kv_row);
    u64 start = start_of<D>(head, a.heads, a.keys, a.kv_row);
    Copies<D> copies(0);
    const unsigned short *k = copies.of(a.k, start, distance), *v = copies.of(a.v, start, distance);
    auto copy = [&](u32 to) {
        copies.start(keys[to], k, distance, all_keys);
        copies.start(values[to], v, distance, all_keys);
        copies.next();
        end_of_group();
    };
    const u8* seen = a.seen ? a.seen + quotient(head, a.heads) * a.key_stride : 0;
    u32 left[M][D / 16][4];
    load_left<D, M>(left, a.q, start_of<D>(head, a.heads, a.queries, a.q_row), distance_of<D>(a.q_row), first, all_queries);
    float sums[M][D / 8][4] = {}, most[M][2], total[M][2] = {};
    UNROLL
    for (u32 m = 0; m < M; ++m) most[m][0] = most[m][1] = NONE;
    float scale = (float)a.scale * LOG2_E;
    // The keys that are seen by any query of the block, by any of the warp, and by all of the warp; by row g.
    int last = block + (int)BLOCK_ROWS<D> < all_queries ? block + (int)BLOCK_ROWS<D> : all_queries;
    int end = seen_by(a, last - 1), own_end = first < all_queries ? seen_by(a, first + (int)M * 16 - 1) : 0;
    int whole = seen_by(a, first), reached = a.is_causal ? first + (int)g + (int)a.reach + 1 : all_keys;
    if (end > 0) copy(0);
    u32 turn = 0;
    for (int tile = 0; tile < end; tile += (int)ROWS, turn ^= 1) {
        // What this thread copied is there, then what every thread did; and nobody reads the other tile any more.
        wait_for_copies(true);
        __syncthreads();
        if (tile + (int)ROWS < end) copy(turn ^ 1);
        if (tile >= own_end) continue;
        float scores[M][ROWS / 8][4] = {};
        times_rows<T, D, M, ROWS>(scores, left, keys[turn]);
        if (seen || tile + (int)ROWS > whole) hide<M, ROWS>(scores, tile, reached, all_keys, seen);
        float largest[M][2];
        bool grows = false;
        UNROLL
        for (u32 m = 0; m < M; ++m) {
            UNROLL
            for (u32 half = 0; half < 2; ++half) {
                float own = most[m][half];
                UNROLL
                for (u32 n = 0; n < ROWS / 8; ++n) own = fmaxf(own, fmaxf(scores[m][n][half * 2], scores[m][n][half * 2 + 1]));
                UNROLL
                for (u32 xor_of = 2; xor_of > 0; xor_of /= 2) own = fmaxf(own, __shfl_xor_sync(0xffffffffu, own, xor_of));
                largest[m][half] = own;
                grows = grows || (own - most[m][half]) * scale > MOST_GROWTH;
            }
        }
        if (grows) {
            UNROLL
            for (u32 m = 0; m < M; ++m) {
                UNROLL
                for (u32 half = 0; half < 2; ++half) {
                    float before = exponential_of_two((most[m][half] - largest[m][half]) * scale);
                    most[m][half] = largest[m][half];
                    total[m][half] *= before;
                    UNROLL
                    for (u32 n = 0; n < D / 8; ++n) {
                        sums[m][n][half * 2] *= before;
                        sums[m][n][half * 2 + 1] *= before;
                    }
                }
            }
        }
        wait_for_warp();
        UNROLL
        for (u32 m = 0; m < M; ++m) {
            UNROLL
            for (u32 half = 0; half < 2; ++half) {
                float shift = -most[m][half] * scale, sum = 0;
                UNROLL
                for (u32 n = 0; n < ROWS / 8; ++n) {
                    UNROLL
                    for (u32 e = half * 2; e < half * 2 + 2; ++e) {
                        scores[m][n][e] = exponential_of_two(fmaf(scores[m][n][e], scale, shift));
                        sum += scores[m][n][e];
                    }
                }
                total[m][half] += sum;
            }
        }
        if (DROPS) {
            UNROLL
            for (u32 part = 0; part < ROWS / 32; ++part) {
                u64 place = (head * a.queries + (u64)first + g) * a.keys + (u64)tile + part * 32 + t * 2;
                u32 kept = kept_of_queries<M, 32>(a.dropout, place, a.keys);
                UNROLL
                for (u32 i = 0; i < M * 16; ++i) {
                    if (!(kept >> i & 1)) scores[i / 4 % M][part * 4 + i / 4 / M][i % 4] = 0;
                }
            }
        }
        times_columns<T, D, M, ROWS>(sums, scores, values[turn]);
    }
    float keep = DROPS ? (float)a.dropout.keep_scale : 1.0f, factors[M][2];
    UNROLL
    for (u32 m = 0; m < M; ++m) {
        UNROLL
        for (u32 half = 0; half < 2; ++half) {
            float sum = total[m][half];
            UNROLL
            for (u32 xor_of = 2; xor_of > 0; xor_of /= 2) sum += __shfl_xor_sync(0xffffffffu, sum, xor_of);
            // A row that sees nothing has nothing, and no weight in the backward pass.
            factors[m][half] = sum == 0 ? 0.0f : keep / sum;
            int row = first + (int)(m * 16 + half * 8 + g);
            if (t == 0 && row < all_queries) {
                a.log_sums[head * a.queries + (u64)row] = sum == 0 ? NO_SUM : most[m][half] * scale + log2f(sum);
            }
        }
    }
    u64 start_of_y = start_of<D>(head, a.heads, a.queries, a.y_row);
    store_rows<T, D, M>(a.y, start_of_y, distance_of<D>(a.y_row), first, all_queries, sums, factors);
}
template <typename T, u32 D>
__device__ void flash_forward(const FlashArgs& a) {
    __shared__ Tiles<D> tiles;
    if (a.dropout.threshold > 0) flash_forward_of<T, D, true>(a, tiles);
    else flash_forward_of<T, D, false>(a, tiles);
}

// D / 8 threads have a row, eight numbers each.
template <typename T, u32 D>
__device__ void flash_products(const FlashGradientArgs& all_of) {
    const FlashArgs& a = all_of.forward;
    u64 row = (u64)blockIdx.x * (FLASH_THREADS * 8 / D) + threadIdx.x / (D / 8);
    float sum = 0;
    if (row < all_of.rows) {
        u64 head = quotient(row, a.queries), query = modulo(row, a.queries);
        u64 place = start_of<D>(head, a.heads, a.queries, a.y_row) + query * distance_of<D>(a.y_row) + threadIdx.x % (D / 8) * 8;
        Eight<T> y = *(const Eight<T>*)((const T*)a.y + place), dy = *(const Eight<T>*)((const T*)all_of.dy + place);
        UNROLL
        for (u32 i = 0; i < 8; ++i) sum += wide(y.at[i]) * wide(dy.at[i]);
    }
    UNROLL
    for (u32 xor_of = D / 16; xor_of > 0; xor_of /= 2) sum += __shfl_xor_sync(0xffffffffu, sum, xor_of);
    if (threadIdx.x % (D / 8) == 0 && row < all_of.rows) all_of.products[row] = sum;
}

// The gradient of the queries; blocks as in the forward pass.
template <typename T, u32 D, bool DROPS>
__device__ inline void flash_queries_of(const FlashGradientArgs& all_of, Tiles<D>& tiles) {
    const u32 M = SIXTEENS<D>, ROWS = TILE_ROWS<D>, KEYS = KEYS_AT_ONCE;
    auto &keys = tiles.left, &values = tiles.right;
    const FlashArgs& a = all_of.forward;
    u32 lane = threadIdx.x % WARP, g = lane / 4, t = lane % 4;
    u64 head = blockIdx.x;
    int all_queries = (int)a.queries, all_keys = (int)a.keys;
    int block = (int)((gridDim.y - 1 - blockIdx.y) * BLOCK_ROWS<D>), first = block + (int)(threadIdx.x / WARP * M * 16);
    u32 distance = distance_of<D>(a.kv_row);
    u64 start = start_of<D>(head, a.heads, a.keys, a.kv_row);
    Copies<D> copies(0);
    const unsigned short *k = copies.of(a.k, start, distance), *v = copies.of(a.v, start, distance);
    auto copy = [&](u32 to) {
        copies.start(keys[to], k, distance, all_keys);
        copies.start(values[to], v, distance, all_keys);
        copies.next();
        end_of_group();
    };
    const u8* seen = a.seen ? a.seen + quotient(head, a.heads) * a.key_stride : 0;
    u64 start_of_q = start_of<D>(head, a.heads, a.queries, a.q_row), start_of_y = start_of<D>(head, a.heads, a.queries, a.y_row);
    u32 left[M][D / 16][4], slopes[M][D / 16][4];
    load_left<D, M>(left, a.q, start_of_q, distance_of<D>(a.q_row), first, all_queries);
    load_left<D, M>(slopes, all_of.dy, start_of_y, distance_of<D>(a.y_row), first, all_queries);
    float log_sums[M][2], products[M][2];
    UNROLL
    for (u32 m = 0; m < M; ++m) {
        UNROLL
        for (u32 half = 0; half < 2; ++half) {
            int row = first + (int)(m * 16 + half * 8 + g);
            bool is_there = row < all_queries;
            log_sums[m][half] = is_there ? a.log_sums[head * a.queries + (u64)row] : NO_SUM;
            products[m][half] = is_there ? all_of.products[head * a.queries + (u64)row] : 0.0f;
        }
    }
    float sums[M][D / 8][4] = {};
    float scale = (float)a.scale * LOG2_E, keep = DROPS ? (float)a.dropout.keep_scale : 1.0f;
    int last = block + (int)BLOCK_ROWS<D> < all_queries ? block + (int)BLOCK_ROWS<D> : all_queries;
    int end = seen_by(a, last - 1), own_end = first < all_queries ? seen_by(a, first + (int)M * 16 - 1) : 0;
    int whole = seen_by(a, first), reached = a.is_causal ? first + (int)g + (int)a.reach + 1 : all_keys;
    if (end > 0) copy(0);
    u32 turn = 0;
    for (int tile = 0; tile < end; tile += (int)ROWS, turn ^= 1) {
        // As in the forward pass.
        wait_for_copies(true);
        __syncthreads();
        if (tile + (int)ROWS < end) copy(turn ^ 1);
        ROLLED
        for (int part = 0; part < (int)ROWS; part += (int)KEYS) {
            int first_key = tile + part;
            if (first_key >= own_end) break;
            const unsigned short *some_keys = keys[turn] + part * (int)(D + 8), *some_values = values[turn] + part * (int)(D + 8);
            u32 kept = 0;
            if (DROPS) {
                u64 place = (head * a.queries + (u64)first + g) * a.keys + (u64)first_key + t * 2;
                kept = kept_of_queries<M, KEYS>(a.dropout, place, a.keys);
            }
            float scores[M][KEYS / 8][4] = {}, gradients[M][KEYS / 8][4] = {};
            times_rows<T, D, M, KEYS>(scores, left, some_keys);
            times_rows<T, D, M, KEYS>(gradients, slopes, some_values);
            if (seen || first_key + (int)KEYS > whole) hide<M, KEYS>(scores, first_key, reached, all_keys, seen);
            if (DROPS) {
                UNROLL
                for (u32 i = 0; i < M * KEYS / 2; ++i) {
                    float& gradient = gradients[i / 4 % M][i / 4 / M][i % 4];
                    gradient = kept >> i & 1 ? gradient * keep : 0.0f;
                }
            }
            UNROLL
            for (u32 m = 0; m < M; ++m) {
                UNROLL
                for (u32 n = 0; n < KEYS / 8; ++n) {
                    UNROLL
                    for (u32 e = 0; e < 4; ++e) {
                        float weight = exponential_of_two(fmaf(scores[m][n][e], scale, -log_sums[m][e / 2]));
                        gradients[m][n][e] = weight * (gradients[m][n][e] - products[m][e / 2]);
                    }
                }
            }
            times_columns<T, D, M, KEYS>(sums, gradients, some_keys);
        }
    }
    store_times<T, D, M>(all_of.dq, start_of_q, distance_of<D>(a.q_row), first, all_queries, sums, (float)a.scale);
}
template <typename T, u32 D>
__device__ void flash_queries(const FlashGradientArgs& all_of) {
    __shared__ Tiles<D> tiles;
    if (all_of.forward.dropout.threshold > 0) flash_queries_of<T, D, true>(all_of, tiles);
    else flash_queries_of<T, D, false>(all_of, tiles);
}

// The gradients of keys and values. blockIdx.x counts heads of the batch, blockIdx.y blocks of keys: the first are seen most.
template <typename T, u32 D, bool DROPS>
__device__ inline void flash_keys_of(const FlashGradientArgs& all_of, Tiles<D>& tiles, Numbers<D>& numbers) {
    const u32 M = SIXTEENS<D>, ROWS = TILE_ROWS<D>, QUERIES = QUERIES_AT_ONCE<D>;
    auto &queries = tiles.left, &slopes = tiles.right;
    auto &log_sums = numbers.log_sums, &products = numbers.products;
    const FlashArgs& a = all_of.forward;
    u32 lane = threadIdx.x % WARP, g = lane / 4, t = lane % 4;
    u64 head = blockIdx.x;
    int all_queries = (int)a.queries, all_keys = (int)a.keys;
    int block = (int)(blockIdx.y * BLOCK_ROWS<D>), first = block + (int)(threadIdx.x / WARP * M * 16);
    // The first queries that see a key of the block, one of the warp, and all of the warp.
    int begin = a.is_causal && block > (int)a.reach ? block - (int)a.reach : 0;
    int own_begin = a.is_causal ? first - (int)a.reach : 0, whole = a.is_causal ? own_begin + (int)M * 16 - 1 : 0;
    u32 q_distance = distance_of<D>(a.q_row), y_distance = distance_of<D>(a.y_row);
    Copies<D> copies(begin);
    const unsigned short* q = copies.of(a.q, start_of<D>(head, a.heads, a.queries, a.q_row), q_distance);
    const unsigned short* dy = copies.of(all_of.dy, start_of<D>(head, a.heads, a.queries, a.y_row), y_distance);
    auto copy = [&](u32 to, int tile) {
        copies.start(queries[to], q, q_distance, all_queries);
        copies.start(slopes[to], dy, y_distance, all_queries);
        copies.next();
        if (threadIdx.x < ROWS) {
            // Queries past the end are zero, and so is what they add.
            int row = tile + (int)threadIdx.x;
            u64 place = head * a.queries + (u64)row;
            copy_four(&log_sums[to][threadIdx.x], a.log_sums + place, row < all_queries);
            copy_four(&products[to][threadIdx.x], all_of.products + place, row < all_queries);
        }
        end_of_group();
    };
    u64 start = start_of<D>(head, a.heads, a.keys, a.kv_row);
    u32 left[M][D / 16][4], values[M][D / 16][4];
    load_left<D, M>(left, a.k, start, distance_of<D>(a.kv_row), first, all_keys);
    load_left<D, M>(values, a.v, start, distance_of<D>(a.kv_row), first, all_keys);
    // Keys of the thread that no query sees, one bit each.
    u32 hidden = 0;
    const u8* seen = a.seen ? a.seen + quotient(head, a.heads) * a.key_stride : 0;
    UNROLL
    for (u32 i = 0; i < M * 2; ++i) {
        int key = first + (int)(i * 8 + g);
        hidden |= (u32)(key >= all_keys || (seen && !seen[key])) << i;
    }
    // Whether there may be such in the warp.
    bool some_hidden = seen || first + (int)M * 16 > all_keys;
    float dk[M][D / 8][4] = {}, dv[M][D / 8][4] = {};
    float scale = (float)a.scale * LOG2_E, keep = DROPS ? (float)a.dropout.keep_scale : 1.0f;
    if (begin < all_queries) copy(0, begin);
    u32 turn = 0;
    for (int tile = begin; tile < all_queries; tile += (int)ROWS, turn ^= 1) {
        // As in the forward pass.
        wait_for_copies(true);
        __syncthreads();
        if (tile + (int)ROWS < all_queries) copy(turn ^ 1, tile + (int)ROWS);
        ROLLED
        for (int part = 0; part < (int)ROWS; part += (int)QUERIES) {
            int query = tile + part;
            if (first >= all_keys || query >= all_queries) break;
            if (query + (int)QUERIES <= own_begin) continue;
            const unsigned short* some_queries = queries[turn] + part * (int)(D + 8);
            const unsigned short* some_slopes = slopes[turn] + part * (int)(D + 8);
            u32 kept = 0;
            if (DROPS) {
                u64 place = (head * a.queries + (u64)query + t * 2) * a.keys + (u64)first + g;
                kept = kept_of_keys<M, QUERIES>(a.dropout, place, a.keys);
            }
            float scores[M][QUERIES / 8][4] = {}, gradients[M][QUERIES / 8][4] = {};
            times_rows<T, D, M, QUERIES>(scores, left, some_queries);
            times_rows<T, D, M, QUERIES>(gradients, values, some_slopes);
            if (some_hidden || query < whole) {
                UNROLL
                for (u32 i = 0; i < M * 2; ++i) {
                    // How far the thread's first query is from the first that sees the key.
                    int distance = a.is_causal ? query + (int)(t * 2) - (own_begin + (int)(i * 8 + g)) : 0;
                    bool is_hidden = hidden >> i & 1;
                    UNROLL
                    for (u32 n = 0; n < QUERIES / 8; ++n) {
                        UNROLL
                        for (u32 side = 0; side < 2; ++side) {
                            if (is_hidden || distance + (int)(n * 8 + side) < 0) scores[i / 2][n][i % 2 * 2 + side] = UNSEEN;
                        }
                    }
                }
                wait_for_warp();
            }
            UNROLL
            for (u32 n = 0; n < QUERIES / 8; ++n) {
                u32 column = (u32)part + n * 8 + t * 2;
                Two log_sum = *(const Two*)&log_sums[turn][column], product = *(const Two*)&products[turn][column];
                UNROLL
                for (u32 m = 0; m < M; ++m) {
                    UNROLL
                    for (u32 e = 0; e < 4; ++e) {
                        float weight = exponential_of_two(fmaf(scores[m][n][e], scale, -log_sum.at[e % 2]));
                        float gradient = gradients[m][n][e];
                        if (DROPS) {
                            bool is_kept = kept >> ((n * M + m) * 4 + e) & 1;
                            scores[m][n][e] = is_kept ? weight : 0.0f;
                            gradient = is_kept ? gradient * keep : 0.0f;
                        } else {
                            scores[m][n][e] = weight;
                        }
                        gradients[m][n][e] = weight * (gradient - product.at[e % 2]);
                    }
                }
            }
            times_columns<T, D, M, QUERIES>(dv, scores, some_slopes);
            times_columns<T, D, M, QUERIES>(dk, gradients, some_queries);
        }
    }
    store_times<T, D, M>(all_of.dv, start, distance_of<D>(a.kv_row), first, all_keys, dv, keep);
    store_times<T, D, M>(all_of.dk, start, distance_of<D>(a.kv_row), first, all_keys, dk, (float)a.scale);
}
template <typename T, u32 D>
__device__ void flash_keys(const FlashGradientArgs& all_of) {
    __shared__ Tiles<D> tiles;
    __shared__ Numbers<D> numbers;
    if (all_of.forward.dropout.threshold > 0) flash_keys_of<T, D, true>(all_of, tiles, numbers);
    else flash_keys_of<T, D, false>(all_of, tiles, numbers);
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
