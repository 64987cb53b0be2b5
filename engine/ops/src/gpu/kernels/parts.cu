// A part of a tensor, the whole with nothing but a part, and parts one after the other.

struct PartArgs {
    // [.., part, inner] and [.., whole, inner], one of which is read and the other written.
    const void* x;
    void* y;
    u64 whole, first, part, inner, count;
};

// Four elements a thread, each beside its neighbour's.
template <typename T>
__device__ void take_part(const PartArgs& a) {
    const T* x = (const T*)a.x;
    T* y = (T*)a.y;
    for (u32 step = 0; step < 4; ++step) {
        u64 to = ((u64)blockIdx.x * 4 + step) * blockDim.x + threadIdx.x;
        if (to >= a.count) return;
        u64 rows = quotient(to, a.inner), outer = quotient(rows, a.part);
        u64 k = to - rows * a.inner, j = rows - outer * a.part;
        y[to] = x[(outer * a.whole + a.first + j) * a.inner + k];
    }
}
FOR_ALL(take_part, PartArgs)

struct JoinArgs {
    // [.., part, inner] each, or null.
    void* parts[3];
    // [.., all parts, inner], of so many numbers.
    void* whole;
    // Where each part ends.
    u64 ends[3], inner, count;
};

// Calls f(i, part, j) for numbers of the whole, four a thread, each beside its neighbour's: number i is number j of a part.
template <typename F>
__device__ inline void each_of_parts(const JoinArgs& a, F f) {
    for (u32 step = 0; step < 4; ++step) {
        u64 i = ((u64)blockIdx.x * 4 + step) * blockDim.x + threadIdx.x;
        if (i >= a.count) return;
        u64 rows = quotient(i, a.inner), outer = quotient(rows, a.ends[2]);
        u64 k = i - rows * a.inner, entry = rows - outer * a.ends[2];
        bool is_first = entry < a.ends[0], is_second = !is_first && entry < a.ends[1];
        u64 first = is_first ? 0 : is_second ? a.ends[0] : a.ends[1];
        u64 entries = (is_first ? a.ends[0] : is_second ? a.ends[1] : a.ends[2]) - first;
        void* part = is_first ? a.parts[0] : is_second ? a.parts[1] : a.parts[2];
        f(i, part, (outer * entries + entry - first) * a.inner + k);
    }
}

template <typename T>
__device__ void join_parts(const JoinArgs& a) {
    each_of_parts(a, [&](u64 i, const void* part, u64 j) { ((T*)a.whole)[i] = ((const T*)part)[j]; });
}
FOR_ALL(join_parts, JoinArgs)

template <typename T>
__device__ void separate_parts(const JoinArgs& a) {
    each_of_parts(a, [&](u64 i, void* part, u64 j) {
        if (part) ((T*)part)[j] = ((const T*)a.whole)[i];
    });
}
FOR_ALL(separate_parts, JoinArgs)

template <typename T>
__device__ void place_part(const PartArgs& a) {
    const T* x = (const T*)a.x;
    T* y = (T*)a.y;
    for (u32 step = 0; step < 4; ++step) {
        u64 to = ((u64)blockIdx.x * 4 + step) * blockDim.x + threadIdx.x;
        if (to >= a.count) return;
        u64 rows = quotient(to, a.inner), outer = quotient(rows, a.whole);
        u64 k = to - rows * a.inner, j = rows - outer * a.whole;
        bool is_in = j >= a.first && j < a.first + a.part;
        if (is_in) y[to] = x[(outer * a.part + j - a.first) * a.inner + k];
        else narrow((typename Wide<T>::Type)0, &y[to]);
    }
}
FOR_ALL(place_part, PartArgs)
