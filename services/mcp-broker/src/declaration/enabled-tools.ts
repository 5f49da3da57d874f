import { matchesGlob } from "@switchyard/contracts/glob";
import type { ServerConfig } from "@switchyard/project/mcp-servers/server-config";

/**
 * The tools of a server that its declaration leaves in: those of `enabledTools`, or all, without
 * those of `disabledTools`. What is left out is in no catalogue, so it is neither listed nor called.
 */
export function enabledTools<T extends { readonly name: string }>(
  config: Pick<ServerConfig, "enabledTools" | "disabledTools"> | null,
  tools: readonly T[],
): readonly T[] {
  if (config === null) return tools;
  const { enabledTools: enabled, disabledTools: disabled } = config;
  if (enabled === null && disabled.length === 0) return tools;
  return tools.filter(
    ({ name }) => (enabled === null || matchesAny(enabled, name)) && !matchesAny(disabled, name),
  );
}

function matchesAny(globs: readonly string[], name: string): boolean {
  return globs.some((glob) => matchesGlob(glob, name));
}
