// All parameters in one pass. A list names them; a block finds its own by halving.

const u32 ELEMENTS_A_BLOCK = 4096;

struct Listed {
    // The parameter, its gradient and its moments.
    void* parameter;
    const void* gradient;
    void *first_moment, *second_moment;
    u64 count;
    // The number of its first block.
    u64 first_block;
    // What the gradient is made of, where the parameter is of single precision: 0 the same, 1 halves, 2 brain floats.
    u64 format;
    // What the parameter is multiplied with: its decay. The others depend on the steps that it was moved in.
    double shrink, step_size, inverse_sqrt_correction2;
};

// The last entry that starts at or before this block.
__device__ inline const Listed& listed(const Listed* list, u64 length) {
    u64 low = 0, high = length;
    while (high - low > 1) {
        u64 middle = (low + high) / 2;
        if (list[middle].first_block <= blockIdx.x) low = middle;
        else high = middle;
    }
    return list[low];
}

struct AdamwArgs {
    const Listed* list;
    u64 length;
    double gradient_scale, beta1, one_minus_beta1, beta2, one_minus_beta2, epsilon;
};

// An element of a gradient.
__device__ inline double gradient_at(const Listed& entry, u64 i, double) { return ((const double*)entry.gradient)[i]; }
__device__ inline float gradient_at(const Listed& entry, u64 i, float) {
    if (entry.format == 0) return ((const float*)entry.gradient)[i];
    return entry.format == 1 ? wide(((const Half*)entry.gradient)[i]) : wide(((const Bfloat*)entry.gradient)[i]);
}

template <typename W>
__device__ void adamw(const AdamwArgs& a) {
    const Listed& entry = listed(a.list, a.length);
    W *p = (W*)entry.parameter, *m = (W*)entry.first_moment, *v = (W*)entry.second_moment;
    u64 first = (blockIdx.x - entry.first_block) * ELEMENTS_A_BLOCK;
    u64 end = first + ELEMENTS_A_BLOCK < entry.count ? first + ELEMENTS_A_BLOCK : entry.count;
    W shrink = (W)entry.shrink;
    for (u64 i = first + threadIdx.x; i < end; i += blockDim.x) {
        // All is read before anything is written: the compiler cannot know that these are different places.
        W g = (W)a.gradient_scale * gradient_at(entry, i, W()), old_m = m[i], old_v = v[i], old_p = p[i];
        W new_m = (W)a.beta1 * old_m + (W)a.one_minus_beta1 * g;
        W new_v = (W)a.beta2 * old_v + (W)a.one_minus_beta2 * (g * g);
        W denominator = root(new_v) * (W)entry.inverse_sqrt_correction2 + (W)a.epsilon;
        m[i] = new_m;
        v[i] = new_v;
        p[i] = old_p * shrink - (W)entry.step_size * new_m / denominator;
    }
}
FOR_REALS(adamw, AdamwArgs)

struct SquaresArgs {
    const Listed* list;
    u64 length;
    // One a block.
    double* sums;
};

template <typename T>
__device__ void squares(const SquaresArgs& a) {
    const Listed& entry = listed(a.list, a.length);
    const T* gradient = (const T*)entry.gradient;
    u64 first = (blockIdx.x - entry.first_block) * ELEMENTS_A_BLOCK;
    u64 end = first + ELEMENTS_A_BLOCK < entry.count ? first + ELEMENTS_A_BLOCK : entry.count;
    double sum = 0;
    for (u64 i = first + threadIdx.x; i < end; i += blockDim.x) {
        double x = (double)wide(gradient[i]);
        sum += x * x;
    }
    sum = block_sum(sum);
    if (threadIdx.x == 0) a.sums[blockIdx.x] = sum;
}
FOR_ALL(squares, SquaresArgs)

struct CastAllArgs {
    // From the gradient, in single precision, to the parameter.
    const Listed* list;
    u64 length;
};

template <typename T>
__device__ void cast_all(const CastAllArgs& a) {
    const Listed& entry = listed(a.list, a.length);
    const float* from = (const float*)entry.gradient;
    T* to = (T*)entry.parameter;
    u64 first = (blockIdx.x - entry.first_block) * ELEMENTS_A_BLOCK;
    u64 end = first + ELEMENTS_A_BLOCK < entry.count ? first + ELEMENTS_A_BLOCK : entry.count;
    bool is_aligned = takes_four<float>(from + first) && takes_four<T>(to + first);
    for (u64 i = first + threadIdx.x * 4; i < end; i += blockDim.x * 4) {
        u64 left = end - i;
        bool whole = left >= 4 && is_aligned;
        typename Wide<T>::Type values[4];
        float four[4];
        read_four(from + i, left, whole, four);
        for (u32 k = 0; k < 4; ++k) values[k] = four[k];
        write_four(values, left, whole, to + i);
    }
}
FOR_ALL(cast_all, CastAllArgs)
