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

struct EmbeddingGradientArgs {
    const void* dy;
    // The places of row r are places[starts[r] .. starts[r + 1]].
    const u32 *starts, *places;
    void* dtable;
    u64 width;
};

// A block has one row of the table; one that is nowhere becomes zero.
template <typename T>
__device__ void embedding_gradient(const EmbeddingGradientArgs& a) {
    typedef typename Wide<T>::Type W;
    const T* dy = (const T*)a.dy;
    T* to = (T*)a.dtable + blockIdx.x * a.width;
    u32 first = a.starts[blockIdx.x], end = a.starts[blockIdx.x + 1];
    for (u64 j = threadIdx.x; j < a.width; j += blockDim.x) {
        W sum = 0;
        for (u32 place = first; place < end; ++place) sum += wide(dy[(u64)a.places[place] * a.width + j]);
        narrow(sum, &to[j]);
    }
}
FOR_ALL(embedding_gradient, EmbeddingGradientArgs)
