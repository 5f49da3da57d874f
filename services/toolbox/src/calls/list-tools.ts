import { prepareReply, type PreparedReply } from "@switchyard/bus/prepared-reply";
import { builtinToolRef } from "@switchyard/contracts/tool-names";
import {
  BUILTIN_TIERS,
  BuiltinInfo,
  type BuiltinName,
  listBuiltins,
  schemaForModels,
} from "@switchyard/contracts/toolbox/toolbox";
import type { Requester, PolicyGate } from "@switchyard/tool-provider/policy-gate";
import { toJSONSchema } from "zod";
import type { Tool } from "../tool.ts";
import { isClaimant } from "./token-claims.ts";

/** The built-in tools that the principal may call with at least some arguments. */
export async function listTools(
  deps: { readonly tools: ReadonlyMap<BuiltinName, Tool>; readonly gate: PolicyGate },
  requester: Requester,
): Promise<PreparedReply<typeof listBuiltins>> {
  const isRun = requester.token !== undefined && !isClaimant(requester);
  const tools = [...deps.tools.values()].filter(({ unavailable }) => unavailable === undefined);
  const refs = tools.map(({ name }) => builtinToolRef(name));
  const allowed = await deps.gate.filter(refs, requester);
  return replyWith(deps.tools, {
    allowed: tools.filter(({ name }) => allowed.has(name)),
    isRun,
  });
}

type ListReply = PreparedReply<typeof listBuiltins>;

/** Caches replies: every run requests the list, and there is only one reply for each set of tools that some principal may use. */
const replies = new WeakMap<ReadonlyMap<BuiltinName, Tool>, Map<string, ListReply>>();

function replyWith(
  all: ReadonlyMap<BuiltinName, Tool>,
  { allowed, isRun }: { readonly allowed: readonly Tool[]; readonly isRun: boolean },
): ListReply {
  const known = replies.get(all) ?? new Map<string, ListReply>();
  replies.set(all, known);
  const names = `${isRun ? "run" : "user"} ${allowed.map(({ name }) => name).join()}`;
  const reply =
    known.get(names) ??
    prepareReply(listBuiltins, { tools: allowed.map((tool) => infoOf(tool, isRun)) });
  known.set(names, reply);
  return reply;
}

function infoOf({ name, description, input }: Tool, isRun: boolean): BuiltinInfo {
  // The schema for callers, who may leave out arguments with a default.
  const { $schema: _, properties = {}, ...schema } = toJSONSchema(input, { io: "input" });
  const shown = Object.entries(properties).filter(([, part]) => !isRefused(part));
  const inputSchema = { ...schema, properties: Object.fromEntries(shown) };
  const info = BuiltinInfo.parse({ name, description, inputSchema, tier: BUILTIN_TIERS[name] });
  return isRun ? { ...info, inputSchema: schemaForModels(info.inputSchema) } : info;
}

/** True for arguments that a tool declares only to explain why it rejects them. */
function isRefused(part: unknown): boolean {
  return typeof part === "object" && part !== null && "refused" in part;
}
