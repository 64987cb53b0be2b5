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

// What comes out of an element, or with a gradient what goes back into it.
template <typename W>
__device__ inline W through(W value, W gradient, bool is_back, bool is_tanh) {
    if (!is_back) return value * share(value, is_tanh);
    W part, slope;
    gate(value, is_tanh, &part, &slope);
    return gradient * (slope == 0 ? part : part + value * slope);
}

// Eight elements a thread.
template <typename T>
__device__ void gelu(const GeluArgs& a) {
    typedef typename Wide<T>::Type W;
    const u32 COUNT = InBytes<T>::COUNT, PIECES = 8 / COUNT;
    const T *x = (const T*)a.x, *bias = (const T*)a.bias, *dy = (const T*)a.dy;
    T* y = (T*)a.y;
    bool is_tanh = a.is_tanh != 0;
    u64 first = (u64)blockIdx.x * blockDim.x * 8, end = first + blockDim.x * 8;
    bool whole = end <= a.count && takes_bytes(x) && takes_bytes(dy) && takes_bytes(y);
    if (bias) whole = whole && a.width % COUNT == 0 && takes_bytes(bias);
    if (!whole) {
        for (u64 i = first + threadIdx.x; i < end && i < a.count; i += blockDim.x) {
            W value = wide(x[i]);
            if (bias) value += wide(bias[modulo(i, a.width)]);
            narrow(through(value, dy ? wide(dy[i]) : (W)0, dy != 0, is_tanh), &y[i]);
        }
        return;
    }
    Bytes values[PIECES], biases[PIECES] = {}, gradients[PIECES] = {};
    UNROLL
    for (u32 piece = 0; piece < PIECES; ++piece) {
        u64 at = first + (piece * blockDim.x + threadIdx.x) * COUNT;
        values[piece] = bytes_at(x + at);
        if (dy) gradients[piece] = bytes_at(dy + at);
        if (bias) biases[piece] = bytes_at(bias + modulo(at, a.width));
    }
    UNROLL
    for (u32 piece = 0; piece < PIECES; ++piece) {
        W value[COUNT], of_bias[COUNT], gradient[COUNT];
        widen(values[piece], value, T());
        widen(biases[piece], of_bias, T());
        widen(gradients[piece], gradient, T());
        UNROLL
        for (u32 k = 0; k < COUNT; ++k) {
            if (bias) value[k] += of_bias[k];
            value[k] = through(value[k], gradient[k], dy != 0, is_tanh);
        }
        write_bytes<T>(value, y + first + (piece * blockDim.x + threadIdx.x) * COUNT);
    }
}
FOR_ALL(gelu, GeluArgs)
