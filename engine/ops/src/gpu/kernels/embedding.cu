// Rows of a table, and the gradient of the table: the sum over the places of each row, in their order.

struct EmbeddingArgs {
    const void* table;
    const u32* ids;
    void* y;
    u64 width;
};

// A block has one place.
template <typename T>
__device__ void embedding(const EmbeddingArgs& a) {
    const T* from = (const T*)a.table + (u64)a.ids[blockIdx.x] * a.width;
    T* to = (T*)a.y + blockIdx.x * a.width;
    for (u64 j = threadIdx.x; j < a.width; j += blockDim.x) to[j] = from[j];
}
FOR_ALL(embedding, EmbeddingArgs)

struct EmbeddingPiecesArgs {
    const void* dy;
    // The places of all rows, row by row, and where each piece of them begins and ends.
    const u32 *places, *starts;
    // [pieces, width], in what is computed in.
    void* sums;
    u64 width;
};

// Sums over pieces of the places of a row. blockIdx.x counts pieces, blockIdx.y blocks of columns; 256 threads, 32
// columns by 8 places. What is summed here, column_totals adds up.
template <typename T>
__device__ void embedding_pieces(const EmbeddingPiecesArgs& a) {
    typedef typename Wide<T>::Type W;
    __shared__ W sums[ROWS_A_PASS][COLUMNS_A_BLOCK];
    const T* dy = (const T*)a.dy;
    u32 lane = threadIdx.x % COLUMNS_A_BLOCK, pass = threadIdx.x / COLUMNS_A_BLOCK;
    u64 column = (u64)blockIdx.y * COLUMNS_A_BLOCK + lane;
    u32 end = a.starts[blockIdx.x + 1];
    W sum = 0;
    if (column < a.width) {
        for (u32 place = a.starts[blockIdx.x] + pass; place < end; place += ROWS_A_PASS) {
            sum += wide(dy[(u64)a.places[place] * a.width + column]);
        }
    }
    sums[pass][lane] = sum;
    __syncthreads();
    if (pass > 0 || column >= a.width) return;
    for (u32 other = 1; other < ROWS_A_PASS; ++other) sum += sums[other][lane];
    ((W*)a.sums)[(u64)blockIdx.x * a.width + column] = sum;
}
FOR_ALL(embedding_pieces, EmbeddingPiecesArgs)
