// The loss of language modelling from logits. A block has one row; of the forward pass one number a row is kept.

struct CrossEntropyArgs {
    const void* logits;
    // Below zero = the row does not count.
    const i64* labels;
    // One a row, in what is computed in.
    void *log_sum_exp, *losses;
    // Numbers of a row, and from one row to the next.
    u64 width, stride;
};

template <typename T>
__device__ void cross_entropy(const CrossEntropyArgs& a) {
    typedef typename Wide<T>::Type W;
    u64 row = blockIdx.x;
    const T* x = (const T*)a.logits + row * a.stride;
    // In one pass: the largest so far, and the sum of exponentials beside it.
    W own = lowest<W>(), total = 0;
    auto add = [&](const W values[4], u32 left) {
        W largest = own;
        UNROLL
        for (u32 k = 0; k < 4; ++k) {
            if (k < left && values[k] > largest) largest = values[k];
        }
        total *= exponential_for<T>(own - largest);
        UNROLL
        for (u32 k = 0; k < 4; ++k) {
            if (k < left) total += exponential_for<T>(values[k] - largest);
        }
        own = largest;
    };
    u32 width = (u32)a.width, head = (4 - (u32)((u64)x / sizeof(T) % 4)) % 4;
    if (head > width) head = width;
    if (threadIdx.x < head) {
        W values[4] = {wide(x[threadIdx.x]), 0, 0, 0};
        add(values, 1);
    }
    u32 j = head + threadIdx.x * 4, step = blockDim.x * 4;
    // Four times four are on their way at a time.
    for (; j + 3 * step + 4 <= width; j += 4 * step) {
        Four<T> fours[4];
        UNROLL
        for (u32 i = 0; i < 4; ++i) fours[i] = *(const Four<T>*)(x + j + i * step);
        UNROLL
        for (u32 i = 0; i < 4; ++i) {
            W values[4];
            UNROLL
            for (u32 k = 0; k < 4; ++k) values[k] = wide(fours[i].at[k]);
            add(values, 4);
        }
    }
    for (; j < width; j += step) {
        W values[4];
        read_four(x + j, width - j, width - j >= 4, values);
        add(values, width - j);
    }
    W most = block_max(own);
    total = block_sum(total * exponential(own - most));
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
    // May be the logits themselves.
    void* dx;
    u64 width, stride;
    double inverse_count;
};

template <typename T>
__device__ void cross_entropy_gradient(const CrossEntropyGradientArgs& a) {
    typedef typename Wide<T>::Type W;
    u64 row = blockIdx.x;
    const T* x = (const T*)a.logits + row * a.stride;
    T* dx = (T*)a.dx + row * a.stride;
    i64 label = a.labels[row];
    W factor = label < 0 ? (W)0 : *(const W*)a.gradient * (W)a.inverse_count;
    W log_sum_exp = ((const W*)a.log_sum_exp)[row];
    // A row that does not count has none.
    u32 chosen = label < 0 ? 0xffffffffu : (u32)label;
    auto slope = [&](u32 j, W value) {
        W share = exponential_for<T>(value - log_sum_exp);
        return label < 0 ? (W)0 : factor * (j == chosen ? share - 1 : share);
    };
    // Four at a time where both rows lie so.
    u32 width = (u32)a.width, head = (4 - (u32)((u64)x / sizeof(T) % 4)) % 4;
    bool alike = takes_four<T>(x + head) && takes_four<T>(dx + head);
    if (!alike || head > width) head = width;
    for (u32 j = threadIdx.x; j < head; j += blockDim.x) narrow(slope(j, wide(x[j])), &dx[j]);
    u32 j = head + threadIdx.x * 4, step = blockDim.x * 4;
    // Four times four are on their way at a time.
    for (; j + 3 * step + 4 <= width; j += 4 * step) {
        Four<T> fours[4];
        UNROLL
        for (u32 i = 0; i < 4; ++i) fours[i] = *(const Four<T>*)(x + j + i * step);
        UNROLL
        for (u32 i = 0; i < 4; ++i) {
            W values[4];
            UNROLL
            for (u32 k = 0; k < 4; ++k) values[k] = slope(j + i * step + k, wide(fours[i].at[k]));
            write_four(values, 4, true, dx + j + i * step);
        }
    }
    for (; j < width; j += step) {
        W values[4];
        u32 left = width - j;
        read_four(x + j, left, left >= 4, values);
        UNROLL
        for (u32 k = 0; k < 4; ++k) values[k] = slope(j + k, values[k]);
        write_four(values, left, left >= 4, dx + j);
    }
    for (u32 j = width + threadIdx.x; j < a.stride; j += blockDim.x) narrow((W)0, &dx[j]);
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
