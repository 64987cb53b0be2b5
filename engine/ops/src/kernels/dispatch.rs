//! One body, three compilations: the widest vectors that the processor has are chosen at run time.

use std::sync::atomic::{AtomicU8, Ordering};

/// How wide the vectors of the running processor are.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
#[repr(u8)]
pub enum Level {
    /// What every processor of the target has.
    Plain = 1,
    /// 256-bit vectors with integer operations.
    #[cfg_attr(not(target_arch = "x86_64"), expect(dead_code, reason = "only x86 chooses at run time"))]
    Avx2 = 2,
    /// 512-bit vectors.
    #[cfg_attr(not(target_arch = "x86_64"), expect(dead_code, reason = "only x86 chooses at run time"))]
    Avx512 = 3,
}

/// 0 until it was asked for the first time; then a [`Level`].
static LEVEL: AtomicU8 = AtomicU8::new(0);

/// The level of the running processor, found once.
#[inline]
pub fn level() -> Level {
    match LEVEL.load(Ordering::Relaxed) {
        #[cfg(target_arch = "x86_64")]
        3 => Level::Avx512,
        #[cfg(target_arch = "x86_64")]
        2 => Level::Avx2,
        1 => Level::Plain,
        _ => {
            let found = detect();
            LEVEL.store(found as u8, Ordering::Relaxed);
            found
        }
    }
}

fn detect() -> Level {
    #[cfg(target_arch = "x86_64")]
    {
        if headroom_products::has_wide_vectors() {
            return Level::Avx512;
        }
        if is_x86_feature_detected!("avx2") {
            return Level::Avx2;
        }
    }
    Level::Plain
}

/// The levels that this processor can run, for tests that hold one against another.
#[cfg(test)]
pub fn supported_levels() -> Vec<Level> {
    match detect() {
        Level::Plain => vec![Level::Plain],
        Level::Avx2 => vec![Level::Plain, Level::Avx2],
        Level::Avx512 => vec![Level::Plain, Level::Avx2, Level::Avx512],
    }
}

/// Makes every later kernel call run at `level`, which must be one of [`supported_levels`]. Harmless to other tests,
/// since all levels give the same bits.
#[cfg(test)]
pub fn force_level(level: Level) {
    assert!(supported_levels().contains(&level), "this processor cannot run {level:?}");
    LEVEL.store(level as u8, Ordering::Relaxed);
}

/// Defines a kernel whose body is compiled for each [`Level`] and chosen when it is called.
macro_rules! vectorised {
    (
        $(#[$meta:meta])*
        pub fn $name:ident $(<$t:ident>)? ($($arg:ident: $ty:ty),* $(,)?) $(-> $ret:ty)? $body:block
    ) => {
        $(#[$meta])*
        pub fn $name $(<$t: $crate::kernels::Real>)? ($($arg: $ty),*) $(-> $ret)? {
            #[inline(always)]
            fn body $(<$t: $crate::kernels::Real>)? ($($arg: $ty),*) $(-> $ret)? $body

            #[cfg(target_arch = "x86_64")]
            {
                use $crate::kernels::dispatch::{Level, level};

                #[target_feature(enable = "avx2,avx512f,avx512bw,avx512dq,avx512vl")]
                fn avx512 $(<$t: $crate::kernels::Real>)? ($($arg: $ty),*) $(-> $ret)? {
                    body($($arg),*)
                }
                #[target_feature(enable = "avx2")]
                fn avx2 $(<$t: $crate::kernels::Real>)? ($($arg: $ty),*) $(-> $ret)? {
                    body($($arg),*)
                }
                #[expect(unsafe_code, reason = "calls code compiled for features found at run time")]
                match level() {
                    // SAFETY: `level` answers `Avx512` only where the processor has all of the enabled features.
                    Level::Avx512 => unsafe { avx512($($arg),*) },
                    // SAFETY: `level` answers `Avx2` only where the processor has AVX2.
                    Level::Avx2 => unsafe { avx2($($arg),*) },
                    Level::Plain => body($($arg),*),
                }
            }
            #[cfg(not(target_arch = "x86_64"))]
            body($($arg),*)
        }
    };
}

pub(crate) use vectorised;
