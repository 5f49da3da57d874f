import { z } from "zod";
import { event, live, rpc } from "../define.ts";
import { ServerId, Timestamp } from "../ids.ts";
import { ResultMeta } from "./mcp.ts";
import { ServerStatus } from "./mcp-servers.ts";
import { StopScope } from "../policy/policy-budgets.ts";
import { Decision } from "../policy/policy.ts";
import { RunToken } from "../policy/run-token.ts";

/**
 * The features of MCP servers beside tools. Everything here is served on one subject per server, by the broker that keeps the connection,
 * and the policy decides about each under a kind of its own: a rule that allows tools allows none of it.
 */

/** Longer addresses are neither listed nor read. */
export const MAX_RESOURCE_URI = 2_048;
/** The most entries of one list; `more` means that the server has others. */
export const MAX_LISTED_FEATURES = 5_000;

export const ResourceUri = z.string().min(1).max(MAX_RESOURCE_URI);
export const PromptName = z.string().min(1).max(512);

/** The form in which the server sent them, https://modelcontextprotocol.io/specification; an entry of another shape is left out. */
export const ResourceInfo = z.looseObject({ uri: ResourceUri, name: z.string() });
export type ResourceInfo = z.infer<typeof ResourceInfo>;
export const ResourceTemplateInfo = z.looseObject({ uriTemplate: ResourceUri, name: z.string() });
export type ResourceTemplateInfo = z.infer<typeof ResourceTemplateInfo>;
export const PromptInfo = z.looseObject({ name: PromptName });
export type PromptInfo = z.infer<typeof PromptInfo>;
export const ResourceContent = z.looseObject({
  uri: z.string(),
  mimeType: z.string().optional(),
  text: z.string().optional(),
  /** Base64. */
  blob: z.string().optional(),
});
export type ResourceContent = z.infer<typeof ResourceContent>;
export const PromptMessage = z.looseObject({
  role: z.enum(["user", "assistant"]),
  content: z.looseObject({ type: z.string() }),
});

/** Severities of RFC 5424, as MCP names them, from the least to the worst. */
export const LogLevel = z.enum([
  "debug",
  "info",
  "notice",
  "warning",
  "error",
  "critical",
  "alert",
  "emergency",
]);
export type LogLevel = z.infer<typeof LogLevel>;

/** The errors that any request to a server can have. */
export const featureErrors = {
  denied: { data: Decision },
  invalid_token: { data: z.object({ reason: z.string() }) },
  policy_unavailable: { data: z.object({ cause: z.string() }), retryable: true },
  /** An administrator stopped such requests while it was in progress: it may have had its effect. */
  stopped: { data: z.object({ scope: StopScope }) },
  server_down: {
    data: z.object({ server: z.string(), status: ServerStatus, lastError: z.string().nullable() }),
    retryable: true,
  },
  server_overloaded: {
    data: z.object({ server: z.string(), inFlight: z.int(), queued: z.int() }),
    retryable: true,
  },
  /** The server did not declare this capability. */
  not_supported: { data: z.object({ server: z.string(), feature: z.string() }) },
  /** Each run or session has an instance of this server, and the request belongs to none. */
  scope_required: { data: z.object({ server: z.string(), scope: z.string() }) },
  /** The server's limit of instances is reached by other runs or sessions. */
  instances_exhausted: {
    data: z.object({ server: z.string(), scope: z.string(), limit: z.int() }),
    retryable: true,
  },
  server_timeout: { data: z.object({ server: z.string(), timeoutMs: z.number() }) },
  /** The server refused, answered with something other than a result, or was lost meanwhile. */
  server_failed: { data: z.object({ server: z.string(), reason: z.string() }) },
  result_too_large: { data: z.object({ bytes: z.int(), limitBytes: z.int() }) },
  /**
   * The server wants a person to open an address first, and did nothing. Each question has one; when
   * they are answered the same may be sent again.
   */
  question_pending: {
    data: z.object({
      server: z.string(),
      questionIds: z.array(z.string()).min(1),
      expiresAt: Timestamp.nullable(),
    }),
  },
} as const;

const token = RunToken.optional();
const TIMEOUT_MS = 35_000;

export const listResources = rpc({
  subject: "yard.rpc.{caller}.mcp.resources.{server}",
  summary: "Lists the resources of an MCP server that the policy lets the principal read.",
  role: "viewer",
  request: z.strictObject({ token }),
  reply: z.object({ resources: z.array(ResourceInfo), more: z.boolean() }),
  errors: featureErrors,
  timeoutMs: TIMEOUT_MS,
});

export const listResourceTemplates = rpc({
  subject: "yard.rpc.{caller}.mcp.templates.{server}",
  summary: "Lists the resource templates of an MCP server that the policy lets the principal use.",
  role: "viewer",
  request: z.strictObject({ token }),
  reply: z.object({ templates: z.array(ResourceTemplateInfo), more: z.boolean() }),
  errors: featureErrors,
  timeoutMs: TIMEOUT_MS,
});

export const readResource = rpc({
  subject: "yard.rpc.{caller}.mcp.read.{server}",
  summary: "Reads a resource of an MCP server after the policy allowed exactly this one.",
  role: "operator",
  request: z.strictObject({ uri: ResourceUri, token }),
  reply: z.object({
    contents: z.array(ResourceContent),
    _meta: ResultMeta.optional(),
    decision: Decision,
  }),
  errors: featureErrors,
  timeoutMs: TIMEOUT_MS,
});

/** The lifetime of a subscription unless it is renewed, in seconds. */
export const SUBSCRIPTION_SECONDS = { default: 3_600, max: 86_400 } as const;

export const subscribeResource = rpc({
  subject: "yard.rpc.{caller}.mcp.subscribe.{server}",
  summary: "Subscribes to a resource; each change is a resource-updated event. Again renews it.",
  role: "operator",
  request: z.strictObject({
    uri: ResourceUri,
    ttlSeconds: z.int().min(1).max(SUBSCRIPTION_SECONDS.max).default(SUBSCRIPTION_SECONDS.default),
    token,
  }),
  reply: z.object({ expiresAt: Timestamp }),
  errors: {
    ...featureErrors,
    too_many_subscriptions: { data: z.object({ server: z.string(), limit: z.int() }) },
    /** Redis does not answer; nothing was subscribed. */
    store_unavailable: { data: z.object({ cause: z.string() }), retryable: true },
  },
  timeoutMs: TIMEOUT_MS,
});

export const unsubscribeResource = rpc({
  subject: "yard.rpc.{caller}.mcp.unsubscribe.{server}",
  summary: "Ends the caller's own subscription; one that does not exist is not an error.",
  role: "operator",
  request: z.strictObject({ uri: ResourceUri }),
  reply: z.object({ subscribed: z.literal(false) }),
  errors: { store_unavailable: subscribeResource.errors.store_unavailable },
  timeoutMs: TIMEOUT_MS,
});

export const listPrompts = rpc({
  subject: "yard.rpc.{caller}.mcp.prompts.{server}",
  summary: "Lists the prompts of an MCP server that the policy lets the principal get.",
  role: "viewer",
  request: z.strictObject({ token }),
  reply: z.object({ prompts: z.array(PromptInfo), more: z.boolean() }),
  errors: featureErrors,
  timeoutMs: TIMEOUT_MS,
});

const PromptArguments = z.record(z.string().min(1).max(256), z.string().max(65_536));

export const getPrompt = rpc({
  subject: "yard.rpc.{caller}.mcp.prompt.{server}",
  summary: "Gets a prompt of an MCP server after the policy allowed it with these arguments.",
  role: "operator",
  request: z.strictObject({ name: PromptName, args: PromptArguments.default({}), token }),
  reply: z.object({
    description: z.string().nullable(),
    messages: z.array(PromptMessage),
    _meta: ResultMeta.optional(),
    decision: Decision,
  }),
  errors: featureErrors,
  timeoutMs: TIMEOUT_MS,
});

export const completeArgument = rpc({
  subject: "yard.rpc.{caller}.mcp.complete.{server}",
  summary: "Requests suggestions for an argument of a prompt or resource template.",
  role: "operator",
  request: z.strictObject({
    ref: z.discriminatedUnion("type", [
      z.strictObject({ type: z.literal("prompt"), name: PromptName }),
      z.strictObject({ type: z.literal("resource"), uri: ResourceUri }),
    ]),
    argument: z.strictObject({
      name: z.string().min(1).max(256),
      /** The text that was typed so far. */
      value: z.string().max(65_536),
    }),
    /** Arguments that are filled in already. */
    args: PromptArguments.default({}),
    token,
  }),
  reply: z.object({ values: z.array(z.string()), total: z.int().nullable(), more: z.boolean() }),
  errors: featureErrors,
  timeoutMs: TIMEOUT_MS,
});

export const setLogLevel = rpc({
  subject: "yard.rpc.{caller}.mcp.loglevel.{server}",
  summary: "Sets from which level on an MCP server sends log messages, for everyone.",
  role: "admin",
  request: z.strictObject({ level: LogLevel, token }),
  reply: z.object({ level: LogLevel }),
  errors: featureErrors,
  timeoutMs: TIMEOUT_MS,
});

export const ServerMessage = z.object({
  at: Timestamp,
  level: LogLevel,
  logger: z.string().nullable(),
  /** The logged message, as JSON or text; secrets of the configuration are removed, and it is cut. */
  text: z.string(),
});
export type ServerMessage = z.infer<typeof ServerMessage>;

export const listMessages = rpc({
  subject: "yard.rpc.{caller}.mcp.messages.{server}",
  summary: "The last log messages that an MCP server sent over the protocol.",
  role: "admin",
  request: z.strictObject({ tail: z.int().min(1).max(1_000).default(200), token }),
  reply: z.object({
    messages: z.array(ServerMessage),
    /** Messages since the connection that exceeded the limit per second and were dropped. */
    dropped: z.int().nonnegative(),
  }),
  errors: featureErrors,
});

export const serverMessage = live({
  subject: "yard.live.mcp-log.{server}",
  summary: "A log message of an MCP server; of too many in a second some are left out.",
  payload: ServerMessage,
});

/** True for the resource that was subscribed to and for its parts: a server may announce the change of a part. */
export function isPartOfResource(changed: string, uri: string): boolean {
  return changed === uri || changed.startsWith(uri.endsWith("/") ? uri : `${uri}/`);
}

export const resourceUpdated = event({
  subject: "yard.evt.mcp.{server}.resource-updated",
  summary: "A resource with a subscription has changed.",
  payload: z.object({ server: ServerId, uri: ResourceUri, at: Timestamp }),
});

export const featuresChanged = event({
  subject: "yard.evt.mcp.{server}.features-changed",
  summary: "An MCP server has other resources or prompts than before.",
  payload: z.object({ server: ServerId, feature: z.enum(["resources", "prompts"]), at: Timestamp }),
});
