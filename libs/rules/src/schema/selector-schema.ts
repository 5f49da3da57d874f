import { ToolLabel } from "@switchyard/contracts/policy/policy";
import { parseToolPattern } from "@switchyard/contracts/tool-patterns";
import { z } from "zod";
import { TOOL_GROUPS, toolGroupOf } from "./tool-groups.ts";

/**
 * The selectors of a policy file: the principals and tools that a rule, a layer or a budget applies to. A selector that can never
 * match anything is an error, because a rule that is silently not applied is worse than none.
 */

const EMPTY_LIST = "is empty; leave it out to mean any";

export const Text = z.string({ error: "must be a text" }).normalize("NFC");

/** Keeps zod's own issue for unknown keys, and reports any other problem of a mapping with our message. */
export function objectError(message: string) {
  return (issue: { readonly code?: string | undefined }) =>
    issue.code === "invalid_type" ? message : undefined;
}

export const listOf = <Item extends z.ZodType>(item: Item) =>
  z
    .array(item, { error: "must be a list" })
    .min(1, EMPTY_LIST)
    .max(1_000, "has more than 1,000 entries");

/** The name of a rule, layer or budget. */
export const EntryId = z
  .string({ error: "must be a text" })
  .regex(
    /^[a-z0-9][a-z0-9-]{0,63}$/,
    "must be 1-64 characters of a-z 0-9 -, starting with a letter or digit",
  );

/** Globs over agent, role and user names. A character that such a name cannot contain can never match one. */
export const NameGlob = z
  .string({ error: "must be a text" })
  .regex(
    /^[A-Za-z0-9*?][A-Za-z0-9_*?-]{0,63}$/,
    "can never match a name: names have only A-Z a-z 0-9 _ - (and * and ? stand for others)",
  );
const PlaceGlob = z
  .string({ error: "must be a text" })
  .regex(
    /^[A-Za-z0-9*?][A-Za-z0-9_.:@#+*?-]{0,127}$/,
    "can never match a channel or group: they have only A-Z a-z 0-9 _ . : @ # + - (and * and ? stand for others)",
  );
const ModelGlob = z
  .string({ error: "must be a text" })
  .regex(
    /^[a-z0-9*?-]{1,32}(\/\S{1,128})?$/,
    "must be a provider such as anthropic, or provider/model (* and ? stand for others)",
  );

const whoKeys = {
  agents: listOf(NameGlob).optional(),
  users: listOf(NameGlob).optional(),
  roles: listOf(NameGlob).optional(),
  channels: listOf(PlaceGlob).optional(),
  groups: listOf(PlaceGlob).optional(),
};
const SELECTS_NOTHING = {
  error: "selects nothing; leave it out to mean everyone",
  when: isSound,
};

export const Who = z
  .strictObject(
    {
      ...whoKeys,
      /** An allow rule for agents, roles, channels or groups is about runs that play a recording only with this. */
      replayed: z.literal(true, { error: "must be true; leave it out otherwise" }).optional(),
    },
    {
      error: objectError(
        "must be a mapping of agents, users, roles, channels, groups and replayed",
      ),
    },
  )
  .refine(hasSelector, SELECTS_NOTHING);

/** The principals that a layer or a budget applies to. */
export const For = z
  .strictObject(
    {
      ...whoKeys,
      providers: listOf(ModelGlob).optional(),
      subAgents: z.boolean({ error: "must be true or false" }).optional(),
    },
    {
      error: objectError(
        "must be a mapping of agents, users, roles, channels, groups, providers and subAgents",
      ),
    },
  )
  .refine(hasSelector, SELECTS_NOTHING);
export type For = z.infer<typeof For>;

export const ToolGlob = Text.min(1, "must not be empty")
  .max(256, "is longer than 256 characters")
  .superRefine((text, context) => {
    if (text.startsWith("group:")) {
      if (toolGroupOf(text) !== null) return;
      const known = Object.keys(TOOL_GROUPS).join(", ");
      context.addIssue({ code: "custom", message: `is not a tool group; there are ${known}` });
    } else if (!canMatchATool(text)) {
      context.addIssue({
        code: "custom",
        message:
          "can never match a tool: write mcp__server__tool, server.tool, or the bare name of a built-in tool (* and ? stand for others)",
      });
    }
  });

/** `server.name`, the name being a resource's URI or a prompt's name. */
const FeatureGlob = Text.max(2_100, "is longer than 2,100 characters").regex(
  /^[a-z0-9*?-]{1,24}\..+$/s,
  "must be server.name, such as docs.file:///srv/docs/* (* and ? stand for others)",
);
const ServerGlob = z
  .string({ error: "must be a text" })
  .regex(/^[a-z0-9*?-]{1,24}$/, "must be the id of an MCP server (* and ? stand for others)");

const Labels = z
  .strictObject(
    { any: listOf(ToolLabel).optional(), not: listOf(ToolLabel).optional() },
    { error: objectError("must be a mapping of any and not") },
  )
  .refine(hasSelector, { error: "selects nothing; leave it out to mean any", when: isSound });

export const What = z
  .strictObject(
    {
      servers: listOf(ServerGlob).optional(),
      tools: listOf(ToolGlob).optional(),
      labels: Labels.optional(),
      resources: listOf(FeatureGlob).optional(),
      prompts: listOf(FeatureGlob).optional(),
      sampling: listOf(ServerGlob).optional(),
      elicitation: listOf(ServerGlob).optional(),
      logging: listOf(ServerGlob).optional(),
    },
    { error: objectError("must be a mapping with tools") },
  )
  .refine(hasSelector, {
    error: "selects nothing; leave it out to mean every tool",
    when: isSound,
  })
  .refine(({ servers, tools }) => servers === undefined || !tools?.some(namesServer), {
    path: ["tools"],
    error:
      "beside servers must be the servers' own tool names, such as create_*, without a server in front and without groups",
    when: isSound,
  });
export type What = z.infer<typeof What>;

/** A mapping whose only key is unknown selects nothing as well; one message is enough. */
export function isSound(payload: { readonly issues: readonly unknown[] }): boolean {
  return payload.issues.length === 0;
}

export function hasSelector(selectors: Readonly<Record<string, unknown>>): boolean {
  return Object.keys(selectors).length > 0;
}

function namesServer(text: string): boolean {
  return text.startsWith("group:") || (text !== "*" && parseToolPattern(text).kind !== "bare");
}

function canMatchATool(text: string): boolean {
  const pattern = parseToolPattern(text);
  if (pattern.kind !== "bare") return true;
  // `mcp__files` or `mcp__GitHub__x` read as bare names, which no tool without a server has.
  return /^[a-zA-Z0-9_*?-]{1,64}$/.test(text) && !text.startsWith("mcp_");
}
