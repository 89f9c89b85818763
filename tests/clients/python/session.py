"""One session with a generated client: create, start, status, stop, delete. Exits with a message at the first mismatch.

The client refuses answers that do not fit the document it was made from, so that every call is a check of its own.
Usage: session.py http://HOST:PORT; the servers are named by FERRYMASTER_TEST_MARIADB_SOURCE and _TARGET.
"""

import os
import secrets
import subprocess
import sys
import time
import traceback

import ferrymaster_client as dm
from ferrymaster_client.rest import ApiException

SOURCE, TASK = "mysql-01", "t-Ë!s`t/1"
ROWS = 1000


class Mismatch(Exception):
    """Something is not as it must be."""


def check(what, found, expected):
    if found != expected:
        raise Mismatch(f"{what}: found {found!r}, expected {expected!r}")


def refused(what, call, status, code):
    """The call must fail, with this status and code, and with a hint."""
    try:
        call()
    except ApiException as error:
        told = dm.ErrorWithMessage.from_json(error.body)
        check(f"{what}: status and code", (error.status, told.error_code), (status, code))
        check(f"{what}: there is a hint", bool(told.hint), True)
        return
    raise Mismatch(f"{what}: it was not refused")


def until(what, look, seconds):
    """Looks until there is an answer other than None."""
    end = time.monotonic() + seconds
    while True:
        found = look()
        if found is not None:
            return found
        if time.monotonic() > end:
            raise Mismatch(f"waited {seconds} s for {what}")
        time.sleep(0.05)


class Server:
    """One of the servers that tests share, asked by the command line client."""

    def __init__(self, variable):
        self.host, port = os.environ[variable].rsplit(":", 1)
        self.port = int(port)

    def run(self, sql):
        command = ["mariadb", "--no-defaults", "--protocol=tcp", "--host", self.host, "--port", str(self.port)]
        command += ["--user=root", "--batch", "--skip-column-names", "--execute", sql]
        done = subprocess.run(command, capture_output=True, text=True, timeout=60, check=False)
        if done.returncode != 0:
            raise Mismatch(f"{sql}: {done.stderr.strip()}")
        return done.stdout.strip()


def session(base):
    client = dm.ApiClient(dm.Configuration(host=base))
    sources, tasks, cluster = dm.SourceApi(client), dm.TaskApi(client), dm.ClusterApi(client)
    source, target = Server("FERRYMASTER_TEST_MARIADB_SOURCE"), Server("FERRYMASTER_TEST_MARIADB_TARGET")
    database = f"client_{secrets.token_hex(6)}"
    count = f"SELECT COUNT(*), SUM(id), MAX(v) FROM `{database}`.t"

    def ready():
        try:
            workers = cluster.d_mapi_get_cluster_worker_list()
        except Exception:  # pylint: disable=broad-except
            return None  # it does not listen yet, or does not lead
        return True if workers.total == 1 and workers.data[0].bound_stage == "free" else None

    until("ferrymaster to be ready", ready, 30)
    masters = cluster.d_mapi_get_cluster_master_list()
    check("the master leads", (masters.total, masters.data[0].leader, masters.data[0].alive), (1, True, True))

    source.run(f"CREATE DATABASE `{database}`; CREATE TABLE `{database}`.t (id INT PRIMARY KEY, v VARCHAR(20));"
               f"INSERT INTO `{database}`.t SELECT seq, CONCAT('v', seq) FROM `{database}`.seq_1_to_{ROWS}")

    # create source
    wanted = dm.Source(source_name=SOURCE, host=source.host, port=source.port, user="root", password="",
                       enable=True, enable_gtid=True)
    refused("a source on a closed port", lambda: sources.d_mapi_create_source(dm.CreateSourceRequest(
        source=wanted.model_copy(update={"port": 1}))), 400, 10001)
    made = sources.d_mapi_create_source(dm.CreateSourceRequest(source=wanted))
    check("the created source", (made.source_name, made.port, made.enable), (SOURCE, source.port, True))
    refused("the same source again", lambda: sources.d_mapi_create_source(dm.CreateSourceRequest(source=wanted)),
            400, 46007)
    shown = sources.d_mapi_get_source(SOURCE, with_status=True)
    check("the source's family", shown.flavor, "mariadb")
    check("the source's tasks", shown.task_name_list, [])
    check("the source's status", len(shown.status_list), 1)
    check("the database is listed", database in sources.d_mapi_get_source_schema_list(SOURCE), True)
    check("its tables", sources.d_mapi_get_source_table_list(SOURCE, database), ["t"])

    # create task
    task = dm.Task(
        name=TASK, task_mode="all", on_duplicate="error", enhance_online_schema_change=True,
        meta_schema=f"{database}_meta",
        target_config=dm.TaskTargetDataBase(host=target.host, port=target.port, user="root", password=""),
        table_migrate_rule=[dm.TaskTableMigrateRule(
            source=dm.TaskTableMigrateRuleSource(source_name=SOURCE, schema=database, table="*"))],
        source_config=dm.TaskSourceConfig(source_conf=[dm.TaskSourceConf(source_name=SOURCE)]),
    )
    answer = tasks.d_mapi_create_task(dm.CreateTaskRequest(task=task))
    check("the check", answer.check_result, "pre-check is passed. ")
    check("the created task", (answer.task.name, answer.task.task_mode), (TASK, "all"))
    refused("the same task again", lambda: tasks.d_mapi_create_task(dm.CreateTaskRequest(task=task)), 400, 46014)
    refused("an unknown task", lambda: tasks.d_mapi_get_task("nothing"), 404, 46018)
    check("the listed tasks", [one.name for one in tasks.d_mapi_get_task_list(stage="Stopped").data], [TASK])

    def status():
        found = tasks.d_mapi_get_task_status(TASK)
        check("one subtask", (found.total, found.data[0].name, found.data[0].source_name), (1, TASK, SOURCE))
        if found.data[0].error_msg:
            raise Mismatch(f"the task has an error: {found.data[0].error_msg}")
        return found.data[0]

    check("the stage before the start", status().stage, dm.TaskStage.STOPPED)

    # start, and status until it runs in Sync
    tasks.d_mapi_start_task(TASK)

    def in_sync():
        one = status()
        check("the stage while it runs", one.stage, dm.TaskStage.RUNNING)
        return one if one.unit == "Sync" and one.sync_status.synced else None

    one = until("the task to run in Sync", in_sync, 60)
    check("where the binlog comes from", one.sync_status.binlog_type, "remote")
    check("the copied rows", target.run(count), source.run(count))
    source.run(f"INSERT INTO `{database}`.t VALUES (0, 'later'); DELETE FROM `{database}`.t WHERE id = 7")
    until("a change to arrive", lambda: True if target.run(count) == source.run(count) else None, 30)
    check("the rows in the end", target.run(count).split("\t")[0], str(ROWS))
    check("the tasks that run", tasks.d_mapi_get_task_list(with_status=True, stage="Running").total, 1)
    refused("deleting what runs", lambda: tasks.d_mapi_delete_task(TASK), 400, 49001)

    # stop, delete
    tasks.d_mapi_stop_task(TASK, stop_task_request=dm.StopTaskRequest(timeout_duration="10s"))
    check("the stage after the stop", status().stage, dm.TaskStage.PAUSED)
    check("an update that changes nothing",
          tasks.d_mapi_update_task(TASK, dm.UpdateTaskRequest(task=tasks.d_mapi_get_task(TASK))).task.name, TASK)
    tasks.d_mapi_delete_task(TASK)
    refused("the deleted task", lambda: tasks.d_mapi_get_task(TASK), 404, 46018)
    check("the tasks in the end", tasks.d_mapi_get_task_list().total, 0)
    check("nothing is left to clean", dm.CleanupApi(client).get_cleanup_list().total, 0)
    sources.d_mapi_delete_source(SOURCE)
    check("the sources in the end", sources.d_mapi_get_source_list().total, 0)
    for server in (source, target):
        server.run(f"DROP DATABASE `{database}`; DROP DATABASE IF EXISTS `{database}_meta`")


def main():
    try:
        session(sys.argv[1])
    except Mismatch as mismatch:
        sys.exit(f"the Python client: {mismatch}")
    except Exception:  # pylint: disable=broad-except
        traceback.print_exc()
        sys.exit("the Python client: a call did not do what its document says")
    print("the Python client: OK")


main()
