// The Gaussian error linear unit of x + bias, exactly and by its tanh form.

struct GeluArgs {
    // Without a bias null.
    const void *x, *bias;
    // For the gradient; otherwise null.
    const void* dy;
    void* y;
    u64 count, width;
    u64 is_tanh;
};

// The part of x that comes out.
template <typename W>
__device__ inline W share(W x, bool is_tanh) {
    if (is_tanh) {
        // Beyond this the tanh is one to the last bit; the clamp keeps cubes from overflowing.
        W z = x > 30 ? (W)30 : x < -30 ? (W)-30 : x;
        return one_in_one_and(-2 * (W)0.7978845608028654 * z * (1 + (W)0.044715 * z * z));
    }
    return (W)0.5 * (1 + error_function(x * (W)0.7071067811865476));
}

// The same, and its slope.
template <typename W>
__device__ inline void gate(W x, bool is_tanh, W* part, W* slope) {
    if (is_tanh) {
        const W root_two_over_pi = (W)0.7978845608028654, cubic = (W)0.044715;
        // Beyond this the tanh is one to the last bit; the clamp keeps cubes from overflowing.
        W z = x > 30 ? (W)30 : x < -30 ? (W)-30 : x;
        W two_u = 2 * root_two_over_pi * z * (1 + cubic * z * z);
        W s = one_in_one_and(-two_u);
        *part = s;
        *slope = s * (1 - s) * 2 * root_two_over_pi * (1 + 3 * cubic * z * z);
    } else {
        const W root_half = (W)0.7071067811865476, density = (W)0.3989422804014327;
        *part = (W)0.5 * (1 + error_function(x * root_half));
        // Where the square overflows, or the density is zero, so is the product with x.
        W z = x > 40 ? (W)40 : x < -40 ? (W)-40 : x;
        *slope = density * exponential((W)-0.5 * z * z);
    }
}

// Two times four elements a thread.
template <typename T>
__device__ void gelu(const GeluArgs& a) {
    typedef typename Wide<T>::Type W;
    const T *x = (const T*)a.x, *bias = (const T*)a.bias, *dy = (const T*)a.dy;
    T* y = (T*)a.y;
    W values[2][4], biases[2][4] = {}, gradients[2][4] = {};
    u64 firsts[2], left[2];
    bool whole[2], in_row[2];
    // All is read before anything is computed.
    UNROLL
    for (u32 i = 0; i < 2; ++i) {
        firsts[i] = ((u64)(blockIdx.x * 2 + i) * blockDim.x + threadIdx.x) * 4;
        left[i] = firsts[i] < a.count ? a.count - firsts[i] : 0;
        whole[i] = left[i] >= 4 && takes_four<T>(x) && takes_four<T>(dy) && takes_four<T>(y);
        in_row[i] = whole[i] && bias && a.width % 4 == 0 && takes_four<T>(bias);
        read_four(x + firsts[i], left[i], whole[i], values[i]);
        if (dy) read_four(dy + firsts[i], left[i], whole[i], gradients[i]);
        if (in_row[i]) read_four(bias + modulo(firsts[i], a.width), 4, true, biases[i]);
    }
    UNROLL
    for (u32 i = 0; i < 2; ++i) {
        UNROLL
        for (u32 k = 0; k < 4; ++k) {
            W value = values[i][k], part, slope;
            if (bias && k < left[i]) value += in_row[i] ? biases[i][k] : wide(bias[modulo(firsts[i] + k, a.width)]);
            if (dy) {
                gate(value, a.is_tanh != 0, &part, &slope);
                W steep = slope == 0 ? (W)0 : value * slope;
                values[i][k] = gradients[i][k] * (part + steep);
            } else {
                values[i][k] = value * share(value, a.is_tanh != 0);
            }
        }
        write_four(values[i], left[i], whole[i], y + firsts[i]);
    }
}
FOR_ALL(gelu, GeluArgs)
