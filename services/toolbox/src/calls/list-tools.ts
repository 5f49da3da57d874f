import type { z } from "zod";
import { toJSONSchema } from "zod";
import { builtinToolRef } from "@switchyard/contracts/tool-names";
import {
  BUILTIN_TIERS,
  BuiltinInfo,
  type BuiltinName,
  type listBuiltins as contract,
} from "@switchyard/contracts/toolbox";
import type { AskedFor, PolicyGate } from "@switchyard/service/tool-provider/policy-gate";
import type { Tool } from "../tool.ts";

/** The built-in tools that the principal may call with at least some arguments. */
export async function listTools(
  deps: { readonly tools: ReadonlyMap<BuiltinName, Tool>; readonly gate: PolicyGate },
  asked: AskedFor,
): Promise<z.input<typeof contract.reply>> {
  const tools = [...deps.tools.values()];
  const refs = tools.map(({ name }) => builtinToolRef(name));
  const allowed = await deps.gate.filter(refs, asked);
  return { tools: tools.filter(({ name }) => allowed.has(name)).map(infoOf) };
}

function infoOf({ name, description, input }: Tool): BuiltinInfo {
  // What a caller writes: arguments with a default may be left out.
  const { $schema: _, ...inputSchema } = toJSONSchema(input, { io: "input" });
  return BuiltinInfo.parse({ name, description, inputSchema, tier: BUILTIN_TIERS[name] });
}
