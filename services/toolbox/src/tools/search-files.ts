import { z } from "zod";
import { matchesGlob } from "@switchyard/contracts/glob";
import { defineTool } from "../tool.ts";
import { ToolError } from "../tool-error.ts";
import { cutBytes } from "../workspace/cut-bytes.ts";
import { openForReading } from "../workspace/open-path.ts";
import { workspacePath, type WorkspacePath } from "../workspace/workspace.ts";
import { readBytes } from "./read-text.ts";
import { walkFiles } from "./walk-files.ts";

export const MATCH_LIMIT = 200;
const FILE_LIMIT = 10_000;
const FILE_LIMIT_BYTES = 2 * 1024 * 1024;
const LINE_LIMIT_BYTES = 300;

interface Match {
  readonly path: string;
  /** Counted from 1. */
  readonly line: number;
  readonly text: string;
}

export const searchFiles = defineTool({
  name: "search_files",
  description: `Finds the lines of text files that contain a text. At most ${MATCH_LIMIT} lines; files over ${FILE_LIMIT_BYTES} bytes and binary ones are passed over.`,
  input: z.strictObject({
    text: z.string().min(1).max(1_000).describe("The text to find, not a pattern"),
    directory: z.string().default(".").describe("Where to look, relative to the workspace"),
    files: z
      .string()
      .max(1_000)
      .default("*")
      .describe("Which files: a glob with * and ? over their paths, such as *.ts"),
    ignoreCase: z.boolean().default(false),
  }),
  async check({ directory, files }, workspace) {
    checkGlob(files);
    await workspacePath(workspace, directory);
  },
  async run({ text, directory, files, ignoreCase }, { workspace, signal }) {
    checkGlob(files);
    const target = await workspacePath(workspace, directory);
    const find: Find = { wanted: ignoreCase ? text.toLowerCase() : text, ignoreCase };
    const matches: Match[] = [];
    let passedOver = 0;
    let seen = 0;
    for await (const { path, kind } of walkFiles(target, { recursive: true, signal })) {
      if (kind === "unread") passedOver += 1;
      if (kind !== "file" || !isWanted(files, path)) continue;
      seen += 1;
      if (matches.length > MATCH_LIMIT || seen > FILE_LIMIT) break;
      const content = await textOf(target, path);
      if (content === null) passedOver += 1;
      else addMatches(matches, { path, content, find });
    }
    const shown = matches.slice(0, MATCH_LIMIT);
    const truncated = matches.length > MATCH_LIMIT || seen > FILE_LIMIT;
    return {
      text: report(shown, { text, files, seen, truncated, passedOver }),
      structured: { matches: shown, truncated, passedOver },
    };
  },
});

function checkGlob(files: string): void {
  if (/\{[^}]*,/.test(files))
    throw new ToolError("'files' knows * and ? and no braces; search once for each ending.");
}

/** `**` and a slash also match no directory, as in other tools: `**\/*.ts` finds `a.ts`. */
function isWanted(files: string, path: string): boolean {
  const glob = files.replace(/^\.\//, "");
  return matchesGlob(glob, path) || matchesGlob(glob.replaceAll("**/", ""), path);
}

interface Find {
  /** In lower case when case is ignored. */
  readonly wanted: string;
  readonly ignoreCase: boolean;
}

/** Line by line without a list of all lines: a file may have millions. */
function addMatches(
  matches: Match[],
  { path, content, find }: { path: string; content: string; find: Find },
): void {
  for (let start = 0, line = 1; start <= content.length; line += 1) {
    const next = content.indexOf("\n", start);
    const end = next < 0 ? content.length : next;
    const text = content.slice(start, end);
    if ((find.ignoreCase ? text.toLowerCase() : text).includes(find.wanted))
      matches.push({ path, line, text: cutLine(text.replace(/\r$/, "")) });
    if (matches.length > MATCH_LIMIT) return;
    start = end + 1;
  }
}

function cutLine(line: string): string {
  const bytes = Buffer.from(line, "utf8");
  const kept = cutBytes(bytes, LINE_LIMIT_BYTES);
  return kept.length === bytes.length ? line : `${kept.toString("utf8")}…`;
}

/** The text of a file; null when it is too large, not text, or went away during the search. */
async function textOf(target: WorkspacePath, below: string): Promise<string | null> {
  try {
    const file = await openForReading({ ...target, names: [...target.names, ...below.split("/")] });
    try {
      const { size } = await file.stat();
      if (size > FILE_LIMIT_BYTES) return null;
      const bytes = await readBytes(file, { position: 0, length: size });
      return bytes.includes(0) ? null : bytes.toString("utf8");
    } finally {
      await file.close();
    }
  } catch (error) {
    if (error instanceof ToolError) return null;
    throw error;
  }
}

function report(
  matches: readonly Match[],
  {
    text,
    files,
    seen,
    truncated,
    passedOver,
  }: { text: string; files: string; seen: number; truncated: boolean; passedOver: number },
): string {
  const lines = matches.map(({ path, line, text: found }) => `${path}:${line}: ${found}`);
  if (matches.length === 0) lines.push(`No line contains ${JSON.stringify(text)}.`);
  if (seen === 0) lines.push(`[no file is there whose path fits ${JSON.stringify(files)}]`);
  if (truncated) lines.push(`[truncated: more than ${MATCH_LIMIT} lines or ${FILE_LIMIT} files]`);
  if (passedOver > 0)
    lines.push(`[${passedOver} passed over: too large, not text, or not to be read]`);
  return lines.join("\n");
}
