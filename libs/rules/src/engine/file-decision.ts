import { fileAccessOf } from "@switchyard/contracts/toolbox/file-access";
import type { Decision } from "@switchyard/contracts/policy/policy";
import type { ToolRef } from "@switchyard/contracts/tool-names";
import type { CompiledBundle } from "../bundle/compile-bundle.ts";

type FileRules = Pick<CompiledBundle, "digest" | "fileAccesses">;

/** True for a file access that no rule of the bundle names. Files were given to agents before rules could decide about them. */
export function isUndecidedFile({ fileAccesses }: FileRules, tool: ToolRef): boolean {
  const access = fileAccessOf(tool);
  return access !== null && !fileAccesses.has(access);
}

export function undecidedFile({ digest: policyDigest }: FileRules, { name }: ToolRef): Decision {
  const reason = `no rule names ${name}, so the policy does not decide about it`;
  return { effect: "allow", rule: null, reason, policyDigest, tier: "auto" };
}

/** The access as reasons name it: the tool, and for a file also its type and size. */
export function shownAccess({
  tool,
  args,
}: {
  readonly tool: ToolRef;
  readonly args: Readonly<Record<string, unknown>>;
}): string {
  const { mediaType, sizeBytes } = args;
  if (fileAccessOf(tool) === null || typeof mediaType !== "string" || typeof sizeBytes !== "number")
    return tool.name;
  return `${tool.name} of ${mediaType} with ${sizeBytes} bytes`;
}
