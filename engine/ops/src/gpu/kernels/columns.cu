// Sums over the rows of a matrix, in two steps: chunks of rows, then the chunks. They are gradients of biases and gains.

const u32 COLUMNS_A_BLOCK = 32;
// Of a chunk, where each thread has four columns.
const u32 COLUMNS_A_CHUNK = 128;
const u32 ROWS_A_PASS = 8;
const u32 ROWS_A_CHUNK = 64;

struct ColumnsArgs {
    const void* dy;
    // With these, sums of dy times the normalised row as well; otherwise null.
    const void *x, *mean, *inverse_deviation;
    // [chunks, width] each.
    void *sums, *products;
    u64 rows, width;
};

// blockIdx.x counts chunks of rows, blockIdx.y blocks of columns; 256 threads, 32 times four columns by 8 rows.
template <typename T>
__device__ void column_chunks(const ColumnsArgs& a) {
    typedef typename Wide<T>::Type W;
    __shared__ W sums[ROWS_A_PASS][COLUMNS_A_CHUNK], products[ROWS_A_PASS][COLUMNS_A_CHUNK];
    u32 lane = threadIdx.x % WARP, pass = threadIdx.x / WARP;
    u64 column = (u64)blockIdx.y * COLUMNS_A_CHUNK + lane * 4, first = (u64)blockIdx.x * ROWS_A_CHUNK;
    u64 end = first + ROWS_A_CHUNK < a.rows ? first + ROWS_A_CHUNK : a.rows;
    const T *dy = (const T*)a.dy, *x = (const T*)a.x;
    u64 left = column < a.width ? a.width - column : 0;
    bool whole = left >= 4 && a.width % 4 == 0 && takes_four<T>(dy) && takes_four<T>(x);
    W sum[4] = {0, 0, 0, 0}, product[4] = {0, 0, 0, 0};
    if (left > 0) {
        u64 row = first + pass;
        // Without a norm eight rows are on their way at a time.
        for (; whole && !x && row + 7 * ROWS_A_PASS < end; row += 8 * ROWS_A_PASS) {
            Four<T> fours[8];
            UNROLL
            for (u32 i = 0; i < 8; ++i) fours[i] = *(const Four<T>*)(dy + (row + i * ROWS_A_PASS) * a.width + column);
            UNROLL
            for (u32 i = 0; i < 8; ++i) {
                UNROLL
                for (u32 k = 0; k < 4; ++k) sum[k] += wide(fours[i].at[k]);
            }
        }
        for (; row < end; row += ROWS_A_PASS) {
            W g[4];
            read_four(dy + row * a.width + column, left, whole, g);
            for (u32 k = 0; k < 4; ++k) sum[k] += g[k];
            if (x) {
                W mean = ((const W*)a.mean)[row], inverse = ((const W*)a.inverse_deviation)[row], values[4];
                read_four(x + row * a.width + column, left, whole, values);
                for (u32 k = 0; k < 4; ++k) product[k] += g[k] * (values[k] - mean) * inverse;
            }
        }
    }
    for (u32 k = 0; k < 4; ++k) {
        sums[pass][lane * 4 + k] = sum[k];
        products[pass][lane * 4 + k] = product[k];
    }
    __syncthreads();
    // The first threads add up one column each.
    u32 own = threadIdx.x;
    u64 to = (u64)blockIdx.y * COLUMNS_A_CHUNK + own;
    if (own >= COLUMNS_A_CHUNK || to >= a.width) return;
    W all = 0, all_products = 0;
    for (u32 other = 0; other < ROWS_A_PASS; ++other) {
        all += sums[other][own];
        all_products += products[other][own];
    }
    ((W*)a.sums)[(u64)blockIdx.x * a.width + to] = all;
    if (x) ((W*)a.products)[(u64)blockIdx.x * a.width + to] = all_products;
}
FOR_ALL(column_chunks, ColumnsArgs)

struct ColumnTotalsArgs {
    // [groups count, width], as they were summed: every group has `count`, one after the other.
    const void* chunks;
    // [groups, width]
    void* totals;
    u64 count, width;
};

// blockIdx.x counts groups, blockIdx.y blocks of columns; 256 threads, 32 columns by 8 chunks.
template <typename T>
__device__ void column_totals(const ColumnTotalsArgs& a) {
    typedef typename Wide<T>::Type W;
    __shared__ W sums[ROWS_A_PASS][COLUMNS_A_BLOCK];
    u32 lane = threadIdx.x % COLUMNS_A_BLOCK, pass = threadIdx.x / COLUMNS_A_BLOCK;
    u64 column = (u64)blockIdx.y * COLUMNS_A_BLOCK + lane;
    u64 first = blockIdx.x * a.count, end = first + a.count;
    W sum = 0;
    if (column < a.width) {
        const W* of_column = (const W*)a.chunks + column;
        u64 chunk = first + pass;
        // Eight are on their way at a time, and are added in their order.
        for (; chunk + 7 * ROWS_A_PASS < end; chunk += 8 * ROWS_A_PASS) {
            W values[8];
            UNROLL
            for (u32 k = 0; k < 8; ++k) values[k] = of_column[(chunk + k * ROWS_A_PASS) * a.width];
            UNROLL
            for (u32 k = 0; k < 8; ++k) sum += values[k];
        }
        for (; chunk < end; chunk += ROWS_A_PASS) sum += of_column[chunk * a.width];
    }
    sums[pass][lane] = sum;
    __syncthreads();
    if (pass > 0 || column >= a.width) return;
    for (u32 other = 1; other < ROWS_A_PASS; ++other) sum += sums[other][lane];
    narrow(sum, &((T*)a.totals)[(u64)blockIdx.x * a.width + column]);
}
FOR_ALL(column_totals, ColumnTotalsArgs)

struct RowTotalsArgs {
    // [chunks, width], as they were summed.
    const void* chunks;
    // Row r has the chunks starts[r] .. starts[r + 1], which are few.
    const u32* starts;
    // [rows, width]
    void* totals;
    u64 rows, width;
};

// A thread has four columns of a row.
template <typename T>
__device__ void row_totals(const RowTotalsArgs& a) {
    typedef typename Wide<T>::Type W;
    u64 i = (u64)blockIdx.x * blockDim.x + threadIdx.x, fours = (a.width + 3) / 4, row = quotient(i, fours);
    if (row >= a.rows) return;
    u64 column = (i - row * fours) * 4, left = a.width - column;
    const W* chunks = (const W*)a.chunks;
    T* to = (T*)a.totals + row * a.width + column;
    bool whole = a.width % 4 == 0 && takes_four<W>(chunks) && takes_four<T>(a.totals);
    W sum[4] = {0, 0, 0, 0};
    u32 end = a.starts[row + 1];
    for (u32 chunk = a.starts[row]; chunk < end; ++chunk) {
        W values[4];
        read_four(chunks + chunk * a.width + column, left, whole, values);
        for (u32 k = 0; k < 4; ++k) sum[k] += values[k];
    }
    write_four(sum, left, whole, to);
}
FOR_ALL(row_totals, RowTotalsArgs)

struct AddBiasArgs {
    void* y;
    const void* bias;
    u64 count, width;
};

// In place, four elements a thread, beside each other.
template <typename T>
__device__ void add_bias(const AddBiasArgs& a) {
    typedef typename Wide<T>::Type W;
    T* y = (T*)a.y;
    const T* bias = (const T*)a.bias;
    u64 first = ((u64)blockIdx.x * blockDim.x + threadIdx.x) * 4;
    if (first >= a.count) return;
    u64 left = a.count - first;
    bool whole = left >= 4 && a.width % 4 == 0 && takes_four<T>(y) && takes_four<T>(bias);
    W values[4], biases[4] = {0, 0, 0, 0};
    read_four(y + first, left, whole, values);
    if (whole) read_four(bias + modulo(first, a.width), 4, true, biases);
    for (u32 k = 0; k < 4; ++k) {
        if (k < left) values[k] += whole ? biases[k] : wide(bias[modulo(first + k, a.width)]);
    }
    write_four(values, left, whole, y + first);
}
FOR_ALL(add_bias, AddBiasArgs)
