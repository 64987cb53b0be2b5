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

// The part of x that comes out, and its slope.
template <typename W>
__device__ inline void gate(W x, bool is_tanh, W* part, W* slope) {
    if (is_tanh) {
        const W root_two_over_pi = (W)0.7978845608028654, cubic = (W)0.044715;
        // Beyond this the tanh is one to the last bit; the clamp keeps cubes from overflowing.
        W z = x > 30 ? (W)30 : x < -30 ? (W)-30 : x;
        W two_u = 2 * root_two_over_pi * z * (1 + cubic * z * z);
        W s = 1 / (1 + exponential(-two_u));
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

// Four elements a thread.
template <typename T>
__device__ void gelu(const GeluArgs& a) {
    typedef typename Wide<T>::Type W;
    const T *x = (const T*)a.x, *bias = (const T*)a.bias, *dy = (const T*)a.dy;
    T* y = (T*)a.y;
    for (u32 step = 0; step < 4; ++step) {
        u64 i = ((u64)blockIdx.x * 4 + step) * blockDim.x + threadIdx.x;
        if (i >= a.count) return;
        W value = wide(x[i]);
        if (bias) value += wide(bias[modulo(i, a.width)]);
        W part, slope;
        gate(value, a.is_tanh != 0, &part, &slope);
        if (!dy) {
            narrow(value * part, &y[i]);
        } else {
            W steep = slope == 0 ? (W)0 : value * slope;
            narrow(wide(dy[i]) * (part + steep), &y[i]);
        }
    }
}
FOR_ALL(gelu, GeluArgs)
