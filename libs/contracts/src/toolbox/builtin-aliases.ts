/**
 * Other names of built-in tools, as other systems have them. A call by one is a call of the tool, and
 * a pattern that spells one selects the tool.
 */
const ALIASES: Readonly<Record<string, string>> = {
  list_directory: "list_files",
};

/** The tool's own name for an alias, and any other name as it is. */
export function withoutAlias(name: string): string {
  return (Object.hasOwn(ALIASES, name) ? ALIASES[name] : undefined) ?? name;
}
