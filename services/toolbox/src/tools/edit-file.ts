import { isUtf8 } from "node:buffer";
import { z } from "zod";
import { defineTool, type ToolResult } from "../tool.ts";
import { ToolError } from "../tool-error.ts";
import { openForReading } from "../workspace/open-path.ts";
import { fileChanges } from "../workspace/file-changes.ts";
import { replaceFile } from "../workspace/replace-file.ts";
import { refuseWhenFull } from "../workspace/workspace-size.ts";
import { pathOf, workspacePath, type WorkspacePath } from "../workspace/workspace.ts";
import { decodeText, readBytes } from "./read-text.ts";
import { WRITE_LIMIT_BYTES } from "./write-file.ts";

export const editFile = defineTool({
  name: "edit_file",
  description:
    "Replaces a text in a file of the workspace. The text must occur exactly once, unless replaceAll is true.",
  input: z.strictObject({
    path: z.string().describe("Path of the file, relative to the workspace"),
    oldText: z.string().min(1).describe("The text to replace, exactly as in the file"),
    newText: z.string().describe("What to put in its place"),
    replaceAll: z.boolean().default(false).describe("Replace every occurrence"),
  }),
  async check({ path }, workspace) {
    await workspacePath(workspace, path);
  },
  async run(args, { workspace }) {
    const target = await workspacePath(workspace, args.path);
    await refuseWhenFull(workspace, 0);
    // Models often request two edits of one file at once, and the second must see the result of the first.
    return fileChanges.run(() => edit(target, args), pathOf(target));
  },
});

interface Edit {
  readonly path: string;
  readonly oldText: string;
  readonly newText: string;
  readonly replaceAll: boolean;
}

async function edit(
  target: WorkspacePath,
  { path, oldText, newText, replaceAll }: Edit,
): Promise<ToolResult> {
  const { text: before, stats } = await readWhole(target, path);
  const occurrences = countOf(before, { oldText, replaceAll });
  if (occurrences === 0) throw notFound(before, { path, oldText });
  if (occurrences > 1 && !replaceAll)
    throw new ToolError(
      `'${path}' contains oldText ${occurrences} times; give more of the text around it, or set replaceAll.`,
    );
  // Counted before it is made: a letter replaced everywhere by a page would be more than the memory holds.
  const gained = Buffer.byteLength(newText) - Buffer.byteLength(oldText);
  const sizeBytes = Buffer.byteLength(before) + occurrences * gained;
  if (sizeBytes > WRITE_LIMIT_BYTES)
    throw new ToolError(
      `'${path}' would have ${sizeBytes} bytes; edit_file writes up to ${WRITE_LIMIT_BYTES}.`,
    );
  // `$&` in a text would insert the match itself.
  const literal = newText.replaceAll("$", "$$$$");
  const after = replaceAll ? before.replaceAll(oldText, literal) : before.replace(oldText, literal);
  const bytes = Buffer.from(after, "utf8");
  await replaceFile(target, bytes, { read: stats });
  return {
    text: `Replaced ${occurrences} ${occurrences === 1 ? "occurrence" : "occurrences"} in ${path}; it has ${bytes.length} bytes now.`,
    structured: { path, occurrences, bytesWritten: bytes.length },
  };
}

/** Counts the replacements; when only one is allowed, overlapping matches count too. */
function countOf(
  text: string,
  { oldText, replaceAll }: Pick<Edit, "oldText" | "replaceAll">,
): number {
  const step = replaceAll ? oldText.length : 1;
  let count = 0;
  for (let at = text.indexOf(oldText); at >= 0; at = text.indexOf(oldText, at + step)) count += 1;
  return count;
}

function notFound(before: string, { path, oldText }: Pick<Edit, "path" | "oldText">): ToolError {
  const isByLineEnds = before.replaceAll("\r\n", "\n").includes(oldText);
  return new ToolError(
    isByLineEnds
      ? `'${path}' contains oldText only with \\r\\n at the end of its lines; write them so in oldText and newText.`
      : `'${path}' does not contain oldText; read_file shows what it contains.`,
  );
}

async function readWhole(target: WorkspacePath, shown: string) {
  const file = await openForReading(target);
  try {
    const stats = await file.stat({ bigint: true });
    if (stats.size > WRITE_LIMIT_BYTES)
      throw new ToolError(
        `'${shown}' has ${stats.size} bytes; edit_file takes up to ${WRITE_LIMIT_BYTES}.`,
      );
    const bytes = await readBytes(file, { position: 0, length: WRITE_LIMIT_BYTES + 1 });
    const text = decodeText(bytes, shown);
    // Writing the text back would change the bytes that are not UTF-8.
    if (!isUtf8(bytes))
      throw new ToolError(`'${shown}' is not UTF-8; editing it would change other parts too.`);
    return { text, stats };
  } finally {
    await file.close();
  }
}
