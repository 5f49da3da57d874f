import { AgentName, Timestamp } from "@switchyard/contracts/ids";
import { z } from "zod";
import type { JsonOutputs } from "./output.ts";

const { strictObject: strict, array, string, int } = z;

// Replies of the gateway itself: no service has contracts for them.

const webhook = strict({
  id: string(),
  url: string(),
  events: array(string()),
  agent: AgentName.nullable(),
  createdAt: Timestamp,
  status: z.enum(["enabled", "disabled"]),
  reason: z.enum(["failing", "backlog", "gone"]).nullable(),
  failingSince: Timestamp.nullable(),
  lastError: string().nullable(),
  version: string(),
});

const given = strict({
  deliveryId: string(),
  event: string(),
  at: Timestamp,
  attempts: int(),
  error: string(),
});

const hook = strict({
  name: string(),
  agent: AgentName,
  signature: z.enum(["standard", "github"]),
  events: array(string()).nullable(),
});

export const WEBHOOK_OUTPUTS: JsonOutputs = {
  "webhooks list": { document: strict({ webhooks: array(webhook) }) },
  "webhooks add": { document: strict({ webhook, secret: string() }) },
  "webhooks edit": { document: strict({ webhook }) },
  "webhooks remove": { document: strict({ id: string(), removed: z.literal(true) }) },
  "webhooks deliveries": { document: strict({ webhook, pending: int(), dead: array(given) }) },
  "webhooks redeliver": { document: strict({ webhook, redelivered: int() }) },
  "webhooks hooks": { document: strict({ hooks: array(hook) }) },
};
