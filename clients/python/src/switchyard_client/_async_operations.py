"""Written by scripts/generate.ts from docs/openapi.json; do not edit."""

from __future__ import annotations

from typing import Any, Literal

from . import models as m
from ._wire import NOT_GIVEN


class AsyncOperations:
    """The operations of the gateway, for asyncio. Times are ISO 8601 in UTC; other units are in the
    names of fields.
    """

    async def _call(self, method: str, path: str, **parts: Any) -> Any:
        raise NotImplementedError

    async def list_runs(
        self,
        *,
        limit: int = NOT_GIVEN,
        owner: str = NOT_GIVEN,
        agent: str = NOT_GIVEN,
        model: str = NOT_GIVEN,
        status: Literal["running", "waiting", "succeeded", "failed", "cancelled", "dead"] = NOT_GIVEN,
        statuses: list[Literal["running", "waiting", "succeeded", "failed", "cancelled", "dead"]] = NOT_GIVEN,
        error_code: str = NOT_GIVEN,
        labels: list[str] = NOT_GIVEN,
        text: str = NOT_GIVEN,
        from_: m.Timestamp = NOT_GIVEN,
        to: m.Timestamp = NOT_GIVEN,
        ids: list[str] = NOT_GIVEN,
        sort: Literal["newest", "oldest", "longest", "dearest"] = NOT_GIVEN,
        cursor: str = NOT_GIVEN,
    ) -> m.ListRunsReply:
        """Lists the caller's runs, newest first; for cli and admin the runs of all users. The rest
        is as in `Client.list_runs`.
        """
        return await self._call(
            "GET",
            "/runs",
            query={
                "limit": limit,
                "owner": owner,
                "agent": agent,
                "model": model,
                "status": status,
                "statuses": statuses,
                "errorCode": error_code,
                "labels": labels,
                "text": text,
                "from": from_,
                "to": to,
                "ids": ids,
                "sort": sort,
                "cursor": cursor,
            },
        )

    async def start_run(
        self,
        *,
        agent: str,
        input: m.RunInput,
        run_id: str = NOT_GIVEN,
        skill: str = NOT_GIVEN,
        model: str = NOT_GIVEN,
        thinking: Literal["off", "none", "minimal", "low", "medium", "high", "xhigh", "max"] = NOT_GIVEN,
        sampling: m.StartRunSampling = NOT_GIVEN,
        replay: m.StartRunReplay = NOT_GIVEN,
        limits: m.RunLimits = NOT_GIVEN,
        labels: dict[str, str] = NOT_GIVEN,
        readers: list[str] = NOT_GIVEN,
        origin: m.StartRunOrigin = NOT_GIVEN,
        output: dict[str, Any] = NOT_GIVEN,
        session: str = NOT_GIVEN,
        on_busy: Literal["enqueue", "steer", "interrupt", "reject"] = NOT_GIVEN,
        idempotency_key: str = NOT_GIVEN,
    ) -> m.AcceptedCommand:
        """Starts a run of an agent. The rest is as in `Client.start_run`."""
        return await self._call(
            "POST",
            "/runs",
            body={
                "agent": agent,
                "input": input,
                "runId": run_id,
                "skill": skill,
                "model": model,
                "thinking": thinking,
                "sampling": sampling,
                "replay": replay,
                "limits": limits,
                "labels": labels,
                "readers": readers,
                "origin": origin,
                "output": output,
                "session": session,
                "onBusy": on_busy,
            },
            idempotency_key=idempotency_key,
        )

    async def get_run_totals(
        self,
        *,
        owner: str = NOT_GIVEN,
        agent: str = NOT_GIVEN,
        model: str = NOT_GIVEN,
        status: Literal["running", "waiting", "succeeded", "failed", "cancelled", "dead"] = NOT_GIVEN,
        statuses: list[Literal["running", "waiting", "succeeded", "failed", "cancelled", "dead"]] = NOT_GIVEN,
        error_code: str = NOT_GIVEN,
        labels: list[str] = NOT_GIVEN,
        text: str = NOT_GIVEN,
        from_: m.Timestamp = NOT_GIVEN,
        to: m.Timestamp = NOT_GIVEN,
        range: Literal["1h", "24h", "7d"] = NOT_GIVEN,
    ) -> m.GetRunTotalsReply:
        """Counts the caller's runs of a time by status, agent, model, error and requester, with
        cost and durations; for cli and admin those of all users. The rest is as in
        `Client.get_run_totals`.
        """
        return await self._call(
            "GET",
            "/runs/totals",
            query={
                "owner": owner,
                "agent": agent,
                "model": model,
                "status": status,
                "statuses": statuses,
                "errorCode": error_code,
                "labels": labels,
                "text": text,
                "from": from_,
                "to": to,
                "range": range,
            },
        )

    async def list_dead_runs(self, *, limit: int = NOT_GIVEN, cursor: str = NOT_GIVEN) -> m.ListDeadRunsReply:
        """Lists the runs and commands that killed their runners and were stopped, latest first. The
        rest is as in `Client.list_dead_runs`.
        """
        return await self._call(
            "GET",
            "/runs/dead",
            query={"limit": limit, "cursor": cursor},
        )

    async def redrive_run(self, letter_id: str) -> m.RedriveRunReply:
        """Sends a command again that was stopped because it killed its runners. The rest is as in
        `Client.redrive_run`.
        """
        return await self._call(
            "POST",
            "/runs/dead/{letterId}/redrive",
            values={"letterId": letter_id},
        )

    async def list_run_questions(self, *, limit: int = NOT_GIVEN, cursor: str = NOT_GIVEN) -> m.ListRunQuestionsReply:
        """Lists the questions of runs that wait for an answer. The rest is as in
        `Client.list_run_questions`.
        """
        return await self._call(
            "GET",
            "/runs/questions",
            query={"limit": limit, "cursor": cursor},
        )

    async def delete_runs(
        self,
        *,
        owner: str = NOT_GIVEN,
        before: m.Timestamp = NOT_GIVEN,
        limit: int = NOT_GIVEN,
        cursor: str = NOT_GIVEN,
    ) -> m.DeleteRunsReply:
        """Deletes ended runs of an owner, a part at a time. The rest is as in `Client.delete_runs`.
        """
        return await self._call(
            "POST",
            "/runs/delete-ended",
            body={
                "owner": owner,
                "before": before,
                "limit": limit,
                "cursor": cursor,
            },
        )

    async def get_run(self, run_id: str) -> m.GetRunReply:
        """Returns one run with its input, output and cost. The rest is as in `Client.get_run`."""
        return await self._call("GET", "/runs/{runId}", values={"runId": run_id})

    async def delete_run(self, run_id: str) -> m.DeleteRunReply:
        """Deletes an ended run with its texts and events. The rest is as in `Client.delete_run`."""
        return await self._call("DELETE", "/runs/{runId}", values={"runId": run_id})

    async def get_recording(self, run_id: str) -> m.GetRecordingReply:
        """Returns the answers of a run's models, to be replayed. The rest is as in
        `Client.get_recording`.
        """
        return await self._call("GET", "/runs/{runId}/recording", values={"runId": run_id})

    async def cancel_run(self, run_id: str, *, reason: str = NOT_GIVEN) -> m.CancelRunReply:
        """Cancels a run, even when every runner is busy. The rest is as in `Client.cancel_run`."""
        return await self._call(
            "POST",
            "/runs/{runId}/cancel",
            values={"runId": run_id},
            body={"reason": reason},
        )

    async def retry_run(self, run_id: str, *, body: dict[str, Any]) -> m.AcceptedCommand:
        """Continues a failed, cancelled or dead run. The rest is as in `Client.retry_run`."""
        return await self._call(
            "POST",
            "/runs/{runId}/retry",
            values={"runId": run_id},
            body=body,
        )

    async def resume_run(self, run_id: str, *, body: dict[str, Any]) -> m.AcceptedCommand:
        """Wakes a waiting run, with other limits if wanted. The rest is as in `Client.resume_run`.
        """
        return await self._call(
            "POST",
            "/runs/{runId}/resume",
            values={"runId": run_id},
            body=body,
        )

    async def steer_run(self, run_id: str, *, message: str) -> m.AcceptedCommand:
        """Adds a message to the next step of a run. The rest is as in `Client.steer_run`."""
        return await self._call(
            "POST",
            "/runs/{runId}/steer",
            values={"runId": run_id},
            body={"message": message},
        )

    async def fork_run(
        self,
        run_id: str,
        *,
        from_step: int,
        new_run_id: str = NOT_GIVEN,
        input: m.RunInput = NOT_GIVEN,
        agent: str = NOT_GIVEN,
        model: str = NOT_GIVEN,
        limits: m.RunLimits = NOT_GIVEN,
        labels: dict[str, str] = NOT_GIVEN,
        idempotency_key: str = NOT_GIVEN,
    ) -> m.AcceptedCommand:
        """Starts a new run from a step of another one. The rest is as in `Client.fork_run`."""
        return await self._call(
            "POST",
            "/runs/{runId}/fork",
            values={"runId": run_id},
            body={
                "newRunId": new_run_id,
                "fromStep": from_step,
                "input": input,
                "agent": agent,
                "model": model,
                "limits": limits,
                "labels": labels,
            },
            idempotency_key=idempotency_key,
        )

    async def answer_run_question(
        self,
        run_id: str,
        *,
        call_id: str,
        answer: str | float | bool | dict[str, Any] | list[Any],
    ) -> m.AnswerRunQuestionReply:
        """Answers a question of a run. The rest is as in `Client.answer_run_question`."""
        return await self._call(
            "POST",
            "/runs/{runId}/answers",
            values={"runId": run_id},
            body={"callId": call_id, "answer": answer},
        )

    async def put_file(
        self,
        *,
        content: bytes,
        name: str = NOT_GIVEN,
        media_type: str = NOT_GIVEN,
    ) -> m.File:
        """Stores a file, as a part of the inputs of its owner's runs. The rest is as in
        `Client.put_file`.
        """
        return await self._call(
            "POST",
            "/files",
            query={"name": name, "mediaType": media_type},
            content=content,
        )

    async def get_file(self, ref: str) -> m.File:
        """Returns the facts about a stored file of the caller. The rest is as in `Client.get_file`.
        """
        return await self._call("GET", "/files/{ref}", values={"ref": ref})

    async def list_sessions(
        self,
        *,
        kinds: list[Literal["main", "group", "cron", "hook", "node", "other"]] = NOT_GIVEN,
        search: str = NOT_GIVEN,
        active_minutes: int = NOT_GIVEN,
        limit: int = NOT_GIVEN,
        message_limit: int = NOT_GIVEN,
        cursor: str = NOT_GIVEN,
        owner: str = NOT_GIVEN,
        all: bool = NOT_GIVEN,
    ) -> m.ListSessionsReply:
        """Lists the caller's sessions, the one used last first. The rest is as in
        `Client.list_sessions`.
        """
        return await self._call(
            "GET",
            "/sessions",
            query={
                "kinds": kinds,
                "search": search,
                "activeMinutes": active_minutes,
                "limit": limit,
                "messageLimit": message_limit,
                "cursor": cursor,
                "owner": owner,
                "all": all,
            },
        )

    async def get_session(self, session: str, *, owner: str = NOT_GIVEN) -> m.SessionReply:
        """Returns one session: its settings, its cost and its run in progress. The rest is as in
        `Client.get_session`.
        """
        return await self._call(
            "GET",
            "/sessions/{session}",
            values={"session": session},
            query={"owner": owner},
        )

    async def patch_session(
        self,
        session: str,
        *,
        owner: str = NOT_GIVEN,
        label: str | None = NOT_GIVEN,
        kind: Literal["main", "group", "cron", "hook", "node", "other"] = NOT_GIVEN,
        on_busy: Literal["enqueue", "steer", "interrupt", "reject"] = NOT_GIVEN,
        agent: str = NOT_GIVEN,
        model: str | None = NOT_GIVEN,
        skills_off: list[str] = NOT_GIVEN,
        if_match: str = NOT_GIVEN,
    ) -> m.SessionReply:
        """Changes the label and the settings of a session. The rest is as in
        `Client.patch_session`.
        """
        return await self._call(
            "PATCH",
            "/sessions/{session}",
            values={"session": session},
            body={
                "owner": owner,
                "label": label,
                "kind": kind,
                "onBusy": on_busy,
                "agent": agent,
                "model": model,
                "skillsOff": skills_off,
            },
            if_match=if_match,
        )

    async def delete_session(
        self,
        session: str,
        *,
        owner: str = NOT_GIVEN,
        if_match: str = NOT_GIVEN,
    ) -> m.DeleteSessionReply:
        """Ends and deletes a session; its run is cancelled. The rest is as in
        `Client.delete_session`.
        """
        return await self._call(
            "DELETE",
            "/sessions/{session}",
            values={"session": session},
            query={"owner": owner},
            if_match=if_match,
        )

    async def get_session_history(
        self,
        session: str,
        *,
        owner: str = NOT_GIVEN,
        limit: int = NOT_GIVEN,
        include_tools: bool = NOT_GIVEN,
    ) -> m.GetSessionHistoryReply:
        """Returns the last messages of a session. The rest is as in `Client.get_session_history`.
        """
        return await self._call(
            "GET",
            "/sessions/{session}/history",
            values={"session": session},
            query={
                "owner": owner,
                "limit": limit,
                "includeTools": include_tools,
            },
        )

    async def send_to_session(
        self,
        session: str,
        *,
        message: str | Literal[""],
        label: str = NOT_GIVEN,
        owner: str = NOT_GIVEN,
        files: list[m.Input] = NOT_GIVEN,
        agent: str = NOT_GIVEN,
        model: str = NOT_GIVEN,
        thinking: Literal["off", "none", "minimal", "low", "medium", "high", "xhigh", "max"] = NOT_GIVEN,
        skill: str = NOT_GIVEN,
        limits: m.RunLimits = NOT_GIVEN,
        skills_off: list[str] = NOT_GIVEN,
        on_busy: Literal["enqueue", "steer", "interrupt", "reject"] = NOT_GIVEN,
        timeout_seconds: int = NOT_GIVEN,
        run_id: str = NOT_GIVEN,
        follow_up: m.SendToSessionFollowUpAnnounce | m.SendToSessionFollowUpConverse | m.SendToSessionFollowUpTell = NOT_GIVEN,
        idempotency_key: str = NOT_GIVEN,
    ) -> m.SendToSessionReply:
        """Sends a message to a session, and may wait for the answer. The rest is as in
        `Client.send_to_session`.
        """
        return await self._call(
            "POST",
            "/sessions/{session}/messages",
            values={"session": session},
            body={
                "label": label,
                "owner": owner,
                "message": message,
                "files": files,
                "agent": agent,
                "model": model,
                "thinking": thinking,
                "skill": skill,
                "limits": limits,
                "skillsOff": skills_off,
                "onBusy": on_busy,
                "timeoutSeconds": timeout_seconds,
                "runId": run_id,
                "followUp": follow_up,
            },
            idempotency_key=idempotency_key,
        )

    async def reset_session(self, session: str, *, owner: str = NOT_GIVEN) -> m.ResetSessionReply:
        """Deletes the history of a session and cancels its run; name and settings stay. The rest is
        as in `Client.reset_session`.
        """
        return await self._call(
            "POST",
            "/sessions/{session}/reset",
            values={"session": session},
            body={"owner": owner},
        )

    async def claim_session(
        self,
        session: str,
        *,
        agent: str = NOT_GIVEN,
        channel: str = NOT_GIVEN,
        group: str = NOT_GIVEN,
        depth: int = NOT_GIVEN,
    ) -> m.ClaimSessionReply:
        """Checks claims about a session of the caller, and returns a token for calls under its
        rules. The rest is as in `Client.claim_session`.
        """
        return await self._call(
            "POST",
            "/sessions/{session}/claim",
            values={"session": session},
            body={
                "agent": agent,
                "channel": channel,
                "group": group,
                "depth": depth,
            },
        )

    async def list_schedules(
        self,
        *,
        include_disabled: bool = NOT_GIVEN,
        enabled: Literal["all", "enabled", "disabled"] = NOT_GIVEN,
        query: str = NOT_GIVEN,
        sort_by: Literal["nextRunAtMs", "updatedAtMs", "name"] = NOT_GIVEN,
        sort_dir: Literal["asc", "desc"] = NOT_GIVEN,
        limit: int = NOT_GIVEN,
        offset: int = NOT_GIVEN,
        cursor: str = NOT_GIVEN,
        owner: str = NOT_GIVEN,
        all: bool = NOT_GIVEN,
    ) -> m.ListSchedulesReply:
        """Lists the caller's jobs. The rest is as in `Client.list_schedules`."""
        return await self._call(
            "GET",
            "/schedules",
            query={
                "includeDisabled": include_disabled,
                "enabled": enabled,
                "query": query,
                "sortBy": sort_by,
                "sortDir": sort_dir,
                "limit": limit,
                "offset": offset,
                "cursor": cursor,
                "owner": owner,
                "all": all,
            },
        )

    async def add_schedule(
        self,
        *,
        job: m.AddScheduleJob = NOT_GIVEN,
        idempotency_key: str = NOT_GIVEN,
    ) -> m.ScheduleJobReply:
        """Adds a job; its runs are the caller's. The rest is as in `Client.add_schedule`."""
        return await self._call(
            "POST",
            "/schedules",
            body={"job": job, "idempotencyKey": idempotency_key},
        )

    async def get_schedule_status(self, *, owner: str = NOT_GIVEN) -> m.GetScheduleStatusReply:
        """Returns how many jobs the caller has, and when the next one is due. The rest is as in
        `Client.get_schedule_status`.
        """
        return await self._call("GET", "/schedules/status", query={"owner": owner})

    async def list_schedule_runs(
        self,
        *,
        scope: Literal["job", "all"] = NOT_GIVEN,
        job_id: str = NOT_GIVEN,
        limit: int = NOT_GIVEN,
        offset: int = NOT_GIVEN,
        statuses: list[Literal["ok", "error", "skipped"]] = NOT_GIVEN,
        delivery_statuses: list[Literal["delivered", "not-delivered", "unknown", "not-requested"]] = NOT_GIVEN,
        query: str = NOT_GIVEN,
        sort_dir: Literal["asc", "desc"] = NOT_GIVEN,
        owner: str = NOT_GIVEN,
    ) -> m.ScheduleRuns:
        """Lists the outcomes of the due times of a job, or of all jobs, the latest first. The rest
        is as in `Client.list_schedule_runs`.
        """
        return await self._call(
            "GET",
            "/schedules/runs",
            query={
                "scope": scope,
                "jobId": job_id,
                "limit": limit,
                "offset": offset,
                "statuses": statuses,
                "deliveryStatuses": delivery_statuses,
                "query": query,
                "sortDir": sort_dir,
                "owner": owner,
            },
        )

    async def wake_schedules(
        self,
        *,
        text: str,
        mode: Literal["next-heartbeat", "now"] = NOT_GIVEN,
        agent_id: str = NOT_GIVEN,
        session_key: str = NOT_GIVEN,
    ) -> m.WakeSchedulesReply:
        """Posts a text in the caller's main session, now or at the next heartbeat. The rest is as
        in `Client.wake_schedules`.
        """
        return await self._call(
            "POST",
            "/schedules/wake",
            body={
                "text": text,
                "mode": mode,
                "agentId": agent_id,
                "sessionKey": session_key,
            },
        )

    async def update_schedule(
        self,
        job_id: str,
        *,
        name: str = NOT_GIVEN,
        description: str = NOT_GIVEN,
        agent_id: str | None = NOT_GIVEN,
        session_key: str | None = NOT_GIVEN,
        schedule: m.JobSchedule = NOT_GIVEN,
        session_target: Literal["main", "isolated"] = NOT_GIVEN,
        payload: m.JobPayload = NOT_GIVEN,
        delivery: m.JobDelivery | None = NOT_GIVEN,
        enabled: bool = NOT_GIVEN,
        delete_after_run: bool = NOT_GIVEN,
        wake_mode: Literal["next-heartbeat", "now"] = NOT_GIVEN,
        overlap: Literal["skip", "queue", "parallel"] = NOT_GIVEN,
        catch_up: Literal["once", "skip"] = NOT_GIVEN,
        if_match: str = NOT_GIVEN,
    ) -> m.ScheduleJobReply:
        """Changes a job. A due time that has come is kept unless the schedule is changed. A
        declared one can be paused alone. The rest is as in `Client.update_schedule`.
        """
        return await self._call(
            "PATCH",
            "/schedules/{jobId}",
            values={"jobId": job_id},
            body={
                "name": name,
                "description": description,
                "agentId": agent_id,
                "sessionKey": session_key,
                "schedule": schedule,
                "sessionTarget": session_target,
                "payload": payload,
                "delivery": delivery,
                "enabled": enabled,
                "deleteAfterRun": delete_after_run,
                "wakeMode": wake_mode,
                "overlap": overlap,
                "catchUp": catch_up,
            },
            if_match=if_match,
        )

    async def remove_schedule(
        self,
        job_id: str,
        *,
        owner: str = NOT_GIVEN,
        if_match: str = NOT_GIVEN,
    ) -> m.RemoveScheduleReply:
        """Removes a job, unless it is declared. A run in progress continues. The rest is as in
        `Client.remove_schedule`.
        """
        return await self._call(
            "DELETE",
            "/schedules/{jobId}",
            values={"jobId": job_id},
            query={"owner": owner},
            if_match=if_match,
        )

    async def get_schedule(self, job_id: str, *, owner: str = NOT_GIVEN) -> m.ScheduleJobReply:
        """Returns one job. The rest is as in `Client.get_schedule`."""
        return await self._call(
            "GET",
            "/schedules/{jobId}",
            values={"jobId": job_id},
            query={"owner": owner},
        )

    async def run_schedule(
        self,
        job_id: str,
        *,
        mode: Literal["due", "force"] = NOT_GIVEN,
        owner: str = NOT_GIVEN,
    ) -> m.RunScheduleReply:
        """Runs a job now, or only when it is due. The rest is as in `Client.run_schedule`."""
        return await self._call(
            "POST",
            "/schedules/{jobId}/run",
            values={"jobId": job_id},
            body={"mode": mode, "owner": owner},
        )

    async def list_runs_of_schedule(
        self,
        job_id: str,
        *,
        scope: Literal["job", "all"] = NOT_GIVEN,
        limit: int = NOT_GIVEN,
        offset: int = NOT_GIVEN,
        statuses: list[Literal["ok", "error", "skipped"]] = NOT_GIVEN,
        delivery_statuses: list[Literal["delivered", "not-delivered", "unknown", "not-requested"]] = NOT_GIVEN,
        query: str = NOT_GIVEN,
        sort_dir: Literal["asc", "desc"] = NOT_GIVEN,
        owner: str = NOT_GIVEN,
    ) -> m.ScheduleRuns:
        """Lists the outcomes of the due times of a job, or of all jobs, the latest first. The rest
        is as in `Client.list_runs_of_schedule`.
        """
        return await self._call(
            "GET",
            "/schedules/{jobId}/runs",
            values={"jobId": job_id},
            query={
                "scope": scope,
                "limit": limit,
                "offset": offset,
                "statuses": statuses,
                "deliveryStatuses": delivery_statuses,
                "query": query,
                "sortDir": sort_dir,
                "owner": owner,
            },
        )

    async def list_channel_accounts(self, *, channel: str = NOT_GIVEN) -> m.ListChannelAccountsReply:
        """Lists the accounts that the caller may use, and how each is. The rest is as in
        `Client.list_channel_accounts`.
        """
        return await self._call("GET", "/channels/accounts", query={"channel": channel})

    async def get_channel_capabilities(self, channel: str, account_id: str) -> m.GetChannelCapabilitiesReply:
        """Returns what an account supports. The rest is as in `Client.get_channel_capabilities`."""
        return await self._call(
            "GET",
            "/channels/{channel}/{accountId}/capabilities",
            values={"channel": channel, "accountId": account_id},
        )

    async def check_channel_account(self, channel: str, account_id: str) -> m.CheckChannelAccountReply:
        """Checks an account's credentials at its provider. The rest is as in
        `Client.check_channel_account`.
        """
        return await self._call(
            "POST",
            "/channels/{channel}/{accountId}/check",
            values={"channel": channel, "accountId": account_id},
        )

    async def send_channel_message(
        self,
        *,
        to: m.AddressInput,
        text: str = NOT_GIVEN,
        attachments: list[m.SendChannelMessageAttachments] = NOT_GIVEN,
        effect_id: str = NOT_GIVEN,
        effect_fallback: Literal["refuse", "plain"] = NOT_GIVEN,
        silent: bool = NOT_GIVEN,
        dry_run: bool = NOT_GIVEN,
        tool: str = NOT_GIVEN,
        run_id: str = NOT_GIVEN,
        session_key: str = NOT_GIVEN,
        idempotency_key: str = NOT_GIVEN,
        reply_to_message_id: str = NOT_GIVEN,
    ) -> m.SendChannelMessageReply:
        """Sends a message to a person, group or channel, as a reply or in a thread. The rest is as
        in `Client.send_channel_message`.
        """
        return await self._call(
            "POST",
            "/channels/messages",
            body={
                "text": text,
                "attachments": attachments,
                "effectId": effect_id,
                "effectFallback": effect_fallback,
                "silent": silent,
                "dryRun": dry_run,
                "tool": tool,
                "runId": run_id,
                "sessionKey": session_key,
                "idempotencyKey": idempotency_key,
                "to": to,
                "replyToMessageId": reply_to_message_id,
            },
        )

    async def read_channel_messages(
        self,
        *,
        address: m.AddressInput,
        limit: int = NOT_GIVEN,
        before: str = NOT_GIVEN,
        after: str = NOT_GIVEN,
    ) -> m.ReadChannelMessagesReply:
        """Reads the last messages at an address, oldest first. The rest is as in
        `Client.read_channel_messages`.
        """
        return await self._call(
            "POST",
            "/channels/messages/read",
            body={
                "address": address,
                "limit": limit,
                "before": before,
                "after": after,
            },
        )

    async def submit_channel_message(
        self,
        channel: str,
        *,
        text: str,
        account_id: str = NOT_GIVEN,
        target: m.ChannelTarget = NOT_GIVEN,
        thread_id: str = NOT_GIVEN,
        message_id: str = NOT_GIVEN,
        reply_to_message_id: str = NOT_GIVEN,
        mentions_account: bool = NOT_GIVEN,
    ) -> m.SubmitChannelMessageReply:
        """Submits a message in a channel of Switchyard's own: webchat or loopback. The rest is as
        in `Client.submit_channel_message`.
        """
        return await self._call(
            "POST",
            "/channels/{channel}/submit",
            values={"channel": channel},
            body={
                "accountId": account_id,
                "target": target,
                "threadId": thread_id,
                "messageId": message_id,
                "text": text,
                "replyToMessageId": reply_to_message_id,
                "mentionsAccount": mentions_account,
            },
        )

    async def list_approvals(
        self,
        *,
        pending_only: bool = NOT_GIVEN,
        run_id: str = NOT_GIVEN,
        limit: int = NOT_GIVEN,
        cursor: str = NOT_GIVEN,
    ) -> m.ListApprovalsReply:
        """Lists approvals that the caller may decide or has asked for, newest first. The rest is as
        in `Client.list_approvals`.
        """
        return await self._call(
            "GET",
            "/approvals",
            query={
                "pendingOnly": pending_only,
                "runId": run_id,
                "limit": limit,
                "cursor": cursor,
            },
        )

    async def get_approval(self, id: str) -> m.GetApprovalReply:
        """Shows one approval with the arguments it is about and what its run did before. The rest
        is as in `Client.get_approval`.
        """
        return await self._call("GET", "/approvals/{id}", values={"id": id})

    async def approve_call(
        self,
        id: str,
        *,
        binding: str = NOT_GIVEN,
        scope: Literal["once", "session"] = NOT_GIVEN,
        reason: str = NOT_GIVEN,
        ttl_seconds: int = NOT_GIVEN,
        max_uses: int = NOT_GIVEN,
        arguments: dict[str, Any] = NOT_GIVEN,
        same_arguments: list[str] = NOT_GIVEN,
    ) -> m.ApproveCallReply:
        """Approves a waiting call, once or for more calls of its kind; some need several people.
        The rest is as in `Client.approve_call`.
        """
        return await self._call(
            "POST",
            "/approvals/{id}/approve",
            values={"id": id},
            body={
                "binding": binding,
                "scope": scope,
                "reason": reason,
                "ttlSeconds": ttl_seconds,
                "maxUses": max_uses,
                "arguments": arguments,
                "sameArguments": same_arguments,
            },
        )

    async def deny_call(
        self,
        id: str,
        *,
        binding: str = NOT_GIVEN,
        reason: str = NOT_GIVEN,
    ) -> m.ApprovalEnded:
        """Denies a waiting call; the agent gets the reason. The rest is as in `Client.deny_call`.
        """
        return await self._call(
            "POST",
            "/approvals/{id}/deny",
            values={"id": id},
            body={"binding": binding, "reason": reason},
        )

    async def cancel_approval(self, id: str, *, reason: str = NOT_GIVEN) -> m.ApprovalEnded:
        """Cancels the request for an approval; the call is not made. The rest is as in
        `Client.cancel_approval`.
        """
        return await self._call(
            "POST",
            "/approvals/{id}/cancel",
            values={"id": id},
            body={"reason": reason},
        )

    async def create_chat_link(self, *, asks: bool = NOT_GIVEN) -> m.CreateChatLinkReply:
        """Makes a one-time code; who sends it to a bot in private decides there as the caller. The
        rest is as in `Client.create_chat_link`.
        """
        return await self._call("POST", "/chat-links", body={"asks": asks})

    async def list_chat_links(self, *, user: str | Literal["*"] = NOT_GIVEN) -> m.ListChatLinksReply:
        """Lists the chats in which the caller may decide; for policy admins those of any user. The
        rest is as in `Client.list_chat_links`.
        """
        return await self._call("GET", "/chat-links", query={"user": user})

    async def revoke_chat_link(self, id: str) -> m.RevokeChatLinkReply:
        """Ends a link of the caller at once; for policy admins one of any user. The rest is as in
        `Client.revoke_chat_link`.
        """
        return await self._call("DELETE", "/chat-links/{id}", values={"id": id})

    async def list_grants(self, *, limit: int = NOT_GIVEN) -> m.ListGrantsReply:
        """Lists standing approvals that the caller may revoke or profits from. The rest is as in
        `Client.list_grants`.
        """
        return await self._call("GET", "/grants", query={"limit": limit})

    async def revoke_grant(self, id: str) -> m.RevokeGrantReply:
        """Ends a standing approval; later calls need a person again. The rest is as in
        `Client.revoke_grant`.
        """
        return await self._call("DELETE", "/grants/{id}", values={"id": id})

    async def list_tools(
        self,
        *,
        server: str = NOT_GIVEN,
        findings: bool = NOT_GIVEN,
    ) -> m.Tools:
        """Lists the tools of connected servers that the policy lets the principal call. The rest is
        as in `Client.list_tools`.
        """
        return await self._call(
            "GET",
            "/tools",
            query={"server": server, "findings": findings},
        )

    async def list_builtins(self) -> m.ListBuiltinsReply:
        """Lists the built-in tools that the policy lets the principal call. The rest is as in
        `Client.list_builtins`.
        """
        return await self._call("GET", "/tools/builtin")

    async def call_builtin(
        self,
        tool: str,
        *,
        args: dict[str, Any],
        call_id: str = NOT_GIVEN,
        approval_id: str = NOT_GIVEN,
        idempotency_key: str = NOT_GIVEN,
    ) -> m.CallBuiltinReply:
        """Calls a built-in tool after the policy allowed exactly this call. The rest is as in
        `Client.call_builtin`.
        """
        return await self._call(
            "POST",
            "/tools/builtin/{tool}/call",
            values={"tool": tool},
            body={"args": args, "callId": call_id, "approvalId": approval_id},
            idempotency_key=idempotency_key,
        )

    async def cancel_builtin(self, *, call_id: str) -> m.CancelBuiltinReply:
        """Cancels a call of a built-in tool in progress, with the command that it runs. The rest is
        as in `Client.cancel_builtin`.
        """
        return await self._call("POST", "/tools/builtin/cancel", body={"callId": call_id})

    async def call_tool(
        self,
        server: str,
        tool: str,
        *,
        args: dict[str, Any],
        call_id: str = NOT_GIVEN,
        approval_id: str = NOT_GIVEN,
        _meta: dict[str, Any] = NOT_GIVEN,
        idempotency_key: str = NOT_GIVEN,
    ) -> m.CallToolReply:
        """Calls a tool of an MCP server after the policy allowed exactly this call. The rest is as
        in `Client.call_tool`.
        """
        return await self._call(
            "POST",
            "/tools/mcp/{server}/{tool}/call",
            values={"server": server, "tool": tool},
            body={
                "args": args,
                "callId": call_id,
                "approvalId": approval_id,
                "_meta": _meta,
            },
            idempotency_key=idempotency_key,
        )

    async def list_mcp_tools(
        self,
        *,
        server: str = NOT_GIVEN,
        findings: bool = NOT_GIVEN,
    ) -> m.Tools:
        """Lists the tools of connected servers that the policy lets the principal call. The rest is
        as in `Client.list_mcp_tools`.
        """
        return await self._call(
            "GET",
            "/mcp/tools",
            query={"server": server, "findings": findings},
        )

    async def list_tools_of_server(
        self,
        server: str,
        *,
        id: str = NOT_GIVEN,
        findings: bool = NOT_GIVEN,
    ) -> m.Tools:
        """Lists the tools of connected servers that the policy lets the principal call. The rest is
        as in `Client.list_tools_of_server`.
        """
        return await self._call(
            "GET",
            "/mcp/tools/{server}",
            values={"server": server},
            query={"id": id, "findings": findings},
        )

    async def list_server_questions(
        self,
        *,
        server: str = NOT_GIVEN,
        pending_only: bool = NOT_GIVEN,
    ) -> m.ListServerQuestionsReply:
        """Lists the questions of MCP servers that the caller may answer, newest first. The rest is
        as in `Client.list_server_questions`.
        """
        return await self._call(
            "GET",
            "/mcp/questions",
            query={"server": server, "pendingOnly": pending_only},
        )

    async def answer_server_question(
        self,
        id: str,
        *,
        action: Literal["accept", "decline", "cancel"],
        content: dict[str, str | float | bool | list[str]] = NOT_GIVEN,
    ) -> m.AnswerServerQuestionReply:
        """Answers a question of an MCP server, once. The rest is as in
        `Client.answer_server_question`.
        """
        return await self._call(
            "POST",
            "/mcp/questions/{id}/answer",
            values={"id": id},
            body={"action": action, "content": content},
        )

    async def list_server_secrets(self) -> m.ListServerSecretsReply:
        """Lists the stored secrets of MCP servers by name; never their values. The rest is as in
        `Client.list_server_secrets`.
        """
        return await self._call("GET", "/mcp/secrets")

    async def set_server_secret(
        self,
        name: str,
        *,
        value: str,
        servers: list[str] | None = NOT_GIVEN,
    ) -> m.SetServerSecretReply:
        """Stores or replaces a secret of MCP servers; those that use it connect anew. The rest is
        as in `Client.set_server_secret`.
        """
        return await self._call(
            "PUT",
            "/mcp/secrets/{name}",
            values={"name": name},
            body={"value": value, "servers": servers},
        )

    async def delete_server_secret(self, name: str) -> m.DeleteServerSecretReply:
        """Deletes a secret that no MCP server uses. The rest is as in
        `Client.delete_server_secret`.
        """
        return await self._call("DELETE", "/mcp/secrets/{name}", values={"name": name})

    async def list_servers(self) -> m.ListServersReply:
        """Lists the configured MCP servers with their true status. The rest is as in
        `Client.list_servers`.
        """
        return await self._call("GET", "/mcp/servers")

    async def add_server(self, *, body: dict[str, Any]) -> m.ServerReply:
        """Adds an MCP server and begins to connect it. The rest is as in `Client.add_server`."""
        return await self._call("POST", "/mcp/servers", body=body)

    async def get_server(self, id: str) -> m.GetServerReply:
        """Shows one MCP server: status and declaration, literal secrets as [redacted]. The rest is
        as in `Client.get_server`.
        """
        return await self._call("GET", "/mcp/servers/{id}", values={"id": id})

    async def update_server(
        self,
        id: str,
        *,
        body: dict[str, Any],
        if_match: str = NOT_GIVEN,
    ) -> m.ServersMcp:
        """Changes fields of an MCP server; reconnects it where its connection needs it. The rest is
        as in `Client.update_server`.
        """
        return await self._call(
            "PATCH",
            "/mcp/servers/{id}",
            values={"id": id},
            body=body,
            if_match=if_match,
        )

    async def put_server(
        self,
        id: str,
        *,
        body: dict[str, Any],
        if_match: str = NOT_GIVEN,
    ) -> m.ServersMcp:
        """Changes fields of an MCP server; reconnects it where its connection needs it. The rest is
        as in `Client.put_server`.
        """
        return await self._call(
            "PUT",
            "/mcp/servers/{id}",
            values={"id": id},
            body=body,
            if_match=if_match,
        )

    async def remove_server(self, id: str, *, if_match: str = NOT_GIVEN) -> m.RemoveServerReply:
        """Removes an MCP server; replies when its connection and its processes have ended. The rest
        is as in `Client.remove_server`.
        """
        return await self._call(
            "DELETE",
            "/mcp/servers/{id}",
            values={"id": id},
            if_match=if_match,
        )

    async def connect_server(self, id: str) -> m.ConnectServerReply:
        """Connects an MCP server, or connects it anew; answers when the attempt is over. The rest
        is as in `Client.connect_server`.
        """
        return await self._call("POST", "/mcp/servers/{id}/connect", values={"id": id})

    async def disconnect_server(self, id: str) -> m.DisconnectServerReply:
        """Ends a connection until mcp.connect or a restart; an unknown server is not an error. The
        rest is as in `Client.disconnect_server`.
        """
        return await self._call("POST", "/mcp/servers/{id}/disconnect", values={"id": id})

    async def enable_server(self, id: str, *, enabled: bool) -> m.ServerReply:
        """Enables or disables an MCP server until the next change. The rest is as in
        `Client.enable_server`.
        """
        return await self._call(
            "POST",
            "/mcp/servers/{id}/enable",
            values={"id": id},
            body={"enabled": enabled},
        )

    async def reset_server(self, id: str) -> m.ServerReply:
        """Discards changes by request: the declaration of the file counts again. The rest is as in
        `Client.reset_server`.
        """
        return await self._call("POST", "/mcp/servers/{id}/reset", values={"id": id})

    async def get_server_logs(self, id: str, *, tail: int = NOT_GIVEN) -> m.GetServerLogsReply:
        """The last lines that an MCP server's process wrote to stderr. The rest is as in
        `Client.get_server_logs`.
        """
        return await self._call(
            "GET",
            "/mcp/servers/{id}/logs",
            values={"id": id},
            query={"tail": tail},
        )

    async def refresh_tools(self, id: str) -> m.RefreshToolsReply:
        """Reads the tool list of a connected MCP server again. The rest is as in
        `Client.refresh_tools`.
        """
        return await self._call("POST", "/mcp/servers/{id}/refresh", values={"id": id})

    async def list_pins(
        self,
        id: str,
        *,
        states: list[Literal["pending", "approved", "changed", "blocked"]] = NOT_GIVEN,
        limit: int = NOT_GIVEN,
        after: str = NOT_GIVEN,
    ) -> m.ListPinsReply:
        """Lists the pinned tools of an MCP server with their states and findings. The rest is as in
        `Client.list_pins`.
        """
        return await self._call(
            "GET",
            "/mcp/servers/{id}/pins",
            values={"id": id},
            query={"states": states, "limit": limit, "after": after},
        )

    async def approve_pins(
        self,
        id: str,
        *,
        tools: list[m.ApprovePinsTools] = NOT_GIVEN,
        override: list[m.ToolFindingCode] = NOT_GIVEN,
    ) -> m.ApprovePinsReply:
        """Approves the definitions that an MCP server lists now. The rest is as in
        `Client.approve_pins`.
        """
        return await self._call(
            "POST",
            "/mcp/servers/{id}/pins/approve",
            values={"id": id},
            body={"tools": tools, "override": override},
        )

    async def block_pins(self, id: str, *, tools: list[str]) -> m.BlockPinsReply:
        """Blocks tools of an MCP server, whatever definition it lists. The rest is as in
        `Client.block_pins`.
        """
        return await self._call(
            "POST",
            "/mcp/servers/{id}/pins/block",
            values={"id": id},
            body={"tools": tools},
        )

    async def diff_pin(self, id: str, tool: str) -> m.DiffPinReply:
        """Shows what differs between the approved and the listed definition of a tool. The rest is
        as in `Client.diff_pin`.
        """
        return await self._call(
            "GET",
            "/mcp/servers/{id}/pins/{tool}/diff",
            values={"id": id, "tool": tool},
        )

    async def begin_login(self, id: str, *, redirect_uri: str) -> m.BeginLoginReply:
        """Begins an OAuth login to an MCP server; a person goes to the address in the reply. The
        rest is as in `Client.begin_login`.
        """
        return await self._call(
            "POST",
            "/mcp/servers/{id}/login",
            values={"id": id},
            body={"redirectUri": redirect_uri},
        )

    async def end_login(self, id: str) -> m.EndLoginReply:
        """Revokes and deletes the login to an MCP server, and connects it without one. The rest is
        as in `Client.end_login`.
        """
        return await self._call("DELETE", "/mcp/servers/{id}/login", values={"id": id})

    async def finish_login(
        self,
        id: str,
        *,
        state: str,
        code: str,
        iss: str = NOT_GIVEN,
    ) -> m.FinishLoginReply:
        """Completes an OAuth login with the code from the browser, and connects the server. The
        rest is as in `Client.finish_login`.
        """
        return await self._call(
            "POST",
            "/mcp/servers/{id}/login/finish",
            values={"id": id},
            body={"state": state, "code": code, "iss": iss},
        )

    async def list_server_messages(self, id: str, *, tail: int = NOT_GIVEN) -> m.ListServerMessagesReply:
        """The last log messages that an MCP server sent over the protocol. The rest is as in
        `Client.list_server_messages`.
        """
        return await self._call(
            "GET",
            "/mcp/servers/{id}/messages",
            values={"id": id},
            query={"tail": tail},
        )

    async def set_server_log_level(
        self,
        id: str,
        *,
        level: Literal["debug", "info", "notice", "warning", "error", "critical", "alert", "emergency"],
    ) -> m.SetServerLogLevelReply:
        """Sets from which level on an MCP server sends log messages, for everyone. The rest is as
        in `Client.set_server_log_level`.
        """
        return await self._call(
            "POST",
            "/mcp/servers/{id}/log-level",
            values={"id": id},
            body={"level": level},
        )

    async def list_resources(self, id: str) -> m.ListResourcesReply:
        """Lists the resources of an MCP server that the policy lets the principal read. The rest is
        as in `Client.list_resources`.
        """
        return await self._call("GET", "/mcp/servers/{id}/resources", values={"id": id})

    async def list_resource_templates(self, id: str) -> m.ListResourceTemplatesReply:
        """Lists the resource templates of an MCP server that the policy lets the principal use. The
        rest is as in `Client.list_resource_templates`.
        """
        return await self._call(
            "GET",
            "/mcp/servers/{id}/resource-templates",
            values={"id": id},
        )

    async def read_resource(self, id: str, *, uri: str) -> m.ReadResourceReply:
        """Reads a resource of an MCP server after the policy allowed exactly this one. The rest is
        as in `Client.read_resource`.
        """
        return await self._call(
            "POST",
            "/mcp/servers/{id}/resources/read",
            values={"id": id},
            body={"uri": uri},
        )

    async def list_prompts(self, id: str) -> m.ListPromptsReply:
        """Lists the prompts of an MCP server that the policy lets the principal get. The rest is as
        in `Client.list_prompts`.
        """
        return await self._call("GET", "/mcp/servers/{id}/prompts", values={"id": id})

    async def get_prompt(
        self,
        id: str,
        name: str,
        *,
        args: dict[str, str] = NOT_GIVEN,
    ) -> m.GetPromptReply:
        """Gets a prompt of an MCP server after the policy allowed it with these arguments. The rest
        is as in `Client.get_prompt`.
        """
        return await self._call(
            "POST",
            "/mcp/servers/{id}/prompts/{name}",
            values={"id": id, "name": name},
            body={"args": args},
        )

    async def list_skills(self) -> m.Skills:
        """Lists the imported skills. The rest is as in `Client.list_skills`."""
        return await self._call("GET", "/skills")

    async def upload_skills(
        self,
        *,
        label: str,
        skills: list[m.UploadSkillsSkills],
        dry_run: bool = NOT_GIVEN,
        git: m.GitCheckout | None = NOT_GIVEN,
        with_reports: bool = NOT_GIVEN,
        import_id: str = NOT_GIVEN,
        targets: list[Literal["agent-skills", "claude-code", "claude-ai", "openclaw", "clawhub"]] = NOT_GIVEN,
    ) -> m.SkillsUploaded:
        """Imports skills whose files the caller sends. The rest is as in `Client.upload_skills`."""
        return await self._call(
            "POST",
            "/skills",
            body={
                "label": label,
                "dryRun": dry_run,
                "git": git,
                "withReports": with_reports,
                "importId": import_id,
                "targets": targets,
                "skills": skills,
            },
        )

    async def unpack_skills(
        self,
        *,
        content: bytes,
        label: str = NOT_GIVEN,
        dry_run: bool = NOT_GIVEN,
        git: m.GitCheckout | None = NOT_GIVEN,
        with_reports: bool = NOT_GIVEN,
        import_id: str = NOT_GIVEN,
        targets: list[Literal["agent-skills", "claude-code", "claude-ai", "openclaw", "clawhub"]] = NOT_GIVEN,
        format: Literal["zip", "tar.gz", "tar"] = NOT_GIVEN,
        only: list[str] = NOT_GIVEN,
    ) -> m.SkillsUploaded:
        """Imports the skills in a zip or tar.gz that the caller sends. The rest is as in
        `Client.unpack_skills`.
        """
        return await self._call(
            "POST",
            "/skills/archive",
            query={
                "label": label,
                "dryRun": dry_run,
                "git": git,
                "withReports": with_reports,
                "importId": import_id,
                "targets": targets,
                "format": format,
                "only": only,
            },
            content=content,
        )

    async def import_skills(self, *, directory: str, dry_run: bool = NOT_GIVEN) -> m.SkillsImported:
        """Imports the skills and agents below a directory on one of the importer's allowed roots.
        The rest is as in `Client.import_skills`.
        """
        return await self._call(
            "POST",
            "/skills/import",
            body={"directory": directory, "dryRun": dry_run},
        )

    async def check_skills(
        self,
        *,
        directory: str,
        targets: list[Literal["agent-skills", "claude-code", "claude-ai", "openclaw", "clawhub"]] = NOT_GIVEN,
        offset: int = NOT_GIVEN,
        limit: int = NOT_GIVEN,
    ) -> m.CheckSkillsReply:
        """Reads the skill files below a directory and checks them; nothing is stored. The rest is
        as in `Client.check_skills`.
        """
        return await self._call(
            "POST",
            "/skills/check",
            body={
                "directory": directory,
                "targets": targets,
                "offset": offset,
                "limit": limit,
            },
        )

    async def list_withheld_skills(self) -> m.ListWithheldSkillsReply:
        """Lists the skills and agents that are stored and wait for a person's trust. The rest is as
        in `Client.list_withheld_skills`.
        """
        return await self._call("GET", "/skills/withheld")

    async def trust_skill(
        self,
        *,
        name: str,
        version: str,
        kind: Literal["skill", "agent"] = NOT_GIVEN,
        reason: str = NOT_GIVEN,
    ) -> m.TrustSkillReply:
        """Lists a withheld skill or agent; the trust holds for exactly this version from this
        source. The rest is as in `Client.trust_skill`.
        """
        return await self._call(
            "POST",
            "/skills/trust",
            body={
                "kind": kind,
                "name": name,
                "version": version,
                "reason": reason,
            },
        )

    async def get_skill_catalogue(
        self,
        *,
        context_window: int = NOT_GIVEN,
        budget_tokens: int = NOT_GIVEN,
        about: str = NOT_GIVEN,
        without: list[str] = NOT_GIVEN,
    ) -> m.GetSkillCatalogueReply:
        """Returns the list of skills for a system prompt, cut to its budget, and what was cut. The
        rest is as in `Client.get_skill_catalogue`.
        """
        return await self._call(
            "GET",
            "/skills/catalogue",
            query={
                "contextWindow": context_window,
                "budgetTokens": budget_tokens,
                "about": about,
                "without": without,
            },
        )

    async def match_skills(
        self,
        *,
        text: str,
        limit: int = NOT_GIVEN,
        model_invocable_only: bool = NOT_GIVEN,
    ) -> m.MatchSkillsReply:
        """Finds the skills that fit a text, by BM25 over name, description and triggers. The rest
        is as in `Client.match_skills`.
        """
        return await self._call(
            "GET",
            "/skills/matches",
            query={
                "text": text,
                "limit": limit,
                "modelInvocableOnly": model_invocable_only,
            },
        )

    async def list_skill_manifests(
        self,
        *,
        name: str = NOT_GIVEN,
        source: Literal["openclaw", "agent-skills"] = NOT_GIVEN,
        offset: int = NOT_GIVEN,
        limit: int = NOT_GIVEN,
    ) -> m.ListSkillManifestsReply:
        """Returns skills as a plugin registry shows them, with their slash commands. The rest is as
        in `Client.list_skill_manifests`.
        """
        return await self._call(
            "GET",
            "/skills/manifests",
            query={
                "name": name,
                "source": source,
                "offset": offset,
                "limit": limit,
            },
        )

    async def get_skill(
        self,
        name: str,
        *,
        digest: str = NOT_GIVEN,
        version: str = NOT_GIVEN,
    ) -> m.GetSkillReply:
        """Returns one skill with its body. The rest is as in `Client.get_skill`."""
        return await self._call(
            "GET",
            "/skills/{name}",
            values={"name": name},
            query={"digest": digest, "version": version},
        )

    async def remove_skill(self, name: str, *, if_match: str = NOT_GIVEN) -> m.SkillRemoved:
        """Removes an imported skill from the list; pinned runs can still read its versions. The
        rest is as in `Client.remove_skill`.
        """
        return await self._call(
            "DELETE",
            "/skills/{name}",
            values={"name": name},
            if_match=if_match,
        )

    async def list_skill_versions(self, name: str) -> m.ListSkillVersionsReply:
        """Lists the stored versions of a skill, the newest first. The rest is as in
        `Client.list_skill_versions`.
        """
        return await self._call("GET", "/skills/{name}/versions", values={"name": name})

    async def diff_skill(
        self,
        name: str,
        *,
        from_: str = NOT_GIVEN,
        to: str = NOT_GIVEN,
    ) -> m.DiffSkillReply:
        """Compares two versions of a skill: text, files, capabilities and findings. The rest is as
        in `Client.diff_skill`.
        """
        return await self._call(
            "GET",
            "/skills/{name}/diff",
            values={"name": name},
            query={"from": from_, "to": to},
        )

    async def read_skill_file(
        self,
        name: str,
        *,
        path: str,
        version: str = NOT_GIVEN,
        offset: int = NOT_GIVEN,
        limit: int = NOT_GIVEN,
    ) -> m.ReadSkillFileReply:
        """Reads a file of a skill's version, or a part of it. The rest is as in
        `Client.read_skill_file`.
        """
        return await self._call(
            "GET",
            "/skills/{name}/file",
            values={"name": name},
            query={
                "version": version,
                "path": path,
                "offset": offset,
                "limit": limit,
            },
        )

    async def render_skill(
        self,
        name: str,
        *,
        digest: str = NOT_GIVEN,
        arguments: str = NOT_GIVEN,
        session_id: str = NOT_GIVEN,
        raw: bool = NOT_GIVEN,
    ) -> m.SkillInstructions:
        """Renders a skill for a prompt: substitutions done, size cut, wrapped. The rest is as in
        `Client.render_skill`.
        """
        return await self._call(
            "GET",
            "/skills/{name}/instructions",
            values={"name": name},
            query={
                "digest": digest,
                "arguments": arguments,
                "sessionId": session_id,
                "raw": raw,
            },
        )

    async def rollback_skill(
        self,
        name: str,
        *,
        version: str = NOT_GIVEN,
        if_match: str = NOT_GIVEN,
    ) -> m.RollbackSkillReply:
        """Makes an older version of an imported skill the current one. The rest is as in
        `Client.rollback_skill`.
        """
        return await self._call(
            "POST",
            "/skills/{name}/rollback",
            values={"name": name},
            body={"version": version},
            if_match=if_match,
        )

    async def list_openclaw_skills(self) -> m.Skills:
        """Lists the imported skills. The rest is as in `Client.list_openclaw_skills`."""
        return await self._call("GET", "/openclaw/skills")

    async def import_openclaw_skills(self, *, path: str, dry_run: bool = NOT_GIVEN) -> m.SkillsImported:
        """Imports the skills and agents below a directory on one of the importer's allowed roots.
        The rest is as in `Client.import_openclaw_skills`.
        """
        return await self._call(
            "POST",
            "/openclaw/import",
            body={"path": path, "dryRun": dry_run},
        )

    async def import_openclaw_directory(self, *, dir_path: str, dry_run: bool = NOT_GIVEN) -> m.SkillsImported:
        """Imports the skills and agents below a directory on one of the importer's allowed roots.
        The rest is as in `Client.import_openclaw_directory`.
        """
        return await self._call(
            "POST",
            "/openclaw/import-directory",
            body={"dirPath": dir_path, "dryRun": dry_run},
        )

    async def render_openclaw_skill(
        self,
        id: str,
        *,
        digest: str = NOT_GIVEN,
        arguments: str = NOT_GIVEN,
        session_id: str = NOT_GIVEN,
        raw: bool = NOT_GIVEN,
    ) -> m.SkillInstructions:
        """Renders a skill for a prompt: substitutions done, size cut, wrapped. The rest is as in
        `Client.render_openclaw_skill`.
        """
        return await self._call(
            "GET",
            "/openclaw/skills/{id}/instructions",
            values={"id": id},
            query={
                "digest": digest,
                "arguments": arguments,
                "sessionId": session_id,
                "raw": raw,
            },
        )

    async def remove_openclaw_skill(self, id: str, *, if_match: str = NOT_GIVEN) -> m.SkillRemoved:
        """Removes an imported skill from the list; pinned runs can still read its versions. The
        rest is as in `Client.remove_openclaw_skill`.
        """
        return await self._call(
            "DELETE",
            "/openclaw/skills/{id}",
            values={"id": id},
            if_match=if_match,
        )

    async def list_agents(self) -> m.ListAgentsReply:
        """Lists the agent definitions. The rest is as in `Client.list_agents`."""
        return await self._call("GET", "/agents")

    async def upload_agents(
        self,
        *,
        label: str,
        files: list[m.SentFile],
        dry_run: bool = NOT_GIVEN,
        git: m.GitCheckout | None = NOT_GIVEN,
        with_reports: bool = NOT_GIVEN,
        import_id: str = NOT_GIVEN,
    ) -> m.AgentsUploaded:
        """Imports agents whose files the caller sends. The rest is as in `Client.upload_agents`."""
        return await self._call(
            "POST",
            "/agents",
            body={
                "label": label,
                "dryRun": dry_run,
                "git": git,
                "withReports": with_reports,
                "importId": import_id,
                "files": files,
            },
        )

    async def unpack_agents(
        self,
        *,
        content: bytes,
        label: str = NOT_GIVEN,
        dry_run: bool = NOT_GIVEN,
        git: m.GitCheckout | None = NOT_GIVEN,
        with_reports: bool = NOT_GIVEN,
        import_id: str = NOT_GIVEN,
        format: Literal["zip", "tar.gz", "tar"] = NOT_GIVEN,
    ) -> m.AgentsUploaded:
        """Imports the agents in a zip or tar.gz that the caller sends. The rest is as in
        `Client.unpack_agents`.
        """
        return await self._call(
            "POST",
            "/agents/archive",
            query={
                "label": label,
                "dryRun": dry_run,
                "git": git,
                "withReports": with_reports,
                "importId": import_id,
                "format": format,
            },
            content=content,
        )

    async def check_agents(self, *, files: list[m.CheckAgentsFiles]) -> m.CheckAgentsReply:
        """Reads agent files that the caller sends and checks them; nothing is stored. The rest is
        as in `Client.check_agents`.
        """
        return await self._call("POST", "/agents/check", body={"files": files})

    async def get_agent(
        self,
        name: str,
        *,
        digest: str = NOT_GIVEN,
        version: str = NOT_GIVEN,
    ) -> m.GetAgentReply:
        """Returns one agent definition, by name or by the digest a run is pinned to. The rest is as
        in `Client.get_agent`.
        """
        return await self._call(
            "GET",
            "/agents/{name}",
            values={"name": name},
            query={"digest": digest, "version": version},
        )

    async def remove_agent(self, name: str, *, if_match: str = NOT_GIVEN) -> m.RemoveAgentReply:
        """Removes an imported agent from the list; pinned runs can still read its versions. The
        rest is as in `Client.remove_agent`.
        """
        return await self._call(
            "DELETE",
            "/agents/{name}",
            values={"name": name},
            if_match=if_match,
        )

    async def list_agent_versions(self, name: str) -> m.ListAgentVersionsReply:
        """Lists the stored versions of an agent, the newest first; one that is built in has none.
        The rest is as in `Client.list_agent_versions`.
        """
        return await self._call("GET", "/agents/{name}/versions", values={"name": name})

    async def diff_agent(
        self,
        name: str,
        *,
        from_: str = NOT_GIVEN,
        to: str = NOT_GIVEN,
    ) -> m.DiffAgentReply:
        """Compares two versions of an agent: text, capabilities and findings. The rest is as in
        `Client.diff_agent`.
        """
        return await self._call(
            "GET",
            "/agents/{name}/diff",
            values={"name": name},
            query={"from": from_, "to": to},
        )

    async def list_memories(self, name: str, *, search: str = NOT_GIVEN) -> m.ListMemoriesReply:
        """Lists what an agent stored in its memory for the caller. The rest is as in
        `Client.list_memories`.
        """
        return await self._call(
            "GET",
            "/agents/{name}/memories",
            values={"name": name},
            query={"search": search},
        )

    async def rollback_agent(
        self,
        name: str,
        *,
        digest: str = NOT_GIVEN,
        if_match: str = NOT_GIVEN,
    ) -> m.RollbackAgentReply:
        """Makes an older version of an imported agent the current one. The rest is as in
        `Client.rollback_agent`.
        """
        return await self._call(
            "POST",
            "/agents/{name}/rollback",
            values={"name": name},
            body={"digest": digest},
            if_match=if_match,
        )

    async def explain_policy(
        self,
        *,
        user: str,
        tool: m.ToolRef,
        args: dict[str, Any],
        agent: str = NOT_GIVEN,
        roles: list[str] = NOT_GIVEN,
        context: m.RunContext = NOT_GIVEN,
        approval: Literal["auto", "session", "always"] = NOT_GIVEN,
        tool_layers: list[list[str]] = NOT_GIVEN,
        server: m.ServerFacts = NOT_GIVEN,
        run_id: str = NOT_GIVEN,
    ) -> m.ExplainPolicyReply:
        """Shows rule by rule how the policy decides about a tool call; it permits nothing. The rest
        is as in `Client.explain_policy`.
        """
        return await self._call(
            "POST",
            "/policy/explain",
            body={
                "user": user,
                "agent": agent,
                "roles": roles,
                "context": context,
                "approval": approval,
                "toolLayers": tool_layers,
                "server": server,
                "runId": run_id,
                "tool": tool,
                "args": args,
            },
        )

    async def validate_policy(
        self,
        *,
        bundle_text: str = NOT_GIVEN,
        tests_text: str = NOT_GIVEN,
        files: list[m.PolicyTextFile] = NOT_GIVEN,
    ) -> m.ValidatePolicyReply:
        """Checks a policy text, runs its tests and lints it; changes nothing. The rest is as in
        `Client.validate_policy`.
        """
        return await self._call(
            "POST",
            "/policy/validate",
            body={
                "bundleText": bundle_text,
                "testsText": tests_text,
                "files": files,
            },
        )

    async def replay_decisions(
        self,
        *,
        decisions: list[m.ReplayDecisionsDecisions],
        files: list[m.PolicyTextFile] = NOT_GIVEN,
    ) -> m.ReplayDecisionsReply:
        """Evaluates a policy text on recorded decisions; changes nothing. The rest is as in
        `Client.replay_decisions`.
        """
        return await self._call(
            "POST",
            "/policy/replay",
            body={"files": files, "decisions": decisions},
        )

    async def find_who_can_call(self, *, tool: m.ToolRef, labels: list[str] = NOT_GIVEN) -> m.FindWhoCanCallReply:
        """Returns who may call a tool: principals, rules that allow it, and exceptions. The rest is
        as in `Client.find_who_can_call`.
        """
        return await self._call(
            "POST",
            "/policy/who-can",
            body={"tool": tool, "labels": labels},
        )

    async def list_policy_rules(self, *, after: str = NOT_GIVEN, limit: int = NOT_GIVEN) -> m.ListPolicyRulesReply:
        """Lists the rules in force in words, in the order of their ids. The rest is as in
        `Client.list_policy_rules`.
        """
        return await self._call(
            "GET",
            "/policy/rules",
            query={"after": after, "limit": limit},
        )

    async def list_policy_versions(self) -> m.ListPolicyVersionsReply:
        """Lists the bundles that were in force, the newest first. The rest is as in
        `Client.list_policy_versions`.
        """
        return await self._call("GET", "/policy/versions")

    async def read_policy_texts(self) -> m.ReadPolicyTextsReply:
        """Returns the files of the rules in force and of their tests; for policy admins. The rest
        is as in `Client.read_policy_texts`.
        """
        return await self._call("GET", "/policy/texts")

    async def activate_policy(
        self,
        *,
        files: list[m.PolicyTextFile] = NOT_GIVEN,
        version: int = NOT_GIVEN,
        follow_files: Literal[True] = NOT_GIVEN,
        note: str = NOT_GIVEN,
        if_match: str = NOT_GIVEN,
    ) -> m.PolicyActivated:
        """Checks a bundle with its tests and brings it into force on every replica; for policy
        admins. The rest is as in `Client.activate_policy`.
        """
        return await self._call(
            "POST",
            "/policy/activate",
            body={
                "files": files,
                "version": version,
                "followFiles": follow_files,
                "note": note,
            },
            if_match=if_match,
        )

    async def rollback_policy(self, *, note: str = NOT_GIVEN, if_match: str = NOT_GIVEN) -> m.PolicyActivated:
        """Activates the bundle that was in force before the current one; for policy admins. The
        rest is as in `Client.rollback_policy`.
        """
        return await self._call(
            "POST",
            "/policy/rollback",
            body={"note": note},
            if_match=if_match,
        )

    async def list_stops(self) -> m.ListStopsReply:
        """Lists the stops: all for services and policy admins, for others those that could stop
        their own calls. The rest is as in `Client.list_stops`.
        """
        return await self._call("GET", "/policy/stops")

    async def stop_calls(self, *, scope: m.StopScope, reason: str) -> m.StopCallsReply:
        """Denies every call of an agent, run, user or server, or all calls, within a second; for
        policy admins. The rest is as in `Client.stop_calls`.
        """
        return await self._call(
            "POST",
            "/policy/stops",
            body={"scope": scope, "reason": reason},
        )

    async def resume_calls(self, *, scope: m.StopScope) -> m.ResumeCallsReply:
        """Ends a stop; for policy admins. The rest is as in `Client.resume_calls`."""
        return await self._call("POST", "/policy/stops/resume", body={"scope": scope})

    async def list_token_keys(self) -> m.ListTokenKeysReply:
        """Lists the keys of run tokens as the replica that answers has them, the newest first. The
        rest is as in `Client.list_token_keys`.
        """
        return await self._call("GET", "/policy/token-keys")

    async def list_audit(
        self,
        *,
        since: m.Timestamp = NOT_GIVEN,
        until: m.Timestamp = NOT_GIVEN,
        kind: str = NOT_GIVEN,
        user: str = NOT_GIVEN,
        run_id: str = NOT_GIVEN,
        tool: str = NOT_GIVEN,
        reads: bool = NOT_GIVEN,
        order: Literal["newest", "oldest"] = NOT_GIVEN,
        cursor: str = NOT_GIVEN,
        limit: int = NOT_GIVEN,
    ) -> m.ListAuditReply:
        """Reads records of the audit, for policy admins. The rest is as in `Client.list_audit`."""
        return await self._call(
            "GET",
            "/audit",
            query={
                "since": since,
                "until": until,
                "kind": kind,
                "user": user,
                "runId": run_id,
                "tool": tool,
                "reads": reads,
                "order": order,
                "cursor": cursor,
                "limit": limit,
            },
        )

    async def verify_audit(self, *, since: m.Timestamp = NOT_GIVEN) -> m.VerifyAuditReply:
        """Checks that nothing of the audit is missing or changed, and that every call was allowed.
        The rest is as in `Client.verify_audit`.
        """
        return await self._call("GET", "/audit/verify", query={"since": since})

    async def list_user_keys(self) -> m.ListUserKeysReply:
        """Lists the API keys without their secrets; for policy admins. The rest is as in
        `Client.list_user_keys`.
        """
        return await self._call("GET", "/keys")

    async def create_user_key(
        self,
        *,
        caller: str,
        roles: list[Literal["viewer", "operator", "approver", "admin"]],
        scopes: list[str] = NOT_GIVEN,
        note: str = NOT_GIVEN,
        ttl_seconds: int = NOT_GIVEN,
    ) -> m.NewUserKey:
        """Creates an API key for a person or program; for policy admins. The rest is as in
        `Client.create_user_key`.
        """
        return await self._call(
            "POST",
            "/keys",
            body={
                "caller": caller,
                "roles": roles,
                "scopes": scopes,
                "note": note,
                "ttlSeconds": ttl_seconds,
            },
        )

    async def rotate_user_key(
        self,
        id: str,
        *,
        overlap_seconds: int = NOT_GIVEN,
        ttl_seconds: int = NOT_GIVEN,
    ) -> m.NewUserKey:
        """Creates a key with the rights of another one, which ends after the overlap. The rest is
        as in `Client.rotate_user_key`.
        """
        return await self._call(
            "POST",
            "/keys/{id}/rotate",
            values={"id": id},
            body={
                "overlapSeconds": overlap_seconds,
                "ttlSeconds": ttl_seconds,
            },
        )

    async def revoke_user_key(self, id: str) -> m.RevokeUserKeyReply:
        """Ends an API key at once; for policy admins. The rest is as in `Client.revoke_user_key`.
        """
        return await self._call("DELETE", "/keys/{id}", values={"id": id})

    async def list_user_sessions(self, *, user: str = NOT_GIVEN) -> m.ListUserSessionsReply:
        """Lists the caller's browser sessions; for policy admins those of any user. The rest is as
        in `Client.list_user_sessions`.
        """
        return await self._call("GET", "/user-sessions", query={"user": user})

    async def revoke_user_session(self, id: str) -> m.RevokeUserSessionReply:
        """Ends a browser session of the caller at once; for policy admins one of any user. The rest
        is as in `Client.revoke_user_session`.
        """
        return await self._call("DELETE", "/user-sessions/{id}", values={"id": id})

    async def list_webhooks(self) -> m.ListWebhooksReply:
        """Lists the caller's webhooks. The rest is as in `Client.list_webhooks`."""
        return await self._call("GET", "/webhooks")

    async def create_webhook(
        self,
        *,
        url: str,
        events: list[str],
        agent: str = NOT_GIVEN,
    ) -> m.CreateWebhookReply:
        """Sends the caller's own events to a URL, signed as a Standard Webhook; only this reply has
        the secret. The rest is as in `Client.create_webhook`.
        """
        return await self._call(
            "POST",
            "/webhooks",
            body={"url": url, "events": events, "agent": agent},
        )

    async def get_webhook(self, id: str) -> m.GetWebhookReply:
        """Returns one webhook of the caller, with its pending and its failed deliveries. The rest
        is as in `Client.get_webhook`.
        """
        return await self._call("GET", "/webhooks/{id}", values={"id": id})

    async def update_webhook(
        self,
        id: str,
        *,
        url: str = NOT_GIVEN,
        events: list[str] = NOT_GIVEN,
        agent: str | None = NOT_GIVEN,
        if_match: str = NOT_GIVEN,
    ) -> m.UpdateWebhookReply:
        """Changes the URL or the events of a webhook. Its secret stays, and pending deliveries go
        to the new URL. The rest is as in `Client.update_webhook`.
        """
        return await self._call(
            "PATCH",
            "/webhooks/{id}",
            values={"id": id},
            body={"url": url, "events": events, "agent": agent},
            if_match=if_match,
        )

    async def remove_webhook(self, id: str) -> m.RemoveWebhookReply:
        """Removes a webhook of the caller with its pending deliveries. The rest is as in
        `Client.remove_webhook`.
        """
        return await self._call("DELETE", "/webhooks/{id}", values={"id": id})

    async def redeliver_webhook(self, id: str, *, delivery_id: str = NOT_GIVEN) -> m.RedeliverWebhookReply:
        """Sends failed deliveries again, one or all, and enables the webhook. The rest is as in
        `Client.redeliver_webhook`.
        """
        return await self._call(
            "POST",
            "/webhooks/{id}/redeliver",
            values={"id": id},
            body={"deliveryId": delivery_id},
        )

    async def list_hooks(self) -> m.ListHooksReply:
        """Lists the hooks of hooks.json, by which programs elsewhere start runs. The rest is as in
        `Client.list_hooks`.
        """
        return await self._call("GET", "/hooks")

    async def get_push(self) -> m.GetPushReply:
        """Returns the key with which a browser subscribes to web push; null where there is none.
        The rest is as in `Client.get_push`.
        """
        return await self._call("GET", "/push")

    async def set_push(
        self,
        *,
        endpoint: str,
        keys: m.SetPushKeys,
        public_key: str,
    ) -> m.SetPushReply:
        """Notifies the browser of this session by web push, until the session ends. The rest is as
        in `Client.set_push`.
        """
        return await self._call(
            "PUT",
            "/push",
            body={"endpoint": endpoint, "keys": keys, "publicKey": public_key},
        )

    async def remove_push(self) -> m.RemovePushReply:
        """Notifies the browser of this session no more. The rest is as in `Client.remove_push`."""
        return await self._call("DELETE", "/push")

    async def list_models(self) -> m.ListModelsReply:
        """Lists the configured model providers and the default model. The rest is as in
        `Client.list_models`.
        """
        return await self._call("GET", "/models")

    async def get_system(self) -> m.GetSystemReply:
        """Lists the services that answer, and the lengths of streams and queues. The rest is as in
        `Client.get_system`.
        """
        return await self._call("GET", "/system")

    async def get_me(self) -> m.GetMeReply:
        """Returns the user of the credential, and what it may do. The rest is as in
        `Client.get_me`.
        """
        return await self._call("GET", "/me")
