use sqlx::sqlite::SqliteConnection;

/// The visible steps of one attempt: from `start`, below `end`.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) struct Window {
    pub attempt: i64,
    /// Its first step; for the first attempt 0, so that an evaluation before the first step is seen.
    pub start: i64,
    /// The lowest first step of all later attempts.
    pub end: i64,
}

impl Window {
    /// True if what an attempt wrote down at a step is visible. A first step 1 leaves the evaluation before it visible.
    pub fn shows(&self, attempt: i64, step: i64) -> bool {
        self.attempt == attempt && ((self.start..self.end).contains(&step) || (step == 0 && self.start == 1))
    }
}

/// The windows of a run's attempts, in order. Their points, one window after the other, are in step order.
pub(crate) async fn windows(connection: &mut SqliteConnection, run: i64) -> sqlx::Result<Vec<Window>> {
    let attempts: Vec<(i64, i64)> =
        sqlx::query_as("SELECT attempt, first_step FROM attempts WHERE run = ? ORDER BY attempt")
            .bind(run)
            .fetch_all(connection)
            .await?;
    Ok(visible(&attempts))
}

/// The attempt whose points at a step are seen; none before the first attempt.
pub(crate) async fn of_step(connection: &mut SqliteConnection, run: i64, step: i64) -> sqlx::Result<Option<i64>> {
    let windows = windows(connection, run).await?;
    Ok(windows.iter().find(|window| (window.start..window.end).contains(&step)).map(|window| window.attempt))
}

/// The first visible step of an attempt.
pub(crate) fn start(attempt: i64, first_step: i64) -> i64 {
    if attempt <= 1 { 0 } else { first_step }
}

fn visible(attempts: &[(i64, i64)]) -> Vec<Window> {
    let mut end = i64::MAX;
    let mut windows: Vec<Window> = Vec::with_capacity(attempts.len());
    for &(attempt, first_step) in attempts.iter().rev() {
        windows.push(Window { attempt, start: start(attempt, first_step), end });
        end = end.min(first_step);
    }
    windows.reverse();
    windows
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_later_attempt_hides_what_it_does_again() {
        let ends = |attempts: &[(i64, i64)]| visible(attempts).iter().map(|window| window.end).collect::<Vec<_>>();
        assert_eq!(ends(&[(1, 0)]), [i64::MAX]);
        assert_eq!(ends(&[(1, 0), (2, 500), (3, 700)]), [500, 700, i64::MAX]);
        // The third went back behind the second's start: nothing of the second is seen.
        assert_eq!(ends(&[(1, 0), (2, 500), (3, 300)]), [300, 300, i64::MAX]);
        assert_eq!(ends(&[]), Vec::<i64>::new());
    }
}
