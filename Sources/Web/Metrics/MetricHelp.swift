/// What each metric tells, for its line `# HELP`.
enum MetricHelp {
    /// The help text of a metric; a general one for the metrics of a program's own handlers.
    static subscript(name: String) -> String {
        ofProcess[name] ?? ofQueue[name] ?? ofApps[name] ?? "Counted by this program's code."
    }

    /// Those that a process counts or reads about itself.
    private static let ofProcess = [
        "errand_api_request_seconds": "How long a request of the HTTP API took, without those that wait for a job.",
        "errand_api_requests_total": "Requests of the HTTP API by operation and status.",
        "errand_api_waits": "Callers of the HTTP API that wait for a job now.",
        "errand_build_info": "1, with the version of this process.",
        "errand_endpoint_request_seconds": "How long a call of an endpoint took until its response.",
        "errand_endpoint_requests_total": "Calls of endpoints by what their responses mean.",
        "errand_image_processes": "errand-image processes by state.",
        "errand_image_processes_started_total": "Started errand-image processes.",
        "errand_image_seconds": "How long a photo took, without the wait for a free process.",
        "errand_pool_connections": "Database connections in use.",
        "errand_pool_connections_limit": "How many database connections may be in use at once.",
        "errand_pool_timeouts_total": "Callers that gave up waiting for a database connection.",
        "errand_pool_wait_seconds": "How long callers waited for a database connection when none was free.",
        "errand_push_route": "1, with where this process sends the pushes of a service.",
        "errand_push_seconds": "How long a push took until its answer.",
        "errand_pushes_total": "Pushes by the service's answer.",
        "errand_scheduler_last_read_timestamp_seconds":
            "When this scheduler last read the schedules, in seconds since 1970.",
        "errand_scheduler_lateness_seconds": "Time from a tick to the enqueue of its job.",
        "errand_scheduler_ticks_total": "Ticks that this scheduler recorded.",
        "errand_spans_total": "Ended spans by what became of them.",
        "errand_status_up": "1 if this process could read the metrics of the queue.",
        "errand_storage_errors_total": "Failed calls of the object store.",
        "errand_storage_seconds": "How long a call of the object store took, also a failed one.",
        "errand_worker_attempt_seconds": "How long an attempt ran, by the worker's clock.",
        "errand_worker_attempts_total": "Attempts of this worker whose completion is written.",
        "errand_worker_claim_seconds": "How long a round trip with a claim took.",
        "errand_worker_claimed_jobs_total": "Jobs that claims returned.",
        "errand_worker_claims_total": "Round trips that claim, also those that return no job.",
        "errand_worker_heartbeat_failures_total": "Failed heartbeats.",
        "errand_worker_leases_lost_total": "Leases that ran out while the worker lived.",
        "errand_worker_memory_budget_bytes": "Memory that the attempts of this worker may take together.",
        "errand_worker_memory_used_bytes": "Memory that running attempts have reserved.",
        "errand_worker_memory_waiting_jobs": "Jobs that wait for memory of the budget.",
        "errand_worker_reconnects_total": "Connections restored after a loss.",
        "errand_worker_running_jobs": "Running jobs of this worker.",
        "errand_worker_slots": "How many jobs this worker runs at once at most.",
        "errand_worker_start_seconds": "Time from due to claimed and started, by the database's clock.",
        "errand_worker_wake_ups_total": "Received NOTIFYs.",
        "process_cpu_seconds_total": "User and system CPU time of the process.",
        "process_open_fds": "Open file descriptors of the process.",
        "process_resident_memory_bytes": "Resident memory of the process.",
        "process_start_time_seconds": "When the process began, in seconds since 1970.",
    ]

    /// Those of `errand.metrics()`. A newer schema may have more.
    private static let ofQueue = [
        "errand_attempts_total": "Completed attempts of all workers.",
        "errand_circuit_held": "1 if an operator has opened a circuit.",
        "errand_circuit_closed": "0 while a circuit is open.",
        "errand_folded_names": "Queues and kinds that are summed up as other.",
        "errand_horizon_transactions": "Transactions since the oldest snapshot that holds back vacuum.",
        "errand_jobs": "Jobs by queue and state.",
        "errand_kind_paused": "1 if the kind is paused.",
        "errand_enqueues_refused_total": "Enqueues that inserted no job, by kind and reason.",
        "errand_kind_workers": "Live workers that can run a kind.",
        "errand_last_success_timestamp_seconds": "When a job of a kind last succeeded, in seconds since 1970.",
        "errand_maintenance_age_seconds": "Time since a maintenance task last ran.",
        "errand_oldest_due_seconds": "Age of the oldest due job of a queue.",
        "errand_overdue": "Queues, kinds and schedules that are late and not paused.",
        "errand_queue_paused": "1 if the queue is paused.",
        "errand_queue_workers": "Live workers that claim from a queue.",
        "errand_run_seconds": "How long completed attempts ran, without released ones.",
        "errand_run_seconds_total": "How long all completed attempts ran together.",
        "errand_schedule_late": "1 if a schedule has a problem and is not paused.",
        "errand_scheduler_up": "1 if a scheduler has read the schedules within the last minute.",
        "errand_schema_version": "Number of the last migration of the queue's schema.",
        "errand_stuck_jobs": "Running jobs whose worker is lost, or that run much longer than their kind usually does.",
        "errand_table_bytes": "Size of a table with its indexes, partitions and TOAST.",
        "errand_table_dead_rows": "Rows of a table that vacuum has not removed yet.",
        "errand_table_live_rows": "Rows of a table, estimated by the server.",
        "errand_wait_seconds": "How long completed attempts waited from due to started.",
        "errand_wait_seconds_total": "How long all completed attempts waited together.",
        "errand_workers": "Live workers by version.",
    ]

    /// Those of the apps' functions `metrics()`.
    private static let ofApps = [
        "errand_media_removal_oldest_seconds": "Age of the oldest object that waits for its removal.",
        "errand_media_removals": "Objects that wait for their removal from the store.",
        "errand_media_staged_bytes": "Bytes that the database holds until the store has them.",
        "errand_media_staged_objects": "Objects whose bytes the database holds until the store has them.",
        "errand_media_staged_oldest_seconds": "Age of the oldest object that waits for the store.",
    ]
}
