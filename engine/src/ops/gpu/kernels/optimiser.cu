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

template <typename W>
__device__ void adamw(const AdamwArgs& a) {
    const Listed& entry = listed(a.list, a.length);
    W *p = (W*)entry.parameter, *m = (W*)entry.first_moment, *v = (W*)entry.second_moment;
    const W* gradient = (const W*)entry.gradient;
    u64 first = (blockIdx.x - entry.first_block) * ELEMENTS_A_BLOCK;
    u64 end = first + ELEMENTS_A_BLOCK < entry.count ? first + ELEMENTS_A_BLOCK : entry.count;
    W shrink = (W)entry.shrink;
    for (u64 i = first + threadIdx.x; i < end; i += blockDim.x) {
        // All is read before anything is written: the compiler cannot know that these are different places.
        W g = (W)a.gradient_scale * gradient[i], old_m = m[i], old_v = v[i], old_p = p[i];
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

template <typename W>
__device__ void squares(const SquaresArgs& a) {
    const Listed& entry = listed(a.list, a.length);
    const W* gradient = (const W*)entry.gradient;
    u64 first = (blockIdx.x - entry.first_block) * ELEMENTS_A_BLOCK;
    u64 end = first + ELEMENTS_A_BLOCK < entry.count ? first + ELEMENTS_A_BLOCK : entry.count;
    double sum = 0;
    for (u64 i = first + threadIdx.x; i < end; i += blockDim.x) sum += (double)gradient[i] * (double)gradient[i];
    sum = block_sum(sum);
    if (threadIdx.x == 0) a.sums[blockIdx.x] = sum;
}
FOR_REALS(squares, SquaresArgs)
