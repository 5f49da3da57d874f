import { z } from "zod";
import { event, rpc } from "../define.ts";
import { CallerName, Digest, ServerId, Timestamp, ToolName } from "../ids.ts";

/**
 * A finding about a tool's definition. A `hard` finding blocks the tool until an admin approves it and names the finding; a `soft` one is
 * shown.
 */
export const ToolFinding = z.object({
  code: z.enum([
    "hidden_characters",
    "bidi_control",
    "bidi_mark",
    "tag_characters",
    "control_characters",
    "name_imitates",
    "name_resembles",
    "cross_server_reference",
    "instruction_like",
    "encoded_payload",
    "schema_too_complex",
    "schema_not_checked",
    "schema_not_portable",
  ]),
  severity: z.enum(["hard", "soft"]),
  /** JSON pointer into the tool's definition; the empty one is the whole. */
  where: z.string(),
  /** A description of the finding, with every invisible character as an escape. */
  evidence: z.string(),
});
export type ToolFinding = z.infer<typeof ToolFinding>;

/**
 * `pending`: seen and never approved. `approved`: the definition that the server lists is the approved one. `changed`: it differs from the
 * approved one. `blocked`: by an admin or by a hard finding. Only an approved tool is listed and can be called.
 */
export const PinState = z.enum(["pending", "approved", "changed", "blocked"]);
export type PinState = z.infer<typeof PinState>;

/** A tool's own name, as its server spells it. */
const RawToolName = z.string().min(1).max(512);

export const ToolPin = z.object({
  server: ServerId,
  tool: RawToolName,
  name: ToolName,
  state: PinState,
  /** The digest of the definition that the server listed last, and of the server's identity. */
  digest: Digest,
  approvedDigest: Digest.nullable(),
  findings: z.array(ToolFinding),
  firstSeenAt: Timestamp,
  /** The time at which the definition of `digest` was seen first. */
  seenAt: Timestamp,
  /** A NATS user, or `first-use` for a tool that was approved because it was seen for the first time. */
  approvedBy: z.string().nullable(),
  approvedAt: Timestamp.nullable(),
  /** A NATS user, or `finding`; null unless it is blocked. */
  blockedBy: z.string().nullable(),
});
export type ToolPin = z.infer<typeof ToolPin>;

const pinErrors = {
  pins_unavailable: { data: z.object({ cause: z.string() }), retryable: true },
} as const;
const changeErrors = {
  ...pinErrors,
  forbidden_admin: { data: z.object({ caller: z.string(), setting: z.string() }) },
  /** No such tool was ever listed by this server. */
  unknown_pin: { data: z.object({ server: z.string(), tools: z.array(z.string()) }) },
} as const;

const MAX_TOOLS = 20_000;

export const listPins = rpc({
  subject: "yard.rpc.{caller}.mcp.pins.list",
  summary: "Lists the pinned tools of an MCP server with their states and findings.",
  role: "admin",
  request: z.strictObject({
    server: ServerId,
    /** Left out: all states. */
    states: z.array(PinState).min(1).optional(),
    limit: z.int().min(1).max(MAX_TOOLS).default(1_000),
    /** The last tool of the part before. */
    after: RawToolName.optional(),
  }),
  reply: z.object({
    pins: z.array(ToolPin),
    /** True when there are more behind the last one. */
    more: z.boolean(),
  }),
  errors: pinErrors,
  timeoutMs: 10_000,
});

export const approvePins = rpc({
  subject: "yard.rpc.{caller}.mcp.pins.approve",
  summary: "Approves the definitions that an MCP server lists now.",
  role: "admin",
  request: z.strictObject({
    server: ServerId,
    /** The server's own or the canonical names, each with the digest that was reviewed; left out: all pending and changed ones. */
    tools: z
      .array(z.strictObject({ tool: RawToolName, digest: Digest.optional() }))
      .min(1)
      .max(MAX_TOOLS)
      .optional(),
    /** Codes of the hard findings that are accepted; without tools named, no blocked tool is approved. */
    override: z.array(ToolFinding.shape.code).optional(),
  }),
  reply: z.object({ approved: z.int().nonnegative() }),
  errors: {
    ...changeErrors,
    /** The server meanwhile lists another definition. Nothing was approved. */
    pin_changed: {
      data: z.object({ server: z.string(), tool: z.string(), digest: Digest }),
    },
    /** Hard findings that `override` does not name. Nothing was approved. */
    findings_block: {
      data: z.object({
        server: z.string(),
        tool: z.string(),
        codes: z.array(ToolFinding.shape.code),
      }),
    },
  },
  timeoutMs: 10_000,
});

export const blockPins = rpc({
  subject: "yard.rpc.{caller}.mcp.pins.block",
  summary: "Blocks tools of an MCP server, whatever definition it lists.",
  role: "admin",
  request: z.strictObject({
    server: ServerId,
    tools: z.array(RawToolName).min(1).max(MAX_TOOLS),
  }),
  reply: z.object({ blocked: z.int().nonnegative() }),
  errors: changeErrors,
  timeoutMs: 10_000,
});

/** One position at which two definitions differ. Texts are JSON with hidden characters as escapes, and cut. */
export const PinDifference = z.object({
  where: z.string(),
  /** Null: the value is new. */
  before: z.string().nullable(),
  /** Null: the value is gone. */
  after: z.string().nullable(),
});
export type PinDifference = z.infer<typeof PinDifference>;

export const MAX_PIN_DIFFERENCES = 200;

export const diffPin = rpc({
  subject: "yard.rpc.{caller}.mcp.pins.diff",
  summary: "Shows what differs between the approved and the listed definition of a tool.",
  role: "admin",
  request: z.strictObject({ server: ServerId, tool: RawToolName }),
  reply: z.object({
    pin: ToolPin,
    /** The identity of the server (command or address) differs from the approved one. */
    identityChanged: z.boolean(),
    /** Only descriptions, titles and the order of what has none differ. An older broker does not say. */
    isReworded: z.boolean().optional(),
    /** Compared with an empty definition when the tool was never approved. */
    differences: z.array(PinDifference).max(MAX_PIN_DIFFERENCES),
    /** Differences beyond the limit. */
    omitted: z.int().nonnegative(),
  }),
  errors: { ...pinErrors, unknown_pin: changeErrors.unknown_pin },
});

/** Served on one subject per server, so that it reaches the broker that keeps the connection. */
export const refreshTools = rpc({
  subject: "yard.rpc.{caller}.mcp.refresh.{server}",
  summary: "Reads the tool list of a connected MCP server again.",
  role: "admin",
  request: z.strictObject({}),
  reply: z.object({ toolCount: z.int().nonnegative() }),
  errors: {
    forbidden_admin: changeErrors.forbidden_admin,
    server_down: { data: z.object({ server: z.string() }), retryable: true },
    refresh_failed: { data: z.object({ cause: z.string() }), retryable: true },
  },
  timeoutMs: 20_000,
});

/** Canonical names; as many as one server may list. */
const ToolNames = z.array(ToolName).max(MAX_TOOLS);

export const toolsDiscovered = event({
  subject: "yard.evt.mcp.{server}.tools-discovered",
  summary: "An MCP server's list of usable tools was read and is another than before.",
  payload: z.object({
    server: ServerId,
    toolCount: z.int().nonnegative(),
    added: ToolNames,
    removed: ToolNames,
    /** Still there, with another definition. */
    changed: ToolNames,
    at: Timestamp,
  }),
});

/** More tools than this are counted, not named. */
export const MAX_PINS_IN_EVENT = 200;

const pinChange = {
  server: ServerId,
  tools: z
    .array(z.object({ tool: RawToolName, name: ToolName, digest: Digest }))
    .max(MAX_PINS_IN_EVENT),
  /** The number of all tools, also of those that are not named. */
  count: z.int().positive(),
  at: Timestamp,
};

export const pinsHeld = event({
  subject: "yard.evt.mcp.{server}.pins-held",
  summary: "New tools of an MCP server wait for an approval.",
  payload: z.object(pinChange),
});

export const pinsChanged = event({
  subject: "yard.evt.mcp.{server}.pins-changed",
  summary: "Tools of an MCP server are no longer as they were approved; they cannot be called.",
  payload: z.object(pinChange),
});

export const pinsApproved = event({
  subject: "yard.evt.mcp.{server}.pins-approved",
  summary: "Tools of an MCP server were approved.",
  /** `by` is null for a first sight that the server's trust setting approves. */
  payload: z.object({ ...pinChange, by: CallerName.nullable() }),
});

export const pinsBlocked = event({
  subject: "yard.evt.mcp.{server}.pins-blocked",
  summary: "Tools of an MCP server were blocked.",
  /** `by` is null when hard findings blocked them. */
  payload: z.object({ ...pinChange, by: CallerName.nullable() }),
});
