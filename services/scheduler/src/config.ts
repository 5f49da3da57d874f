import { natsEnv, processEnv, redisEnv, parsedBy } from "@switchyard/service/env";
import { parsePrivateHosts } from "@switchyard/service/network/egress-guard";
import { AgentName } from "@switchyard/contracts/ids";
import { z } from "zod";

/** The environment of the scheduler; docs/reference/settings.md explains each variable. */
export const schedulerEnv = z.object({
  ...processEnv,
  ...natsEnv,
  ...redisEnv,
  YARD_SCHEDULES_AGENT: AgentName.optional(),
  YARD_TRIGGERS_FILE: z.string().min(1).optional(),
  YARD_WEBHOOKS_ALLOW_PRIVATE_HOSTS: z.string().default("").transform(parsedBy(parsePrivateHosts)),
});
export type SchedulerConfig = z.output<typeof schedulerEnv>;

/** Name of the setting that permits private addresses, for messages. */
export const HOSTS_SETTING = "YARD_WEBHOOKS_ALLOW_PRIVATE_HOSTS";
