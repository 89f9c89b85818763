//! There is one leader, and a lease changes hands only from the state it was seen in.

use super::engines;
use crate::metastore::StoreError;

#[tokio::test]
async fn only_one_of_two_claims_succeeds() {
    for bench in engines::all().await {
        assert!(bench.store.lease().await.unwrap().is_none());
        let first = bench.store.claim_lease(None, "a", 1).await.unwrap();
        assert_eq!(first.map(|epoch| epoch.0), Some(1));
        assert!(bench.store.claim_lease(None, "b", 1).await.unwrap().is_none());

        let seen = bench.store.lease().await.unwrap();
        assert!(bench.store.claim_lease(seen.as_ref(), "b", 2).await.unwrap().is_some());
        assert!(bench.store.claim_lease(seen.as_ref(), "c", 2).await.unwrap().is_none());
        let now = bench.store.lease().await.unwrap().unwrap();
        assert_eq!((now.holder.as_str(), now.epoch.0), ("b", 2));
        bench.finish().await;
    }
}

#[tokio::test]
async fn a_renewal_changes_the_row_and_ends_with_the_epoch() {
    for bench in engines::all().await {
        let old = bench.lead().await;
        let before = bench.store.lease().await.unwrap().unwrap();
        // The same time twice: the row differs all the same.
        bench.store.renew_lease(old, before.renewed_us).await.unwrap();
        let after = bench.store.lease().await.unwrap().unwrap();
        assert_ne!(before, after);
        assert!(bench.store.claim_lease(Some(&before), "late", 9).await.unwrap().is_none());

        let new = bench.lead().await;
        let error = bench.store.renew_lease(old, 5).await.unwrap_err();
        assert!(matches!(error, StoreError::NotLeader), "{error}");
        bench.store.release_lease(old, 6).await.unwrap();
        assert_eq!(bench.store.lease().await.unwrap().unwrap().epoch, new);
        bench.store.release_lease(new, 7).await.unwrap();
        let free = bench.store.lease().await.unwrap().unwrap();
        assert_eq!((free.holder.as_str(), free.epoch), ("", new));
        bench.finish().await;
    }
}
