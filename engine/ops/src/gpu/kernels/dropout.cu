// Dropout whose mask is computed, never stored: word i % 4 of block i / 4 of a Philox4x32-10 stream belongs to element i.

struct Dropout {
    u64 key_low, key_high;
    // Words 1 to 3 of the counter; the block is word 0 and the low 24 bits of word 1.
    u64 counter_1, counter_2, counter_3;
    // An element is dropped where its word is below; zero = no dropout.
    u64 threshold;
    double keep_scale;
};

// The four words of a block.
__device__ inline void philox(const Dropout& d, u64 block, u32 words[4]) {
    u32 c0 = (u32)block, c1 = (u32)d.counter_1 | ((u32)(block >> 32) & 0x00ffffffu);
    u32 c2 = (u32)d.counter_2, c3 = (u32)d.counter_3;
    u32 k0 = (u32)d.key_low, k1 = (u32)d.key_high;
    for (int round = 0; round < 10; ++round) {
        u64 p0 = (u64)0xd2511f53u * c0, p1 = (u64)0xcd9e8d57u * c2;
        u32 n0 = (u32)(p1 >> 32) ^ c1 ^ k0, n2 = (u32)(p0 >> 32) ^ c3 ^ k1;
        c0 = n0;
        c1 = (u32)p1;
        c2 = n2;
        c3 = (u32)p0;
        k0 += 0x9e3779b9u;
        k1 += 0xbb67ae85u;
    }
    words[0] = c0;
    words[1] = c1;
    words[2] = c2;
    words[3] = c3;
}

// What an element with this word is multiplied with.
template <typename W>
__device__ inline W kept(const Dropout& d, u32 word) {
    return word < d.threshold ? (W)0 : (W)d.keep_scale;
}

struct DropoutArgs {
    // y = base + mask x; without a base it counts as zero.
    const void *base, *x;
    void* y;
    u64 count;
    Dropout dropout;
};

// Two times four elements a thread, each of one block of random words.
template <typename T>
__device__ void dropout(const DropoutArgs& a) {
    typedef typename Wide<T>::Type W;
    const T *base = (const T*)a.base, *x = (const T*)a.x;
    T* y = (T*)a.y;
    W values[2][4], bases[2][4] = {};
    u64 blocks[2], left[2];
    bool whole[2];
    UNROLL
    for (u32 i = 0; i < 2; ++i) {
        blocks[i] = (u64)(blockIdx.x * 2 + i) * blockDim.x + threadIdx.x;
        u64 first = blocks[i] * 4;
        left[i] = first < a.count ? a.count - first : 0;
        whole[i] = left[i] >= 4 && takes_four<T>(x) && takes_four<T>(base) && takes_four<T>(y);
        read_four(x + first, left[i], whole[i], values[i]);
        if (base) read_four(base + first, left[i], whole[i], bases[i]);
    }
    UNROLL
    for (u32 i = 0; i < 2; ++i) {
        u32 words[4] = {0, 0, 0, 0};
        if (a.dropout.threshold > 0) philox(a.dropout, blocks[i], words);
        UNROLL
        for (u32 lane = 0; lane < 4; ++lane) {
            if (a.dropout.threshold > 0) values[i][lane] *= kept<W>(a.dropout, words[lane]);
            if (base) values[i][lane] += bases[i][lane];
        }
        write_four(values[i], left[i], whole[i], y + blocks[i] * 4);
    }
}
FOR_ALL(dropout, DropoutArgs)
