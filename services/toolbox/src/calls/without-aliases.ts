import type { Tool } from "../tool.ts";

/** Returns the arguments under the tool's own names. An argument that is given under its own name, too, stays as it is. */
export function withoutAliases(
  args: Readonly<Record<string, unknown>>,
  aliases: Tool["aliases"] = {},
): Record<string, unknown> {
  const own = { ...args };
  for (const [alias, name] of Object.entries(aliases)) {
    if (!Object.hasOwn(args, alias)) continue;
    const value = args[alias];
    const members = name === null ? value : { [name]: value };
    if (typeof members !== "object" || members === null || Array.isArray(members)) continue;
    if (Object.keys(members).some((member) => Object.hasOwn(args, member))) continue;
    delete own[alias];
    Object.assign(own, members);
  }
  return own;
}
