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

// Four beside each other.
template <typename T, typename W>
__device__ inline void four_of(const Listed& entry, u64 i, W to[4]) {
    Four<T> four = *(const Four<T>*)((const T*)entry.gradient + i);
    UNROLL
    for (u32 k = 0; k < 4; ++k) to[k] = wide(four.at[k]);
}
__device__ inline void four_gradients(const Listed& entry, u64 i, double to[4]) { four_of<double>(entry, i, to); }
__device__ inline void four_gradients(const Listed& entry, u64 i, float to[4]) {
    if (entry.format == 0) four_of<float>(entry, i, to);
    else if (entry.format == 1) four_of<Half>(entry, i, to);
    else four_of<Bfloat>(entry, i, to);
}

template <typename W>
__device__ void adamw(const AdamwArgs& a) {
    const Listed& entry = listed(a.list, a.length);
    W *p = (W*)entry.parameter, *m = (W*)entry.first_moment, *v = (W*)entry.second_moment;
    u64 first = (blockIdx.x - entry.first_block) * ELEMENTS_A_BLOCK;
    u64 end = first + ELEMENTS_A_BLOCK < entry.count ? first + ELEMENTS_A_BLOCK : entry.count;
    W shrink = (W)entry.shrink, scale = (W)a.gradient_scale, step_size = (W)entry.step_size;
    W correction = (W)entry.inverse_sqrt_correction2, epsilon = (W)a.epsilon;
    W beta1 = (W)a.beta1, beta2 = (W)a.beta2, rest1 = (W)a.one_minus_beta1, rest2 = (W)a.one_minus_beta2;
    auto move = [&](W g, W* one_p, W* one_m, W* one_v) {
        g *= scale;
        *one_m = beta1 * *one_m + rest1 * g;
        *one_v = beta2 * *one_v + rest2 * (g * g);
        *one_p = *one_p * shrink - step_size * *one_m / (root(*one_v) * correction + epsilon);
    };
    // All is read before anything is written: the compiler cannot know that these are different places.
    u64 i = first + threadIdx.x * 4;
    bool whole = takes_four<W>(p + first) && takes_four<W>(m + first) && takes_four<W>(v + first);
    whole = whole && (u64)entry.gradient % 16 == 0 && first % 8 == 0;
    for (; whole && i + 4 <= end; i += blockDim.x * 4) {
        Four<W> four_p = *(Four<W>*)(p + i), four_m = *(Four<W>*)(m + i), four_v = *(Four<W>*)(v + i);
        W g[4];
        four_gradients(entry, i, g);
        UNROLL
        for (u32 k = 0; k < 4; ++k) move(g[k], &four_p.at[k], &four_m.at[k], &four_v.at[k]);
        *(Four<W>*)(p + i) = four_p;
        *(Four<W>*)(m + i) = four_m;
        *(Four<W>*)(v + i) = four_v;
    }
    // Those that are left, one by one.
    u64 done = whole ? first + (end - first) / 4 * 4 : first;
    for (i = done + threadIdx.x; i < end; i += blockDim.x) {
        W one_p = p[i], one_m = m[i], one_v = v[i];
        move(gradient_at(entry, i, W()), &one_p, &one_m, &one_v);
        p[i] = one_p;
        m[i] = one_m;
        v[i] = one_v;
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
    auto add = [&](T number) {
        double x = (double)wide(number);
        sum += x * x;
    };
    u64 i = first + threadIdx.x * 4, step = blockDim.x * 4;
    bool whole = takes_four<T>(gradient + first);
    for (; whole && i + 3 * step + 4 <= end; i += 4 * step) {
        Four<T> fours[4];
        UNROLL
        for (u32 k = 0; k < 4; ++k) fours[k] = *(const Four<T>*)(gradient + i + k * step);
        UNROLL
        for (u32 k = 0; k < 16; ++k) add(fours[k / 4].at[k % 4]);
    }
    for (; i < end; i += step) {
        for (u32 k = 0; k < 4 && i + k < end; ++k) add(gradient[i + k]);
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
