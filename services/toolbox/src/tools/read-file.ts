import { isUtf8 } from "node:buffer";
import { z } from "zod";
import { defineTool } from "../tool.ts";
import { ToolError } from "../tool-error.ts";
import { cutBytes } from "../workspace/cut-bytes.ts";
import { openForReading } from "../workspace/open-path.ts";
import { workspacePath } from "../workspace/workspace.ts";
import { decodeText, readBytes } from "./read-text.ts";

/** The limit of one call's result, in bytes [E8]. */
export const READ_LIMIT_BYTES = 100 * 1024;
/** The longest character in UTF-8 beyond its first byte: a cut may have to read that much of the next one. */
const LOOK_AHEAD_BYTES = 3;

/** An offset may be within a character, whose rest is then not invalid. */
function isText(bytes: Buffer, offset: number): boolean {
  let start = 0;
  if (offset > 0)
    while (start < LOOK_AHEAD_BYTES && ((bytes[start] ?? 0) & 0b1100_0000) === 0b1000_0000)
      start += 1;
  return isUtf8(bytes.subarray(start));
}

export const readFile = defineTool({
  name: "read_file",
  description: `Reads a text file of the workspace. Returns at most ${READ_LIMIT_BYTES} bytes; 'offset' reads on from there.`,
  input: z.strictObject({
    path: z.string().describe("Path of the file, relative to the workspace"),
    offset: z.int().nonnegative().default(0).describe("Byte to begin at"),
  }),
  async check({ path }, workspace) {
    await workspacePath(workspace, path);
  },
  async run({ path, offset }, { workspace }) {
    const file = await openForReading(await workspacePath(workspace, path));
    try {
      const { size: statSize } = await file.stat();
      const length = READ_LIMIT_BYTES + LOOK_AHEAD_BYTES;
      const found = await readBytes(file, { position: offset, length });
      if (offset > statSize && found.length === 0)
        throw new ToolError(`'${path}' has ${statSize} bytes; offset ${offset} is behind its end.`);
      const bytes = cutBytes(found, READ_LIMIT_BYTES);
      const end = offset + bytes.length;
      // A file of /proc reports 0, and others grow while they are read.
      const size = Math.max(statSize, offset + found.length);
      const truncated = end < size;
      const text = decodeText(bytes, path);
      const notes = [
        ...(isText(bytes, offset) ? [] : ["[not UTF-8: what could not be read became U+FFFD]"]),
        ...(truncated
          ? [
              `[truncated: bytes ${offset} to ${end} of ${size > statSize ? "more" : size}; read on with offset ${end}]`,
            ]
          : []),
      ];
      return {
        text: notes.length === 0 ? text : [text, ...notes].join("\n"),
        structured: { path, content: text, bytes: bytes.length, size, truncated },
      };
    } finally {
      await file.close();
    }
  },
});
