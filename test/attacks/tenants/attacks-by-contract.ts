import type { Rows } from "./attack.ts";
import { attacksOnApprovals } from "./attacks-on-approvals.ts";
import { attacksOnCalls } from "./attacks-on-calls.ts";
import { attacksOnRuns } from "./attacks-on-runs.ts";
import { attacksOnSessions } from "./attacks-on-sessions.ts";
import { channelRows, scheduleRows } from "./channel-and-schedule-rows.ts";
import { installationRows } from "./installation-rows.ts";

/**
 * By contract name: team-b's attempts with it, or the reason why it cannot reach another caller. Each contract that a client may
 * send has a row.
 */
export const attacksByContract: Rows = {
  ...attacksOnRuns,
  ...attacksOnSessions,
  ...attacksOnApprovals,
  ...attacksOnCalls,
  ...channelRows,
  ...scheduleRows,
  ...installationRows,
};
