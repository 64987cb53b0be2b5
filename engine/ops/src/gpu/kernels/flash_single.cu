// Attention from queries, keys and values in single precision whose scores are nowhere (after Dao, "FlashAttention-2", 2023):
// a block has some queries and goes over the keys in tiles, with the softmax carried along, while the next tile is on its way.
// The backward pass makes scores again, once for the gradient of the queries and once for those of keys and values: two kernels
// (beside a small one), so that nothing is added by several blocks in an order that changes.
//
// Products are of the tensor units, 16 by 8 by 8, of numbers with ten bits of fraction (TF32). Where that is too coarse, every
// number is taken as a sum of two such numbers, and all products but that of the two small parts are summed. The units cut off
// what does not fit into a sum instead of rounding it, which would lose more than single precision does: so exact products
// start from zero and are added by the ordinary units.
//
// In a warp, lane = 4 g + t; a product's left factor has in its four registers row g, column t, then row g + 8, then both with
// column t + 4; its right factor the rows t and t + 4 of column g; the result row g with columns 2 t and 2 t + 1, then row
// g + 8. A result becomes a left factor as it is, if its columns 2 t and 2 t + 1 count as columns t and t + 4, and so the rows
// of the right factor.
//
// In the backward pass two warps share rows: one makes scores, the other the gradients of weights, each with the factor that it
// keeps in registers, and they exchange both through shared memory. Then each has half of the columns of a sum, or one of two
// sums. So no warp needs both factors and both sums, which are too much for its registers.

#ifdef HAS_TENSOR_UNITS

#ifndef EMULATED
__device__ inline void multiply_add_tf32(float c[4], const u32 a[4], const u32 b[2]) {
    asm volatile("mma.sync.aligned.m16n8k8.row.col.f32.tf32.tf32.f32 {%0,%1,%2,%3}, {%4,%5,%6,%7}, {%8,%9}, {%0,%1,%2,%3};"
                 : "+f"(c[0]), "+f"(c[1]), "+f"(c[2]), "+f"(c[3])
                 : "r"(a[0]), "r"(a[1]), "r"(a[2]), "r"(a[3]), "r"(b[0]), "r"(b[1]));
}
#endif

// Threads of a block of the kernels for heads of size D, and of the one for products of rows.
template <u32 D>
constexpr u32 SINGLE_THREADS = D > 64 ? 256 : 128;
const u32 SINGLE_PRODUCT_THREADS = 128;
// Rows of a warp, in sixteens: what is read of a tile is multiplied with all of them.
template <u32 D>
constexpr u32 SINGLE_SIXTEENS = D > 64 ? 1 : 2;
// Rows of a block. Whoever launches the kernels knows these too.
template <u32 D>
constexpr u32 SINGLE_ROWS = SINGLE_THREADS<D> / WARP * SINGLE_SIXTEENS<D> * 16;
template <u32 D>
constexpr u32 SINGLE_GRADIENT_ROWS = SINGLE_ROWS<D> / 2;
// Rows of a tile in shared memory, forward and backward: as many as registers can hold scores of. They are four numbers longer
// there: then what a warp reads lies in different banks, be it four columns of eight rows or eight columns of every other row.
template <bool EXACT, u32 D>
constexpr u32 SINGLE_TILE = D > (EXACT ? 32 : 64) ? 16 : 32;
template <u32 D>
constexpr u32 SINGLE_GRADIENT_TILE = D > 32 ? 16 : 32;

// Those that stay loops in exact kernels, which else need too many registers.
#ifdef EMULATED
#define SINGLE_ROLLED_IF_EXACT
#else
#define SINGLE_ROLLED_IF_EXACT _Pragma("unroll (EXACT ? 1 : 8)")
#endif

const double SINGLE_LOG2_E = 1.4426950408889634;
// x with ten bits of fraction, to the nearest. (Adding to 8192 x drops the bits below; numbers above 4e34 become none.)
__device__ inline float single_rounded(float x) { return fmaf(x, -8192.0f, fmaf(x, 8192.0f, x)); }

// x as the tensor units take it: rounded and, if exact, what rounding took away, of which at most the last bit is lost.
template <bool EXACT>
__device__ inline void single_split(float x, u32& high, u32& low) {
    float rounded = single_rounded(x);
    high = __float_as_uint(rounded);
    low = EXACT ? __float_as_uint(x - rounded) & 0xffffe000u : 0;
}

// x, which a compiler makes again where it is needed instead of keeping it in registers all along.
__device__ inline u64 single_anew(u64 x) {
#ifndef EMULATED
    asm volatile("" : "+l"(x));
#endif
    return x;
}

// sums += left right, in sixteen rows.
template <bool EXACT>
__device__ inline void single_multiply(float sums[4], const u32 high[4], const u32 low[4], const u32 right_high[2],
                                       const u32 right_low[2]) {
    if (!EXACT) {
        multiply_add_tf32(sums, high, right_high);
        return;
    }
    float parts[4] = {0, 0, 0, 0};
    multiply_add_tf32(parts, low, right_high);
    multiply_add_tf32(parts, high, right_low);
    multiply_add_tf32(parts, high, right_high);
    UNROLL
    for (u32 e = 0; e < 4; ++e) sums[e] += parts[e];
}

// How a thread copies tiles of rows, one after the other, into shared memory.
template <u32 D, u32 ROWS>
struct SingleCopies {
    static const u32 A_ROW = D / 4, AT_ONCE = SINGLE_THREADS<D> / A_ROW, PIECES = ROWS / AT_ONCE;
    // Where its first piece is in a tile.
    u32 to;
    // The next row that it copies.
    int row;

    __device__ inline explicit SingleCopies(int first) {
        to = threadIdx.x / A_ROW * (D + 4) + threadIdx.x % A_ROW * 4;
        row = first + (int)(threadIdx.x / A_ROW);
    }
    // Where its next piece is in a tensor.
    __device__ inline u64 from(u64 start, u32 distance) const {
        return start + (u64)(u32)row * distance + threadIdx.x % A_ROW * 4;
    }
    // Starts to copy a tile, zeros past the end.
    __device__ inline void start(float* tile, const float* from, u32 distance, int count) const {
        UNROLL
        for (u32 i = 0; i < PIECES; ++i) {
            copy_sixteen(tile + to + i * AT_ONCE * (D + 4), from, row + (int)(i * AT_ONCE) < count);
            from += AT_ONCE * distance;
        }
    }
    __device__ inline void next() { row += (int)ROWS; }
};

// Rows from `first` on as left factors, rounded unless they are to be split; zeros past the end.
template <bool EXACT, u32 D, u32 SIXTEENS>
__device__ inline void single_load_left(float to[SIXTEENS][D / 8][4], const void* rows, u64 start, u32 distance, int first,
                                        int count) {
    u32 lane = threadIdx.x % WARP, g = lane / 4, t = lane % 4;
    UNROLL
    for (u32 m = 0; m < SIXTEENS; ++m) {
        UNROLL
        for (u32 half = 0; half < 2; ++half) {
            int row = first + (int)(m * 16 + half * 8 + g);
            const float* from = (const float*)rows + start + (u64)(u32)row * distance + t;
            UNROLL
            for (u32 j = 0; j < D / 4; ++j) {
                float x = row < count ? from[j * 4] : 0.0f;
                to[m][j / 2][j % 2 * 2 + half] = EXACT ? x : single_rounded(x);
            }
        }
    }
}

// sums += left rows^T, for ROWS rows of a tile.
template <bool EXACT, u32 D, u32 SIXTEENS, u32 ROWS>
__device__ inline void single_times_rows(float sums[SIXTEENS][ROWS / 8][4], const float left[SIXTEENS][D / 8][4],
                                         const float* rows) {
    u32 lane = threadIdx.x % WARP;
    rows += lane / 4 * (D + 4) + lane % 4;
    UNROLL
    for (u32 j = 0; j < D / 8; ++j) {
        u32 high[SIXTEENS][4], low[SIXTEENS][4];
        UNROLL
        for (u32 m = 0; m < SIXTEENS; ++m) {
            UNROLL
            for (u32 part = 0; part < 4; ++part) {
                if (EXACT) single_split<true>(left[m][j][part], high[m][part], low[m][part]);
                else high[m][part] = __float_as_uint(left[m][j][part]), low[m][part] = 0;
            }
        }
        UNROLL
        for (u32 n = 0; n < ROWS / 8; ++n) {
            const float* from = rows + n * 8 * (D + 4) + j * 8;
            u32 right_high[2], right_low[2];
            UNROLL
            for (u32 part = 0; part < 2; ++part) single_split<EXACT>(from[part * 4], right_high[part], right_low[part]);
            UNROLL
            for (u32 m = 0; m < SIXTEENS; ++m) single_multiply<EXACT>(sums[m][n], high[m], low[m], right_high, right_low);
        }
    }
}

// sums += weights rows, for eight rows of a tile and some of their D columns; the weights, one for each of these rows, are in
// the form of results.
template <bool EXACT, u32 D, u32 COLUMNS, u32 SIXTEENS>
__device__ inline void single_times_columns(float sums[SIXTEENS][COLUMNS / 8][4], const float weights[SIXTEENS][4],
                                            const float* rows) {
    u32 lane = threadIdx.x % WARP;
    rows += lane % 4 * 2 * (D + 4) + lane / 4;
    u32 high[SIXTEENS][4], low[SIXTEENS][4];
    UNROLL
    for (u32 m = 0; m < SIXTEENS; ++m) {
        UNROLL
        for (u32 part = 0; part < 4; ++part) {
            single_split<EXACT>(weights[m][part % 2 * 2 + part / 2], high[m][part], low[m][part]);
        }
    }
    UNROLL
    for (u32 n = 0; n < COLUMNS / 8; ++n) {
        u32 right_high[2], right_low[2];
        UNROLL
        for (u32 part = 0; part < 2; ++part) {
            single_split<EXACT>(rows[n * 8 + part * (D + 4)], right_high[part], right_low[part]);
        }
        UNROLL
        for (u32 m = 0; m < SIXTEENS; ++m) single_multiply<EXACT>(sums[m][n], high[m], low[m], right_high, right_low);
    }
}

// Scores of keys from `first_key` on that are not seen. Row g sees the keys below `reached`, the next ones one more each.
template <u32 SIXTEENS, u32 KEYS>
__device__ inline void single_hide(float scores[SIXTEENS][KEYS / 8][4], int first_key, int reached, int keys, const u8* seen) {
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
                    bool is_late = key >= reached + (int)(m * 16 + half * 8);
                    if (is_hidden || is_late) scores[m][n][half * 2 + side] = UNSEEN;
                }
            }
        }
    }
}

// Writes rows, or some of their columns, that are in the form of results, each times a factor.
template <u32 COLUMNS, u32 SIXTEENS>
__device__ inline void single_store(void* rows, u64 start, u32 distance, int first, int count,
                                    const float sums[SIXTEENS][COLUMNS / 8][4], const float factors[SIXTEENS][2]) {
    u32 lane = threadIdx.x % WARP, g = lane / 4, t = lane % 4;
    UNROLL
    for (u32 m = 0; m < SIXTEENS; ++m) {
        UNROLL
        for (u32 half = 0; half < 2; ++half) {
            int row = first + (int)(m * 16 + half * 8 + g);
            if (row >= count) continue;
            float* to = (float*)rows + start + (u64)(u32)row * distance + t * 2;
            float factor = factors[m][half];
            UNROLL
            for (u32 n = 0; n < COLUMNS / 8; ++n) {
                Two two = {{sums[m][n][half * 2] * factor, sums[m][n][half * 2 + 1] * factor}};
                *(Two*)(to + n * 8) = two;
            }
        }
    }
}

// All times the same factor.
template <u32 COLUMNS, u32 SIXTEENS>
__device__ inline void single_store_times(void* rows, u64 start, u32 distance, int first, int count,
                                          const float sums[SIXTEENS][COLUMNS / 8][4], float factor) {
    float factors[SIXTEENS][2];
    UNROLL
    for (u32 m = 0; m < SIXTEENS; ++m) factors[m][0] = factors[m][1] = factor;
    single_store<COLUMNS, SIXTEENS>(rows, start, distance, first, count, sums, factors);
}

// blockIdx.x counts heads of the batch, blockIdx.y blocks of queries, the last first: they see the most keys.
template <bool EXACT, u32 D>
__device__ void single_forward(const FlashArgs& a) {
    const u32 M = SINGLE_SIXTEENS<D>, ROWS = SINGLE_TILE<EXACT, D>;
    alignas(16) __shared__ float keys[2][ROWS * (D + 4)], values[2][ROWS * (D + 4)];
    u32 lane = threadIdx.x % WARP, g = lane / 4, t = lane % 4;
    u64 head = blockIdx.x;
    int all_queries = (int)a.queries, all_keys = (int)a.keys;
    int block = (int)((gridDim.y - 1 - blockIdx.y) * SINGLE_ROWS<D>), first = block + (int)(threadIdx.x / WARP * M * 16);
    u32 distance = distance_of<D>(a.kv_row);
    u64 start = start_of<D>(head, a.heads, a.keys, a.kv_row);
    SingleCopies<D, ROWS> copies(0);
    u64 from = copies.from(start, distance);
    auto copy = [&](u32 to) {
        copies.start(keys[to], (const float*)a.k + from, distance, all_keys);
        copies.start(values[to], (const float*)a.v + from, distance, all_keys);
        copies.next();
        from += ROWS * distance;
        end_of_group();
    };
    const u8* seen = a.seen ? a.seen + quotient(head, a.heads) * a.key_stride : 0;
    float left[M][D / 8][4];
    u64 start_of_q = start_of<D>(head, a.heads, a.queries, a.q_row);
    single_load_left<EXACT, D, M>(left, a.q, start_of_q, distance_of<D>(a.q_row), first, all_queries);
    float sums[M][D / 8][4] = {}, most[M][2], total[M][2] = {};
    UNROLL
    for (u32 m = 0; m < M; ++m) most[m][0] = most[m][1] = NONE;
    float scale = (float)(a.scale * SINGLE_LOG2_E);
    // The keys that are seen by any query of the block, by any of the warp, and by all of the warp; by row g.
    int last = block + (int)SINGLE_ROWS<D> < all_queries ? block + (int)SINGLE_ROWS<D> : all_queries;
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
        single_times_rows<EXACT, D, M, ROWS>(scores, left, keys[turn]);
        if (seen || tile + (int)ROWS > whole) single_hide<M, ROWS>(scores, tile, reached, all_keys, seen);
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
        if (a.dropout.threshold > 0) {
            u64 place = (head * a.queries + (u64)first + g) * a.keys + (u64)tile + t * 2;
            u32 kept = kept_of_queries<M, ROWS>(a.dropout, place, a.keys);
            UNROLL
            for (u32 i = 0; i < M * ROWS / 2; ++i) {
                if (!(kept >> i & 1)) scores[i / 4 % M][i / 4 / M][i % 4] = 0;
            }
        }
        SINGLE_ROLLED_IF_EXACT
        for (u32 n = 0; n < ROWS / 8; ++n) {
            // Registers have no index that is only known as the loop runs.
            float weights[M][4];
            UNROLL
            for (u32 i = 0; i < M * 4; ++i) {
                weights[i / 4][i % 4] = scores[i / 4][0][i % 4];
                UNROLL
                for (u32 other = 1; other < ROWS / 8; ++other) {
                    if (n == other) weights[i / 4][i % 4] = scores[i / 4][other][i % 4];
                }
            }
            single_times_columns<EXACT, D, D, M>(sums, weights, values[turn] + n * 8 * (D + 4));
        }
    }
    float keep = a.dropout.threshold > 0 ? (float)a.dropout.keep_scale : 1.0f, factors[M][2];
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
                float log_sum = sum == 0 ? NO_SUM : fmaf(most[m][half], scale, log2f(sum));
                a.log_sums[head * a.queries + (u64)row] = log_sum;
            }
        }
    }
    u64 start_of_y = start_of<D>(single_anew(head), a.heads, a.queries, a.y_row);
    single_store<D, M>(a.y, start_of_y, distance_of<D>(a.y_row), first, all_queries, sums, factors);
}

// D / 4 threads have a row, four numbers each.
template <u32 D>
__device__ void single_products(const FlashGradientArgs& all_of) {
    const FlashArgs& a = all_of.forward;
    u64 row = (u64)blockIdx.x * (SINGLE_PRODUCT_THREADS * 4 / D) + threadIdx.x / (D / 4);
    float sum = 0;
    if (row < all_of.rows) {
        u64 head = quotient(row, a.queries), query = modulo(row, a.queries);
        u64 start = start_of<D>(head, a.heads, a.queries, a.y_row);
        u64 place = start + query * distance_of<D>(a.y_row) + threadIdx.x % (D / 4) * 4;
        Four<float> y = *(const Four<float>*)((const float*)a.y + place);
        Four<float> dy = *(const Four<float>*)((const float*)all_of.dy + place);
        UNROLL
        for (u32 i = 0; i < 4; ++i) sum = fmaf(y.at[i], dy.at[i], sum);
    }
    UNROLL
    for (u32 xor_of = D / 8; xor_of > 0; xor_of /= 2) sum += __shfl_xor_sync(0xffffffffu, sum, xor_of);
    if (threadIdx.x % (D / 4) == 0 && row < all_of.rows) all_of.products[row] = sum;
}

// What the warps of a block tell each other: results, four of a thread at a time, and which of half of them are kept.
template <u32 D>
struct SingleExchange {
    static const u32 FOURS = SINGLE_SIXTEENS<D> * SINGLE_GRADIENT_TILE<D> / 8;
    Four<float> results[SINGLE_THREADS<D> / WARP][FOURS][WARP];
    u32 kept[SINGLE_THREADS<D> / WARP][WARP];
};

// The gradient of the queries; blocks as in the forward pass. Of two warps that share rows, the first makes weights, the second
// their gradients; then each has half of the columns.
template <bool EXACT, u32 D>
__device__ void single_queries(const FlashGradientArgs& all_of) {
    const u32 M = SINGLE_SIXTEENS<D>, ROWS = SINGLE_GRADIENT_TILE<D>;
    alignas(16) __shared__ float keys[2][ROWS * (D + 4)], values[2][ROWS * (D + 4)];
    __shared__ SingleExchange<D> exchange;
    const FlashArgs& a = all_of.forward;
    u32 lane = threadIdx.x % WARP, g = lane / 4, t = lane % 4, warp = threadIdx.x / WARP, is_second = warp % 2;
    u64 head = blockIdx.x;
    int all_queries = (int)a.queries, all_keys = (int)a.keys;
    int block = (int)((gridDim.y - 1 - blockIdx.y) * SINGLE_GRADIENT_ROWS<D>), first = block + (int)(warp / 2 * M * 16);
    u32 distance = distance_of<D>(a.kv_row);
    u64 start = start_of<D>(head, a.heads, a.keys, a.kv_row);
    SingleCopies<D, ROWS> copies(0);
    u64 from = copies.from(start, distance);
    auto copy = [&](u32 to) {
        copies.start(keys[to], (const float*)a.k + from, distance, all_keys);
        copies.start(values[to], (const float*)a.v + from, distance, all_keys);
        copies.next();
        from += ROWS * distance;
        end_of_group();
    };
    const u8* seen = a.seen ? a.seen + quotient(head, a.heads) * a.key_stride : 0;
    u64 start_of_q = start_of<D>(head, a.heads, a.queries, a.q_row);
    u64 start_of_y = start_of<D>(head, a.heads, a.queries, a.y_row);
    float left[M][D / 8][4];
    single_load_left<EXACT, D, M>(left, is_second ? all_of.dy : a.q, is_second ? start_of_y : start_of_q,
                                  distance_of<D>(is_second ? a.y_row : a.q_row), first, all_queries);
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
    float sums[M][D / 16][4] = {};
    float scale = (float)(a.scale * SINGLE_LOG2_E), keep = (float)a.dropout.keep_scale;
    int last = block + (int)SINGLE_GRADIENT_ROWS<D> < all_queries ? block + (int)SINGLE_GRADIENT_ROWS<D> : all_queries;
    int end = seen_by(a, last - 1), own_end = first < all_queries ? seen_by(a, first + (int)M * 16 - 1) : 0;
    int whole = seen_by(a, first), reached = a.is_causal ? first + (int)g + (int)a.reach + 1 : all_keys;
    if (end > 0) copy(0);
    u32 turn = 0;
    for (int tile = 0; tile < end; tile += (int)ROWS, turn ^= 1) {
        // As in the forward pass.
        wait_for_copies(true);
        __syncthreads();
        if (tile + (int)ROWS < end) copy(turn ^ 1);
        bool is_idle = tile >= own_end;
        float results[M][ROWS / 8][4] = {};
        u32 kept = 0;
        if (!is_idle) {
            single_times_rows<EXACT, D, M, ROWS>(results, left, is_second ? values[turn] : keys[turn]);
            if (!is_second) {
                if (seen || tile + (int)ROWS > whole) single_hide<M, ROWS>(results, tile, reached, all_keys, seen);
                UNROLL
                for (u32 i = 0; i < M * ROWS / 2; ++i) {
                    float& result = results[i / 4 % M][i / 4 / M][i % 4];
                    result = exponential_of_two(fmaf(result, scale, -log_sums[i / 4 % M][i % 4 / 2]));
                }
            }
            UNROLL
            for (u32 i = 0; i < M * ROWS / 8; ++i) {
                const float* four = results[i % M][i / M];
                exchange.results[warp][i][lane] = {{four[0], four[1], four[2], four[3]}};
            }
            if (a.dropout.threshold > 0) {
                u64 place = (head * a.queries + (u64)first + g) * a.keys + (u64)tile + is_second * (ROWS / 2) + t * 2;
                kept = kept_of_queries<M, ROWS / 2>(a.dropout, place, a.keys);
                exchange.kept[warp][lane] = kept;
            }
        }
        __syncthreads();
        if (is_idle) continue;
        if (a.dropout.threshold > 0) {
            u32 others = exchange.kept[warp ^ 1][lane];
            kept = is_second ? others | kept << M * ROWS / 4 : kept | others << M * ROWS / 4;
        }
        SINGLE_ROLLED_IF_EXACT
        for (u32 n = 0; n < ROWS / 8; ++n) {
            float slopes[M][4];
            UNROLL
            for (u32 m = 0; m < M; ++m) {
                Four<float> others = exchange.results[warp ^ 1][n * M + m][lane], own;
                if (EXACT) own = exchange.results[warp][n * M + m][lane];
                else own = {{results[m][n][0], results[m][n][1], results[m][n][2], results[m][n][3]}};
                UNROLL
                for (u32 e = 0; e < 4; ++e) {
                    float weight = is_second ? others.at[e] : own.at[e], gradient = is_second ? own.at[e] : others.at[e];
                    if (a.dropout.threshold > 0) gradient = kept >> ((n * M + m) * 4 + e) & 1 ? gradient * keep : 0.0f;
                    slopes[m][e] = weight * (gradient - products[m][e / 2]);
                }
            }
            single_times_columns<EXACT, D, D / 2, M>(sums, slopes, keys[turn] + n * 8 * (D + 4) + is_second * (D / 2));
        }
    }
    single_store_times<D / 2, M>(all_of.dq, start_of_q + is_second * (D / 2), distance_of<D>(a.q_row), first, all_queries,
                                 sums, (float)a.scale);
}

// The gradients of keys and values. blockIdx.x counts heads of the batch, blockIdx.y blocks of keys: the first are seen most. Of
// two warps that share rows, the first makes weights and sums up the gradients of keys, the second makes the gradients of
// weights and sums up those of values.
template <bool EXACT, u32 D>
__device__ void single_keys(const FlashGradientArgs& all_of) {
    const u32 M = SINGLE_SIXTEENS<D>, ROWS = SINGLE_GRADIENT_TILE<D>;
    alignas(16) __shared__ float queries[2][ROWS * (D + 4)], slopes[2][ROWS * (D + 4)];
    alignas(16) __shared__ float log_sums[2][ROWS], products[2][ROWS];
    __shared__ SingleExchange<D> exchange;
    const FlashArgs& a = all_of.forward;
    u32 lane = threadIdx.x % WARP, g = lane / 4, t = lane % 4, warp = threadIdx.x / WARP, is_second = warp % 2;
    u64 head = blockIdx.x;
    int all_queries = (int)a.queries, all_keys = (int)a.keys;
    int block = (int)(blockIdx.y * SINGLE_GRADIENT_ROWS<D>), first = block + (int)(warp / 2 * M * 16);
    // The first queries that see a key of the block, one of the warp, and all of the warp.
    int begin = a.is_causal && block > (int)a.reach ? block - (int)a.reach : 0;
    int own_begin = a.is_causal ? first - (int)a.reach : 0, whole = a.is_causal ? own_begin + (int)M * 16 - 1 : 0;
    u32 q_distance = distance_of<D>(a.q_row), y_distance = distance_of<D>(a.y_row);
    SingleCopies<D, ROWS> copies(begin);
    u64 from_q = copies.from(start_of<D>(head, a.heads, a.queries, a.q_row), q_distance);
    u64 from_y = copies.from(start_of<D>(head, a.heads, a.queries, a.y_row), y_distance);
    auto copy = [&](u32 to, int tile) {
        copies.start(queries[to], (const float*)a.q + from_q, q_distance, all_queries);
        copies.start(slopes[to], (const float*)all_of.dy + from_y, y_distance, all_queries);
        from_q += ROWS * q_distance;
        from_y += ROWS * y_distance;
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
    float left[M][D / 8][4];
    single_load_left<EXACT, D, M>(left, is_second ? a.v : a.k, start, distance_of<D>(a.kv_row), first, all_keys);
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
    float sums[M][D / 8][4] = {};
    float scale = (float)(a.scale * SINGLE_LOG2_E), keep = a.dropout.threshold > 0 ? (float)a.dropout.keep_scale : 1.0f;
    if (begin < all_queries) copy(0, begin);
    u32 turn = 0;
    for (int tile = begin; tile < all_queries; tile += (int)ROWS, turn ^= 1) {
        // As in the forward pass.
        wait_for_copies(true);
        __syncthreads();
        if (tile + (int)ROWS < all_queries) copy(turn ^ 1, tile + (int)ROWS);
        bool is_idle = first >= all_keys || tile + (int)ROWS <= own_begin;
        float results[M][ROWS / 8][4] = {};
        u32 kept = 0;
        if (!is_idle) {
            single_times_rows<EXACT, D, M, ROWS>(results, left, is_second ? slopes[turn] : queries[turn]);
            if (!is_second && (some_hidden || tile < whole)) {
                UNROLL
                for (u32 i = 0; i < M * 2; ++i) {
                    // How far the thread's first query is from the first that sees the key.
                    int distance = a.is_causal ? tile + (int)(t * 2) - (own_begin + (int)(i * 8 + g)) : 0;
                    bool is_hidden = hidden >> i & 1;
                    UNROLL
                    for (u32 n = 0; n < ROWS / 8; ++n) {
                        UNROLL
                        for (u32 side = 0; side < 2; ++side) {
                            bool is_early = distance + (int)(n * 8 + side) < 0;
                            if (is_hidden || is_early) results[i / 2][n][i % 2 * 2 + side] = UNSEEN;
                        }
                    }
                }
            }
            if (!is_second) {
                UNROLL
                for (u32 n = 0; n < ROWS / 8; ++n) {
                    Two log_sum = *(const Two*)&log_sums[turn][n * 8 + t * 2];
                    UNROLL
                    for (u32 i = 0; i < M * 4; ++i) {
                        float& result = results[i / 4][n][i % 4];
                        result = exponential_of_two(fmaf(result, scale, -log_sum.at[i % 2]));
                    }
                }
            }
            UNROLL
            for (u32 i = 0; i < M * ROWS / 8; ++i) {
                const float* four = results[i % M][i / M];
                exchange.results[warp][i][lane] = {{four[0], four[1], four[2], four[3]}};
            }
            if (a.dropout.threshold > 0) {
                u64 place = (head * a.queries + (u64)tile + is_second * (ROWS / 2) + t * 2) * a.keys + (u64)first + g;
                kept = kept_of_keys<M, ROWS / 2>(a.dropout, place, a.keys);
                exchange.kept[warp][lane] = kept;
            }
        }
        __syncthreads();
        if (is_idle) continue;
        if (a.dropout.threshold > 0) {
            u32 others = exchange.kept[warp ^ 1][lane];
            kept = is_second ? others | kept << M * ROWS / 4 : kept | others << M * ROWS / 4;
        }
        SINGLE_ROLLED_IF_EXACT
        for (u32 n = 0; n < ROWS / 8; ++n) {
            Two product = *(const Two*)&products[turn][n * 8 + t * 2];
            float factors[M][4];
            UNROLL
            for (u32 m = 0; m < M; ++m) {
                Four<float> others = exchange.results[warp ^ 1][n * M + m][lane], own;
                if (EXACT) own = exchange.results[warp][n * M + m][lane];
                else own = {{results[m][n][0], results[m][n][1], results[m][n][2], results[m][n][3]}};
                UNROLL
                for (u32 e = 0; e < 4; ++e) {
                    float weight = is_second ? others.at[e] : own.at[e], gradient = is_second ? own.at[e] : others.at[e];
                    float left_over = weight;
                    if (a.dropout.threshold > 0) {
                        bool is_kept = kept >> ((n * M + m) * 4 + e) & 1;
                        left_over = is_kept ? weight : 0.0f;
                        gradient = is_kept ? gradient * keep : 0.0f;
                    }
                    factors[m][e] = is_second ? left_over : weight * (gradient - product.at[e % 2]);
                }
            }
            single_times_columns<EXACT, D, D, M>(sums, factors, (is_second ? slopes[turn] : queries[turn]) + n * 8 * (D + 4));
        }
    }
    start = start_of<D>(single_anew(head), a.heads, a.keys, a.kv_row);
    single_store_times<D, M>(is_second ? all_of.dv : all_of.dk, start, distance_of<D>(a.kv_row), first, all_keys, sums,
                             is_second ? keep : (float)a.scale);
}

// Kernels are compiled for the sizes of heads that occur: whoever compiles this says for which, with a line SINGLE_SIZE(D).
#define SINGLE_OF(NAME, ARGS, D)                                                     \
    template <typename>                                                              \
    __device__ void NAME##_##D##_exact(const ARGS& a) {                              \
        NAME<true, D>(a);                                                            \
    }                                                                                \
    template <typename>                                                              \
    __device__ void NAME##_##D##_fast(const ARGS& a) {                               \
        NAME<false, D>(a);                                                           \
    }                                                                                \
    KERNEL(NAME##_##D##_exact, ARGS, float, f32) KERNEL(NAME##_##D##_fast, ARGS, float, f32)
#define SINGLE_SIZE(D)                                                               \
    SINGLE_OF(single_forward, FlashArgs, D)                                         \
    SINGLE_OF(single_queries, FlashGradientArgs, D)                                 \
    SINGLE_OF(single_keys, FlashGradientArgs, D)                                    \
    template <typename>                                                              \
    __device__ void single_products_##D(const FlashGradientArgs& a) {               \
        single_products<D>(a);                                                       \
    }                                                                                \
    KERNEL(single_products_##D, FlashGradientArgs, float, f32)

#endif
