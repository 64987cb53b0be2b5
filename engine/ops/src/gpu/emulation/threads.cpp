// Runs the kernels on a processor, for tests. A block's threads are coroutines: each runs until it has to wait for others,
// so that a barrier that not all threads reach is found, and threads are resumed in rising and falling order in turns,
// so that a barrier that is missing shows in the results.

#include <cmath>
#include <cstdint>
#include <cstdio>
#include <cstdlib>
#include <cstring>
#include <map>
#include <mutex>
#include <string>
#include <ucontext.h>
#include <vector>

#define EMULATED
#define __device__
#define __shared__ static

struct Place {
    unsigned x, y, z;
};
static Place threadIdx, blockIdx, blockDim, gridDim;

static unsigned __float_as_uint(float x) {
    unsigned bits;
    std::memcpy(&bits, &x, sizeof bits);
    return bits;
}

static float __uint_as_float(unsigned bits) {
    float x;
    std::memcpy(&x, &bits, sizeof x);
    return x;
}

// Numbers of 16 bits by their definition (IEEE 754): sign, five bits of exponent, ten of fraction.
static float half_to_float(unsigned short bits) {
    int exponent = (bits >> 10) & 31, fraction = bits & 1023;
    float size = exponent == 31 ? (fraction ? NAN : INFINITY)
                 : exponent    ? std::ldexp((float)(fraction + 1024), exponent - 25)
                               : std::ldexp((float)fraction, -24);
    return bits & 0x8000 ? -size : size;
}

static unsigned short float_to_half(float x) {
    unsigned short sign = std::signbit(x) ? 0x8000 : 0;
    float size = std::fabs(x);
    if (std::isnan(x)) return 0x7fff;
    if (size >= 65520.0f) return sign | 0x7c00;
    int exponent;
    std::frexp(size, &exponent);
    // The distance to the next number of 16 bits; the default rounding is to the nearest, ties to the even one.
    int unit = (size < 6.103515625e-05f ? -13 : exponent) - 11;
    float whole = std::nearbyint(std::ldexp(size, -unit));
    float rounded = std::ldexp(whole, unit);
    if (rounded < 6.103515625e-05f) return sign | (unsigned short)std::ldexp(rounded, 24);
    std::frexp(rounded, &exponent);
    return sign | (unsigned short)(((exponent + 14) << 10) + ((int)std::ldexp(rounded, 11 - exponent) - 1024));
}

enum State { READY, AT_WARP, AT_BLOCK, ENDED };

struct Thread {
    ucontext_t context;
    State state;
    uint64_t slot;
};

static const size_t STACK = 64 * 1024;
static ucontext_t scheduler;
static std::vector<Thread> threads;
static std::vector<char> stacks;
static unsigned current;

static void wait(State state) {
    threads[current].state = state;
    swapcontext(&threads[current].context, &scheduler);
}

static void __syncthreads() { wait(AT_BLOCK); }

template <typename X>
static X __shfl_xor_sync(unsigned, X x, unsigned distance) {
    unsigned me = current;
    threads[me].slot = 0;
    std::memcpy(&threads[me].slot, &x, sizeof x);
    wait(AT_WARP);
    X other;
    std::memcpy(&other, &threads[me ^ distance].slot, sizeof other);
    wait(AT_WARP);
    return other;
}

// The tensor units: what the lanes of a warp hand in, put together as the instructions say. Of numbers of 16 bits that know
// how they are widened.
struct Lane {
    unsigned left[4], right[2];
    const char* row;
};
static Lane lanes[1024];

template <typename T>
static void multiply_add(T, float c[4], const unsigned a[4], const unsigned b[2]) {
    unsigned me = current, warp = me / 32 * 32, g = me % 32 / 4, t = me % 4;
    std::memcpy(lanes[me].left, a, sizeof lanes[me].left);
    std::memcpy(lanes[me].right, b, sizeof lanes[me].right);
    wait(AT_WARP);
    for (unsigned e = 0; e < 4; ++e) {
        unsigned row = g + e / 2 * 8, column = t * 2 + e % 2;
        for (unsigned k = 0; k < 16; ++k) {
            T x, y;
            x.bits = (unsigned short)(lanes[warp + row % 8 * 4 + k % 8 / 2].left[row / 8 + k / 8 * 2] >> (k % 2 * 16));
            y.bits = (unsigned short)(lanes[warp + column * 4 + k % 8 / 2].right[k / 8] >> (k % 2 * 16));
            c[e] += wide(x) * wide(y);
        }
    }
    wait(AT_WARP);
}

static void read_matrices(unsigned to[4], const void* row) {
    unsigned me = current, warp = me / 32 * 32, g = me % 32 / 4, t = me % 4;
    lanes[me].row = (const char*)row;
    wait(AT_WARP);
    for (unsigned m = 0; m < 4; ++m) std::memcpy(&to[m], lanes[warp + m * 8 + g].row + t * 4, 4);
    wait(AT_WARP);
}

// Likewise of numbers with ten bits of fraction, whose other bits are passed over. What does not fit into a sum is cut off.
static float as_tf32(unsigned bits) { return __uint_as_float(bits & 0xffffe000u); }
static void multiply_add_tf32(float c[4], const unsigned a[4], const unsigned b[2]) {
    unsigned me = current, warp = me / 32 * 32, g = me % 32 / 4, t = me % 4;
    std::memcpy(lanes[me].left, a, sizeof lanes[me].left);
    std::memcpy(lanes[me].right, b, sizeof lanes[me].right);
    wait(AT_WARP);
    for (unsigned e = 0; e < 4; ++e) {
        unsigned row = g + e / 2 * 8, column = t * 2 + e % 2;
        double sum = c[e];
        for (unsigned k = 0; k < 8; ++k) {
            float x = as_tf32(lanes[warp + row % 8 * 4 + k % 4].left[row / 8 + k / 4 * 2]);
            float y = as_tf32(lanes[warp + column * 4 + k % 4].right[k / 4]);
            sum += (double)x * y;
        }
        float rounded = (float)sum;
        c[e] = std::fabs(rounded) > std::fabs(sum) ? std::nextafter(rounded, 0.0f) : rounded;
    }
    wait(AT_WARP);
}

static void copy_sixteen(void* to, const void* from, bool is_there) {
    if (is_there) std::memcpy(to, from, 16);
    else std::memset(to, 0, 16);
}
static void end_of_group() {}
static void wait_for_copies(bool) {}
static float exponential_of_two(float x) { return std::exp2(x); }
static float one_in(float x) { return 1 / x; }

template <typename T>
static unsigned packed(T, float first, float second) {
    T a, b;
    narrow(first, &a);
    narrow(second, &b);
    return a.bits | (unsigned)b.bits << 16;
}

static void read_transposed(unsigned to[4], const void* row) {
    unsigned me = current, warp = me / 32 * 32, g = me % 32 / 4, t = me % 4;
    lanes[me].row = (const char*)row;
    wait(AT_WARP);
    for (unsigned m = 0; m < 4; ++m) {
        unsigned short two[2];
        for (unsigned k = 0; k < 2; ++k) std::memcpy(&two[k], lanes[warp + m * 8 + t * 2 + k].row + g * 2, 2);
        to[m] = two[0] | (unsigned)two[1] << 16;
    }
    wait(AT_WARP);
}

typedef void (*Body)(const void*);
static std::map<std::string, Body>& kernels() {
    static std::map<std::string, Body> all;
    return all;
}
struct Registered {
    Registered(const char* name, Body body) { kernels()[name] = body; }
};

#define KERNEL(NAME, ARGS, TYPE, SUFFIX)                                                         \
    static void run_##NAME##_##SUFFIX(const void* args) { NAME<TYPE>(*(const ARGS*)args); }      \
    static Registered registered_##NAME##_##SUFFIX(#NAME "_" #SUFFIX, run_##NAME##_##SUFFIX);

static Body body;
static const void* arguments;

static void enter() {
    body(arguments);
    threads[current].state = ENDED;
    swapcontext(&threads[current].context, &scheduler);
}

// Lets those go on whom everybody has reached; false if there are none.
static bool release() {
    size_t ended = 0, at_block = 0;
    bool any = false;
    for (size_t first = 0; first < threads.size(); first += 32) {
        size_t last = first + 32 < threads.size() ? first + 32 : threads.size(), here = 0;
        for (size_t i = first; i < last; ++i) {
            here += threads[i].state == AT_WARP;
            ended += threads[i].state == ENDED;
            at_block += threads[i].state == AT_BLOCK;
        }
        if (here != last - first) continue;
        for (size_t i = first; i < last; ++i) threads[i].state = READY;
        any = true;
    }
    if (at_block == threads.size()) {
        for (Thread& thread : threads) thread.state = READY;
        any = true;
    }
    return any;
}

static bool run_block(bool falls) {
    unsigned count = blockDim.x;
    threads.resize(count);
    stacks.resize(count * STACK);
    for (unsigned i = 0; i < count; ++i) {
        getcontext(&threads[i].context);
        threads[i].context.uc_stack.ss_sp = &stacks[i * STACK];
        threads[i].context.uc_stack.ss_size = STACK;
        threads[i].context.uc_link = nullptr;
        threads[i].state = READY;
        makecontext(&threads[i].context, enter, 0);
    }
    for (;;) {
        bool all_ended = true;
        for (unsigned turn = 0; turn < count; ++turn) {
            current = falls ? count - 1 - turn : turn;
            if (threads[current].state == READY) {
                threadIdx = {current, 0, 0};
                swapcontext(&scheduler, &threads[current].context);
            }
            all_ended &= threads[current].state == ENDED;
        }
        if (all_ended) return true;
        if (!release()) return false;
    }
}

// 0 = done, 1 = there is no such kernel, 2 = threads wait for others that never come.
extern "C" int emulate(const char* name, unsigned grid_x, unsigned grid_y, unsigned block, const void* args) {
    static std::mutex one_at_a_time;
    std::lock_guard<std::mutex> guard(one_at_a_time);
    static bool falls = false;
    auto found = kernels().find(name);
    if (found == kernels().end()) return 1;
    body = found->second;
    arguments = args;
    gridDim = {grid_x, grid_y, 1};
    blockDim = {block, 1, 1};
    for (unsigned y = 0; y < grid_y; ++y) {
        for (unsigned x = 0; x < grid_x; ++x) {
            blockIdx = {x, y, 0};
            falls = !falls;
            if (!run_block(falls)) return 2;
        }
    }
    return 0;
}
