// The loss of language modelling from logits. A block has one row; of the forward pass one number a row is kept.

struct CrossEntropyArgs {
    const void* logits;
    // Below zero = the row does not count.
    const i64* labels;
    // One a row, in what is computed in.
    void *log_sum_exp, *losses;
    u64 width;
};

template <typename T>
__device__ void cross_entropy(const CrossEntropyArgs& a) {
    typedef typename Wide<T>::Type W;
    u64 row = blockIdx.x;
    const T* x = (const T*)a.logits + row * a.width;
    u32 width = (u32)a.width;
    W most = lowest<W>();
    for (u32 j = threadIdx.x; j < width; j += blockDim.x) {
        W value = wide(x[j]);
        most = value > most ? value : most;
    }
    most = block_max(most);
    W total = 0;
    for (u32 j = threadIdx.x; j < width; j += blockDim.x) total += exponential(wide(x[j]) - most);
    total = block_sum(total);
    if (threadIdx.x > 0) return;
    W log_sum_exp = most + logarithm(total);
    i64 label = a.labels[row];
    ((W*)a.log_sum_exp)[row] = log_sum_exp;
    ((W*)a.losses)[row] = label < 0 ? (W)0 : log_sum_exp - wide(x[label]);
}
FOR_ALL(cross_entropy, CrossEntropyArgs)

struct CrossEntropyGradientArgs {
    const void* logits;
    const i64* labels;
    const void* log_sum_exp;
    // The gradient of the loss, one number where the logits are.
    const void* gradient;
    void* dx;
    u64 width;
    double inverse_count;
};

template <typename T>
__device__ void cross_entropy_gradient(const CrossEntropyGradientArgs& a) {
    typedef typename Wide<T>::Type W;
    u64 row = blockIdx.x;
    const T* x = (const T*)a.logits + row * a.width;
    T* dx = (T*)a.dx + row * a.width;
    i64 label = a.labels[row];
    W factor = label < 0 ? (W)0 : *(const W*)a.gradient * (W)a.inverse_count;
    W log_sum_exp = ((const W*)a.log_sum_exp)[row];
    for (u32 j = threadIdx.x; j < a.width; j += blockDim.x) {
        W chosen = (i64)j == label ? (W)1 : (W)0;
        narrow(label < 0 ? (W)0 : factor * (exponential(wide(x[j]) - log_sum_exp) - chosen), &dx[j]);
    }
}
FOR_ALL(cross_entropy_gradient, CrossEntropyGradientArgs)

struct MeanArgs {
    const void* values;
    void* mean;
    u64 count;
    double inverse_count;
};

// One block.
template <typename W>
__device__ void mean(const MeanArgs& a) {
    double total = 0;
    for (u64 i = threadIdx.x; i < a.count; i += blockDim.x) total += ((const W*)a.values)[i];
    total = block_sum(total);
    if (threadIdx.x == 0) *(W*)a.mean = (W)(total * a.inverse_count);
}
FOR_REALS(mean, MeanArgs)
