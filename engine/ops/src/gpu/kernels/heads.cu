// Heads apart and together.

struct SwapMiddleArgs {
    // [.., outer, inner, size]
    const void* x;
    // [.., inner, outer, size]
    void* y;
    u64 outer, inner, size, count;
};

// Four elements a thread, each beside its neighbour's.
template <typename T>
__device__ void swap_middle(const SwapMiddleArgs& a) {
    const T* x = (const T*)a.x;
    T* y = (T*)a.y;
    for (u32 step = 0; step < 4; ++step) {
        u64 to = ((u64)blockIdx.x * 4 + step) * blockDim.x + threadIdx.x;
        if (to >= a.count) return;
        u64 rows = quotient(to, a.size), groups = quotient(rows, a.outer), batch = quotient(groups, a.inner);
        u64 k = to - rows * a.size, i = rows - groups * a.outer, j = groups - batch * a.inner;
        y[to] = x[((batch * a.outer + i) * a.inner + j) * a.size + k];
    }
}
FOR_ALL(swap_middle, SwapMiddleArgs)
