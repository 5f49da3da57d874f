import type { Rows } from "./attack.ts";

/** An account names the callers that may use it, and is unknown to all others: services/channels/src/send.integration.test.ts. */
const OWN_ACCOUNTS = "an account is unknown to callers that channels.json does not give it to";
/** A job belongs to its caller; the end-to-end test of schedules tries another caller's job. */
const OWN_JOBS = "a job is unknown to everybody but its owner and the users that administer";

export const channelRows: Rows = {
  "channels.send": OWN_ACCOUNTS,
  "channels.broadcast": OWN_ACCOUNTS,
  "channels.react": OWN_ACCOUNTS,
  "channels.delete": OWN_ACCOUNTS,
  "channels.pin": OWN_ACCOUNTS,
  "channels.read": OWN_ACCOUNTS,
  "channels.resolve-target": OWN_ACCOUNTS,
  "channels.accounts": OWN_ACCOUNTS,
  "channels.capabilities": OWN_ACCOUNTS,
  "channels.check": OWN_ACCOUNTS,
  "channels.submit": OWN_ACCOUNTS,
};

export const scheduleRows: Rows = {
  "schedules.status": OWN_JOBS,
  "schedules.list": OWN_JOBS,
  "schedules.get": OWN_JOBS,
  "schedules.add": OWN_JOBS,
  "schedules.update": OWN_JOBS,
  "schedules.remove": OWN_JOBS,
  "schedules.run": OWN_JOBS,
  "schedules.runs": OWN_JOBS,
  "schedules.wake": OWN_JOBS,
};
