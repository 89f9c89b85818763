//! Asking for a task to run.

use axum::extract::State;
use axum::http::StatusCode;

use super::selection::{Selected, select};
use super::timezone::{StartTime, parse_start_time};
use crate::api::app::{App, PROBE_DEADLINE, Tries};
use crate::api::duration::parse_duration;
use crate::api::error::{ApiError, ApiResult};
use crate::api::extract::{OptionalJson, Path, Query, TaskPath};
use crate::api::failures::Refused;
use crate::api::faults;
use crate::api::waiting::{Wait, stages_of};
use crate::error::Fault;
use crate::model::change::{Change, Want};
use crate::model::record::SubtaskRecord;
use crate::model::report::{Outcome, RunState, SubtaskReport};
use crate::model::subtask::{Restart, StartAt, TaskMode, Wanted};
use crate::model::wire::StartTaskRequest;
use crate::model::{Generation, TaskName};
use crate::probe;
use crate::probe::Deadline;

/// Starts a task.
///
/// The wish is stored, for the named sources or all. Answers once the workers report their runs, or after `wait`;
/// 200 either way.
#[utoipa::path(post, path = "/api/v1/tasks/{task-name}/start", tag = "task", operation_id = "DMAPIStartTask",
    params(TaskPath, Wait),
    request_body(content = StartTaskRequest, description = "how to start; may be left out"),
    responses((status = 200, description = "the wish is stored"), Refused))]
pub async fn start_task(
    State(app): State<App>,
    Path(path): Path<TaskPath>,
    Query(wait): Query<Wait>,
    OptionalJson(request): OptionalJson<StartTaskRequest>,
) -> ApiResult<StatusCode> {
    let name = TaskName::new(path.task_name);
    let start_time = check_times(&request)?;
    let mut selected = select(&app, &name, request.source_name_list.as_ref()).await?;
    let remove_meta = request.remove_meta == Some(true);
    check_start(&selected, start_time.is_some(), remove_meta)?;
    if remove_meta {
        if let Some(running) = selected.subtasks.iter().find(|subtask| subtask.wanted == Wanted::Running) {
            return Err(runs_already(&name, running).into());
        }
        app.remove_meta(&selected).await?;
        // Their records are others now.
        selected = select(&app, &name, request.source_name_list.as_ref()).await?;
    }
    let begins_anew = start_time.is_some() || remove_meta;
    let mut tries = Tries::default();
    let expected = loop {
        let wants = wants_of(&app, &selected, start_time, begins_anew).await?;
        let expected = stages_of(&wants);
        if app.commit_again(wants, &mut tries).await? {
            break expected;
        }
        selected = select(&app, &name, request.source_name_list.as_ref()).await?;
    };
    app.wait_for_stages(&expected, wait).await?;
    Ok(StatusCode::OK)
}

/// What is to be stored for the subtasks that are not under way.
async fn wants_of(
    app: &App,
    selected: &Selected,
    start_time: Option<StartTime>,
    begins_anew: bool,
) -> ApiResult<Vec<Change>> {
    let name = &selected.task.name;
    let mut wants = Vec::new();
    let seen = app.registry.seen_of_task(name);
    for subtask in &selected.subtasks {
        let reported = seen.get(&subtask.id).map(|seen| seen.report.as_ref());
        match (progress_of(subtask, reported), begins_anew) {
            (Progress::UnderWay, true) => return Err(runs_already(name, subtask).into()),
            (Progress::UnderWay | Progress::Finished, false) => continue,
            (Progress::Finished, true) | (Progress::Idle, _) => {}
        }
        let at = match start_time {
            None => None,
            Some(start_time) => Some(start_at(selected, subtask, start_time).await?),
        };
        wants.push(want_running(subtask, at));
    }
    Ok(wants)
}

fn check_times(request: &StartTaskRequest) -> ApiResult<Option<StartTime>> {
    let given = |text: &Option<String>| text.clone().filter(|text| !text.is_empty());
    if let Some(duration) = given(&request.safe_mode_time_duration)
        && parse_duration(&duration).is_none()
    {
        return Err(ApiError::request(
            format!("safe_mode_time_duration {duration} is not valid"),
            "`safe_mode_time_duration`: expected a duration such as `10s`",
        ));
    }
    given(&request.start_time)
        .map(|text| {
            parse_start_time(&text).ok_or_else(|| {
                ApiError::request(
                    format!("start_time {text} is not valid"),
                    "`start_time`: expected `YYYY-MM-DD hh:mm:ss`, with `Z` or an offset such as `+08:00` if it is not \
                     in the source's zone",
                )
            })
        })
        .transpose()
}

/// Refuses before anything changes.
fn check_start(selected: &Selected, has_start_time: bool, remove_meta: bool) -> ApiResult<()> {
    let task = &selected.task;
    let is_incremental = task.settings.mode == TaskMode::Incremental;
    if has_start_time && !is_incremental {
        return Err(faults::common(
            "a start time is only for task mode incremental: a copy has its own position",
            "leave `start_time` out",
        )
        .into());
    }
    for subtask in &selected.subtasks {
        if !selected.is_enabled(&subtask.id.source) {
            return Err(faults::source_disabled(&task.name, &subtask.id.source).into());
        }
        let begins_anew = remove_meta || subtask.generation == Generation(0);
        if is_incremental && begins_anew && subtask.settings.start.is_none() && !has_start_time {
            return Err(faults::metadata_not_set(&task.name, &subtask.id.source).into());
        }
    }
    Ok(())
}

/// How far a subtask is from what a start asks for.
enum Progress {
    /// Wanted to run, and its present run has not ended.
    UnderWay,
    /// All of its work is done: running it again would find nothing to do.
    Finished,
    Idle,
}

/// How a run ended is reported before it is stored. Statuses show the report; so who starts a task because its status
/// says that it has failed must not be taken for one who starts what runs.
fn progress_of(subtask: &SubtaskRecord, reported: Option<&SubtaskReport>) -> Progress {
    let is_present = |report: &&SubtaskReport| {
        (report.ledger_id, report.generation) == (subtask.ledger_id, subtask.generation)
            && matches!(report.outcome, Some(Outcome::Failed | Outcome::Finished))
    };
    let ended = subtask.concluded().or_else(|| reported.filter(is_present)).filter(|r| r.state == RunState::Closed);
    match ended {
        Some(report) if report.outcome == Some(Outcome::Finished) => Progress::Finished,
        None if subtask.wanted == Wanted::Running => Progress::UnderWay,
        _ => Progress::Idle,
    }
}

fn runs_already(name: &TaskName, subtask: &SubtaskRecord) -> Fault {
    faults::common(
        format!("task {name} runs already on source {}", subtask.id.source),
        "`start_time` and `remove_meta` need a stopped task: stop it first",
    )
}

/// Where to begin; a time without a zone is read by the source's own clock.
async fn start_at(selected: &Selected, subtask: &SubtaskRecord, start_time: StartTime) -> ApiResult<StartAt> {
    let at_us = match start_time {
        StartTime::Instant { at_us } => at_us,
        StartTime::OfSource(local) => {
            let endpoint = selected.endpoint(&subtask.id.source)?;
            let text = local.strftime("%Y-%m-%d %H:%M:%S").to_string();
            probe::local_time(endpoint, &text, Deadline::after(PROBE_DEADLINE)).await.map_err(|error| error.fault())?
        }
    };
    Ok(StartAt::Time { at_us })
}

fn want_running(subtask: &SubtaskRecord, at: Option<StartAt>) -> Change {
    let mut want = Want::of(subtask);
    want.wanted = Wanted::Running;
    want.generation = subtask.generation.next();
    want.attempts = 0;
    if let Some(at) = at {
        want.settings.restart = Some(Restart { generation: want.generation, at });
    }
    Change::Want(Box::new(want))
}
