/**
 * Returns a job of OpenClaw's older clients in the form of today: delivery fields of the payload become the job's delivery, unless it has one.
 * `allowUnsafeExternalContent` is left out: content of others is marked here in every run.
 */
export function withoutLegacyFields(job: unknown): unknown {
  if (!isRecord(job) || !isRecord(job["payload"])) return job;
  const { deliver, channel, to, bestEffortDeliver, allowUnsafeExternalContent, ...payload } =
    job["payload"];
  const legacy = [deliver, channel, to, bestEffortDeliver, allowUnsafeExternalContent];
  if (legacy.every((field) => field === undefined)) return job;
  const { delivery = deliveryOf({ deliver, channel, to, bestEffortDeliver }), ...rest } = job;
  return { ...rest, payload, ...(delivery !== undefined && { delivery }) };
}

function deliveryOf(fields: Readonly<Record<string, unknown>>): object | undefined {
  const { deliver, channel, to, bestEffortDeliver: bestEffort } = fields;
  if (deliver === false) return { mode: "none" };
  if (deliver === undefined && channel === undefined && to === undefined) return undefined;
  return {
    mode: "announce",
    ...(channel !== undefined && { channel }),
    ...(to !== undefined && { to }),
    ...(bestEffort !== undefined && { bestEffort }),
  };
}

function isRecord(value: unknown): value is Record<string, unknown> {
  return typeof value === "object" && value !== null && !Array.isArray(value);
}
