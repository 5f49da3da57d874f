import { delimiter } from "node:path";
import { natsEnv, processEnv, publicUrlEnv, redisEnv, parsedBy } from "@switchyard/service/env";
import { parsePrivateHosts } from "@switchyard/service/network/egress-guard";
import { z } from "zod";

/** The environment of the channels service; docs/reference/settings.md explains each variable. */
export const ChannelsEnv = z.object({
  ...processEnv,
  ...natsEnv,
  ...redisEnv,
  ...publicUrlEnv,
  YARD_CHANNELS_FILE: z.string().min(1).optional(),
  YARD_CHANNELS_ROOTS: z
    .string()
    .default("")
    .transform((list) => list.split(delimiter).filter((path) => path !== "")),
  YARD_CHANNELS_ALLOW_PRIVATE_HOSTS: z.string().default("").transform(parsedBy(parsePrivateHosts)),
});
export type ChannelsConfig = z.output<typeof ChannelsEnv>;

/** Name of the setting that permits private addresses, for messages. */
export const HOSTS_SETTING = "YARD_CHANNELS_ALLOW_PRIVATE_HOSTS";
