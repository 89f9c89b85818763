//! A commit is all or nothing, fenced, and told of.

use super::engines;
use super::records::{source, task};
use crate::metastore::{Committed, Object, Outcome, StoreError};
use crate::model::change::Change;
use crate::model::{Epoch, SourceName};

#[tokio::test]
async fn one_failing_change_undoes_the_whole_list() {
    for bench in engines::all().await {
        let epoch = bench.lead().await;
        let mut heard = bench.store.subscribe();
        let insert = Change::InsertSource(Box::new(source("a")));
        let error = bench
            .store
            .commit(epoch, vec![Change::InsertTask(Box::new(task("t"))), insert.clone(), insert])
            .await
            .unwrap_err();
        assert!(matches!(&error, StoreError::Exists { object: Object::Source, name } if name == "a"), "{error}");
        let everything = bench.store.everything().await.unwrap();
        assert!(everything.sources.is_empty() && everything.tasks.is_empty());
        assert!(heard.try_recv().is_err());
        bench.finish().await;
    }
}

#[tokio::test]
async fn an_older_epoch_changes_nothing() {
    for bench in engines::all().await {
        let old = bench.lead().await;
        let new = bench.lead().await;
        assert_eq!(new, old.next());
        let insert = Change::InsertSource(Box::new(source("a")));
        for wrong in [old, Epoch(new.0 + 1)] {
            let error = bench.store.commit(wrong, vec![insert.clone()]).await.unwrap_err();
            assert!(matches!(error, StoreError::NotLeader), "{error}");
        }
        bench.store.commit(new, vec![insert]).await.unwrap();
        assert_eq!(bench.store.sources().await.unwrap().len(), 1);
        bench.finish().await;
    }
}

#[tokio::test]
async fn a_lost_update_is_named() {
    for bench in engines::all().await {
        let epoch = bench.lead().await;
        bench.store.commit(epoch, vec![Change::InsertSource(Box::new(source("a")))]).await.unwrap();
        let mut record = bench.store.source(&SourceName::new("a")).await.unwrap().unwrap();
        record.enabled = false;
        let update = Change::UpdateSource(Box::new(record));
        bench.store.commit(epoch, vec![update.clone()]).await.unwrap();
        let error = bench.store.commit(epoch, vec![update]).await.unwrap_err();
        assert!(matches!(error, StoreError::Conflict { object: Object::Source, .. }), "{error}");
        let record = bench.store.source(&SourceName::new("a")).await.unwrap().unwrap();
        assert_eq!((record.enabled, record.revision), (false, 2));
        bench.finish().await;
    }
}

#[tokio::test]
async fn many_writers_at_once_all_succeed_and_are_told_of_in_order() {
    for bench in engines::all().await {
        let epoch = bench.lead().await;
        let mut heard = bench.store.subscribe();
        let writers: Vec<_> = (0..40)
            .map(|number| {
                let store = bench.store.clone();
                let change = Change::InsertSource(Box::new(source(&format!("s{number}"))));
                tokio::spawn(async move { store.commit(epoch, vec![change]).await })
            })
            .collect();
        for writer in writers {
            writer.await.unwrap().unwrap();
        }
        let mut names = vec![];
        while let Ok(Committed { outcome: Outcome::Stored(changes), .. }) = heard.try_recv() {
            for change in changes.iter() {
                if let Change::InsertSource(record) = change {
                    names.push(record.name.clone());
                }
            }
        }
        names.sort();
        let stored: Vec<_> = bench.store.sources().await.unwrap().into_iter().map(|record| record.name).collect();
        assert_eq!(names, stored);
        assert_eq!(stored.len(), 40);
        bench.finish().await;
    }
}

#[tokio::test]
async fn two_handles_write_without_undoing_each_other() {
    for bench in engines::all().await {
        let epoch = bench.lead().await;
        let other = bench.again().await;
        let write = |store: crate::metastore::Store, prefix: &'static str| {
            tokio::spawn(async move {
                for number in 0..25 {
                    let change = Change::InsertSource(Box::new(source(&format!("{prefix}{number}"))));
                    store.commit(epoch, vec![change]).await.unwrap();
                }
            })
        };
        let (one, two) = (write(bench.store.clone(), "a"), write(other.clone(), "b"));
        one.await.unwrap();
        two.await.unwrap();
        assert_eq!(bench.store.sources().await.unwrap().len(), 50);
        other.close().await;
        bench.finish().await;
    }
}

#[tokio::test]
async fn a_caller_that_goes_away_does_not_part_the_commit_from_the_telling() {
    let bench = engines::sqlite().await;
    let epoch = bench.lead().await;
    let mut heard = bench.store.subscribe();
    {
        let mut commit = Box::pin(bench.store.commit(epoch, vec![Change::InsertSource(Box::new(source("a")))]));
        // Polled once, then dropped, as when a client hangs up.
        assert!(futures_util::poll!(commit.as_mut()).is_pending());
    }
    let told = tokio::time::timeout(std::time::Duration::from_secs(10), heard.recv()).await.unwrap();
    assert!(matches!(told.unwrap().outcome, Outcome::Stored(changes) if changes.len() == 1));
    assert_eq!(bench.store.sources().await.unwrap().len(), 1);
}

#[tokio::test]
async fn an_error_while_removing_is_returned_and_leaves_everything() {
    let bench = engines::sqlite().await;
    let epoch = bench.lead().await;
    bench.store.commit(epoch, vec![Change::InsertTask(Box::new(task("t")))]).await.unwrap();
    let mut direct = bench.store.writer().await.unwrap();
    sqlx::query("CREATE TRIGGER broken BEFORE DELETE ON tasks BEGIN SELECT RAISE(ABORT, 'disk on fire'); END")
        .execute(&mut *direct)
        .await
        .unwrap();
    drop(direct);
    let name = task("t").name;
    let error =
        bench.store.commit(epoch, vec![Change::RemoveTask { name: name.clone(), revision: 1 }]).await.unwrap_err();
    let text = crate::error::Chain(&error).to_string();
    assert!(text.contains("cannot write task t") && text.contains("disk on fire"), "{text}");
    assert!(bench.store.task(&name).await.unwrap().is_some());
}
