// Sums over the rows of a matrix, in two steps: chunks of rows, then the chunks. They are gradients of biases and gains.

const u32 COLUMNS_A_BLOCK = 32;
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

// blockIdx.x counts chunks of rows, blockIdx.y blocks of columns; 256 threads, 32 columns by 8 rows.
template <typename T>
__device__ void column_chunks(const ColumnsArgs& a) {
    typedef typename Wide<T>::Type W;
    __shared__ W sums[ROWS_A_PASS][COLUMNS_A_BLOCK], products[ROWS_A_PASS][COLUMNS_A_BLOCK];
    u32 lane = threadIdx.x % COLUMNS_A_BLOCK, pass = threadIdx.x / COLUMNS_A_BLOCK;
    u64 column = (u64)blockIdx.y * COLUMNS_A_BLOCK + lane, first = (u64)blockIdx.x * ROWS_A_CHUNK;
    u64 end = first + ROWS_A_CHUNK < a.rows ? first + ROWS_A_CHUNK : a.rows;
    const T *dy = (const T*)a.dy, *x = (const T*)a.x;
    W sum = 0, product = 0;
    if (column < a.width) {
        for (u64 row = first + pass; row < end; row += ROWS_A_PASS) {
            W g = wide(dy[row * a.width + column]);
            sum += g;
            if (x) {
                W centred = wide(x[row * a.width + column]) - ((const W*)a.mean)[row];
                product += g * centred * ((const W*)a.inverse_deviation)[row];
            }
        }
    }
    sums[pass][lane] = sum;
    products[pass][lane] = product;
    __syncthreads();
    if (pass > 0 || column >= a.width) return;
    for (u32 other = 1; other < ROWS_A_PASS; ++other) {
        sum += sums[other][lane];
        product += products[other][lane];
    }
    ((W*)a.sums)[(u64)blockIdx.x * a.width + column] = sum;
    if (x) ((W*)a.products)[(u64)blockIdx.x * a.width + column] = product;
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

// In place, four elements a thread.
template <typename T>
__device__ void add_bias(const AddBiasArgs& a) {
    T* y = (T*)a.y;
    const T* bias = (const T*)a.bias;
    for (u32 step = 0; step < 4; ++step) {
        u64 i = ((u64)blockIdx.x * 4 + step) * blockDim.x + threadIdx.x;
        if (i < a.count) narrow(wide(y[i]) + wide(bias[modulo(i, a.width)]), &y[i]);
    }
}
FOR_ALL(add_bias, AddBiasArgs)
