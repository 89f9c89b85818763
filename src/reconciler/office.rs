//! Taking and keeping the lease.
//!
//! A lease is taken over when its row has not changed for a whole lease on this process's own monotonic clock, so that
//! no two machines' clocks are compared. The leader counts from the *sending* of its last good renewal, and stops
//! believing in itself before anybody else may lead.

use std::sync::Arc;
use std::sync::atomic::Ordering;
use std::time::Duration;

use tokio::time::{Instant, sleep, timeout_at};
use tokio_util::sync::CancellationToken;

use super::Reconciler;
use crate::error::Chain;
use crate::metastore::{Lease, StoreError};
use crate::model::Epoch;

const RETRY: Duration = Duration::from_millis(100);
/// Giving the lease back at the end.
const RELEASE: Duration = Duration::from_secs(1);

/// How this process claims the lease.
#[derive(Debug, Clone)]
pub struct Claim {
    /// Who it is, for people.
    pub holder: String,
    /// No other process can open this metastore (its data directory is locked): a lease that is there is a dead one's.
    pub exclusive: bool,
}

impl Reconciler {
    /// Takes the lease, keeps it, takes it again when it was lost; gives it back when `stop` is cancelled.
    pub async fn keep_office(self: &Arc<Self>, claim: Claim, stop: CancellationToken) {
        loop {
            let epoch = tokio::select! {
                () = stop.cancelled() => return,
                epoch = self.campaign(&claim) => epoch,
            };
            tokio::select! {
                () = stop.cancelled() => {
                    self.step_down(Some(epoch)).await;
                    return;
                }
                () = self.renew_until_lost(epoch) => {}
            }
            tracing::error!(master.epoch = epoch.0, "no longer leading: the lease was lost");
            self.step_down(None).await;
        }
    }

    /// Returns once this process leads and knows the world.
    async fn campaign(&self, claim: &Claim) -> Epoch {
        let mut seen: Option<(Lease, Instant)> = None;
        loop {
            match self.try_campaign(claim, &mut seen).await {
                Ok(Some(epoch)) => return epoch,
                Ok(None) => sleep((self.settings.lease / 10).min(RETRY)).await,
                Err(error) => {
                    tracing::warn!(error = %Chain(&error), "cannot take the lease; trying again");
                    sleep(RETRY * 5).await;
                }
            }
        }
    }

    async fn try_campaign(
        &self,
        claim: &Claim,
        seen: &mut Option<(Lease, Instant)>,
    ) -> Result<Option<Epoch>, StoreError> {
        let store = &self.parts.store;
        let lease = store.lease().await?;
        if let Some(lease) = &lease {
            let unchanged_since = match seen {
                Some((known, since)) if known == lease => *since,
                _ => Instant::now(),
            };
            *seen = Some((lease.clone(), unchanged_since));
            let is_free = lease.holder.is_empty() || claim.exclusive;
            if !is_free && unchanged_since.elapsed() < self.settings.lease {
                return Ok(None);
            }
        }
        let sent = Instant::now();
        let now_us = self.parts.clock.now_us();
        let Some(epoch) = store.claim_lease(lease.as_ref(), &claim.holder, now_us).await? else { return Ok(None) };
        self.take_office(epoch, sent).await?;
        Ok(Some(epoch))
    }

    /// Everything is read under the new epoch before anybody is answered.
    async fn take_office(&self, epoch: Epoch, sent: Instant) -> Result<(), StoreError> {
        let everything = self.parts.store.everything().await?;
        self.parts.registry.take_office(&everything.workers, self.parts.clock.now_us());
        self.memory.replace(everything);
        self.parts.outbox.take_office(epoch);
        self.parts.tenure.hold(epoch, sent + self.settings.lease);
        self.leader_starts.fetch_add(1, Ordering::Relaxed);
        tracing::info!(master.epoch = epoch.0, "leading");
        self.activate();
        Ok(())
    }

    /// Returns when this process no longer leads.
    async fn renew_until_lost(&self, epoch: Epoch) {
        let lease = self.settings.lease;
        let mut good_until = Instant::now() + lease;
        let mut pause = lease / 3;
        loop {
            tokio::select! {
                () = sleep(pause) => {}
                () = self.parts.doubt.notified() => {}
            }
            let sent = Instant::now();
            let renewal = self.parts.store.renew_lease(epoch, self.parts.clock.now_us());
            match timeout_at(good_until, renewal).await {
                Ok(Ok(())) => {
                    good_until = sent + lease;
                    self.parts.tenure.hold(epoch, good_until);
                    pause = lease / 3;
                }
                Ok(Err(StoreError::NotLeader)) | Err(_) => return,
                Ok(Err(error)) => {
                    tracing::warn!(error = %Chain(&error), "cannot renew the lease; trying again");
                    pause = RETRY;
                    if Instant::now() >= good_until {
                        return;
                    }
                }
            }
        }
    }

    async fn step_down(&self, release: Option<Epoch>) {
        self.parts.tenure.give_up();
        self.memory.doubt();
        let Some(epoch) = release else { return };
        let released = self.parts.store.release_lease(epoch, self.parts.clock.now_us());
        match tokio::time::timeout(RELEASE, released).await {
            Ok(Ok(())) => tracing::info!(master.epoch = epoch.0, "gave the lease back"),
            Ok(Err(error)) => tracing::warn!(error = %Chain(&error), "cannot give the lease back; it runs out"),
            Err(_) => tracing::warn!("cannot give the lease back in time; it runs out"),
        }
    }
}
