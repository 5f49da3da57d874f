import type { ToolRef } from "@switchyard/client/operations";
import { useResource } from "../core/resource.ts";
import { filterOf } from "../core/router.ts";
import { may } from "../core/session.ts";

/** `mcp__files__read_file` or `files.read_file` is a server's tool; a bare name is a built-in one. */
export function toolRefOf(name: string): ToolRef {
  const [, server, tool] =
    /^mcp__([^_].*?)__(.+)$/.exec(name) ?? /^([^.]+)\.(.+)$/.exec(name) ?? [];
  if (server === undefined || tool === undefined) return { name, server: null, tool: name };
  return { name: `mcp__${server}__${tool}`, server, tool };
}

/** The name of a tool, with those that there are to choose from. */
export function ToolField({ name = filterOf("tool") }: { name?: string }) {
  const tools = useResource("GET /tools", may("GET /tools") ? {} : null);
  const builtin = useResource("GET /tools/builtin", may("GET /tools/builtin") ? {} : null);
  const names = [...(tools.data?.tools ?? []), ...(builtin.data?.tools ?? [])];
  return (
    <label class="field">
      <span>Tool</span>
      <input name="tool" required list="tool-names" defaultValue={name} />
      <datalist id="tool-names">
        {names.map((tool) => (
          <option key={tool.name} value={tool.name} />
        ))}
      </datalist>
    </label>
  );
}
