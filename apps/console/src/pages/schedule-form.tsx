import type { ScheduleJob } from "@switchyard/client/operations";
import { useState } from "preact/hooks";
import { act, useResource } from "../core/resource.ts";
import { navigate } from "../core/router.ts";
import { client, may } from "../core/session.ts";
import { Dialog } from "../ui/dialog.tsx";
import type { FormSchema } from "../ui/form-schema.ts";
import { SchemaForm } from "../ui/schema-form.tsx";
import { fieldsOfJob, jobOfFields, type JobFields } from "./schedule-fields.ts";

/** Adds a job, or changes one. */
export function JobForm({ job, onClose }: { job?: ScheduleJob; onClose: () => void }) {
  const agents = useResource("GET /agents", may("GET /agents") ? {} : null);
  const [fields, setFields] = useState<JobFields>(() => fieldsOfJob(job));
  const names = agents.data?.agents.map(({ name }) => name) ?? [];
  const save = async (event: SubmitEvent): Promise<void> => {
    event.preventDefault();
    const given = jobOfFields(fields, job);
    if (job === undefined) {
      await act("The job is added", async () => {
        const added = await client.request("POST /schedules", { body: { job: given } });
        onClose();
        navigate(`/schedules/${added.job.id}`);
      });
      return;
    }
    const { schedule, ...rest } = given;
    // A due time that has come is kept when the schedule is not sent.
    const isMoved = JSON.stringify(schedule) !== JSON.stringify(job.schedule);
    const body = { ...rest, ...(isMoved && { schedule }) };
    const isDone = await act("The job is changed", () =>
      client.request("PATCH /schedules/{jobId}", { path: { jobId: job.id }, body }),
    );
    if (isDone) onClose();
  };
  return (
    <Dialog
      title={job === undefined ? "Add a job" : `Change ${job.name}`}
      onClose={onClose}
      testId="job-form"
    >
      <form onSubmit={(event) => void save(event)}>
        <SchemaForm
          schema={schemaFor(fields, names)}
          value={{ ...fields }}
          onChange={(value) => setFields(value as unknown as JobFields)}
        />
        <div class="actions end">
          <button type="button" class="button" onClick={onClose}>
            Cancel
          </button>
          <button class="button primary" data-testid="save-job">
            {job === undefined ? "Add the job" : "Change it"}
          </button>
        </div>
      </form>
    </Dialog>
  );
}

/** The fields that go with what is chosen already. */
function schemaFor({ when, where }: JobFields, agents: readonly string[]): FormSchema {
  const text = { type: "string" } as const;
  return {
    type: "object",
    required: ["name", "when", "where", "expr", "minutes", "at", "text", "overlap", "catchUp"],
    properties: {
      name: { ...text, title: "Name", maxLength: 128 },
      when: { title: "When", enum: ["cron", "every", "at"] },
      ...(when === "cron" && {
        expr: { ...text, title: "Cron expression", description: "0 7 * * 1-5: workdays at 7:00" },
        tz: { ...text, title: "Time zone", description: "Such as Europe/Berlin; empty: UTC" },
      }),
      ...(when === "every" && { minutes: { type: "number", title: "Minutes", minimum: 0.01 } }),
      ...(when === "at" && {
        at: { ...text, title: "At", description: "Such as 2031-01-31T07:00:00+01:00" },
      }),
      agent: { title: "Agent", ...(agents.length > 0 ? { enum: agents } : text) },
      where: { title: "Where", enum: ["a run of its own", "a session"] },
      ...(where === "a session" && {
        session: { ...text, title: "Session", description: "Empty: main" },
      }),
      text: { ...text, title: "What is said to the agent" },
      overlap: { title: "When it is due while it runs", enum: ["skip", "queue", "parallel"] },
      catchUp: { title: "Due times that were missed", enum: ["once", "skip"] },
      description: { ...text, title: "Description", maxLength: 1024 },
    },
  };
}
