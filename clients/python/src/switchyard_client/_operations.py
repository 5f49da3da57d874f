"""Written by scripts/generate.ts from docs/openapi.json; do not edit."""

from __future__ import annotations

from typing import Any, Literal

from . import models as m
from ._wire import NOT_GIVEN


class Operations:
    """The operations of the gateway. Times are ISO 8601 in UTC; other units are in the names of
    fields.
    """

    def _call(self, method: str, path: str, **parts: Any) -> Any:
        raise NotImplementedError

    def list_runs(
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
        """Lists the caller's runs, newest first; for cli and admin the runs of all users.

        Needs the role `viewer`.

        Args:
            limit: The most entries to return.
            owner: Only runs of this user.
            agent: Only runs of this agent.
            model: Only runs of this model.
            status: Only runs in this state.
            statuses: Only runs in one of these states.
            error_code: Only failed and dead runs whose failure has this code, such as
                `limit_exceeded`.
            labels: Only runs that have all of these labels, as `key=value`; `key` alone is a label
                of any value.
            text: Only runs with this text in their id, agent, model, requester, labels or the start
                of their input; letters of both cases are the same.
            from_: Only runs that began at this time or later.
            to: Only runs that began before this time.
            ids: Only runs among these, such as the changed ones of a list that is shown; newest
                first.
            sort: The order. `longest`: by the time from begin to end, or until now. `dearest`: by
                known cost.
            cursor: `next` of the page before; left out: the first page.

        Raises:
            ProblemError: those of every request, such as `unauthenticated`, `forbidden`,
                `rate_limited`.

        Example:
            client.list_runs()
        """
        return self._call(
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

    def start_run(
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
        """Starts a run of an agent.

        Needs the role `operator`. The answer comes when the command is stored; a runner carries it
        out. A repeat with the same Idempotency-Key or `runId` changes nothing more.

        Args:
            agent: Name of the agent.
            input: Input of the run: a text, a list of texts and files, or a JSON object. At most 4
                MiB as JSON.
            run_id: Id of the new run. The same id again is the same run. Left out: a new id.
            skill: A skill to activate before the first step.
            model: Replaces the agent's model, as `provider/model`.
            thinking: The reasoning effort of the model; left out or null: the default.
            sampling: Settings of the model, in place of the agent's own.
            replay: Answers of the models in an earlier run; they are played, and no model is
                called.
            limits: Limits of the run. Fields that are left out keep their value.
            labels: Labels, by name.
            readers: NATS users that may read the run besides its owner; they may not control it.
            origin: The origin of the run, as a trusted service reports it.
            output: JSON Schema (2020-12) of the answer; the run's output is then JSON text that
                fits it.
            session: The conversation, by key or id. A new key begins a session.
            on_busy: The treatment of a message while another run of the session is in progress.
            idempotency_key: The same key of the same caller is the same request, for a day.

        Raises:
            ProblemError: `unknown_agent`, `unknown_run`, `run_id_taken`, those of every request,
                such as `unauthenticated`, `forbidden`, `rate_limited`.

        Example:
            client.start_run(agent="reviewer", input="What is in this repository?")
        """
        return self._call(
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

    def get_run_totals(
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
        cost and durations; for cli and admin those of all users.

        Needs the role `viewer`.

        Args:
            owner: Only runs of this user.
            agent: Only runs of this agent.
            model: Only runs of this model.
            status: Only runs in this state.
            statuses: Only runs in one of these states.
            error_code: Only failed and dead runs whose failure has this code, such as
                `limit_exceeded`.
            labels: Only runs that have all of these labels, as `key=value`; `key` alone is a label
                of any value.
            text: Only runs with this text in their id, agent, model, requester, labels or the start
                of their input; letters of both cases are the same.
            from_: Only runs that began at this time or later.
            to: Only runs that began before this time.
            range: The time until now, in place of `from` and `to`: `24h` when none of them is set.

        Raises:
            ProblemError: those of every request, such as `unauthenticated`, `forbidden`,
                `rate_limited`.

        Example:
            client.get_run_totals()
        """
        return self._call(
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

    def list_dead_runs(self, *, limit: int = NOT_GIVEN, cursor: str = NOT_GIVEN) -> m.ListDeadRunsReply:
        """Lists the runs and commands that killed their runners and were stopped, latest first.

        Needs the role `viewer`.

        Args:
            limit: The most entries to return.
            cursor: `next` of the page before; left out: the first page.

        Raises:
            ProblemError: those of every request, such as `unauthenticated`, `forbidden`,
                `rate_limited`.

        Example:
            client.list_dead_runs()
        """
        return self._call(
            "GET",
            "/runs/dead",
            query={"limit": limit, "cursor": cursor},
        )

    def redrive_run(self, letter_id: str) -> m.RedriveRunReply:
        """Sends a command again that was stopped because it killed its runners.

        Needs the role `operator`.

        Args:
            letter_id: Id of the command that was given up.

        Raises:
            ProblemError: `unknown_letter`, `not_found`, `not_kept`, `not_accepted`, those of every
                request, such as `unauthenticated`, `forbidden`, `rate_limited`.

        Example:
            client.redrive_run("team-a~report-7:1764244800000")
        """
        return self._call(
            "POST",
            "/runs/dead/{letterId}/redrive",
            values={"letterId": letter_id},
        )

    def list_run_questions(self, *, limit: int = NOT_GIVEN, cursor: str = NOT_GIVEN) -> m.ListRunQuestionsReply:
        """Lists the questions of runs that wait for an answer.

        Needs the role `viewer`.

        Args:
            limit: The most entries to return.
            cursor: `next` of the page before; left out: the first page.

        Raises:
            ProblemError: those of every request, such as `unauthenticated`, `forbidden`,
                `rate_limited`.

        Example:
            client.list_run_questions()
        """
        return self._call(
            "GET",
            "/runs/questions",
            query={"limit": limit, "cursor": cursor},
        )

    def delete_runs(
        self,
        *,
        owner: str = NOT_GIVEN,
        before: m.Timestamp = NOT_GIVEN,
        limit: int = NOT_GIVEN,
        cursor: str = NOT_GIVEN,
    ) -> m.DeleteRunsReply:
        """Deletes ended runs of an owner, a part at a time.

        Needs the role `operator`.

        Args:
            owner: Owner of the runs; left out: the caller.
            before: Only runs that began before this time.
            limit: The most runs to look at.
            cursor: `next` of the page before; left out: the first page.

        Raises:
            ProblemError: `not_allowed`, `forbidden`, those of every request, such as
                `unauthenticated`, `forbidden`, `rate_limited`.

        Example:
            client.delete_runs()
        """
        return self._call(
            "POST",
            "/runs/delete-ended",
            body={
                "owner": owner,
                "before": before,
                "limit": limit,
                "cursor": cursor,
            },
        )

    def get_run(self, run_id: str) -> m.GetRunReply:
        """Returns one run with its input, output and cost.

        Needs the role `viewer`.

        Args:
            run_id: Id of the run. The owner's part before `~` may be left out for a run of the
                caller.

        Raises:
            ProblemError: `unknown_run`, `not_found`, `journal_corrupt`, those of every request,
                such as `unauthenticated`, `forbidden`, `rate_limited`.

        Example:
            client.get_run("team-a~report-7")
        """
        return self._call("GET", "/runs/{runId}", values={"runId": run_id})

    def delete_run(self, run_id: str) -> m.DeleteRunReply:
        """Deletes an ended run with its texts and events.

        Needs the role `operator`.

        Args:
            run_id: Id of the run. The owner's part before `~` may be left out for a run of the
                caller.

        Raises:
            ProblemError: `run_not_ended`, those of every request, such as `unauthenticated`,
                `forbidden`, `rate_limited`.

        Example:
            client.delete_run("team-a~report-7")
        """
        return self._call("DELETE", "/runs/{runId}", values={"runId": run_id})

    def get_recording(self, run_id: str) -> m.GetRecordingReply:
        """Returns the answers of a run's models, to be replayed.

        Needs the role `viewer`.

        Args:
            run_id: Id of the run. The owner's part before `~` may be left out for a run of the
                caller.

        Raises:
            ProblemError: `unknown_run`, `not_found`, `journal_corrupt`, `not_recordable`, those of
                every request, such as `unauthenticated`, `forbidden`, `rate_limited`.

        Example:
            client.get_recording("team-a~report-7")
        """
        return self._call("GET", "/runs/{runId}/recording", values={"runId": run_id})

    def cancel_run(self, run_id: str, *, reason: str = NOT_GIVEN) -> m.CancelRunReply:
        """Cancels a run, even when every runner is busy.

        Needs the role `operator`.

        Args:
            run_id: Id of the run. The owner's part before `~` may be left out for a run of the
                caller.
            reason: Why, in words for people.

        Raises:
            ProblemError: `not_allowed`, `forbidden`, those of every request, such as
                `unauthenticated`, `forbidden`, `rate_limited`.

        Example:
            client.cancel_run("team-a~report-7")
        """
        return self._call(
            "POST",
            "/runs/{runId}/cancel",
            values={"runId": run_id},
            body={"reason": reason},
        )

    def retry_run(self, run_id: str, *, body: dict[str, Any]) -> m.AcceptedCommand:
        """Continues a failed, cancelled or dead run.

        Needs the role `operator`. The answer comes when the command is stored; a runner carries it
        out.

        Args:
            run_id: Id of the run. The owner's part before `~` may be left out for a run of the
                caller.
            body:

        Raises:
            ProblemError: `unknown_agent`, `unknown_run`, `not_found`, `run_id_taken`, those of
                every request, such as `unauthenticated`, `forbidden`, `rate_limited`.

        Example:
            client.retry_run("team-a~report-7", body={"limits": {}})
        """
        return self._call(
            "POST",
            "/runs/{runId}/retry",
            values={"runId": run_id},
            body=body,
        )

    def resume_run(self, run_id: str, *, body: dict[str, Any]) -> m.AcceptedCommand:
        """Wakes a waiting run, with other limits if wanted.

        Needs the role `operator`. The answer comes when the command is stored; a runner carries it
        out.

        Args:
            run_id: Id of the run. The owner's part before `~` may be left out for a run of the
                caller.
            body:

        Raises:
            ProblemError: `unknown_agent`, `unknown_run`, `not_found`, `run_id_taken`, those of
                every request, such as `unauthenticated`, `forbidden`, `rate_limited`.

        Example:
            client.resume_run("team-a~report-7", body={"limits": {}})
        """
        return self._call(
            "POST",
            "/runs/{runId}/resume",
            values={"runId": run_id},
            body=body,
        )

    def steer_run(self, run_id: str, *, message: str) -> m.AcceptedCommand:
        """Adds a message to the next step of a run.

        Needs the role `operator`. The answer comes when the command is stored; a runner carries it
        out.

        Args:
            run_id: Id of the run. The owner's part before `~` may be left out for a run of the
                caller.
            message: Message for the run's next step.

        Raises:
            ProblemError: `unknown_agent`, `unknown_run`, `not_found`, `run_id_taken`, those of
                every request, such as `unauthenticated`, `forbidden`, `rate_limited`.

        Example:
            client.steer_run("team-a~report-7", message="Please look at the tests, too.")
        """
        return self._call(
            "POST",
            "/runs/{runId}/steer",
            values={"runId": run_id},
            body={"message": message},
        )

    def fork_run(
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
        """Starts a new run from a step of another one.

        Needs the role `operator`. The answer comes when the command is stored; a runner carries it
        out. A repeat with the same Idempotency-Key or `newRunId` changes nothing more.

        Args:
            run_id: Id of the run. The owner's part before `~` may be left out for a run of the
                caller.
            new_run_id: Id of the new run; left out: a new id.
            from_step: The first model call that is made anew, from 1.
            input: Input of the run: a text, a list of texts and files, or a JSON object. At most 4
                MiB as JSON.
            agent: Replaces the agent of the other run.
            model: Replaces the model of the other run, as `provider/model`.
            limits: Limits of the run. Fields that are left out keep their value.
            labels: Labels, by name.
            idempotency_key: The same key of the same caller is the same request, for a day.

        Raises:
            ProblemError: `unknown_agent`, `unknown_run`, `not_found`, `run_id_taken`, those of
                every request, such as `unauthenticated`, `forbidden`, `rate_limited`.

        Example:
            client.fork_run("team-a~report-7", from_step=3)
        """
        return self._call(
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

    def answer_run_question(
        self,
        run_id: str,
        *,
        call_id: str,
        answer: str | float | bool | dict[str, Any] | list[Any],
    ) -> m.AnswerRunQuestionReply:
        """Answers a question of a run.

        Needs the role `operator`.

        Args:
            run_id: Id of the run. The owner's part before `~` may be left out for a run of the
                caller.
            call_id: Id of the tool call. A call that is repeated under its id returns the stored
                result.
            answer: The answer.

        Raises:
            ProblemError: `invalid_answer`, `invalid_request`, `malformed_json`, `json_too_complex`,
                `not_allowed`, `forbidden`, `no_question`, those of every request, such as
                `unauthenticated`, `forbidden`, `rate_limited`.

        Example:
            client.answer_run_question("team-a~report-7", call_id="team-a~report-7:1:0", answer="yes")
        """
        return self._call(
            "POST",
            "/runs/{runId}/answers",
            values={"runId": run_id},
            body={"callId": call_id, "answer": answer},
        )

    def put_file(
        self,
        *,
        content: bytes,
        name: str = NOT_GIVEN,
        media_type: str = NOT_GIVEN,
    ) -> m.File:
        """Stores a file, as a part of the inputs of its owner's runs.

        Needs the role `operator`.

        Args:
            name: Name of the file for people.
            media_type: Media type; where the bytes show another one, that one counts.
            content: The bytes.

        Raises:
            ProblemError: `file_too_large`, `payload_too_large`, `unsupported_file`,
                `unsupported_media_type`, those of every request, such as `unauthenticated`,
                `forbidden`, `rate_limited`.

        Example:
            client.put_file(content=Path("file").read_bytes())
        """
        return self._call(
            "POST",
            "/files",
            query={"name": name, "mediaType": media_type},
            content=content,
        )

    def get_file(self, ref: str) -> m.File:
        """Returns the facts about a stored file of the caller.

        Needs the role `viewer`.

        Args:
            ref: Id of the file: `file-` and 32 hexadecimal digits.

        Raises:
            ProblemError: `unknown_file`, `not_found`, those of every request, such as
                `unauthenticated`, `forbidden`, `rate_limited`.

        Example:
            client.get_file("file-0123456789abcdef0123456789abcdef")
        """
        return self._call("GET", "/files/{ref}", values={"ref": ref})

    def list_sessions(
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
        """Lists the caller's sessions, the one used last first.

        Needs the role `viewer`.

        Args:
            kinds: Only those of these kinds.
            search: A part of the key, the label or the title, in any case.
            active_minutes: Only sessions that were used within so many minutes.
            limit: The most entries to return.
            message_limit: The number of last messages of each session in the reply.
            cursor: `next` of the page before; left out: the first page.
            owner: The owner; left out: the caller. Only `cli` and `admin` may name another one.
            all: Those of every owner; only for `cli` and `admin`.

        Raises:
            ProblemError: those of every request, such as `unauthenticated`, `forbidden`,
                `rate_limited`.

        Example:
            client.list_sessions()
        """
        return self._call(
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

    def get_session(self, session: str, *, owner: str = NOT_GIVEN) -> m.SessionReply:
        """Returns one session: its settings, its cost and its run in progress.

        Needs the role `viewer`. The answer has the version as its ETag.

        Args:
            session: The session, by its key or its id.
            owner: The owner; left out: the caller. Only `cli` and `admin` may name another one.

        Raises:
            ProblemError: `unknown_session`, `not_found`, those of every request, such as
                `unauthenticated`, `forbidden`, `rate_limited`.

        Example:
            client.get_session("planning")
        """
        return self._call(
            "GET",
            "/sessions/{session}",
            values={"session": session},
            query={"owner": owner},
        )

    def patch_session(
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
        """Changes the label and the settings of a session.

        Needs the role `operator`. The answer has the version as its ETag.

        Args:
            session: The session, by its key or its id.
            owner: The owner; left out: the caller. Only `cli` and `admin` may name another one.
            label: New name for people; null removes it.
            kind: The purpose of the session.
            on_busy: The treatment of a message while another run of the session is in progress.
            agent: Name of the agent.
            model: The model that replaces the agent's; null: the agent's own again.
            skills_off: Skills that are switched off for runs of the session.
            if_match: Version that was read; without it the newest one is changed.

        Raises:
            ProblemError: `unknown_session`, `unknown_model`, `not_found`, `label_taken`,
                `version_changed`, those of every request, such as `unauthenticated`, `forbidden`,
                `rate_limited`.

        Example:
            client.patch_session("planning")
        """
        return self._call(
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

    def delete_session(
        self,
        session: str,
        *,
        owner: str = NOT_GIVEN,
        if_match: str = NOT_GIVEN,
    ) -> m.DeleteSessionReply:
        """Ends and deletes a session; its run is cancelled.

        Needs the role `operator`.

        Args:
            session: The session, by its key or its id.
            owner: The owner; left out: the caller. Only `cli` and `admin` may name another one.
            if_match: Version that was read; without it the newest one is changed.

        Raises:
            ProblemError: `unknown_session`, `not_found`, `version_changed`, those of every request,
                such as `unauthenticated`, `forbidden`, `rate_limited`.

        Example:
            client.delete_session("planning")
        """
        return self._call(
            "DELETE",
            "/sessions/{session}",
            values={"session": session},
            query={"owner": owner},
            if_match=if_match,
        )

    def get_session_history(
        self,
        session: str,
        *,
        owner: str = NOT_GIVEN,
        limit: int = NOT_GIVEN,
        include_tools: bool = NOT_GIVEN,
    ) -> m.GetSessionHistoryReply:
        """Returns the last messages of a session.

        Needs the role `viewer`.

        Args:
            session: The session, by its key or its id.
            owner: The owner; left out: the caller. Only `cli` and `admin` may name another one.
            limit: The most entries to return.
            include_tools: True: with the answers of tools.

        Raises:
            ProblemError: `unknown_session`, `not_found`, those of every request, such as
                `unauthenticated`, `forbidden`, `rate_limited`.

        Example:
            client.get_session_history("planning")
        """
        return self._call(
            "GET",
            "/sessions/{session}/history",
            values={"session": session},
            query={
                "owner": owner,
                "limit": limit,
                "includeTools": include_tools,
            },
        )

    def send_to_session(
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
        """Sends a message to a session, and may wait for the answer.

        Needs the role `operator`. A repeat with the same Idempotency-Key or `runId` changes nothing
        more.

        Args:
            session: The session, by its key or its id.
            label: Names the session by its label, in place of `session`.
            owner: The owner; left out: the caller. Only `cli` and `admin` may name another one.
            message: The message. It may be empty where there are files.
            files: Files of the message, as `files.put` returned them.
            agent: The agent that answers; left out: the session's.
            model: The model that replaces the agent's, for this message.
            thinking: The reasoning effort of the model; left out or null: the default.
            skill: Name of the skill.
            limits: Limits of the run. Fields that are left out keep their value.
            skills_off: Skills that are switched off for runs of the session.
            on_busy: The treatment of a message while another run of the session is in progress.
            timeout_seconds: Time to wait, in seconds; 0 does not wait.
            run_id: Id of the run that answers. The same id again is the same message.
            follow_up: The step after the run. Accepted from the toolbox alone.
            idempotency_key: The same key of the same caller is the same request, for a day.

        Raises:
            ProblemError: `not_allowed`, `forbidden`, `unknown_session`, `not_found`,
                `agent_required`, `session_busy`, `session_queue_full`, `too_many_sessions`,
                `run_id_taken`, those of every request, such as `unauthenticated`, `forbidden`,
                `rate_limited`.

        Example:
            client.send_to_session("planning", message="Please look at the tests, too.")
        """
        return self._call(
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

    def reset_session(self, session: str, *, owner: str = NOT_GIVEN) -> m.ResetSessionReply:
        """Deletes the history of a session and cancels its run; name and settings stay.

        Needs the role `operator`.

        Args:
            session: The session, by its key or its id.
            owner: The owner; left out: the caller. Only `cli` and `admin` may name another one.

        Raises:
            ProblemError: `unknown_session`, `not_found`, those of every request, such as
                `unauthenticated`, `forbidden`, `rate_limited`.

        Example:
            client.reset_session("planning")
        """
        return self._call(
            "POST",
            "/sessions/{session}/reset",
            values={"session": session},
            body={"owner": owner},
        )

    def claim_session(
        self,
        session: str,
        *,
        agent: str = NOT_GIVEN,
        channel: str = NOT_GIVEN,
        group: str = NOT_GIVEN,
        depth: int = NOT_GIVEN,
    ) -> m.ClaimSessionReply:
        """Checks claims about a session of the caller, and returns a token for calls under its
        rules.

        Needs the role `operator`.

        Args:
            session: The session, by its key or its id.
            agent: The agent in whose place the caller acts.
            channel: The channel of the conversation.
            group: The group conversation in the channel.
            depth: The number of runs above those of the session.

        Raises:
            ProblemError: `unknown_session`, `not_found`, `false_claim`, `no_run`, `claim_refused`,
                those of every request, such as `unauthenticated`, `forbidden`, `rate_limited`.

        Example:
            client.claim_session("planning")
        """
        return self._call(
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

    def list_schedules(
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
        """Lists the caller's jobs.

        Needs the role `viewer`.

        Args:
            include_disabled: True: with the disabled ones.
            enabled: Only the enabled or the disabled ones; overrides `includeDisabled`.
            query: A part of the text to look for, in any case.
            sort_by: The field to sort by.
            sort_dir: Ascending or descending.
            limit: The most entries to return.
            offset: The number of entries to skip.
            cursor: `next` of the page before; left out: the first page.
            owner: The owner; left out: the caller. Only `cli` and `admin` may name another one.
            all: Those of every owner; only for `cli` and `admin`.

        Raises:
            ProblemError: those of every request, such as `unauthenticated`, `forbidden`,
                `rate_limited`.

        Example:
            client.list_schedules()
        """
        return self._call(
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

    def add_schedule(
        self,
        *,
        job: m.AddScheduleJob = NOT_GIVEN,
        idempotency_key: str = NOT_GIVEN,
    ) -> m.ScheduleJobReply:
        """Adds a job; its runs are the caller's.

        Needs the role `operator`. A repeat with the same Idempotency-Key or `idempotencyKey`
        changes nothing more. The answer has the version as its ETag.

        Args:
            job: The job.
            idempotency_key: For a day, the same key returns the result of the first request with
                it.

        Raises:
            ProblemError: `invalid_job`, `idempotency_conflict`, `too_many_jobs`, those of every
                request, such as `unauthenticated`, `forbidden`, `rate_limited`.

        Example:
            client.add_schedule()
        """
        return self._call(
            "POST",
            "/schedules",
            body={"job": job, "idempotencyKey": idempotency_key},
        )

    def get_schedule_status(self, *, owner: str = NOT_GIVEN) -> m.GetScheduleStatusReply:
        """Returns how many jobs the caller has, and when the next one is due.

        Needs the role `viewer`.

        Args:
            owner: The owner; left out: the caller. Only `cli` and `admin` may name another one.

        Raises:
            ProblemError: those of every request, such as `unauthenticated`, `forbidden`,
                `rate_limited`.

        Example:
            client.get_schedule_status()
        """
        return self._call("GET", "/schedules/status", query={"owner": owner})

    def list_schedule_runs(
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
        """Lists the outcomes of the due times of a job, or of all jobs, the latest first.

        Needs the role `viewer`.

        Args:
            scope: `job` or `all`; left out: `job` when `jobId` is given.
            job_id: Id of the job.
            limit: The most entries to return.
            offset: The number of entries to skip.
            statuses: Only entries with these results.
            delivery_statuses: Only entries whose answers had this delivery.
            query: A part of the text to look for, in any case.
            sort_dir: Ascending or descending.
            owner: The owner; left out: the caller. Only `cli` and `admin` may name another one.

        Raises:
            ProblemError: `unknown_job`, `invalid_job`, those of every request, such as
                `unauthenticated`, `forbidden`, `rate_limited`.

        Example:
            client.list_schedule_runs()
        """
        return self._call(
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

    def wake_schedules(
        self,
        *,
        text: str,
        mode: Literal["next-heartbeat", "now"] = NOT_GIVEN,
        agent_id: str = NOT_GIVEN,
        session_key: str = NOT_GIVEN,
    ) -> m.WakeSchedulesReply:
        """Posts a text in the caller's main session, now or at the next heartbeat.

        Needs the role `operator`.

        Args:
            text: The text to post.
            mode: `now`, or with the next heartbeat.
            agent_id: The agent; left out or null: the installation's agent for jobs.
            session_key: The session; left out: `main`.

        Raises:
            ProblemError: `invalid_job`, `too_many_jobs`, those of every request, such as
                `unauthenticated`, `forbidden`, `rate_limited`.

        Example:
            client.wake_schedules(text="It has three services and their tests.")
        """
        return self._call(
            "POST",
            "/schedules/wake",
            body={
                "text": text,
                "mode": mode,
                "agentId": agent_id,
                "sessionKey": session_key,
            },
        )

    def update_schedule(
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
        declared one can be paused alone.

        Needs the role `operator`. The answer has the version as its ETag.

        Args:
            job_id: Id of the job.
            name: Name of the job for people.
            description: Description for people and models.
            agent_id: The agent; left out or null: the installation's agent for jobs.
            session_key: Session of a `main` job; null: `main`.
            schedule: When the job is due.
            session_target: `main`: a message in a session. `isolated`: a session of its own for
                each run.
            payload: The work of the job.
            delivery: The target of the answer; null removes it.
            enabled: True when it is switched on.
            delete_after_run: True: the job is removed after its run; left out: true for `at`.
            wake_mode: `now`, or with the next heartbeat.
            overlap: The treatment of a due time while an earlier run is in progress.
            catch_up: After an outage: `once` for all missed due times, or `skip` them.
            if_match: Version that was read; without it the newest one is changed.

        Raises:
            ProblemError: `unknown_job`, `not_found`, `invalid_job`, `version_changed`, those of
                every request, such as `unauthenticated`, `forbidden`, `rate_limited`.

        Example:
            client.update_schedule("job-0123456789abcdef")
        """
        return self._call(
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

    def remove_schedule(
        self,
        job_id: str,
        *,
        owner: str = NOT_GIVEN,
        if_match: str = NOT_GIVEN,
    ) -> m.RemoveScheduleReply:
        """Removes a job, unless it is declared. A run in progress continues.

        Needs the role `operator`.

        Args:
            job_id: Id of the job.
            owner: The owner; left out: the caller. Only `cli` and `admin` may name another one.
            if_match: Version that was read; without it the newest one is changed.

        Raises:
            ProblemError: `unknown_job`, `not_found`, `invalid_job`, `version_changed`, those of
                every request, such as `unauthenticated`, `forbidden`, `rate_limited`.

        Example:
            client.remove_schedule("job-0123456789abcdef")
        """
        return self._call(
            "DELETE",
            "/schedules/{jobId}",
            values={"jobId": job_id},
            query={"owner": owner},
            if_match=if_match,
        )

    def get_schedule(self, job_id: str, *, owner: str = NOT_GIVEN) -> m.ScheduleJobReply:
        """Returns one job.

        Needs the role `viewer`. The answer has the version as its ETag.

        Args:
            job_id: Id of the job.
            owner: The owner; left out: the caller. Only `cli` and `admin` may name another one.

        Raises:
            ProblemError: `unknown_job`, `not_found`, those of every request, such as
                `unauthenticated`, `forbidden`, `rate_limited`.

        Example:
            client.get_schedule("job-0123456789abcdef")
        """
        return self._call(
            "GET",
            "/schedules/{jobId}",
            values={"jobId": job_id},
            query={"owner": owner},
        )

    def run_schedule(
        self,
        job_id: str,
        *,
        mode: Literal["due", "force"] = NOT_GIVEN,
        owner: str = NOT_GIVEN,
    ) -> m.RunScheduleReply:
        """Runs a job now, or only when it is due.

        Needs the role `operator`.

        Args:
            job_id: Id of the job.
            mode: `due`: only when the job is due; `force`: in any case.
            owner: The owner; left out: the caller. Only `cli` and `admin` may name another one.

        Raises:
            ProblemError: `unknown_job`, `not_found`, `invalid_job`, those of every request, such as
                `unauthenticated`, `forbidden`, `rate_limited`.

        Example:
            client.run_schedule("job-0123456789abcdef")
        """
        return self._call(
            "POST",
            "/schedules/{jobId}/run",
            values={"jobId": job_id},
            body={"mode": mode, "owner": owner},
        )

    def list_runs_of_schedule(
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
        """Lists the outcomes of the due times of a job, or of all jobs, the latest first.

        Needs the role `viewer`.

        Args:
            job_id: Id of the job.
            scope: `job` or `all`; left out: `job` when `jobId` is given.
            limit: The most entries to return.
            offset: The number of entries to skip.
            statuses: Only entries with these results.
            delivery_statuses: Only entries whose answers had this delivery.
            query: A part of the text to look for, in any case.
            sort_dir: Ascending or descending.
            owner: The owner; left out: the caller. Only `cli` and `admin` may name another one.

        Raises:
            ProblemError: `unknown_job`, `not_found`, `invalid_job`, those of every request, such as
                `unauthenticated`, `forbidden`, `rate_limited`.

        Example:
            client.list_runs_of_schedule("job-0123456789abcdef")
        """
        return self._call(
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

    def list_channel_accounts(self, *, channel: str = NOT_GIVEN) -> m.ListChannelAccountsReply:
        """Lists the accounts that the caller may use, and how each is.

        Needs the role `viewer`.

        Args:
            channel: Name of the channel, such as `telegram`.

        Raises:
            ProblemError: those of every request, such as `unauthenticated`, `forbidden`,
                `rate_limited`.

        Example:
            client.list_channel_accounts()
        """
        return self._call("GET", "/channels/accounts", query={"channel": channel})

    def get_channel_capabilities(self, channel: str, account_id: str) -> m.GetChannelCapabilitiesReply:
        """Returns what an account supports.

        Needs the role `viewer`.

        Args:
            channel: Name of the channel, such as `telegram`.
            account_id: Account of the channel, as channels.json names it.

        Raises:
            ProblemError: `unknown_account`, `not_found`, those of every request, such as
                `unauthenticated`, `forbidden`, `rate_limited`.

        Example:
            client.get_channel_capabilities("telegram", "default")
        """
        return self._call(
            "GET",
            "/channels/{channel}/{accountId}/capabilities",
            values={"channel": channel, "accountId": account_id},
        )

    def check_channel_account(self, channel: str, account_id: str) -> m.CheckChannelAccountReply:
        """Checks an account's credentials at its provider.

        Needs the role `operator`.

        Args:
            channel: Name of the channel, such as `telegram`.
            account_id: Account of the channel, as channels.json names it.

        Raises:
            ProblemError: `unknown_account`, `not_found`, those of every request, such as
                `unauthenticated`, `forbidden`, `rate_limited`.

        Example:
            client.check_channel_account("telegram", "default")
        """
        return self._call(
            "POST",
            "/channels/{channel}/{accountId}/check",
            values={"channel": channel, "accountId": account_id},
        )

    def send_channel_message(
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
        """Sends a message to a person, group or channel, as a reply or in a thread.

        Needs the role `operator`. A repeat with the same Idempotency-Key or `idempotencyKey`
        changes nothing more.

        Args:
            text: The text; a long one is cut into several messages.
            attachments: Attached files.
            effect_id: One of the account's `effects`.
            effect_fallback: The fallback when the account has no such effect: refuse, or send
                without it.
            silent: True: without a sound on the other side, where the provider can.
            dry_run: True: everything is checked, and nothing is changed or sent.
            tool: Name of the tool.
            run_id: Id of the run. The owner's part before `~` may be left out for a run of the
                caller.
            session_key: Key of the session, unique among those of its owner.
            idempotency_key: For a day, the same key returns the result of the first request with
                it.
            to: The address.
            reply_to_message_id: The message that this one replies to.

        Raises:
            ProblemError: `invalid_target`, `bad_attachment`, `invalid_request`, `malformed_json`,
                `json_too_complex`, `not_allowed`, `forbidden`, `unknown_account`, `not_found`,
                `unsupported`, `still_sending`, `idempotency_conflict`, `rate_limited`,
                `overloaded`, those of every request, such as `unauthenticated`, `forbidden`,
                `rate_limited`.

        Example:
            client.send_channel_message(to={"channel": "telegram", "target": {"kind": "user", "id": "42"}})
        """
        return self._call(
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

    def read_channel_messages(
        self,
        *,
        address: m.AddressInput,
        limit: int = NOT_GIVEN,
        before: str = NOT_GIVEN,
        after: str = NOT_GIVEN,
    ) -> m.ReadChannelMessagesReply:
        """Reads the last messages at an address, oldest first.

        Needs the role `operator`.

        Args:
            address: The address.
            limit: The most entries to return.
            before: Only messages before the one of this id.
            after: Only messages after the one of this id.

        Raises:
            ProblemError: `invalid_target`, `invalid_request`, `malformed_json`, `json_too_complex`,
                `not_allowed`, `forbidden`, `unknown_account`, `not_found`, `unsupported`,
                `rate_limited`, `overloaded`, those of every request, such as `unauthenticated`,
                `forbidden`, `rate_limited`.

        Example:
            client.read_channel_messages(address={"channel": "telegram", "target": {"kind": "user", "id": "42"}})
        """
        return self._call(
            "POST",
            "/channels/messages/read",
            body={
                "address": address,
                "limit": limit,
                "before": before,
                "after": after,
            },
        )

    def submit_channel_message(
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
        """Submits a message in a channel of Switchyard's own: webchat or loopback.

        Needs the role `operator`.

        Args:
            channel: Name of the channel, such as `telegram`.
            account_id: Account of the channel, as channels.json names it.
            target: The conversation; left out: the caller's own.
            thread_id: Id of the thread; missing outside of threads.
            message_id: Id of the message; the same id again is the same message.
            text: The text.
            reply_to_message_id: The message that this one replies to.
            mentions_account: True when the message addresses the account.

        Raises:
            ProblemError: `not_allowed`, `forbidden`, `unknown_account`, `not_found`, those of every
                request, such as `unauthenticated`, `forbidden`, `rate_limited`.

        Example:
            client.submit_channel_message("webchat", text="It has three services and their tests.")
        """
        return self._call(
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

    def list_approvals(
        self,
        *,
        pending_only: bool = NOT_GIVEN,
        run_id: str = NOT_GIVEN,
        limit: int = NOT_GIVEN,
        cursor: str = NOT_GIVEN,
    ) -> m.ListApprovalsReply:
        """Lists approvals that the caller may decide or has asked for, newest first.

        Needs the role `viewer`.

        Args:
            pending_only: True: only those that wait for a person.
            run_id: Id of the run. The owner's part before `~` may be left out for a run of the
                caller.
            limit: The most entries to return.
            cursor: `next` of the page before; left out: the first page.

        Raises:
            ProblemError: those of every request, such as `unauthenticated`, `forbidden`,
                `rate_limited`.

        Example:
            client.list_approvals()
        """
        return self._call(
            "GET",
            "/approvals",
            query={
                "pendingOnly": pending_only,
                "runId": run_id,
                "limit": limit,
                "cursor": cursor,
            },
        )

    def get_approval(self, id: str) -> m.GetApprovalReply:
        """Shows one approval with the arguments it is about and what its run did before.

        Needs the role `viewer`.

        Args:
            id: Id of an approval: `apr-` and 32 hexadecimal digits.

        Raises:
            ProblemError: `unknown_approval`, `not_found`, those of every request, such as
                `unauthenticated`, `forbidden`, `rate_limited`.

        Example:
            client.get_approval("apr-0123456789abcdef0123456789abcdef")
        """
        return self._call("GET", "/approvals/{id}", values={"id": id})

    def approve_call(
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

        Needs the role `approver`.

        Args:
            id: Id of an approval: `apr-` and 32 hexadecimal digits.
            binding: Digest that binds the approval to exactly this call. Send it back as it was
                shown.
            scope: `once`: this call; `session`: more calls of its kind for a while.
            reason: Why, in words for people.
            ttl_seconds: Lifetime of the standing approval in seconds, at most the rule's.
            max_uses: The number of calls that a standing approval may let pass.
            arguments: Makes this one call with these arguments in place of its own; the rules
                decide about them.
            same_arguments: JSON pointers of arguments that must have the approved call's values.

        Raises:
            ProblemError: `reason_required`, `bad_pointer`, `invalid_request`, `malformed_json`,
                `json_too_complex`, `forbidden_approver`, `forbidden`, `unknown_approval`,
                `not_found`, `already_ended`, `binding_mismatch`, `already_voted`, `once_only`,
                `not_editable`, `edit_refused`, those of every request, such as `unauthenticated`,
                `forbidden`, `rate_limited`.

        Example:
            client.approve_call("apr-0123456789abcdef0123456789abcdef")
        """
        return self._call(
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

    def deny_call(
        self,
        id: str,
        *,
        binding: str = NOT_GIVEN,
        reason: str = NOT_GIVEN,
    ) -> m.ApprovalEnded:
        """Denies a waiting call; the agent gets the reason.

        Needs the role `approver`.

        Args:
            id: Id of an approval: `apr-` and 32 hexadecimal digits.
            binding: Digest that binds the approval to exactly this call. Send it back as it was
                shown.
            reason: Why, in words for people.

        Raises:
            ProblemError: `reason_required`, `invalid_request`, `malformed_json`,
                `json_too_complex`, `forbidden_approver`, `forbidden`, `unknown_approval`,
                `not_found`, `already_ended`, `binding_mismatch`, those of every request, such as
                `unauthenticated`, `forbidden`, `rate_limited`.

        Example:
            client.deny_call("apr-0123456789abcdef0123456789abcdef")
        """
        return self._call(
            "POST",
            "/approvals/{id}/deny",
            values={"id": id},
            body={"binding": binding, "reason": reason},
        )

    def cancel_approval(self, id: str, *, reason: str = NOT_GIVEN) -> m.ApprovalEnded:
        """Cancels the request for an approval; the call is not made.

        Needs the role `operator`.

        Args:
            id: Id of an approval: `apr-` and 32 hexadecimal digits.
            reason: Why, in words for people.

        Raises:
            ProblemError: `forbidden_approver`, `forbidden`, `unknown_approval`, `not_found`,
                `already_ended`, those of every request, such as `unauthenticated`, `forbidden`,
                `rate_limited`.

        Example:
            client.cancel_approval("apr-0123456789abcdef0123456789abcdef")
        """
        return self._call(
            "POST",
            "/approvals/{id}/cancel",
            values={"id": id},
            body={"reason": reason},
        )

    def create_chat_link(self, *, asks: bool = NOT_GIVEN) -> m.CreateChatLinkReply:
        """Makes a one-time code; who sends it to a bot in private decides there as the caller.

        Needs the role `viewer`.

        Args:
            asks: True: calls that the caller may decide about are sent to the private chat.

        Raises:
            ProblemError: those of every request, such as `unauthenticated`, `forbidden`,
                `rate_limited`.

        Example:
            client.create_chat_link()
        """
        return self._call("POST", "/chat-links", body={"asks": asks})

    def list_chat_links(self, *, user: str | Literal["*"] = NOT_GIVEN) -> m.ListChatLinksReply:
        """Lists the chats in which the caller may decide; for policy admins those of any user.

        Needs the role `viewer`.

        Args:
            user: Whose links; left out: the caller's own; `*`: those of every user.

        Raises:
            ProblemError: `forbidden_admin`, `forbidden`, those of every request, such as
                `unauthenticated`, `forbidden`, `rate_limited`.

        Example:
            client.list_chat_links()
        """
        return self._call("GET", "/chat-links", query={"user": user})

    def revoke_chat_link(self, id: str) -> m.RevokeChatLinkReply:
        """Ends a link of the caller at once; for policy admins one of any user.

        Needs the role `viewer`.

        Args:
            id: Id of the link.

        Raises:
            ProblemError: `unknown_link`, `not_found`, those of every request, such as
                `unauthenticated`, `forbidden`, `rate_limited`.

        Example:
            client.revoke_chat_link("lnk-0123456789abcdef")
        """
        return self._call("DELETE", "/chat-links/{id}", values={"id": id})

    def list_grants(self, *, limit: int = NOT_GIVEN) -> m.ListGrantsReply:
        """Lists standing approvals that the caller may revoke or profits from.

        Needs the role `viewer`.

        Args:
            limit: The most entries to return.

        Raises:
            ProblemError: those of every request, such as `unauthenticated`, `forbidden`,
                `rate_limited`.

        Example:
            client.list_grants()
        """
        return self._call("GET", "/grants", query={"limit": limit})

    def revoke_grant(self, id: str) -> m.RevokeGrantReply:
        """Ends a standing approval; later calls need a person again.

        Needs the role `approver`.

        Args:
            id: Id of a standing approval: `grt-` and 32 hexadecimal digits.

        Raises:
            ProblemError: `forbidden_approver`, `forbidden`, `unknown_grant`, `not_found`, those of
                every request, such as `unauthenticated`, `forbidden`, `rate_limited`.

        Example:
            client.revoke_grant("grt-0123456789abcdef0123456789abcdef")
        """
        return self._call("DELETE", "/grants/{id}", values={"id": id})

    def list_tools(
        self,
        *,
        server: str = NOT_GIVEN,
        findings: bool = NOT_GIVEN,
    ) -> m.Tools:
        """Lists the tools of connected servers that the policy lets the principal call.

        Needs the role `viewer`.

        Args:
            server: Only tools of this server.
            findings: True: with the findings about each definition.

        Raises:
            ProblemError: `invalid_token`, `unauthenticated`, `unknown_server`, `run_stopped`, those
                of every request, such as `unauthenticated`, `forbidden`, `rate_limited`.

        Example:
            client.list_tools()
        """
        return self._call(
            "GET",
            "/tools",
            query={"server": server, "findings": findings},
        )

    def list_builtins(self) -> m.ListBuiltinsReply:
        """Lists the built-in tools that the policy lets the principal call.

        Needs the role `viewer`.

        Raises:
            ProblemError: `invalid_token`, `unauthenticated`, `run_stopped`, those of every request,
                such as `unauthenticated`, `forbidden`, `rate_limited`.

        Example:
            client.list_builtins()
        """
        return self._call("GET", "/tools/builtin")

    def call_builtin(
        self,
        tool: str,
        *,
        args: dict[str, Any],
        call_id: str = NOT_GIVEN,
        approval_id: str = NOT_GIVEN,
        idempotency_key: str = NOT_GIVEN,
    ) -> m.CallBuiltinReply:
        """Calls a built-in tool after the policy allowed exactly this call.

        Needs the role `operator`. A repeat with the same Idempotency-Key or `callId` changes
        nothing more.

        Args:
            tool: Name of the built-in tool, or an alias.
            args: Arguments of the call, by name.
            call_id: Id of the tool call. A call that is repeated under its id returns the stored
                result.
            approval_id: The approval that an earlier `approval_required` named; needed without
                `callId`.
            idempotency_key: The same key of the same caller is the same request, for a day.

        Raises:
            ProblemError: `invalid_arguments`, `invalid_request`, `malformed_json`,
                `json_too_complex`, `invalid_token`, `unauthenticated`, `denied`, `forbidden`,
                `unknown_tool`, `not_found`, `approval_required`, `stopped`, `tool_unavailable`,
                `call_id_conflict`, `stale_epoch`, `cancelled`, `outcome_unknown`, `overloaded`,
                `rate_limited`, those of every request, such as `unauthenticated`, `forbidden`,
                `rate_limited`.

        Example:
            client.call_builtin("read_file", args={"path": "README.md"})
        """
        return self._call(
            "POST",
            "/tools/builtin/{tool}/call",
            values={"tool": tool},
            body={"args": args, "callId": call_id, "approvalId": approval_id},
            idempotency_key=idempotency_key,
        )

    def cancel_builtin(self, *, call_id: str) -> m.CancelBuiltinReply:
        """Cancels a call of a built-in tool in progress, with the command that it runs.

        Needs the role `operator`.

        Args:
            call_id: Id of the tool call. A call that is repeated under its id returns the stored
                result.

        Raises:
            ProblemError: `invalid_token`, `unauthenticated`, those of every request, such as
                `unauthenticated`, `forbidden`, `rate_limited`.

        Example:
            client.cancel_builtin(call_id="team-a~report-7:1:0")
        """
        return self._call("POST", "/tools/builtin/cancel", body={"callId": call_id})

    def call_tool(
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
        """Calls a tool of an MCP server after the policy allowed exactly this call.

        Needs the role `operator`. A repeat with the same Idempotency-Key or `callId` changes
        nothing more.

        Args:
            server: Id of the MCP server.
            tool: Canonical name, or the server's own name of the tool.
            args: Arguments of the call, by name.
            call_id: Id of the tool call. A call that is repeated under its id returns the stored
                result.
            approval_id: The approval that an earlier `approval_required` named; needed without
                `callId`.
            _meta: Metadata of the client for the server; keys that MCP reserves are left out.
            idempotency_key: The same key of the same caller is the same request, for a day.

        Raises:
            ProblemError: `invalid_arguments`, `invalid_request`, `malformed_json`,
                `json_too_complex`, `invalid_token`, `unauthenticated`, `denied`, `forbidden`,
                `unknown_tool`, `not_found`, `approval_required`, `stopped`, `not_owner`,
                `scope_required`, `instances_exhausted`, `tool_not_approved`, `tool_failed`,
                `call_id_conflict`, `stale_epoch`, `question_pending`, `circuit_open`, `cancelled`,
                `outcome_unknown`, `server_overloaded`, `overloaded`, `rate_limited`, those of every
                request, such as `unauthenticated`, `forbidden`, `rate_limited`.

        Example:
            client.call_tool("files", "mcp__files__read_text_file", args={"path": "README.md"})
        """
        return self._call(
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

    def list_mcp_tools(
        self,
        *,
        server: str = NOT_GIVEN,
        findings: bool = NOT_GIVEN,
    ) -> m.Tools:
        """Lists the tools of connected servers that the policy lets the principal call.

        Needs the role `viewer`.

        Args:
            server: Only tools of this server.
            findings: True: with the findings about each definition.

        Raises:
            ProblemError: `invalid_token`, `unauthenticated`, `unknown_server`, `run_stopped`, those
                of every request, such as `unauthenticated`, `forbidden`, `rate_limited`.

        Example:
            client.list_mcp_tools()
        """
        return self._call(
            "GET",
            "/mcp/tools",
            query={"server": server, "findings": findings},
        )

    def list_tools_of_server(
        self,
        server: str,
        *,
        id: str = NOT_GIVEN,
        findings: bool = NOT_GIVEN,
    ) -> m.Tools:
        """Lists the tools of connected servers that the policy lets the principal call.

        Needs the role `viewer`.

        Args:
            server: Id of the MCP server.
            id: Only tools of this server.
            findings: True: with the findings about each definition.

        Raises:
            ProblemError: `invalid_token`, `unauthenticated`, `NOT_FOUND`, `not_found`,
                `run_stopped`, those of every request, such as `unauthenticated`, `forbidden`,
                `rate_limited`.

        Example:
            client.list_tools_of_server("files")
        """
        return self._call(
            "GET",
            "/mcp/tools/{server}",
            values={"server": server},
            query={"id": id, "findings": findings},
        )

    def list_server_questions(
        self,
        *,
        server: str = NOT_GIVEN,
        pending_only: bool = NOT_GIVEN,
    ) -> m.ListServerQuestionsReply:
        """Lists the questions of MCP servers that the caller may answer, newest first.

        Needs the role `viewer`.

        Args:
            server: Id of the MCP server.
            pending_only: True: only those that wait for an answer.

        Raises:
            ProblemError: those of every request, such as `unauthenticated`, `forbidden`,
                `rate_limited`.

        Example:
            client.list_server_questions()
        """
        return self._call(
            "GET",
            "/mcp/questions",
            query={"server": server, "pendingOnly": pending_only},
        )

    def answer_server_question(
        self,
        id: str,
        *,
        action: Literal["accept", "decline", "cancel"],
        content: dict[str, str | float | bool | list[str]] = NOT_GIVEN,
    ) -> m.AnswerServerQuestionReply:
        """Answers a question of an MCP server, once.

        Needs the role `operator`.

        Args:
            id: Id of the question.
            action: The person's action: accept, decline or close the question.
            content: Values of an accepted form, by field.

        Raises:
            ProblemError: `invalid_content`, `invalid_request`, `malformed_json`,
                `json_too_complex`, `unknown_question`, `not_found`, `already_ended`, those of every
                request, such as `unauthenticated`, `forbidden`, `rate_limited`.

        Example:
            client.answer_server_question("q-0123456789", action="accept")
        """
        return self._call(
            "POST",
            "/mcp/questions/{id}/answer",
            values={"id": id},
            body={"action": action, "content": content},
        )

    def list_server_secrets(self) -> m.ListServerSecretsReply:
        """Lists the stored secrets of MCP servers by name; never their values.

        Needs the role `admin`.

        Raises:
            ProblemError: `forbidden_admin`, `forbidden`, those of every request, such as
                `unauthenticated`, `forbidden`, `rate_limited`.

        Example:
            client.list_server_secrets()
        """
        return self._call("GET", "/mcp/secrets")

    def set_server_secret(
        self,
        name: str,
        *,
        value: str,
        servers: list[str] | None = NOT_GIVEN,
    ) -> m.SetServerSecretReply:
        """Stores or replaces a secret of MCP servers; those that use it connect anew.

        Needs the role `admin`.

        Args:
            name: Name of the secret, as in `${secret:NAME}`.
            value: The value; no reply, event or log contains it.
            servers: The only servers that may use it; null for all. Left out: as before, or all for
                a new one.

        Raises:
            ProblemError: `forbidden_admin`, `forbidden`, `secret_key_missing`, `too_many`,
                `overloaded`, `rate_limited`, those of every request, such as `unauthenticated`,
                `forbidden`, `rate_limited`.

        Example:
            client.set_server_secret("reviewer", value="doc")
        """
        return self._call(
            "PUT",
            "/mcp/secrets/{name}",
            values={"name": name},
            body={"value": value, "servers": servers},
        )

    def delete_server_secret(self, name: str) -> m.DeleteServerSecretReply:
        """Deletes a secret that no MCP server uses.

        Needs the role `admin`.

        Args:
            name: Name of the secret, as in `${secret:NAME}`.

        Raises:
            ProblemError: `forbidden_admin`, `forbidden`, `unknown_secret`, `not_found`,
                `secret_in_use`, those of every request, such as `unauthenticated`, `forbidden`,
                `rate_limited`.

        Example:
            client.delete_server_secret("reviewer")
        """
        return self._call("DELETE", "/mcp/secrets/{name}", values={"name": name})

    def list_servers(self) -> m.ListServersReply:
        """Lists the configured MCP servers with their true status.

        Needs the role `admin`.

        Raises:
            ProblemError: those of every request, such as `unauthenticated`, `forbidden`,
                `rate_limited`.

        Example:
            client.list_servers()
        """
        return self._call("GET", "/mcp/servers")

    def add_server(self, *, body: dict[str, Any]) -> m.ServerReply:
        """Adds an MCP server and begins to connect it.

        Needs the role `admin`.

        Args:
            body: Declaration of the server, as an entry of `mcp-servers.json` with its `id`.

        Raises:
            ProblemError: `INVALID_INPUT`, `invalid_request`, `malformed_json`, `json_too_complex`,
                `forbidden_admin`, `forbidden`, `literal_secret`, `server_exists`, those of every
                request, such as `unauthenticated`, `forbidden`, `rate_limited`.

        Example:
            client.add_server(body={"id": "files", "command": "npx", "args": ["-y", "@modelcontextprotocol/server-filesystem", "."]})
        """
        return self._call("POST", "/mcp/servers", body=body)

    def get_server(self, id: str) -> m.GetServerReply:
        """Shows one MCP server: status and declaration, literal secrets as [redacted].

        Needs the role `admin`. The answer has the version as its ETag.

        Args:
            id: Id of the MCP server.

        Raises:
            ProblemError: `NOT_FOUND`, `not_found`, those of every request, such as
                `unauthenticated`, `forbidden`, `rate_limited`.

        Example:
            client.get_server("files")
        """
        return self._call("GET", "/mcp/servers/{id}", values={"id": id})

    def update_server(
        self,
        id: str,
        *,
        body: dict[str, Any],
        if_match: str = NOT_GIVEN,
    ) -> m.ServersMcp:
        """Changes fields of an MCP server; reconnects it where its connection needs it.

        Needs the role `admin`. The answer has the version as its ETag.

        Args:
            id: Id of the MCP server.
            body: Fields to set; null removes one.
            if_match: Version that was read; without it the newest one is changed.

        Raises:
            ProblemError: `INVALID_INPUT`, `invalid_request`, `malformed_json`, `json_too_complex`,
                `forbidden_admin`, `forbidden`, `NOT_FOUND`, `not_found`, `literal_secret`,
                `version_changed`, those of every request, such as `unauthenticated`, `forbidden`,
                `rate_limited`.

        Example:
            client.update_server("files", body={"timeoutMs": 30000})
        """
        return self._call(
            "PATCH",
            "/mcp/servers/{id}",
            values={"id": id},
            body=body,
            if_match=if_match,
        )

    def put_server(
        self,
        id: str,
        *,
        body: dict[str, Any],
        if_match: str = NOT_GIVEN,
    ) -> m.ServersMcp:
        """Changes fields of an MCP server; reconnects it where its connection needs it.

        Needs the role `admin`. The answer has the version as its ETag.

        Args:
            id: Id of the MCP server.
            body: Fields to set; null removes one.
            if_match: Version that was read; without it the newest one is changed.

        Raises:
            ProblemError: `INVALID_INPUT`, `invalid_request`, `malformed_json`, `json_too_complex`,
                `forbidden_admin`, `forbidden`, `NOT_FOUND`, `not_found`, `literal_secret`,
                `version_changed`, those of every request, such as `unauthenticated`, `forbidden`,
                `rate_limited`.

        Example:
            client.put_server("files", body={"timeoutMs": 30000})
        """
        return self._call(
            "PUT",
            "/mcp/servers/{id}",
            values={"id": id},
            body=body,
            if_match=if_match,
        )

    def remove_server(self, id: str, *, if_match: str = NOT_GIVEN) -> m.RemoveServerReply:
        """Removes an MCP server; replies when its connection and its processes have ended.

        Needs the role `admin`.

        Args:
            id: Id of the MCP server.
            if_match: Version that was read; without it the newest one is changed.

        Raises:
            ProblemError: `forbidden_admin`, `forbidden`, `NOT_FOUND`, `not_found`,
                `version_changed`, those of every request, such as `unauthenticated`, `forbidden`,
                `rate_limited`.

        Example:
            client.remove_server("files")
        """
        return self._call(
            "DELETE",
            "/mcp/servers/{id}",
            values={"id": id},
            if_match=if_match,
        )

    def connect_server(self, id: str) -> m.ConnectServerReply:
        """Connects an MCP server, or connects it anew; answers when the attempt is over.

        Needs the role `admin`.

        Args:
            id: Id of the MCP server.

        Raises:
            ProblemError: `forbidden_admin`, `forbidden`, `NOT_FOUND`, `not_found`,
                `server_disabled`, those of every request, such as `unauthenticated`, `forbidden`,
                `rate_limited`.

        Example:
            client.connect_server("files")
        """
        return self._call("POST", "/mcp/servers/{id}/connect", values={"id": id})

    def disconnect_server(self, id: str) -> m.DisconnectServerReply:
        """Ends a connection until mcp.connect or a restart; an unknown server is not an error.

        Needs the role `admin`.

        Args:
            id: Id of the MCP server.

        Raises:
            ProblemError: `forbidden_admin`, `forbidden`, `NOT_FOUND`, `not_found`, those of every
                request, such as `unauthenticated`, `forbidden`, `rate_limited`.

        Example:
            client.disconnect_server("files")
        """
        return self._call("POST", "/mcp/servers/{id}/disconnect", values={"id": id})

    def enable_server(self, id: str, *, enabled: bool) -> m.ServerReply:
        """Enables or disables an MCP server until the next change.

        Needs the role `admin`.

        Args:
            id: Id of the MCP server.
            enabled: True when it is switched on.

        Raises:
            ProblemError: `INVALID_INPUT`, `invalid_request`, `malformed_json`, `json_too_complex`,
                `forbidden_admin`, `forbidden`, `NOT_FOUND`, `not_found`, those of every request,
                such as `unauthenticated`, `forbidden`, `rate_limited`.

        Example:
            client.enable_server("files", enabled=True)
        """
        return self._call(
            "POST",
            "/mcp/servers/{id}/enable",
            values={"id": id},
            body={"enabled": enabled},
        )

    def reset_server(self, id: str) -> m.ServerReply:
        """Discards changes by request: the declaration of the file counts again.

        Needs the role `admin`.

        Args:
            id: Id of the MCP server.

        Raises:
            ProblemError: `forbidden_admin`, `forbidden`, `NOT_FOUND`, `not_found`, `not_in_file`,
                those of every request, such as `unauthenticated`, `forbidden`, `rate_limited`.

        Example:
            client.reset_server("files")
        """
        return self._call("POST", "/mcp/servers/{id}/reset", values={"id": id})

    def get_server_logs(self, id: str, *, tail: int = NOT_GIVEN) -> m.GetServerLogsReply:
        """The last lines that an MCP server's process wrote to stderr.

        Needs the role `admin`.

        Args:
            id: Id of the MCP server.
            tail: The number of last lines to return.

        Raises:
            ProblemError: `NOT_FOUND`, `not_found`, those of every request, such as
                `unauthenticated`, `forbidden`, `rate_limited`.

        Example:
            client.get_server_logs("files")
        """
        return self._call(
            "GET",
            "/mcp/servers/{id}/logs",
            values={"id": id},
            query={"tail": tail},
        )

    def refresh_tools(self, id: str) -> m.RefreshToolsReply:
        """Reads the tool list of a connected MCP server again.

        Needs the role `admin`.

        Args:
            id: Id of the MCP server.

        Raises:
            ProblemError: `forbidden_admin`, `forbidden`, `NOT_FOUND`, `not_found`,
                `refresh_failed`, those of every request, such as `unauthenticated`, `forbidden`,
                `rate_limited`.

        Example:
            client.refresh_tools("files")
        """
        return self._call("POST", "/mcp/servers/{id}/refresh", values={"id": id})

    def list_pins(
        self,
        id: str,
        *,
        states: list[Literal["pending", "approved", "changed", "blocked"]] = NOT_GIVEN,
        limit: int = NOT_GIVEN,
        after: str = NOT_GIVEN,
    ) -> m.ListPinsReply:
        """Lists the pinned tools of an MCP server with their states and findings.

        Needs the role `admin`.

        Args:
            id: Id of the MCP server.
            states: Only pins in these states; left out: all.
            limit: The most entries to return.
            after: The last tool of the page before.

        Raises:
            ProblemError: `NOT_FOUND`, `not_found`, those of every request, such as
                `unauthenticated`, `forbidden`, `rate_limited`.

        Example:
            client.list_pins("files")
        """
        return self._call(
            "GET",
            "/mcp/servers/{id}/pins",
            values={"id": id},
            query={"states": states, "limit": limit, "after": after},
        )

    def approve_pins(
        self,
        id: str,
        *,
        tools: list[m.ApprovePinsTools] = NOT_GIVEN,
        override: list[m.ToolFindingCode] = NOT_GIVEN,
    ) -> m.ApprovePinsReply:
        """Approves the definitions that an MCP server lists now.

        Needs the role `admin`.

        Args:
            id: Id of the MCP server.
            tools: Tools with the digests that were reviewed; left out: all pending and changed
                ones.
            override: Codes of the hard findings that are accepted.

        Raises:
            ProblemError: `forbidden_admin`, `forbidden`, `NOT_FOUND`, `unknown_pin`, `not_found`,
                `pin_changed`, `findings_block`, those of every request, such as `unauthenticated`,
                `forbidden`, `rate_limited`.

        Example:
            client.approve_pins("files")
        """
        return self._call(
            "POST",
            "/mcp/servers/{id}/pins/approve",
            values={"id": id},
            body={"tools": tools, "override": override},
        )

    def block_pins(self, id: str, *, tools: list[str]) -> m.BlockPinsReply:
        """Blocks tools of an MCP server, whatever definition it lists.

        Needs the role `admin`.

        Args:
            id: Id of the MCP server.
            tools: The tools.

        Raises:
            ProblemError: `forbidden_admin`, `forbidden`, `NOT_FOUND`, `unknown_pin`, `not_found`,
                those of every request, such as `unauthenticated`, `forbidden`, `rate_limited`.

        Example:
            client.block_pins("files", tools=["mcp__files__*", "read_file"])
        """
        return self._call(
            "POST",
            "/mcp/servers/{id}/pins/block",
            values={"id": id},
            body={"tools": tools},
        )

    def diff_pin(self, id: str, tool: str) -> m.DiffPinReply:
        """Shows what differs between the approved and the listed definition of a tool.

        Needs the role `admin`.

        Args:
            id: Id of the MCP server.
            tool: Name of the tool at its server.

        Raises:
            ProblemError: `NOT_FOUND`, `unknown_pin`, `not_found`, those of every request, such as
                `unauthenticated`, `forbidden`, `rate_limited`.

        Example:
            client.diff_pin("files", "read_text_file")
        """
        return self._call(
            "GET",
            "/mcp/servers/{id}/pins/{tool}/diff",
            values={"id": id, "tool": tool},
        )

    def begin_login(self, id: str, *, redirect_uri: str) -> m.BeginLoginReply:
        """Begins an OAuth login to an MCP server; a person goes to the address in the reply.

        Needs the role `admin`.

        Args:
            id: Id of the MCP server.
            redirect_uri: Address that the browser returns to: http on this machine.

        Raises:
            ProblemError: `forbidden_admin`, `forbidden`, `NOT_FOUND`, `not_found`,
                `login_not_supported`, `login_key_missing`, `login_failed`, those of every request,
                such as `unauthenticated`, `forbidden`, `rate_limited`.

        Example:
            client.begin_login("files", redirect_uri="http://127.0.0.1:7777/callback")
        """
        return self._call(
            "POST",
            "/mcp/servers/{id}/login",
            values={"id": id},
            body={"redirectUri": redirect_uri},
        )

    def end_login(self, id: str) -> m.EndLoginReply:
        """Revokes and deletes the login to an MCP server, and connects it without one.

        Needs the role `admin`.

        Args:
            id: Id of the MCP server.

        Raises:
            ProblemError: `forbidden_admin`, `forbidden`, `NOT_FOUND`, `not_found`,
                `login_key_missing`, those of every request, such as `unauthenticated`, `forbidden`,
                `rate_limited`.

        Example:
            client.end_login("files")
        """
        return self._call("DELETE", "/mcp/servers/{id}/login", values={"id": id})

    def finish_login(
        self,
        id: str,
        *,
        state: str,
        code: str,
        iss: str = NOT_GIVEN,
    ) -> m.FinishLoginReply:
        """Completes an OAuth login with the code from the browser, and connects the server.

        Needs the role `admin`.

        Args:
            id: Id of the MCP server.
            state: Value that the browser brought back.
            code: Code that the browser brought back.
            iss: Issuer that the redirect names (RFC 9207).

        Raises:
            ProblemError: `forbidden_admin`, `forbidden`, `NOT_FOUND`, `not_found`,
                `login_not_supported`, `login_key_missing`, `login_failed`, `login_expired`, those
                of every request, such as `unauthenticated`, `forbidden`, `rate_limited`.

        Example:
            client.finish_login("files", state="abc", code="def")
        """
        return self._call(
            "POST",
            "/mcp/servers/{id}/login/finish",
            values={"id": id},
            body={"state": state, "code": code, "iss": iss},
        )

    def list_server_messages(self, id: str, *, tail: int = NOT_GIVEN) -> m.ListServerMessagesReply:
        """The last log messages that an MCP server sent over the protocol.

        Needs the role `admin`.

        Args:
            id: Id of the MCP server.
            tail: The number of last lines to return.

        Raises:
            ProblemError: `invalid_token`, `unauthenticated`, `denied`, `forbidden`, `NOT_FOUND`,
                `not_found`, `stopped`, `not_supported`, `scope_required`, `instances_exhausted`,
                `question_pending`, `server_overloaded`, `overloaded`, `rate_limited`, those of
                every request, such as `unauthenticated`, `forbidden`, `rate_limited`.

        Example:
            client.list_server_messages("files")
        """
        return self._call(
            "GET",
            "/mcp/servers/{id}/messages",
            values={"id": id},
            query={"tail": tail},
        )

    def set_server_log_level(
        self,
        id: str,
        *,
        level: Literal["debug", "info", "notice", "warning", "error", "critical", "alert", "emergency"],
    ) -> m.SetServerLogLevelReply:
        """Sets from which level on an MCP server sends log messages, for everyone.

        Needs the role `admin`.

        Args:
            id: Id of the MCP server.
            level: Severity, from the least to the worst.

        Raises:
            ProblemError: `invalid_token`, `unauthenticated`, `denied`, `forbidden`, `NOT_FOUND`,
                `not_found`, `stopped`, `not_supported`, `scope_required`, `instances_exhausted`,
                `question_pending`, `server_overloaded`, `overloaded`, `rate_limited`, those of
                every request, such as `unauthenticated`, `forbidden`, `rate_limited`.

        Example:
            client.set_server_log_level("files", level="debug")
        """
        return self._call(
            "POST",
            "/mcp/servers/{id}/log-level",
            values={"id": id},
            body={"level": level},
        )

    def list_resources(self, id: str) -> m.ListResourcesReply:
        """Lists the resources of an MCP server that the policy lets the principal read.

        Needs the role `viewer`.

        Args:
            id: Id of the MCP server.

        Raises:
            ProblemError: `invalid_token`, `unauthenticated`, `denied`, `forbidden`, `NOT_FOUND`,
                `not_found`, `stopped`, `not_supported`, `scope_required`, `instances_exhausted`,
                `question_pending`, `server_overloaded`, `overloaded`, `rate_limited`, those of
                every request, such as `unauthenticated`, `forbidden`, `rate_limited`.

        Example:
            client.list_resources("files")
        """
        return self._call("GET", "/mcp/servers/{id}/resources", values={"id": id})

    def list_resource_templates(self, id: str) -> m.ListResourceTemplatesReply:
        """Lists the resource templates of an MCP server that the policy lets the principal use.

        Needs the role `viewer`.

        Args:
            id: Id of the MCP server.

        Raises:
            ProblemError: `invalid_token`, `unauthenticated`, `denied`, `forbidden`, `NOT_FOUND`,
                `not_found`, `stopped`, `not_supported`, `scope_required`, `instances_exhausted`,
                `question_pending`, `server_overloaded`, `overloaded`, `rate_limited`, those of
                every request, such as `unauthenticated`, `forbidden`, `rate_limited`.

        Example:
            client.list_resource_templates("files")
        """
        return self._call(
            "GET",
            "/mcp/servers/{id}/resource-templates",
            values={"id": id},
        )

    def read_resource(self, id: str, *, uri: str) -> m.ReadResourceReply:
        """Reads a resource of an MCP server after the policy allowed exactly this one.

        Needs the role `operator`.

        Args:
            id: Id of the MCP server.
            uri: URI of the resource.

        Raises:
            ProblemError: `invalid_token`, `unauthenticated`, `denied`, `forbidden`, `NOT_FOUND`,
                `not_found`, `stopped`, `not_supported`, `scope_required`, `instances_exhausted`,
                `question_pending`, `server_overloaded`, `overloaded`, `rate_limited`, those of
                every request, such as `unauthenticated`, `forbidden`, `rate_limited`.

        Example:
            client.read_resource("files", uri="file:///notes/README.md")
        """
        return self._call(
            "POST",
            "/mcp/servers/{id}/resources/read",
            values={"id": id},
            body={"uri": uri},
        )

    def list_prompts(self, id: str) -> m.ListPromptsReply:
        """Lists the prompts of an MCP server that the policy lets the principal get.

        Needs the role `viewer`.

        Args:
            id: Id of the MCP server.

        Raises:
            ProblemError: `invalid_token`, `unauthenticated`, `denied`, `forbidden`, `NOT_FOUND`,
                `not_found`, `stopped`, `not_supported`, `scope_required`, `instances_exhausted`,
                `question_pending`, `server_overloaded`, `overloaded`, `rate_limited`, those of
                every request, such as `unauthenticated`, `forbidden`, `rate_limited`.

        Example:
            client.list_prompts("files")
        """
        return self._call("GET", "/mcp/servers/{id}/prompts", values={"id": id})

    def get_prompt(
        self,
        id: str,
        name: str,
        *,
        args: dict[str, str] = NOT_GIVEN,
    ) -> m.GetPromptReply:
        """Gets a prompt of an MCP server after the policy allowed it with these arguments.

        Needs the role `operator`.

        Args:
            id: Id of the MCP server.
            name: Name of the prompt.
            args: Arguments of the prompt, by name.

        Raises:
            ProblemError: `invalid_token`, `unauthenticated`, `denied`, `forbidden`, `NOT_FOUND`,
                `not_found`, `stopped`, `not_supported`, `scope_required`, `instances_exhausted`,
                `question_pending`, `server_overloaded`, `overloaded`, `rate_limited`, those of
                every request, such as `unauthenticated`, `forbidden`, `rate_limited`.

        Example:
            client.get_prompt("files", "reviewer")
        """
        return self._call(
            "POST",
            "/mcp/servers/{id}/prompts/{name}",
            values={"id": id, "name": name},
            body={"args": args},
        )

    def list_skills(self) -> m.Skills:
        """Lists the imported skills.

        Needs the role `viewer`.

        Raises:
            ProblemError: those of every request, such as `unauthenticated`, `forbidden`,
                `rate_limited`.

        Example:
            client.list_skills()
        """
        return self._call("GET", "/skills")

    def upload_skills(
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
        """Imports skills whose files the caller sends.

        Needs the role `operator`.

        Args:
            label: The sender's name for the source.
            dry_run: True: everything is checked, and nothing is changed or sent.
            git: The git checkout that contained the files; null without one.
            with_reports: True: with the scanner's whole report.
            import_id: Joins the parts of one import; the first definition of a name counts.
            targets: Formats to check against; left out: all.
            skills: The skills with their files.

        Raises:
            ProblemError: `forbidden_admin`, `forbidden`, `upload_too_large`, `payload_too_large`,
                those of every request, such as `unauthenticated`, `forbidden`, `rate_limited`.

        Example:
            client.upload_skills(label="Planning", skills=[{"directory": "skills", "files": [{"path": "scripts/check.sh"}]}])
        """
        return self._call(
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

    def unpack_skills(
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
        """Imports the skills in a zip or tar.gz that the caller sends.

        Needs the role `operator`.

        Args:
            label: The sender's name for the source.
            dry_run: True: everything is checked, and nothing is changed or sent.
            git: The git checkout that contained the files; null without one.
            with_reports: True: with the scanner's whole report.
            import_id: Joins the parts of one import; the first definition of a name counts.
            targets: Formats to check against; left out: all.
            format: Format of the archive.
            only: Only these skills, by `file`; left out: all.
            content: The bytes.

        Raises:
            ProblemError: `forbidden_admin`, `forbidden`, `archive_refused`, those of every request,
                such as `unauthenticated`, `forbidden`, `rate_limited`.

        Example:
            client.unpack_skills(content=Path("file").read_bytes())
        """
        return self._call(
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

    def import_skills(self, *, directory: str, dry_run: bool = NOT_GIVEN) -> m.SkillsImported:
        """Imports the skills and agents below a directory on one of the importer's allowed roots.

        Needs the role `admin`.

        Args:
            directory: Directory, absolute or relative to the importer's first root.
            dry_run: True: everything is checked, and nothing is changed or sent.

        Raises:
            ProblemError: `forbidden_admin`, `forbidden`, `directory_not_allowed`,
                `directory_missing`, those of every request, such as `unauthenticated`, `forbidden`,
                `rate_limited`.

        Example:
            client.import_skills(directory="skills")
        """
        return self._call(
            "POST",
            "/skills/import",
            body={"directory": directory, "dryRun": dry_run},
        )

    def check_skills(
        self,
        *,
        directory: str,
        targets: list[Literal["agent-skills", "claude-code", "claude-ai", "openclaw", "clawhub"]] = NOT_GIVEN,
        offset: int = NOT_GIVEN,
        limit: int = NOT_GIVEN,
    ) -> m.CheckSkillsReply:
        """Reads the skill files below a directory and checks them; nothing is stored.

        Needs the role `admin`.

        Args:
            directory: Directory, absolute or relative to the importer's first root.
            targets: Formats to check against; left out: all.
            offset: The number of entries to skip.
            limit: The most entries to return.

        Raises:
            ProblemError: `directory_not_allowed`, `directory_missing`, those of every request, such
                as `unauthenticated`, `forbidden`, `rate_limited`.

        Example:
            client.check_skills(directory="skills")
        """
        return self._call(
            "POST",
            "/skills/check",
            body={
                "directory": directory,
                "targets": targets,
                "offset": offset,
                "limit": limit,
            },
        )

    def list_withheld_skills(self) -> m.ListWithheldSkillsReply:
        """Lists the skills and agents that are stored and wait for a person's trust.

        Needs the role `viewer`.

        Raises:
            ProblemError: those of every request, such as `unauthenticated`, `forbidden`,
                `rate_limited`.

        Example:
            client.list_withheld_skills()
        """
        return self._call("GET", "/skills/withheld")

    def trust_skill(
        self,
        *,
        name: str,
        version: str,
        kind: Literal["skill", "agent"] = NOT_GIVEN,
        reason: str = NOT_GIVEN,
    ) -> m.TrustSkillReply:
        """Lists a withheld skill or agent; the trust holds for exactly this version from this
        source.

        Needs the role `admin`.

        Args:
            kind: The kind: a skill or an agent.
            name: Name of the skill or agent.
            version: The version that was reviewed; another one is refused.
            reason: Why; needed for a version that the scanner blocks.

        Raises:
            ProblemError: `forbidden_admin`, `forbidden`, `not_withheld`, `reason_missing`, those of
                every request, such as `unauthenticated`, `forbidden`, `rate_limited`.

        Example:
            client.trust_skill(name="reviewer", version="sha256:9f86d081884c7d659a2feaa0c55ad015a3bf4f1b2b0b822cd15d6c15b0f00a08")
        """
        return self._call(
            "POST",
            "/skills/trust",
            body={
                "kind": kind,
                "name": name,
                "version": version,
                "reason": reason,
            },
        )

    def get_skill_catalogue(
        self,
        *,
        context_window: int = NOT_GIVEN,
        budget_tokens: int = NOT_GIVEN,
        about: str = NOT_GIVEN,
        without: list[str] = NOT_GIVEN,
    ) -> m.GetSkillCatalogueReply:
        """Returns the list of skills for a system prompt, cut to its budget, and what was cut.

        Needs the role `viewer`.

        Args:
            context_window: Tokens of the model's window; a hundredth of it is the budget.
            budget_tokens: The most tokens of the list.
            about: A description of the work: skills that fit it least are left out first.
            without: Skills to leave out.

        Raises:
            ProblemError: those of every request, such as `unauthenticated`, `forbidden`,
                `rate_limited`.

        Example:
            client.get_skill_catalogue()
        """
        return self._call(
            "GET",
            "/skills/catalogue",
            query={
                "contextWindow": context_window,
                "budgetTokens": budget_tokens,
                "about": about,
                "without": without,
            },
        )

    def match_skills(
        self,
        *,
        text: str,
        limit: int = NOT_GIVEN,
        model_invocable_only: bool = NOT_GIVEN,
    ) -> m.MatchSkillsReply:
        """Finds the skills that fit a text, by BM25 over name, description and triggers.

        Needs the role `viewer`.

        Args:
            text: A description of the work.
            limit: The most entries to return.
            model_invocable_only: True: only skills that a model may activate.

        Raises:
            ProblemError: those of every request, such as `unauthenticated`, `forbidden`,
                `rate_limited`.

        Example:
            client.match_skills(text="It has three services and their tests.")
        """
        return self._call(
            "GET",
            "/skills/matches",
            query={
                "text": text,
                "limit": limit,
                "modelInvocableOnly": model_invocable_only,
            },
        )

    def list_skill_manifests(
        self,
        *,
        name: str = NOT_GIVEN,
        source: Literal["openclaw", "agent-skills"] = NOT_GIVEN,
        offset: int = NOT_GIVEN,
        limit: int = NOT_GIVEN,
    ) -> m.ListSkillManifestsReply:
        """Returns skills as a plugin registry shows them, with their slash commands.

        Needs the role `viewer`.

        Args:
            name: Only this skill; left out: a page of all, by name.
            source: The source.
            offset: The number of entries to skip.
            limit: The most entries to return.

        Raises:
            ProblemError: `unknown_skill`, those of every request, such as `unauthenticated`,
                `forbidden`, `rate_limited`.

        Example:
            client.list_skill_manifests()
        """
        return self._call(
            "GET",
            "/skills/manifests",
            query={
                "name": name,
                "source": source,
                "offset": offset,
                "limit": limit,
            },
        )

    def get_skill(
        self,
        name: str,
        *,
        digest: str = NOT_GIVEN,
        version: str = NOT_GIVEN,
    ) -> m.GetSkillReply:
        """Returns one skill with its body.

        Needs the role `viewer`. The answer has the version as its ETag.

        Args:
            name: Name of a skill: 1-64 characters of A-Z a-z 0-9 _ -.
            digest: Digest of a SKILL.md; left out: the listed one.
            version: A stored version; left out: the listed one.

        Raises:
            ProblemError: `unknown_skill`, `not_found`, those of every request, such as
                `unauthenticated`, `forbidden`, `rate_limited`.

        Example:
            client.get_skill("reviewer")
        """
        return self._call(
            "GET",
            "/skills/{name}",
            values={"name": name},
            query={"digest": digest, "version": version},
        )

    def remove_skill(self, name: str, *, if_match: str = NOT_GIVEN) -> m.SkillRemoved:
        """Removes an imported skill from the list; pinned runs can still read its versions.

        Needs the role `admin`.

        Args:
            name: Name of a skill: 1-64 characters of A-Z a-z 0-9 _ -.
            if_match: Version that was read; without it the newest one is changed.

        Raises:
            ProblemError: `forbidden_admin`, `forbidden`, `unknown_skill`, `not_found`,
                `managed_by_files`, `version_changed`, those of every request, such as
                `unauthenticated`, `forbidden`, `rate_limited`.

        Example:
            client.remove_skill("reviewer")
        """
        return self._call(
            "DELETE",
            "/skills/{name}",
            values={"name": name},
            if_match=if_match,
        )

    def list_skill_versions(self, name: str) -> m.ListSkillVersionsReply:
        """Lists the stored versions of a skill, the newest first.

        Needs the role `viewer`. The answer has the version as its ETag.

        Args:
            name: Name of a skill: 1-64 characters of A-Z a-z 0-9 _ -.

        Raises:
            ProblemError: `unknown_skill`, `not_found`, those of every request, such as
                `unauthenticated`, `forbidden`, `rate_limited`.

        Example:
            client.list_skill_versions("reviewer")
        """
        return self._call("GET", "/skills/{name}/versions", values={"name": name})

    def diff_skill(
        self,
        name: str,
        *,
        from_: str = NOT_GIVEN,
        to: str = NOT_GIVEN,
    ) -> m.DiffSkillReply:
        """Compares two versions of a skill: text, files, capabilities and findings.

        Needs the role `viewer`.

        Args:
            name: Name of a skill: 1-64 characters of A-Z a-z 0-9 _ -.
            from_: The older version; left out: the one before `to`.
            to: The newer version; left out: the newest.

        Raises:
            ProblemError: `unknown_skill`, `unknown_version`, `not_found`, those of every request,
                such as `unauthenticated`, `forbidden`, `rate_limited`.

        Example:
            client.diff_skill("reviewer")
        """
        return self._call(
            "GET",
            "/skills/{name}/diff",
            values={"name": name},
            query={"from": from_, "to": to},
        )

    def read_skill_file(
        self,
        name: str,
        *,
        path: str,
        version: str = NOT_GIVEN,
        offset: int = NOT_GIVEN,
        limit: int = NOT_GIVEN,
    ) -> m.ReadSkillFileReply:
        """Reads a file of a skill's version, or a part of it.

        Needs the role `viewer`.

        Args:
            name: Name of a skill: 1-64 characters of A-Z a-z 0-9 _ -.
            version: A version or the digest of its SKILL.md; left out: the current one.
            path: Path relative to the directory, with `/`.
            offset: First byte to read.
            limit: The most bytes to read.

        Raises:
            ProblemError: `unknown_skill`, `unknown_file`, `not_found`, those of every request, such
                as `unauthenticated`, `forbidden`, `rate_limited`.

        Example:
            client.read_skill_file("reviewer", path="scripts/check.sh")
        """
        return self._call(
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

    def render_skill(
        self,
        name: str,
        *,
        digest: str = NOT_GIVEN,
        arguments: str = NOT_GIVEN,
        session_id: str = NOT_GIVEN,
        raw: bool = NOT_GIVEN,
    ) -> m.SkillInstructions:
        """Renders a skill for a prompt: substitutions done, size cut, wrapped.

        Needs the role `viewer`.

        Args:
            name: Name of a skill: 1-64 characters of A-Z a-z 0-9 _ -.
            digest: SHA-256 digest that names exactly this version.
            arguments: The argument line as typed.
            session_id: Id of the session; a reset gives the session another one.
            raw: Arguments as the model writes them, in place of `with`.

        Raises:
            ProblemError: `unknown_skill`, `not_found`, those of every request, such as
                `unauthenticated`, `forbidden`, `rate_limited`.

        Example:
            client.render_skill("reviewer")
        """
        return self._call(
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

    def rollback_skill(
        self,
        name: str,
        *,
        version: str = NOT_GIVEN,
        if_match: str = NOT_GIVEN,
    ) -> m.RollbackSkillReply:
        """Makes an older version of an imported skill the current one.

        Needs the role `admin`. The answer has the version as its ETag.

        Args:
            name: Name of a skill: 1-64 characters of A-Z a-z 0-9 _ -.
            version: The version to list again.
            if_match: Version that was read; without it the newest one is changed.

        Raises:
            ProblemError: `forbidden_admin`, `forbidden`, `unknown_skill`, `unknown_version`,
                `not_found`, `managed_by_files`, `version_blocked`, `version_changed`, those of
                every request, such as `unauthenticated`, `forbidden`, `rate_limited`.

        Example:
            client.rollback_skill("reviewer")
        """
        return self._call(
            "POST",
            "/skills/{name}/rollback",
            values={"name": name},
            body={"version": version},
            if_match=if_match,
        )

    def list_openclaw_skills(self) -> m.Skills:
        """Lists the imported skills.

        Needs the role `viewer`.

        Raises:
            ProblemError: those of every request, such as `unauthenticated`, `forbidden`,
                `rate_limited`.

        Example:
            client.list_openclaw_skills()
        """
        return self._call("GET", "/openclaw/skills")

    def import_openclaw_skills(self, *, path: str, dry_run: bool = NOT_GIVEN) -> m.SkillsImported:
        """Imports the skills and agents below a directory on one of the importer's allowed roots.

        Needs the role `admin`.

        Args:
            path: Directory, absolute or relative to the importer's first root.
            dry_run: True: everything is checked, and nothing is changed or sent.

        Raises:
            ProblemError: `IMPORT_ERROR`, `invalid_request`, `malformed_json`, `json_too_complex`,
                `forbidden_admin`, `forbidden`, those of every request, such as `unauthenticated`,
                `forbidden`, `rate_limited`.

        Example:
            client.import_openclaw_skills(path="skills")
        """
        return self._call(
            "POST",
            "/openclaw/import",
            body={"path": path, "dryRun": dry_run},
        )

    def import_openclaw_directory(self, *, dir_path: str, dry_run: bool = NOT_GIVEN) -> m.SkillsImported:
        """Imports the skills and agents below a directory on one of the importer's allowed roots.

        Needs the role `admin`.

        Args:
            dir_path: Directory, absolute or relative to the importer's first root.
            dry_run: True: everything is checked, and nothing is changed or sent.

        Raises:
            ProblemError: `IMPORT_ERROR`, `invalid_request`, `malformed_json`, `json_too_complex`,
                `forbidden_admin`, `forbidden`, those of every request, such as `unauthenticated`,
                `forbidden`, `rate_limited`.

        Example:
            client.import_openclaw_directory(dir_path="skills")
        """
        return self._call(
            "POST",
            "/openclaw/import-directory",
            body={"dirPath": dir_path, "dryRun": dry_run},
        )

    def render_openclaw_skill(
        self,
        id: str,
        *,
        digest: str = NOT_GIVEN,
        arguments: str = NOT_GIVEN,
        session_id: str = NOT_GIVEN,
        raw: bool = NOT_GIVEN,
    ) -> m.SkillInstructions:
        """Renders a skill for a prompt: substitutions done, size cut, wrapped.

        Needs the role `viewer`.

        Args:
            id: Name of a skill: 1-64 characters of A-Z a-z 0-9 _ -.
            digest: SHA-256 digest that names exactly this version.
            arguments: The argument line as typed.
            session_id: Id of the session; a reset gives the session another one.
            raw: Arguments as the model writes them, in place of `with`.

        Raises:
            ProblemError: `NOT_FOUND`, `not_found`, those of every request, such as
                `unauthenticated`, `forbidden`, `rate_limited`.

        Example:
            client.render_openclaw_skill("reviewer")
        """
        return self._call(
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

    def remove_openclaw_skill(self, id: str, *, if_match: str = NOT_GIVEN) -> m.SkillRemoved:
        """Removes an imported skill from the list; pinned runs can still read its versions.

        Needs the role `admin`.

        Args:
            id: Name of a skill: 1-64 characters of A-Z a-z 0-9 _ -.
            if_match: Version that was read; without it the newest one is changed.

        Raises:
            ProblemError: `forbidden_admin`, `forbidden`, `NOT_FOUND`, `not_found`,
                `managed_by_files`, `version_changed`, those of every request, such as
                `unauthenticated`, `forbidden`, `rate_limited`.

        Example:
            client.remove_openclaw_skill("reviewer")
        """
        return self._call(
            "DELETE",
            "/openclaw/skills/{id}",
            values={"id": id},
            if_match=if_match,
        )

    def list_agents(self) -> m.ListAgentsReply:
        """Lists the agent definitions.

        Needs the role `viewer`.

        Raises:
            ProblemError: those of every request, such as `unauthenticated`, `forbidden`,
                `rate_limited`.

        Example:
            client.list_agents()
        """
        return self._call("GET", "/agents")

    def upload_agents(
        self,
        *,
        label: str,
        files: list[m.SentFile],
        dry_run: bool = NOT_GIVEN,
        git: m.GitCheckout | None = NOT_GIVEN,
        with_reports: bool = NOT_GIVEN,
        import_id: str = NOT_GIVEN,
    ) -> m.AgentsUploaded:
        """Imports agents whose files the caller sends.

        Needs the role `operator`.

        Args:
            label: The sender's name for the source.
            dry_run: True: everything is checked, and nothing is changed or sent.
            git: The git checkout that contained the files; null without one.
            with_reports: True: with the scanner's whole report.
            import_id: Joins the parts of one import; the first definition of a name counts.
            files: Agent files in Markdown.

        Raises:
            ProblemError: `forbidden_admin`, `forbidden`, `upload_too_large`, `payload_too_large`,
                those of every request, such as `unauthenticated`, `forbidden`, `rate_limited`.

        Example:
            client.upload_agents(label="Planning", files=[{"path": "scripts/check.sh"}])
        """
        return self._call(
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

    def unpack_agents(
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
        """Imports the agents in a zip or tar.gz that the caller sends.

        Needs the role `operator`.

        Args:
            label: The sender's name for the source.
            dry_run: True: everything is checked, and nothing is changed or sent.
            git: The git checkout that contained the files; null without one.
            with_reports: True: with the scanner's whole report.
            import_id: Joins the parts of one import; the first definition of a name counts.
            format: Format of the archive.
            content: The bytes.

        Raises:
            ProblemError: `forbidden_admin`, `forbidden`, `archive_refused`, those of every request,
                such as `unauthenticated`, `forbidden`, `rate_limited`.

        Example:
            client.unpack_agents(content=Path("file").read_bytes())
        """
        return self._call(
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

    def check_agents(self, *, files: list[m.CheckAgentsFiles]) -> m.CheckAgentsReply:
        """Reads agent files that the caller sends and checks them; nothing is stored.

        Needs the role `operator`.

        Args:
            files: Agent files in Markdown.

        Raises:
            ProblemError: those of every request, such as `unauthenticated`, `forbidden`,
                `rate_limited`.

        Example:
            client.check_agents(files=[{"file": "skills/code-review/SKILL.md", "text": "---\\nname: reviewer\\ndescription: Reviews changes\\n---\\nYou review changes.\\n"}])
        """
        return self._call("POST", "/agents/check", body={"files": files})

    def get_agent(
        self,
        name: str,
        *,
        digest: str = NOT_GIVEN,
        version: str = NOT_GIVEN,
    ) -> m.GetAgentReply:
        """Returns one agent definition, by name or by the digest a run is pinned to.

        Needs the role `viewer`. The answer has the version as its ETag.

        Args:
            name: Name of an agent: 1-64 characters of A-Z a-z 0-9 _ -.
            digest: Digest of the agent's file; left out: the listed one.
            version: A stored version; left out: the listed one.

        Raises:
            ProblemError: `unknown_agent`, `not_found`, those of every request, such as
                `unauthenticated`, `forbidden`, `rate_limited`.

        Example:
            client.get_agent("reviewer")
        """
        return self._call(
            "GET",
            "/agents/{name}",
            values={"name": name},
            query={"digest": digest, "version": version},
        )

    def remove_agent(self, name: str, *, if_match: str = NOT_GIVEN) -> m.RemoveAgentReply:
        """Removes an imported agent from the list; pinned runs can still read its versions.

        Needs the role `admin`.

        Args:
            name: Name of an agent: 1-64 characters of A-Z a-z 0-9 _ -.
            if_match: Version that was read; without it the newest one is changed.

        Raises:
            ProblemError: `forbidden_admin`, `forbidden`, `unknown_agent`, `not_found`,
                `managed_by_files`, `built_in_agent`, `version_changed`, those of every request,
                such as `unauthenticated`, `forbidden`, `rate_limited`.

        Example:
            client.remove_agent("reviewer")
        """
        return self._call(
            "DELETE",
            "/agents/{name}",
            values={"name": name},
            if_match=if_match,
        )

    def list_agent_versions(self, name: str) -> m.ListAgentVersionsReply:
        """Lists the stored versions of an agent, the newest first; one that is built in has none.

        Needs the role `viewer`. The answer has the version as its ETag.

        Args:
            name: Name of an agent: 1-64 characters of A-Z a-z 0-9 _ -.

        Raises:
            ProblemError: `unknown_agent`, `not_found`, those of every request, such as
                `unauthenticated`, `forbidden`, `rate_limited`.

        Example:
            client.list_agent_versions("reviewer")
        """
        return self._call("GET", "/agents/{name}/versions", values={"name": name})

    def diff_agent(
        self,
        name: str,
        *,
        from_: str = NOT_GIVEN,
        to: str = NOT_GIVEN,
    ) -> m.DiffAgentReply:
        """Compares two versions of an agent: text, capabilities and findings.

        Needs the role `viewer`.

        Args:
            name: Name of an agent: 1-64 characters of A-Z a-z 0-9 _ -.
            from_: The older version; left out: the one before `to`.
            to: The newer version; left out: the newest.

        Raises:
            ProblemError: `unknown_agent`, `unknown_version`, `not_found`, those of every request,
                such as `unauthenticated`, `forbidden`, `rate_limited`.

        Example:
            client.diff_agent("reviewer")
        """
        return self._call(
            "GET",
            "/agents/{name}/diff",
            values={"name": name},
            query={"from": from_, "to": to},
        )

    def list_memories(self, name: str, *, search: str = NOT_GIVEN) -> m.ListMemoriesReply:
        """Lists what an agent stored in its memory for the caller.

        Needs the role `viewer`.

        Args:
            name: Name of the agent.
            search: A part of the key, the label or the title, in any case.

        Raises:
            ProblemError: those of every request, such as `unauthenticated`, `forbidden`,
                `rate_limited`.

        Example:
            client.list_memories("reviewer")
        """
        return self._call(
            "GET",
            "/agents/{name}/memories",
            values={"name": name},
            query={"search": search},
        )

    def rollback_agent(
        self,
        name: str,
        *,
        digest: str = NOT_GIVEN,
        if_match: str = NOT_GIVEN,
    ) -> m.RollbackAgentReply:
        """Makes an older version of an imported agent the current one.

        Needs the role `admin`. The answer has the version as its ETag.

        Args:
            name: Name of an agent: 1-64 characters of A-Z a-z 0-9 _ -.
            digest: The version to list again.
            if_match: Version that was read; without it the newest one is changed.

        Raises:
            ProblemError: `forbidden_admin`, `forbidden`, `unknown_agent`, `unknown_version`,
                `not_found`, `managed_by_files`, `version_blocked`, `version_changed`, those of
                every request, such as `unauthenticated`, `forbidden`, `rate_limited`.

        Example:
            client.rollback_agent("reviewer")
        """
        return self._call(
            "POST",
            "/agents/{name}/rollback",
            values={"name": name},
            body={"digest": digest},
            if_match=if_match,
        )

    def explain_policy(
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
        """Shows rule by rule how the policy decides about a tool call; it permits nothing.

        Needs the role `viewer`.

        Args:
            user: The NATS user that it is about.
            agent: The agent; left out: the user calls the tool without one.
            roles: The roles, each once.
            context: The origin of the run.
            approval: The least approval that each call needs from people.
            tool_layers: Tool patterns of the run's token, such as the agent's `tools`.
            server: Facts about the tool's server; left out: those that its provider sent last.
            run_id: A run whose counts and labels are shown.
            tool: The tool: its canonical name, its server and its name there.
            args: Arguments to explain the decision with.

        Raises:
            ProblemError: those of every request, such as `unauthenticated`, `forbidden`,
                `rate_limited`.

        Example:
            client.explain_policy(user="team-a", tool={"name": "mcp__files__read_text_file", "server": "files", "tool": "read_text_file"}, args={"path": "README.md"})
        """
        return self._call(
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

    def validate_policy(
        self,
        *,
        bundle_text: str = NOT_GIVEN,
        tests_text: str = NOT_GIVEN,
        files: list[m.PolicyTextFile] = NOT_GIVEN,
    ) -> m.ValidatePolicyReply:
        """Checks a policy text, runs its tests and lints it; changes nothing.

        Needs the role `viewer`.

        Args:
            bundle_text: YAML of the rules to check; left out: those in force.
            tests_text: YAML of the tests; left out: those in force.
            files: Files of a bundle with its tests, in place of the two texts.

        Raises:
            ProblemError: `overloaded`, `rate_limited`, those of every request, such as
                `unauthenticated`, `forbidden`, `rate_limited`.

        Example:
            client.validate_policy()
        """
        return self._call(
            "POST",
            "/policy/validate",
            body={
                "bundleText": bundle_text,
                "testsText": tests_text,
                "files": files,
            },
        )

    def replay_decisions(
        self,
        *,
        decisions: list[m.ReplayDecisionsDecisions],
        files: list[m.PolicyTextFile] = NOT_GIVEN,
    ) -> m.ReplayDecisionsReply:
        """Evaluates a policy text on recorded decisions; changes nothing.

        Needs the role `admin`.

        Args:
            files: Files of a bundle; left out: the rules in force.
            decisions: Recorded decisions to evaluate again.

        Raises:
            ProblemError: `too_costly`, `overloaded`, `rate_limited`, those of every request, such
                as `unauthenticated`, `forbidden`, `rate_limited`.

        Example:
            client.replay_decisions(decisions=[{"principal": {"user": "team-a", "agent": "reviewer", "runId": "team-a~report-7"}, "access": "tool", "tool": {"name": "mcp__files__read_text_file", "server": "files", "tool": "read_text_file"}}])
        """
        return self._call(
            "POST",
            "/policy/replay",
            body={"files": files, "decisions": decisions},
        )

    def find_who_can_call(self, *, tool: m.ToolRef, labels: list[str] = NOT_GIVEN) -> m.FindWhoCanCallReply:
        """Returns who may call a tool: principals, rules that allow it, and exceptions.

        Needs the role `viewer`.

        Args:
            tool: The tool: its canonical name, its server and its name there.
            labels: Labels of the tool's server.

        Raises:
            ProblemError: those of every request, such as `unauthenticated`, `forbidden`,
                `rate_limited`.

        Example:
            client.find_who_can_call(tool={"name": "mcp__files__read_text_file", "server": "files", "tool": "read_text_file"})
        """
        return self._call(
            "POST",
            "/policy/who-can",
            body={"tool": tool, "labels": labels},
        )

    def list_policy_rules(self, *, after: str = NOT_GIVEN, limit: int = NOT_GIVEN) -> m.ListPolicyRulesReply:
        """Lists the rules in force in words, in the order of their ids.

        Needs the role `viewer`.

        Args:
            after: Returns the rules behind the rule of this id.
            limit: The most entries to return.

        Raises:
            ProblemError: those of every request, such as `unauthenticated`, `forbidden`,
                `rate_limited`.

        Example:
            client.list_policy_rules()
        """
        return self._call(
            "GET",
            "/policy/rules",
            query={"after": after, "limit": limit},
        )

    def list_policy_versions(self) -> m.ListPolicyVersionsReply:
        """Lists the bundles that were in force, the newest first.

        Needs the role `viewer`. The answer has the version as its ETag.

        Raises:
            ProblemError: those of every request, such as `unauthenticated`, `forbidden`,
                `rate_limited`.

        Example:
            client.list_policy_versions()
        """
        return self._call("GET", "/policy/versions")

    def read_policy_texts(self) -> m.ReadPolicyTextsReply:
        """Returns the files of the rules in force and of their tests; for policy admins.

        Needs the role `admin`. The answer has the version as its ETag.

        Raises:
            ProblemError: `forbidden_admin`, `forbidden`, those of every request, such as
                `unauthenticated`, `forbidden`, `rate_limited`.

        Example:
            client.read_policy_texts()
        """
        return self._call("GET", "/policy/texts")

    def activate_policy(
        self,
        *,
        files: list[m.PolicyTextFile] = NOT_GIVEN,
        version: int = NOT_GIVEN,
        follow_files: Literal[True] = NOT_GIVEN,
        note: str = NOT_GIVEN,
        if_match: str = NOT_GIVEN,
    ) -> m.PolicyActivated:
        """Checks a bundle with its tests and brings it into force on every replica; for policy
        admins.

        Needs the role `admin`. The answer has the version as its ETag.

        Args:
            files: Files of the bundle with its tests. Give exactly one of `files`, `version`,
                `followFiles`.
            version: A version that was in force before.
            follow_files: True: the files on disk, and every change of them.
            note: A remark for people, one line.
            if_match: Version that was read; without it the newest one is changed.

        Raises:
            ProblemError: `bad_request_choice`, `invalid_request`, `malformed_json`,
                `json_too_complex`, `forbidden_admin`, `forbidden`, `unknown_version`, `refused`,
                `version_changed`, `overloaded`, `rate_limited`, those of every request, such as
                `unauthenticated`, `forbidden`, `rate_limited`.

        Example:
            client.activate_policy()
        """
        return self._call(
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

    def rollback_policy(self, *, note: str = NOT_GIVEN, if_match: str = NOT_GIVEN) -> m.PolicyActivated:
        """Activates the bundle that was in force before the current one; for policy admins.

        Needs the role `admin`. The answer has the version as its ETag.

        Args:
            note: A remark for people, one line.
            if_match: Version that was read; without it the newest one is changed.

        Raises:
            ProblemError: `forbidden_admin`, `forbidden`, `unknown_version`, `refused`,
                `version_changed`, `overloaded`, `rate_limited`, those of every request, such as
                `unauthenticated`, `forbidden`, `rate_limited`.

        Example:
            client.rollback_policy()
        """
        return self._call(
            "POST",
            "/policy/rollback",
            body={"note": note},
            if_match=if_match,
        )

    def list_stops(self) -> m.ListStopsReply:
        """Lists the stops: all for services and policy admins, for others those that could stop
        their own calls.

        Needs the role `viewer`.

        Raises:
            ProblemError: those of every request, such as `unauthenticated`, `forbidden`,
                `rate_limited`.

        Example:
            client.list_stops()
        """
        return self._call("GET", "/policy/stops")

    def stop_calls(self, *, scope: m.StopScope, reason: str) -> m.StopCallsReply:
        """Denies every call of an agent, run, user or server, or all calls, within a second; for
        policy admins.

        Needs the role `admin`.

        Args:
            scope: The scope.
            reason: Why, in words for people.

        Raises:
            ProblemError: `forbidden_admin`, `forbidden`, `too_many`, `overloaded`, `rate_limited`,
                those of every request, such as `unauthenticated`, `forbidden`, `rate_limited`.

        Example:
            client.stop_calls(scope={"kind": "all"}, reason="the rule team-a-reads allows it")
        """
        return self._call(
            "POST",
            "/policy/stops",
            body={"scope": scope, "reason": reason},
        )

    def resume_calls(self, *, scope: m.StopScope) -> m.ResumeCallsReply:
        """Ends a stop; for policy admins.

        Needs the role `admin`.

        Args:
            scope: The scope.

        Raises:
            ProblemError: `forbidden_admin`, `forbidden`, those of every request, such as
                `unauthenticated`, `forbidden`, `rate_limited`.

        Example:
            client.resume_calls(scope={"kind": "all"})
        """
        return self._call("POST", "/policy/stops/resume", body={"scope": scope})

    def list_token_keys(self) -> m.ListTokenKeysReply:
        """Lists the keys of run tokens as the replica that answers has them, the newest first.

        Needs the role `viewer`.

        Raises:
            ProblemError: those of every request, such as `unauthenticated`, `forbidden`,
                `rate_limited`.

        Example:
            client.list_token_keys()
        """
        return self._call("GET", "/policy/token-keys")

    def list_audit(
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
        """Reads records of the audit, for policy admins.

        Needs the role `admin`.

        Args:
            since: Only what happened at this time or later.
            until: Only what happened before this time.
            kind: Kind of the records, such as `decision` or `execution`.
            user: The NATS user that it is about.
            run_id: Id of the run. The owner's part before `~` may be left out for a run of the
                caller.
            tool: A part of the tool's name.
            reads: False: without the reads of admins that succeeded, such as those of the console's
                own pages, and without seals unless `kind` is `seal`.
            order: The order of the entries.
            cursor: `next` of the page before; left out: the first page.
            limit: The most entries to return.

        Raises:
            ProblemError: `forbidden_admin`, `forbidden`, those of every request, such as
                `unauthenticated`, `forbidden`, `rate_limited`.

        Example:
            client.list_audit()
        """
        return self._call(
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

    def verify_audit(self, *, since: m.Timestamp = NOT_GIVEN) -> m.VerifyAuditReply:
        """Checks that nothing of the audit is missing or changed, and that every call was allowed.

        Needs the role `admin`.

        Args:
            since: Begin of the check; left out: the oldest record.

        Raises:
            ProblemError: `forbidden_admin`, `forbidden`, `audit_busy`, those of every request, such
                as `unauthenticated`, `forbidden`, `rate_limited`.

        Example:
            client.verify_audit()
        """
        return self._call("GET", "/audit/verify", query={"since": since})

    def list_user_keys(self) -> m.ListUserKeysReply:
        """Lists the API keys without their secrets; for policy admins.

        Needs the role `admin`.

        Raises:
            ProblemError: `forbidden_admin`, `forbidden`, those of every request, such as
                `unauthenticated`, `forbidden`, `rate_limited`.

        Example:
            client.list_user_keys()
        """
        return self._call("GET", "/keys")

    def create_user_key(
        self,
        *,
        caller: str,
        roles: list[Literal["viewer", "operator", "approver", "admin"]],
        scopes: list[str] = NOT_GIVEN,
        note: str = NOT_GIVEN,
        ttl_seconds: int = NOT_GIVEN,
    ) -> m.NewUserKey:
        """Creates an API key for a person or program; for policy admins.

        Needs the role `admin`.

        Args:
            caller: The NATS user that a credential or a subject stands for.
            roles: The roles, each once.
            scopes: Names or patterns of the permitted operations; missing means all that the roles
                allow.
            note: A remark for people, one line.
            ttl_seconds: Lifetime in seconds; left out: until it is revoked.

        Raises:
            ProblemError: `forbidden_admin`, `forbidden`, `reserved_caller`, `too_many`,
                `overloaded`, `rate_limited`, those of every request, such as `unauthenticated`,
                `forbidden`, `rate_limited`.

        Example:
            client.create_user_key(caller="team-a", roles=["viewer"])
        """
        return self._call(
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

    def rotate_user_key(
        self,
        id: str,
        *,
        overlap_seconds: int = NOT_GIVEN,
        ttl_seconds: int = NOT_GIVEN,
    ) -> m.NewUserKey:
        """Creates a key with the rights of another one, which ends after the overlap.

        Needs the role `admin`.

        Args:
            id: Id of the API key to replace.
            overlap_seconds: The time for which the old key stays valid, in seconds.
            ttl_seconds: Lifetime of the new key in seconds; left out: until it is revoked.

        Raises:
            ProblemError: `forbidden_admin`, `forbidden`, `unknown_key`, `not_found`, `too_many`,
                `overloaded`, `rate_limited`, those of every request, such as `unauthenticated`,
                `forbidden`, `rate_limited`.

        Example:
            client.rotate_user_key("key-0123456789abcdef")
        """
        return self._call(
            "POST",
            "/keys/{id}/rotate",
            values={"id": id},
            body={
                "overlapSeconds": overlap_seconds,
                "ttlSeconds": ttl_seconds,
            },
        )

    def revoke_user_key(self, id: str) -> m.RevokeUserKeyReply:
        """Ends an API key at once; for policy admins.

        Needs the role `admin`.

        Args:
            id: Id of the API key.

        Raises:
            ProblemError: `forbidden_admin`, `forbidden`, `unknown_key`, `not_found`, those of every
                request, such as `unauthenticated`, `forbidden`, `rate_limited`.

        Example:
            client.revoke_user_key("key-0123456789abcdef")
        """
        return self._call("DELETE", "/keys/{id}", values={"id": id})

    def list_user_sessions(self, *, user: str = NOT_GIVEN) -> m.ListUserSessionsReply:
        """Lists the caller's browser sessions; for policy admins those of any user.

        Needs the role `viewer`.

        Args:
            user: The NATS user that it is about.

        Raises:
            ProblemError: `forbidden_admin`, `forbidden`, those of every request, such as
                `unauthenticated`, `forbidden`, `rate_limited`.

        Example:
            client.list_user_sessions()
        """
        return self._call("GET", "/user-sessions", query={"user": user})

    def revoke_user_session(self, id: str) -> m.RevokeUserSessionReply:
        """Ends a browser session of the caller at once; for policy admins one of any user.

        Needs the role `viewer`.

        Args:
            id: Id of the browser's session.

        Raises:
            ProblemError: `unknown_session`, `not_found`, those of every request, such as
                `unauthenticated`, `forbidden`, `rate_limited`.

        Example:
            client.revoke_user_session("ses-0123456789abcdef")
        """
        return self._call("DELETE", "/user-sessions/{id}", values={"id": id})

    def list_webhooks(self) -> m.ListWebhooksReply:
        """Lists the caller's webhooks.

        Needs the role `viewer`.

        Raises:
            ProblemError: those of every request, such as `unauthenticated`, `forbidden`,
                `rate_limited`.

        Example:
            client.list_webhooks()
        """
        return self._call("GET", "/webhooks")

    def create_webhook(
        self,
        *,
        url: str,
        events: list[str],
        agent: str = NOT_GIVEN,
    ) -> m.CreateWebhookReply:
        """Sends the caller's own events to a URL, signed as a Standard Webhook; only this reply has
        the secret.

        Needs the role `operator`. The answer has the version as its ETag.

        Args:
            url: The URL that events are sent to: http or https.
            events: Names or patterns of events, such as `run.finished` or `run.*`.
            agent: Only events of runs of this agent.

        Raises:
            ProblemError: `invalid_target`, `invalid_request`, `malformed_json`, `json_too_complex`,
                `too_many_webhooks`, `webhook_key_missing`, those of every request, such as
                `unauthenticated`, `forbidden`, `rate_limited`.

        Example:
            client.create_webhook(url="https://example.com/hooks/switchyard", events=["run.finished"])
        """
        return self._call(
            "POST",
            "/webhooks",
            body={"url": url, "events": events, "agent": agent},
        )

    def get_webhook(self, id: str) -> m.GetWebhookReply:
        """Returns one webhook of the caller, with its pending and its failed deliveries.

        Needs the role `viewer`. The answer has the version as its ETag.

        Args:
            id: Id of the webhook.

        Raises:
            ProblemError: `unknown_webhook`, `not_found`, those of every request, such as
                `unauthenticated`, `forbidden`, `rate_limited`.

        Example:
            client.get_webhook("42")
        """
        return self._call("GET", "/webhooks/{id}", values={"id": id})

    def update_webhook(
        self,
        id: str,
        *,
        url: str = NOT_GIVEN,
        events: list[str] = NOT_GIVEN,
        agent: str | None = NOT_GIVEN,
        if_match: str = NOT_GIVEN,
    ) -> m.UpdateWebhookReply:
        """Changes the URL or the events of a webhook. Its secret stays, and pending deliveries go
        to the new URL.

        Needs the role `operator`. The answer has the version as its ETag.

        Args:
            id: Id of the webhook.
            url: The URL that events are sent to: http or https.
            events: Names or patterns of events, such as `run.finished` or `run.*`.
            agent: Only events of runs of this agent; null: of all.
            if_match: Version that was read; without it the newest one is changed.

        Raises:
            ProblemError: `invalid_target`, `invalid_request`, `malformed_json`, `json_too_complex`,
                `unknown_webhook`, `not_found`, `version_changed`, those of every request, such as
                `unauthenticated`, `forbidden`, `rate_limited`.

        Example:
            client.update_webhook("42")
        """
        return self._call(
            "PATCH",
            "/webhooks/{id}",
            values={"id": id},
            body={"url": url, "events": events, "agent": agent},
            if_match=if_match,
        )

    def remove_webhook(self, id: str) -> m.RemoveWebhookReply:
        """Removes a webhook of the caller with its pending deliveries.

        Needs the role `operator`.

        Args:
            id: Id of the webhook.

        Raises:
            ProblemError: `unknown_webhook`, `not_found`, those of every request, such as
                `unauthenticated`, `forbidden`, `rate_limited`.

        Example:
            client.remove_webhook("whk-0123456789abcdef")
        """
        return self._call("DELETE", "/webhooks/{id}", values={"id": id})

    def redeliver_webhook(self, id: str, *, delivery_id: str = NOT_GIVEN) -> m.RedeliverWebhookReply:
        """Sends failed deliveries again, one or all, and enables the webhook.

        Needs the role `operator`.

        Args:
            id: Id of the webhook.
            delivery_id: The `webhook-id` that the receiver got; left out in a request: all.

        Raises:
            ProblemError: `unknown_webhook`, `unknown_delivery`, `not_found`, those of every
                request, such as `unauthenticated`, `forbidden`, `rate_limited`.

        Example:
            client.redeliver_webhook("42")
        """
        return self._call(
            "POST",
            "/webhooks/{id}/redeliver",
            values={"id": id},
            body={"deliveryId": delivery_id},
        )

    def list_hooks(self) -> m.ListHooksReply:
        """Lists the hooks of hooks.json, by which programs elsewhere start runs.

        Needs the role `admin`.

        Raises:
            ProblemError: those of every request, such as `unauthenticated`, `forbidden`,
                `rate_limited`.

        Example:
            client.list_hooks()
        """
        return self._call("GET", "/hooks")

    def get_push(self) -> m.GetPushReply:
        """Returns the key with which a browser subscribes to web push; null where there is none.

        Needs the role `viewer`.

        Raises:
            ProblemError: those of every request, such as `unauthenticated`, `forbidden`,
                `rate_limited`.

        Example:
            client.get_push()
        """
        return self._call("GET", "/push")

    def set_push(
        self,
        *,
        endpoint: str,
        keys: m.SetPushKeys,
        public_key: str,
    ) -> m.SetPushReply:
        """Notifies the browser of this session by web push, until the session ends.

        Needs the role `viewer`.

        Args:
            endpoint: The browser's address at the push service of its maker.
            keys: The keys of the browser's subscription.
            public_key: The key with which the browser subscribed, of `GET /push`.

        Raises:
            ProblemError: `invalid_subscription`, `invalid_request`, `malformed_json`,
                `json_too_complex`, `session_required`, `forbidden`, `push_disabled`, those of every
                request, such as `unauthenticated`, `forbidden`, `rate_limited`.

        Example:
            client.set_push(endpoint="https://updates.push.services.mozilla.com/wpush/v2/gAAAA", keys={"p256dh": "BCVxsr7N_eNgVRqvHtD0zTZsEc6-VV-JvLexhqUzORcxaOzi6-AYWXvTBHm4bjyPjs7Vd8pZGH6SRpkNtoIAiw4", "auth": "kkkkkkkkkkkkkkkkkkkkkQ"}, public_key="BCVxsr7N_eNgVRqvHtD0zTZsEc6-VV-JvLexhqUzORcxaOzi6-AYWXvTBHm4bjyPjs7Vd8pZGH6SRpkNtoIAiw4")
        """
        return self._call(
            "PUT",
            "/push",
            body={"endpoint": endpoint, "keys": keys, "publicKey": public_key},
        )

    def remove_push(self) -> m.RemovePushReply:
        """Notifies the browser of this session no more.

        Needs the role `viewer`.

        Raises:
            ProblemError: `session_required`, `forbidden`, those of every request, such as
                `unauthenticated`, `forbidden`, `rate_limited`.

        Example:
            client.remove_push()
        """
        return self._call("DELETE", "/push")

    def list_models(self) -> m.ListModelsReply:
        """Lists the configured model providers and the default model.

        Needs the role `viewer`.

        Raises:
            ProblemError: those of every request, such as `unauthenticated`, `forbidden`,
                `rate_limited`.

        Example:
            client.list_models()
        """
        return self._call("GET", "/models")

    def get_system(self) -> m.GetSystemReply:
        """Lists the services that answer, and the lengths of streams and queues.

        Each replica of a service is listed by itself.

        Raises:
            ProblemError: those of every request, such as `unauthenticated`, `forbidden`,
                `rate_limited`.

        Example:
            client.get_system()
        """
        return self._call("GET", "/system")

    def get_me(self) -> m.GetMeReply:
        """Returns the user of the credential, and what it may do.

        A user interface shows the operations in `may` alone.

        Raises:
            ProblemError: those of every request, such as `unauthenticated`, `forbidden`,
                `rate_limited`.

        Example:
            client.get_me()
        """
        return self._call("GET", "/me")
