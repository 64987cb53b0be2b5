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
        for (u64 row = first + pass; row < end; row += ROWS_A_PASS) {
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
    // [chunks, width], as they were summed.
    const void* chunks;
    // Group r has the chunks starts[r] .. starts[r + 1]; without starts there is one group of all of them.
    const u32* starts;
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
    u64 first = a.starts ? a.starts[blockIdx.x] : 0, end = a.starts ? a.starts[blockIdx.x + 1] : a.count;
    W sum = 0;
    if (column < a.width) {
        for (u64 chunk = first + pass; chunk < end; chunk += ROWS_A_PASS) {
            sum += ((const W*)a.chunks)[chunk * a.width + column];
        }
    }
    sums[pass][lane] = sum;
    __syncthreads();
    if (pass > 0 || column >= a.width) return;
    for (u32 other = 1; other < ROWS_A_PASS; ++other) sum += sums[other][lane];
    narrow(sum, &((T*)a.totals)[(u64)blockIdx.x * a.width + column]);
}
FOR_ALL(column_totals, ColumnTotalsArgs)

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
