import { rpc } from "@switchyard/contracts/define";
import { matchesGlob } from "@switchyard/contracts/glob";
import { IfVersion, versionChanged } from "@switchyard/contracts/if-version";
import { AgentName, Timestamp } from "@switchyard/contracts/ids";
import { nearestName } from "@switchyard/contracts/nearest-name";
import { allContracts, isEvent } from "@switchyard/contracts/registry";
import { storeUnavailable } from "@switchyard/contracts/store-errors";
import { z } from "zod";

// Subscriptions with which the gateway sends a caller's own events to a URL, and the hooks of hooks.json, with which programs
// start runs. They have the form of contracts, so that routes, roles, scopes and openapi.json follow from them; no service
// serves them on the bus, where the gateway answers no requests.

/** The id of a subscription, which the gateway generates. */
const WebhookId = z.string().regex(/^whk-[0-9a-f]{16}$/, "must look like whk-…");
/** An id from a request: a malformed id is reported as unknown. */
const NamedWebhook = z.string().min(1).max(128);

/** The events that webhooks can receive: those with an owner. */
const ownedEvents = allContracts
  .filter(isEvent)
  .filter(({ subject }) => subject.includes(".{owner}."))
  .map(({ name }) => name);
/** The patterns for all events of a noun, such as `run.*`. */
const eventGroups = [...new Set(ownedEvents.map((name) => name.replace(/[^.]+$/, "*")))];

/** The name of an event, or a pattern for several: `run.finished`, `run.*`. */
const EventPattern = z
  .string()
  .regex(/^[a-z*][a-z0-9.*-]{0,63}$/, "must be the name of an event, such as run.finished or run.*")
  .refine((pattern) => ownedEvents.some((name) => matchesGlob(pattern, name)), {
    error: ({ input }) => {
      const meant = nearestName(String(input), [...ownedEvents, ...eventGroups]);
      return `matches no event that has an owner${meant === null ? "" : `; did you mean ${meant}?`}`;
    },
  });
const EventPatterns = z.array(EventPattern).min(1).max(50);
const TargetUrl = z.url({ protocol: /^https?$/ }).max(2_048);

/** A webhook in its stored form. */
export const KeptWebhook = z.object({
  id: WebhookId,
  url: z.string(),
  events: z.array(z.string()),
  /** Null: events of all runs, and those of no run. */
  agent: AgentName.nullable(),
  createdAt: Timestamp,
  /** `disabled`: nothing is sent; a redelivery enables it. */
  status: z.enum(["enabled", "disabled"]),
  /** The reason for `disabled`: deliveries failed for too long, too many waited, or the receiver answered that it is gone. */
  reason: z.enum(["failing", "backlog", "gone"]).nullable(),
  /** The time since which no delivery has succeeded; null: the last one did. */
  failingSince: Timestamp.nullable(),
  lastError: z.string().nullable(),
});
export type KeptWebhook = z.infer<typeof KeptWebhook>;

export const Webhook = KeptWebhook.extend({
  /** The version of the fields that `webhooks.update` changes, for its `ifVersion`; the state of deliveries does not count. */
  version: z.string(),
});
export type Webhook = z.infer<typeof Webhook>;

/** A delivery that was given up after its last attempt. */
const DeadDelivery = z.object({
  /** The `webhook-id` that the receiver got. */
  deliveryId: z.string(),
  event: z.string(),
  at: Timestamp,
  attempts: z.int().positive(),
  error: z.string(),
});

const unknownWebhook = { data: z.object({ id: z.string() }) } as const;

export const createWebhook = rpc({
  subject: "yard.rpc.{caller}.webhooks.create",
  summary:
    "Sends the caller's own events to a URL, signed as a Standard Webhook; only this reply has the secret.",
  role: "operator",
  request: z.strictObject({
    url: TargetUrl,
    events: EventPatterns,
    /** Only events of runs of this agent. */
    agent: AgentName.optional(),
  }),
  reply: z.object({ webhook: Webhook, secret: z.string() }),
  errors: {
    invalid_target: { data: z.object({ reason: z.string() }) },
    too_many_webhooks: { data: z.object({ limit: z.int() }) },
    webhook_key_missing: { data: z.object({ setting: z.string() }) },
    store_unavailable: storeUnavailable,
  },
});

export const listWebhooks = rpc({
  subject: "yard.rpc.{caller}.webhooks.list",
  summary: "Lists the caller's webhooks.",
  role: "viewer",
  request: z.strictObject({}),
  reply: z.object({ webhooks: z.array(Webhook) }),
  errors: { store_unavailable: storeUnavailable },
});

export const getWebhook = rpc({
  subject: "yard.rpc.{caller}.webhooks.get",
  summary: "Returns one webhook of the caller, with its pending and its failed deliveries.",
  role: "viewer",
  request: z.strictObject({ id: NamedWebhook }),
  reply: z.object({
    webhook: Webhook,
    /** Deliveries that wait for their first or next attempt. */
    pending: z.int().nonnegative(),
    dead: z.array(DeadDelivery).max(100),
  }),
  errors: { unknown_webhook: unknownWebhook, store_unavailable: storeUnavailable },
});

export const updateWebhook = rpc({
  subject: "yard.rpc.{caller}.webhooks.update",
  summary:
    "Changes the URL or the events of a webhook. Its secret stays, and pending deliveries go to the new URL.",
  role: "operator",
  request: z.strictObject({
    id: NamedWebhook,
    url: TargetUrl.optional(),
    events: EventPatterns.optional(),
    /** Null: events of all runs, and those of no run. */
    agent: AgentName.nullable().optional(),
    ifVersion: IfVersion,
  }),
  reply: z.object({ webhook: Webhook }),
  errors: {
    unknown_webhook: unknownWebhook,
    invalid_target: { data: z.object({ reason: z.string() }) },
    version_changed: versionChanged,
    store_unavailable: storeUnavailable,
  },
});

export const removeWebhook = rpc({
  subject: "yard.rpc.{caller}.webhooks.remove",
  summary: "Removes a webhook of the caller with its pending deliveries.",
  role: "operator",
  request: z.strictObject({ id: NamedWebhook }),
  reply: z.object({ id: WebhookId, removed: z.literal(true) }),
  errors: { unknown_webhook: unknownWebhook, store_unavailable: storeUnavailable },
});

export const redeliverWebhook = rpc({
  subject: "yard.rpc.{caller}.webhooks.redeliver",
  summary: "Sends failed deliveries again, one or all, and enables the webhook.",
  role: "operator",
  request: z.strictObject({
    id: NamedWebhook,
    /** Missing: all. */
    deliveryId: z
      .string()
      .regex(/^msg_\w{1,64}$/, "must look like msg_…")
      .optional(),
  }),
  reply: z.object({ webhook: Webhook, redelivered: z.int().nonnegative() }),
  errors: {
    unknown_webhook: unknownWebhook,
    unknown_delivery: { data: z.object({ deliveryId: z.string() }) },
    store_unavailable: storeUnavailable,
  },
});

/** Lists the hooks with which other programs start runs by `POST /hooks/{name}`; secrets are left out. */
export const listHooks = rpc({
  subject: "yard.rpc.{caller}.webhooks.hooks",
  summary: "Lists the hooks of hooks.json, by which programs elsewhere start runs.",
  role: "admin",
  request: z.strictObject({}),
  reply: z.object({
    hooks: z.array(
      z.object({
        name: z.string(),
        agent: AgentName,
        signature: z.enum(["standard", "github"]),
        /** The events that start a run; null: all. */
        events: z.array(z.string()).nullable(),
      }),
    ),
  }),
  errors: {},
});
