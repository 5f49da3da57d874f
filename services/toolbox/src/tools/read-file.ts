import { z } from "zod";
import { defineTool } from "../tool.ts";
import { ToolError } from "../tool-error.ts";
import { cutBytes } from "../workspace/cut-bytes.ts";
import { openForReading } from "../workspace/open-place.ts";
import { placeOf } from "../workspace/workspace.ts";
import { decodeText, readBytes } from "./read-text.ts";

/** What one call returns at most, in bytes [E8]. */
export const READ_LIMIT_BYTES = 100 * 1024;
/** The longest character in UTF-8 beyond its first byte: what a cut may need to see of the next one. */
const LOOK_AHEAD_BYTES = 3;

export const readFile = defineTool({
  name: "read_file",
  description: `Reads a text file of the workspace. Returns at most ${READ_LIMIT_BYTES} bytes; 'offset' reads on from there.`,
  input: z.strictObject({
    path: z.string().describe("Path of the file, relative to the workspace"),
    offset: z.int().nonnegative().default(0).describe("Byte to begin at"),
  }),
  async run({ path, offset }, { workspace }) {
    const file = await openForReading(await placeOf(workspace, path));
    try {
      const { size } = await file.stat();
      if (offset > size)
        throw new ToolError(`'${path}' has ${size} bytes; offset ${offset} is behind its end.`);
      const length = READ_LIMIT_BYTES + LOOK_AHEAD_BYTES;
      const bytes = cutBytes(await readBytes(file, { position: offset, length }), READ_LIMIT_BYTES);
      const end = offset + bytes.length;
      const truncated = end < size;
      const text = decodeText(bytes, path);
      const note = `\n[truncated: bytes ${offset} to ${end} of ${size}; read on with offset ${end}]`;
      return {
        text: truncated ? text + note : text,
        structured: { path, content: text, bytes: bytes.length, size, truncated },
      };
    } finally {
      await file.close();
    }
  },
});
