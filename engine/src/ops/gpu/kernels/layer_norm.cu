// Layer normalisation. A block has one row.

struct LayerNormArgs {
    const void *x, *gain, *bias;
    void* y;
    // One of each a row, in what is computed in: kept for the backward pass.
    void *mean, *inverse_deviation;
    u64 width;
    double epsilon;
};

template <typename T>
__device__ void layer_norm(const LayerNormArgs& a) {
    typedef typename Wide<T>::Type W;
    u64 row = blockIdx.x;
    u32 width = (u32)a.width;
    const T *x = (const T*)a.x + row * a.width, *gain = (const T*)a.gain, *bias = (const T*)a.bias;
    T* y = (T*)a.y + row * a.width;
    W sum = 0;
    for (u32 j = threadIdx.x; j < width; j += blockDim.x) sum += wide(x[j]);
    W mean = block_sum(sum) / (W)width;
    // From the centred row: a large mean costs no digits.
    W squares = 0;
    for (u32 j = threadIdx.x; j < width; j += blockDim.x) {
        W centred = wide(x[j]) - mean;
        squares += centred * centred;
    }
    W inverse = 1 / root(block_sum(squares) / (W)width + (W)a.epsilon);
    for (u32 j = threadIdx.x; j < width; j += blockDim.x) {
        narrow((wide(x[j]) - mean) * inverse * wide(gain[j]) + wide(bias[j]), &y[j]);
    }
    if (threadIdx.x == 0) {
        ((W*)a.mean)[row] = mean;
        ((W*)a.inverse_deviation)[row] = inverse;
    }
}
FOR_ALL(layer_norm, LayerNormArgs)

struct LayerNormGradientArgs {
    const void *x, *gain, *dy, *mean, *inverse_deviation;
    void* dx;
    u64 width;
};

// dx = r (g - mean(g) - z mean(g z)) with z the normalised row, g = gain dy.
template <typename T>
__device__ void layer_norm_gradient(const LayerNormGradientArgs& a) {
    typedef typename Wide<T>::Type W;
    u64 row = blockIdx.x;
    u32 width = (u32)a.width;
    const T *x = (const T*)a.x + row * a.width, *gain = (const T*)a.gain, *dy = (const T*)a.dy + row * a.width;
    T* dx = (T*)a.dx + row * a.width;
    W mean = ((const W*)a.mean)[row], inverse = ((const W*)a.inverse_deviation)[row];
    W sum = 0, dot = 0;
    for (u32 j = threadIdx.x; j < width; j += blockDim.x) {
        W g = wide(gain[j]) * wide(dy[j]);
        sum += g;
        dot += g * (wide(x[j]) - mean) * inverse;
    }
    sum = block_sum(sum) / (W)width;
    dot = block_sum(dot) / (W)width;
    for (u32 j = threadIdx.x; j < width; j += blockDim.x) {
        W g = wide(gain[j]) * wide(dy[j]);
        narrow(inverse * (g - sum - (wide(x[j]) - mean) * inverse * dot), &dx[j]);
    }
}
FOR_ALL(layer_norm_gradient, LayerNormGradientArgs)
