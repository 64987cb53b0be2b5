// Softmax of rows of attention scores with scale, mask and dropout. A block has one row; of rows of up to 1024 keys a warp has
// one, and holds it.

struct SoftmaxArgs {
    const void* x;
    void* y;
    // [b, key_stride] of u8, or null: keys that no query sees are zero.
    const u8* keys;
    u64 key_stride;
    double scale;
    // Keys of a row.
    u64 width;
    // Rows of a batch entry: heads times queries.
    u64 rows_per_batch;
    // Queries of a head.
    u64 queries;
    // Query i of these sees the keys j <= i + reach, if causal.
    i64 reach;
    u64 is_causal;
    // Where these rows lie among all, for the places of dropout: queries of a head, the first one here, keys of a row.
    u64 all_queries, first_query, all_keys;
    Dropout dropout;
    u64 rows;
};

// The place of a row's first element among all.
template <typename Args>
__device__ inline u64 first_place(const Args& a, u64 row) {
    return ((row / a.queries) * a.all_queries + a.first_query + row % a.queries) * a.all_keys;
}

// How many of the keys a row sees, if those that are hidden one by one are counted.
__device__ inline u32 seen_by(const SoftmaxArgs& a, u64 row) {
    i64 last = a.is_causal ? (i64)(row % a.queries) + a.reach : (i64)a.width;
    return last < 0 ? 0 : (last + 1 < (i64)a.width ? (u32)(last + 1) : (u32)a.width);
}

// Multiplies the numbers that a warp holds of a row by the mask of dropout. Blocks of random words begin at places of the
// whole map, rows anywhere.
template <typename T>
__device__ inline void drop_held(const Dropout& d, u64 first, u32 width, typename Wide<T>::Type values[FOURS_OF_WARP][4]) {
    u32 lane = threadIdx.x % WARP;
    if (d.threshold == 0) return;
    for (u32 i = 0; i < FOURS_OF_WARP; ++i) {
        u32 j = (i * WARP + lane) * 4;
        if (j >= width) continue;
        u32 lead = (u32)((first + j) % 4), words[8];
        philox(d, (first + j) / 4, words);
        if (lead > 0) philox(d, (first + j) / 4 + 1, words + 4);
        for (u32 k = 0; k < 4; ++k) values[i][k] *= kept<typename Wide<T>::Type>(d, words[lead + k]);
    }
}

template <typename T>
__device__ void softmax_warps(const SoftmaxArgs& a) {
    typedef typename Wide<T>::Type W;
    u64 row = (u64)blockIdx.x * ROWS_OF_WARPS + threadIdx.x / WARP;
    if (row >= a.rows) return;
    u32 width = (u32)a.width, lane = threadIdx.x % WARP, seen = seen_by(a, row);
    const T* x = (const T*)a.x + row * a.width;
    T* y = (T*)a.y + row * a.width;
    const u8* keys = a.keys ? a.keys + (row / a.rows_per_batch) * a.key_stride : 0;
    bool whole = width % 4 == 0 && takes_four<T>(a.x) && takes_four<T>(a.y);
    W scale = (W)a.scale, values[FOURS_OF_WARP][4], most = lowest<W>(), total = 0;
    // Bit k of byte i: whether number k of four i is seen.
    u32 is_seen = 0;
    UNROLL
    for (u32 i = 0; i < FOURS_OF_WARP; ++i) {
        u32 j = (i * WARP + lane) * 4, left = j < width ? width - j : 0;
        read_four(x + j, left, whole && left > 0, values[i]);
        UNROLL
        for (u32 k = 0; k < 4; ++k) {
            bool sees = j + k < seen && (!keys || keys[j + k]);
            is_seen |= (sees ? 1u : 0u) << (i * 4 + k);
            values[i][k] *= scale;
            if (sees && values[i][k] > most) most = values[i][k];
        }
    }
    most = warp_max(most);
    UNROLL
    for (u32 i = 0; i < FOURS_OF_WARP; ++i) {
        UNROLL
        for (u32 k = 0; k < 4; ++k) {
            values[i][k] = is_seen >> (i * 4 + k) & 1 ? exponential(values[i][k] - most) : (W)0;
            total += values[i][k];
        }
    }
    total = warp_sum(total);
    // A row that sees nothing has nothing.
    W inverse = total == 0 ? (W)0 : 1 / total;
    drop_held<T>(a.dropout, first_place(a, row), width, values);
    UNROLL
    for (u32 i = 0; i < FOURS_OF_WARP; ++i) {
        u32 j = (i * WARP + lane) * 4, left = j < width ? width - j : 0;
        if (left == 0) continue;
        UNROLL
        for (u32 k = 0; k < 4; ++k) values[i][k] *= inverse;
        write_four(values[i], left, whole, y + j);
    }
}
FOR_ALL(softmax_warps, SoftmaxArgs)

template <typename T>
__device__ void softmax(const SoftmaxArgs& a) {
    typedef typename Wide<T>::Type W;
    u64 row = blockIdx.x;
    const T* x = (const T*)a.x + row * a.width;
    T* y = (T*)a.y + row * a.width;
    const u8* keys = a.keys ? a.keys + (row / a.rows_per_batch) * a.key_stride : 0;
    u32 width = (u32)a.width, seen = seen_by(a, row);
    W scale = (W)a.scale;
    W most = lowest<W>();
    for (u32 j = threadIdx.x; j < seen; j += blockDim.x) {
        if (keys && !keys[j]) continue;
        W score = scale * wide(x[j]);
        most = score > most ? score : most;
    }
    most = block_max(most);
    W total = 0;
    for (u32 j = threadIdx.x; j < seen; j += blockDim.x) {
        if (!keys || keys[j]) total += exponential(scale * wide(x[j]) - most);
    }
    total = block_sum(total);
    // A row that sees nothing has nothing.
    W inverse = total == 0 ? (W)0 : 1 / total;
    if (a.dropout.threshold == 0) {
        for (u32 j = threadIdx.x; j < width; j += blockDim.x) {
            W value = 0;
            if (j < seen && (!keys || keys[j])) value = exponential(scale * wide(x[j]) - most) * inverse;
            narrow(value, &y[j]);
        }
        return;
    }
    // Four places a thread, those of one block of random words.
    u64 first = first_place(a, row), lead = first % 4;
    for (u64 quad = threadIdx.x; quad * 4 < width + lead; quad += blockDim.x) {
        u32 words[4];
        philox(a.dropout, first / 4 + quad, words);
        for (u32 lane = 0; lane < 4; ++lane) {
            u64 at = quad * 4 + lane;
            if (at < lead || at - lead >= width) continue;
            u32 j = (u32)(at - lead);
            W value = 0;
            if (j < seen && (!keys || keys[j])) value = exponential(scale * wide(x[j]) - most) * inverse;
            narrow(value * kept<W>(a.dropout, words[lane]), &y[j]);
        }
    }
}
FOR_ALL(softmax, SoftmaxArgs)

struct SoftmaxGradientArgs {
    // Probabilities before dropout, and the gradient of what came after it.
    const void *y, *dy;
    void* dx;
    double scale;
    u64 width, queries, all_queries, first_query, all_keys;
    Dropout dropout;
    u64 rows;
};

// dx = scale y (g - sum(y g)) with g = mask dy.
template <typename T>
__device__ void softmax_gradient(const SoftmaxGradientArgs& a) {
    typedef typename Wide<T>::Type W;
    u64 row = blockIdx.x;
    const T *y = (const T*)a.y + row * a.width, *dy = (const T*)a.dy + row * a.width;
    T* dx = (T*)a.dx + row * a.width;
    u64 width = a.width;
    W dot = 0;
    if (a.dropout.threshold == 0) {
        for (u64 j = threadIdx.x; j < width; j += blockDim.x) dot += wide(y[j]) * wide(dy[j]);
        dot = block_sum(dot);
        for (u64 j = threadIdx.x; j < width; j += blockDim.x) {
            narrow((W)a.scale * wide(y[j]) * (wide(dy[j]) - dot), &dx[j]);
        }
        return;
    }
    u64 first = first_place(a, row), lead = first % 4;
    for (u32 pass = 0; pass < 2; ++pass) {
        for (u64 quad = threadIdx.x; quad * 4 < width + lead; quad += blockDim.x) {
            u32 words[4];
            philox(a.dropout, first / 4 + quad, words);
            for (u32 lane = 0; lane < 4; ++lane) {
                u64 at = quad * 4 + lane;
                if (at < lead || at - lead >= width) continue;
                u64 j = at - lead;
                W g = wide(dy[j]) * kept<W>(a.dropout, words[lane]);
                if (pass == 0) {
                    dot += wide(y[j]) * g;
                } else {
                    narrow((W)a.scale * wide(y[j]) * (g - dot), &dx[j]);
                }
            }
        }
        if (pass == 0) dot = block_sum(dot);
    }
}
FOR_ALL(softmax_gradient, SoftmaxGradientArgs)

template <typename T>
__device__ void softmax_gradient_warps(const SoftmaxGradientArgs& a) {
    typedef typename Wide<T>::Type W;
    u64 row = (u64)blockIdx.x * ROWS_OF_WARPS + threadIdx.x / WARP;
    if (row >= a.rows) return;
    u32 width = (u32)a.width, lane = threadIdx.x % WARP;
    const T *y = (const T*)a.y + row * a.width, *dy = (const T*)a.dy + row * a.width;
    T* dx = (T*)a.dx + row * a.width;
    bool whole = width % 4 == 0 && takes_four<T>(a.y) && takes_four<T>(a.dy) && takes_four<T>(a.dx);
    W maps[FOURS_OF_WARP][4], slopes[FOURS_OF_WARP][4], dot = 0;
    UNROLL
    for (u32 i = 0; i < FOURS_OF_WARP; ++i) {
        u32 j = (i * WARP + lane) * 4, left = j < width ? width - j : 0;
        read_four(y + j, left, whole && left > 0, maps[i]);
        read_four(dy + j, left, whole && left > 0, slopes[i]);
    }
    drop_held<T>(a.dropout, first_place(a, row), width, slopes);
    UNROLL
    for (u32 i = 0; i < FOURS_OF_WARP; ++i) {
        UNROLL
        for (u32 k = 0; k < 4; ++k) dot += maps[i][k] * slopes[i][k];
    }
    dot = warp_sum(dot);
    UNROLL
    for (u32 i = 0; i < FOURS_OF_WARP; ++i) {
        u32 j = (i * WARP + lane) * 4, left = j < width ? width - j : 0;
        if (left == 0) continue;
        UNROLL
        for (u32 k = 0; k < 4; ++k) slopes[i][k] = (W)a.scale * maps[i][k] * (slopes[i][k] - dot);
        write_four(slopes[i], left, whole, dx + j);
    }
}
FOR_ALL(softmax_gradient_warps, SoftmaxGradientArgs)

struct AddKeysArgs {
    // Of the first keys. [heads, keys, width]
    const void* part;
    // Of all of them, in what is computed in. [heads, all_keys, width]
    void* total;
    // keys times width, all_keys times width, and elements of the part.
    u64 part_stride, total_stride, count;
    // Whether these are all keys and the first part: the total is written, not added to.
    u64 is_first;
};

// Adds a part of the gradient of keys or values to the whole, four elements a thread.
template <typename T>
__device__ void add_keys(const AddKeysArgs& a) {
    typedef typename Wide<T>::Type W;
    for (u32 step = 0; step < 4; ++step) {
        u64 i = ((u64)blockIdx.x * 4 + step) * blockDim.x + threadIdx.x;
        if (i >= a.count) return;
        u64 within = modulo(i, a.part_stride);
        W* to = (W*)a.total + (i - within) / a.part_stride * a.total_stride + within;
        W value = wide(((const T*)a.part)[i]);
        *to = a.is_first ? value : *to + value;
    }
}
FOR_ALL(add_keys, AddKeysArgs)
