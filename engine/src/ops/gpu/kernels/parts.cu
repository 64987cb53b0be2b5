// A part of a tensor, and the whole with nothing but a part.

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

// Writes a part and leaves the rest.
template <typename T>
__device__ void put_part(const PartArgs& a) {
    const T* x = (const T*)a.x;
    T* y = (T*)a.y;
    for (u32 step = 0; step < 4; ++step) {
        u64 from = ((u64)blockIdx.x * 4 + step) * blockDim.x + threadIdx.x;
        if (from >= a.count) return;
        u64 rows = quotient(from, a.inner), outer = quotient(rows, a.part);
        u64 k = from - rows * a.inner, j = rows - outer * a.part;
        y[(outer * a.whole + a.first + j) * a.inner + k] = x[from];
    }
}
FOR_ALL(put_part, PartArgs)

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
