import { z } from "zod";
import { defineTool } from "../tool.ts";
import { ToolError } from "../tool-error.ts";
import { fileChanges } from "../workspace/file-changes.ts";
import { replaceFile } from "../workspace/replace-file.ts";
import { refuseWhenFull } from "../workspace/workspace-size.ts";
import { pathOf, workspacePath } from "../workspace/workspace.ts";

export const WRITE_LIMIT_BYTES = 10 * 1024 * 1024;

export const writeFile = defineTool({
  name: "write_file",
  description:
    "Writes a text file of the workspace, new or in place of the old one. Missing directories are made.",
  input: z.strictObject({
    path: z.string().describe("Path of the file, relative to the workspace"),
    content: z.string().describe("The whole new content"),
  }),
  async check({ path, content }, workspace) {
    bytesOf(content);
    await workspacePath(workspace, path);
  },
  async run({ path, content }, { workspace }) {
    const bytes = bytesOf(content);
    const target = await workspacePath(workspace, path);
    await refuseWhenFull(workspace, bytes.length);
    const { isNew } = await fileChanges.run(() => replaceFile(target, bytes), pathOf(target));
    return {
      text: `Wrote ${bytes.length} bytes to ${path}${isNew ? " (new file)" : ""}.`,
      structured: { path, bytesWritten: bytes.length, isNew },
    };
  },
});

function bytesOf(content: string): Buffer {
  const bytes = Buffer.from(content, "utf8");
  if (bytes.length <= WRITE_LIMIT_BYTES) return bytes;
  throw new ToolError(
    `The content has ${bytes.length} bytes; write_file takes up to ${WRITE_LIMIT_BYTES}.`,
  );
}
