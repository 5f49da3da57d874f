import { createHash } from "node:crypto";
import { APICallError } from "@ai-sdk/provider";
import type { OfferedTool } from "../core/tool-catalogue.ts";

/** Statuses with which providers refuse the content of a request. */
const REFUSED = new Set([400, 422]);
/** References of providers that count tools instead of naming them: `tools.3`, `tools[3]`, `function_declarations[3]`. */
const BY_POSITION = /(?:tools|functions|function_declarations)(?:\.|\[)(\d+)/g;
const MAX_REMEMBERED = 1_000;

/** The names of the tools because of which a provider refused a request; none when its error is about something else. */
export function refusedTools(error: unknown, tools: readonly OfferedTool[]): string[] {
  if (!APICallError.isInstance(error) || !REFUSED.has(error.statusCode ?? 0)) return [];
  const text = `${error.message}\n${error.responseBody ?? ""}`;
  if (!/tool|function|schema|parameter|properties/i.test(text)) return [];
  const named = tools.filter(({ name }) => isNamed(text, name));
  const counted = [...text.matchAll(BY_POSITION)].flatMap(([, n]) => tools[Number(n)] ?? []);
  return [...new Set([...named, ...counted].map(({ name }) => name))];
}

/** True where the name appears as a separate word: `read` is not in `read_file`. */
function isNamed(text: string, name: string): boolean {
  for (let at = text.indexOf(name); at !== -1; at = text.indexOf(name, at + 1)) {
    const around = `${text[at - 1] ?? " "}${text[at + name.length] ?? " "}`;
    // Other names also occur as plain words in providers' sentences, unless they are quoted: "skill", "agent".
    if (/^[^\w-][^\w-]$/.test(around) && (name.includes("__") || /^["'`([{]/.test(around)))
      return true;
  }
  return false;
}

/** Tools that providers refused, so that the next step of a run does not send them again. */
export function createRefusals() {
  const known = new Set<string>();
  return {
    add(model: string, tools: readonly OfferedTool[]): void {
      if (known.size >= MAX_REMEMBERED) known.clear();
      for (const tool of tools) known.add(keyOf(model, tool));
    },
    isRefused: (model: string, tool: OfferedTool): boolean =>
      known.size > 0 && known.has(keyOf(model, tool)),
  };
}

function keyOf(model: string, { name, inputSchema }: OfferedTool): string {
  return createHash("sha256")
    .update(JSON.stringify([model, name, inputSchema]))
    .digest("base64url");
}
