import { isDeepStrictEqual } from "node:util";
import { applyEdits, findNodeAtLocation, modify, parseTree } from "jsonc-parser";
import { stringify as tomlText } from "smol-toml";
import { CliError } from "../cli-error.ts";
import { parsedConfig } from "./parsed-config.ts";
import type { ClientFormat } from "./client-formats.ts";

interface Wanted {
  readonly format: ClientFormat;
  readonly name: string;
  readonly entry: Record<string, unknown>;
}

/**
 * Returns the text of a client's file with the server in it. Everything else stays byte for byte: comments, order, other servers.
 */
export function editedConfig(text: string, wanted: Wanted): string {
  const before = parsedConfig(text, wanted.format);
  const edited =
    wanted.format.syntax === "json" ? editedJson(text, wanted) : editedToml(text, wanted);
  const after = parsedConfig(edited, wanted.format);
  if (isDeepStrictEqual(without(before, wanted), without(after, wanted))) return edited;
  throw new CliError("usage", "the file is written in a way that cannot be edited safely", {
    hint: "add what --print shows by hand",
  });
}

function editedJson(text: string, { format, name, entry }: Wanted): string {
  let edited = withValue(text.trim() === "" ? "{}" : text, [format.servers, name], entry);
  for (const [key, item] of Object.entries(format.items ?? {})) {
    const list = parsedConfig(edited, format)[key];
    if (!Array.isArray(list)) edited = withValue(edited, [key], [item]);
    else if (!list.some((one) => one?.["id"] === item["id"]))
      edited = withValue(edited, [key, list.length], item);
  }
  return edited.endsWith("\n") ? edited : `${edited}\n`;
}

/**
 * The library would also format the neighbours of the value, so it only locates the position, and this function does the layout.
 */
function withValue(text: string, path: readonly (string | number)[], value: unknown): string {
  const indent = /^([ \t]+)"/m.exec(text)?.[1] ?? "  ";
  const eol = text.includes("\r\n") ? "\r\n" : "\n";
  const root = parseTree(text);
  const missing = path.findIndex(
    (_, index) => root === undefined || !findNodeAtLocation(root, path.slice(0, index + 1)),
  );
  const isNew = missing >= 0;
  // Missing parents of the value are created with it.
  const depth = isNew ? missing + 1 : path.length;
  const inner = nested(path.slice(depth), value);
  const compact = JSON.stringify(inner);
  const newLine = eol + indent.repeat(depth);
  const pretty = JSON.stringify(inner, null, indent).split("\n").join(newLine);
  const [edit] = modify(text, [...path], value, {});
  if (edit === undefined) return text;
  if (!isNew) return applyEdits(text, [{ ...edit, content: pretty }]);
  const at = edit.content.lastIndexOf(compact);
  const isBehindAnother = edit.content.startsWith(",");
  const key = edit.content.slice(0, at).replace(/^,\s*/, "").replace(/:$/, ": ");
  const behind = edit.content.slice(at + compact.length);
  const end = isBehindAnother || behind !== "" ? behind : eol + indent.repeat(depth - 1);
  const content = `${isBehindAnother ? "," : ""}${newLine}${key}${pretty}${end}`;
  return applyEdits(text, [{ ...edit, content }]);
}

function nested(path: readonly (string | number)[], value: unknown): unknown {
  return path.toReversed().reduce((inner, key) => ({ [key]: inner }), value);
}

/** The tables of the server are removed, and written anew at the end. */
function editedToml(text: string, { format, name, entry }: Wanted): string {
  const kept: string[] = [];
  let isOurs: boolean = false;
  for (const line of text.split(/(?<=\n)/)) {
    const header = /^\s*\[([^\]]+)\]/.exec(line)?.[1];
    if (header !== undefined) isOurs = isOf(header, format.servers, name);
    // A comment may be about what comes next.
    if (!isOurs || /^(?:#.*)?$/.test(line.trim())) kept.push(line);
  }
  const rest = kept.join("");
  const gap = rest === "" ? "" : rest.endsWith("\n\n") ? "" : rest.endsWith("\n") ? "\n" : "\n\n";
  return `${rest}${gap}${tomlText({ [format.servers]: { [name]: entry } }).trim()}\n`;
}

function isOf(header: string, servers: string, name: string): boolean {
  const parts = header.split(".").map((part) => part.trim().replaceAll(/^["']|["']$/g, ""));
  return parts[0] === servers && parts[1] === name;
}

function without(
  config: Readonly<Record<string, unknown>>,
  { format, name }: Wanted,
): Record<string, unknown> {
  const servers = Object.entries(config[format.servers] ?? {}).filter(([key]) => key !== name);
  const others = Object.entries(config).filter(
    ([key]) => key !== format.servers && !(key in (format.items ?? {})),
  );
  return { others, servers };
}
