// Layer normalisation. A block has one row; of rows of up to 1024 numbers a warp has one, and holds it.

struct LayerNormArgs {
    const void *x, *gain, *bias;
    void* y;
    // One of each a row, in what is computed in: kept for the backward pass.
    void *mean, *inverse_deviation;
    u64 width;
    double epsilon;
    u64 rows;
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

template <typename T>
__device__ void layer_norm_warps(const LayerNormArgs& a) {
    typedef typename Wide<T>::Type W;
    u64 row = (u64)blockIdx.x * ROWS_OF_WARPS + threadIdx.x / WARP;
    if (row >= a.rows) return;
    u32 width = (u32)a.width, lane = threadIdx.x % WARP;
    const T *x = (const T*)a.x + row * a.width, *gain = (const T*)a.gain, *bias = (const T*)a.bias;
    T* y = (T*)a.y + row * a.width;
    bool whole = width % 4 == 0 && takes_four<T>(a.x) && takes_four<T>(a.y) && takes_four<T>(gain) && takes_four<T>(bias);
    W values[FOURS_OF_WARP][4], sum = 0, squares = 0;
    if (whole) {
        // What lies past the end is read from the beginning, and is zero.
        Four<T> fours[FOURS_OF_WARP];
        UNROLL
        for (u32 i = 0; i < FOURS_OF_WARP; ++i) {
            u32 j = (i * WARP + lane) * 4;
            fours[i] = *(const Four<T>*)(x + (j < width ? j : 0));
        }
        UNROLL
        for (u32 i = 0; i < FOURS_OF_WARP; ++i) {
            UNROLL
            for (u32 k = 0; k < 4; ++k) values[i][k] = (i * WARP + lane) * 4 < width ? wide(fours[i].at[k]) : (W)0;
        }
    } else {
        UNROLL
        for (u32 i = 0; i < FOURS_OF_WARP; ++i) {
            u32 j = (i * WARP + lane) * 4;
            read_four(x + j, j < width ? width - j : 0, false, values[i]);
        }
    }
    UNROLL
    for (u32 i = 0; i < FOURS_OF_WARP; ++i) {
        UNROLL
        for (u32 k = 0; k < 4; ++k) sum += values[i][k];
    }
    W mean = warp_sum(sum) / (W)width;
    // From the centred row: a large mean costs no digits.
    UNROLL
    for (u32 i = 0; i < FOURS_OF_WARP; ++i) {
        UNROLL
        for (u32 k = 0; k < 4; ++k) {
            values[i][k] -= mean;
            if ((i * WARP + lane) * 4 + k < width) squares += values[i][k] * values[i][k];
        }
    }
    W inverse = 1 / root(warp_sum(squares) / (W)width + (W)a.epsilon);
    UNROLL
    for (u32 i = 0; i < FOURS_OF_WARP; ++i) {
        u32 j = (i * WARP + lane) * 4, left = j < width ? width - j : 0;
        if (left == 0) continue;
        W gains[4], biases[4];
        read_four(gain + j, left, whole, gains);
        read_four(bias + j, left, whole, biases);
        UNROLL
        for (u32 k = 0; k < 4; ++k) values[i][k] = values[i][k] * inverse * gains[k] + biases[k];
        write_four(values[i], left, whole, y + j);
    }
    if (lane == 0) {
        ((W*)a.mean)[row] = mean;
        ((W*)a.inverse_deviation)[row] = inverse;
    }
}
FOR_ALL(layer_norm_warps, LayerNormArgs)

struct LayerNormGradientArgs {
    const void *x, *gain, *dy, *mean, *inverse_deviation;
    void* dx;
    u64 width, rows;
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

template <typename T>
__device__ void layer_norm_gradient_warps(const LayerNormGradientArgs& a) {
    typedef typename Wide<T>::Type W;
    u64 row = (u64)blockIdx.x * ROWS_OF_WARPS + threadIdx.x / WARP;
    if (row >= a.rows) return;
    u32 width = (u32)a.width, lane = threadIdx.x % WARP;
    const T *x = (const T*)a.x + row * a.width, *gain = (const T*)a.gain, *dy = (const T*)a.dy + row * a.width;
    T* dx = (T*)a.dx + row * a.width;
    bool whole = width % 4 == 0 && takes_four<T>(a.x) && takes_four<T>(a.dy) && takes_four<T>(a.dx) && takes_four<T>(gain);
    W mean = ((const W*)a.mean)[row], inverse = ((const W*)a.inverse_deviation)[row];
    W values[FOURS_OF_WARP][4], slopes[FOURS_OF_WARP][4], sum = 0, dot = 0;
    UNROLL
    for (u32 i = 0; i < FOURS_OF_WARP; ++i) {
        u32 j = (i * WARP + lane) * 4, left = j < width ? width - j : 0;
        W gains[4];
        read_four(x + j, left, whole && left > 0, values[i]);
        read_four(dy + j, left, whole && left > 0, slopes[i]);
        read_four(gain + j, left, whole && left > 0, gains);
        UNROLL
        for (u32 k = 0; k < 4; ++k) {
            slopes[i][k] *= gains[k];
            values[i][k] = (values[i][k] - mean) * inverse;
            sum += slopes[i][k];
            dot += slopes[i][k] * values[i][k];
        }
    }
    sum = warp_sum(sum) / (W)width;
    dot = warp_sum(dot) / (W)width;
    UNROLL
    for (u32 i = 0; i < FOURS_OF_WARP; ++i) {
        u32 j = (i * WARP + lane) * 4, left = j < width ? width - j : 0;
        if (left == 0) continue;
        UNROLL
        for (u32 k = 0; k < 4; ++k) slopes[i][k] = inverse * (slopes[i][k] - sum - values[i][k] * dot);
        write_four(slopes[i], left, whole, dx + j);
    }
}
FOR_ALL(layer_norm_gradient_warps, LayerNormGradientArgs)

struct LayerNormGradientsArgs {
    LayerNormGradientArgs of;
    // Sums over rows of dy, then of dy times the normalised row: [2, chunks, width], where a block has `groups` chunks.
    void* sums;
    u64 groups;
};

const u32 ROWS_OF_GRADIENTS = 16;

// dx, and what the gradients of gain and bias are summed from, where a row has at most four numbers for each thread of a block: of its sixteen
// rows it first finds the means, a warp for a row, then goes over columns.
template <typename T>
__device__ void layer_norm_gradients(const LayerNormGradientsArgs& all_of) {
    typedef typename Wide<T>::Type W;
    const LayerNormGradientArgs& a = all_of.of;
    __shared__ W sums[ROWS_OF_GRADIENTS], dots[ROWS_OF_GRADIENTS];
    u32 width = (u32)a.width, lane = threadIdx.x % WARP;
    u64 first = (u64)blockIdx.x * ROWS_OF_GRADIENTS;
    const T *x = (const T*)a.x, *gain = (const T*)a.gain, *dy = (const T*)a.dy;
    T* dx = (T*)a.dx;
    bool whole = width % 4 == 0 && takes_four<T>(x) && takes_four<T>(dy) && takes_four<T>(dx) && takes_four<T>(gain);
    for (u32 r = threadIdx.x / WARP; r < ROWS_OF_GRADIENTS && first + r < a.rows; r += blockDim.x / WARP) {
        u64 row = first + r;
        W mean = ((const W*)a.mean)[row], sum = 0, dot = 0;
        auto add = [&](const W values[4], const W slopes[4], const W gains[4]) {
            UNROLL
            for (u32 k = 0; k < 4; ++k) {
                W g = slopes[k] * gains[k];
                sum += g;
                dot += g * (values[k] - mean);
            }
        };
        u32 j = lane * 4;
        // Two times three fours are on their way at a time.
        for (; whole && j + WARP * 4 < width; j += 2 * WARP * 4) {
            Four<T> fours[2][3];
            UNROLL
            for (u32 i = 0; i < 2; ++i) {
                u32 at = j + i * WARP * 4;
                fours[i][0] = *(const Four<T>*)(x + row * a.width + at);
                fours[i][1] = *(const Four<T>*)(dy + row * a.width + at);
                fours[i][2] = *(const Four<T>*)(gain + at);
            }
            UNROLL
            for (u32 i = 0; i < 2; ++i) {
                W wides[3][4];
                UNROLL
                for (u32 of = 0; of < 3; ++of) {
                    UNROLL
                    for (u32 k = 0; k < 4; ++k) wides[of][k] = wide(fours[i][of].at[k]);
                }
                add(wides[0], wides[1], wides[2]);
            }
        }
        for (; j < width; j += WARP * 4) {
            W values[4], slopes[4], gains[4];
            read_four(x + row * a.width + j, width - j, whole, values);
            read_four(dy + row * a.width + j, width - j, whole, slopes);
            read_four(gain + j, width - j, whole, gains);
            add(values, slopes, gains);
        }
        sum = warp_sum(sum) / (W)width;
        dot = warp_sum(dot) * ((const W*)a.inverse_deviation)[row] / (W)width;
        if (lane == 0) {
            sums[r] = sum;
            dots[r] = dot;
        }
    }
    __syncthreads();
    u32 fours = (width + 3) / 4, group = threadIdx.x / fours, groups = (u32)all_of.groups;
    if (group >= groups) return;
    u32 column = threadIdx.x % fours * 4, left = width - column;
    W gains[4], of_bias[4] = {0, 0, 0, 0}, of_gain[4] = {0, 0, 0, 0};
    read_four(gain + column, left, whole, gains);
    auto add = [&](u32 r, W values[4], const W slopes[4]) {
        u64 row = first + r;
        W mean = ((const W*)a.mean)[row], inverse = ((const W*)a.inverse_deviation)[row];
        UNROLL
        for (u32 k = 0; k < 4; ++k) {
            W normal = (values[k] - mean) * inverse;
            of_bias[k] += slopes[k];
            of_gain[k] += slopes[k] * normal;
            values[k] = inverse * (slopes[k] * gains[k] - sums[r] - normal * dots[r]);
        }
        write_four(values, left, whole, dx + row * a.width + column);
    };
    u32 r = group;
    // Of four rows at a time all is on its way.
    for (; whole && r + 3 * groups < ROWS_OF_GRADIENTS && first + r + 3 * groups < a.rows; r += 4 * groups) {
        Four<T> fours[4][2];
        UNROLL
        for (u32 i = 0; i < 4; ++i) {
            u64 at = (first + r + i * groups) * a.width + column;
            fours[i][0] = *(const Four<T>*)(x + at);
            fours[i][1] = *(const Four<T>*)(dy + at);
        }
        UNROLL
        for (u32 i = 0; i < 4; ++i) {
            W values[4], slopes[4];
            UNROLL
            for (u32 k = 0; k < 4; ++k) {
                values[k] = wide(fours[i][0].at[k]);
                slopes[k] = wide(fours[i][1].at[k]);
            }
            add(r + i * groups, values, slopes);
        }
    }
    for (; r < ROWS_OF_GRADIENTS && first + r < a.rows; r += groups) {
        W values[4], slopes[4];
        read_four(x + (first + r) * a.width + column, left, whole, values);
        read_four(dy + (first + r) * a.width + column, left, whole, slopes);
        add(r, values, slopes);
    }
    u64 chunk = (u64)blockIdx.x * groups + group, chunks = (u64)gridDim.x * groups;
    W *biases = (W*)all_of.sums + chunk * a.width + column, *products = biases + chunks * a.width;
    for (u32 k = 0; k < 4 && k < left; ++k) {
        biases[k] = of_bias[k];
        products[k] = of_gain[k];
    }
}
FOR_ALL(layer_norm_gradients, LayerNormGradientsArgs)
