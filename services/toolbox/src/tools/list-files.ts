import { z } from "zod";
import { defineTool } from "../tool.ts";
import { workspacePath } from "../workspace/workspace.ts";
import { walkFiles, type FoundEntry } from "./walk-files.ts";

export const LIST_LIMIT = 2_000;
/** The limit for all paths together: one alone may have 4 KB. */
const LIST_LIMIT_BYTES = 256 * 1024;

const MARKS = {
  directory: "/",
  link: "@",
  file: "",
  other: "",
  unread: "/ (cannot be read)",
} as const satisfies Record<FoundEntry["kind"], string>;

export const listFiles = defineTool({
  name: "list_files",
  description: `Lists a directory of the workspace: 'name/' is a directory, 'name@' a link that is not followed. At most ${LIST_LIMIT} entries.`,
  input: z.strictObject({
    directory: z.string().default(".").describe("Path of the directory, relative to the workspace"),
    recursive: z.boolean().default(false).describe("List the directories in it too"),
  }),
  async check({ directory }, workspace) {
    await workspacePath(workspace, directory);
  },
  async run({ directory, recursive }, { workspace, signal }) {
    const target = await workspacePath(workspace, directory);
    const entries: FoundEntry[] = [];
    let truncated = false;
    let sizeBytes = 0;
    for await (const entry of walkFiles(target, { recursive, signal })) {
      sizeBytes += Buffer.byteLength(entry.path);
      truncated = entries.length === LIST_LIMIT || sizeBytes > LIST_LIMIT_BYTES;
      if (truncated) break;
      entries.push(entry);
    }
    const lines = entries.map(({ path, kind }) => path + MARKS[kind]);
    if (truncated) lines.push(`[truncated: only the first ${entries.length} entries]`);
    return {
      text: lines.length === 0 ? `${directory} is empty.` : lines.join("\n"),
      structured: { directory, entries, truncated },
    };
  },
});
