use std::pin::Pin;

use crossbeam_channel::Sender;
use sqlx::sqlite::SqliteConnection;

use super::StoreError;
use super::fault::Fault;

/// A change of the database that somebody waits for.
pub(crate) trait Job: Send {
    /// Makes the change in the transaction that the connection is in; false if it is to be undone.
    fn run<'a>(&'a mut self, connection: &'a mut SqliteConnection) -> Pin<Box<dyn Future<Output = bool> + 'a>>;

    /// Whether it is to be run in a transaction.
    fn is_transaction(&self) -> bool;

    /// Whether it was run.
    fn was_run(&self) -> bool;

    /// Answers. `end`: how the transaction ended.
    fn finish(self: Box<Self>, end: Result<(), StoreError>);
}

/// A change that answers with a `T`.
pub(crate) struct Change<T, W> {
    work: Option<W>,
    answer: Option<Result<T, Fault>>,
    reply: Sender<Result<T, Fault>>,
    in_transaction: bool,
}

impl<T, W> Change<T, W>
where
    T: Send + 'static,
    W: AsyncFnOnce(&mut SqliteConnection) -> Result<T, Fault> + Send + 'static,
{
    /// A job that does `work` and sends its outcome to `reply`.
    pub fn boxed(work: W, reply: Sender<Result<T, Fault>>, in_transaction: bool) -> Box<dyn Job> {
        Box::new(Self { work: Some(work), answer: None, reply, in_transaction })
    }
}

impl<T, W> Job for Change<T, W>
where
    T: Send + 'static,
    W: AsyncFnOnce(&mut SqliteConnection) -> Result<T, Fault> + Send + 'static,
{
    fn run<'a>(&'a mut self, connection: &'a mut SqliteConnection) -> Pin<Box<dyn Future<Output = bool> + 'a>> {
        Box::pin(async move {
            let Some(work) = self.work.take() else { return false };
            let answer = work(connection).await;
            let is_done = answer.is_ok();
            self.answer = Some(answer);
            is_done
        })
    }

    fn is_transaction(&self) -> bool {
        self.in_transaction
    }

    fn was_run(&self) -> bool {
        self.work.is_none()
    }

    fn finish(self: Box<Self>, end: Result<(), StoreError>) {
        let answer = match (self.answer, end) {
            (Some(Err(fault)), _) => Err(fault),
            (_, Err(error)) => Err(Fault::Store(error)),
            (Some(answer), Ok(())) => answer,
            (None, Ok(())) => Err(Fault::Store(StoreError::Closed)),
        };
        let _ = self.reply.send(answer);
    }
}
